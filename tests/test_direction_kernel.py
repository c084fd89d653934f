"""The kernel of directions: sums of rows by cluster equal those of its twin, for any rows, weights and threads."""

from __future__ import annotations

import numpy as np
import pytest

from topmix.data.vectors import VectorShard
from topmix.likelihoods import von_mises_fisher as code
from topmix.likelihoods.von_mises_fisher import DirectionTables, VonMisesFisher
from topmix.numerics import blas
from topmix.numerics.threads import use_threads
from topmix.reference import von_mises_fisher as twin


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "D", "K", "L"),
    [(1, 1, 1, 1), (127, 5, 3, 1), (700, 33, 9, 4), (5000, 7, 20, 8), (2100, 64, 70, 70)],
)
@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_equal_their_twin(native, n, D, K, L, chosen, weighted, dtype):
    x, W, constant, rng = case(n, D, K, dtype)
    rows = rng.permutation(n)[: n - n // 3] if chosen else None
    picked = x if rows is None else x[rows]
    weight = rng.exponential(size=len(picked)) if weighted else None
    least, found = 1e-4, []
    for threads in (1, 3):
        N, R = np.zeros(K), np.zeros((K, D))
        H = native.direction_step(x, rows, W, constant, weight, L, least, threads, N, R)
        found.append((N, R, H))
    assert all(np.array_equal(a, b) for a, b in zip(*found))
    w = np.ones(len(picked)) if weight is None else weight
    want_N, want_R, want_H = twin.visit(picked, W, constant, w, L, least)
    close = w.sum() * (2e-5 if dtype is np.float32 else 1e-11) + 2 * least * w.max()  # on the other side of `least`
    np.testing.assert_allclose(N, want_N, atol=close)
    np.testing.assert_allclose(R, want_R, atol=close)
    assert pytest.approx(want_H, abs=close) == H


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
        "x": x, "rows": None, "W": W, "constant": constant, "weight": None, "L": 2, "least": 0.0, "threads": 1,
        "N": np.zeros(3), "resultant": np.zeros((3, 4)),
    }  # fmt: skip
    bad = {"rows": np.array([0, 10]), "W": W[:, :3].copy(), "L": 4, "weight": np.ones(9), "N": np.zeros(2)}
    for name, value in bad.items():
        with pytest.raises(ValueError, match=r"W must|outside x|1 <= L|one weight|N must"):
            native.direction_step(**good | {name: value})
    assert native.direction_step(**good | {"rows": np.array([], np.int64)}) == 0.0
