"""Admixtures with engine="cuda": the kernels are their twin, and fits those of the processor, within rounding."""

import gc
import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.twins import groups as twin
from topmix import GaussianAdmixture, VonMisesFisherAdmixture
from topmix.corpus.shard import GroupShard
from topmix.cuda import clusters, mixture
from topmix.cuda.mixture import DeviceGroups, GroupBlocks
from topmix.learners import Memoized, Stochastic
from topmix.models.document_prior import DocumentPrior
from topmix.models.gaussian import Gaussian
from topmix.models.mixture import AdmixtureTables
from topmix.models.von_mises_fisher import DirectionTables, VonMisesFisher
from topmix.steps import rows as local_groups
from topmix.steps.rows import GroupStep

from ..pairs import pairs
from .emulated import Emulated, EmulatedDevice

RNG = np.random.default_rng(0)
SIZES = RNG.integers(1, 15, 12)
GROUPS = RNG.permutation(np.repeat(np.arange(12), SIZES))
ROWS = RNG.normal(size=(len(GROUPS), 3)) + 3 * RNG.normal(size=(4, 3))[RNG.integers(0, 4, len(GROUPS))]
WEIGHT = RNG.uniform(0.1, 2.0, len(GROUPS)) * (RNG.random(len(GROUPS)) < 0.9)
LEARNERS = {"memoized": Memoized(batch_size=5), "batch": "batch", "stochastic": Stochastic(batch_size=5)}
SETTINGS = {"max_iter": 4, "tol": -1.0, "random_state": 0, "n_active": 2, "learner": LEARNERS["memoized"]}


def solved(device, z, starts, tables, L, weight, N, posterior, block=16):
    """What kernels find of groups, and of what they were asked."""
    rows = DeviceGroups(GroupShard(z, slice(0, len(z)), weight, starts), device, 1)
    blocks = GroupBlocks(rows, tables, GroupStep(VonMisesFisher, L), "float32")
    assert blocks.size == min(block, len(z))
    found = []
    for piece in blocks:
        counts, absent = device.array(N[piece.groups]), device.empty(N[piece.groups].shape, np.float64)
        blocks.solve(piece, counts, DocumentPrior(tables.prior.alpha, posterior), absent)
        found.append((piece.cluster, piece.r, piece.entropy, counts, absent, piece.iterations))
    return [np.concatenate(each) for each in zip(*found)]


