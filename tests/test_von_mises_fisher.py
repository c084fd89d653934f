"""Mixtures of directions: the density, EM against its slow twin, planted clusters, odd rows, draws and files."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import kstest
from sklearn.metrics import normalized_mutual_info_score

import topmix
from tests.twins import von_mises_fisher as twin
from topmix import VonMisesFisherMixture
from topmix.base.bessel import ratio
from topmix.corpus.directions import Directions, UnitRows
from topmix.data import Rows
from topmix.learn.history import Record, Stopping
from topmix.models.von_mises_fisher import VonMisesFisher, cosines, empty, log_peak, sample, spread_rows, start
from topmix.steps.rows import BY_CANDIDATES, MixtureStep

from .pairs import pairs


def planted(D, kappas, n=600, seed=0):
    """Rows of clusters with these concentrations around random directions, the cluster of each, and the directions."""
    rng = np.random.default_rng(seed)
    mu = np.eye(D)[: len(kappas)] if D == 3 else rng.normal(size=(len(kappas), D))
    if D == 2:
        angle = 2 * np.pi * np.arange(len(kappas)) / len(kappas)
        mu = np.column_stack([np.cos(angle), np.sin(angle)])
    mu /= np.linalg.norm(mu, axis=1, keepdims=True)
    z = rng.integers(len(kappas), size=n)
    X = np.empty((n, D))
    for k, kappa in enumerate(kappas):
        X[z == k] = sample(mu[k], kappa, int((z == k).sum()), rng)
    return X, z, mu


PLANTS = [(2, [50, 200, 400]), (3, [20, 50, 300]), (50, [100, 200, 400]), (1024, [800, 1500, 3000])]


def cosine_density(D, kappa):
    """Of w = mu'x: proportional to exp(kappa w) (1 - w^2)^((D - 3) / 2)."""
    return lambda w: np.exp(kappa * (w - 1)) * (1 - w * w) ** ((D - 3) / 2)


@pytest.mark.parametrize("kappa", [0.0, 1e-8, 0.7, 30.0])
@pytest.mark.parametrize("D", [3, 4, 9, 40])
def test_the_density_integrates_to_one(D, kappa):
    log_area = np.log(2) + 0.5 * (D - 1) * np.log(np.pi) - gammaln(0.5 * (D - 1))  # of the sphere in D - 1
    mass, _ = quad(cosine_density(D, kappa), -1, 1, epsabs=0, epsrel=1e-11)
    assert log_peak(D, np.array([kappa]))[0] + log_area + np.log(mass) == pytest.approx(0, abs=1e-9)


def test_the_density_in_three_dimensions_is_the_textbook_one():
    kappa = np.array([1e-3, 1.0, 20.0, 300.0])
    want = np.log(kappa) - np.log(4 * np.pi) - (np.log1p(-np.exp(-2 * kappa)) - np.log(2))  # less log sinh, plus kappa
    np.testing.assert_allclose(log_peak(3, kappa), want, rtol=1e-12)


@pytest.mark.parametrize("objective", ["map", "ml"])
@pytest.mark.parametrize(("D", "kappas"), [(2, [5, 20, 60]), (6, [5, 20, 60]), (60, [40, 100, 300])])
def test_batch_with_all_clusters_takes_the_steps_of_plain_em(D, kappas, objective):
    X, *_ = planted(D, kappas, n=300)
    K, rows = 4, []
    labels = np.random.default_rng(1).integers(K, size=len(X))
    model = VonMisesFisherMixture(
        K, objective=objective, n_active=None, learner="batch", max_iter=8, tol=-np.inf, init=labels, n_jobs=1,
        callbacks=[lambda record, view: rows.append((view.weights, *view._model.likelihood.parameters[:2]))],
    ).fit(X)  # fmt: skip
    b, alpha = (1.0, 1.0 / K) if objective == "map" else (0.0, 0.0)
    rho = model.model_.likelihood.prior_resultant
    counts = np.bincount(labels, minlength=K)
    sums = np.array([X[labels == k].sum(axis=0) for k in range(K)])
    length = np.linalg.norm(sums, axis=1)
    c = twin.Clusters((counts + alpha) / (len(X) + K * alpha), sums / length[:, None],
                      twin.concentration(D, (length + b * rho) / (counts + b)))  # fmt: skip
    for weights, mu, kappa in rows:
        c, _ = twin.em_step(X, c, b, rho, alpha)
        np.testing.assert_allclose(weights, c.weights, rtol=1e-8)
        np.testing.assert_allclose(mu, c.mu, atol=1e-8)
        np.testing.assert_allclose(kappa, c.kappa, rtol=1e-8)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(twin.log_density(X, c), axis=1), rtol=1e-9)
    posterior = np.exp(twin.log_density(X, c) - model.score_samples(X)[:, None])
    np.testing.assert_allclose(model.predict_proba(X), posterior, atol=1e-8)


