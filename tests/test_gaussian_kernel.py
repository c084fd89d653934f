"""The local step of Gaussian mixtures against its twin, on sizes that fit no block."""

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.twins import gaussian as reference, mixture, top_l
from topmix import GaussianMixture, _core
from topmix.base import threads as blas
from topmix.corpus.shard import Shards
from topmix.data import Rows
from topmix.models.gaussian import TOLERANCE
from topmix.steps.rows import MixtureStep, rows_at_a_time


def assign(core, z, W, constant, quadratic, linear, L, threads):
    n = len(z)
    out = np.empty((n, L), np.int32), np.empty((n, L), z.dtype), np.empty(n), np.empty(n)
    core.assign_gaussian(z, np.ascontiguousarray(W.T), constant, quadratic, linear, threads, *out)
    return out


QUADRATIC = ["products", "squares", "norm", "none"]


@pytest.fixture
def native(core):
    """The build at hand, with BLAS."""
    core.set_blas(*blas.capsules())
    with blas.one_thread():
        yield core


def rows(rng, n, D, dtype):
    return rng.normal(size=(n, D)).astype(dtype)


# A sum of terms that cancel is right to a few units in the last place of the sum of the ABSOLUTE terms, and that is how
# far a kernel may be from its twin. The order of the additions is the processor's and the BLAS library's.
ULPS = 8


def assert_scored(s, size, dtype, cluster, r, H, likelihood):
    """A softmax over the best of the scores s [n, K] (-inf: not asked), where size [n, K] sums their absolute terms."""
    L, eps = cluster.shape[1], np.finfo(dtype).eps
    want_cluster, want_r, want_H = map(np.array, zip(*(top_l.softmax_top_l(row, L) for row in s), strict=True))
    off = ULPS * eps * np.max(size, axis=1, initial=1)  # [n] of every score
    np.testing.assert_array_equal(cluster, want_cluster)
    assert np.all(np.abs(r - want_r) <= 2 * off[:, None] * want_r + L * eps)  # log r has two such errors
    assert np.all(np.abs(H - want_H) <= off * (1 + 2 * want_H))
    chosen = np.take_along_axis(s, cluster, axis=1)
    assert np.all(np.abs(likelihood - logsumexp(chosen, axis=1)) <= off)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("quadratic", QUADRATIC)