@pytest.mark.parametrize(
    ("size", "dtype", "posterior"),
    pairs([(9, 3), (40, 4), (9, 8), (5, 5), (70, 12), (1, 1)], [np.float32, np.float64], ["collapsed", "variational"]),
)
def test_the_kernels_are_their_twin(size, dtype, posterior, monkeypatch):
    """Groups of no rows, and of more than a block of rows has; rows without weight; counts of an earlier visit."""
    monkeypatch.setattr(mixture, "rows_at_a_time", lambda weights, C: 16)
    monkeypatch.setattr(mixture, "rows_of_piece", lambda L, C, dtype: 24)  # pieces of one or more blocks
    sizes = np.array([3, 0, 1, 40, 16, 7, 0])
    starts, D, (K, L) = np.concatenate([[0], np.cumsum(sizes)]), 4, size
    z, W = RNG.normal(size=(starts[-1], D)).astype(dtype), 2 * RNG.normal(size=(K, D)).astype(dtype)
    constant, alpha, weight = RNG.normal(size=K), RNG.gamma(1.0, 1.0, K) + 0.05, RNG.gamma(2.0, 1.0, len(z))
    weight[::7] = 0
    first = RNG.gamma(0.5, 5.0, (len(sizes), K)) * (RNG.random((len(sizes), K)) < 0.7)
    tables = AdmixtureTables(DirectionTables(W, constant), DocumentPrior(alpha, posterior), np.full(K, 1 / K))
    C = GroupStep(VonMisesFisher, L).n_candidates(K)
    how = {"weight": weight, "max_iter": local_groups.MAX_ITER, "tol": local_groups.TOL}
    score = z.astype(np.float64) @ W.T.astype(np.float64) + constant
    want = twin.solve(score, starts, alpha, first, L, C, collapsed=posterior == "collapsed", **how)
    args = z, starts, tables, L, weight, first, posterior
    cluster, r, entropy, N, absent, iterations = got = solved(EmulatedDevice(), *args)
    dense = np.zeros((len(z), K))
    np.put_along_axis(dense, cluster, r.astype(np.float64), axis=1)
    close = {"atol": 2e-5 if dtype == np.float32 else 1e-11}
    assert np.all(np.diff(cluster, axis=1) > 0)
    np.testing.assert_allclose(dense, want.r, **close)
    np.testing.assert_allclose(N, want.N, rtol=1e-5, **close)
    np.testing.assert_allclose(entropy, want.entropy, **close)
    group, sure = np.repeat(np.arange(len(sizes)), sizes), np.minimum(want.r, 1 - 2.0**-40)
    none = np.array([weight[group == d] @ np.log1p(-sure[group == d]) for d in range(len(sizes))])
    np.testing.assert_allclose(np.exp(absent), np.exp(none), rtol=1e-4, atol=1e-6)
    assert iterations.max() <= local_groups.MAX_ITER
    assert iterations[1] <= 2  # a group of no rows has nothing to wait for
    assert K == 1 or iterations.max() > 2
    for order in (1, 7):  # whichever thread is first
        for x, y in zip(solved(EmulatedDevice(order), *args), got, strict=True):
            np.testing.assert_array_equal(x, y)
    monkeypatch.setattr(mixture, "FEW", 0)  # and however many there are
    for x, y in zip(solved(EmulatedDevice(), *args), got, strict=True):
        np.testing.assert_array_equal(x, y)


def test_scores_that_are_no_numbers_or_endless_have_no_part():
    K, z = 3, np.eye(4, dtype=np.float32)
    W = np.array([[0, np.nan, 1, 3e38], [1, 2, 1, -3e38], [2, 1, 1, 0]], np.float32)
    prior = DocumentPrior(np.ones(K), "collapsed")
    tables = AdmixtureTables(DirectionTables(W, np.zeros(K)), prior, np.full(K, 1 / K))
    args = EmulatedDevice(), z, np.array([0, 4]), tables, 2, None, np.zeros((1, K)), "collapsed"
    cluster, r, entropy, N, *_ = solved(*args, block=4)
    assert np.isfinite(entropy).all()
    assert N.sum() == pytest.approx(4)
    assert r.sum(axis=1) == pytest.approx(1)
    assert r[1][cluster[1] == 0].sum() == 0


@pytest.mark.parametrize("parameters", [{}, {"objective": "vb"}], ids=str)
def test_rows_of_groups_have_the_likelihood_that_they_have_on_the_processor(engine, parameters):
    model = GaussianAdmixture(4, **SETTINGS, **parameters).fit(ROWS, GROUPS)
    want = model.score_samples(ROWS, GROUPS), model.predict_proba(ROWS, GROUPS), model.completion_score(ROWS, GROUPS)
    model.set_params(engine=engine)
    np.testing.assert_allclose(model.score_samples(ROWS, GROUPS), want[0], rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(ROWS, GROUPS), want[1], atol=1e-9)
    assert model.completion_score(ROWS, GROUPS) == pytest.approx(want[2], rel=1e-9)
    theta, m = model.transform(ROWS, GROUPS)[GROUPS], model.model_.likelihood
    each = [
        -0.5
        * (np.einsum("nd,de,ne->n", ROWS - mean, np.linalg.inv(C), ROWS - mean) + np.linalg.slogdet(2 * np.pi * C)[1])
        for mean, C in zip(model.means_, model.covariances_)
    ]
    if m.objective == "map":
        np.testing.assert_allclose(want[0], logsumexp(np.transpose(each) + np.log(theta), axis=1), rtol=1e-6)


