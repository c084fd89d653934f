"""Does a fit on a cluster end with the same bits, whatever happens to the cluster?

    python -m benchmarks.ray_faults [--times 20] [--faults worker node driver store strangers] [--quick]

A cluster of three nodes on this machine; LDA with memoized rounds of three batches. At a random moment of the fit one
thing happens: a worker is killed (SIGKILL), a node is removed, the driver is killed (and another one continues from the
checkpoint), the object store is filled, a worker stops answering, or strangers send nonsense to every port of the
cluster from the beginning to the end. The topics and the objective of every pass are
compared with those of engine="threads", bit for bit. What the log "topmix.ray" said is counted.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.cluster import (
    FilledStore,
    RemovedNode,
    Strangers,
    in_the_middle,
    kill_one,
    three_nodes,
)
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from topmix.data import Corpus, sample_lda
from topmix.engines.ray_engine import Ray
from topmix.learners import Memoized

PASSES, BATCHES = 5, 12
LEARNER = Memoized(batch_size=30, batches_per_update=3)
FAULTS = ("worker", "node", "driver", "store", "strangers")


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="each fault once")
    p.add_argument("--times", type=int, default=20)
    p.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS))
    a = p.parse_args(argv)
    times = 1 if a.quick else a.times
    out, rng, failed = Results(a.out, "ray_faults"), np.random.default_rng(0), 0
    with tempfile.TemporaryDirectory() as folder, three_nodes() as cluster:
        path = Path(folder) / "corpus.topmix"
        sample_lda(360, 300, 6, doc_length=60, random_state=0).corpus.save(path)
        corpus, said = Corpus.open(path), Said()
        want = fit(corpus, "threads")
        for fault in a.faults:
            same, seconds, lines = 0, [], []
            for i in range(times):
                at, begin = int(rng.integers(2, PASSES * BATCHES)), time.perf_counter()
                said.lines.clear()
                try:
                    got = (
                        driver_killed(cluster, path, i) if fault == "driver" else disturbed(cluster, corpus, fault, at)
                    )
                    same += equal(got, want)
                except Exception as error:  # the script counts what failed and goes on
                    print(f"  {fault}, visit {at}: {type(error).__name__}: {error}", file=sys.stderr)
                seconds.append(time.perf_counter() - begin)
                lines.append(len(said.lines))
            failed += times - same
            print(
                f"{fault:>8}: {same} of {times} fits ended with the same bits; {np.mean(seconds):.1f} s each, "
                f"{np.mean(lines):.1f} lines in the log",
                flush=True,
            )
            result = {"same_bits": same, "times": times, "seconds": seconds, "log_lines": lines}
            out.add(result, {"fault": fault, "passes": PASSES, "batches": BATCHES, "rounds": 3, "workers": 3})
    return min(failed, 1)


def disturbed(cluster: Any, corpus: Corpus, fault: str, at: int) -> Any:
    if fault == "strangers":
        with Strangers():
            return fit(corpus, Ray(workers=3))
    acts = {"node": lambda: RemovedNode(cluster), "store": FilledStore}
    act: Any = acts[fault]() if fault in acts else kill_one
    try:
        with in_the_middle(act, at):
            return fit(corpus, Ray(workers=3))
    finally:
        if hasattr(act, "mend"):
            act.mend()
        if fault == "node":  # its worker went to another node: the next fit begins with one on each
            Ray(workers=3).release()


def driver_killed(cluster: Any, path: Path, number: int) -> Any:
    """Another program begins the fit and is killed some time after its first checkpoint; this one ends it."""
    checkpoint = path.with_name(f"checkpoint-{number}")
    program = f"""
        from benchmarks.ray_faults import Corpus, Ray, fit
        fit(Corpus.open({str(path)!r}), Ray(address={cluster.address!r}, workers=2),
            checkpoint={str(checkpoint)!r}, callbacks=[lambda record, view: print(record.n_pass, flush=True)])
    """
    driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    for line in driver.stdout:
        if int(line) == 2 + number % 3:  # the checkpoint of the pass before is written
            time.sleep(0.01 * (number % 5))
            break
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    return fit(Corpus.open(path), Ray(workers=3), checkpoint=checkpoint)


def fit(corpus: Corpus, engine: Any, checkpoint: Any = None, callbacks: Any = None) -> Any:
    model = ours.lda(
        12, learner=LEARNER, max_iter=PASSES, tol=-float("inf"), random_state=0, engine=engine, callbacks=callbacks
    )
    return model.fit(corpus, checkpoint=checkpoint)


def equal(got: Any, want: Any) -> bool:
    objectives = [[record.objective for record in model.history_] for model in (got, want)]
    return bool(np.array_equal(got.components_, want.components_)) and objectives[0] == objectives[1]


class Said(logging.Handler):
    """What the log said."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        logging.getLogger("topmix.ray").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


if __name__ == "__main__":
    arguments.command(main)
