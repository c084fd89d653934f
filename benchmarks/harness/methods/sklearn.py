"""scikit-learn's online LDA, and its Gaussian mixture."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.curve import Curve
from benchmarks.harness.methods.method import ETA, Report, TimeIsUp, Topics
from benchmarks.harness.stopwatch import Clock, Stopwatch
from benchmarks.harness.vectors import Vectors, held_out


def lda(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, n_jobs: int | None = None,
    ours: bool = True,
) -> None:  # fmt: skip
    """With our priors, or its own, 1 / K for both."""
    with watch.pause():
        from joblib import Parallel, delayed
        from sklearn.decomposition import LatentDirichletAllocation

        # Its worker processes are started, and import what they need, before the clock runs.
        Parallel(n_jobs=n_jobs or threads)(delayed(LatentDirichletAllocation)() for _ in range(4 * threads))
    alpha, eta = (0.5 / K, ETA) if ours else (1 / K, 1 / K)
    model = LatentDirichletAllocation(
        K, doc_topic_prior=alpha, topic_word_prior=eta, learning_method="online", total_samples=X.shape[0],
        n_jobs=n_jobs or threads, random_state=seed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    n = 4 * model.batch_size  # rows per call: each call starts its threads again
    seen = 0

    def topics() -> Topics:
        return Topics(model.components_, model.components_.sum(axis=1) - eta * X.shape[1], np.full(K, alpha))

    while True:
        order = rng.permutation(X.shape[0])
        for begin in range(0, X.shape[0], n):
            with watch.pause():
                some = X[order[begin : begin + n]].astype(np.float64)
            model.partial_fit(some)
            seen += some.shape[0]
            if report(topics, seen / X.shape[0]):
                return


def gaussian_mixture(
    data: Vectors, K: int, seconds: float, covariance_type: str, init_params: str = "kmeans", seed: int = 0,
    clock: Clock = time.perf_counter,
) -> Curve:  # fmt: skip
    """Held-out scores of test and validation rows after each iteration of EM, for some seconds; its start is counted.

    One fit, watched after each M-step: a new fit per iteration would pay for an E-step that users do not pay for.
    """
    from sklearn.mixture import GaussianMixture

    curve = Curve(f"scikit-learn, {init_params}")

    class Watched(GaussianMixture):
        def _m_step(self, *args: Any, **kwargs: Any) -> None:
            super()._m_step(*args, **kwargs)
            with watch.pause():
                found = self.weights_, self.means_, self.covariances_
                score, validation = (held_out(X, *found) for X in (data.test, data.validation))
                curve.add(watch.seconds, score, len(curve) + 1, validation=validation)
            if watch.seconds >= seconds:
                raise TimeIsUp

    model = Watched(
        n_components=K, covariance_type=covariance_type, max_iter=100_000, tol=0.0, init_params=init_params,
        random_state=seed,
    )  # fmt: skip
    watch = Stopwatch(clock)
    with suppress(TimeIsUp):
        model.fit(data.train)
    return curve
