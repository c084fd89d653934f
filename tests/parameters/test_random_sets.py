"""Random parameters: a few hundred sets. `python -m tests.parameters.random_sets 10000` makes as many as wanted."""

from __future__ import annotations

from collections import Counter

import pytest

from topmix.estimators import ESTIMATORS

from .random_sets import check, described

N_SETS = 270
PARTS = 9


@pytest.mark.parametrize("part", range(PARTS))
def test_every_fit_saves_and_loads_or_is_refused(part, tmp_path):
    counts: Counter[str] = Counter()
    for seed in range(part, N_SETS, PARTS):  # of one estimator
        try:
            counts[check(seed, tmp_path / "model")] += 1
        except Exception as error:
            raise AssertionError(f"set {seed}: {described(seed)}") from error
    assert counts["saved"] > 0.3 * counts.total()  # enough of them were not refused


def test_a_part_is_an_estimator():
    assert len(ESTIMATORS) == PARTS
