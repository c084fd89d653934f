"""One evaluator for every method: from the [K, V] matrix of topics alone, in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.datasets import Dataset
from topmix.metrics import (
    completion_score,
    duplicate_topics,
    empty_topics,
    half_split_score,
    largest_share,
    npmi_coherence,
    topic_diversity,
)

Evaluator = Callable[[np.ndarray, sp.csr_array], float]
EVALUATORS: dict[str, Evaluator] = {
    "completion": completion_score,  # with alpha = 0.5 / K
    "half_split": lambda phi, X: half_split_score(phi, X, doc_topic_prior=0.1),  # Foulds et al. (2013), and their alpha
}


def normalised(topic_word: np.ndarray) -> np.ndarray:
    phi = np.asarray(topic_word, dtype=np.float64)
    return phi / phi.sum(axis=1, keepdims=True)


def describe(topic_word: np.ndarray, tokens: np.ndarray, data: Dataset) -> dict[str, float]:
    """What the score does not show. `tokens` are those that each topic has; under one expected token it is empty."""
    phi, empty = normalised(topic_word), empty_topics(tokens)
    return {
        "npmi": float(npmi_coherence(phi, data.train)),
        "diversity": topic_diversity(phi),
        "empty": len(empty),
        "duplicate": len(duplicate_topics(np.delete(phi, empty, axis=0))) if len(empty) < len(phi) else 0,
        "largest_share": largest_share(tokens),
    }
