"""Kernels of mixtures, in a host build, against their NumPy twins."""

import numpy as np
import pytest

from tests.twins import gaussian as twin
from tests.twins.top_l import softmax_top_l
from topmix.cuda import row_sums
from topmix.cuda.gaussian import DeviceGaussianStats
from topmix.cuda.row_sums import Moments, Scorer, Top, features_of, from_host

from .emulated import EmulatedDevice

RNG = np.random.default_rng(0)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
KINDS = [("products", True), ("products", False), ("squares", True), ("norm", True), ("norm", False), ("none", True)]


def scores_of(device, scorer, z, n):
    """What the kernel that chooses among them reads."""
    given = scorer(device.array(z))
    scores = given["scores"][:, :n].astype(np.float64)
    if "row_scale" in given:
        scores = scores * given["row_scale"][: len(z), None] * given["cluster_scale"][:n]
    return scores


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize(("quadratic", "linear"), KINDS)
def test_scores_equal_their_twin(quadratic, linear, dtype):
    device = EmulatedDevice()
    z = RNG.normal(size=(19, 5)).astype(dtype)
    F = twin.features(z, quadratic, linear)
    W = RNG.normal(size=(6, F.shape[1])).astype(dtype)
    scorer = Scorer(device, from_host(device, 5, quadratic, linear, W), 20, "float32")
    error = np.abs(scores_of(device, scorer, z, 6) - F @ W.T.astype(np.float64))
    size = np.abs(F) @ np.abs(W.T.astype(np.float64))
    assert np.all(error <= (2.0**-48 if dtype == FLOAT64 else 2.0**-21) * size)


