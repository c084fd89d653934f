"""Grouping and sums: equal to the twin, bit for bit, with any number of threads."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from topmix import _core
from topmix.reference import accumulate as reference


def group_by(ids, n_bins, threads=1, dtype=np.int64):
    starts, order = np.empty(n_bins + 1, np.int64), np.empty(len(ids), dtype)
    _core.group_by(np.asarray(ids, np.int32), n_bins, starts, order, threads)
    return starts, order


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=60), st.integers(10, 12), st.sampled_from([np.int32, np.int64]))
def test_group_by_is_a_stable_sort(ids, n_bins, dtype):
    ids = np.array(ids, np.int32)
    for got, want in zip(group_by(ids, n_bins, 2, dtype), reference.group_by(ids, n_bins)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("n", "n_bins"), [(10_003, 1), (100_003, 37), (100_003, 5_000), (10, 100_000), (0, 3), (0, 0)])
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_group_by_does_not_depend_on_threads(n, n_bins, threads):
    ids = np.random.default_rng(0).integers(max(n_bins, 1), size=n)
    for got, want in zip(group_by(ids, n_bins, threads), reference.group_by(ids, n_bins)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("bad", [-1, 5, 2**31 - 1])
def test_an_id_outside_the_bins_is_an_error(bad):
    with pytest.raises(IndexError, match="outside"):
        group_by([0, 1, bad, 2], 5)


def test_wrong_lengths_are_errors():
    with pytest.raises(ValueError, match="length"):
        _core.group_by(np.zeros(3, np.int32), 2, np.empty(2, np.int64), np.empty(3, np.int64))
    with pytest.raises(ValueError, match="same length"):
        _core.add_by_id(np.zeros(3, np.int32), np.zeros(2), np.zeros(1))


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_sums_by_bin_have_the_bits_of_a_plain_loop(threads):
    rng = np.random.default_rng(1)
    ids = rng.zipf(1.5, size=10_003).clip(max=50).astype(np.int32) - 1  # one bin owns most of the items
    values = rng.lognormal(sigma=5, size=len(ids))
    want, got = np.ones(50), np.ones(50)
    reference.add_by_id(ids, values, want)
    _core.add_by_id(ids, values, got, threads)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", [0, 1, 511, 512, 513, 10_003, 300_001])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_has_the_same_bits_for_any_thread_count(n, dtype):
    x = np.random.default_rng(2).lognormal(sigma=4, size=n).astype(dtype)
    sums = {_core.sum(x, threads) for threads in (1, 2, 7)}
    assert sums == {reference.blocked_sum(x)}
    assert sums.pop() == pytest.approx(math.fsum(x), rel=1e-13)
