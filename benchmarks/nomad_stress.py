"""Short asynchronous runs with random threads, interrupts and snapshots: no hang, no crash, no row lost or doubled.

    python benchmarks/nomad_stress.py --runs 1000

Each run has 1 to 8 workers, some topics kept of each entry, and a few legs: the workers are started, some snapshots are
read, and they are stopped after a moment, by a call or, in the main thread's wait, by a real SIGINT. After every leg
the ledger is audited: each block is there once, holds what the workers say, and the tokens are all there to 1e-9.
"""

from __future__ import annotations

import argparse
import faulthandler
import signal
import threading
import time

import numpy as np

from topmix import LDA
from topmix.data import sample_lda
from topmix.learners.asynchronous import Course, Fleet

LONGEST = 60.0  # seconds without an end are a hang


def one(seed: int) -> tuple[int, int, int]:
    """Makes a run; returns (visits, snapshots, interrupts)."""
    rng = np.random.default_rng(seed)
    K, workers = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    corpus = sample_lda(int(rng.integers(1, 120)), int(rng.integers(2, 90)), 3, doc_length=20, random_state=seed).corpus
    start = LDA(K, posterior="variational")._start(corpus, rng, 1)
    course = Course(int(rng.integers(1, K + 1)), str(rng.choice(["best", "mean"])), int(rng.integers(3)), 0, seed)
    fleet = Fleet.of(corpus, start, workers, course)
    tokens, snapshots, interrupts = float(corpus.n_tokens), 0, 0

    def check(snapshot: tuple[np.ndarray, float, float, np.ndarray]) -> None:
        S, *numbers, rise = snapshot
        if not abs(S.sum() - tokens) <= 1e-9 * tokens or not np.all(np.isfinite([*numbers, *rise])):
            raise AssertionError(f"run {seed}: {S.sum()} of {tokens} tokens, {numbers}")

    for _ in range(int(rng.integers(1, 5))):
        fleet.native.start(10**6)
        wanted = int(rng.integers(4))
        timer = None
        if rng.random() < 0.5:  # Ctrl-C while the main thread waits or looks
            wanted = 10**6
            timer = threading.Timer(rng.uniform(0.0, 0.02), signal.raise_signal, [signal.SIGINT])
        try:
            if timer is not None:
                timer.start()  # here: it may be over before this returns
            for _ in range(wanted):
                check(fleet.native.next())
                snapshots += 1
        except KeyboardInterrupt:
            interrupts += 1
        if timer is not None:
            timer.join()
        if rng.random() < 0.3:
            time.sleep(rng.uniform(0, 0.003))
        if rng.random() < 0.2:
            fleet.native.priors(np.full(K, rng.uniform(0.01, 1.0)), np.full((1, 1), rng.uniform(0.01, 1.0)))
        fleet.native.stop()
        fleet.native.audit()
        check(fleet.native.now())
    visits = fleet.native.visits
    if rng.random() < 0.5:
        fleet.native.start(10**6)  # and it is destroyed at work
    return visits, snapshots, interrupts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sums = np.zeros(3, np.int64)
    for n in range(given.runs):
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        sums += one(given.seed + n)
        faulthandler.cancel_dump_traceback_later()
    visits, snapshots, interrupts = sums
    print(f"{given.runs} runs, {visits:,} visits to blocks, {snapshots:,} snapshots, {interrupts} interrupts: all well")


if __name__ == "__main__":
    main()
