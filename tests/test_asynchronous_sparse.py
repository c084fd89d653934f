"""Clusters of sparse rows that travel between workers: bags of words, and Gaussian clusters with variances, against
slow twins of dense rows and against what they are: coordinate ascent."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.twins import asynchronous_categorical, asynchronous_gaussian
from tests.twins.asynchronous_mixture import solved
from topmix import GaussianMixture, MultinomialMixture
from topmix.corpus.rows import SparseRows
from topmix.corpus.shard import VectorShard
from topmix.data import Corpus
from topmix.learn.asynchronous_mixture import SparseGaussianClusters, clusters_of
from topmix.learners import Asynchronous
from topmix.models.categorical import WordStart
from topmix.models.gaussian_start import default_covariance_prior, empty, start, summary
from topmix.models.mixture import FiniteDirichlet, Mixture

K, N, V = 7, 103, 23
SPARSE = SparseRows(sp.csr_array(np.eye(2)))
BLOCKS = [range(2), range(2, 4), range(4, 7)]  # clusters of each of three blocks of seven
ORDER = [(0, [2]), (1, [0, 1]), (1, [2, 0]), (0, [0, 1, 2]), (1, [1]), (0, [1, 2]), (1, [0, 1, 2])]
MINE = np.arange(60), np.arange(60, N)
WEIGHT = np.random.default_rng(5).integers(1, 4, N) / 2


def counts(n: int = N) -> np.ndarray:
    """Short rows of 4 kinds that overlap, one of them empty."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(V, 0.6), 4)
    X = np.array([rng.multinomial(rng.integers(2, 9), phi[k]) for k in rng.integers(4, size=n)], np.float32)
    X[7] = 0
    return X


class Counts:
    """A mixture of bags of words, and its rows as the twin takes them."""

    twin = asynchronous_categorical
    objectives = ("vb", "map", "ml")

    def __init__(self, objective):
        self.X = counts()
        corpus = Corpus.from_scipy(sp.csr_array(self.X))
        words, _ = WordStart(corpus, None, K, 0.3, objective, 0.3, "documents").first(np.random.default_rng(0))
        weights = FiniteDirichlet.uniform(0.3, K, objective).update(np.full(K, N / K))
        self.model, self.twin_rows = Mixture(weights, words, V), self.X

    def rows(self, core, entries):
        words, weights = self.model.likelihood, self.model.allocation
        prior = words.objective == "vb", words.eta[:, 0], float(weights.prior)
        return core.CategoricalRows(*prior, core.CountRows(*entries))

    def numbers(self, total):
        return np.column_stack([total.N, total.S.counts().T])

    def values(self):
        return sp.csr_array(self.X).data.astype(np.float32)


class Gaussians:
    """Gaussian clusters of sparse rows; the twin has dense ones."""

    twin = asynchronous_gaussian
    objectives = ("vb", "map", "zero")

    def __init__(self, objective):
        zero = objective == "zero"
        self.X = (counts() * np.linspace(0.3, -2, V)).astype(np.float64)
        table = SparseRows(sp.csr_array(self.X))
        about = summary(table, None, "diag", zero)
        prior = default_covariance_prior(about[1], "diag", 1e-2)
        g = empty(about, "float64", K, covariance_type="diag", zero_mean=zero, objective="vb" if zero else objective,
                  covariance_prior=prior, reg_covar=1e-2)  # fmt: skip
        g = start(g, table, None, "k-means++", np.random.default_rng(0))
        weights = FiniteDirichlet.uniform(0.3, K, g.objective).update(g.total.N)
        self.model, self.twin_rows = Mixture(weights, g, V), g.frame.points(self.X)

    def rows(self, core, entries):
        g, p, clusters = (
            self.model.likelihood,
            self.model.likelihood.prior,
            clusters_of(self.model, SPARSE),
        )
        kind = "squares", not g.zero_mean, g.objective == "vb"
        normal = core.NormalWishart(*kind, p.beta, p.m, p.nu, p.B, p.reg, float(self.model.allocation.prior))
        scale = np.ascontiguousarray(g.frame.scale)
        return core.SparseGaussianRows(normal, scale, clusters.zero, core.SparseRows(*entries))

    def numbers(self, total):
        clusters = clusters_of(self.model, SPARSE)
        assert isinstance(clusters, SparseGaussianClusters)
        N, zero = total.N, clusters.zero
        beyond = total.S.first - np.outer(N, zero), total.S.second - np.outer(N, zero**2)
        return np.column_stack([N, np.stack(beyond, axis=2).reshape(K, -1)])

    def values(self):
        return sp.csr_array(self.X).data


