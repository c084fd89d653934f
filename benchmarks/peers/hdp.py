"""The HDP beside tomotopy's and gensim's with the same seconds, and beside LDA over a grid of K."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.jobs import Budget, Job, Write
from benchmarks.harness.methods import SETTINGS
from benchmarks.peers import scored

GROUP = "hdp"
SECONDS = 45.0  # of every method; some stop sooner
SEEDS = 2
START = 100  # topics that ours begins with
PEERS = {"tomotopy_hdp": 150, "gensim_hdp": 150}  # topics that they begin with, or may have
GRID = [25, 50, 100, 200, 400, 800, 1600]
WIDER = {"kos": [3200]}  # where 1,600 topics may not be enough
SETTINGS_OF_OURS: dict[str, dict[str, Any]] = {
    "HDP": {"estimator": "HDP", "max_iter": 400, "tol": 1e-3},
    "variational LDA": {"inference": "variational", "max_iter": 50, "tol": 1e-4},
    "collapsed LDA": {},
}


def jobs(small: bool) -> list[Job]:
    corpora, seconds, grid = (["generated"], 1.0, [10, 20]) if small else (["wiki", "nips", "kos"], SECONDS, GRID)
    found = []
    for corpus in corpora:
        found += [_job(corpus, START, scored.OURS, "HDP", seed, seconds, 5) for seed in range(SEEDS)]
        found += [_job(corpus, K, m, s, 0, seconds, 5) for m, K in PEERS.items() for s in SETTINGS[m]]
        for K in [*grid, *WIDER.get(corpus, [])]:
            rank = 5 if 50 <= K <= 800 else 6  # those at the edges show that they are edges
            for kind in ("variational LDA", "collapsed LDA"):
                found.append(_job(corpus, K, scored.OURS, kind, 0, seconds, rank))
    return found


def _job(corpus: str, K: int, method: str, setting: str, seed: int, seconds: float, rank: int) -> Job:
    about = {"corpus": corpus, "K": K, "method": method, "setting": setting, "seed": seed, "seconds": seconds}
    expected = seconds if "LDA" not in setting else min(seconds, 5 + K / 25)
    return Job(GROUP, "run", about, expected + 6 + 0.01 * K, rank, scored.THREADS)


def run(
    write: Write, budget: Budget, corpus: str, K: int, method: str, setting: str, seed: int, seconds: float
) -> None:  # fmt: skip
    settings = SETTINGS_OF_OURS.get(setting)
    if setting == "collapsed LDA":
        settings = scored.default_fit()
    scored.run(write, budget, corpus, K, method, setting, seed, seconds, settings)
