"""Do asynchronous runs survive random threads, interrupts and snapshots: no hang, no crash, no row lost or doubled?

    python -m benchmarks.asynchronous_stress --runs 1000

Every other run is of topics, the others are of Gaussian mixtures. Each has 1 to 8 workers, some topics kept per entry
or clusters per row, and a few legs: the workers are started, some snapshots are read, and the workers are stopped after
a moment, by a call or, in the main thread's wait, by a real SIGINT. After every leg ownership is checked: each block
is there once, holds what the workers say, and the tokens, or rows, are all there to 1e-9.
"""

from __future__ import annotations

import faulthandler
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.internals import asynchronous_mixture, first_model
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from topmix.data import sample_lda
from topmix.learn.asynchronous_topics import AsynchronousTopics, Travel

LONGEST = 60.0  # seconds without an end are a hang


@dataclass
class Run:
    """Workers, and what has to be true of their state at any time."""

    native: Any  # the workers
    check: Callable[[Any], None]  # raises AssertionError if a snapshot is impossible
    meanwhile: Callable[[], None]  # something that is done between two legs


def topics(rng: np.random.Generator, seed: int) -> Run:
    K, workers = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    corpus = sample_lda(int(rng.integers(1, 120)), int(rng.integers(2, 90)), 3, doc_length=20, random_state=seed).corpus
    start = first_model(ours.lda(K, inference="variational"), corpus, rng)
    plan = Travel(int(rng.integers(1, K + 1)), str(rng.choice(["best", "mean"])), int(rng.integers(3)), 0, seed)
    native = AsynchronousTopics(corpus, start, workers, plan, max_iter=1).native
    tokens = float(corpus.n_tokens)

    def check(snapshot: tuple[np.ndarray, float, float, np.ndarray]) -> None:
        S, *numbers, rise = snapshot
        if not abs(S.sum() - tokens) <= 1e-9 * tokens or not np.all(np.isfinite([*numbers, *rise])):
            raise AssertionError(f"run {seed}: {S.sum()} of {tokens} tokens, {numbers}")

    def other_priors() -> None:
        native.priors(np.full(K, rng.uniform(0.01, 1.0)), np.full((1, 1), rng.uniform(0.01, 1.0)))

    return Run(native, check, other_priors)


def mixture(rng: np.random.Generator, seed: int) -> Run:
    K, workers, n, D = (int(rng.integers(a, b)) for a, b in ((1, 24), (1, 9), (1, 300), (1, 6)))
    X = rng.normal(size=(n, D)) + 4 * rng.integers(3, size=(n, 1))
    weight = rng.uniform(0.5, 2.0, n) if rng.random() < 0.3 else None
    estimator = ours.gaussian_mixture(
        K, covariance_type=str(rng.choice(["full", "diag", "spherical"])), random_state=seed
    )
    L, threads, rows = (int(rng.integers(1, b)) for b in (K + 1, 4, 200))
    fit = asynchronous_mixture(estimator, X, weight, L, workers, threads * workers, rows, rng, seed)

    def check(snapshot: tuple[np.ndarray, float]) -> None:
        numbers, H = snapshot  # of a cluster: its rows first
        found = numbers[:, 0].sum()
        if (
            not abs(found - fit.task.n_rows) <= 1e-9 * fit.task.n_rows
            or not np.all(np.isfinite(numbers))
            or not np.isfinite(H)
        ):
            raise AssertionError(f"run {seed}: {found} of {fit.task.n_rows} rows")

    return Run(fit.native, check, lambda: None)


def one(seed: int) -> tuple[int, int, int]:
    """Makes a run; returns (visits, snapshots, interrupts)."""
    rng = np.random.default_rng(seed)
    run = (mixture if seed % 2 else topics)(rng, seed)
    snapshots, interrupts = 0, 0
    for _ in range(int(rng.integers(1, 5))):
        run.native.start(10**6)
        wanted = int(rng.integers(4))
        timer = None
        if rng.random() < 0.5:  # Ctrl-C while the main thread waits or looks
            wanted = 10**6
            timer = threading.Timer(rng.uniform(0.0, 0.02), signal.raise_signal, [signal.SIGINT])
        try:
            if timer is not None:
                timer.start()  # here: it may be over before this returns
            for _ in range(wanted):
                run.check(run.native.next())
                snapshots += 1
        except KeyboardInterrupt:
            interrupts += 1
        if timer is not None:
            timer.join()
        if rng.random() < 0.3:
            time.sleep(rng.uniform(0, 0.003))
        if rng.random() < 0.2:
            run.meanwhile()
        run.native.stop()
        run.native.audit()
        run.check(run.native.now())
    visits = run.native.visits
    if rng.random() < 0.5:
        run.native.start(10**6)  # and it is destroyed while its workers run
    return visits, snapshots, interrupts


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__)
    p.add_argument("--runs", type=int, default=1000)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args(argv)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it
    sums = np.zeros(3, np.int64)
    for n in range(a.runs):
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        sums += one(a.seed + n)
        faulthandler.cancel_dump_traceback_later()
    visits, snapshots, interrupts = sums.tolist()
    print(f"{a.runs} runs, {visits:,} visits to blocks, {snapshots:,} snapshots, {interrupts} interrupts: all well")
    found = {"visits": visits, "snapshots": snapshots, "interrupts": interrupts}
    Results(a.out, "asynchronous_stress").add(found, {"runs": a.runs, "seed": a.seed})
    return 0


if __name__ == "__main__":
    arguments.command(main)
