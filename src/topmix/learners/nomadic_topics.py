"""Asynchronous topics on a cluster: documents stay with their worker, words travel between machines.  docs/math.md,
section 3.10.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import Shard, Shards, row_sums
from topmix.engines import Ray
from topmix.engines.nomad_ledger import LedgerError
from topmix.learners.asynchronous_topics import Blocks, Plan, split_documents, statistics
from topmix.learners.nomadic import Nomadic
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats

SETTLING_PASSES = 5  # of documents, when a fitted model is continued: topics stay as they are meanwhile
BLOCKS_PER_WORKER = 8  # at least, so that what a worker has at a time is near its share
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

    together = 1

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

    def visit(self, thread: int, blocks: list[int], n_round: int) -> None:
        assert self.settings is not None
        (block,) = blocks
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


class NomadicTopics(Nomadic):
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
        self.blocks = Blocks.of(entries, K, self.nomads.n_workers, plan.block_words, BLOCKS_PER_WORKER)
        self.tokens = np.bincount(corpus.index, value, minlength=V)[self.blocks.words]
        self.lengths = row_sums(corpus.indptr, corpus.value)

    def _open(self, model: TopicModel, made: int) -> None:
        P, (V, K) = self.nomads.n_workers, model.words.shape
        cuts = split_documents(self.corpus.indptr, P)
        shards = Shards(self.corpus, [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts)])
        maker = Maker(self.blocks, V, K, min(self.plan.n_active, K), self.plan.outside)
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
        settings = self._settings(model, total, max(0, self.plan.opening - made))
        for end in self._run(self.contents, rounds, settings):
            self._check(end.contents)
            S = np.zeros(model.words.shape)
            for words, content in zip(self._words(), end.contents):
                S[words] = content[0]
            self.contents = end.contents
            H, gammas, rises = zip(*end.posts)
            yield statistics((S, sum(H), sum(gammas), np.sum(rises, axis=0)), model, self.lengths)

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
