"""Priors as people write them: a number, an array, "auto" or None."""

from __future__ import annotations

import numpy as np

from topmix.parameters.checks import LEAST_POSITIVE, MOST_POSITIVE, numbers_in_range, positive_number

IN_RANGE = f", from {LEAST_POSITIVE:g} to {MOST_POSITIVE:g}"
DOCUMENT_TOTAL = 0.5  # alpha, summed over topics
WORD_PRIOR = 0.03  # eta
COLLAPSED_WORD_PRIOR = 0.08  # eta of collapsed topics while they are learned: what is rare in a topic weighs less there
COLLAPSED_WORD_PRIOR_TOTAL = 16.0  # ... and its largest sum over topics: a large prior empties small topics


def document_prior(given: object, K: int) -> tuple[np.ndarray, bool]:
    """alpha [K], and whether it is to be learned."""
    learned = isinstance(given, str)
    if learned and given != "auto":
        raise ValueError(f"doc_topic_prior must be a number, an array, 'auto' or None, got {given!r}")
    value = DOCUMENT_TOTAL / K if given is None or learned else given
    numbers = _numbers(value, "doc_topic_prior")
    if numbers.shape not in ((), (1,), (K,)):
        raise ValueError(f"doc_topic_prior must be one number, or one for each of {K} topics, got {numbers.shape}")
    alpha = np.array(np.broadcast_to(numbers, (K,)))
    if not numbers_in_range(alpha):
        raise ValueError(f"doc_topic_prior must be positive{IN_RANGE}, got {given!r}")
    return alpha, learned


def _numbers(value: object, parameter: str) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:  # a table, for instance from a file
        raise ValueError(f"{parameter} must be a number, an array, 'auto' or None, got {value!r}") from error


def collapsed_word_prior(K: int) -> float:
    """The default eta of collapsed topics.  docs/evidence.md."""
    return min(COLLAPSED_WORD_PRIOR, COLLAPSED_WORD_PRIOR_TOTAL / K)


def word_smoothing(given: object, eta: np.ndarray, has_collapsed_prior: bool) -> float | None:
    """What replaces eta in topic_word_; None: eta itself. A large prior learns better, a small one predicts better."""
    if given is not None:
        return positive_number(given, "smoothing")
    return min(WORD_PRIOR, float(eta[0, 0])) if has_collapsed_prior else None


def word_prior(given: object, V: int, K: int) -> tuple[np.ndarray, bool]:
    """eta [V or 1, K or 1], and whether it is to be learned. Arrays come as [V] or [K, V]."""
    learned = isinstance(given, str)
    if learned and given != "auto":
        raise ValueError(f"topic_word_prior must be a number, an array, 'auto' or None, got {given!r}")
    eta = _numbers(WORD_PRIOR if given is None or learned else given, "topic_word_prior")
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


def document_prior_as_given(alpha: np.ndarray, learned: bool) -> float | np.ndarray:
    """The other way: a number where it is one for all topics and stays so, as scikit-learn has it; else [K]."""
    return alpha if learned or np.any(alpha != alpha[0]) else float(alpha[0])


def word_prior_as_given(eta: np.ndarray) -> float | np.ndarray:
    """A number, [V], [K] or [K, V]."""
    return float(eta[0, 0]) if eta.size == 1 else eta.T.squeeze(axis=tuple(np.flatnonzero(np.array(eta.T.shape) == 1)))


def concentration(given: object, default: float, parameter: str) -> tuple[float, bool]:
    """One positive number, and whether it is to be learned."""
    learned = isinstance(given, str)
    if learned and given != "auto":
        raise ValueError(f"{parameter} must be a number, 'auto' or None, got {given!r}")
    value = default if given is None or learned else given
    try:
        return positive_number(value, parameter), learned
    except ValueError as error:
        raise ValueError(f"{parameter} must be one positive number{IN_RANGE}, got {given!r}") from error