CASES = [(kind, objective) for kind in (Counts, Gaussians) for objective in kind.objectives]


def assigned(case, L):
    s = case.twin.scores(case.model, case.twin_rows)
    return np.array([solved(np.zeros(K), row, np.arange(K), L) for row in s])


def entries(case, rows=slice(None)):
    csr = sp.csr_array(case.X[rows])
    return csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data.astype(case.values().dtype)


def packed(r, L):
    cluster = np.sort(np.argsort(-r, axis=1, kind="stable")[:, :L], axis=1).astype(np.int32)
    return cluster, np.take_along_axis(r, cluster, axis=1).astype(np.float32)


def workers(core, case, r, L, *, bounds=(0, 60, N), weight=WEIGHT, most=1, rows_at_once=40, threads=2, seed=0):
    n_rows = float(N) if weight is None else weight.sum()
    settings = core.MixtureSettings(n_rows, K, L, 3, rows_at_once, threads)
    rows = case.rows(core, entries(case))
    return core.AsynchronousMixture(rows, weight, settings, np.array(bounds), most, seed, *packed(r, L))


def near(mine, theirs):
    """Shares lie on a grid of 2^-24, and rows that move by less than sixteen steps of it stay where they are."""
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=2e-5 * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize("L", [1, 3, K])
@pytest.mark.parametrize(("kind", "objective"), CASES)
def test_visits_are_those_of_the_twin(core, kind, objective, L):
    case = kind(objective)
    r = assigned(case, L)
    native = workers(core, case, r, L)
    model = case.model.update(case.twin.statistics(case.model, case.twin_rows, r, WEIGHT))
    for worker, held in ORDER:
        clusters = np.concatenate([BLOCKS[b] for b in sorted(held)])
        *_, (model, total) = case.twin.visit(model, case.twin_rows, r, clusters, L, 40, MINE[worker], WEIGHT)
        native.visit(worker, held)
        numbers, H = native.now()
        near(numbers, case.numbers(total))
        near(np.array(H), np.array(total.H))
        cluster, share = native.assignments()
        dense = np.zeros((N, K))
        np.add.at(dense, (np.arange(N)[:, None], cluster), share)
        np.testing.assert_allclose(dense, r, atol=2e-5)
    native.audit()


@pytest.mark.parametrize("L", [1, 3, K])
@pytest.mark.parametrize(("kind", "objective"), CASES)
def test_blocks_that_come_and_go_are_those_of_the_twin(core, kind, objective, L):
    case = kind(objective)
    settings = core.MixtureSettings(WEIGHT.sum(), K, L, 3, 40, 2)
    team = [core.NomadicMixture(case.rows(core, entries(case, mine)), WEIGHT[mine], settings) for mine in MINE]
    numbers = clusters_of(case.model, SPARSE).numbers(case.model)
    blocks = [numbers[held[0] : held[-1] + 1] for held in BLOCKS]

    def visit(worker, held, how):
        for b in held:
            team[worker].put(b, np.ascontiguousarray(blocks[b]))
        getattr(team[worker], how)(held)
        for b in held:
            blocks[b] = team[worker].take(b)

    for station in team:
        station.forget()
    for worker, held in ((0, [1]), (1, [2, 0]), (0, [0, 2]), (1, [1])):
        visit(worker, held, "compare")
    for station in team:
        station.settle()
    blocks = [np.zeros_like(b) for b in blocks]
    for worker, held in ((1, [0]), (0, [0, 1, 2]), (1, [1, 2])):
        visit(worker, held, "contribute")
    r = assigned(case, L)
    total = case.twin.statistics(case.model, case.twin_rows, r, WEIGHT)
    near(np.concatenate(blocks), case.numbers(total))
    model = case.model.update(total)
    for worker, held in ORDER:
        clusters = np.concatenate([BLOCKS[b] for b in sorted(held)])
        *_, (model, total) = case.twin.visit(model, case.twin_rows, r, clusters, L, 40, MINE[worker], WEIGHT)
        visit(worker, held, "visit")
        near(np.concatenate(blocks), case.numbers(total))
    assert sum(s.entropy() for s in team) == pytest.approx(total.H, rel=1e-5, abs=1e-4)
    cluster, share = team[0].assignments()
    assert cluster.shape == share.shape == (60, L)
    with pytest.raises(RuntimeError, match="is not here"):
        team[0].take(0)


