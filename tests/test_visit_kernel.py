"""One visit to the rows: moments by cluster equal those of the twin, for any rows, weights and threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.twins import gaussian as twin
from topmix import GaussianMixture, _core
from topmix.base import threads as blas
from topmix.base.threads import use_threads
from topmix.corpus.shard import VectorShard
from topmix.models import gaussian, von_mises_fisher as code
from topmix.models.gaussian import Gaussian
from topmix.models.von_mises_fisher import DirectionTables, VonMisesFisher
from topmix.steps.rows import MixtureStep

from .pairs import pairs


def case(n, D, K, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, D))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    W = 6.0 * rng.normal(size=(K, D))
    return x.astype(dtype), W.astype(dtype), rng.normal(size=K).astype(dtype), rng


@pytest.fixture
def native(core):
    core.set_blas(*blas.capsules())
    with blas.one_thread():
        yield core


SIZES = [(1, 1, 1, 1), (127, 5, 3, 1), (700, 33, 9, 4), (20_000, 7, 40, 8), (2100, 64, 70, 70)]


@pytest.mark.parametrize(
    ("sizes", "quadratic", "chosen", "weighted", "dtype"),
    pairs(SIZES, ["none", "squares", "norm"], [False, True], [False, True], [np.float32, np.float64]),
)
def test_moments_of_one_visit_equal_their_twin(native, sizes, quadratic, chosen, weighted, dtype):
    n, D, K, L = sizes
    x, W, constant, rng = case(n, D, K, dtype)
    rows = rng.permutation(n)[: n - n // 3] if chosen else None
    picked = (x if rows is None else x[rows]).astype(np.float64)
    weight = rng.exponential(size=len(picked)) if weighted else None
    frame, centre, Q = (None, None), None, {"none": 0, "norm": 1, "squares": D}[quadratic]
    if quadratic != "none":
        frame, centre = (rng.normal(size=D), rng.uniform(0.5, 2.0, D)), rng.normal(size=(K, D)).astype(dtype)
        picked = ((picked - frame[0]) * frame[1]).astype(dtype).astype(np.float64)
        W = np.concatenate([-rng.uniform(0.1, 1.0, (K, Q)).astype(dtype), W], axis=1)
    least, found = 1e-4, []
    for threads in (1, 3):
        out = np.ones(K), np.ones((K, D)), np.ones((K, Q))  # added to, not set
        model = (*frame, W, constant, quadratic, True, centre)
        H = native.visit_rows(x, rows, *model, weight, L, least, threads, *out)
        found.append((*out, H))
    assert all(np.array_equal(a, b) for a, b in zip(*found))
    w = np.ones(len(picked)) if weight is None else weight
    want = twin.visit(picked, W, constant, quadratic, True, w, L, least)
    large = 1.0 + np.square(picked).sum(axis=1).max()  # of a moment
    close = w.sum() * large * (2e-5 if dtype is np.float32 else 1e-11) + 2 * least * w.max() * large
    for a, b in zip(found[0][:3], want[:3], strict=True):
        np.testing.assert_allclose(a, 1 + b, atol=close)
    assert pytest.approx(want[3], abs=close) == found[0][3]


def test_a_tight_cluster_far_away_keeps_its_digits(native):
    """In float32 the squares of 1000 +- 0.01 have no digits left for the 0.01."""
    rng = np.random.default_rng(3)
    x = (1000 + 0.01 * rng.normal(size=(3000, 3))).astype(np.float32)
    none, frame = np.zeros((1, 6), np.float32), (np.zeros(3), np.ones(3))
    N, first, second, centre = np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3)), np.full((1, 3), 1000, np.float32)
    native.visit_rows(x, None, *frame, none, none[0, :1], "squares", True, centre, None, 1, 0.0, 1, N, first, second)
    m = first[0] / N[0]
    np.testing.assert_allclose(second[0] / N[0] - m**2, x.astype(float).var(axis=0), rtol=1e-4)


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_one_visit_and_two_give_the_same_moments(monkeypatch, kind):
    """assign and summarise against visit, in an estimator's own frame and tables."""
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(c, 0.3 + 0.2 * c, (400, 6)) for c in range(4)]).astype(np.float32)
    model = GaussianMixture(5, covariance_type=kind, random_state=0, max_iter=3).fit(X)._fitted.model
    shard, step = VectorShard(X, rng.permutation(1600)[:1500], rng.exponential(size=1500)), MixtureStep(Gaussian, 3)
    tables = model.tables(shard.cols)
    one = step(shard, tables, None, _core.TopicScratch()).stats
    monkeypatch.setattr(gaussian, "FEW_SUMS", 0)
    two = step(shard, tables, None, _core.TopicScratch()).stats
    for a, b in ((one.N, two.N), (one.S.N, two.S.N), (one.S.first, two.S.first), (one.S.second, two.S.second)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-3)
    assert pytest.approx(two.H, rel=1e-5) == one.H
    assert one.n_rows == two.n_rows


