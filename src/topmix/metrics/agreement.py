"""Agreement of two labellings of the same tokens or rows, whatever the labels are called."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score


def nmi(true: ArrayLike, predicted: ArrayLike) -> float:
    """Normalized mutual information: I / mean of the two entropies (arithmetic). From 0 to 1."""
    return float(normalized_mutual_info_score(np.ravel(true), np.ravel(predicted)))


def adjusted_rand(true: ArrayLike, predicted: ArrayLike) -> float:
    """Adjusted Rand index: 1 for the same partition, about 0 for independent ones; may be negative."""
    return float(adjusted_rand_score(np.ravel(true), np.ravel(predicted)))
