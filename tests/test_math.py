"""The vector functions, against mpmath (ulp bounds that cpp/base/math.hpp states) and SciPy (dense grids)."""

import mpmath as mp
import numpy as np
import pytest

from tests.twins import math as reference

EXACT = {
    "exp": mp.exp,
    "log": mp.log,
    "digamma": lambda x: mp.psi(0, x),
    "lgamma": mp.loggamma,
    "exp_digamma": lambda x: mp.exp(mp.psi(0, x)),
}
ULPS = {"exp": 1, "log": 1, "digamma": 4, "lgamma": 8, "exp_digamma": 6}  # the table in cpp/base/math.hpp
DIGAMMA_ROOT = 1.4616321449683623
SEAMS = [0.5, 1.0, DIGAMMA_ROOT, 1.5, 2.0, 2.5]  # roots, and where one formula takes over from another


def call(core, name, x, threads=1):
    out = np.empty_like(x)
    getattr(core, name)(x, out, threads)
    return out


def grid(name, dtype, n):
    """Log-spaced over the whole range, linear over the middle, and crowded around roots and seams."""
    tiny, info = (1e-30, 1e-300)[dtype is np.float64], np.finfo(dtype)
    if name == "exp":
        low, high = np.log(float(info.tiny)), np.log(float(info.max))
        return np.concatenate([np.linspace(low, high, n)[1:-1], np.linspace(-2, 2, n)]).astype(dtype)
    around = np.geomspace(float(info.eps) / 4, 0.01, n // 10)
    x = np.concatenate([np.geomspace(tiny, 1e30, n), np.geomspace(1e-3, 1e3, n), np.linspace(0.3, 3.2, n)])
    x = np.concatenate([x, *(c + s * c * around for c in SEAMS for s in (-1, 1))]).astype(dtype)
    # A result that would be subnormal is 0: that has a test of its own.
    return x[x > (1 / 86.6 if dtype is np.float32 else 1 / 707.7)] if name == "exp_digamma" else x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", list(EXACT))
def test_error_stays_within_the_stated_ulps(core, name, dtype):
    x = grid(name, dtype, 400)
    got = call(core, name, x)
    assert np.isfinite(got).all()
    with mp.workdps(40):
        want = [EXACT[name](mp.mpf(float(v))) for v in x]
        ulp = np.spacing(np.abs(np.array([float(w) for w in want]).astype(dtype))).astype(np.float64)
        error = np.array([float(abs(mp.mpf(float(y)) - w)) for y, w in zip(got, want)]) / ulp
    worst = error.argmax()
    assert error[worst] <= ULPS[name], f"{error[worst]:.2f} ulp at {x[worst]!r}"


@pytest.mark.parametrize("name", list(EXACT))
def test_float32_agrees_with_scipy_on_a_dense_grid(core, name):
    x = grid(name, np.float32, 200_000)
    with np.errstate(over="ignore"):
        want = getattr(reference, name)(x)
    np.testing.assert_allclose(call(core, name, x), want, rtol=ULPS[name] * np.finfo(np.float32).eps)


@pytest.mark.parametrize("name", ["digamma", "lgamma", "exp_digamma"])
def test_float64_agrees_with_scipy_on_a_dense_grid(core, name):
    x = grid(name, np.float64, 50_000)
    # SciPy itself is no better than this near the roots, and rounds 1/x before exp(psi(x)).
    rtol, atol = (1e-12, 0) if name == "exp_digamma" else (1e-14, 1e-15)
    np.testing.assert_allclose(call(core, name, x), getattr(reference, name)(x), rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("exp", [0, -np.inf, np.inf, np.nan, 1e30, -1e30], [1, 0, np.inf, np.nan, np.inf, 0]),
        ("log", [0, -0.0, 1, np.inf, np.nan, -1, -np.inf], [-np.inf, -np.inf, 0, np.inf, np.nan, np.nan, np.nan]),
        ("digamma", [0, np.inf, np.nan, -0.5, -np.inf], [-np.inf, np.inf, np.nan, np.nan, np.nan]),
        ("lgamma", [0, 1, 2, np.inf, np.nan, -0.5, -1.5], [np.inf, 0, 0, np.inf, np.nan, np.nan, np.nan]),
        ("exp_digamma", [0, 1e-30, 0.001, np.inf, np.nan, -0.5], [0, 0, 0, np.inf, np.nan, np.nan]),
    ],
)
def test_special_values(core, name, x, y, dtype):
    got = call(core, name, np.array(x * 5, dtype))  # long enough for the vector loop and for what it leaves over
    np.testing.assert_array_equal(got, np.array(y * 5, dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_subnormal_numbers_are_handled(core, dtype):
    info = np.finfo(dtype)
    x = np.geomspace(float(info.smallest_subnormal) * 1.1, float(info.tiny), 500).astype(dtype)
    np.testing.assert_allclose(call(core, "log", x), np.log(x.astype(np.longdouble)).astype(dtype), rtol=2 * info.eps)
    np.testing.assert_allclose(
        call(core, "lgamma", x), -np.log(x.astype(np.longdouble)).astype(dtype), rtol=4 * info.eps
    )
    below = np.linspace(np.log(float(info.smallest_subnormal)), np.log(float(info.tiny)), 500).astype(dtype)
    np.testing.assert_allclose(
        call(core, "exp", below),
        np.exp(below.astype(np.longdouble)).astype(dtype),
        rtol=0,
        atol=info.smallest_subnormal,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_digamma_is_never_subnormal(core, dtype):
    y = call(core, "exp_digamma", np.geomspace(1e-4, 1, 20_001).astype(dtype))
    assert np.all((y == 0) | (y >= np.finfo(dtype).tiny))
    assert (y == 0).any()
    assert np.all(np.diff(y) >= 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", list(EXACT))
def test_same_bits_for_any_thread_count(core, name, dtype):
    x = np.random.default_rng(0).gamma(1.0, 3.0, size=100_003).astype(dtype)
    first = call(core, name, x)
    for threads in (2, 7):
        np.testing.assert_array_equal(call(core, name, x, threads), first)


def test_lengths_must_agree(core):
    with pytest.raises(ValueError, match="same length"):
        core.exp(np.zeros(3), np.zeros(4))


def test_output_of_another_type_is_refused(core):
    with pytest.raises(TypeError):
        core.exp(np.zeros(3), np.zeros(3, np.float32))
