"""Gaussian clusters that travel between workers, against a slow twin and against what they are: coordinate ascent."""

import itertools
import os
import signal
import threading

import numpy as np
import pytest

from tests.twins import asynchronous_gaussian as twin
from tests.twins.mixture import responsibilities
from topmix import GaussianMixture
from topmix.base import threads as blas
from topmix.data import Rows
from topmix.engines.local import Threads
from topmix.learn.asynchronous_mixture import AsynchronousMixture, in_blocks
from topmix.learners import Asynchronous, State, Task
from topmix.models.gaussian import Gaussian
from topmix.models.gaussian_start import default_covariance_prior, empty, start, summary
from topmix.models.mixture import FiniteDirichlet, Mixture
from topmix.steps.rows import MixtureStep

K, N, D = 7, 103, 3


def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(0, 1.2, (4, D))[rng.integers(4, size=N)] + rng.normal(size=(N, D)) + 50


def started(kind: str, objective: str = "vb", zero_mean: bool = False, reg: float = 0.0, seed: int = 0):
    """A mixture, its rows in the frame, and their dense responsibilities after one step."""
    table = Rows(rows() - (50 if zero_mean else 0))
    about = summary(table, None, kind, zero_mean)
    prior = default_covariance_prior(about[1], kind, reg) if objective == "map" else None
    settings = {"covariance_type": kind, "objective": objective, "zero_mean": zero_mean, "covariance_prior": prior}
    g = empty(about, "float64", K, reg_covar=reg, **settings)
    g = start(g, table, None, "k-means++", np.random.default_rng(seed))
    model = Mixture(FiniteDirichlet.uniform(0.3, K, objective).update(g.total.N), g, D)
    return model, g.frame.points(table.data)


def assigned(model: Mixture, z: np.ndarray, L: int) -> np.ndarray:
    r = np.zeros((len(z), K))
    s = twin.scores(model, z)
    for n in range(len(z)):
        r[n] = twin.solved(np.zeros(K), s[n], np.arange(K), L)
    return r


def packed(r: np.ndarray, L: int):
    cluster = np.sort(np.argsort(-r, axis=1, kind="stable")[:, :L], axis=1).astype(np.int32)
    return cluster, np.take_along_axis(r, cluster, axis=1).astype(np.float32)


def prior(core, model):
    g, p = model.likelihood, model.likelihood.prior
    flat = [g.shape.packed(np.asarray(x)[None])[0].ravel() for x in (p.B, p.reg)]
    kind = g.shape.quadratic, not g.zero_mean, g.objective == "vb"
    return core.NormalWishart(*kind, p.beta, p.m, p.nu, *flat, model.allocation.prior)


def workers(core, model, z, r, L, *, bounds=(0, N), blocks=3, most=1, rows_at_once=40, weight=None, threads=1, seed=0):
    core.set_blas(*blas.capsules())
    n_rows = float(len(z)) if weight is None else weight.sum()
    settings = core.MixtureSettings(n_rows, K, L, blocks, rows_at_once, threads)
    data, centre = core.GaussianRows(prior(core, model), z), model.likelihood.posterior.m
    return core.AsynchronousMixture(data, weight, settings, np.array(bounds), most, seed, *packed(r, L), centre)


def dense(native, n=N) -> np.ndarray:
    cluster, share = native.assignments()
    r = np.zeros((n, K))
    np.add.at(r, (np.arange(n)[:, None], cluster), share)
    return r


def near(mine, theirs):
    """Shares lie on a grid of 2^-24, and rows that move by less than sixteen steps of it stay where they are."""
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=2e-5 * max(1.0, np.abs(theirs).max()))


def same(native, total):
    numbers, H = native.now()
    near(numbers, np.column_stack([total.S.N, total.S.first, total.S.second]))
    near(np.array(H), np.array(total.H))