def test_rows_in_place_and_copied_rows_give_the_same_bits():
    x, W, constant, rng = case(3000, 20, 6, np.float32)
    rows = np.sort(rng.permutation(3000)[:1800])
    tables, none = DirectionTables(W, constant.astype(np.float64)), np.zeros(6)
    shards = VectorShard(x, rows), VectorShard(x[rows], slice(None)), VectorShard(np.asfortranarray(x), rows)
    assert [shard.in_place(np.float32)[1] is None for shard in shards] == [False, True, True]
    assert shards[0].in_place(np.float32)[0] is x
    (S, N, H), *others = (VonMisesFisher.visit(shard, tables, none, 3) for shard in shards)
    for T, M, G in others:
        assert np.array_equal(S.resultant, T.resultant)
        assert np.array_equal(N, M)
        assert H == G


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_and_many_clusters_say_the_same(monkeypatch, dtype):
    x, W, constant, rng = case(2500, 40, 30, dtype)
    shard = VectorShard(x, slice(None), rng.exponential(size=2500))
    tables, log_weights = DirectionTables(W, constant.astype(np.float64)), rng.normal(size=30)
    with use_threads(2):
        few = VonMisesFisher.visit(shard, tables, log_weights, 5)
        monkeypatch.setattr(code, "FEW_SUMS", 0)
        many = VonMisesFisher.visit(shard, tables, log_weights, 5)
    rtol = 1e-4 if dtype is np.float32 else 1e-10
    np.testing.assert_allclose(few[0].resultant, many[0].resultant, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(few[1], many[1], rtol=rtol)
    assert few[2] == pytest.approx(many[2], rel=rtol)


def test_what_does_not_fit_together_is_refused(native):
    x, W, constant, _ = case(10, 4, 3, np.float32)
    good = {
        "x": x, "rows": None, "origin": None, "scale": None, "W": W, "constant": constant, "quadratic": "none",
        "linear": True, "centre": None, "weight": None, "L": 2, "least": 0.0, "threads": 1, "N": np.zeros(3),
        "first": np.zeros((3, 4)), "second": np.zeros((3, 0)),
    }  # fmt: skip
    bad = {
        "rows": np.array([0, 10]), "W": W[:, :3].copy(), "L": 4, "weight": np.ones(9), "N": np.zeros(2),
        "origin": np.zeros(4), "centre": W[:2].copy(), "second": np.zeros((3, 4)), "quadratic": "products",
    }  # fmt: skip
    says = r"W must|outside x|1 <= L|one weight|N must|origin and scale|centre must|second must|by add_moments"
    for name, value in bad.items():
        with pytest.raises(ValueError, match=says):
            native.visit_rows(**good | {name: value})
    squares = {"quadratic": "squares", "W": np.tile(W, 2), "second": np.zeros((3, 4))}
    with pytest.raises(ValueError, match="need a centre"):
        native.visit_rows(**good | squares)
    assert native.visit_rows(**good | {"rows": np.array([], np.int64)}) == 0.0