def same(got, want, X, tolerance):
    for a, b in zip(got.history_, want.history_, strict=True):
        assert a.terms == pytest.approx(b.terms, rel=tolerance, abs=tolerance)
    np.testing.assert_allclose(got.weights_, want.weights_, rtol=tolerance, atol=tolerance)
    prior = got.weight_concentration_prior_, want.weight_concentration_prior_
    np.testing.assert_allclose(*prior, rtol=10 * tolerance, atol=tolerance)
    np.testing.assert_allclose(got.transform(X, GROUPS), want.transform(X, GROUPS), atol=10 * tolerance)
    np.testing.assert_allclose(got.score_samples(X, GROUPS), want.score_samples(X, GROUPS), rtol=10 * tolerance)
    np.testing.assert_array_equal(got.predict(X, GROUPS), want.predict(X, GROUPS))


def both(engine, make, X, weight=None, **parameters):
    """The same fit by the engine and by the processor."""
    settings = SETTINGS | parameters
    return (make(**settings | which).fit(X, GROUPS, weight) for which in ({"engine": engine}, {}))


@pytest.mark.parametrize(
    ("covariance_type", "objective", "learner"),
    pairs(["full", "diag", "spherical", "tied"], ["map", "vb", "ml"], list(LEARNERS)),
)
def test_gaussians_are_those_of_the_processor(engine, covariance_type, objective, learner):
    parameters = {"covariance_type": covariance_type, "objective": objective, "learner": LEARNERS[learner]}
    got, want = both(engine, lambda **p: GaussianAdmixture(4, **p), ROWS, WEIGHT, **parameters)
    same(got, want, ROWS, 1e-8)
    assert isinstance(got.model_.likelihood, Gaussian)
    np.testing.assert_allclose(got.covariances_, want.covariances_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "parameters",
    [
        {"zero_mean": True, "n_active": 1},
        {"n_active": None},
        {"weight_concentration_prior": 0.3},
        {"weight_concentration_prior_type": "dirichlet_process", "objective": "vb"},
        {"weight_concentration_prior_type": "dirichlet_process", "covariance_type": "diag"},
    ],
    ids=str,
)
def test_settings_are_those_of_the_processor(engine, parameters):
    got, want = both(engine, lambda **p: GaussianAdmixture(4, **p), ROWS, **parameters)
    same(got, want, ROWS, 1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["free", "tied"])
def test_directions_are_those_of_the_processor(engine, dtype, kind):
    X, tolerance = ROWS.astype(dtype), 1e-8 if dtype == np.float64 else 1e-4
    got, want = both(engine, lambda **p: VonMisesFisherAdmixture(4, **p), X, WEIGHT, concentration_type=kind)
    same(got, want, X, tolerance)
    np.testing.assert_allclose(got.concentrations_, want.concentrations_, rtol=10 * tolerance)


def test_single_precision_is_that_of_the_processor(engine):
    X = ROWS.astype(np.float32)
    got, want = both(engine, lambda **p: GaussianAdmixture(4, **p), X)
    same(got, want, X, 1e-4)


@pytest.mark.parametrize("rows", [8, 1 << 20])
def test_groups_in_several_pieces_give_the_same(engine, rows, monkeypatch):
    """Pieces of a few groups or of all, and groups of several blocks."""
    want = GaussianAdmixture(4, **SETTINGS, engine=engine).fit(ROWS, GROUPS)
    monkeypatch.setattr(mixture, "rows_of_piece", lambda L, C, dtype: rows)
    for module in (mixture, clusters):
        monkeypatch.setattr(module, "rows_at_a_time", lambda weights, L: 8)
    got = GaussianAdmixture(4, **SETTINGS, engine=engine).fit(ROWS, GROUPS)
    same(got, want, ROWS, 1e-9)


