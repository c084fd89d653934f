"""Does a fit on hosts end with the same bits, when one of them is killed or cut off from the network?

    python -m benchmarks.host_faults [--kill 20] [--cut 20] [--long 3] [--never 2] [--quick]

Three hosts with a network between them, on this machine (tools/hosts.py; needs root), and a worker on each. At a random
moment of a small fit (that of ray_faults) one thing happens to a host other than the program's:

    kill     all its processes end
    cut      nobody hears it for 5 seconds, and then again, while the fit still has passes to make
    long     the same for 60 seconds: Ray has given the host up when it is back
    never    nobody hears it until the fit has ended

The topics and the objective of every pass are compared with those of engine="threads", bit for bit. A row per fit says
which host it was and when, the seconds of the fit beside those of an undisturbed one, bytes between the program and
workers, and bytes that each host has sent, headers included. A host that Ray has given up is started again before the
next fit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import IO, Any

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.cluster import in_the_middle
from benchmarks.harness.results import Results
from benchmarks.ray_faults import BATCHES, PASSES, Said, equal, fit
from tools.hosts import Hosts
from topmix.data import sample_lda
from topmix.engines.ray_engine import Ray

HOSTS = 3
TIMES = {"kill": 20, "cut": 20, "long": 3, "never": 2}
SECONDS = {"kill": None, "cut": 5.0, "long": 60.0, "never": None}  # until a host that is cut off is back
MOVED = ("sent", "received", "added", "copied")


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="one host is killed, one cut off")
    for fault, n in TIMES.items():
        p.add_argument(f"--{fault}", type=int, default=n, help="fits to which this happens")
    p.add_argument("--ms", type=float, default=5.0)
    p.add_argument("--mbit", type=float, default=1000.0)
    p.add_argument("--loss", type=float, default=0.001)
    p.add_argument("--inside", action="store_true", help="on the first host: a fit for each line that it reads")
    a = p.parse_args(argv)
    if a.inside:
        return inside()
    times = {"kill": 1, "cut": 1} if a.quick else {fault: getattr(a, fault) for fault in TIMES}
    out, rng, failed = Results(a.out, "host_faults"), np.random.default_rng(0), 0
    with Hosts(HOSTS, a.ms, a.mbit, a.loss) as hosts:
        os.environ["RAY_ADDRESS"] = hosts.start_ray()
        command = [sys.executable, "-m", "benchmarks.host_faults", "--inside"]
        program = hosts.start(0, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        undisturbed = one_fit(hosts, program, "none", 0, 0)
        print(f"undisturbed: {undisturbed['seconds']:.1f} s, {said(undisturbed)}", flush=True)
        for fault, n in times.items():
            same, seconds = 0, []
            for _ in range(n):
                host, at = int(rng.integers(1, HOSTS)), int(rng.integers(2, (PASSES - 2) * BATCHES))
                found = one_fit(hosts, program, fault, host, at)
                same += found["same_bits"]
                seconds.append(found["seconds"])
                print(f"  {fault} host {host}, visit {at}: {seconds[-1]:.1f} s, {said(found)}", flush=True)
                line = {"ms": a.ms, "mbit": a.mbit, "loss": a.loss, "hosts": HOSTS, "load": os.getloadavg()[0]}
                usual = {"undisturbed_seconds": undisturbed["seconds"]}
                out.add(found | usual, {"fault": fault, "host": host, "visit": at} | line)
            failed += n - same
            if n:
                print(
                    f"{fault}: {same} of {n} fits ended with the same bits; {np.mean(seconds):.1f} s each", flush=True
                )
    return min(failed, 1)


def said(found: dict[str, Any]) -> str:
    what = "the same bits" if found["same_bits"] else f"NOT the same bits {found['error']}"
    moved = sum(found[name] for name in MOVED) / 1e6
    lines = ", ".join(f"{b / 1e6:.1f}" for b in found["line_bytes"])
    return f"{what}, {moved:.1f} MB of tables, sums and copies; MB on the lines of hosts: {lines}"


def one_fit(hosts: Hosts, program: subprocess.Popen[str], fault: str, host: int, at: int) -> dict[str, Any]:
    assert program.stdin is not None
    assert program.stdout is not None
    before = [sum(hosts.sent(i)) for i in range(hosts.n)]
    waits = SECONDS.get(fault) is not None
    print(json.dumps({"at": at, "waits": waits}), file=program.stdin, flush=True)
    for line in program.stdout:
        if line.startswith("{"):
            break
        if line == "now\n":
            cut_at = time.monotonic()
            hosts.kill(host) if fault == "kill" else hosts.cut(host)
        if line == "waits\n":  # its last passes are made with the host that is back
            time.sleep(max(0.0, cut_at + (SECONDS[fault] or 0.0) - time.monotonic()))
            hosts.join(host)
            print("goes on", file=program.stdin, flush=True)
    else:
        raise RuntimeError("the program on the first host has ended")
    found: dict[str, Any] = json.loads(line)
    after = [sum(hosts.sent(i)) for i in range(hosts.n)]
    hosts.join(host)
    if fault in ("kill", "long", "never") or found["workers"][-1:] != [HOSTS]:
        hosts.kill(host)  # what is left of a node that Ray has given up
        hosts.start_node(host)
    return found | {"line_bytes": [b - a for a, b in zip(before, after, strict=True)]}


def inside(lines: IO[str] = sys.stdin) -> int:
    """Says when it is time for the fault, when it waits for the host to be back, and JSON at the end of each fit."""
    corpus, log = sample_lda(360, 300, 6, doc_length=60, random_state=0).corpus, Said()
    want = fit(corpus, "threads")
    for line in lines:
        asked, engine, passes = json.loads(line), Ray(workers=HOSTS), []
        log.lines.clear()

        def after_pass(record: Any, _: object, asked: Any = asked, passes: list[Any] = passes) -> None:
            passes.append(record)
            if asked["waits"] and len(passes) == PASSES - 1:
                print("waits", flush=True)
                assert next(lines) == "goes on\n"

        engine._pool()  # starting workers does not count
        begin, processor, error, same = time.perf_counter(), time.process_time(), "", False
        try:
            with in_the_middle(lambda _: print("now", flush=True), asked["at"]):
                same = equal(fit(corpus, engine, callbacks=[after_pass]), want)
        except Exception as failed:  # the script counts what failed and goes on
            error = f"{type(failed).__name__}: {failed}"
        found = {
            "same_bits": same,
            "error": error,
            "seconds": time.perf_counter() - begin,
            "driver_processor": time.process_time() - processor,
            "workers": [record.workers["workers"] for record in passes],
            **{name: sum(record.workers.get(name, 0.0) for record in passes) for name in MOVED},
            "log": log.lines,
        }
        print(json.dumps(found), flush=True)
        engine.release()
    return 0


if __name__ == "__main__":
    arguments.command(main)
