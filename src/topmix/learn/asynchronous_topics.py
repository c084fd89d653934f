"""Asynchronous topics: documents stay with their worker, and words travel.  docs/math.md, section 3.10."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from topmix import _core
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import Shard, Shards, row_sums
from topmix.engines.blocks import BlockError, BlockRows
from topmix.engines.engine import Engine
from topmix.learn.asynchronous_workers import OnCluster, OwnRows
from topmix.models.document_prior import DocumentPrior, DocumentSums
from topmix.models.statistics import TopicStats
from topmix.models.topics import TopicModel
from topmix.models.words import WordTotal

if TYPE_CHECKING:
    from topmix.engines.ray_blocks import BlockRound

BYTES_PER_BLOCK = 1 << 20  # of a block's rows, in double: what a worker's cache can hold in float, twice
BLOCKS_PER_WORKER = 4  # at least, so that no worker is idle
BLOCKS_PER_MACHINE = 8  # at least, so that what a worker has at a time is near its share
SETTLING_PASSES = 5  # of documents, when a fitted model is continued: topics stay as they are meanwhile
TOLERANCE = 1e-9  # of the tokens of a block

Snapshot = tuple[np.ndarray, float, float, np.ndarray]  # counts [V, K], entropy, documents' log Gammas, rise [K]


class Travel(NamedTuple):
    """How the workers proceed."""

    n_active: int  # L, topics kept of each entry
    tail: str = "best"  # what each of the other topics gets: "mean" or "best"
    warm_up: int = 20  # passes under posterior means, which keep documents open until topics have formed
    settle: int = 0  # passes of documents under the topics that they start from, before those move
    seed: int = 0  # of the order in which blocks travel
    block_words: int | None = None  # words that travel together; None: as many as a cache holds
    per_token: bool = False  # a word's row follows each token, and travels alone


Blocks = tuple[np.ndarray, np.ndarray]  # [B + 1] where each begins, int64, and words, int32, block by block


def word_blocks(
    entries: np.ndarray, K: int, workers: int, block_words: int | None = None, each: int = BLOCKS_PER_WORKER
) -> Blocks:
    """Which words travel together: in blocks that take about equally long to visit, at least `each` for each worker.
    `entries` [V] says how many documents have each word. Words are dealt from the most frequent on, to the blocks in
    turn, forwards and then backwards."""
    words = np.argsort(-entries, kind="stable")[: np.count_nonzero(entries)].astype(np.int32)
    n_blocks = max(-(-len(words) * K * 8 // BYTES_PER_BLOCK), each * max(workers, 2))
    if block_words is not None:
        n_blocks = -(-len(words) // block_words)
    n_blocks = max(1, min(n_blocks, len(words)))
    place = np.arange(len(words)) % (2 * n_blocks)
    block = np.minimum(place, 2 * n_blocks - 1 - place)
    order = np.argsort(block, kind="stable")
    return np.searchsorted(block[order], np.arange(n_blocks + 1)).astype(np.int64), words[order]


def split_documents(indptr: np.ndarray, workers: int) -> np.ndarray:
    """[workers + 1] bounds of consecutive documents, with about equally many entries per worker."""
    cuts = np.searchsorted(indptr, np.arange(1, workers) * (int(indptr[-1]) / workers))
    return np.concatenate([[0], cuts, [len(indptr) - 1]]).astype(np.int64)


def statistics(snapshot: Snapshot, model: TopicModel, lengths: np.ndarray) -> TopicStats:
    """Of all documents, Eq. (3.8), from what the workers posted at the end of a pass. `lengths` are their tokens."""
    S, H, log_gammas, rise = snapshot
    prior, after = model.prior, lengths + model.prior.alpha.sum()
    assert isinstance(prior, DocumentPrior)
    sums = DocumentSums(len(lengths), digamma(after).sum(), rise, rise, 0.0, log_gammas, gammaln(after).sum())
    return prior.stats(WordTotal.of(S), sums, H)


class AsynchronousTopics(OwnRows[TopicModel]):
    """Threads of this process. They keep their documents' responsibilities: a checkpoint holds topics only."""

    native: _core.AsynchronousTopics

    def __init__(self, corpus: Corpus, model: TopicModel, workers: int, travel: Travel, max_iter: int):
        super().__init__(model, max_iter)
        V, K = model.words.shape
        blocks = word_blocks(np.bincount(corpus.index, minlength=V), K, workers, travel.block_words)
        self.native = _core.AsynchronousTopics(
            _core.CountRows(corpus.indptr, corpus.index, corpus.value),
            split_documents(corpus.indptr, workers),
            _core.WordBlocks(*blocks),
            model.words.total.counts(),
            model.prior.alpha,
            model.words.dense_prior(),
            _core.TopicPlan(travel.n_active, travel.tail, travel.warm_up, travel.settle, travel.seed, travel.per_token),
        )
        self.lengths = row_sums(corpus.indptr, corpus.value)

    def totals(self) -> Generator[TopicStats]:
        """Workers do not wait for whoever looks at the snapshots, except where priors are learned: then each pass needs
        the priors that the last one led to, and the workers make one pass at a time."""
        learned = self.model.learns_priors
        try:
            for n_pass in range(1, self.max_iter + 1):
                if learned or n_pass == 1:
                    self.native.start(n_pass if learned else self.max_iter)
                snapshot = self.native.next()
                if snapshot is None:
                    return
                yield statistics(snapshot, self.model, self.lengths)
                if learned:
                    self.native.priors(self.model.prior.alpha, self.model.words.dense_prior())
        finally:
            self.close()

    def interrupted(self, model: TopicModel) -> TopicModel:
        return model.update(statistics(self.native.now(), model, self.lengths))