@pytest.mark.parametrize("Estimator", [GaussianAdmixture, VonMisesFisherAdmixture])
def test_a_fit_has_the_same_bits_in_every_run(engine, Estimator):
    X, orders = ROWS.astype(np.float32), [engine] * 2
    if isinstance(engine, Emulated):
        orders = [Emulated(order=n) for n in (0, 5)]
    first, other = [Estimator(4, **SETTINGS, engine=each).fit(X, GROUPS, WEIGHT) for each in orders]
    np.testing.assert_array_equal(first.weights_, other.weights_)
    np.testing.assert_array_equal(first.transform(X, GROUPS), other.transform(X, GROUPS))
    assert first.history_[-1].terms == other.history_[-1].terms


def test_a_search_finds_planted_clusters_and_exchanges_go_on(engine):
    """Two clusters that nobody could take for three; and a fit that converges tries others afterwards."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(20), 10)
    X = np.where(rng.random((200, 1)) < rng.beta(0.3, 0.3, 20)[groups, None], 5.0, -5.0) + rng.normal(size=(200, 2))
    process = {"weight_concentration_prior_type": "dirichlet_process", "objective": "vb", "max_iter": 60}
    found = GaussianAdmixture(4, **process, random_state=0, engine=engine).fit(X, groups)
    assert len(found.weights_) == 2
    got, want = (GaussianAdmixture(3, random_state=0, engine=each).fit(X, groups) for each in (engine, "threads"))
    assert got.n_iter_ == want.n_iter_
    assert got.objective_ == pytest.approx(want.objective_, rel=1e-6)


@pytest.mark.parametrize("Estimator", [GaussianAdmixture, VonMisesFisherAdmixture])
def test_partial_fit_and_warm_starts(engine, Estimator):
    some = np.isin(GROUPS, range(6))
    got, want = Estimator(4, **SETTINGS, engine=engine), Estimator(4, **SETTINGS)
    for rows in (some, ~some):
        got.partial_fit(ROWS[rows], GROUPS[rows]), want.partial_fit(ROWS[rows], GROUPS[rows])
    np.testing.assert_allclose(got.weights_, want.weights_, rtol=1e-8)
    before = got.set_params(warm_start=True).fit(ROWS, GROUPS).objective_
    assert got.fit(ROWS, GROUPS).objective_ >= before - 1e-6


def test_scores_are_held_for_a_block_of_rows_alone(monkeypatch):
    """Never of all rows by all clusters: more rows take far less memory than their scores would."""
    monkeypatch.setattr(mixture, "rows_at_a_time", lambda weights, C: 64)
    K, most = 300, []
    for times in (8, 16):
        n = 64 * times
        X = RNG.normal(size=(n, 2)).astype(np.float32)
        fit = {"max_iter": 1, "tol": -1.0, "learner": "batch", "n_active": 1, "random_state": 0}
        VonMisesFisherAdmixture(K, **fit, engine=Emulated()).fit(X, np.arange(n) // 64)
        most.append(max(EmulatedDevice.most_bytes[-2:]))
    scores_of_more_rows = 8 * 64 * K * 4
    assert most[1] - most[0] < scores_of_more_rows / 3


def test_too_many_clusters_are_refused():
    X = RNG.normal(size=(200, 2)).astype(np.float32)
    engine = Emulated(shared_per_block=3 * 1024)
    with pytest.raises(ValueError, match="at most 85 clusters of groups, not 90: use engine='threads'"):
        VonMisesFisherAdmixture(90, **SETTINGS, engine=engine).fit(X, np.arange(200) // 20)


def test_nothing_stays_on_the_device():
    before, n_closed = len(EmulatedDevice.arrays), len(EmulatedDevice.at_close)
    model = GaussianAdmixture(4, **SETTINGS, engine=Emulated()).fit(ROWS, GROUPS)
    model.partial_fit(ROWS, GROUPS).score_samples(ROWS, GROUPS)
    assert not any(EmulatedDevice.at_close[n_closed:])
    gc.collect()
    assert not [a for a in itertools.islice(EmulatedDevice.arrays, before, None) if a() is not None]
