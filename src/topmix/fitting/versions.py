"""The last passes of a fit of topics with versions: the topics come apart into their versions.

A fit first learns topics that all versions share, by whatever learner and engine. Then documents are visited version by
version, under the words that topics have there (likelihoods/word_versions.py), until that changes little. Each version
has two shards, each with every other document: after the first visit one half chooses how strongly versions hold
together, by how well it predicts the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.data.shard import ENTRIES_PER_SHARD, Shards
from topmix.engines.local import Worker
from topmix.fitting.history import VERSIONS, Clock, Record
from topmix.likelihoods.word_versions import WordVersions, chosen
from topmix.local import LocalStep
from topmix.local.topics import Visit
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordStats
from topmix.stats.tree import tree_sum

MOST_PASSES = 10
ETA = 0.01  # prior count of a word in a parent


@dataclass(frozen=True)
class VersionProblem:
    corpus: Corpus
    version: NDArray[np.int32]  # [documents]
    place: NDArray[np.float64]  # [T] of versions in time; empty: they are groups
    n_versions: int
    step: LocalStep
    threads: int
    tol: float  # per token
    max_iter: int
    max_time: float | None = None

    def shards(self) -> tuple[Shards, list[int]]:
        """Every other document of a version, and the others; and the half that each shard is, 2 t or 2 t + 1."""
        rows, half = [], []
        offsets = self.corpus.offsets()
        for t in range(self.n_versions):
            of_version = np.flatnonzero(self.version == t)
            for h in (0, 1):
                docs = of_version[h::2]
                pieces = max(1, -(-int((offsets[docs + 1] - offsets[docs]).sum()) // ENTRIES_PER_SHARD))
                for part in np.array_split(docs, pieces):
                    rows.append(part)
                    half.append(2 * t + h)
        return Shards(self.corpus, rows), half


def learn_versions(
    problem: VersionProblem, model: TopicModel, clock: Clock, report: Callable[[Record, TopicModel], bool], n_pass: int
) -> tuple[TopicModel, WordVersions, bool]:
    """The topics with the counts of all versions, their versions, and whether they changed little in the end. `report`
    may end it."""
    p, objectives = problem, list[float]()
    worker, memory = Worker(p.step, p.threads), dict[int, Visit]()
    shards, half_of = p.shards()

    def visited(versions: WordVersions | None) -> tuple[list[WordStats], TopicStats, float]:
        total, found = model.no_stats(), list[list[WordStats]]([] for _ in range(2 * p.n_versions))
        iterations, now, of = 0.0, model, -1
        for b, half in enumerate(half_of):
            if versions is not None and half // 2 != of:
                of = half // 2
                now = replace(model, words=versions.words(of))
            shard = shards[b]
            stats, memory[b], info = worker.step(shard, now.tables(shard.cols), memory.get(b))
            found[half].append(stats.S)
            iterations += info.get("iterations", 0.0)
            total += stats
        return [tree_sum(parts) for parts in found], total, iterations

    def passes() -> Iterator[tuple[WordVersions, TopicStats, float]]:
        halves, total, effort = visited(None)
        strength, discount = chosen(halves[::2], halves[1::2], p.place, model.words, ETA)
        counts = _joined(halves)
        versions = WordVersions.start(counts, p.place, strength, discount, model.words, ETA)
        while True:
            yield versions, total, effort
            halves, total, effort = visited(versions)
            versions = versions.with_counts(_joined(halves)).redrawn()

    least = p.tol * max(p.corpus.n_tokens, 1.0)
    try:
        for versions, total, effort in passes():
            terms = {"data": versions.bound(), "entropy": total.H, "allocation": model.prior.bound(total)}
            now = replace(model, words=model.words.update(total.S))
            record = Record(
                n_pass + len(objectives) + 1, clock(), sum(terms.values()), model.n_components, terms,
                {"iterations": effort}, phase=VERSIONS,
            )  # fmt: skip
            objectives.append(record.objective)
            told = report(record, now)
            converged = len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) < least
            late = p.max_time is not None and record.seconds > p.max_time
            if told or late or converged or len(objectives) == p.max_iter:
                return now, versions, converged
    finally:
        worker.close()
    raise AssertionError


def _joined(halves: list[WordStats]) -> list[WordStats]:
    return [a.plus(b) for a, b in zip(halves[::2], halves[1::2])]
