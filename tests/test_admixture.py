"""Admixtures: groups of rows mix clusters. Identities with mixtures, with topics and with sums over all assignments."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import digamma, gammaln, logsumexp, xlogy

import topmix
from tests.twins import gaussian as of_gaussians, groups as reference
from topmix import GaussianAdmixture, GaussianMixture, VonMisesFisherAdmixture, _core
from topmix.base import dirichlet
from topmix.base.threads import one_thread
from topmix.corpus.shard import Shard
from topmix.data import Corpus
from topmix.learn import cluster_exchanges, cluster_search, topic_moves
from topmix.learners import Asynchronous, Memoized
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.statistics import MixtureStats
from topmix.models.topic_words import WordTables
from topmix.models.topics import DocumentOptions, TopicTables
from topmix.steps import rows as local_groups
from topmix.steps.documents import solve

BOTH = pytest.mark.parametrize("Estimator", [GaussianAdmixture, VonMisesFisherAdmixture])
RNG = np.random.default_rng(0)


def planted(n_groups=40, size=25, K=4, D=5, spread=2.0, alpha=0.3, seed=0):
    """Rows, their groups in no order, the cluster of each, and the proportions of groups."""
    rng = np.random.default_rng(seed)
    theta, centres = rng.dirichlet(np.full(K, alpha), n_groups), spread * rng.normal(size=(K, D))
    groups = np.repeat(np.arange(n_groups), rng.integers(2, 2 * size, n_groups))
    z = np.array([rng.choice(K, p=theta[d]) for d in groups])
    order = rng.permutation(len(z))
    return (centres[z] + rng.normal(size=(len(z), D)))[order], groups[order], z[order], theta


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("collapsed", [True, False])
def test_the_kernels_are_their_twin(core, dtype, collapsed):
    G, K, D, L, C = 7, 9, 3, 3, 6
    sizes = RNG.integers(0, 40, G)
    sizes[2] = 2500  # several chunks
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n = starts[-1]
    z, W = RNG.normal(size=(n, D)).astype(dtype), RNG.normal(size=(K, D)).astype(dtype)
    constant, alpha, weight = RNG.normal(size=K), RNG.gamma(1.0, 1.0, K) + 0.05, RNG.gamma(2.0, 1.0, n)
    weight[::7] = 0
    first = RNG.gamma(0.5, 5.0, (G, K)) * (RNG.random((G, K)) < 0.7)
    score = of_gaussians.features(z, "none", True) @ W.T.astype(np.float64) + constant
    want = reference.solve(score, starts, alpha, first, L, C, collapsed=collapsed, weight=weight, max_iter=5)
    found = {}
    for threads in (1, 3, 7):
        a = np.empty((n, C), np.int32), np.empty((n, C), dtype), np.empty(n), np.empty(n)
        b = np.empty((n, L), np.int32), np.empty((n, L), dtype), np.empty(n)
        log_p = reference.log_weights(first, alpha, collapsed)
        with one_thread():
            core.assign_groups(z, starts, W, (constant + log_p).astype(dtype), "none", True, threads, *a)
        N, absent = first.copy(), np.empty((G, K))
        iterations = core.solve_groups(starts, *a[:2], weight, alpha, collapsed, 0.0, 5, 0.0, threads, N, absent, *b)
        found[threads] = [*a, *b, N, absent]
        assert iterations <= 5 * G
    r = np.zeros((n, K))
    np.put_along_axis(r, b[0], b[1].astype(np.float64), axis=1)
    close = {"atol": 1e-5 if dtype == np.float32 else 1e-11}
    np.testing.assert_allclose(r, want.r, **close)
    np.testing.assert_allclose(N, want.N, rtol=1e-5, **close)
    np.testing.assert_allclose(b[2], want.entropy, **close)
    sure, group = np.minimum(want.r, 1 - 2.0**-40), np.repeat(np.arange(G), sizes)
    none = np.array([weight[group == d] @ np.log1p(-sure[group == d]) for d in range(G)])
    np.testing.assert_allclose(np.exp(absent), np.exp(none), rtol=1e-4, atol=1e-7)
    top = -np.sort(-(score + log_p[group]), axis=1)[:, :C]
    np.testing.assert_allclose(a[3], logsumexp(top, axis=1), rtol=1e-5, **close)
    for other in (found[1], found[3]):
        for x, y in zip(other, found[7], strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("collapsed", [True, False])
def test_rows_are_solved_as_the_words_of_a_document(collapsed):
    """Rows that are words, in groups that are documents, one row among them alone: LDA's equations, and its kernel."""
    K, lengths = 4, [1, 6, 13]
    n, alpha = sum(lengths), np.array([0.2, 0.5, 1.1, 0.7])
    table = RNG.gamma(1.0, 1.0, (n, K)).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    posterior = "collapsed" if collapsed else "variational"
    words = WordTables(table, np.zeros(n), *(None,) * (len(WordTables._fields) - 2))
    options = DocumentOptions(n_active=K, eps=0.0, max_iter=500, tol=1e-9)
    tables = TopicTables(words, DocumentPrior(alpha, posterior), posterior, options, None)
    rows = np.zeros((len(lengths), n), np.float32)
    for d, (a, b) in enumerate(pairwise(starts)):
        rows[d, a:b] = 1
    docs = solve(Shard.of(Corpus.from_scipy(rows)), tables, _core.TopicScratch()).docs
    want = np.zeros((len(lengths), K))
    want[np.repeat(np.arange(len(lengths)), np.diff(docs.indptr)), docs.topic] = docs.count
    e = table.astype(np.float64)
    N = rows @ (e / e.sum(axis=1, keepdims=True))  # where a document starts: from its words alone
    share = e * np.exp(rows.T @ reference.log_weights(N, alpha, collapsed))
    share, ids = share / share.sum(axis=1, keepdims=True), np.tile(np.arange(K, dtype=np.int32), (n, 1))
    out = np.empty((n, K), np.int32), np.empty((n, K)), np.empty(n)
    _core.solve_groups(starts, ids, share, None, alpha, collapsed, 0.0, 5000, 1e-12, 1, N, None, *out)
    np.testing.assert_allclose(N, want, atol=1e-3)


