"""Asynchronous topics: documents stay with their worker, and words travel.  docs/math.md, section 3.10.

Workers are threads of this process, or processes of a cluster.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import Shard, Shards, row_sums
from topmix.engines import Ray
from topmix.engines.nomad_ledger import LedgerError
from topmix.learners.learner import Passes, PassResult, State
from topmix.learners.nomadic import Nomadic, OwnRows
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordTotal

if TYPE_CHECKING:
    from topmix.engines.ray_nomads import Round

BYTES_PER_BLOCK = 1 << 20  # of a block's rows, in double: what a worker's cache can hold in float, twice
BLOCKS_PER_WORKER = 4  # at least, so that no worker is idle
Snapshot = tuple[np.ndarray, float, float, np.ndarray]  # counts [V, K], entropy, documents' log Gammas, rise [K]
SETTLING_PASSES = 5  # of documents, when a fitted model is continued: topics stay as they are meanwhile
BLOCKS_PER_MACHINE = 8  # at least, so that what a worker has at a time is near its share
TOLERANCE = 1e-9  # of the tokens of a block


@dataclass(frozen=True)
class Plan:
    """How the workers proceed."""

    n_active: int  # L, topics kept of each entry
    tail: str = "best"  # what each of the other topics gets: "mean" or "best"
    warm_up: int = 20  # passes under posterior means, which keep documents open until topics have formed
    settle: int = 0  # passes of documents under the topics that they start from, before those move
    seed: int = 0  # of the order in which blocks travel
    block_words: int | None = None  # words that travel together; None: as many as a cache holds
    per_token: bool = False  # a word's row follows each token, and travels alone


@dataclass(frozen=True)
class Blocks:
    """Which words travel together."""

    starts: np.ndarray  # [B + 1] int64
    words: np.ndarray  # int32, block by block

    def native(self) -> _core.WordBlocks:
        return _core.WordBlocks(self.starts, self.words)

    @classmethod
    def of(
        cls, entries: np.ndarray, K: int, workers: int, block_words: int | None = None, each: int = BLOCKS_PER_WORKER
    ) -> Blocks:
        """Blocks that take about equally long to visit, at least `each` for each worker. `entries` [V] says how many
        documents have each word.

        Words are dealt from the most frequent on, to the blocks in turn, forwards and then backwards.
        """
        words = np.argsort(-entries, kind="stable")[: np.count_nonzero(entries)].astype(np.int32)
        n_blocks = max(-(-len(words) * K * 8 // BYTES_PER_BLOCK), each * max(workers, 2))
        if block_words is not None:
            n_blocks = -(-len(words) // block_words)
        n_blocks = max(1, min(n_blocks, len(words)))
        place = np.arange(len(words)) % (2 * n_blocks)
        block = np.minimum(place, 2 * n_blocks - 1 - place)
        order = np.argsort(block, kind="stable")
        return cls(np.searchsorted(block[order], np.arange(n_blocks + 1)).astype(np.int64), words[order])


def split_documents(indptr: np.ndarray, workers: int) -> np.ndarray:
    """[workers + 1] bounds of consecutive documents, with about equally many entries per worker."""
    cuts = np.searchsorted(indptr, np.arange(1, workers) * (int(indptr[-1]) / workers))
    return np.concatenate([[0], cuts, [len(indptr) - 1]]).astype(np.int64)


class AsynchronousTopics(OwnRows[TopicModel]):
    """Native workers on one corpus, and what their snapshots mean in the terms of a model.

    They keep their documents' responsibilities to themselves: a checkpoint holds topics only.
    """

    def __init__(self, corpus: Corpus, model: TopicModel, workers: int, plan: Plan, max_iter: int):
        V, K = model.words.shape
        blocks = Blocks.of(np.bincount(corpus.index, minlength=V), K, workers, plan.block_words)
        self.native = _core.AsynchronousTopics(
            _core.CountRows(corpus.indptr, corpus.index, corpus.value),
            split_documents(corpus.indptr, workers),
            blocks.native(),
            model.words.total.counts(),
            model.prior.alpha,
            model.words.dense_prior(),
            _core.TopicPlan(plan.n_active, plan.tail, plan.warm_up, plan.settle, plan.seed, plan.per_token),
        )
        self.lengths = row_sums(corpus.indptr, corpus.value)
        self.n_rows, self.max_iter = float(corpus.n_docs), max_iter

    def passes(self, model: TopicModel, state: State) -> Passes:
        """Workers do not wait for whoever looks at the snapshots, except where priors are learned: then each pass needs
        the priors that the last one led to, and the workers make one pass at a time."""
        learned = model.learns_priors
        try:
            self.native.start(1 if learned else self.max_iter)
            for n_pass in range(1, self.max_iter + 1):
                snapshot = self.native.next()
                if snapshot is None:
                    return
                state.total, state.t = statistics(snapshot, model, self.lengths), n_pass
                model = model.update(state.total)
                model = (yield PassResult(model, state.total, {})) or model
                if learned:
                    self.native.priors(model.prior.alpha, model.words.dense_prior())
                    self.native.start(n_pass + 1)
        finally:
            self.native.stop()

    def interrupted(self, model: TopicModel) -> TopicModel:
        """Stops the workers: the model as it is at this moment."""
        return model.update(statistics(self.native.now(), model, self.lengths))

    def close(self) -> None:
        self.native.stop()


def statistics(snapshot: Snapshot, model: TopicModel, lengths: np.ndarray) -> TopicStats:
    """Of all documents, Eq. (3.8), from what the workers posted at the end of a pass. `lengths` are their tokens."""
    S, H, log_gammas, rise = snapshot
    alpha, n_docs = model.prior.alpha, len(lengths)
    after = lengths + alpha.sum()
    T = rise + n_docs * digamma(alpha) - digamma(after).sum()
    G = log_gammas + n_docs * gammaln(alpha).sum() - gammaln(after).sum()
    return TopicStats(WordTotal.of(S), float(n_docs), H, float(G), -float(alpha @ T), T, alpha * rise)


class Settings(NamedTuple):
    """Of a run."""

    alpha: np.ndarray  # [K]
    eta: np.ndarray  # [V or 1, K or 1]
    total: np.ndarray  # [K] sums over all words
    warm_up: int  # rounds under posterior means
    begins: int = 0  # rounds in which documents start under the topics that come; 0: topics are learned


@dataclass(frozen=True)
class Maker:
    """What a worker needs besides its documents."""

    blocks: Blocks
    n_words: int
    n_topics: int
    n_active: int
    tail: str

    def __call__(self, rows: Shard, threads: int) -> TopicStation:
        return TopicStation(self, rows, threads)


class TopicStation:
    """The documents of one worker (engines/ray_nomad.py: Station).

    While documents begin, a block brings two arrays, one after the other: its topics as they are, and what the
    documents make of them."""

    together = 1

    def __init__(self, maker: Maker, rows: Shard, threads: int):
        self.n_threads, self.maker = threads, maker
        index = np.ascontiguousarray(rows.cols[rows.index], np.int32)
        self.native = _core.NomadicTopics(
            _core.CountRows(rows.indptr, index, rows.value), split_documents(rows.indptr, threads),
            maker.blocks.native(), maker.n_words, maker.n_topics, maker.n_active, maker.tail,
        )  # fmt: skip
        self.settings: Settings | None = None

    def begin(self, settings: Settings) -> None:
        self.settings = settings
        self.native.begin(settings.alpha, settings.eta, settings.total)

    def put(self, block: int, content: np.ndarray) -> None:
        self.native.put(block, content[0], content[1] if len(content) == 2 else None)

    def take(self, block: int) -> np.ndarray:
        rows, fresh = self.native.take(block)
        return np.stack([rows, fresh]) if len(fresh) else rows[None]

    def visit(self, thread: int, blocks: list[int], n_round: int) -> None:
        assert self.settings is not None
        (block,) = blocks
        if not self.settings.begins:
            self.native.visit(thread, block, "means" if n_round < self.settings.warm_up else "logarithms")
            return
        is_last = n_round == self.settings.begins - 1
        self.native.begin_visit(thread, block, "logarithms" if n_round else "shares", is_last)

    def post(self, thread: int) -> tuple[float, float, np.ndarray]:
        return self.native.summary(thread)

    def own_changes(self) -> np.ndarray:
        return self.native.own()

    def apply_changes(self, delta: np.ndarray) -> None:
        self.native.apply_total(delta)

    def n_bytes(self) -> int:
        return self.native.of_documents


class NomadicTopics(Nomadic[TopicModel]):
    """Words that travel between the workers of a cluster."""

    def __init__(self, corpus: Corpus, model: TopicModel, engine: Ray, plan: Plan, max_iter: int):
        if model.words.extra is not None or min(model.words.eta.shape) > 1:
            raise ValueError(
                "learner='asynchronous' on a cluster needs a prior that is the same for all words or for all topics: "
                "seeds and a prior for each word and topic would be on every worker. Use learner='memoized'."
            )
        super().__init__(engine.nomads(), model, float(corpus.n_docs), max_iter)
        self.corpus, self.plan = corpus, plan
        V, K = model.words.shape
        value = np.asarray(corpus.value, np.float64)
        entries = np.bincount(corpus.index, minlength=V)
        self.blocks = Blocks.of(entries, K, self.nomads.n_workers, plan.block_words, BLOCKS_PER_MACHINE)
        self.tokens = np.bincount(corpus.index, value, minlength=V)[self.blocks.words]
        self.lengths = row_sums(corpus.indptr, corpus.value)

    def _open(self, model: TopicModel, made: int) -> None:
        P, (V, K) = self.nomads.n_workers, model.words.shape
        cuts = split_documents(self.corpus.indptr, P)
        shards = Shards(self.corpus, [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts)])
        maker = Maker(self.blocks, V, K, min(self.plan.n_active, K), self.plan.tail)
        self.nomads.open([maker] * P, [shards.message(i) for i in range(P)])
        counts = model.words.total.counts()
        contents = [np.stack([rows, np.zeros_like(rows)]) for rows in (counts[words] for words in self._words())]
        settle = SETTLING_PASSES if made else self.plan.settle
        settings = self._settings(model, counts.sum(axis=0), 0)._replace(begins=settle + 1)
        for end in self._run(contents, settle + 1, settings, collect_all=False):
            self.contents = [content[1:] for content in end.contents]

    def _learn(self, model: TopicModel, made: int) -> Iterator[TopicStats]:
        """One pass at a time where priors are learned."""
        assert self.contents is not None
        total = sum(content[0].sum(axis=0) for content in self.contents)
        rounds = 1 if model.learns_priors else self.max_iter - made
        settings = self._settings(model, total, max(0, self.plan.warm_up - made))
        for end in self._run(self.contents, rounds, settings):
            self._check(end.contents)
            S = np.zeros(model.words.shape)
            for words, content in zip(self._words(), end.contents):
                S[words] = content[0]
            self.contents = end.contents
            H, gammas, rises = zip(*end.posts)
            yield statistics((S, sum(H), sum(gammas), np.sum(rises, axis=0)), model, self.lengths)

    def _run(
        self, contents: list[np.ndarray], rounds: int, settings: Settings, *, collect_all: bool = True
    ) -> Iterator[Round]:
        arrays, seed = len(contents[0]), self.plan.seed % 2**31
        return self.nomads.run(contents, rounds, seed, settings, arrays=arrays, collect_all=collect_all)

    def _settings(self, model: TopicModel, total: np.ndarray, warm_up: int) -> Settings:
        return Settings(model.prior.alpha, model.words.eta, np.asarray(total, np.float64), warm_up)

    def _words(self) -> list[np.ndarray]:
        """Of each block."""
        return np.split(self.blocks.words, self.blocks.starts[1:-1])

    def _check(self, contents: list[np.ndarray]) -> None:
        """A word has as many counts as it has tokens, whatever was done to it on the way."""
        for b, (tokens, content) in enumerate(zip(np.split(self.tokens, self.blocks.starts[1:-1]), contents)):
            if not np.allclose(content[0].sum(axis=1), tokens, rtol=TOLERANCE, atol=TOLERANCE):
                raise LedgerError(f"block {b} has {content[0].sum()} counts of {tokens.sum()} tokens")
