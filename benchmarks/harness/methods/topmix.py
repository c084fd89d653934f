"""topmix: LDA or HDP as a method that trains and reports, and the Gaussian mixture pass by pass."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.curve import NEVER, Curve
from benchmarks.harness.methods.method import Report, TimeIsUp
from benchmarks.harness.stopwatch import Clock, Stopwatch
from benchmarks.harness.vectors import Vectors, held_out


def topics(X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, **settings: Any) -> None:
    """LDA, or the `estimator` of that name, with these settings (ours.py).

    Reports after each pass. Stochastic learning reports after each batch, because its passes are long; `within_passes`
    asks for that, or for its opposite, of any learner. Without max_iter and tol a fit ends with its budget.
    """
    with watch.pause():
        from benchmarks.harness.engines import ReportingThreads
        from benchmarks.harness.methods import ours

        n_tokens = float(X.sum())
    construct = ours.ESTIMATORS[settings.pop("estimator", "LDA")]
    within = settings.pop("within_passes", settings.get("learner") == "stochastic")

    def after_pass(record: Any, view: Any) -> bool:
        facts = {"objective": record.objective / n_tokens, "n_components": record.n_components, **record.effort}
        return report(lambda: ours.topics_of(view.fitted()), record.n_pass, **facts)

    def after_batch(now: Any, n_pass: float) -> None:
        if report(lambda: ours.topics_of(ours.fitted_with(model, now)), n_pass):
            raise TimeIsUp

    endless = {"max_iter": 1_000_000, "tol": -np.inf}
    settings = {"n_jobs": threads, "random_state": seed, "callbacks": [after_pass]} | endless | settings
    model = construct(K, **settings)
    if within:
        model.set_params(engine=ReportingThreads(after_batch))
    with suppress(TimeIsUp):
        model.fit(X)


def gaussian_mixture(
    data: Vectors, K: int, passes: int, clock: Clock = time.perf_counter, seconds: float = NEVER, **settings: Any
) -> Curve:  # fmt: skip
    """Held-out scores of test and validation rows after each pass; initialisation is in the seconds of the first."""
    from benchmarks.harness.methods import ours

    curve = Curve("topmix")

    def after_pass(record: Any, view: Any) -> bool:
        with watch.pause():
            found = ours.gaussians_of(view.fitted())
            score, validation = (held_out(X, *found) for X in (data.test, data.validation))
            curve.add(watch.seconds, score, record.n_pass, validation=validation)
        return watch.seconds >= seconds

    common = {"max_iter": passes, "tol": -np.inf, "random_state": 0, "callbacks": [after_pass]}
    model = ours.gaussian_mixture(K, **common | settings)
    watch = Stopwatch(clock)
    model.fit(data.train)
    return curve