@pytest.mark.parametrize("posterior", ["variational", "collapsed"])
def test_the_objective_is_the_one_that_enumeration_gives(posterior):
    """Sums over all assignments z of rows in two groups, for r that keep two of three clusters."""
    K, starts, alpha = 3, np.array([0, 4, 7]), np.array([0.3, 0.8, 0.5])
    s = RNG.normal(size=(7, K))
    found = reference.solve(s, starts, alpha, np.zeros((2, K)), 2, K, collapsed=posterior == "collapsed", max_iter=3)
    r, N = found.r, found.N
    prior = DocumentPrior(alpha, posterior)
    group, topic = np.nonzero(N)
    docs = DocTopics(np.searchsorted(group, np.arange(3)), topic.astype(np.uint16), N[group, topic].astype(np.float32))
    rows = MixtureStats(0.0, N.sum(axis=0), 0.0, 7.0)
    stats = prior.summarise(rows, docs, np.diff(starts).astype(float), float(found.entropy.sum()))
    objective = np.sum(r * s) + stats.H + prior.bound(stats)

    log_pi = reference.log_weights(N, alpha, posterior == "collapsed")
    total = evidence = 0.0
    for d in range(2):
        own, parts = range(starts[d], starts[d + 1]), []
        for z in product(range(K), repeat=len(own)):
            counts = np.bincount(z, minlength=K)
            log_x = sum(s[n, k] for n, k in zip(own, z))
            q = np.prod([r[n, k] for n, k in zip(own, z)])
            if q > 0:
                total += q * (log_x + counts @ log_pi[d] - np.log(q))
            parts.append(log_x + dirichlet.log_normaliser(alpha) - dirichlet.log_normaliser(alpha + counts))
        evidence += logsumexp(parts)
        if posterior == "collapsed":  # a point, whose prior density in log odds lacks its constant
            total += alpha @ log_pi[d]
        else:
            theta = alpha + N[d]
            total -= dirichlet.log_normaliser(theta) - dirichlet.log_normaliser(alpha)
            total -= (theta - alpha) @ (digamma(theta) - digamma(theta.sum()))
    assert objective == pytest.approx(total, rel=1e-6)
    if posterior == "variational":
        assert objective < evidence
        exact = gammaln(alpha.sum()) * 2 - gammaln(alpha.sum() + np.diff(starts)).sum()
        exact += (gammaln(N + alpha) - gammaln(alpha)).sum()  # q(pi) at its optimum, Eq. (A.7)
        assert objective == pytest.approx(np.sum(r * s) + found.entropy.sum() + exact, rel=1e-6)


