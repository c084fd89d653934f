"""Gaussian mixtures beside scikit-learn's, which has three ways to start; one fit each, no E-step beside its own."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import vectors
from benchmarks.harness.jobs import Budget, Job, Write
from benchmarks.harness.methods import ours, sklearn, topmix
from benchmarks.harness.vectors import Vectors
from benchmarks.peers.scored import OURS, THREADS
from topmix.learners import Memoized

GROUP = "mixtures"
STARTS = ("kmeans", "k-means++", "random_from_data")
SEEDS = 3  # of ours; scikit-learn has one
HELD_OUT = 10_000  # rows for testing, and as many for validation
DATA: dict[str, dict[str, Any]] = {  # with full covariances scikit-learn has time for 30 iterations or more
    "patches": {"rows": 50_000, "K": 200, "covariance_type": "full", "seconds": 420.0},
    "more patches": {"rows": 116_000, "K": 50, "covariance_type": "full", "seconds": 300.0},
    "covtype": {"rows": None, "K": 100, "covariance_type": "diag", "seconds": 60.0},
}
OUR_LIMIT = 30.0  # seconds


def jobs(small: bool) -> list[Job]:
    found = []
    for name in ["covtype"] if small else DATA:
        seconds = 1.0 if small else DATA[name]["seconds"]
        for start in STARTS:
            found.append(_job(name, "sklearn", start, 0, seconds, small))
        for setting, n in (("default", SEEDS), ("momentum", 1)):
            found += [_job(name, OURS, setting, seed, 1.0 if small else OUR_LIMIT, small) for seed in range(n)]
    return found


def _job(name: str, method: str, start: str, seed: int, seconds: float, small: bool) -> Job:
    about = {"name": name, "method": method, "start": start, "seed": seed, "seconds": seconds, "small": small}
    return Job(GROUP, "run", about, seconds + (30 if method == "sklearn" else 15), 2, THREADS)


def run(
    write: Write, budget: Budget, name: str, method: str, start: str, seed: int, seconds: float, small: bool
) -> None:  # fmt: skip
    about = DATA[name] | {"seconds": budget.at_most(seconds)}
    if small:
        about |= {"rows": 2000, "K": 10}
    data, K, kind, limit = data_of(name, about["rows"], small), about["K"], about["covariance_type"], about["seconds"]
    if method == "sklearn":
        curve = sklearn.gaussian_mixture(data, K, limit, kind, start, seed)
    else:
        settings = {"learner": Memoized(momentum=2)} if start == "momentum" else {}
        stop = {n: ours.gaussian_mixture(K).get_params()[n] for n in ("max_iter", "tol")}
        curve = topmix.gaussian_mixture(
            data,
            K,
            stop.pop("max_iter"),
            seconds=limit,
            covariance_type=kind,
            n_jobs=THREADS,
            random_state=seed,
            **stop,
            **settings,
        )
    settings = {"name": name, "method": method, "setting": start, "seed": seed, **about, "rows": len(data.train)}
    write({"curve": curve.to_dict()}, settings, data)


def data_of(name: str, rows: int | None, small: bool) -> Vectors:
    data = vectors.covtype() if name == "covtype" else vectors.patches(4)
    return data.some(rows, 500 if small else HELD_OUT)
