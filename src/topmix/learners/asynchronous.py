"""Asynchronous: workers stay with their documents, rows of the topics travel between them.  docs/math.md, section 3.10.

Extreme stochastic variational inference (Zhang et al. 2019). There are no shards to run, no statistics to blend and no
step size: a worker that has a block of words solves its own documents' responsibilities for them, puts the new counts
in the place of the old, and sends the block on. So this learner does not see an engine. What it yields are snapshots,
taken while the workers go on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.learners.learner import Passes, State
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordTotal

BYTES_A_BLOCK = 1 << 20  # of a block's rows, in double: what a worker's cache can hold in float, twice
BLOCKS_A_WORKER = 4  # at least, so that nobody waits
RESTS = {"best": "best", "mean": "mean"}
Snapshot = tuple[np.ndarray, float, float, np.ndarray]  # counts [V, K], entropy, documents' log Gammas, rise [K]


@dataclass(frozen=True)
class Blocks:
    """Which words travel together."""

    starts: np.ndarray  # [B + 1] int64
    words: np.ndarray  # int32, block by block

    @classmethod
    def of(cls, entries: np.ndarray, K: int, workers: int) -> Blocks:
        """Blocks that take about equally long to visit; `entries` [V] are how many documents have each word.

        Words are dealt from the most frequent on, there and back, as cards are.
        """
        words = np.argsort(-entries, kind="stable")[: np.count_nonzero(entries)].astype(np.int32)
        n_blocks = max(-(-len(words) * K * 8 // BYTES_A_BLOCK), BLOCKS_A_WORKER * max(workers, 2))
        n_blocks = max(1, min(n_blocks, len(words)))
        place = np.arange(len(words)) % (2 * n_blocks)
        block = np.minimum(place, 2 * n_blocks - 1 - place)
        order = np.argsort(block, kind="stable")
        return cls(np.searchsorted(block[order], np.arange(n_blocks + 1)).astype(np.int64), words[order])


def dealt(indptr: np.ndarray, workers: int) -> np.ndarray:
    """[workers + 1] bounds of consecutive documents, about as many entries each."""
    cuts = np.searchsorted(indptr, np.arange(1, workers) * (int(indptr[-1]) / workers))
    return np.concatenate([[0], cuts, [len(indptr) - 1]]).astype(np.int64)


@dataclass(frozen=True)
class Course:
    """How the workers go about it."""

    n_active: int  # C, topics kept of each entry
    rest: str = "best"  # what the others get: all the same, "mean" or "best"
    opening: int = 20  # passes under posterior means, which keep documents open until topics have formed
    settle: int = 0  # passes of documents under the topics that they start from, before those move
    seed: int = 0  # of the way that blocks take


@dataclass
class Fleet:
    """The workers on one corpus, and what their snapshots mean in the terms of a model."""

    native: _core.AsynchronousTopics
    lengths: np.ndarray  # [D]
    threads: int

    @classmethod
    def of(cls, corpus: Corpus, model: TopicModel, threads: int, course: Course) -> Fleet:
        V, K = model.words.shape
        blocks = Blocks.of(np.bincount(corpus.index, minlength=V), K, threads)
        native = _core.AsynchronousTopics(
            corpus.indptr,
            corpus.index,
            corpus.value,
            dealt(corpus.indptr, threads),
            blocks.starts,
            blocks.words,
            course.n_active,
            course.rest,
            model.words.total.counts(),
            model.prior.alpha,
            model.words.eta,
            course.opening,
            course.settle,
            course.seed,
        )
        return cls(native, row_sums(corpus.indptr, corpus.value), threads)

    def statistics(self, snapshot: Snapshot, model: TopicModel) -> TopicStats:
        """Of all documents, Eq. (3.8). Exact: what the workers posted belongs together."""
        S, H, log_gammas, rise = snapshot
        alpha, n_docs = model.prior.alpha, len(self.lengths)
        after = self.lengths + alpha.sum()
        T = rise + n_docs * digamma(alpha) - digamma(after).sum()
        G = log_gammas + n_docs * gammaln(alpha).sum() - gammaln(after).sum()
        total = WordTotal(S, S.sum(axis=0), 1.0, self.threads)
        return TopicStats(total, float(n_docs), H, float(G), -float(alpha @ T), T, alpha * rise)

    def now(self, model: TopicModel) -> TopicModel:
        """Stops the workers: the model as it is at this moment."""
        return model.update(self.statistics(self.native.now(), model))


def asynchronous(model: TopicModel, fleet: Fleet, max_iter: int, *, state: State | None = None) -> Passes:
    """Workers do not wait for whoever looks at the snapshots, but where priors are learned: then each pass needs those
    that the last one led to, and the workers make one at a time."""
    state = State() if state is None else state
    learned = model.prior.learned or model.words.learned
    try:
        fleet.native.start(1 if learned else max_iter)
        for n_pass in range(1, max_iter + 1):
            snapshot = fleet.native.next()
            if snapshot is None:
                return
            state.total, state.t = fleet.statistics(snapshot, model), n_pass
            model = model.update(state.total)
            model = (yield model, state.total) or model
            if learned:
                fleet.native.priors(model.prior.alpha, model.words.eta)
                fleet.native.start(n_pass + 1)
    finally:
        fleet.native.stop()
