"""What do bandwidth and delay between hosts cost, and how many bytes does each host send?

    python -m benchmarks.hosts [--corpus arxiv_100k] [--documents 20000] [--K 400] [--hosts 2] [--quick]

Hosts with a network between them, on this machine (tools/hosts.py; needs root). A worker with one core on each, and the
driver on the first. The same fit, memoized in rounds and with travelling topics, over lines of different shapes. First
passes, which start documents from their words alone, do not count. Memoized fits must have the bits of threads, which
are measured once, at the beginning.

On a machine with fewer cores than hosts, and with other programs, seconds by the clock say little: processor seconds
of all processes of all hosts (Ray's own among them, the switch's not) and bytes on the lines, headers included, stand
beside, and what the same processes take after the fit, while they wait. The prediction is that of benchmarks.scaling
for rounds: what an unshaped pass takes, and the bytes of tables and sums through the driver's line, without those of
the worker that is on its host. It knows no delay.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import IO, Any

import numpy as np

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from tools.hosts import Hosts
from topmix.data import Corpus
from topmix.engines.ray_engine import Ray
from topmix.learners import Memoized

SHAPES: tuple[tuple[float, float, float], ...] = (
    (0.0, 0.0, 0.0),
    (10.0, 10_000.0, 0.0),
    (10.0, 1000.0, 0.0),
    (10.0, 1000.0, 0.001),
    (1.0, 100.0, 0.0),
)
STORE = 2**30  # bytes of a node: statistics of batches, and their copies
REST_SECONDS = 8.0  # after a fit, to see what a cluster takes that does nothing
FIRST = 2  # passes that do not count
SENT = ("sent", "received")  # through the driver


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics, on one line")
    arguments.add_corpus(p, "arxiv_100k", role=None)
    p.add_argument("--documents", type=int, default=20_000)
    p.add_argument("--K", type=int, default=400)
    p.add_argument("--hosts", type=int, default=2)
    p.add_argument("--passes", type=int, default=5)
    p.add_argument("--batches", type=int, default=16, help="in a pass")
    p.add_argument("--rounds", type=int, default=4, help="batches per update")
    p.add_argument("--lines", type=int, nargs="+", default=[*range(len(SHAPES))], help="which of the shapes, from 0")
    p.add_argument("--kinds", nargs="+", choices=("memoized", "travelling"), default=["memoized", "travelling"])
    p.add_argument("--inside", action="store_true", help="on the first host: answers lines of JSON")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.passes = datasets.GENERATED, 10, 4
    if a.inside:
        return inside(a)
    given = [word for word in (argv if argv is not None else sys.argv[1:]) if word != "--inside"]
    data, out = datasets.load(a.corpus), Results(a.out, "hosts")
    with Hosts(a.hosts, store=STORE) as hosts:
        os.environ["RAY_ADDRESS"] = hosts.start_ray()
        command = [sys.executable, "-m", "benchmarks.hosts", *given, "--inside"]
        program = hosts.start(0, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for kind in a.kinds:
            free: float | None = None  # seconds of an unshaped pass
            for ms, mbit, loss in [SHAPES[i] for i in ([0] if a.quick else a.lines)]:
                hosts.shape(ms, mbit, loss)
                time.sleep(0.2)
                found = measured(hosts, program, kind)
                free = found["seconds"] if not ms and not mbit else free
                remote = found["through_driver"] * (a.hosts - 1) / a.hosts  # a worker is on the driver's host
                predicted = "" if free is None else f"{free + (remote / (mbit * 125e3) if mbit else 0.0):.2f}"
                print(
                    f"{kind}, {ms:g} ms, {mbit:g} Mbit/s, loss {loss:g}: {found['seconds']:.2f} s a pass (predicted "
                    f"{predicted or '-'}), {found['processor']:.2f} processor seconds; {a.hosts} threads of one "
                    f"process: {found['threads']:.2f} and {found['threads_processor']:.2f}; MB on the lines of hosts: "
                    f"{', '.join(f'{b / 1e6:.1f}' for b in found['line_bytes'])}",
                    flush=True,
                )
                settings = {name: getattr(a, name) for name in ("K", "hosts", "passes", "batches", "rounds")}
                line = {"kind": kind, "ms": ms, "mbit": mbit, "loss": loss, "documents": a.documents}
                out.add(found, settings | line | {"load": os.getloadavg()[0]}, data)
    return 0


def measured(hosts: Hosts, program: subprocess.Popen[str], kind: str) -> dict[str, Any]:
    """A fit, as the outside sees it between the passes that count."""
    assert program.stdin is not None
    assert program.stdout is not None
    print(kind, file=program.stdin, flush=True)
    marks = []
    for line in program.stdout:
        if line.startswith("{"):
            break
        numbers = range(hosts.n)
        marks.append((_used(hosts), np.array([sum(hosts.sent(i)) for i in numbers])))
    else:
        raise RuntimeError("the program on the first host has ended")
    found: dict[str, Any] = json.loads(line)
    at_rest = sum(_used(hosts).values())
    time.sleep(REST_SECONDS)
    found["idle"] = (sum(_used(hosts).values()) - at_rest) / REST_SECONDS
    (used, before), (later, after) = marks[FIRST - 1], marks[-1]
    passes = len(marks) - FIRST
    by_name = {name: round((later[name] - used[name]) / passes, 3) for name in later if later[name] > used[name]}
    return found | {
        "processor": sum(by_name.values()),
        "processor_of": by_name,
        "line_bytes": ((after - before) / passes).tolist(),
    }


def _used(hosts: Hosts) -> Counter[str]:
    """Processor seconds of all hosts, by the names of processes."""
    used = Counter[str]()
    for i in range(hosts.n):
        for name, seconds in hosts.seconds_by_name(i).items():
            used["driver" if name.startswith("python") else name] += seconds
    return used


def inside(a: Any, lines: IO[str] = sys.stdin) -> int:
    """One fit for each line, which says the kind; a line after each pass, and JSON at the end."""
    corpus = Corpus.from_scipy(datasets.load(a.corpus).train[: a.documents])
    learner = Memoized(batch_size=-(-len(corpus) // a.batches), batches_per_update=a.rounds)
    how = {"max_iter": ours.with_sweeps(a.passes), "tol": -float("inf"), "random_state": 0}
    alone: dict[str, tuple[Any, float, float]] = {}  # kind -> fit in one process, seconds, processor seconds
    for line in lines:
        is_memoized = line.strip() == "memoized"
        given: dict[str, Any] = (
            {"learner": learner} if is_memoized else {"learner": "asynchronous", "inference": "variational"}
        )
        if line not in alone:
            used: list[float] = []
            one = ours.lda(
                a.K, **how, **given, n_jobs=a.hosts, callbacks=[lambda *_, used=used: used.append(time.process_time())]
            ).fit(corpus)
            alone[line] = one, _per_pass([record.seconds for record in one.history_]), _per_pass(used)
        one, threads, threads_processor = alone[line]
        there = ours.lda(
            a.K, **how, **given, engine=Ray(workers=a.hosts), callbacks=[lambda *_: print("pass", flush=True)]
        ).fit(corpus)
        if is_memoized and not np.array_equal(there.components_, one.components_):
            raise AssertionError("the hosts learned other bits than threads")
        last = there.history_[-1].workers
        found = {
            "seconds": _per_pass([record.seconds for record in there.history_]),
            "threads": threads,
            "threads_processor": threads_processor,
            "passes": len(there.history_),
            "through_driver": sum(last.get(name, 0.0) for name in SENT),
            **{name: last.get(name, 0.0) for name in (*SENT, "added", "copied")},
        }
        print(json.dumps(found), flush=True)
    return 0


def _per_pass(at: list[float]) -> float:
    return float(np.median(np.diff(at)[FIRST - 1 :]))


if __name__ == "__main__":
    arguments.command(main)