KINDS = [("full", "vb", False, 0.0), ("diag", "vb", False, 1e-2), ("spherical", "map", False, 1e-2),
         ("full", "ml", False, 1e-1), ("diag", "map", True, 0.0), ("full", "vb", True, 1e-3)]  # fmt: skip
BLOCKS = [range(2), range(2, 4), range(4, 7)]  # clusters of each of three blocks of seven


def stations(core, model, z, L, bounds, weight, threads=1, rows_at_once=40):
    """Rows of some processes, for blocks that are put there and taken away."""
    core.set_blas(*blas.capsules())
    settings = core.MixtureSettings(weight.sum(), K, L, 3, rows_at_once, threads)
    return [core.NomadicMixture(core.GaussianRows(prior(core, model), z[a:b]), weight[a:b], settings)
            for a, b in itertools.pairwise(bounds)]  # fmt: skip


@pytest.mark.parametrize("L", [1, 3, K])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_that_come_and_go_are_those_of_the_twin(core, kind, L):
    model, z = started(*kind)
    weight, mine = np.random.default_rng(5).integers(1, 4, N) / 2, (np.arange(60), np.arange(60, N))
    team = stations(core, model, z, L, (0, 60, N), weight, threads=2)
    g = model.likelihood
    numbers = np.column_stack([g.total.N, g.total.first, g.total.second, g.posterior.m])
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
    blocks = [np.concatenate([np.zeros((len(b), b.shape[1] - D)), b[:, -D:]], axis=1) for b in blocks]
    for worker, held in ((1, [0]), (0, [0, 1, 2]), (1, [1, 2])):
        visit(worker, held, "contribute")

    def same_as(total):
        found = np.concatenate(blocks)
        near(found[:, :-D], np.column_stack([total.S.N, total.S.first, total.S.second]))

    r = assigned(model, z, L)
    total = twin.statistics(model, z, r, weight)
    same_as(total)
    model = model.update(total)
    for worker, held in ((0, [2]), (1, [0, 1]), (1, [2, 0]), (0, [0, 1, 2]), (1, [1]), (0, [1, 2]), (1, [0, 1, 2])):
        clusters = np.concatenate([BLOCKS[b] for b in sorted(held)])
        *_, (model, total) = twin.visit(model, z, r, clusters, L, 40, mine[worker], weight)
        visit(worker, held, "visit")
        same_as(total)
        near(np.array(sum(s.entropy() for s in team)), np.array(total.H))


def test_a_block_is_in_one_place_at_a_time(core):
    model, z = started("diag", reg=1e-2)
    (rows,) = stations(core, model, z, 2, (0, N), np.ones(N))
    block = np.ones((2, 1 + 3 * D))
    rows.put(0, block)
    for call in (lambda: rows.put(0, block), lambda: rows.take(1), lambda: rows.visit([0, 1])):
        with pytest.raises(RuntimeError, match=r"is (here already|not here)"):
            call()
    for call in (
        lambda: rows.put(3, block), lambda: rows.put(1, block[:1]), lambda: rows.put(1, block[:, 1:].copy()),
        lambda: rows.visit([7]), lambda: rows.take(9),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"there is no such block|rows must be"):
            call()
    assert rows.of_rows > z.nbytes


@pytest.mark.parametrize("L", [1, 3, K])
@pytest.mark.parametrize("kind", KINDS)
def test_visits_are_those_of_the_twin(core, kind, L):
    model, z = started(*kind)
    r, weight = assigned(model, z, L), np.random.default_rng(5).integers(1, 4, N) / 2
    native = workers(core, model, z, r, L, bounds=(0, 60, N), weight=weight, threads=2)
    model = model.update(twin.statistics(model, z, r, weight))
    order = [(0, [2]), (1, [0, 1]), (1, [2, 0]), (0, [0, 1, 2]), (1, [1]), (0, [1, 2]), (1, [0, 1, 2])]
    for worker, held in order:
        mine = np.arange(60) if worker == 0 else np.arange(60, N)
        clusters = np.concatenate([BLOCKS[b] for b in sorted(held)])
        *_, (model, total) = twin.visit(model, z, r, clusters, L, 40, mine, weight)
        native.visit(worker, held)
        same(native, total)
        np.testing.assert_allclose(dense(native), r, atol=2e-5)
    native.audit()


