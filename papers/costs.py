"""What parts of a pass cost: Figs. 1 and 3a of sparse posteriors.

Fig. 1 calls kernels of topmix directly, with one part of the work at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import datasets
from benchmarks.harness.engines import TimedThreads
from benchmarks.harness.methods import ours
from benchmarks.harness.methods.method import ETA
from benchmarks.harness.stopwatch import PassTimes, best_of
from topmix import _core, presets
from topmix.base.threads import use_threads
from topmix.corpus.shard import VectorShard
from topmix.learners import Memoized
from topmix.models.frame import Shape, moments
from topmix.models.gaussian import Gaussian

SETTINGS: dict[str, Any] = {"zero_mean": True, "random_state": 0, "tol": -np.inf}
ALL = 10**9  # L for all clusters
Points = list[tuple[float, float]]


def label(L: int, K: int) -> str:
    return "L = K" if L >= K else f"L = {L}"


def processor_seconds(work: Callable[[], Any], repeat: int = 3) -> float:
    return best_of(repeat, work, time.process_time)


def parts_of_two_passes(X: np.ndarray, K: int) -> dict[str, dict[str, float]]:
    model = ours.gaussian_mixture(K, max_iter=1, weight_concentration_prior=10 / K, **SETTINGS).fit(X[:20_000]).model_
    out = {}
    for L in (1, 4, 8, 16, K):
        spent, total = {"scores and top L": 0.0, "summary": 0.0, "update": 0.0}, model.no_stats()
        tables = model.tables(np.zeros(0))
        with use_threads(2):
            for piece in VectorShard(X, slice(0, len(X))).pieces(8192):
                start = time.process_time()
                a = Gaussian.assign(piece, tables.likelihood, tables.log_weights, L)
                middle = time.process_time()
                S = Gaussian.summarise(piece, a, K)
                spent["scores and top L"] += 2 * (middle - start)
                spent["summary"] += 2 * (time.process_time() - middle)
                total.S += S
                total.N += S.N
        spent["update"] = 2 * processor_seconds(lambda total=total: model.update(total).tables(np.zeros(0)), 1)
        out[label(L, K)] = spent
    return out


def responsibilities(n: int, Ks: list[int]) -> dict[str, Points]:
    rng = np.random.default_rng(0)
    out: dict[str, Points] = {}
    for K in Ks:
        s = 30 * rng.standard_normal((n, K), np.float32)
        for L in (1, 4, 16, ALL):
            m = min(L, K)
            to = np.empty((n, m), np.int32), np.empty((n, m), np.float32)
            spent = processor_seconds(lambda s=s, m=m, to=to: _core.top_l_rows(s, m, *to, True, np.empty(n)))
            out.setdefault(label(L, max(Ks)), []).append((K, spent))
    return out


def statistics(X: np.ndarray, Ks: list[int]) -> dict[str, Points]:
    rng, (n, D) = np.random.default_rng(0), X.shape
    out: dict[str, Points] = {}
    for K in Ks:
        for L in (1, 4, 16, ALL):
            m = min(L, K)
            if m > 200:  # takes minutes, and the line is straight
                continue
            cluster = np.sort((rng.integers(K, size=(n, 1)) + K // m * np.arange(m)) % K, axis=1).astype(np.int32)
            r, centre = np.full((n, m), 1 / m, np.float32), np.zeros((K, D), np.float32)
            args = (X, cluster, r, None, centre, Shape("full", D))
            with use_threads(1):
                spent = processor_seconds(lambda args=args: moments(*args), 1)
            out.setdefault(label(L, max(Ks)), []).append((K, spent))
    return out


def distances(X: np.ndarray, test: np.ndarray, K: int) -> dict[str, np.ndarray]:
    """Half the L1 distance between dense and L-sparse responsibilities: what falls outside the L best."""
    model = ours.gaussian_mixture(K, max_iter=5, n_active=None, weight_concentration_prior=10 / K, **SETTINGS).fit(X)
    r = np.sort(np.asarray(model.predict_proba(test)), axis=1)[:, ::-1]
    return {f"L = {L}": np.sort(1 - r[:, :L].sum(axis=1)).clip(1e-6, None) for L in (1, 2, 4, 8, 16)}


def cost_of_pass(
    data: datasets.Dataset, K: int, L: int | None, passes: int, threads: int, selects_often: bool = False
) -> dict[str, float]:
    """Seconds per pass of memoized learning: tables, local step with its sums; the rest is the global step.

    Documents are solved as our variational LDA solves them, or as the paper does where `selects_often`.
    """
    dense: dict[str, Any] = {"n_active": None, "inference__min_topic_mass": 0.0}
    settings = dense if L is None else {"n_active": L}
    settings |= {
        "inference": "variational",
        "topic_word_prior": ETA,
        "inference__cold_visits": None,
        "max_iter": passes,
    }
    if selects_often:
        about = presets.sparse_lda(K, L)
        settings |= {"inference": about.inference, "doc_topic_prior": about.doc_topic_prior}
        settings = {name: value for name, value in settings.items() if "__" not in name}
    wall, engine = PassTimes(), TimedThreads()
    ours.lda(
        K, tol=-np.inf, n_jobs=threads, random_state=0, engine=engine, callbacks=[wall],
        learner=Memoized(-(-data.train.shape[0] // 10)), **settings,
    ).fit(data.train)  # fmt: skip
    times = engine.times
    rest = sum(wall.seconds(times.begin)) - times.tables - times.step
    return {part: s / passes for part, s in (("local", times.step), ("tables", times.tables), ("global", rest))}
