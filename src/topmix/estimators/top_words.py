"""The most probable words of topics, by name."""

from __future__ import annotations

from typing import Any

import numpy as np


def top_words(components: np.ndarray, names: Any, n: int) -> list[list[str]]:
    """The n best columns of each row, best first: their names, or their numbers where there are no names."""
    best = np.argsort(-components, axis=1, kind="stable")[:, :n]
    return [[str(v) if names is None else str(names[v]) for v in row] for row in best]