@pytest.mark.parametrize("objective", ["vb", "map", "ml"])
def test_one_group_of_all_rows_is_the_mixture(objective, monkeypatch):
    """Pass by pass, where a group makes one iteration in each."""
    monkeypatch.setattr(local_groups, "MAX_ITER", 1)
    monkeypatch.setattr(local_groups, "WARM_UP", 0)
    X = planted()[0]
    X = X[: len(X) // 4 * 4]
    quarter = np.argsort(np.argsort(X[:, 0])) // (len(X) // 4)  # of the same size, as are weights of a group at first
    settings = {"objective": objective, "init_params": quarter, "max_iter": 8, "tol": -np.inf, "n_active": None}
    settings |= {"weight_concentration_prior": 0.7, "learner": "batch"}
    settings |= {"degrees_of_freedom_prior": 8.0, "covariance_prior": 8 * np.eye(5)}
    all_rows, group = GaussianMixture(4, **settings).fit(X), np.zeros(len(X))
    one = GaussianAdmixture(4, **settings).fit(X, group)
    np.testing.assert_allclose(one.means_, all_rows.means_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(one.covariances_, all_rows.covariances_, rtol=1e-5, atol=1e-6)
    alpha = one.weight_concentration_prior_
    weights = (one.weights_ * len(X) + alpha) / (len(X) + alpha.sum())
    np.testing.assert_allclose(weights, all_rows.weights_, rtol=1e-5)
    for record, want in zip(one.history_, all_rows.history_, strict=True):
        assert record.objective == pytest.approx(want.objective, rel=1e-7)
    assert one.completion_score(X, group) == pytest.approx(all_rows.score(X), abs=0.2)


@pytest.mark.parametrize("n_active", [1, 2, None])
@pytest.mark.parametrize("objective", ["vb", "map"])
def test_the_objective_never_falls(objective, n_active):
    X, groups, _, _ = planted(spread=1.0)
    settings = {"objective": objective, "n_active": n_active, "weight_concentration_prior": 0.2, "reg_covar": 0.0}
    fit = GaussianAdmixture(5, **settings, random_state=0, max_iter=25, tol=-np.inf).fit(X, groups)
    rises = np.diff([r.objective for r in fit.history_[local_groups.WARM_UP :]])
    assert rises.min() > -1e-7 * abs(fit.objective_), rises


def test_the_objective_of_directions_never_falls():
    X, groups, _, _ = planted(spread=0.5)
    fit = VonMisesFisherAdmixture(12, n_active=3, weight_concentration_prior=0.1, random_state=0, tol=-np.inf)
    rises = np.diff([r.objective for r in fit.set_params(max_iter=25).fit(X, groups).history_[local_groups.WARM_UP :]])
    assert rises.min() > -1e-7 * abs(fit.objective_), rises


def test_the_learned_prior_lifts_the_bound_and_follows_the_groups():
    prior = {}
    for alpha in (0.05, 5.0):
        X, groups, _, _ = planted(n_groups=150, alpha=alpha)
        fit = GaussianAdmixture(4, objective="vb", random_state=0, max_iter=25, tol=-np.inf).fit(X, groups)
        rises = np.diff([r.objective for r in fit.history_[local_groups.WARM_UP :]])
        assert rises.min() > -1e-7 * abs(fit.objective_)
        prior[alpha] = fit.weight_concentration_prior_.mean()
    assert prior[0.05] < 0.2
    assert prior[5.0] > 1.0


def test_first_passes_that_begin_as_a_mixture_lift_the_bound(monkeypatch):
    X, groups, _, _ = planted(n_groups=100, size=30, K=15, D=3, spread=3.0, alpha=0.05)
    found, settings = {}, {"objective": "vb", "init_params": "random_from_data", "random_state": 0, "tol": -np.inf}
    for warm_up in (0, 10):
        monkeypatch.setattr(local_groups, "WARM_UP", warm_up)
        fit = GaussianAdmixture(15, max_iter=20, weight_concentration_prior=0.05, **settings)
        found[warm_up] = fit.fit(X, groups).objective_ / len(X)
    assert found[10] > found[0] + 0.02, found


@BOTH
def test_every_way_to_say_which_rows_belong_together(Estimator, tmp_path):
    X, groups, _, _ = planted()
    names = np.array([f"image {d:03}" for d in groups])
    want = Estimator(4, random_state=0, max_iter=4).fit(X, groups)
    T = want.transform(X, groups)
    assert T.shape == (40, 4)
    np.testing.assert_allclose(T.sum(axis=1), 1.0)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(image=names)
    parts = [X[groups == d] for d in range(40)]
    frame.to_parquet(tmp_path / "x.parquet")
    tables = (frame, pl.from_pandas(frame), tmp_path / "x.parquet", str(tmp_path / "x.parquet"))
    for of_fit in ((X, names), (X, pd.Series(groups)), *((table, "image") for table in tables)):
        other = Estimator(4, random_state=0, max_iter=4).fit(*of_fit)
        np.testing.assert_array_equal(other.transform(*of_fit), T)
        np.testing.assert_array_equal(other.predict(*of_fit), want.predict(X, groups))
    np.testing.assert_array_equal(want.transform(parts), T)
    by_group = np.argsort(groups, kind="stable")
    np.testing.assert_array_equal(want.predict(parts), want.predict(X, groups)[by_group])
    np.testing.assert_array_equal(want.score_samples(parts), want.score_samples(X, groups)[by_group])


@BOTH
def test_a_mapped_file_and_groups_in_memory(Estimator, tmp_path):
    X, groups, _, _ = planted()
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    want = Estimator(4, random_state=0, max_iter=4).fit(X, groups).transform(X, groups)
    for rows in (mapped, tmp_path / "x.npy"):
        fit = Estimator(4, random_state=0, max_iter=4).fit(rows, groups)
        np.testing.assert_allclose(fit.transform(rows, groups), want, rtol=1e-6, atol=1e-9)


@BOTH
def test_pieces_of_a_shard_change_nothing(Estimator, monkeypatch):
    """However groups are cut into pieces, rows have the same candidates and groups the same counts."""
    X, groups, _, _ = planted()
    want = Estimator(4, random_state=0, max_iter=3).fit(X, groups)
    monkeypatch.setattr(local_groups, "rows_at_a_time", lambda *_: 30)
    got = Estimator(4, random_state=0, max_iter=3).fit(X, groups)
    np.testing.assert_allclose(got.means_, want.means_, rtol=1e-6)
    np.testing.assert_allclose(got.transform(X, groups), want.transform(X, groups), rtol=1e-5, atol=1e-7)


@BOTH
def test_groups_help_to_tell_clusters_apart_and_to_predict_rows(Estimator):
    X, groups, _, _ = planted(n_groups=100, spread=1.0, alpha=0.1)
    together = Estimator(4, random_state=0).fit(X, groups)
    alone = Estimator(4, random_state=0).fit(X, np.zeros(len(X)))
    held = together.completion_score(X, groups)
    assert held > alone.completion_score(X, np.zeros(len(X))) + 0.2
    assert held <= together.score(X, groups) + 0.05
    assert held == together.completion_score(X, groups)
    with pytest.raises(ValueError, match="no group"):
        together.completion_score(X)


def test_weights_are_repeats():
    X, groups, z, _ = planted(n_groups=15)
    weight = RNG.integers(0, 3, len(X))
    settings = {"init_params": z, "max_iter": 4, "tol": -np.inf, "learner": "batch", "degrees_of_freedom_prior": 8.0}
    a = GaussianAdmixture(4, **settings).fit(X, groups, sample_weight=weight)
    often = np.repeat(np.arange(len(X)), weight)
    b = GaussianAdmixture(4, **settings | {"init_params": z[often]}).fit(X[often], groups[often])
    np.testing.assert_allclose(a.means_, b.means_, rtol=1e-5, atol=1e-6)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-6)


@BOTH
@pytest.mark.parametrize(
    ("X", "groups", "match"),
    [
        (np.ones((4, 2)), [0, 1, 1], "must name the group of each of 4 rows"),
        (np.ones((4, 2)), [0, 1, np.nan, 1], "groups has NaN in row 2"),
        (np.ones((4, 2)), [0, "a", None, 1], "groups cannot be sorted"),
        (np.ones((4, 2)), "image", "image"),
        ([np.ones((4, 2)), np.ones((3, 5))], None, "all of the same width"),
    ],
)
def test_groups_that_make_no_sense_are_refused(Estimator, X, groups, match):
    with pytest.raises(ValueError, match=match):
        Estimator(2).fit(X, groups)


@BOTH
def test_what_is_not_there_is_refused(Estimator):
    X, groups, _, _ = planted(n_groups=10)
    for learner in (Asynchronous(), Memoized(momentum=1.0)):
        with pytest.raises(ValueError, match=r"asynchronous|momentum"):
            Estimator(3, learner=learner).fit(X, groups)
    fit = Estimator(3, random_state=0, max_iter=2, tol=-np.inf).fit(X, groups)
    with pytest.raises(ValueError, match="completion_score"):
        fit.bic(X)


@BOTH
def test_an_empty_group_has_the_proportions_of_the_prior(Estimator):
    X, groups, _, _ = planted(n_groups=10)
    fit = Estimator(3, random_state=0, max_iter=2, tol=-np.inf).fit(X, groups)
    T = fit.transform([X[:5], X[:0], X[5:6]])
    alpha = fit.weight_concentration_prior_
    np.testing.assert_allclose(T[1], alpha / alpha.sum())
    np.testing.assert_allclose(T.sum(axis=1), 1)


@pytest.mark.parametrize("kind", [GaussianAdmixture, VonMisesFisherAdmixture])
def test_clusters_are_exchanged_where_a_start_has_two_in_one(kind, monkeypatch):
    X, groups, z, _ = planted(n_groups=60, K=6, D=6, spread=4.0 if kind is GaussianAdmixture else 3.0)
    start = np.where(z == 1, 0, z)  # clusters 0 and 1 are one, and 2 is two
    start[(z == 2) & (np.arange(len(z)) % 2 == 0)] = 1
    name = "init_params" if kind is GaussianAdmixture else "init"

    def agree(model):
        table = pd.crosstab(z, model.predict(X, groups)).to_numpy()
        return (table.max(axis=1) > 0.5 * table.sum(axis=1)).sum(), len(set(table.argmax(axis=1)))

    found = kind(6, random_state=0, **{name: start}).fit(X, groups)
    assert agree(found) == (6, 6)
    assert found.n_iter_ == len(found.history_) == found.history_[-1].n_pass
    np.testing.assert_array_equal(found.labels_, found.predict(X, groups))
    if kind is GaussianAdmixture:
        again = kind(6, random_state=0, n_jobs=1, **{name: start}).fit(X, groups)
        np.testing.assert_array_equal(again.means_, found.means_)
    monkeypatch.setattr(cluster_exchanges, "TRIALS", 0)
    without = kind(6, random_state=0, **{name: start}).fit(X, groups)
    assert agree(without)[1] < 6
    assert without.objective_ < found.objective_


def test_too_few_rows_are_not_divided():
    X, groups, *_ = planted(n_groups=4, size=3, K=3)
    GaussianAdmixture(3, covariance_type="diag", random_state=0).fit(X, groups)
    assert set(cluster_exchanges.two_means(np.zeros((12, 2)))) == {0}


def process(kind, n_components, **settings):
    """A fit that finds the number of clusters."""
    settings = ({"objective": "vb"} if kind is GaussianAdmixture else {}) | settings
    return kind(n_components, weight_concentration_prior_type="dirichlet_process", random_state=0, **settings)


def settled(history):
    """The objective after passes with nothing on trial; clusters at a point pay for their parameters besides."""
    found, on_trial = [], False
    for record in history:
        moves = list(record.moves)
        if moves:
            on_trial = moves[-1].startswith("try")
        if not on_trial:
            found.append(record.objective)
    return np.array(found)


@pytest.mark.parametrize(
    ("Estimator", "K", "start"),
    [
        (GaussianAdmixture, 8, 1),
        (GaussianAdmixture, 8, 20),
        pytest.param(VonMisesFisherAdmixture, 4, 2, marks=pytest.mark.slow),
    ],
)
def test_the_number_of_clusters_is_found_from_any_start(Estimator, K, start):
    X, groups, z, _ = planted(n_groups=60, K=K, D=6, alpha=0.1)
    fit = process(Estimator, start).fit(X, groups)
    assert fit.converged_
    assert len(fit.weights_) == fit.transform(X, groups).shape[1] == fit.history_[-1].n_components == K
    table = pd.crosstab(z, fit.predict(X, groups)).to_numpy()
    assert len(set(table.argmax(axis=1))) == K
    assert table.max(axis=1).sum() > 0.93 * len(z)
    if Estimator is GaussianAdmixture:  # whose objective is the bound that decides
        rises = np.diff(settled(fit.history_[local_groups.WARM_UP + 1 :]))
        assert rises.min() > -1e-7 * abs(fit.objective_), rises


@pytest.mark.slow  # eight clusters are found above
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("K", "start"), [(10, 1), (10, 40), (30, 8), (30, 60)])
def test_ten_and_thirty_clusters_are_found(K, start, seed):
    """Clusters of shapes of their own. Round ones that lie two deviations apart are taken for one: docs/groups.md."""
    rng = np.random.default_rng(seed)
    theta, groups = rng.dirichlet(np.full(K, 0.1), 200), np.repeat(np.arange(200), 50)
    z = np.array([rng.choice(K, p=theta[d]) for d in groups])
    shapes = 0.7 * (np.eye(8) + 0.3 * rng.normal(size=(K, 8, 8)))
    X = rng.normal(size=(K, 8))[z] + np.einsum("nij,nj->ni", shapes[z], rng.normal(size=(len(z), 8)))
    assert len(process(GaussianAdmixture, start, max_iter=300).fit(X, groups).weights_) == K


