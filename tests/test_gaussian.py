"""Gaussian mixtures: their likelihood, their clusters against a plant, and odd data."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import topmix
from topmix import GaussianMixture
from topmix.io.rows import read_rows
from topmix.learners import Memoized, Stochastic
from topmix.models import k_means
from topmix.models.frame import SHAPES
from topmix.models.k_means import lloyd, means, spread_rows


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(600, 3, centers=4, cluster_std=0.8, random_state=3)
    return X, y


@pytest.mark.parametrize("zero_mean", [False, True])
@pytest.mark.parametrize("covariance_type", SHAPES)
def test_the_likelihood_objective_is_the_likelihood(blobs, covariance_type, zero_mean):
    """At L = K and the end of climbing: sum_n log sum_k pi_k N(x_n | k)."""
    X = blobs[0]
    model = GaussianMixture(3, covariance_type=covariance_type, zero_mean=zero_mean, objective="ml", n_active=None,
                            learner="batch", tol=1e-10, max_iter=2000, reg_covar=0, random_state=0).fit(X)  # fmt: skip
    assert model.elbo_ == pytest.approx(model.score_samples(X).sum(), rel=1e-6)
    C = model.covariances_
    full = {"full": lambda k: C[k], "tied": lambda k: C, "diag": lambda k: np.diag(C[k]),
            "spherical": lambda k: C[k] * np.eye(3)}[covariance_type]  # fmt: skip
    p = [stats.multivariate_normal(model.means_[k], full(k)).logpdf(X) + np.log(model.weights_[k]) for k in range(3)]
    np.testing.assert_allclose(model.score_samples(X), logsumexp(p, axis=0), rtol=1e-9)
    if zero_mean:
        np.testing.assert_allclose(model.means_, 0, atol=1e-12)


@pytest.mark.parametrize("covariance_type", SHAPES)
@pytest.mark.parametrize("learner", ["batch", Memoized(batch_size=200), Stochastic(batch_size=200)], ids=str)
@pytest.mark.parametrize("n_active", [1, 2, None])
def test_finds_planted_clusters(blobs, covariance_type, learner, n_active):
    X, y = blobs
    model = GaussianMixture(4, covariance_type=covariance_type, learner=learner, n_active=n_active, n_init=2,
                            random_state=0).fit(X)  # fmt: skip
    table = np.zeros((4, 4))
    np.add.at(table, (y, model.predict(X)), 1)
    assert table.max(axis=1).sum() / len(y) > 0.97
    assert len(set(table.argmax(axis=1))) == 4


def test_the_start_finds_groups_that_stand_apart():
    """40 tight groups of very different sizes, all of them found by k-means++, and by "auto"."""
    rng = np.random.default_rng(0)
    y = rng.choice(40, 5000, p=rng.dirichlet(np.full(40, 2.0)))
    X = 50 * rng.normal(size=(40, 3))[y] + rng.normal(size=(5000, 3)) * 0.2
    for init in ("k-means++", "auto"):
        model = GaussianMixture(40, covariance_type="spherical", init_params=init, max_iter=0, random_state=0).fit(X)
        near = np.array([np.abs(X - m).sum(axis=1).argmin() for m in model.means_])
        assert len(set(y[near])) > 34


@pytest.mark.parametrize("objective", ["vb", "map", "ml"])
@pytest.mark.parametrize("covariance_type", SHAPES)
def test_given_parameters_are_where_it_starts(blobs, covariance_type, objective):
    X, rng = blobs[0], np.random.default_rng(0)
    C = {"full": 0.1 * np.ones((3, 3)) + np.eye(3) * np.array([1.0, 2, 3])[:, None, None], "tied": 0.3 + np.eye(3),
         "diag": 1 + rng.random((3, 3)), "spherical": 1 + rng.random(3)}[covariance_type]  # fmt: skip
    P = np.linalg.inv(C) if covariance_type in ("full", "tied") else 1 / C
    model = GaussianMixture(3, covariance_type=covariance_type, objective=objective, random_state=0,
                            init_params={"weights": [0.2, 0.5, 0.3], "means": X[:3], "precisions": P})  # fmt: skip
    table, _ = read_rows(X, owner="GaussianMixture")
    g, N = model._start(table, None, 3).first(rng)
    np.testing.assert_allclose(g.mean(), X[:3], rtol=1e-9)
    np.testing.assert_allclose(g.covariances(), C, rtol=1e-9)
    np.testing.assert_allclose(N / N.sum(), [0.2, 0.5, 0.3])


@pytest.mark.parametrize("objective", ["vb", "ml"])
def test_weights_are_repeats(blobs, objective):
    X, labels = blobs[0][:100], blobs[1][:100]
    repeats = np.random.default_rng(6).integers(0, 3, 100)
    fits = []
    for rows, weight in ((slice(None), repeats), (np.repeat(np.arange(100), repeats), None)):
        model = GaussianMixture(4, objective=objective, learner="batch", max_iter=3, tol=-np.inf,
                                init_params=labels[rows])  # fmt: skip
        fits.append(model.fit(X[rows], sample_weight=weight))
    np.testing.assert_allclose(fits[0].means_, fits[1].means_, rtol=1e-8)
    np.testing.assert_allclose(fits[0].covariances_, fits[1].covariances_, rtol=1e-6)
    assert fits[0].elbo_ == pytest.approx(fits[1].elbo_, rel=1e-8)
    with pytest.raises(ValueError, match="at least one non-zero"):
        GaussianMixture(2).fit(X, sample_weight=np.zeros(100))


def test_a_stream_finds_the_clusters(blobs):
    X, y = blobs
    model = GaussianMixture(4, learner=Stochastic(total_samples=600), random_state=0)
    for t in range(30):
        model.partial_fit(X[t * 20 : (t + 1) * 20] if t else X[:200])
    table = np.zeros((4, 4))
    np.add.at(table, (y, model.predict(X)), 1)
    assert table.max(axis=1).sum() / len(y) > 0.9
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.partial_fit(X).means_, model.partial_fit(X).means_)


@pytest.mark.parametrize("covariance_type", SHAPES)
def test_samples_look_like_the_model(blobs, covariance_type):
    model = GaussianMixture(4, covariance_type=covariance_type, random_state=0).fit(blobs[0])
    X, y = model.sample(20_000)
    assert np.all(np.diff(y) >= 0)
    np.testing.assert_allclose(np.bincount(y, minlength=4) / len(y), model.weights_, atol=0.02)
    for k in np.flatnonzero(model.weights_ > 0.05):
        C = model.covariances_ if covariance_type == "tied" else model.covariances_[k]
        C = {1: np.diag, 0: lambda c: c * np.eye(3)}.get(np.ndim(C), lambda c: c)(C)
        np.testing.assert_allclose(X[y == k].mean(axis=0), model.means_[k], atol=0.1 * np.sqrt(np.max(C)))
        np.testing.assert_allclose(np.cov(X[y == k].T), C, atol=0.05 * np.max(C))


@pytest.mark.parametrize("learner", [Memoized(1_000), Stochastic(1_000, offset=1.0, decay=0.65)], ids=repr)
def test_few_clusters_per_row_predict_as_well_as_all_and_one_does_not(learner):
    """Zero-mean clusters that overlap, each with a few long axes of its own."""
    axes = np.random.default_rng(0).normal(size=(20, 3, 12))

    def rows(n, seed):
        rng = np.random.default_rng(seed)
        long = np.einsum("ni,nid->nd", rng.normal(size=(n, 3)), axes[rng.integers(20, size=n)])
        return (long + rng.normal(size=(n, 12))).astype(np.float32)

    settings = {"zero_mean": True, "weight_concentration_prior": 0.5, "max_iter": 8, "tol": -np.inf, "random_state": 0}
    settings["init_params"] = "random_from_data"  # the same for any L, so that the passes alone make the difference
    score = {
        L: GaussianMixture(20, n_active=L, learner=learner, **settings).fit(rows(4_000, 1)).score(rows(1_000, 2))
        for L in (1, 4, 16, None)
    }
    assert score[1] < score[4] - 0.1
    assert score[16] > score[None] - 0.05


def test_probabilities_keep_n_active_and_agree_with_predict(blobs):
    X = blobs[0]
    model = GaussianMixture(6, n_active=2, random_state=0).fit(X)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.count_nonzero(P, axis=1).max() <= 2
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))
    sparse = model.predict_proba(X, sparse_output=True)
    assert sparse.nnz == 2 * len(X)
    np.testing.assert_array_equal(sparse.toarray(), P)


@pytest.mark.parametrize("objective", ["vb", "map", "ml"])
@pytest.mark.parametrize("covariance_type", SHAPES)
def test_odd_data_is_finite_or_refused_with_a_reason(covariance_type, objective):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    odd = {
        "constant column": np.column_stack([X, np.full(50, 7.0)]),
        "all equal": np.ones((20, 3)),
        "one row": X[:1],
        "fewer rows than clusters": X[:3],
        "a column that repeats another": np.column_stack([X, X[:, 0]]),
        "huge and tiny": X * np.array([1e8, 1e-8, 1.0, 1e3]),
        "far away": X + 1e7,
    }
    for name, data in odd.items():
        model = GaussianMixture(5, covariance_type=covariance_type, objective=objective, random_state=0, max_iter=6)
        model.fit(data)
        for x in (model.means_, model.covariances_, model.weights_, model.score_samples(data), model.elbo_):
            assert np.all(np.isfinite(x)), name
    if covariance_type in ("full", "diag") and objective == "ml":
        with pytest.raises(ValueError, match=r"covariance of .* is singular.*ill-defined.*reg_covar"):
            GaussianMixture(5, covariance_type=covariance_type, objective="ml", reg_covar=0, random_state=0).fit(
                np.repeat(X[:5], 8, axis=0) @ np.diag([1, 1, 1, 0])
            )


def test_thousands_of_columns_with_full_covariances_are_refused():
    with pytest.raises(ValueError, match=r"GB.*'diag'"):
        GaussianMixture(100).fit(np.random.default_rng(0).normal(size=(10, 30_000)).astype(np.float32))
    wide = np.random.default_rng(0).normal(size=(10, 2000))
    assert np.all(np.isfinite(GaussianMixture(2, covariance_type="diag", max_iter=3).fit(wide).means_))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("covariance_type", "round"), ("objective", "best"), ("reg_covar", -1.0), ("reg_covar", None),
        ("weight_concentration_prior", 0.0), ("weight_concentration_prior_type", "none"), ("mean_precision_prior", 0),
        ("degrees_of_freedom_prior", 1.5), ("mean_prior", [0.0]), ("covariance_prior", np.eye(2)),
        ("covariance_prior", -np.eye(3)), ("init_params", "magic"), ("init_params", np.ones((3, 2))),
        ("init_params", {"weights": [0.5, 0.6]}), ("init_params", {"means": np.zeros((3, 3))}),
        ("init_params", {"precisions": np.zeros((2, 3, 3))}), ("init_params", {"covariances": np.ones((2, 3, 3))}),
        ("init_params", {"weights": [1.5, -0.5]}), ("init_params", {"means": np.full((2, 3), np.nan)}),
        ("tol", "small"), ("tol", np.nan), ("max_iter", -1),
    ],
)  # fmt: skip
def test_a_bad_parameter_is_named(blobs, parameter, value):
    with pytest.raises(ValueError, match=parameter):
        GaussianMixture(2, **{parameter: value}).fit(blobs[0])


def test_bad_combinations_are_refused(blobs):
    with pytest.raises(ValueError, match="'ml' has none"):
        GaussianMixture(2, objective="ml", weight_concentration_prior_type="dirichlet_process").fit(blobs[0])
    with pytest.raises(ValueError, match="zero_mean"):
        GaussianMixture(2, zero_mean=True, init_params={"means": np.zeros((2, 3))}).fit(blobs[0])
    spoiled = blobs[0].copy()
    spoiled[17, 1] = np.nan
    with pytest.raises(ValueError, match="row 17, column 1: nan"):
        GaussianMixture(2).fit(spoiled)


@pytest.mark.slow  # seven seconds; test_von_mises_fisher.py has a smaller one, of the same reader
def test_a_mapped_file_is_read_a_piece_at_a_time(tmp_path):
    """160 MB of rows, more than twice the memory that the fit may take beside them."""
    script = textwrap.dedent(
        f"""
        import numpy as np
        from topmix import GaussianMixture

        path = {str(tmp_path / "rows.npy")!r}
        X = np.lib.format.open_memmap(path, "w+", np.float32, (2_000_000, 20))
        rng = np.random.default_rng(0)
        for a in range(0, len(X), 100_000):
            X[a : a + 100_000] = rng.standard_normal((100_000, 20), np.float32)
        X.flush()
        del X
        mapped = np.load(path, mmap_mode="r")
        GaussianMixture(3, covariance_type="diag", max_iter=1, random_state=0).fit(mapped[:1000])

        def own():
            return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

        most = [before := own()]
        GaussianMixture(3, covariance_type="diag", max_iter=1, random_state=0,
                        callbacks=[lambda *_: most.append(own())]).fit(path)
        GaussianMixture(3, covariance_type="diag", max_iter=1, random_state=0,
                        callbacks=[lambda *_: most.append(own())]).fit(mapped)
        print((max(most) - before) // 1024)
        """
    )
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 70


def groups(kind, rng):
    """Rows that any method should take apart, and their groups."""
    if kind == "on axes":  # in a frame where the whole data is round, the distances between groups are those of noise
        y = np.arange(1500) % 3
        return rng.normal(size=(1500, 16)) + 5 * np.eye(16)[y], y
    if kind == "in many columns":
        y = rng.integers(20, size=3000)
        return rng.normal(0, 1.2, (20, 40))[y] + rng.normal(size=(3000, 40)), y
    y = rng.integers(5, size=2000)
    return (rng.normal(0, 4, (5, 6))[y] + rng.normal(size=(2000, 6))) * 10.0 ** np.arange(-2, 4), y


@pytest.mark.parametrize("kind", ["on axes", "in many columns", "in other units"])
def test_the_usual_start_finds_groups_that_stand_apart(kind):
    for seed in range(3):
        X, y = groups(kind, np.random.default_rng(seed))
        found = GaussianMixture(y.max() + 1, random_state=seed, max_iter=20).fit(X).predict(X)
        assert adjusted_rand_score(y, found) > 0.97


@pytest.mark.parametrize(("kind", "least"), [("full", 0.99), ("tied", 0.9), ("diag", 0.9)])
def test_many_groups_that_stand_apart_are_found(kind, least):
    """Forty of different shapes: division alone mixes them, and so does a k-means that moves no centre."""
    rng = np.random.default_rng(1)
    means, shapes, y = rng.normal(0, 2.5, (40, 10)), rng.normal(size=(40, 10, 10)), rng.integers(40, size=6000)
    X = means[y] + np.einsum("nij,nj->ni", (shapes / np.sqrt(10) + 0.5 * np.eye(10))[y], rng.normal(size=(6000, 10)))
    found = GaussianMixture(40, covariance_type=kind, random_state=0, max_iter=20).fit(X).predict(X)
    assert adjusted_rand_score(y, found) > least


def test_a_start_that_is_given_in_full_makes_no_other(blobs, monkeypatch):
    X, _ = blobs
    given = {"weights": np.full(4, 0.25), "means": X[:4], "precisions": np.array([np.eye(3)] * 4)}
    fitted = GaussianMixture(4, init_params=given, max_iter=0).fit(X)
    np.testing.assert_allclose(fitted.means_, X[:4])
    np.testing.assert_allclose(fitted.weights_, 0.25)
    monkeypatch.setattr("topmix.models.gaussian_start.start", lambda *_: pytest.fail("another start"))
    GaussianMixture(4, init_params=given, max_iter=3, tol=-1).fit(X)


def test_moves_of_centres_that_gain_little_are_counted_as_failures(monkeypatch):
    x, w, moves = np.random.default_rng(0).normal(size=(400, 3)).astype(np.float32), np.ones(400), []
    steps = k_means._lloyd
    monkeypatch.setattr(k_means, "_lloyd", lambda *of: moves.append(1) or steps(*of))
    lloyd(x, w, 7, np.random.default_rng(0), 10, left=3, least=1.0)
    assert len(moves) == 1 + 3  # no move gains everything
    lloyd(x, w, 7, np.random.default_rng(0), 10, left=3)
    assert len(moves) > 2 + 6


def test_lloyds_steps_never_fall():
    """Each step brings rows nearer to their centres, and so does the next; a group without rows stays empty."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3)).astype(np.float32)
    w = rng.uniform(0.5, 2, 400)

    def spread(labels):
        return w @ np.square(x - means(x, w, 7, labels)[labels]).sum(axis=1)

    for seed in range(5):
        first = spread_rows(x, w, 7, np.random.default_rng(seed))[1]
        last = lloyd(x, w, 7, np.random.default_rng(seed), 10)
        assert spread(last) < spread(first)
    equal = lloyd(np.full((20, 3), 0.1, np.float32), np.full(20, 1 / 3), 4, np.random.default_rng(0), 10, left=3)
    assert len(set(equal)) == 1  # and it ends, whatever is lost to rounding
    twice = np.repeat(x[:2], 5, axis=0)
    labels = lloyd(twice, np.ones(10), 4, np.random.default_rng(0), 10, left=2)
    assert len(set(labels[:5])) == len(set(labels[5:])) == 1
    assert labels[0] != labels[5]


def test_starts_as_given_come_back_from_a_file(blobs, tmp_path):
    X, y = blobs
    P = np.array([np.eye(3)] * 4)
    for init in (y, {"means": X[:4], "precisions": P}, np.eye(4)[y]):
        model = GaussianMixture(4, init_params=init, random_state=0).fit(X)
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(topmix.load(tmp_path / "model").fit(X).means_, model.means_)


@pytest.mark.parametrize("covariance_type", SHAPES)
def test_likelihoods_without_end_are_refused(covariance_type):
    """Two points, many times: without reg_covar every covariance is zero but for rounding."""
    X = np.repeat([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], 10, axis=0)
    for init in ("auto", "kmeans", "random"):
        model = GaussianMixture(2, covariance_type=covariance_type, objective="ml", init_params=init, random_state=0)
        with pytest.raises(ValueError, match="singular"):
            model.set_params(reg_covar=0).fit(X)
        assert np.all(np.isfinite(model.set_params(reg_covar=1e-6).fit(X).covariances_))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("covariance_type", ["full", "tied"])
def test_rows_are_drawn_where_rounding_makes_covariances_singular(covariance_type):
    """Found by tools/fuzz_estimators.py: two columns that are one, and a row far away."""
    rng = np.random.default_rng(3)
    X = 1e6 * rng.normal(size=(254, 2)) + 3 * rng.normal(size=(4, 2))[np.arange(254) % 4]
    X[:, 1] = X[:, 0]
    X[7] *= 1e6
    model = GaussianMixture(6, covariance_type=covariance_type, max_iter=5, random_state=0)
    drawn, _ = model.fit(X).sample(500)
    assert np.isfinite(drawn).all()
    assert np.abs(drawn[:, 0] - drawn[:, 1]).max() < 1e-3 * np.abs(drawn).max()
    assert np.isfinite(model.precisions_cholesky_).all()


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
def test_roots_are_those_of_cholesky(blobs, covariance_type):
    model = GaussianMixture(4, covariance_type=covariance_type, random_state=0).fit(blobs[0])
    np.testing.assert_allclose(model._gaussian.roots(), np.linalg.cholesky(model.covariances_), rtol=1e-9, atol=1e-12)
