"""Priors as people write them: a number, an array, "auto" or None."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from topmix.base.checks import (
    LEAST_POSITIVE,
    MOST_POSITIVE,
    is_auto,
    number_from,
    numbers_in_range,
    one_of,
    positive_number,
)
from topmix.corpus.corpus import Corpus
from topmix.learn.topic_moves import Posteriors
from topmix.models.document_prior import Prior
from topmix.models.statistics import PseudoCounts
from topmix.models.stick_prior import StickPrior
from topmix.models.topic_words import WORD_PRIOR
from topmix.models.topics import STARTS, TopicModel, at_seeds
from topmix.models.words import WordTotal
from topmix.results.measures import Fits
from topmix.results.seeds import Names, Seeds
from topmix.results.topics import FittedTopics

IN_RANGE = f", from {LEAST_POSITIVE:g} to {MOST_POSITIVE:g}"
LARGEST_ALPHA = 1e10  # no digits are left of sums of log gamma functions of more
ALPHA_IN_RANGE = f", from {LEAST_POSITIVE:g} to {LARGEST_ALPHA:g}"
DOCUMENT_TOTAL = 0.5  # alpha, summed over topics


def document_prior(given: object, K: int) -> tuple[np.ndarray, bool]:
    """alpha [K], and whether it is to be learned."""
    numbers, learned = _numbers(given, DOCUMENT_TOTAL / K, "doc_topic_prior")
    if numbers.shape not in ((), (1,), (K,)):
        raise ValueError(f"doc_topic_prior must be one number, or one for each of {K} topics, got {numbers.shape}")
    alpha = np.array(np.broadcast_to(numbers, (K,)))
    if not numbers_in_range(alpha) or alpha.max() > LARGEST_ALPHA:
        raise ValueError(f"doc_topic_prior must be positive{ALPHA_IN_RANGE}, got {given!r}")
    return alpha, learned


def _numbers(given: object, default: float, parameter: str) -> tuple[np.ndarray, bool]:
    """What was given, or the default; and whether it is to be learned."""
    learned = is_auto(given)
    try:
        if isinstance(given, str) and not learned:
            raise ValueError
        return np.asarray(default if given is None or learned else given, dtype=np.float64), learned
    except (TypeError, ValueError) as error:  # a table, for instance from a file
        raise ValueError(f"{parameter} must be a number, an array, 'auto' or None, got {given!r}") from error


def word_prior(given: object, V: int, K: int) -> tuple[np.ndarray, bool]:
    """eta [V or 1, K or 1], and whether it is to be learned. Arrays come as [V] or [K, V]."""
    eta, learned = _numbers(given, WORD_PRIOR, "topic_word_prior")
    if not numbers_in_range(eta):
        raise ValueError(f"topic_word_prior must be positive and finite everywhere{IN_RANGE}")
    if eta.ndim == 0:
        return eta.reshape(1, 1), learned
    if eta.shape == (V,):
        return np.ascontiguousarray(eta[:, None]), False
    if eta.shape == (K, V):
        return np.ascontiguousarray(eta.T), False
    if eta.shape == (K,):
        return np.ascontiguousarray(eta[None, :]), False
    raise ValueError(f"topic_word_prior must have shape (), ({K},), ({V},) or ({K}, {V}), got {eta.shape}")


def alpha_of(f: FittedTopics) -> float | np.ndarray:
    """alpha: a number where it is one for all topics and stays so, as scikit-learn has it; else [K]."""
    prior = f.topics.prior
    return prior.alpha if prior.learned or np.any(prior.alpha != prior.alpha[0]) else float(prior.alpha[0])


def eta_of(f: FittedTopics) -> float | np.ndarray:
    """eta: a number, [V], [K] or [K, V]."""
    eta = f.topics.words.eta
    return float(eta[0, 0]) if eta.size == 1 else eta.T.squeeze(axis=tuple(np.flatnonzero(np.array(eta.T.shape) == 1)))


def renewed(new: Prior, before: Prior) -> Prior:
    """The new prior of what was learned under another. Sticks stay; their concentrations are new."""
    if isinstance(new, StickPrior) and isinstance(before, StickPrior):
        return replace(new, sticks=before.sticks, D=before.D, T=before.T)
    return new


def concentration(given: object, default: float, parameter: str) -> tuple[float, bool]:
    """One positive number, and whether it is to be learned."""
    learned = is_auto(given)
    try:
        number = positive_number(default if given is None or learned else given, parameter)
        return number_from(number, parameter, LEAST_POSITIVE, LARGEST_ALPHA), learned
    except ValueError as error:
        said = f"{parameter} must be one positive number{ALPHA_IN_RANGE}, or 'auto', got {given!r}"
        raise ValueError(said) from error


CLONED = " (scikit-learn's clone empties estimators in parameters: pass its components_, or a FrozenEstimator)"


@dataclass(frozen=True)
class FirstTopics:
    """Where the topics of a fit start: by one of the STARTS, as given, or from those of an earlier fit."""

    init: object
    empty: TopicModel
    corpus: Corpus
    seeds: Seeds | None = None
    names: Names = None
    sparse: bool = False  # whether pseudo-counts may stay so
    warm: TopicModel | None = None
    posteriors: Posteriors | None = None
    is_searching: bool = False

    def __call__(self, rng: np.random.Generator) -> tuple[TopicModel, object]:
        empty, K, V = self.empty, self.empty.n_components, self.corpus.n_words
        if self.warm is not None:
            model = replace(self.warm, document_options=empty.document_options)
        else:
            if not isinstance(self.init, str):
                total = WordTotal.of(_given_counts(self.init, V, K))
            elif isinstance(counts := STARTS[one_of(self.init, STARTS, "init")](self.corpus, K, rng), PseudoCounts):
                extra = empty.words.extra
                at = extra if self.seeds is None else self.seeds.start(extra, self.names, V, K)
                counts = counts if at is None else at_seeds(self.corpus, counts, at)
                total = empty.no_stats().S.add(counts) if self.sparse else WordTotal.of(counts.counts())
            else:
                total = WordTotal.of(counts)
            model = replace(empty, words=empty.words.update(total))
        if self.posteriors is not None:
            model = self.posteriors.under(model, empty.words.posterior, is_searching=self.is_searching)
        return model, model.pseudo_counts()


def _given_counts(given: object, V: int, K: int) -> np.ndarray:  # [V, K]
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
