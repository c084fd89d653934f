"""One call of the native document solver: the documents of a shard under the tables of a topic model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from topmix import _core
from topmix.base.threads import one_thread, threads
from topmix.corpus.shard import Shard
from topmix.models.document_prior import DocTopics, Prior
from topmix.models.stored import Ids, Stored, integer
from topmix.models.topics import Sampling, TopicTables
from topmix.models.words import WordStats
from topmix.steps import MOST_VISITS, Info, StepResult


class SolvedDocuments(NamedTuple):
    words: WordStats  # empty unless wanted
    docs: DocTopics
    entropy: float
    effort: tuple[int, int, int]  # iterations, restarts tried, restarts accepted


def solve(
    shard: Shard,
    tables: TopicTables,
    scratch: _core.TopicScratch,
    *,
    start: DocTopics | np.ndarray | None = None,
    last: DocTopics | None = None,
    want_words: bool = True,
    prior: Prior | None = None,
) -> SolvedDocuments:
    """Each document to its topics, each of its words to its L best.  docs/math.md Eqs. (3.5)-(3.9).

    Documents start from their words alone, or from counts: those of their last visit, or dense [documents, K]. `last`
    is that visit where the topics' counts contain it and own tokens are discounted. `prior` is that of the documents,
    where the caller has it.
    """
    prior, begin = prior or tables.prior.of(shard.design), None
    if isinstance(start, DocTopics):
        begin = _core.Start((start.indptr, start.topic, start.count))
    elif start is not None:
        begin = _core.Start(np.ascontiguousarray(start, np.float32))
    words, docs, entropy, effort = _core.topics_step(
        shard.native,
        tables.words.table,
        prior.alpha.astype(np.float32),
        tables.document_options.native(tables.posterior, tables.words.table.shape[1]),
        begin,
        None if last is None else _core.LastVisit((last.indptr, last.topic, last.count), tables.words),
        want_words,
        threads(),
        scratch,
        prior.own(),
        prior.responses(),
    )
    return SolvedDocuments(WordStats(shard.cols, *words), DocTopics(*docs), entropy, effort)


# The local step of topic models: documents solved by a fixed point.  docs/math.md Eqs. (3.5)-(3.9).


@dataclass(frozen=True)
class Visit(Stored):
    """What a topic step remembers of a shard."""

    times: Annotated[int, integer(0, MOST_VISITS)]  # visits so far; sampling starts the count again
    docs: DocTopics | None = None  # the topics of its documents, if the next visit needs them
    # while tokens are sampled
    z: Annotated[np.ndarray | None, Ids("tokens", below="K", dtype="U16")] = None


@dataclass(frozen=True)
class TopicStep:
    """How a document is solved travels in the tables; here is only where it starts."""

    cold_visits: int | None = None  # visits that start from the words alone; later ones start from the last visit

    def __call__(
        self, shard: Shard, tables: TopicTables, memory: Visit | None, scratch: _core.TopicScratch
    ) -> StepResult:
        memory = memory or Visit(0)
        times, last, z = memory.times, memory.docs, memory.z
        options, prior = tables.document_options, tables.prior.of(shard.design)
        if options.sampling is not None:
            return sample(shard, tables, options.sampling, z, last, prior)
        start, discounts = None if self.is_cold(times) else last, options.own_discount > 0
        before = last if discounts else None
        words, docs, H, effort = solve(shard, tables, scratch, start=start, last=before, prior=prior)
        info: Info = dict(zip(("iterations", "restarts", "accepted"), map(float, effort)))
        if tables.partner is not None:  # [K] what merging the pairs takes from the entropy, at the lower topic of each
            info["merge_entropy"] = lost = np.empty(len(tables.partner))
            _core.merged_entropy(scratch, options.L(len(lost)), tables.partner, threads(), lost)
        is_needed = discounts or not self.is_cold(times + 1)
        stats = prior.summarise(words, docs, shard.lengths, H)
        return StepResult(stats, Visit(times + 1, docs if is_needed else None), info)

    def is_cold(self, times: int) -> bool:
        return self.cold_visits is None or times < self.cold_visits


# The local step of topic models by sampling: every token of a shard is drawn again.  docs/math.md, section 3.7.


def sample(
    shard: Shard,
    tables: TopicTables,
    sampling: Sampling,
    z: np.ndarray | None,
    docs: DocTopics | None,
    prior: Prior | None = None,
) -> StepResult:
    """Each token again, given all others; or, where tokens have no topics z yet, given those of their documents."""
    prior = prior or tables.prior.of(shard.design)
    scale = 1.0 if sampling.concentration is None else sampling.concentration / prior.alpha.sum()
    alpha, start = (prior.alpha * scale).astype(np.float32), None
    if z is None:
        docs = docs or DocTopics(np.zeros(shard.n_rows + 1, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.float32))
        start = (docs.indptr, docs.topic, docs.count)
    z = np.zeros(int(shard.lengths.sum()), np.uint16) if z is None else z.copy()
    seeds = sampling.seed, sampling.sweep, shard.number << 32
    words, topics, n_moved = _core.sample_step(
        shard.word_order, tables.words, alpha, start, *seeds, threads(), z, prior.own(scale)
    )
    docs = DocTopics(*topics)
    stats = prior.summarise(WordStats(shard.cols, *words), docs, shard.lengths, 0.0)
    return StepResult(stats, Visit(0, docs, z), {"moved": float(n_moved)})


# Documents under fixed topics: their proportions, and a bound on their likelihood.


class FoldedIn(NamedTuple):
    docs: DocTopics
    bound: float  # on the documents' log likelihood; NaN unless asked for


@dataclass(frozen=True)
class FoldIn:
    want_bound: bool = False

    def __call__(self, shard: Shard, tables: TopicTables, memory: object, scratch: _core.TopicScratch) -> StepResult:
        prior = tables.prior.of(shard.design)
        words, docs, H, _ = solve(shard, tables, scratch, want_words=self.want_bound, prior=prior)
        if not self.want_bound:
            return StepResult(FoldedIn(docs, float("nan")))
        table, log_scale = tables.words.table, tables.words.log_scale  # Eq. (3.13)
        word = np.repeat(np.arange(len(shard.cols)), np.diff(words.indptr))
        log_phi = np.log(table[word, words.topic].astype(np.float64)) + log_scale[word]
        stats = prior.summarise(words, docs, shard.lengths, H)
        with one_thread():  # a sum of many terms has other last digits on several
            of_words = float(words.value @ log_phi)
        return StepResult(FoldedIn(docs, of_words + H + prior.documents(stats)))


# The local step of CVB0: every entry keeps its gamma and is left out of all counts when it is updated.
#
# cpp/steps/cvb0.hpp has the equations.


# What it remembers of a shard: topics [nnz, L] uint16 of each entry, and their shares [nnz, L] float32.
Gammas = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class CVB0Step:
    burn_in: int = 1  # sweeps over a document before it is counted for the first time; later visits make one

    def __call__(
        self, shard: Shard, tables: TopicTables, memory: Gammas | None, scratch: _core.TopicScratch
    ) -> StepResult:
        prior = tables.prior.of(shard.design)
        alpha, L = prior.alpha.astype(np.float32), tables.document_options.L(tables.words.table.shape[1])
        words, docs, H, sweeps, gammas = _core.cvb0_step(
            shard.native, tables.words, alpha, L, self.burn_in, memory, threads(), prior.own()
        )
        stats = prior.summarise(WordStats(shard.cols, *words), DocTopics(*docs), shard.lengths, H)
        return StepResult(stats, gammas, {"iterations": float(sweeps)})


# The local step of SCVB0: each token moves its document's online average.  cpp/steps/scvb0.hpp has the equations.


@dataclass(frozen=True)
class SCVB0Step:
    """The step size of a document is scale / (offset + t)^decay; t counts its tokens in this visit.

    A shard remembers only how often it was visited. With the seed and the row this decides the order of tokens.
    """

    burn_in: int = 1  # passes over a document before the one that counts
    scale: float = 1.0
    offset: float = 10.0
    decay: float = 0.6
    seed: int = 0

    def __call__(
        self,
        shard: Shard,
        tables: TopicTables,
        memory: Visit | None,
        scratch: _core.TopicScratch,
        averages: np.ndarray | None = None,
    ) -> StepResult:
        """`averages` [documents, K] receives N^Theta, for tests."""
        visits, L = memory.times if memory else 0, tables.document_options.L(tables.words.table.shape[1])
        options = _core.SCVB0Options(self.scale, self.offset, self.decay, self.burn_in, L, self.seed)
        prior = tables.prior.of(shard.design)
        alpha = prior.alpha.astype(np.float32)
        words, docs, H, updates = _core.scvb0_step(
            shard.native, tables.words.table, alpha, options, visits, threads(), scratch, averages, prior.own()
        )
        stats = prior.summarise(WordStats(shard.cols, *words), DocTopics(*docs), shard.lengths, H)
        return StepResult(stats, Visit(visits + 1), {"updates": float(updates)})