@pytest.mark.parametrize(("n", "D", "K", "L"), [(611, 7, 9, 3), (5, 1, 2, 2), (1, 3, 1, 1), (300, 70, 5, 1)])
def test_scores_equal_their_twin(native, n, D, K, L, quadratic, linear, dtype):
    rng = np.random.default_rng(0)
    z = rows(rng, n, D, dtype)
    f = reference.features(z, quadratic, linear)
    W, constant = rng.normal(size=(f.shape[1], K)).astype(dtype) / (1 + D), rng.normal(size=K).astype(dtype)
    s = f @ W.astype(np.float64) + constant
    size = np.abs(f) @ np.abs(W.astype(np.float64)) + np.abs(constant)
    assert_scored(s, size, dtype, *assign(native, z, W, constant, quadratic, linear, L, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("quadratic", QUADRATIC)
@pytest.mark.parametrize(("n", "D", "K", "L"), [(1500, 7, 3, 2), (7, 1, 5, 5), (0, 4, 3, 2)])
def test_moments_equal_their_twin(native, n, D, K, L, quadratic, weighted, dtype):
    rng = np.random.default_rng(1)
    z = rows(rng, n, D, dtype)
    cluster = np.array([np.sort(rng.choice(K, L, replace=False)) for _ in range(n)], np.int32).reshape(n, L)
    r = rng.dirichlet(np.ones(L), n).astype(dtype)
    weight = rng.gamma(1.0, 1.0, n) if weighted else None
    dense = mixture.responsibilities(mixture.Assigned(cluster, r, None, None), K)
    want = reference.moments(z, dense, quadratic, weight)
    out = np.ones(K), np.ones((K, D)), np.ones((K, want[2].shape[1]))  # added to, not set
    centre = rows(rng, K, D, dtype)
    native.add_moments(z, cluster, r, weight, centre, quadratic, 3, *out)
    # The kernel sums z - m about the centre m and puts m back: its terms are those of |z - m| + |m|.
    size = [np.ones_like(a) for a in out]
    for k, m in enumerate(centre.astype(np.float64)):
        for a, b in zip(size, reference.moments(np.abs(z - m) + np.abs(m), dense, quadratic, weight), strict=True):
            a[k] += b[k]
    eps = np.finfo(dtype if quadratic == "products" else np.float64).eps  # only matrices are summed in the data's type
    for a, b, terms in zip(out, want, size, strict=True):
        assert np.all(np.abs(a - (1 + b)) <= (ULPS * eps + 64 * np.finfo(np.float64).eps) * terms)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_frame_far_from_the_origin_keeps_its_digits(native, dtype):
    rng = np.random.default_rng(2)
    x, A = (1e4 + rng.normal(size=(700, 5))).astype(dtype), rng.normal(size=(5, 5))
    origin = x.astype(np.float64).mean(axis=0)
    for by in (A, A[0]):
        z = np.empty_like(x)
        native.to_frame(x, origin, by, 2, z)
        centred = x.astype(np.float64) - origin
        want = centred @ by if by.ndim == 2 else centred * by
        np.testing.assert_allclose(z, want, rtol=1e-5, atol=1e-5)


def test_moments_of_a_tight_cluster_far_away_keep_their_digits(native):
    """In float32 the squares of 1000 +- 0.01 have no digits left for the 0.01."""
    rng = np.random.default_rng(3)
    z = (1000 + 0.01 * rng.normal(size=(2000, 3))).astype(np.float32)
    N, first, second = np.zeros(1), np.zeros((1, 3)), np.zeros((1, 6))
    cluster, r = np.zeros((2000, 1), np.int32), np.ones((2000, 1), np.float32)
    native.add_moments(z, cluster, r, None, np.full((1, 3), 1000, np.float32), "products", 1, N, first, second)
    m = first[0] / N[0]
    i, j = np.triu_indices(3)
    np.testing.assert_allclose(second[0] / N[0] - m[i] * m[j], np.cov(z.T.astype(float), bias=True)[i, j], atol=1e-8)


def scatter(rng, K, D):
    """What precisions are made of."""
    x = rng.normal(size=(K, 3 * D + 5, D))
    m = x.mean(axis=1)
    i, j = np.triu_indices(D)
    second = np.einsum("kni,knj->kij", x, x)[:, i, j]
    reg = np.cov(rng.normal(size=(D, 4 * D + 2)), bias=True).reshape(D, D) / 10
    return second, rng.gamma(2.0, 1.0, K), 2 * np.eye(D) + reg, reg, np.full(K, 3.0 * D + 5) * rng.random(K), m


@pytest.mark.parametrize(("K", "D"), [(11, 7), (1, 1), (3, 70), (0, 4)])
def test_precisions_equal_their_twin_on_any_number_of_threads(native, K, D):
    args = scatter(np.random.default_rng(9), K, D)
    want, first = reference.precisions(*args), None
    for threads in (1, 2, 7):
        out = np.empty((K, D, D)), np.empty((K, D, D)), np.empty(K)
        native.update_precisions(*args, threads, *out)
        for a, b in zip(out, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(out[1], np.swapaxes(out[1], 1, 2))
        first = first or out
        np.testing.assert_array_equal(out[1], first[1])


def test_a_matrix_that_is_not_positive_definite_is_marked_and_others_are_not(native):
    second, N, base, reg, beta, m = scatter(np.random.default_rng(10), 5, 4)
    beta[3], m[3] = 1e6, 1.0
    out = np.empty((5, 4, 4)), np.empty((5, 4, 4)), np.empty(5)
    native.update_precisions(second, N, base, reg, beta, m, 2, *out)
    np.testing.assert_array_equal(np.isnan(out[2]), [False, False, False, True, False])
    with pytest.raises(ValueError, match="second must be"):
        native.update_precisions(second[:, :-1].copy(), N, base, reg, beta, m, 2, *out)


def test_same_bits_for_any_number_of_threads(native):
    rng = np.random.default_rng(4)
    z, K = rows(rng, 3001, 12, np.float32), 11
    W, constant = rng.normal(size=(90, K)).astype(np.float32), np.zeros(K, np.float32)
    runs = []
    for threads in (1, 2, 7):
        a = assign(native, z, W, constant, "products", True, 3, threads)
        out = np.zeros(K), np.zeros((K, 12)), np.zeros((K, 78))
        native.add_moments(z, a[0], a[1], None, np.zeros((K, 12), np.float32), "products", threads, *out)
        runs.append([*a, *out])
    for other in runs[1:]:
        for x, y in zip(runs[0], other, strict=True):
            np.testing.assert_array_equal(x, y)


def test_bad_shapes_are_refused(native):
    z, c = np.zeros((3, 2), np.float32), np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="features"):
        assign(native, z, np.zeros((4, 4), np.float32), c, "products", True, 1, 1)
    with pytest.raises(ValueError, match="L"):
        assign(native, z, np.zeros((5, 4), np.float32), c, "products", True, 5, 1)
    with pytest.raises(ValueError, match="quadratic"):
        assign(native, z, np.zeros((5, 4), np.float32), c, "cubes", True, 1, 1)
    out = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 3))
    for bad in (2, -1):
        with pytest.raises(IndexError, match="outside"):
            native.add_moments(z, np.full((3, 1), bad, np.int32), np.ones((3, 1), np.float32), None,
                               np.zeros((2, 2), np.float32), "products", 1, *out)  # fmt: skip


