"""Fits whose tokens have one topic each: Gibbs sampling and combinatorial topics. The chain is model and workers in
one."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from topmix import _core
from topmix.base.checks import whole_number, whole_number_or_none
from topmix.base.component import Component
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import Batches
from topmix.learn.chains import Chain, HardTopics
from topmix.learn.fit import Schedule
from topmix.learn.learners import Passes, PassMaker, PassResult, SomeWorkers, State, Task
from topmix.models.model import SomeModel
from topmix.steps import StepResult

EXCHANGE_SWEEPS = 10


def no_step(shard: object, tables: object, memory: object, scratch: _core.TopicScratch) -> StepResult:
    raise AssertionError("a chain has no shards to visit")


class TokenPasses(PassMaker):
    """A chain has all tokens itself, and takes the place of workers too."""

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        return []

    def open(self, task: Task, rng: np.random.Generator) -> SomeWorkers:
        task.model.rng = rng
        return task.model


@dataclass(frozen=True)
class Sweeps(TokenPasses):
    burn_in: int
    thin: int
    learn_every: int
    exchanges: bool  # whether topics are exchanged

    def passes(self, model: Chain, workers: SomeWorkers, state: State) -> Passes:
        """A sweep at a time. After `burn_in` of them every `thin`-th is a sample that counts. Before, when annealing is
        over, topics are exchanged, and again every EXCHANGE_SWEEPS as long as that gains something."""
        exchanges = self.exchanges
        for n in itertools.count(1):
            settled = model.sweeps - model.annealing
            if exchanges and n <= self.burn_in and settled >= 0 and settled % EXCHANGE_SWEEPS == 0:
                exchanges = exchanged(model, model.rng) != 0.0
            model.sweep()
            if n > self.burn_in and (n - self.burn_in) % self.thin == 0:
                model.sampled()
            yield PassResult(model, None, {})
            if n % self.learn_every == 0 and model.sweeps >= model.annealing:
                model.relearn()


@dataclass(frozen=True)
class Reassignments(TokenPasses):
    algorithm: str
    exchanges: bool
    early_smoothing: bool

    direction = "falls"

    def passes(self, model: HardTopics, workers: SomeWorkers, state: State) -> Passes:
        tried = exchange if self.exchanges else None
        return model.run(self.algorithm, model.rng, tried, early_smoothing=self.early_smoothing)


class TokenSchedule(Schedule):
    """The chain itself is what was learned."""

    def ended(self, model: SomeModel) -> SomeModel:
        return model


# How GibbsLDA samples: components that a user passes in.

MOST_ANNEALING = 50  # sweeps


@dataclass(frozen=True, repr=False)
class Sampler(Component):
    annealing: int | None = None
    learn_every: int = 10

    name: ClassVar[str]
    anneals: ClassVar[bool] = False  # from a random start, unless `annealing` says otherwise

    def check(self) -> None:
        whole_number_or_none(self.annealing, "annealing", least=0)
        whole_number(self.learn_every, "learn_every")

    def annealed(self, burn_in: int, *, from_random: bool) -> int:
        """Sweeps at the beginning whose alpha is another. They must be burn-in."""
        if self.annealing is None:
            return min(MOST_ANNEALING, burn_in // 2) if from_random and self.anneals else 0
        if self.annealing > burn_in:
            raise ValueError(
                f"annealing must be None or from 0 to the {burn_in} sweeps of burn-in, got {self.annealing}"
            )
        return self.annealing


@dataclass(frozen=True, repr=False)
class Parallel(Sampler):
    """Draws the documents of a block at once, on all cores, with the counts of words from the beginning of the block.

    A token takes time proportional to the topics of its document. It approximates the chain of the sequential sampler;
    see docs/math.md, section 3.7.

    Parameters
    ----------
    annealing : int or None
        Sweeps at the beginning in which alpha falls to its value from one under which documents have many topics. They
        must be burn-in. From a random start the chain is then much sooner where it would end. None is 50, or half of
        the burn-in where that is fewer, from a random start, and else 0. history_ then has the objective under the
        alpha of the sweep. After it, still in the burn-in, topics are exchanged while that pays: where one topic is
        held twice and two others lie in one, a sampler alone does not get out. Not where there are seeds.
    learn_every : int
        Sweeps between two updates of priors that are "auto".
    batch_size : int or None
        Documents of a block. None makes up to 16 blocks a sweep, fewer where remaking their tables would take more than
        about a fifth of the time. On a GPU a block has at least 131,072 documents.

    Examples
    --------
    >>> from topmix.chains import Parallel
    >>> Parallel(annealing=20)
    Parallel(annealing=20)
    """

    batch_size: int | None = None

    name: ClassVar[str] = "parallel"
    anneals: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        whole_number_or_none(self.batch_size, "batch_size")


@dataclass(frozen=True, repr=False)
class Sequential(Sampler):
    """The textbook sampler, exactly, in one thread; a token takes time proportional to K.

    Parameters
    ----------
    annealing : int or None
        As in Parallel; None is 0.
    learn_every : int
        Sweeps between two updates of priors that are "auto".

    Examples
    --------
    >>> from topmix.chains import Sequential
    >>> Sequential()
    Sequential()
    """

    name: ClassVar[str] = "sequential"


SAMPLERS: dict[str, type[Sampler]] = {"parallel": Parallel, "sequential": Sequential}


# Exchanges of combinatorial topics: two topics become one, and another becomes two.  docs/math.md, section 3.8.
#
# Word and Refine move tokens and mini-topics, and cannot leave a state where one topic of the data is held twice and
# two others lie in one. Both halves of an exchange are exact, and they add up where they touch different topics:
# merging a and b changes objective (3.16) by what their counts say, less the penalty for each document that used
# both; splitting c is the same problem with K = 2 on the tokens of c alone.

SPLITS = 8  # topics that are tried at most, the largest first
SPLIT_PASSES = 2  # the first brings nine tenths of what four would, where there is anything to gain
# Of topics that are sampled:
PENALTY = 8.0  # for a topic that a document uses, in nats
# Nats per token that a split must gain: two subjects in one topic gain .3 to .4 (planted ones), the halves of a large
# topic of filler words .04 to .21 (kos), and a reader has nothing from two of those.
DIFFERENCE = 0.25


def exchange(hard: HardTopics, rng: np.random.Generator, difference: float = 0.0) -> float:
    """Makes the exchanges that lower the objective. Returns its change, which is not positive. A topic is split only
    where that brings its tokens nearer by more than `difference` nats on average: where the halves differ so much."""
    if hard.n_components < 3:
        return 0.0
    merges = cheapest_merges(hard)
    change, touched, owner = 0.0, set[int](), None
    for c in np.argsort(-hard.total, kind="stable")[:SPLITS].tolist():
        merges = [m for m in merges if not touched & {*m[1:]}]
        if not merges or np.log(2) * hard.total[c] <= merges[0][0]:  # no split brings tokens nearer, on average
            break
        merge = next((m for m in merges if c not in m[1:]), None)
        if c in touched or merge is None:
            continue
        cost, a, b = merge
        if owner is None:  # the entry of the corpus that each token is a copy of
            owner = np.repeat(np.arange(hard.corpus.nnz, dtype=np.int32), hard.corpus.value.astype(np.int32))
        tokens = np.flatnonzero(hard.z == c)
        least = max(cost, difference * len(tokens))
        gain, leaves = split(hard, part(hard.corpus, owner[tokens]), least, rng)
        if gain > least:
            hard.z[hard.z == b] = a
            hard.z[tokens[leaves]] = b
            touched |= {a, b, c}
            change += cost - gain
    if touched:
        hard.count()
    return change


def exchanged(chain: Chain, rng: np.random.Generator) -> float:
    """Exchanges topics of a sampler where that pays; returns what it gained."""
    hard = HardTopics(chain.corpus, chain.n_components, PENALTY, chain.threads)
    hard.start(chain.z)
    gain = -exchange(hard, rng, DIFFERENCE)
    if gain:
        chain.start(hard.z)
    return gain


def cheapest_merges(hard: HardTopics) -> list[tuple[float, int, int]]:
    """(change of the objective, a, b), least first: each topic with the one whose words are most like its own."""
    n, total, K = hard.word.astype(np.float64), hard.total.astype(np.float64), hard.n_components
    indptr, topic, _ = _core.document_topics(hard.tokens, hard.z, K, hard.threads)
    uses = sp.csr_array((np.ones(len(topic)), topic.astype(np.int32), indptr), shape=(hard.n_docs, K))
    both = (uses.T @ uses).toarray()

    def n_log_n(n: np.ndarray) -> np.ndarray:
        return n * np.log(np.maximum(n, 1))

    root = np.sqrt(n / np.maximum(total, 1))
    like = root.T @ root  # Bhattacharyya's coefficient
    np.fill_diagonal(like, -1)
    own = n_log_n(total) - n_log_n(n).sum(axis=0)  # distances of the tokens of each topic
    found = []
    for a, b in {(min(a, b), max(a, b)) for a, b in enumerate(like.argmax(axis=1).tolist())}:
        words, tokens = n[:, a] + n[:, b], total[a] + total[b]
        distance = n_log_n(tokens) - n_log_n(words).sum()
        found.append((float(distance - own[a] - own[b] - hard.penalty * both[a, b]), a, b))
    return sorted(found)


def split(hard: HardTopics, corpus: Corpus, least: float, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """The tokens of one topic, a corpus of their own, in two: what the objective falls by, and which of them leave. Not
    pursued where the first pass brings no more than `least`."""
    halves = HardTopics(corpus, 2, hard.penalty, 1)  # a few thousand tokens: not worth a thread
    halves.count()
    before, gain = sum(halves.bound().values()), 0.0
    halves.start(rng.integers(2, size=halves.n_tokens, dtype=np.uint16))
    for _ in itertools.islice(halves.run("word+refine", rng), SPLIT_PASSES):
        gain = before - sum(halves.bound().values())
        if gain <= least:
            break
    return gain, halves.z == 1


def part(corpus: Corpus, owner: np.ndarray) -> Corpus:
    """The corpus of some tokens alone, given by their entries in order; documents without any are left out."""
    first = np.flatnonzero(np.diff(owner, prepend=-1))  # of each entry
    entry, count = owner[first], np.diff(first, append=len(owner))
    indptr = np.unique(np.searchsorted(entry, corpus.indptr)).astype(np.int64)
    return Corpus.trusted(indptr, corpus.index[entry], count.astype(np.float32), corpus.n_words)