@pytest.mark.parametrize(
    ("n_active", "learner", "dtype"), pairs([1, 2, 5, None], ["batch", "memoized"], [np.float32, np.float64])
)
def test_the_objective_never_falls(learner, n_active, dtype):
    X = planted(40, [30, 60, 200, 500, 500, 900])[0].astype(dtype)
    model = VonMisesFisherMixture(9, learner=learner, n_active=n_active, tol=-np.inf, max_iter=25, random_state=0)
    bound = np.array([r.objective for r in model.fit(X).history_])
    assert np.all(np.diff(bound) > -1e-6 * np.abs(bound).max())


@pytest.mark.parametrize("learner", ["batch", "memoized", "stochastic"])
@pytest.mark.parametrize(("D", "kappas"), PLANTS)
def test_planted_clusters_are_found(D, kappas, learner):
    X, z, mu = planted(D, kappas, n=1500, seed=3)
    model = VonMisesFisherMixture(3, learner=learner, random_state=0, n_init=2).fit(X.astype(np.float32))
    assert normalized_mutual_info_score(z, model.labels_) > 0.95
    np.testing.assert_array_equal(model.labels_, model.predict(X.astype(np.float32)))
    match = (mu @ model.mean_directions_.T).argmax(axis=1)
    assert sorted(match) == [0, 1, 2]
    assert np.all(np.sum(mu * model.mean_directions_[match], axis=1) > 0.98)
    np.testing.assert_allclose(model.concentrations_[match], kappas, rtol=0.3 if learner == "stochastic" else 0.2)


def test_concentrations_of_one_row_and_of_equal_rows_are_finite():
    X = np.eye(30)
    few = VonMisesFisherMixture(30, init=np.arange(30), max_iter=3).fit(X)
    assert np.all(few.concentrations_ < 1000)  # the prior's pseudo-row
    likely = VonMisesFisherMixture(30, init=np.arange(30), objective="ml", max_concentration=1e4, max_iter=3)
    np.testing.assert_array_equal(likely.fit(X).concentrations_, 1e4)
    equal = VonMisesFisherMixture(2, max_concentration=1e5).fit(np.ones((20, 5)))
    np.testing.assert_array_equal(equal.concentrations_, 1e5)
    assert np.isfinite(equal.score(np.ones((20, 5))))


def test_rows_that_cancel_are_uniform():
    X = np.repeat(np.concatenate([np.eye(3), -np.eye(3)]), 50, axis=0)
    model = VonMisesFisherMixture(1).fit(X)
    assert model.concentrations_[0] == pytest.approx(0, abs=1e-6)
    assert model.score(X) == pytest.approx(-np.log(4 * np.pi), abs=1e-6)


def test_lengths_of_rows_do_not_matter():
    X, *_ = planted(12, [40, 80])
    scale = np.exp(np.random.default_rng(0).uniform(-30, 30, len(X)))[:, None]
    want = VonMisesFisherMixture(3, random_state=0).fit(X)
    got = VonMisesFisherMixture(3, random_state=0).fit(X * scale)
    np.testing.assert_allclose(got.concentrations_, want.concentrations_, rtol=1e-9)
    np.testing.assert_array_equal(got.labels_, want.labels_)
    extreme = VonMisesFisherMixture(3, random_state=0).fit(X * 1e-300)  # whose squares are zero
    np.testing.assert_array_equal(extreme.labels_, want.labels_)


def test_rows_without_direction_are_named():
    X, *_ = planted(5, [10])
    X[17] = 0
    with pytest.raises(ValueError, match="row 17 is zero"):
        VonMisesFisherMixture(2).fit(X)
    model = VonMisesFisherMixture(2).fit(X[:17])
    with pytest.raises(ValueError, match="row 17 is zero"):
        model.predict(X)


def test_without_normalize_only_unit_rows_are_taken():
    X, *_ = planted(5, [10])
    VonMisesFisherMixture(2, normalize=False).fit(X.astype(np.float32))
    X[3] *= 1.01
    with pytest.raises(ValueError, match=r"row 3 has length 1\.01"):
        VonMisesFisherMixture(2, normalize=False).fit(X)


def test_unit_rows_are_not_copied():
    X = planted(5, [10])[0].astype(np.float32)
    assert np.shares_memory(Directions(X).data, X)
    assert not np.shares_memory(Directions(2 * X).data, X)