def ill_conditioned(rng, n, D, spread):
    """Rows of four clusters whose axes differ in length by `spread`, mixed so that no column shows it."""
    scales = np.geomspace(1, 1 / spread, D)
    turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
    own = [np.linalg.qr(np.eye(D) + 0.1 * rng.normal(size=(D, D)))[0] for _ in range(4)]
    z = rng.integers(4, size=n)
    x = np.array([scales * (own[k] @ rng.normal(size=D) + k) for k in z])
    return x @ turn + 5


@pytest.mark.parametrize("spread", [1e1, 1e3, 1e5])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_float32_scores_are_those_of_cholesky_factors(covariance_type, spread):
    """On axes that differ in length by up to 10^5, to a thousandth of a nat."""
    X = ill_conditioned(np.random.default_rng(5), 3000, 12, spread).astype(np.float32)
    model = GaussianMixture(6, covariance_type=covariance_type, objective="ml", reg_covar=0, random_state=0, max_iter=5)
    model.fit(X)
    C = model.covariances_
    if covariance_type == "tied":
        C = np.broadcast_to(C, (6, *C.shape))
    elif covariance_type == "diag":
        C = np.array([np.diag(c) for c in C])
    elif covariance_type == "spherical":
        C = np.array([c * np.eye(12) for c in C])
    want = logsumexp(reference.log_density(X, model.means_, C) + np.log(model.weights_), axis=1)
    np.testing.assert_allclose(model.score_samples(X), want, atol=TOLERANCE, rtol=1e-5)


def test_thin_clusters_are_computed_in_double():
    """Two sheets at an angle: as thin as float32 cannot see when terms cancel."""
    rng = np.random.default_rng(6)
    t = rng.normal(size=(4000, 2))
    X = np.stack([t[:, 0] + t[:, 1], t[:, 0] - t[:, 1], 1e-5 * rng.normal(size=4000)], axis=1).astype(np.float32)
    X[:2000, 2] += X[:2000, 0]
    thin = GaussianMixture(2, objective="ml", random_state=0, reg_covar=0).fit(X)
    assert thin.model_.likelihood.rounding() > TOLERANCE
    assert thin.model_.tables(None).likelihood.W.dtype == np.float64
    want = logsumexp(reference.log_density(X, thin.means_, thin.covariances_) + np.log(thin.weights_), axis=1)
    np.testing.assert_allclose(thin.score_samples(X), want, atol=TOLERANCE)
    plain = GaussianMixture(2, random_state=0).fit(rng.normal(size=(500, 3)).astype(np.float32))
    assert plain.model_.tables(None).likelihood.W.dtype == np.float32


