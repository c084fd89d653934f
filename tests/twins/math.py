"""Slow twin of cpp/base/math.hpp, with SciPy in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special


def exp(x: ArrayLike) -> NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(np.asarray(x, np.float64))


def log(x: ArrayLike) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.asarray(x, np.float64))


def digamma(x: ArrayLike) -> NDArray[np.float64]:
    """For x >= 0, NaN below."""
    x = np.asarray(x, np.float64)
    return np.where(x > 0, special.digamma(x), np.where(x == 0, -np.inf, np.nan))


def lgamma(x: ArrayLike) -> NDArray[np.float64]:
    """For x >= 0, NaN below."""
    x = np.asarray(x, np.float64)
    return np.where(x >= 0, special.gammaln(x), np.nan)


def exp_digamma(x: ArrayLike) -> NDArray[np.float64]:
    return exp(digamma(x))
