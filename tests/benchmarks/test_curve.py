"""One curve type: what was reached, and when."""

import json

import numpy as np
import pytest

from benchmarks.harness.curve import Curve


@pytest.fixture
def curve():
    c = Curve("ours")
    c.add(1, -8.0, 0.5)
    c.add(2, -7.0, 1, objective=-9.0)
    c.add(3, None, 1.5, documents=30)
    c.add(4, -7.5, 2, objective=-8.5)
    return c


def test_a_curve_knows_its_best_and_when_it_was_there(curve):
    assert curve.best() == -7.0
    assert curve.best(within=1.5) == -8.0
    assert curve.best(within=0.5) == -np.inf
    assert curve.time_to(-7.2) == 2
    assert curve.time_to(-6.0) == np.inf
    assert curve.time_to(-8.6, of="objective") == 4


def test_points_without_a_value_are_in_no_series_of_it(curve):
    assert curve.series() == [(1, -8.0), (2, -7.0), (4, -7.5)]
    assert curve.series("objective", against="n_pass") == [(1, -9.0), (2, -8.5)]
    assert curve.series("nobody measured this") == []
    assert curve.value_at(3.5) == -7.0
    assert curve.value_at(0.5) is None
    assert curve.last("documents") == 30
    assert np.isnan(curve.last("nobody measured this"))


def test_columns_stay_as_long_as_the_curve(curve):
    assert all(len(column) == len(curve) == 4 for column in curve.extras.values())
    curve.keep([0, 3])
    assert curve.seconds == [1, 4]
    assert curve.extras == {"objective": [None, -8.5], "documents": [None, None]}


def test_a_curve_survives_json(curve):
    curve.add(5, float("nan"), 3)
    assert Curve.from_dict(json.loads(json.dumps(curve.to_dict(), allow_nan=False))) == curve


def test_the_first_pass_is_not_among_the_seconds_of_passes(curve):
    assert curve.pass_seconds() == [1, 1, 1]
