from __future__ import annotations

import numpy as np
import pytest

from topmix.data import Corpus


@pytest.fixture
def small() -> Corpus:
    """Five documents, two of them empty (one the last), over seven words, one of them unused, not all ASCII."""
    rows = [{0: 1, 3: 12}, {}, {1: 7, 2: 1, 6: 3}, {5: 250}, {}]
    return Corpus.from_rows(rows, ["the", "naïve", "猫", "cat sat", "x", "µ\u2028y", "z"])


@pytest.fixture
def medium() -> Corpus:
    """A thousand and three documents, some empty, counts up to a hundred."""
    rng = np.random.default_rng(0)
    rows = [
        {int(v): int(x) for v, x in zip(rng.choice(97, n, replace=False), rng.integers(1, 101, n))}
        for n in rng.poisson(3, 1003)
    ]
    return Corpus.from_rows(rows, [f"w{v}" for v in range(97)])
