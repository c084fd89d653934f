"""tomotopy's Gibbs samplers: LDAModel, and HDPModel, which finds its own number of topics."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.methods.method import ETA, Report, Topics
from benchmarks.harness.stopwatch import Stopwatch


def lda(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, ours: bool = True,
    optim_interval: int | None = None,
) -> None:  # fmt: skip
    """With our priors or its own; it learns alpha every optim_interval sweeps, 0 is never."""
    priors = {"alpha": 0.5 / K, "eta": ETA} if ours else {}
    with watch.pause():
        import tomotopy as tp

        model = tp.LDAModel(k=K, seed=seed, **priors)
        add_documents(model, X)
    if optim_interval is not None:
        model.optim_interval = optim_interval
    train(model, X, threads, watch, report, lambda: range(K))


def hdp(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, alpha: float = 0.1,
    gamma: float = 0.1, eta: float = 0.1, optim_interval: int = 10,
) -> None:  # fmt: skip
    """Starts from K topics. Those that have no table any more are left out of what is scored."""
    with watch.pause():
        import tomotopy as tp

        model = tp.HDPModel(initial_k=K, alpha=alpha, gamma=gamma, eta=eta, seed=seed)
        model.optim_interval = optim_interval
        add_documents(model, X)

    def live() -> list[int]:
        return [k for k in range(model.k) if model.is_live_topic(k)]

    train(model, X, threads, watch, report, live, lambda: {"n_components": float(model.live_k)})


def seconds_per_sweep(X: sp.csr_array, K: int, threads: int, sweeps: int) -> float:
    """The median of the second half of so many sweeps, with our priors."""
    import tomotopy as tp

    warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
    model = tp.LDAModel(k=K, seed=1, alpha=0.5 / K, eta=ETA)
    add_documents(model, X)
    model.train(sweeps // 2, workers=threads)
    seconds = []
    for _ in range(sweeps - sweeps // 2):
        begin = time.perf_counter()
        model.train(1, workers=threads)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds))


def add_documents(model: Any, X: sp.csr_array) -> None:
    names = np.array([str(v) for v in range(X.shape[1])], dtype=object)
    for d in range(X.shape[0]):
        row = slice(X.indptr[d], X.indptr[d + 1])
        model.add_doc(names[np.repeat(X.indices[row], X.data[row].astype(int))].tolist())


def train(
    model: Any, X: sp.csr_array, threads: int, watch: Stopwatch, report: Report, live: Callable[[], Sequence[int]],
    facts: Callable[[], dict[str, float]] = dict,
) -> None:  # fmt: skip
    """Sweeps until `report` says that the time is up. `live` are the topics that count."""
    # That threads make it unrepeatable is known, and each call of train() says so.
    warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
    model.train(0, workers=threads)  # initialisation
    used = np.array([int(w) for w in model.used_vocabs])

    def topics() -> Topics:
        ks = list(live())
        tokens = np.asarray(model.get_count_by_topics(), dtype=np.float64)[ks]
        phi = np.full((len(ks), X.shape[1]), model.eta)
        dist = np.array([model.get_topic_word_dist(k) for k in ks], dtype=np.float64)
        phi[:, used] = dist * (tokens + len(used) * model.eta)[:, None]  # words of no training document keep eta
        alpha = np.asarray(model.alpha, dtype=np.float64)
        # An HDP has one concentration, which its documents share out as topics are large.
        return Topics(phi, tokens, alpha[ks] if alpha.ndim else alpha * (tokens + 1e-3) / (tokens + 1e-3).sum())

    step, sweeps = 1, 0
    while True:
        begin = watch.seconds
        model.train(step, workers=threads)
        sweeps += step
        # Steps of about a quarter second: often enough to stop in time, seldom enough to cost nothing.
        step = max(1, min(100, int(0.25 / max(1e-3, (watch.seconds - begin) / step))))
        if report(topics, sweeps, **facts()):
            return