def test_what_a_merger_gains_is_exact(monkeypatch):
    """Where the sample is all of the data: against statistics of groups that have the two clusters as one."""
    X, groups, _, _ = planted(n_groups=30, K=4, D=3, spread=1.0)
    monkeypatch.setattr(cluster_search.moves, "SAMPLE", 10 * len(X))
    weighed, checked = cluster_search.SearchedClusters._pairs, []

    def bound(model, memory, lengths, rows, H):
        parts = [model.prior.summarise(rows, memory[b].groups, lengths[b], H / len(memory)) for b in memory]
        total = sum(parts[1:], parts[0])
        return model.likelihood.bound(rows.S, rows.N) + H + model.prior.bound(total)

    def pairs(search, here, sample):
        found, gains = weighed(search, here, sample)
        K, H = here.model.n_components, here.total.H
        rows, lengths = here.model.as_stats().S, [search.fit.workers.shards[b].lengths for b in here.memory]
        before = bound(here.model, here.memory, lengths, rows, H)
        for (j, k), gain in list(zip(found, gains))[:3]:
            move = cluster_search.moves.merger(K, [(j, k)])
            model = here.model.reassigned(move.moved, here.total.D, move.parts)
            memory = {b: replace(v, groups=topic_moves.moved(v.groups, move.moved)) for b, v in here.memory.items()}
            a, b = sample.r[:, j], sample.r[:, k]
            lost = np.sum(xlogy(a + b, a + b) - xlogy(a, a) - xlogy(b, b))
            after = bound(model, memory, lengths, model.as_stats().S, H - lost)
            checked.append((gain, after - before))
        return found, gains

    monkeypatch.setattr(cluster_search.SearchedClusters, "_pairs", pairs)
    process(GaussianAdmixture, 6, n_active=None, max_iter=40).fit(X, groups)
    assert len(checked) > 3
    np.testing.assert_allclose(*np.transpose(checked), rtol=1e-4, atol=0.05)


