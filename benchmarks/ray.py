"""Do two workers of a Ray cluster learn as fast as two threads, and how many bytes travel?

    python -m benchmarks.ray [--corpus arxiv] [--K 400] [--quick]

Memoized learning with rounds, from a saved corpus, on a cluster that is started on this machine: workers with one core
each against one process with as many threads. The two take turns, and the best pass of each counts, from the third on:
first passes start documents from their words alone. Both must learn the same bits. Processor seconds, which other
programs on the machine do not change, stand beside: those of the calling process and of the visits of workers; what Ray
itself uses to move bytes is not in them.

The least that a synchronous pass can send is one table of its words for each batch (4 bytes per word and topic) and
one sum for each round. What is more goes from worker to worker on the way to a sum; copies need a second node.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import ray

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from topmix.data import Corpus
from topmix.engines.ray_engine import Ray
from topmix.learners import Memoized

FIRST = 2  # passes that do not count


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics")
    arguments.add_corpus(p, "arxiv", role=None)
    p.add_argument("--K", type=int, default=400)
    p.add_argument("--passes", type=int, default=5)
    p.add_argument("--batches", type=int, default=16, help="in a pass")
    p.add_argument("--rounds", type=int, default=4, help="batches per update")
    p.add_argument("--repeat", type=int, default=2)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.repeat, a.passes = datasets.GENERATED, 20, 1, 4
    data = datasets.load(a.corpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.topmix"
        Corpus.from_scipy(data.train).save(path)
        found = compare(Corpus.open(path), a)
    print(
        f"{a.corpus}, K = {a.K}, {a.threads} threads or workers, {a.batches} batches in rounds of {a.rounds}:\n"
        f"  threads {found['threads']:.2f} s a pass, Ray {found['ray']:.2f} s: {found['throughput']:.0%} of the "
        f"throughput\n"
        f"  processor seconds of a pass: {found['threads_processor']:.2f} and {found['ray_processor']:.2f}, "
        f"{found['efficiency']:.0%}; workers visited batches {found['busy']:.0%} of the time\n"
        f"  {found['bytes'] / 1e6:.1f} MB a pass, the least is {found['least'] / 1e6:.1f} MB: {found['excess']:.2f} "
        f"times\n"
        f"  the largest worker had {found['worker_bytes'] / 1e6:.0f} MB",
        flush=True,
    )
    settings = {name: getattr(a, name) for name in ("K", "threads", "passes", "batches", "rounds", "repeat")}
    Results(a.out, "ray").add(found, settings | {"load": os.getloadavg()[0]}, data)
    return 0


def compare(corpus: Corpus, a: Any) -> dict[str, float]:
    learner = Memoized(batch_size=-(-len(corpus) // a.batches), batches_per_update=a.rounds)
    engine = Ray(None if ray.is_initialized() else "local", workers=a.threads)  # in tests there is a cluster
    wall: dict[str, list[float]] = {"threads": [], "ray": []}
    processor: dict[str, list[float]] = {"threads": [], "ray": []}
    for _ in range(a.repeat):
        fits = {}
        for name, kind in (("threads", "threads"), ("ray", engine)):
            used: list[float] = []
            fits[name] = ours.lda(
                a.K, max_iter=ours.with_sweeps(a.passes), tol=-float("inf"), random_state=0, learner=learner,
                engine=kind, n_jobs=a.threads, callbacks=[lambda *_, used=used: used.append(time.process_time())],
            ).fit(corpus)  # fmt: skip
            ends = [record.seconds for record in fits[name].history_]
            visits = [record.workers.get("processor", 0.0) for record in fits[name].history_]
            wall[name] += np.diff(ends)[FIRST - 1 :].tolist()
            processor[name] += (np.diff(used) + visits[1:])[FIRST - 1 :].tolist()
        if not np.array_equal(fits["threads"].components_, fits["ray"].components_):
            raise AssertionError("the two engines learned different bits")
    engine.release()
    last = fits["ray"].history_[-1].workers
    sent = sum(last[name] for name in ("sent", "received", "added", "copied"))
    least = last["sent"] + last["received"]
    return {
        "threads": min(wall["threads"]),
        "ray": min(wall["ray"]),
        "throughput": min(wall["threads"]) / min(wall["ray"]),
        "threads_processor": min(processor["threads"]),
        "ray_processor": min(processor["ray"]),
        "efficiency": min(processor["threads"]) / min(processor["ray"]),
        "bytes": sent,
        "least": least,
        "excess": sent / least,
        "busy": max(record.workers["busy"] for record in fits["ray"].history_),
        **{name: last[name] for name in ("sent", "received", "added", "copied", "worker_bytes")},
    }


if __name__ == "__main__":
    arguments.command(main)