def test_counts_are_conserved_to_the_bit(core):
    case = Counts("vb")
    native = workers(core, case, assigned(case, 3), 3, bounds=(0, 20, 70, N), weight=None, most=2, threads=1)
    native.start(12)
    for _ in range(12):
        numbers, _ = native.next()
        np.testing.assert_array_equal(numbers[:, 1:].sum(axis=0), case.X.sum(axis=0))
        assert numbers[:, 0].sum() == N
    assert native.next() is None
    native.audit()
    assert native.visits == 12 * 3 * 3


@pytest.mark.parametrize("kind", [Counts, Gaussians])
def test_a_worker_may_be_stopped_anywhere(core, kind):
    case = kind("vb")
    native = workers(core, case, assigned(case, 2), 2, bounds=(0, 20, 70, N), weight=None, most=2, rows_at_once=10)
    for leg in range(20):
        native.start(10_000)
        if leg % 2:
            native.next()
        native.stop()
        native.audit()
        assert native.now()[0][:, 0].sum() == N


@pytest.mark.parametrize("kind", [Counts, Gaussians])
def test_native_workers_refuse_rows_that_lead_outside(core, kind):
    case = kind("vb")
    r = packed(assigned(case, 2), 2)
    indptr, index, value = entries(case)
    settings, deal = core.MixtureSettings(float(N), K, 2, 3, 10, 1), (np.array([0, N]), 1, 0)
    wrong = index.copy()
    wrong[3] = V
    for rows in ((indptr, wrong, value), (indptr[::-1].copy(), index, value), (indptr, index[:-1], value)):
        with pytest.raises(ValueError, match=r"word|indptr|sparse rows"):
            case.rows(core, rows)
    with pytest.raises(ValueError, match="not there"):
        core.AsynchronousMixture(case.rows(core, entries(case)), None, settings, *deal, r[0] + K, r[1])
    with pytest.raises(ValueError, match="positive"):
        core.CategoricalRows(True, np.zeros(V), 1.0, core.CountRows(indptr, index, value.astype(np.float32)))
    normal = core.NormalWishart("squares", True, True, 1.0, np.zeros(V), 1.0, np.ones(V), np.ones(V), 1.0)
    with pytest.raises(ValueError, match="number for each column"):
        core.SparseGaussianRows(
            normal, np.zeros(V - 1), np.zeros(V), core.SparseRows(indptr, index, value.astype(float))
        )


