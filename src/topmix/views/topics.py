"""What a fitted model of words says, whichever estimator it is: reports, exports and plots look at this."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from topmix.metrics.top_words import top_ids


@dataclass(frozen=True)
class TopicView:
    """Topic k is row k of the estimator's components_, here and everywhere."""

    topic_word: NDArray[np.float64]  # [K, V], rows sum to one
    share: NDArray[np.float64]  # [K], of all tokens (of all rows, for a mixture); sums to one
    tokens: float  # that the shares were counted on; 0 where the model does not say
    words: list[str]  # names, or numbers where the model has no names

    @property
    def n_topics(self) -> int:
        return len(self.topic_word)

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        """[V] how often the model expects each word: p(w) = sum_k share_k p(w | k)."""
        expected: NDArray[np.float64] = self.share @ self.topic_word
        return expected

    def top(self, n: int = 10, relevance: float = 1.0) -> NDArray[np.intp]:
        """[K, n] word ids, best first, n at most V. See `relevance_of` for what less than 1 does."""
        n = min(n, len(self.words))
        if relevance == 1.0:
            return top_ids(self.topic_word, n)
        return np.concatenate([top_ids(self.relevance_of(k, relevance)[None], n) for k in range(self.n_topics)])

    def relevance_of(self, k: int, weight: float) -> NDArray[np.float64]:
        """[V] weight log p(w | k) + (1 - weight) log(p(w | k) / p(w)); less than 1 prefers words of few topics."""
        with np.errstate(divide="ignore"):
            log_p, log_base = np.log(self.topic_word[k]), np.log(np.maximum(self.frequency, 1e-300))
        return np.maximum(log_p - (1.0 - weight) * log_base, -1e9)

    def by_size(self) -> NDArray[np.intp]:
        """Topics, largest first."""
        return np.argsort(-self.share, kind="stable")

    def words_of(self, ids: NDArray[np.intp]) -> list[str]:
        return [self.words[v] for v in ids.tolist()]


def view_of(model: Any) -> TopicView:
    """The view of a fitted estimator; ValueError where it has no topics over words."""
    check_is_fitted(model)
    components = getattr(model, "components_", None)
    if not isinstance(components, np.ndarray) or components.ndim != 2:
        raise ValueError(f"a {type(model).__name__} has no topics over words")
    topic_word = getattr(model, "topic_word_", None)
    if topic_word is None:
        topic_word = components / components.sum(axis=1, keepdims=True)
    share, tokens = _shares(model, components)
    return TopicView(topic_word, share, tokens, word_names(model, components.shape[1]))


def word_names(model: Any, n_words: int) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [str(v) for v in (range(n_words) if names is None else names)]


def proportions(model: Any, X: Any) -> NDArray[np.float64]:
    """[documents, K] rows that sum to one: a topic model's mixture, a mixture's posterior."""
    if hasattr(model, "transform"):
        return np.asarray(model.transform(X))
    return np.asarray(model.predict_proba(X))


def _shares(model: Any, components: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Weights as the model has them, or pseudo-counts less their prior."""
    weights = getattr(model, "weights_", None)
    if weights is not None:
        return np.asarray(weights, dtype=np.float64), 0.0
    sizes = components.sum(axis=1) - _prior_mass(model, components.shape)
    sizes = np.maximum(sizes, 0.0)
    total = float(sizes.sum())
    return (sizes / total if total > 0 else np.full(len(sizes), 1.0 / len(sizes))), total


def _prior_mass(model: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """[K] pseudo-tokens that the prior, not the data, gave each topic."""
    K, V = shape
    prior = np.asarray(getattr(model, "topic_word_prior_", 0.0), dtype=np.float64)
    if prior.shape == (K,) and K != V:
        return prior * V
    return np.broadcast_to(prior, (K, V)).sum(axis=1)
