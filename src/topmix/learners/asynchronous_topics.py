"""Asynchronous workers on documents: rows of the topics travel between them.  docs/math.md, section 3.10."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.learners.learner import Passes, PassResult, State
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordTotal

BYTES_PER_BLOCK = 1 << 20  # of a block's rows, in double: what a worker's cache can hold in float, twice
BLOCKS_PER_WORKER = 4  # at least, so that no worker is idle
Snapshot = tuple[np.ndarray, float, float, np.ndarray]  # counts [V, K], entropy, documents' log Gammas, rise [K]


@dataclass(frozen=True)
class Plan:
    """How the workers proceed."""

    n_active: int  # L, topics kept of each entry
    outside: str = "best"  # what each of the other topics gets: "mean" or "best"
    opening: int = 20  # passes under posterior means, which keep documents open until topics have formed
    settle: int = 0  # passes of documents under the topics that they start from, before those move
    seed: int = 0  # of the order in which blocks travel
    block_words: int | None = None  # words that travel together; None: as many as a cache holds
    per_token: bool = False  # a word's row follows each token, and travels alone


@dataclass(frozen=True)
class Blocks:
    """Which words travel together."""

    starts: np.ndarray  # [B + 1] int64
    words: np.ndarray  # int32, block by block

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


class AsynchronousTopics:
    """Native workers on one corpus, and what their snapshots mean in the terms of a model.

    They keep their documents' responsibilities to themselves: a checkpoint holds topics only.
    """

    n_shards = 0  # rows are the workers' own

    def __init__(self, corpus: Corpus, model: TopicModel, workers: int, plan: Plan, max_iter: int):
        V, K = model.words.shape
        blocks = Blocks.of(np.bincount(corpus.index, minlength=V), K, workers, plan.block_words)
        self.native = _core.AsynchronousTopics(
            corpus.indptr,
            corpus.index,
            corpus.value,
            split_documents(corpus.indptr, workers),
            blocks.starts,
            blocks.words,
            plan.n_active,
            plan.outside,
            model.words.total.counts(),
            model.prior.alpha,
            model.words.dense_prior(),
            plan.opening,
            plan.settle,
            plan.seed,
            plan.per_token,
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

    def place(self, model: Any) -> Any:
        return model

    def recall(self) -> dict[int, Any]:
        return {}

    def restore(self, memory: Mapping[int, Any]) -> None:
        """Documents start from the topics of the model."""

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