def test_pieces_add_up(cut):
    """A shard larger than what is computed at a time."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(9001, 3))
    model = GaussianMixture(3, max_iter=1, n_active=1, random_state=0).fit(X).model_
    assert rows_at_a_time(3, 1, 3) < 9001
    step = MixtureStep(type(model.likelihood), 1)
    totals = []
    for shards in (cut(Rows(X), 1), cut(Rows(X), 90), Shards(Rows(X), [rng.permutation(9001)])):
        total = model.no_stats()
        for shard in shards:
            total += step(shard, model.tables(shard.cols), None, _core.TopicScratch()).stats
        totals.append(total)
    for total in totals[1:]:
        np.testing.assert_allclose(total.S.second, totals[0].S.second, rtol=1e-10)
        np.testing.assert_allclose(total.N, totals[0].N, rtol=1e-10)
        np.testing.assert_allclose(total.H, totals[0].H)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("quadratic", QUADRATIC)
def test_candidates_are_scored_as_by_all(native, quadratic, dtype):
    """Each row by the clusters near the one it was in: the scores of the others are as if they were not there."""
    rng = np.random.default_rng(8)
    n, D, K, C, L = 1201, 5, 13, 4, 3
    z = rows(rng, n, D, dtype)
    f = reference.features(z, quadratic, True)
    W, constant = rng.normal(size=(K, f.shape[1])).astype(dtype) / 4, rng.normal(size=K).astype(dtype)
    was = rng.integers(K - 1, size=n).astype(np.int32)  # nobody was in the last
    near = np.array([np.sort(rng.choice(K, C, replace=False)) for _ in range(K)], np.int32)
    s = f @ W.T.astype(np.float64) + constant
    size = np.abs(f) @ np.abs(W.T.astype(np.float64)) + np.abs(constant)
    masked = np.full_like(s, -np.inf)
    np.put_along_axis(masked, near[was], np.take_along_axis(s, near[was], axis=1), axis=1)
    runs = []
    for threads in (1, 2, 7):
        out = np.empty((n, L), np.int32), np.empty((n, L), dtype), np.empty(n), np.empty(n)
        native.assign_near(z, was, near, W, constant, quadratic, True, threads, *out)
        runs.append(out)
    assert_scored(masked, size, dtype, *runs[0])
    for other in runs[1:]:
        for x, y in zip(runs[0], other, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "D", "K", "C", "L"), [(900, 33, 40, 20, 3), (13, 5, 9, 9, 9), (7, 1, 3, 1, 1), (0, 4, 5, 2, 1)]
)
def test_rows_choose_among_their_own_candidates(native, n, D, K, C, L, dtype):
    rng = np.random.default_rng(7)
    z, W, constant = rows(rng, n, D, dtype), rng.normal(size=(K, D)).astype(dtype), rng.normal(size=K).astype(dtype)
    among = np.array([np.sort(rng.choice(K, C, replace=False)) for _ in range(n)], np.int32).reshape(n, C)
    was = rng.integers(K, size=n).astype(np.int32)
    f = z.astype(np.float64)
    s, size = f @ W.T.astype(np.float64) + constant, np.abs(f) @ np.abs(W.T.astype(np.float64)) + np.abs(constant)
    masked = np.full_like(s, -np.inf)
    np.put_along_axis(masked, among, np.take_along_axis(s, among, axis=1), axis=1)
    runs = []
    for threads in (1, 3):
        out = np.empty((n, L), np.int32), np.empty((n, L), dtype), np.empty(n), np.empty(n)
        native.assign_among(z, was, among, W, constant, threads, *out)
        runs.append(out)
    if n:
        assert_scored(masked, size, dtype, *runs[0])
    for x, y in zip(*runs, strict=True):
        np.testing.assert_array_equal(x, y)
