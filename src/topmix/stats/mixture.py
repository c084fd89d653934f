"""Statistics of rows under a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.stats.additive import Additive


@dataclass(slots=True)
class MixtureStats(Additive):
    """Summary of rows under a mixture.  docs/math.md Eq. (1.7)."""

    S: Any  # the likelihood's own statistic, for instance WordStats; a total holds what these are added to
    N: np.ndarray  # [K] expected rows in each cluster
    H: float  # sum_n H[r_n]
    n_rows: float
