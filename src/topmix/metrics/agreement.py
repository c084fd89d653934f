"""Agreement of two labellings of the same tokens or rows. The values of the labels do not matter."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def nmi(true: ArrayLike, predicted: ArrayLike) -> float:
    """Normalized mutual information, from 0 to 1: I divided by the arithmetic mean of the two entropies."""
    from sklearn.metrics import normalized_mutual_info_score  # here, because it comes with half of SciPy

    return float(normalized_mutual_info_score(np.ravel(true), np.ravel(predicted)))


def adjusted_rand(true: ArrayLike, predicted: ArrayLike) -> float:
    """Adjusted Rand index: 1 for equal partitions, about 0 for independent ones. It may be negative."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(np.ravel(true), np.ravel(predicted)))
