"""Top-L: equal to a stable sort, whatever the scores; renormalised weights and entropies equal to the twin's."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp, softmax

from tests.twins import top_l as reference
from topmix import _core

SIZES = [1, 2, 15, 16, 17, 31, 33, 50, 127, 129, 200, 513, 800, 3_001]
KEPT = [1, 2, 3, 6, 7, 16, 17, 32, 64, 65, 200, 5_000]


def select(core, s, L, threads=1):
    m = min(L, s.shape[1])
    idx, val = np.full((len(s), m), -7, np.int32), np.empty((len(s), m), s.dtype)
    core.select_rows(s, L, idx, val, threads)
    return idx, val


def top_l(core, s, L, log, threads=1):
    m = min(L, s.shape[1])
    idx, r, H = np.full((len(s), m), -7, np.int32), np.empty((len(s), m), s.dtype), np.empty(len(s))
    core.top_l_rows(s, L, idx, r, log, H, threads)
    return idx, r, H


def rows(kind, K, rng, n=5):
    normal = rng.normal(size=(n, K))
    match kind:
        case "smooth":
            return normal
        case "ties":
            return np.round(2 * normal)
        case "holes":  # fewer than L may be left
            return np.where(rng.random((n, K)) < 0.9, -np.inf, np.where(rng.random((n, K)) < 0.2, np.nan, normal))
        case "powers":  # from 1e-38 to 1e38
            return np.exp(28 * np.clip(normal, -3, 3))
        case "odd":
            return rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e-40, 1.0, 3e38, -3e38], size=(n, K))
        case "sorted":
            return np.sort(normal)
        case "falling":
            return -np.sort(normal)
        case "equal":
            return np.repeat(normal[:, :1], K, axis=1)
        case "nearly equal":
            return np.where(rng.random((n, K)) < 0.01, 1 + 2e-7, 1.0)


KINDS = ["smooth", "ties", "holes", "powers", "odd", "sorted", "falling", "equal", "nearly equal"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_selection_is_a_stable_sort(core, kind, dtype):
    rng = np.random.default_rng(0)
    for K in SIZES:
        s = rows(kind, K, rng).astype(dtype)
        clean = np.where(np.isnan(s), -np.inf, s)
        for L in KEPT:
            idx, val = select(core, s, L)
            for n in range(len(s)):
                np.testing.assert_array_equal(idx[n], reference.select(s[n], L), err_msg=f"K={K} L={L}")
            np.testing.assert_array_equal(val, np.take_along_axis(clean, idx.astype(np.int64), 1))


@pytest.mark.parametrize("kind", ["smooth", "ties", "equal", "powers"])
def test_long_rows_are_selected_exactly(core, kind):
    s = rows(kind, 100_003, np.random.default_rng(1), n=1).astype(np.float32)
    for L in (1, 4, 16, 64, 1_000, 100_002):
        np.testing.assert_array_equal(select(core, s, L)[0][0], reference.select(s[0], L))


floats = st.one_of(
    st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-45]),
)


@settings(deadline=None, max_examples=300)
@given(hnp.arrays(np.float32, st.integers(1, 90), elements=floats), st.integers(1, 95))
def test_any_row_is_selected_exactly(s, L):
    idx, _ = select(_core, s[None], L)
    np.testing.assert_array_equal(idx[0], reference.select(s, L))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("log", [True, False])
def test_weights_and_entropy_equal_the_twin(core, kind, log, dtype):
    rng = np.random.default_rng(2)
    twin = reference.softmax_top_l if log else reference.normalise_top_l
    eps = np.finfo(dtype).eps
    for K in (1, 5, 16, 50, 201):
        s = rows(kind, K, rng).astype(dtype)
        if kind != "powers" and not log:
            s = np.abs(s)
        for L in (1, 4, 16, 17, 64, 300):
            idx, r, H = top_l(core, s, L, log)
            for n in range(len(s)):
                want_idx, want_r, want_H = twin(s[n], L)
                np.testing.assert_array_equal(idx[n], want_idx)
                np.testing.assert_allclose(r[n], want_r, rtol=20 * eps, atol=np.finfo(dtype).tiny)
                np.testing.assert_allclose(H[n], want_H, rtol=50 * eps, atol=50 * eps)


def test_top_l_is_softmax_when_L_is_K(core):
    s = np.random.default_rng(1).normal(size=(4, 50)).astype(np.float32)
    idx, r, H = top_l(core, s, 50, log=True)
    np.testing.assert_array_equal(idx, np.tile(np.arange(50), (4, 1)))
    np.testing.assert_allclose(r, softmax(s, axis=1), rtol=1e-6)
    # E_r[s] + H[r] = logsumexp(s): an identity, where a wrong entropy has nowhere to hide.
    np.testing.assert_allclose((r * s).sum(axis=1) + H, logsumexp(s.astype(float), axis=1), rtol=1e-6)


def test_top_l_is_argmax_when_L_is_1(core):
    idx, r, H = top_l(core, np.array([[0, 3, 1, 3]], np.float32), 1, log=True)
    assert (idx.item(), r.item(), H.item()) == (1, 1.0, 0.0)


@pytest.mark.parametrize("nothing", [-np.inf, np.nan])
def test_a_row_without_any_weight_is_uniform_over_the_first(core, nothing):
    for K in (8, 300):
        idx, r, H = top_l(core, np.full((1, K), nothing, np.float32), 3, log=True)
        np.testing.assert_array_equal(idx[0], [0, 1, 2])
        np.testing.assert_allclose(r[0], 1 / 3, rtol=1e-6)
        assert H[0] == pytest.approx(np.log(3))


def test_a_row_of_zero_weights_is_uniform_over_the_first(core):
    idx, r, H = top_l(core, np.zeros((1, 40), np.float32), 4, log=False)
    np.testing.assert_array_equal(idx[0], [0, 1, 2, 3])
    np.testing.assert_array_equal(r[0], 0.25)
    assert H[0] == pytest.approx(np.log(4))


@pytest.mark.parametrize("log", [True, False])
def test_infinity_takes_all_and_is_shared_evenly(core, log):
    s = np.array([[1, np.inf, 2, 3, np.inf, 0]], np.float32)
    idx, r, H = top_l(core, s, 3, log)
    np.testing.assert_array_equal(idx[0], [1, 3, 4])
    np.testing.assert_array_equal(r[0], [0.5, 0, 0.5])
    assert H[0] == pytest.approx(np.log(2))


def test_weights_too_large_or_small_to_add_are_normalised(core):
    for scale in (3e38, 1e-45):
        _, r, _ = top_l(core, np.full((1, 20), scale, np.float32), 5, log=False)
        np.testing.assert_allclose(r, 0.2, rtol=1e-6)


@pytest.mark.parametrize("log", [True, False])
def test_same_bits_for_any_thread_count(core, log):
    s = np.random.default_rng(3).gamma(0.3, size=(10_003, 53)).astype(np.float32)
    first = top_l(core, s, 7, log)
    for threads in (2, 7):
        for got, want in zip(top_l(core, s, 7, log, threads), first):
            np.testing.assert_array_equal(got, want)


def test_instruction_sets_select_alike(core):
    s = np.random.default_rng(4).normal(size=(500, 333)).astype(np.float32)
    for L in (1, 5, 16, 40):
        for got, want in zip(select(core, s, L), select(_core, s, L)):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("L", "idx_shape", "r_shape", "n_entropy"),
    [
        (0, (2, 0), (2, 0), 2),
        (3, (2, 3), (2, 4), 2),
        (3, (1, 3), (2, 3), 2),
        (3, (2, 3), (2, 3), 1),
        (9, (2, 9), (2, 9), 2),
    ],
)
def test_wrong_shapes_are_errors(core, L, idx_shape, r_shape, n_entropy):
    s = np.zeros((2, 5), np.float32)
    with pytest.raises(ValueError, match="need"):
        core.top_l_rows(s, L, np.empty(idx_shape, np.int32), np.empty(r_shape, np.float32), True, np.empty(n_entropy))


def test_no_rows_is_fine_and_no_columns_is_an_error(core):
    assert select(core, np.empty((0, 5), np.float32), 3)[0].shape == (0, 3)
    with pytest.raises(ValueError, match="column"):
        select(core, np.empty((2, 0), np.float32), 3)
