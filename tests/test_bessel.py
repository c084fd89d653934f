"""Bessel functions against mpmath, over every region that bessel.py treats in its own way, and at their seams."""

import mpmath
import numpy as np
import pytest

from topmix.base.bessel import bounds_of_inverse_ratio, inverse_ratio, log_ive, ratio

DIMENSIONS = [1, 2, 3, 4, 5, 10, 33, 61, 62, 63, 100, 256, 784, 1024, 4002]


def grid(D):
    """From 1e-8 to 1e6, and both sides of each change of method."""
    nu = D / 2 - 1
    seams = np.array([2 * np.sqrt(nu + 1), nu + 1, 30.0, np.sqrt(max(900 - nu**2, 1.0))])
    return np.unique(np.concatenate([np.logspace(-8, 6, 15), 0.999 * seams, 1.001 * seams]))


def exact(nu, x):
    with mpmath.workdps(60):
        return mpmath.besseli(mpmath.mpf(nu), mpmath.mpf(float(x)), maxterms=10**7)


@pytest.mark.parametrize("D", DIMENSIONS)
def test_logarithms_and_ratios_are_those_of_mpmath(D):
    nu, x = D / 2 - 1, grid(D)
    scaled, A = log_ive(nu, x), ratio(D, x)
    log_I = scaled + x
    for i in range(len(x)):
        below, above = exact(nu, x[i]), exact(nu + 1, x[i])
        with mpmath.workdps(60):
            want, want_ratio = mpmath.log(below), above / below
            want_scaled = want - mpmath.mpf(float(x[i]))
        assert log_I[i] == pytest.approx(float(want), rel=1e-13, abs=1e-13)
        assert scaled[i] == pytest.approx(float(want_scaled), rel=1e-13, abs=1e-13)
        assert A[i] == pytest.approx(float(want_ratio), rel=1e-12)


@pytest.mark.parametrize("D", DIMENSIONS)
def test_the_inverse_undoes_the_ratio_as_far_as_its_digits_allow(D):
    x = grid(D)
    A = ratio(D, x)
    inside = A < 1 - 1e-9  # closer to one, a resultant has too few digits left to tell
    slope = np.maximum((1 - A) * (1 + A) - (D - 1) / x * A, 1e-300)
    lost = 1e-15 * (1 + 20 * D) * A / (x * slope)  # what one unit in the last place of A is worth in x
    error = np.abs(inverse_ratio(D, A) - x) / x
    assert np.all(error[inside] < 1e-13 + 10 * lost[inside])
    moderate = (x > 1e-3 * D) & (A < 0.999)
    assert np.all(error[moderate] < 1e-10)


@pytest.mark.parametrize("D", [2, 3, 17, 1024, 100_000])
def test_amos_bounds_hold_the_inverse(D):
    r = np.concatenate([np.logspace(-8, -1, 8), np.linspace(0.15, 0.999, 20)])
    low, high = bounds_of_inverse_ratio(D, r)
    x = inverse_ratio(D, r)
    assert np.all(low <= x * (1 + 1e-12))
    assert np.all(x <= high * (1 + 1e-12))
    np.testing.assert_allclose(ratio(D, x), r, rtol=1e-12)


def test_ends():
    assert inverse_ratio(5, 0.0) == 0.0
    assert inverse_ratio(5, 1.0, largest=1e4) == 1e4
    assert inverse_ratio(5, 1.0 + 1e-7, largest=1e4) == 1e4  # rounding may leave more than one
    assert np.all(np.diff(inverse_ratio(5, np.linspace(0, 1, 1000), largest=1e4)) >= 0)
    assert np.all(np.diff(ratio(784, np.logspace(-8, 6, 2000))) >= 0)


def test_shapes_are_kept():
    assert log_ive(2.5, 3.0).shape == ()
    assert ratio(7, np.ones((2, 3))).shape == (2, 3)
    assert inverse_ratio(7, np.full((4, 1), 0.5)).shape == (4, 1)