class RunSettings(NamedTuple):
    alpha: np.ndarray  # [K]
    eta: np.ndarray  # [V or 1, K or 1]
    total: np.ndarray  # [K] sums over all words
    warm_up: int  # rounds under posterior means
    begins: int = 0  # rounds in which documents start under the topics that come; 0: topics are learned


class TopicRows(BlockRows):
    """The documents of one worker. While they begin, a block brings two arrays, one after the other: its topics as they
    are, and what the documents make of them."""

    settings: RunSettings

    def __init__(self, blocks: Blocks, shape: tuple[int, int], n_active: int, tail: str, rows: Shard, threads: int):
        super().__init__(threads)
        index = np.ascontiguousarray(rows.cols[rows.index], np.int32)
        counts, cuts = _core.CountRows(rows.indptr, index, rows.value), split_documents(rows.indptr, threads)
        self.native = _core.NomadicTopics(counts, cuts, _core.WordBlocks(*blocks), *shape, n_active, tail)

    def begin(self, settings: RunSettings) -> None:
        self.settings = settings
        self.native.begin(settings.alpha, settings.eta, settings.total)

    def put(self, block: int, content: np.ndarray) -> None:
        self.native.put(block, content[0], content[1] if len(content) == 2 else None)

    def take(self, block: int) -> np.ndarray:
        rows, fresh = self.native.take(block)
        return np.stack([rows, fresh]) if len(fresh) else rows[None]

    def visit(self, thread: int, blocks: list[int], n_round: int) -> None:
        (block,) = blocks
        begins = self.settings.begins
        if begins:
            self.native.begin_visit(thread, block, "logarithms" if n_round else "shares", n_round == begins - 1)
        else:
            self.native.visit(thread, block, "means" if n_round < self.settings.warm_up else "logarithms")

    def summary(self, thread: int) -> tuple[float, float, np.ndarray]:
        return self.native.summary(thread)

    def own_changes(self) -> np.ndarray:
        return self.native.own()

    def apply_changes(self, delta: np.ndarray) -> None:
        self.native.apply_total(delta)

    def n_bytes(self) -> int:
        return self.native.of_documents


class TopicsOnCluster(OnCluster[TopicModel]):
    """Words that travel between the workers of a cluster."""

    def __init__(self, corpus: Corpus, model: TopicModel, engine: Engine, travel: Travel, max_iter: int):
        if model.words.extra is not None or min(model.words.eta.shape) > 1:
            raise ValueError(
                "learner='asynchronous' on a cluster needs a prior that is the same for all words or for all topics, "
                "and no seeds: use learner='memoized'"
            )
        super().__init__(engine, model, float(corpus.n_docs), max_iter)
        self.corpus, self.travel, self.seed = corpus, travel, travel.seed % 2**31
        V, K = model.words.shape
        entries, P = np.bincount(corpus.index, minlength=V), self.workers.n_workers
        self.blocks = starts, words = word_blocks(entries, K, P, travel.block_words, BLOCKS_PER_MACHINE)
        self.words = np.split(words, starts[1:-1])  # of each block
        self.tokens = np.bincount(corpus.index, np.asarray(corpus.value, np.float64), minlength=V)
        self.lengths = row_sums(corpus.indptr, corpus.value)

    def begin(self, made: int) -> list[np.ndarray]:
        cuts = split_documents(self.corpus.indptr, self.workers.n_workers)
        shards = Shards(self.corpus, [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts)])
        shape = self.model.words.shape
        make = partial(TopicRows, self.blocks, shape, min(self.travel.n_active, shape[1]), self.travel.tail)
        self.workers.open(make, [shards.message(i) for i in range(len(shards))])
        counts = self.model.words.total.counts()
        contents = [np.stack([counts[words], np.zeros_like(counts[words])]) for words in self.words]
        begins = 1 + (SETTLING_PASSES if made else self.travel.settle)
        settings = RunSettings(self.model.prior.alpha, self.model.words.eta, counts.sum(axis=0), 0, begins)
        *_, end = self.workers.run(contents, begins, self.seed, settings)
        return [content[1:] for content in end.contents]

    def rounds(self, contents: list[np.ndarray], made: int) -> Generator[BlockRound]:
        """One pass at a time where priors are learned."""
        total = np.asarray(sum(content[0].sum(axis=0) for content in contents), np.float64)
        warm_up = max(0, self.travel.warm_up - made)
        settings = RunSettings(self.model.prior.alpha, self.model.words.eta, total, warm_up)
        n = 1 if self.model.learns_priors else self.max_iter - made
        return self.workers.run(contents, n, self.seed, settings)

    def total(self, end: BlockRound) -> TopicStats:
        """A word has as many counts as it has tokens, whatever was done to it on the way."""
        S = np.zeros(self.model.words.shape)
        for b, (words, content) in enumerate(zip(self.words, end.contents)):
            if not np.allclose(content[0].sum(axis=1), self.tokens[words], rtol=TOLERANCE, atol=TOLERANCE):
                raise BlockError(f"block {b} has {content[0].sum()} counts of {self.tokens[words].sum()} tokens")
            S[words] = content[0]
        H, gammas, rises = zip(*end.summaries)
        return statistics((S, sum(H), sum(gammas), np.sum(rises, axis=0)), self.model, self.lengths)
