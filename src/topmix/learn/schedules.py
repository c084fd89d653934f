"""What comes after a pass: schedules of topics, of topics that learn from responses, and of versions of topics.

Those of clusters (clusters.py), sampling (sampling.py) and the search for the number of topics or clusters (search.py)
are schedules too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import ENTRIES_PER_SHARD, Batches, row_sums
from topmix.engines.engine import Workers
from topmix.learn.fit import Fit, Moment, Schedule
from topmix.learn.history import RESPONDING, VERSIONS
from topmix.learn.learners import Passes, PassMaker, PassResult, State
from topmix.models.document_prior import DocTopics, Population
from topmix.models.model import SomeModel
from topmix.models.response_prior import Responded, ResponsePrior
from topmix.models.statistics import TopicStats, tree_sum
from topmix.models.topics import TopicModel, restarted
from topmix.models.word_versions import WordVersions, chosen
from topmix.models.words import WordStats
from topmix.steps import Info


class TopicPasses(Schedule):
    """Passes over documents. Priors follow the statistics after each pass, and topics that are small after the first
    one may start again."""

    def __init__(self, fit: Fit, rng: np.random.Generator, restarts: bool = False) -> None:
        super().__init__(fit, rng)
        assert fit.problem.empty is not None
        self.corpus = fit.problem.corpus
        again = restarts and fit.problem.learner.fades
        self.empty, self.second_start = fit.problem.empty, int(rng.integers(2**63)) if again else None

    @cached_property
    def lengths(self) -> np.ndarray:
        """[documents] tokens."""
        return row_sums(self.corpus.indptr, self.corpus.value)

    @cached_property
    def population(self) -> Population | None:
        """The documents as priors with covariates are learned from them."""
        design, prior = self.corpus.design, self.empty.prior
        is_needed = prior.learned and not prior.is_shared
        return Population.of(design, self.lengths) if design is not None and is_needed else None

    def direction(self, model: TopicModel) -> str:
        moves = model.learns_priors or model.document_options.own_discount > 0
        return "either" if moves and model.words.posterior == "collapsed" else "rises"

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        if not is_last:
            self._restart_small_topics()
        model: TopicModel = result.model
        return self._relearned(model, result.total) if model.learns_priors else None

    def _relearned(self, model: TopicModel, total: TopicStats) -> TopicModel | None:
        return model.relearn(total, self.lengths, self.population)

    def resume(self, moment: Moment) -> SomeModel:
        self._restart_small_topics()
        return super().resume(moment)

    def _restart_small_topics(self) -> None:
        """After the first pass: pseudo-counts for topics that found next to nothing, to fade through the second."""
        state = self.fit.state
        if self.second_start is None or state.t != 1:
            return
        again = restarted(self.corpus, np.asarray(state.total.S.totals), np.random.default_rng(self.second_start))
        state.pseudo_counts = None if again is None else self.empty.prior.no_stats(again)


class ResponsePasses(TopicPasses):
    """Topics learn from the responses of documents as well: after each pass, coefficients follow the topics that
    documents have."""

    phase = RESPONDING

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        following = super().after(result, is_last) or result.model
        if is_last:
            return following
        design, memory, batches = self.corpus.design, self.fit.workers.recall(), self.fit.batches
        assert design is not None
        docs = [memory[b].docs for b in range(len(batches))]
        y = np.concatenate([design.x[design.row[rows], 0] for rows in batches])
        assert isinstance(following.prior, ResponsePrior)
        return replace(following, prior=following.prior.responding_to(Responded.of(joined(docs), y)))


def joined(parts: list[DocTopics]) -> DocTopics:
    """Documents one part after the other."""
    length = np.concatenate([np.diff(part.indptr) for part in parts])
    topic, count = (np.concatenate(x) for x in zip(*((part.topic, part.count) for part in parts)))
    return DocTopics(np.concatenate([[0], np.cumsum(length)]), topic, count)


# The last passes of a fit of topics with versions: documents are visited version by version, under the words that
# topics have there (models/word_versions.py), until that changes little. Each version has two shards, each with every
# other document: after the first visit one half chooses how strongly versions hold together, by how well it predicts
# the other.

MOST_PASSES = 10
ETA = 0.01  # prior count of a word in a parent


@dataclass(frozen=True)
class ByVersion(PassMaker):
    """Visits documents version by version."""

    corpus: Corpus
    version: NDArray[np.int32]  # [documents]
    place: NDArray[np.float64]  # [T] of versions in time; empty: they are groups
    n_versions: int

    @cached_property
    def dealt(self) -> tuple[list[np.ndarray], list[int]]:
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
        return rows, half

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        return self.dealt[0]

    def passes(self, model: TopicModel, workers: Workers, state: State) -> Passes:
        while True:
            total, effort, now, version = model.no_stats(), 0.0, model, -1
            words: list[list[WordStats]] = [[] for _ in range(2 * self.n_versions)]  # of each half of each version
            for b, half in enumerate(self.dealt[1]):
                if model.versions is not None and half // 2 != version:
                    version = half // 2
                    now = replace(model, words=model.versions.words(version))
                for _, stats, info in workers.run(now.tables, [b]):
                    words[half].append(stats.S)
                    effort += info.get("iterations", 0.0)
                    total += stats
            state.total, halves = total, [tree_sum(parts) for parts in words]
            counts = [a + b for a, b in zip(halves[::2], halves[1::2])]
            if model.versions is None:
                strength, discount = chosen(halves[::2], halves[1::2], self.place, model.words, ETA)
                versions = WordVersions.start(counts, self.place, strength, discount, model.words, ETA)
            else:
                versions = model.versions.with_counts(counts).redrawn()
            model = replace(model, words=model.words.update(total.S), versions=versions)
            model = (yield PassResult(model, total, Info(iterations=effort))) or model


class VersionPasses(Schedule):
    phase = VERSIONS

    def direction(self, model: TopicModel) -> str:
        return "either"
