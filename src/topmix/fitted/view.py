"""The topics of a fitted model in one form for all estimators. Tables, reports, exports and plots read this form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topmix.fitted.reproducibility import Reproducibility
from topmix.metrics.counts import candidates, top_ids
from topmix.metrics.topic_map import PROJECTED_ABOVE, hellinger, map_positions, placed

ROUNDING = 1e-9  # by which two ways to compute a number may differ
LEAST_TOKENS = 1.0  # a topic with fewer is empty


@dataclass(frozen=True)
class TopicView:
    """The topics of a fitted model. Topic k is row k of the `components_` of the estimator."""

    topic_word: NDArray[np.float64]  # [K, V], rows sum to one
    share: NDArray[np.float64]  # [K] share of all tokens (for a mixture: of all rows); sums to one
    tokens: float  # number of training tokens; 0 if the model does not store it
    words: list[str]  # names of the words, or their numbers if the model has no names
    reproducibility: Reproducibility | None = None  # of a consensus
    n_rows: float = 0.0  # of a mixture: number of training rows
    base: NDArray[np.float64] | None = None  # [V] what relevance holds against a word; None: log p(w)
    kept: NDArray[np.float64] | None = None  # [K, 2] positions from before an edit; NaN where a topic is new

    @property
    def n_topics(self) -> int:
        return len(self.topic_word)

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        """[V] expected frequency of each word: p(w) = sum_k share_k p(w | k)."""
        expected: NDArray[np.float64] = self.share @ self.topic_word
        return expected

    @cached_property
    def log_frequency(self) -> NDArray[np.float64]:
        return np.log(np.maximum(self.frequency, 1e-300))

    @cached_property
    def distance(self) -> NDArray[np.float64]:
        """[K, K] Hellinger distances between topics."""
        return hellinger(self.topic_word)

    @cached_property
    def places(self) -> NDArray[np.float64]:
        """[K, 2] positions on the map. They stay through edits, so that a topic keeps its place and its colour."""
        if self.kept is None:
            distance = self.distance if self.n_topics <= PROJECTED_ABOVE else None
            return map_positions(self.topic_word, self.share, distance=distance)
        return placed(self.kept, self.topic_word, self.share)

    def top(self, n: int = 10, relevance: float = 1.0) -> NDArray[np.intp]:
        """[K, n] word ids, best first; n is limited to V. `relevance` is the weight in `relevance_of`."""
        n = min(n, len(self.words))
        if relevance == 1.0:
            return top_ids(self.topic_word, n)
        lift = np.exp(-(1.0 - relevance) * self.log_base)  # p times this is as relevant, without a logarithm of each
        found = np.empty((self.n_topics, n), np.intp)
        for k, row in enumerate(self.topic_word):
            ids = candidates(row * lift, n, ROUNDING)
            found[k] = ids[np.argsort(-self.relevance_of(k, relevance, ids), kind="stable")[:n]]
        return found

    def relevance_of(self, k: int, weight: float, ids: slice | NDArray[np.intp] = slice(None)) -> NDArray[np.float64]:
        """[V] weight log p(w | k) + (1 - weight) log(p(w | k) / p(w)). A small weight prefers words of few topics."""
        return self.relevance(self.topic_word[k][ids], weight, ids)

    def relevance(
        self, probability: NDArray[np.float64], weight: float, ids: slice | NDArray[np.intp] = slice(None)
    ) -> NDArray[np.float64]:
        """The same for any distribution over the words, [V], or over those of `ids`."""
        with np.errstate(divide="ignore"):
            log_p = np.log(probability)
        return np.maximum(log_p - (1.0 - weight) * self.log_base[ids], -1e9)

    @cached_property
    def log_base(self) -> NDArray[np.float64]:
        return self.log_frequency if self.base is None else self.base

    @property
    def sizes(self) -> NDArray[np.float64]:
        """[K] training tokens of each topic, or rows of each cluster."""
        return self.share * (self.tokens or self.n_rows)

    def is_empty(self) -> NDArray[np.bool_]:
        """[K] topics with less than one token or row, or no share where their number is not known."""
        return (self.sizes < LEAST_TOKENS) if self.tokens or self.n_rows else self.share <= 0

    def by_size(self) -> NDArray[np.intp]:
        """The numbers of the topics, largest topic first."""
        return np.argsort(-self.share, kind="stable")

    def words_of(self, ids: NDArray[np.intp]) -> list[str]:
        return [self.words[v] for v in ids.tolist()]