def planted(n=900, seed=0):
    """Rows of five kinds that hardly overlap."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(60, 0.08), 5)
    label = rng.integers(5, size=n)
    return sp.csr_array(np.array([rng.multinomial(25, phi[k]) for k in label], np.float32)), label


MIXTURES = {
    "MultinomialMixture": lambda **how: MultinomialMixture(5, n_active=3, random_state=0, **how),
    "GaussianMixture": lambda **how: GaussianMixture(
        5, covariance_type="diag", n_active=3, random_state=0, reg_covar=1e-2, **how
    ),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_one_worker_repeats_and_climbs_and_several_get_as_far(name):
    X, label = planted()
    how = {"tol": -np.inf, "max_iter": 20, "n_init": 4}
    one, again = (MIXTURES[name](learner=Asynchronous(batch_size=100), n_jobs=n, **how).fit(X) for n in (1, 3))
    assert [h.objective for h in one.history_] == [h.objective for h in again.history_]
    objectives = [h.objective for h in one.history_]
    assert np.min(np.diff(objectives)) > -1e-7 * abs(objectives[0])
    two = MIXTURES[name](learner=Asynchronous(workers=2), n_jobs=2, **how).fit(X)
    memoized = MIXTURES[name](learner="memoized", **how).fit(X)
    for model in (one, two):
        assert len(model.history_) == 20
        assert model.elbo_ == pytest.approx(memoized.elbo_, rel=2e-4)
        assert np.array([np.bincount(label[model.predict(X) == k], minlength=5).max() for k in range(5)]).sum() > 800


def test_weights_are_repeats():
    X, _ = planted(120)
    many, start = X[np.repeat(np.arange(120), 2)], {"max_iter": 6, "tol": -np.inf}
    for workers in (1, 2):
        learner = Asynchronous(workers=workers, batch_size=10**6)
        once = MIXTURES["MultinomialMixture"](learner=learner, **start).fit(X, sample_weight=np.full(120, 2.0))
        assert once.model_.allocation.counts().sum() == pytest.approx(240)
        assert once.components_.sum() == pytest.approx(many.sum() + 5 * 60 * 0.3)


def test_what_cannot_travel_is_refused():
    X, _ = planted(50)
    with pytest.raises(ValueError, match="'asynchronous' needs weight_concentration_prior_type"):
        MultinomialMixture(3, learner="asynchronous", weight_concentration_prior_type="dirichlet_process").fit(X)
    with pytest.raises(ValueError, match=r"needs covariance_type to be 'diag', not 'full': .* X is sparse"):
        GaussianMixture(3, learner="asynchronous").fit(X)
    with pytest.raises(ValueError, match="engine must be 'threads'"):
        MultinomialMixture(3, learner="asynchronous", engine="serial").fit(X)


@pytest.mark.parametrize("kind", ["full", "diag", "tied"])
def test_sparse_rows_are_the_dense_ones(kind):
    X, _ = planted(200)
    X = sp.csr_array(X[:, :8])
    how = {"covariance_type": kind, "max_iter": 5, "tol": -np.inf, "random_state": 0, "reg_covar": 1e-2}
    names = [f"w{v}" for v in range(8)]
    dense, sparse = GaussianMixture(3, **how).fit(X.toarray()), GaussianMixture(3, **how).fit(X)
    corpus = Corpus.from_scipy(X, names)
    of_corpus = GaussianMixture(3, **how).fit(corpus)
    for model, rows in ((sparse, X), (of_corpus, corpus)):
        np.testing.assert_allclose(model.means_, dense.means_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model.score_samples(rows), dense.score_samples(X.toarray()), rtol=1e-4)
    np.testing.assert_array_equal(sparse.predict(X), sparse.predict(X.toarray()))
    assert list(of_corpus.feature_names_in_) == names


def test_sparse_rows_are_checked():
    X, _ = planted(50)
    X = X.astype(np.float64)
    X.data[3] = np.nan
    row = int(np.searchsorted(X.indptr, 3, side="right")) - 1
    with pytest.raises(ValueError, match=f"NaN or infinity: row {row}, column {X.indices[3]}"):
        GaussianMixture(2, covariance_type="diag").fit(X)
    X.data[3], X.indices[5] = 1.0, 1000
    with pytest.raises(ValueError, match="has the column 1000"):
        GaussianMixture(2, covariance_type="diag").fit(X)


def test_a_sparse_table_stays_sparse_where_it_is_sent():
    import pickle

    X, _ = planted(50)
    table = SparseRows(X)
    shard = VectorShard(table.data, slice(10, 30))
    there = pickle.loads(pickle.dumps(shard))
    assert there.sparse_rows().nnz == X[10:30].nnz
    np.testing.assert_array_equal(there.rows_as(np.float32), X[10:30].toarray())
    assert table[5:8].nnz == X[5:8].nnz
    assert "entries" in repr(table)