@pytest.mark.parametrize("L", [2, K])
@pytest.mark.parametrize("kind", ["full", "diag"])
def test_all_clusters_at_one_worker_are_a_batch_step(core, kind, L):
    model, z = started(kind)
    native = workers(core, model, z, assigned(model, z, L), L, blocks=1, rows_at_once=N)
    model = model.update(twin.statistics(model, z, assigned(model, z, L)))
    for _ in range(3):
        a = Gaussian.assign(*_shard(z, model), L)
        total = twin.statistics(model, z, responsibilities(a, K))
        native.visit(0, [0])
        same(native, total)
        model = model.update(total)


def _shard(z, model):
    from topmix.corpus.shard import VectorShard

    return VectorShard(model.likelihood.frame.points_back(z), slice(0, len(z))), *model.tables(np.arange(D))


@pytest.mark.parametrize("L", [2, 4, K])
@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_the_bound_never_falls_whichever_clusters_are_held(kind, L):
    """Theorem 1: two clusters at a time, or more, at random."""
    model, z = started(kind)
    r, rng = assigned(model, z, L), np.random.default_rng(1)
    total = twin.statistics(model, z, r)
    model = model.update(total)
    bounds = [sum(model.bound(total).values())]
    for _ in range(60):
        held = np.sort(rng.choice(K, rng.integers(2, 5), replace=False))
        for now, total in twin.visit(model, z, r, held, L, 50):
            model = now
            bounds.append(sum(model.bound(total).values()))
            np.testing.assert_allclose(r.sum(axis=1), 1, atol=1e-12)
            assert np.count_nonzero(r, axis=1).max() <= L
    assert np.min(np.diff(bounds)) > -1e-9 * abs(bounds[0])
    assert bounds[-1] > bounds[0] + 1


def test_mass_is_conserved_to_the_bit(core):
    model, z = started("full")
    native = workers(core, model, z, assigned(model, z, 3), 3, bounds=(0, 20, 70, N), most=2)
    native.start(12)
    for _ in range(12):
        assert native.next()[0][:, 0].sum() == N
    assert native.next() is None
    native.audit()
    _, share = native.assignments()
    assert np.all(share.astype(np.float64).sum(axis=1) == 1)
    assert native.visits == 12 * 3 * 3


def test_a_worker_may_be_stopped_in_the_middle_of_a_visit(core):
    rng = np.random.default_rng(0)
    model, z = started("full")
    many = np.tile(z, (40, 1)) + 0.01 * rng.normal(size=(40 * N, D))
    r = np.tile(assigned(model, z, 3), (40, 1))
    native = workers(core, model, many, r, 3, bounds=(0, 1000, 2000, len(many)), most=2, rows_at_once=100)
    for leg in range(20):
        native.start(10_000)
        if leg % 2:
            native.next()
        native.stop()
        native.audit()
        assert native.now()[0][:, 0].sum() == len(many)


def learned(table, workers, n, L=3, kind="full", rows_at_once=64):
    model, _ = started(kind)
    batches = np.array_split(np.random.default_rng(3).permutation(len(table)), 5)
    task = Task(table, model, batches, MixtureStep(Gaussian, L), Threads(), 1, L, max_iter=n)
    native = AsynchronousMixture(task, workers, rows_at_once, seed=0)
    passes = Asynchronous().passes(model, native, State(pseudo_counts=model.as_stats()))
    return [(m, t, sum(m.bound(t).values())) for m, t, _ in itertools.islice(passes, n)]