def test_a_mapped_file_is_not_read_into_memory(tmp_path):
    X = 3 * planted(7, [20, 50])[0].astype(np.float32)
    Rows(X).save(tmp_path / "x.npy")
    want = VonMisesFisherMixture(3, random_state=0).fit(X)
    for rows in (tmp_path / "x.npy", np.load(tmp_path / "x.npy", mmap_mode="r")):
        got = VonMisesFisherMixture(3, random_state=0).fit(rows)
        np.testing.assert_array_equal(got.mean_directions_, want.mean_directions_)
        np.testing.assert_array_equal(got.labels_, want.labels_)
    mapped = Directions(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert isinstance(mapped.data, UnitRows)
    np.testing.assert_allclose(np.linalg.norm(mapped.data[[5, 1]], axis=1), 1, rtol=1e-6)


def test_sparse_rows_are_refused_with_a_reason():
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        VonMisesFisherMixture(2).fit(sp.eye_array(5, format="csr"))


@pytest.mark.parametrize(
    "parameter",
    [
        {"objective": "vb"}, {"prior_rows": 0}, {"max_concentration": -1}, {"max_concentration": 1e12},
        {"init": "kmeans"},
    ],
)  # fmt: skip
def test_bad_parameters_are_named(parameter):
    with pytest.raises(ValueError, match=next(iter(parameter))):
        VonMisesFisherMixture(2, **parameter).fit(np.eye(4))


def test_high_concentrations_are_computed_in_double():
    X = planted(3, [3e5, 3e5], n=400)[0].astype(np.float32)
    model = VonMisesFisherMixture(2, random_state=0).fit(X)
    assert model.model_.tables(np.arange(3)).likelihood.W.dtype == np.float64
    wide = VonMisesFisherMixture(2, random_state=0).fit(planted(3, [30, 30])[0].astype(np.float32))
    assert wide.model_.tables(np.arange(3)).likelihood.W.dtype == np.float32


def test_float32_says_what_float64_says():
    X = planted(784, [800, 1500, 2500], n=500)[0]
    a, b = (VonMisesFisherMixture(3, random_state=0, max_iter=10).fit(X.astype(t)) for t in (np.float32, np.float64))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.concentrations_, b.concentrations_, rtol=1e-5)
    np.testing.assert_allclose(a.score_samples(X.astype(np.float32)), b.score_samples(X), atol=1e-2)


@pytest.mark.parametrize("kappa", [0.0, 0.5, 10.0, 1000.0, 1e6])
@pytest.mark.parametrize("D", [1, 2, 3, 10, 500])
def test_draws_have_the_right_cosines(D, kappa):
    rng = np.random.default_rng(0)
    mu = rng.normal(size=D)
    mu /= np.linalg.norm(mu)
    X = sample(mu, kappa, 4000, rng)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-12)
    w = X @ mu
    A = float(ratio(D, max(kappa, 1e-30)))
    sd = np.sqrt(max(1 - A * A - (D - 1) / max(kappa, 1e-30) * A, 1e-30)) if kappa else np.sqrt(1 / D)
    assert abs(w.mean() - A) < 4 * sd / np.sqrt(len(w)) + 1e-12


@pytest.mark.parametrize(("D", "kappa"), [(3, 2.0), (4, 7.0), (20, 30.0)])
def test_cosines_follow_their_distribution(D, kappa):
    w, _ = cosines(D, kappa, 2000, np.random.default_rng(1))
    density = cosine_density(D, kappa)
    grid = np.linspace(-1, 1, 20_001)
    mass = np.cumsum(density(grid))
    assert kstest(w, lambda x: np.interp(x, grid, mass / mass[-1])).pvalue > 0.01