def test_no_features_are_scores_of_zero():
    """Tied clusters whose means are zero."""
    device = EmulatedDevice()
    weights = from_host(device, 5, "none", False, np.zeros((3, 0), np.float32))
    np.testing.assert_array_equal(scores_of(device, Scorer(device, weights, 4, "float32"), np.ones((4, 5), "f4"), 3), 0)


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_the_error_of_split_products_is_what_is_said(precision):
    """Of numbers of very different sizes, relative to the sum of absolute terms: 2^-21 and 2^-10."""
    device = EmulatedDevice()
    z = (RNG.normal(size=(40, 6)) * 10.0 ** RNG.integers(-3, 4, size=(40, 6))).astype(np.float32)
    z[0], z[1] = 0.0, 3e8  # whose squares no half can hold
    F = twin.features(z, "products", True)
    W = (RNG.normal(size=(9, F.shape[1])) * 10.0 ** RNG.integers(-3, 4, size=(9, F.shape[1]))).astype(np.float32)
    got = scores_of(device, Scorer(device, from_host(device, 6, "products", True, W), 40, precision), z, 9)
    size = np.abs(F) @ np.abs(W.T.astype(np.float64))
    error = np.abs(got - F @ W.T.astype(np.float64)) / np.maximum(size, 1e-30)
    bits = {"float32": 21, "tf32": 10}[precision]
    assert error.max() < 2.0**-bits
    if precision == "tf32":
        assert error.max() > 2.0**-16  # or the option would do nothing


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize(("K", "L"), [(1, 1), (7, 3), (7, 7), (40, 1), (70, 33), (70, 70), (33, 32)])
def test_posteriors_equal_their_twin(K, L, dtype):
    device = EmulatedDevice()
    s = RNG.normal(size=(9, K)).astype(dtype) * 5
    s[1] = 2.0  # all equal
    s[2, ::2] = -np.inf
    s[3, K // 2] = np.nan
    s[4] = -np.inf
    s[5, K - 1] = np.inf
    pitch = K + 3
    scores, constant = np.zeros((9, pitch), dtype), RNG.normal(size=K).astype(dtype)
    scores[:, :K] = s
    top = Top(device, 9, K, L, dtype)
    top(
        f"top_{'double' if dtype == FLOAT64 else 'float'}",
        9,
        device.array(constant),
        {"scores": device.array(scores), "pitch": pitch},
    )
    cluster, r, likelihood = top.on_host(9)
    for n, row in enumerate(s + constant):
        idx, want, entropy = softmax_top_l(row, L)
        np.testing.assert_array_equal(cluster[n], idx)
        np.testing.assert_allclose(r[n], want, rtol=1e-5, atol=1e-7)
        assert top.entropy[n] == pytest.approx(entropy, abs=1e-5)
        if np.isfinite(row).all():
            assert likelihood[n] == pytest.approx(float(want @ row[idx] + entropy), rel=1e-5)


@pytest.mark.parametrize("quadratic", ["none", "norm", "squares", "products"])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("order", [0, 1, 7])
def test_moments_equal_their_twin(quadratic, dtype, order, monkeypatch):
    """In parts and tiles of a few pairs, so that there are several of each."""
    monkeypatch.setattr(row_sums, "PART", 8)
    monkeypatch.setattr(row_sums, "TILE", 32)
    device, rng, (n, D, K, L) = EmulatedDevice(order), np.random.default_rng(1), (50, 4, 6, 3)
    z, centre = (rng.normal(size=size).astype(dtype) for size in ((n, D), (K, D)))
    cluster = np.sort(rng.permuted(np.tile(np.arange(K), (n, 1)), axis=1)[:, :L], axis=1).astype(np.int32)
    r = rng.dirichlet(np.ones(L), n).astype(dtype)
    r[:20, 0], cluster[cluster == 4] = 0.0, 3  # cluster 4 has no rows
    weight, entropy = rng.uniform(0.1, 2.0, n), rng.uniform(size=n)
    moments = Moments(device, K, D, quadratic, dtype, n * L)
    for part in (slice(0, 30), slice(30, n)):
        arrays = [device.array(x[part]) for x in (z, cluster, r, entropy, weight)]
        moments.add(*arrays, device.array(centre), L)
    dense = np.zeros((n, K))
    np.add.at(dense, (np.arange(n)[:, None], cluster), r)
    want = twin.moments(z, dense, quadratic, weight)
    tolerance = 1e-12 if dtype == FLOAT64 else 1e-5
    for got, expected in zip((moments.N, moments.first, moments.second), want):
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    assert moments.entropy() == pytest.approx(float(weight @ entropy))


@pytest.mark.parametrize("order", [0, 1, 7])
def test_moments_of_all_clusters(order):
    """Dense posteriors, and more coordinates than a square of products has; the same bits whatever lane goes first."""

    def summed(order):
        device = EmulatedDevice(order)
        moments = Moments(device, K, D, "products", FLOAT32, n * K)
        moments.add(device.array(z), None, device.array(r), device.zeros(n, np.float64), L=K)
        return moments.N, moments.first, moments.second

    rng, (n, D, K) = np.random.default_rng(2), (11, 70, 2)
    z, r = rng.normal(size=(n, D)).astype(np.float32), rng.dirichlet(np.ones(K), n).astype(np.float32)
    for got, first, want in zip(summed(order), summed(0), twin.moments(z, r, "products")):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(got, first)


def test_statistics_add_subtract_and_scale():
    device, rng = EmulatedDevice(), np.random.default_rng(3)
    host = [rng.normal(size=(2, n)) for n in (3, 6)]
    a = DeviceGaussianStats(device, np.array([1.0, 2.0]), *(device.array(x) for x in host))
    b = a.copy().scale(0.5).add(a, 2.0)
    for got, want in zip((b.N, b.first, b.second), (a.N, *host)):
        np.testing.assert_array_equal(got, 2.5 * want)
    np.testing.assert_allclose((a + b.on_host()).first, 3.5 * host[0], rtol=1e-15)
    np.testing.assert_array_equal(a.first, host[0])  # which nobody changed


def test_features_are_those_of_the_processor():
    z = RNG.normal(size=(3, 4))
    coordinates = np.concatenate([z, np.ones((3, 1)), np.square(z).sum(axis=1)[:, None], np.zeros((3, 1))], axis=1)
    for quadratic, linear in KINDS:
        pairs, want = features_of(4, quadratic, linear), twin.features(z, quadratic, linear)
        got = coordinates[:, pairs & 0xFFFF] * coordinates[:, pairs >> 16]
        np.testing.assert_allclose(got[:, : want.shape[1]], want)
        assert not got[:, want.shape[1] :].any()
