"""Where the topics of a fit start: by one of the STARTS, or as given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from topmix.data.corpus import Corpus
from topmix.fitted.seeds import Names, Seeds
from topmix.models.topic_start import STARTS, at_seeds
from topmix.models.topics import TopicModel
from topmix.parameters.checks import MOST_POSITIVE, one_of
from topmix.stats import PseudoCounts, WordTotal

CLONED = " (scikit-learn's clone empties estimators in parameters: pass its components_, or a FrozenEstimator)"


@runtime_checkable
class Fits(Protocol):
    """An estimator in a parameter, of topmix or not."""

    def fit(self, X: object) -> object: ...


def first_topics(
    init: Any,
    empty: TopicModel,
    corpus: Corpus,
    rng: np.random.Generator,
    *,
    seeds: Seeds | None,
    names: Names,
    sparse: bool,
) -> TopicModel:
    """The first model, whose counts are pseudo-counts: sparse, where they can be and the learner lets them fade."""
    K, V = empty.n_components, corpus.n_words
    if isinstance(init, str):
        counts = STARTS[one_of(init, STARTS, "init")](corpus, K, rng)
        if isinstance(counts, PseudoCounts):
            at = empty.words.extra if seeds is None else seeds.start(empty.words.extra, names, V, K)
            if at is not None:
                counts = at_seeds(corpus, counts, at)
            if sparse:
                return replace(empty, words=empty.words.update(empty.no_stats().S.add(counts)))
            counts = counts.counts()
    else:
        counts = _given_counts(init, V, K)
    return replace(empty, words=empty.words.update(WordTotal.of(counts)))


def _given_counts(given: Any, V: int, K: int) -> np.ndarray:  # [V, K]
    if isinstance(given, Fits):
        if not hasattr(given, "components_"):
            raise ValueError(f"init must be fitted before; this {type(given).__name__} has no topics yet{CLONED}")
        given = given.components_
    try:
        counts = np.ascontiguousarray(np.asarray(given, dtype=np.float64).T)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must be numbers of shape ({K}, {V}), got {str(given)[:60]}") from error
    if counts.shape != (V, K) or not np.all(np.isfinite(counts)) or counts.min() < 0:
        raise ValueError(f"init must be finite, not negative and of shape ({K}, {V}), got {counts.T.shape}")
    if counts.max() > MOST_POSITIVE:
        raise ValueError(f"init must not have counts over {MOST_POSITIVE:g}, got {counts.max():g}")
    return counts