def test_the_sample_of_a_fit_is_scored_as_its_entropy():
    X, *_ = planted(8, [15, 40], n=2000)
    model = VonMisesFisherMixture(2, random_state=0).fit(X)
    Y, z = model.sample(4000)
    assert Y.shape == (4000, 8)
    np.testing.assert_allclose(np.bincount(z) / 4000, model.weights_, atol=0.03)
    assert model.score(Y) == pytest.approx(model.score(X), abs=0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loaded_model_answers_the_same(tmp_path, dtype):
    X = planted(9, [20, 50, 90])[0].astype(dtype)
    model = VonMisesFisherMixture(4, random_state=0, prior_rows=2.0).fit(X)
    model.save(tmp_path / "m.topmix")
    loaded = topmix.load(tmp_path / "m.topmix")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(loaded.concentrations_, model.concentrations_)
    assert loaded.get_params()["prior_rows"] == 2.0
    loaded.partial_fit(X[:50])


def test_partial_fit_learns_from_a_stream():
    X, z, _ = planted(20, [60, 90, 150], n=3000)
    model = VonMisesFisherMixture(3, random_state=0)
    for begin in range(0, 3000, 250):
        model.partial_fit(X[begin : begin + 250])
    assert normalized_mutual_info_score(z, model.predict(X)) > 0.9
    assert not hasattr(model, "labels_")


def test_information_criteria_count_the_free_parameters():
    X, *_ = planted(6, [20, 50])
    model = VonMisesFisherMixture(3, random_state=0).fit(X)
    free = 2 + 3 * 5 + 3  # weights, directions, concentrations
    assert model.aic(X) == pytest.approx(2 * free - 2 * model.score_samples(X).sum())
    assert model.bic(X) == pytest.approx(np.log(len(X)) * free - 2 * model.score_samples(X).sum())


def test_thousands_of_clusters_keep_few_a_row():
    X = planted(16, [200] * 40, n=5000)[0].astype(np.float32)
    model = VonMisesFisherMixture(2000, n_active=4, max_iter=3, random_state=0).fit(X)
    P = model.predict_proba(X[:10], sparse_output=True)
    assert P.shape == (10, 2000)
    assert P.nnz <= 40
    assert np.all(np.isfinite(model.concentrations_))


def test_responsibilities_and_labels_start_alike():
    X, z, _ = planted(6, [20, 50])
    one = VonMisesFisherMixture(2, init=z, max_iter=2, random_state=0).fit(X)
    other = VonMisesFisherMixture(2, init=np.eye(2)[z], max_iter=2, random_state=0).fit(X)
    np.testing.assert_array_equal(one.mean_directions_, other.mean_directions_)


def test_k_means_plus_plus_finds_groups_that_stand_apart():
    X, z, _ = planted(50, [2000] * 30, n=3000)
    rows = spread_rows(X, np.ones(len(X)), 30, np.random.default_rng(0))
    assert len(np.unique(z[rows])) >= 27  # one by one until eight are there, then some at once
    rows = spread_rows(np.eye(5), np.ones(5), 12, np.random.default_rng(0))
    assert len(rows) == 12
    assert len(np.unique(rows)) == 5


def test_the_start_has_one_concentration():
    X, *_ = planted(200, [300, 300, 300], n=2000)
    table = Rows(X)
    model = start(empty(table, None, 3), table, None, "auto", np.random.default_rng(0))
    assert np.ptp(model.parameters.kappa) < 0.05 * model.parameters.kappa.mean()  # but for the prior's pseudo-row
    assert model.N.sum() == pytest.approx(2000)
    assert model.parameters.kappa.mean() == pytest.approx(300, rel=0.05)


def test_tied_concentrations_are_one_number_that_maximises_the_objective():
    X, *_ = planted(20, [10, 40, 80], n=900)
    free, tied = (
        VonMisesFisherMixture(3, concentration_type=kind, learner="batch", n_active=None, random_state=0).fit(X)
        for kind in ("free", "tied")
    )
    assert np.ptp(free.concentrations_) > 10
    assert np.ptp(tied.concentrations_) == 0
    assert np.all(np.diff([record.objective for record in tied.history_]) > -1e-6)
    assert tied.elbo_ < free.elbo_  # it has fewer parameters
    model, N = tied.model_.likelihood, tied.model_.likelihood.N
    other = dataclasses.replace(model, total=model.total)
    for factor in (0.9, 1.1):
        kappa = factor * model.parameters.kappa
        moved = model.parameters._replace(kappa=kappa, log_peak=log_peak(20, kappa))
        object.__setattr__(other, "parameters", moved)
        assert other.bound(model.total, N) < model.bound(model.total, N)


def test_many_clusters_are_learned_by_candidates_and_converge_in_a_full_scan():
    """Most passes score a few clusters of each row. They find as much as passes that score all."""
    X, settings = many_groups(300, 6000), {"random_state": 0, "max_iter": 100, "tol": 1e-2}
    model = VonMisesFisherMixture(300, **settings).fit(X)
    scored = [record.effort.get(BY_CANDIDATES, 0.0) for record in model.history_]
    assert scored[0] == 0.0
    assert sum(map(bool, scored)) > len(scored) / 2
    assert scored[-1] == 0.0
    step = MixtureStep(VonMisesFisher, 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VonMisesFisherMixture, "_local_step", lambda self, K: step)
        full = VonMisesFisherMixture(300, **settings).fit(X)
    assert model.elbo_ > full.elbo_ - 0.05 * len(X)


def many_groups(K, n):
    rng = np.random.default_rng(3)
    mu = rng.normal(size=(K, 40))
    return (mu[rng.integers(K, size=n)] + 0.7 * rng.normal(size=(n, 40))).astype(np.float32)


def test_a_pass_that_happens_to_change_nothing_does_not_end_a_fit_with_momentum():
    def history(*objectives):
        return [Record(i + 1, 0.0, value, 3, {}, {}) for i, value in enumerate(objectives)]

    stopping = Stopping(100, 0.1, "unsteady")
    assert not stopping.has_converged(history(0.0, 0.01))
    assert not stopping.has_converged(history(0.0, 5.0, 4.99))
    assert stopping.has_converged(history(0.0, 5.0, 4.99, 5.05))