@pytest.mark.parametrize("kind", ["full", "diag"])
@pytest.mark.parametrize("L", [1, 3, K])
def test_one_worker_climbs_pass_by_pass(kind, L):
    bounds = [b for *_, b in learned(Rows(rows()), 1, 15, L, kind, rows_at_once=20)]
    assert np.min(np.diff(bounds)) > -1e-8 * abs(bounds[0])


def test_snapshots_of_several_workers_are_models_of_all_rows():
    for workers in (2, 3):
        for model, total, bound in learned(Rows(rows()), workers, 8):
            assert total.N.sum() == pytest.approx(N, rel=1e-12)
            assert np.isfinite(bound)
            assert model.n_components == K


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_blocks_are_never_alone(workers):
    """Rows move only between clusters that are held together: blocks that never met would keep their rows for ever."""
    for n in range(4, 300):
        blocks, most = in_blocks(n, workers)
        assert 2 <= most <= blocks <= n // 2 or blocks == 1
    assert in_blocks(10, 1) == (1, 1)


def test_the_estimator_repeats_with_one_worker_and_climbs_with_more():
    X = rows().astype(np.float32)
    settings = {"random_state": 0, "tol": -np.inf, "max_iter": 25, "n_active": 3}
    one, again = (GaussianMixture(4, n_jobs=n, learner=Asynchronous(batch_size=20), **settings).fit(X) for n in (1, 3))
    two = GaussianMixture(4, n_jobs=2, learner=Asynchronous(workers=2), **settings).fit(X)
    np.testing.assert_array_equal(one.means_, again.means_)
    assert [h.objective for h in one.history_] == [h.objective for h in again.history_]
    batch = GaussianMixture(4, **settings | {"learner": "batch", "n_active": None, "max_iter": 1}).fit(X)
    for model in (one, two):
        assert len(model.history_) == 25
        assert model.elbo_ > batch.elbo_
        assert model.predict(X).shape == (N,)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_ctrl_c_leaves_the_model_of_the_last_pass(n_workers):
    """From another thread, while this one waits for the workers."""
    X = rows()
    began = threading.Event()
    model = GaussianMixture(4, learner=Asynchronous(workers=n_workers), n_jobs=2, random_state=0, tol=-np.inf,
                            max_iter=10**9,
                            callbacks=[lambda record, _: record.n_pass == 3 and began.set()])  # fmt: skip
    press = threading.Thread(target=lambda: began.wait() and os.kill(os.getpid(), signal.SIGINT))
    press.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    press.join()
    assert len(model.history_) >= 3
    assert model.predict(X).shape == (N,)


def test_clusters_may_get_thin():
    """Rows on a line, nearly: float32 would lose the distance from it."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=(400, 1))
    X = np.hstack([t, t + 1e-4 * rng.normal(size=(400, 1))]).astype(np.float32)
    X[:200, 1] += 1
    settings = {"objective": "ml", "reg_covar": 1e-10, "random_state": 0, "max_iter": 30, "tol": -np.inf, "n_active": 2}
    settings["init_params"] = np.repeat([0, 1], 200)
    mine = GaussianMixture(2, learner="asynchronous", n_jobs=1, **settings).fit(X)
    theirs = GaussianMixture(2, learner="memoized", **settings).fit(X)
    assert mine.elbo_ == pytest.approx(theirs.elbo_, rel=1e-3)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("covariance_type", "tied"), ("weight_concentration_prior_type", "dirichlet_process"), ("candidates", 4)],
)
def test_what_cannot_travel_is_refused(parameter, value):
    with pytest.raises(ValueError, match=f"'asynchronous' needs {parameter}"):
        GaussianMixture(4, learner="asynchronous", n_active=2, **{parameter: value}).fit(rows())


def test_another_engine_is_refused():
    with pytest.raises(ValueError, match="'asynchronous' has workers of its own: engine must be 'threads'"):
        GaussianMixture(4, learner="asynchronous", engine="serial").fit(rows())