def test_a_fit_that_finds_its_clusters_is_a_model_like_others(tmp_path):
    X, groups, _, _ = planted(n_groups=25, K=3, spread=3.0)
    fit = process(GaussianAdmixture, 2).fit(X, groups)
    again = process(GaussianAdmixture, 2, n_jobs=1, engine="serial").fit(X, groups)
    np.testing.assert_array_equal(again.means_, fit.means_)
    T = fit.transform(X, groups)
    np.testing.assert_allclose(T.sum(axis=1), 1.0)
    fit.save(tmp_path / "model")
    np.testing.assert_array_equal(topmix.load(tmp_path / "model").transform(X, groups), T)
    before = fit.objective_
    on = fit.set_params(warm_start=True, max_iter=20).fit(X, groups)
    assert len(on.weights_) == T.shape[1]
    assert on.objective_ > before - 1e-3 * len(X)
    assert len(process(GaussianAdmixture, 3, learner="batch", max_iter=20, tol=-np.inf).fit(X, groups).weights_) == 3
    with pytest.raises(ValueError, match="a Dirichlet process is a prior"):
        process(GaussianAdmixture, 3, objective="ml").fit(X, groups)


def test_a_search_that_ends_within_a_trial_keeps_what_was_there_before():
    X, groups, _, _ = planted(n_groups=40, K=5, spread=3.0)
    is_trial = [lambda record, view: "try" in str(record.moves)]
    cut = process(GaussianAdmixture, 2, callbacks=is_trial).fit(X, groups)
    assert len(cut.weights_) == cut.history_[-1].n_components == 2
    assert "stopped" in cut.history_[-1].moves
    assert cut.objective_ == cut.history_[-1].objective == pytest.approx(cut.history_[-2].objective)


def test_an_admixture_of_many_directions_is_one_of_groups():
    """A mixture of so many remembers candidates of its rows, and an admixture does not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(512, 3))
    found = VonMisesFisherAdmixture(300, max_iter=2, n_active=1, random_state=0).fit(X, np.arange(512) // 64)
    assert found.transform(X, np.arange(512) // 64).shape == (8, 300)
