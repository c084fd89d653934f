"""Asynchronous topics on a cluster: documents stay with their worker, words travel between machines.  docs/math.md,
section 3.10.

No worker has all words: a block of them is at one worker at a time. The driver has the model, because it makes an
estimator of it; it deals blocks out and collects them after each pass, while workers go on.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import Shard, Shards, row_sums
from topmix.engines import Ray
from topmix.engines.nomad_ledger import LedgerError, LostWorker
from topmix.learners.asynchronous_topics import Blocks, Plan, split_documents, statistics
from topmix.learners.learner import Passes, PassResult, State
from topmix.models.topics import TopicModel

LOG = logging.getLogger("topmix.ray")
SETTLING_PASSES = 5  # of documents, when a fitted model is continued: topics stay as they are meanwhile
BLOCKS_PER_WORKER = 8  # at least, so that what a worker has at a time is near its share
MOST_LOST = 6  # workers in one pass, before it is taken to be the cause
TOLERANCE = 1e-9  # of the tokens of a block


class Settings(NamedTuple):
    """Of a run."""

    alpha: np.ndarray  # [K]
    eta: np.ndarray  # [V or 1, K or 1]
    total: np.ndarray  # [K] sums over all words
    opening: int  # rounds under posterior means
    begins: int = 0  # rounds in which documents start under the topics that come; 0: topics are learned


@dataclass(frozen=True)
class Maker:
    """What a worker needs besides its documents."""

    blocks: Blocks
    n_words: int
    n_topics: int
    n_active: int
    outside: str

    def __call__(self, rows: Shard, threads: int) -> TopicStation:
        return TopicStation(self, rows, threads)


class TopicStation:
    """The documents of one worker (engines/ray_nomad.py: Station).

    While documents begin, a block brings two arrays, one after the other: its topics as they are, and what the
    documents make of them."""

    def __init__(self, maker: Maker, rows: Shard, threads: int):
        self.n_threads, self.maker = threads, maker
        index = np.ascontiguousarray(rows.cols[rows.index], np.int32)
        self.native = _core.NomadicTopics(
            rows.indptr, index, rows.value, split_documents(rows.indptr, threads), maker.blocks.starts,
            maker.blocks.words, maker.n_words, maker.n_topics, maker.n_active, maker.outside,
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

    def visit(self, thread: int, block: int, n_round: int) -> None:
        assert self.settings is not None
        if not self.settings.begins:
            self.native.visit(thread, block, "means" if n_round < self.settings.opening else "logarithms")
            return
        is_last = n_round == self.settings.begins - 1
        self.native.begin_visit(thread, block, "logarithms" if n_round else "shares", is_last)

    def post(self, thread: int) -> tuple[float, float, np.ndarray]:
        return self.native.summary(thread)

    def told(self) -> np.ndarray:
        return self.native.own()

    def hear(self, delta: np.ndarray) -> None:
        self.native.hear(delta)

    def n_bytes(self) -> int:
        return self.native.of_documents


class NomadicTopics:
    """Workers of a cluster on one corpus, as a learner sees them."""

    n_shards = 0  # rows are the workers' own

    def __init__(self, corpus: Corpus, model: TopicModel, engine: Ray, plan: Plan, max_iter: int):
        if model.words.extra is not None or min(model.words.eta.shape) > 1:
            raise ValueError(
                "learner='asynchronous' on a cluster needs a prior that is the same for all words or for all topics: "
                "seeds and a prior for each word and topic would be on every worker. Use learner='memoized'."
            )
        self.corpus, self.plan, self.max_iter = corpus, plan, max_iter
        self.nomads = engine.nomads()
        V, K = model.words.shape
        value = np.asarray(corpus.value, np.float64)
        entries = np.bincount(corpus.index, minlength=V)
        self.blocks = Blocks.of(entries, K, self.nomads.n_workers, plan.block_words, BLOCKS_PER_WORKER)
        self.tokens = np.bincount(corpus.index, value, minlength=V)[self.blocks.words]
        self.lengths = row_sums(corpus.indptr, corpus.value)
        self.n_rows, self.latest = float(corpus.n_docs), model
        self.contents: list[np.ndarray] | None = None  # of the blocks, as documents made them; None: not begun

    def passes(self, model: TopicModel, state: State) -> Passes:
        """After a loss, documents begin again under the topics of the last pass that has ended."""
        made, n_lost, settle = 0, 0, self.plan.settle
        while made < self.max_iter:
            try:
                if self.contents is None:
                    self._open(model, settle)
                rounds = 1 if model.learns_priors else self.max_iter - made
                for snapshot in self._learn(model, rounds, max(0, self.plan.opening - made)):
                    state.total = statistics(snapshot, model, self.lengths)
                    made, n_lost = made + 1, 0
                    state.t, model = made, model.update(state.total)
                    self.latest = model
                    model = (yield PassResult(model, state.total, {})) or model
            except LostWorker as error:
                n_lost += 1
                if n_lost == MOST_LOST:
                    raise
                self.contents, settle = None, SETTLING_PASSES if made else self.plan.settle
                self.nomads.gather()
                LOG.warning("%s; %d workers go on from the end of pass %d", error, self.nomads.n_workers, made)

    def _open(self, model: TopicModel, settle: int) -> None:
        """Workers get their documents, which begin under the topics of the model."""
        P, (V, K) = self.nomads.n_workers, model.words.shape
        cuts = split_documents(self.corpus.indptr, P)
        shards = Shards(self.corpus, [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts)])
        maker = Maker(self.blocks, V, K, min(self.plan.n_active, K), self.plan.outside)
        self.nomads.open([maker] * P, [shards.message(i) for i in range(P)])
        counts = model.words.total.counts()
        contents = [np.stack([rows, np.zeros_like(rows)]) for rows in (counts[words] for words in self._words())]
        settings = self._settings(model, counts.sum(axis=0), 0)._replace(begins=settle + 1)
        for end in self._run(contents, settle + 1, settings, collect_all=False):
            self.contents = [content[1:] for content in end.contents]

    def _learn(self, model: TopicModel, rounds: int, opening: int) -> Any:
        assert self.contents is not None
        total = sum(content[0].sum(axis=0) for content in self.contents)
        for end in self._run(self.contents, rounds, self._settings(model, total, opening)):
            self._check(end.contents)
            S = np.zeros(model.words.shape)
            for words, content in zip(self._words(), end.contents):
                S[words] = content[0]
            self.contents = end.contents
            H, gammas, rises = zip(*end.posts)
            yield S, sum(H), sum(gammas), np.sum(rises, axis=0)

    def _run(self, contents: list[np.ndarray], rounds: int, settings: Settings, *, collect_all: bool = True) -> Any:
        arrays, seed = len(contents[0]), self.plan.seed % 2**31
        return self.nomads.run(contents, rounds, seed, settings, arrays=arrays, collect_all=collect_all)

    def _settings(self, model: TopicModel, total: np.ndarray, opening: int) -> Settings:
        return Settings(model.prior.alpha, model.words.eta, np.asarray(total, np.float64), opening)

    def _words(self) -> list[np.ndarray]:
        """Of each block."""
        return np.split(self.blocks.words, self.blocks.starts[1:-1])

    def _check(self, contents: list[np.ndarray]) -> None:
        """A word has as many counts as it has tokens, whatever was done to it on the way."""
        for b, (tokens, content) in enumerate(zip(np.split(self.tokens, self.blocks.starts[1:-1]), contents)):
            if not np.allclose(content[0].sum(axis=1), tokens, rtol=TOLERANCE, atol=TOLERANCE):
                raise LedgerError(f"block {b} has {content[0].sum()} counts of {tokens.sum()} tokens")

    def status(self) -> dict[str, float]:
        """Of the last pass, for its record."""
        return self.nomads.status(self.n_rows)

    def interrupted(self, model: TopicModel) -> TopicModel:
        """The model of the last pass."""
        return self.latest

    def place(self, model: Any) -> Any:
        return model

    def recall(self) -> dict[int, Any]:
        return {}

    def restore(self, memory: Mapping[int, Any]) -> None:
        """Documents start from the topics of the model."""

    def close(self) -> None:
        self.nomads.close()
