"""Topics whose words travel between the workers of a Ray cluster: how fast, how far, and how much has each worker?

    python -m benchmarks.nomadic [--corpus arxiv_100k] [--documents 20000] [--K 400] [--workers 1 2 4 8] [--quick]

LDA with learner="asynchronous": in one process with as many threads as `--threads`, and on a cluster that is started on
this machine, with workers of one core each. Passes of the workers with `--threads` of them are compared with those of
the process; the best pass of each counts, from the second on. Processor seconds, which other programs on the machine do
not change, stand beside.

The least that a pass can send is every block once to every other worker (8 bytes per word and topic), and once to the
driver, which has the model after each pass. `block_bytes` is the most that a worker had of the topics at a time;
`own_bytes` is what it needs for its documents besides.

With `--limit MB` there is one row alone, and the kernel refuses each worker more than so much beside what it began
with (RLIMIT_DATA, Linux).
"""

from __future__ import annotations

import os
import resource
import time
from typing import Any

import numpy as np
import ray

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.storage import Peaks, memory
from topmix.data import Corpus
from topmix.engines.ray_engine import Ray
from topmix.learners import Asynchronous
from topmix.metrics import completion_score


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics")
    arguments.add_corpus(p, "arxiv_100k", role=None)
    p.add_argument("--documents", type=int, default=20000, help="the first of the corpus")
    p.add_argument("--K", type=int, default=400)
    p.add_argument("--passes", type=int, default=6)
    p.add_argument("--opening", type=int, default=3, help="first passes under posterior means")
    p.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8])
    p.add_argument("--limit", type=float, help="MB that the kernel allows each worker")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.passes, a.workers = datasets.GENERATED, 10, 3, [1, 2]
    data = datasets.load(a.corpus)
    corpus, out = Corpus.from_scipy(data.train[: a.documents]), Results(a.out, "nomadic")
    settings = {name: getattr(a, name) for name in ("K", "threads", "passes", "opening", "documents")}
    if not ray.is_initialized():
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init("local", num_cpus=max(a.workers), include_dashboard=False, log_to_driver=False)
    if a.limit:
        out.add(within_limit(corpus, a), settings | {"limit": a.limit}, data)
        return 0
    base = fit(corpus, "threads", a)
    base["score"] = score(base.pop("model"), data)
    print(f"threads: {base['seconds']:.2f} s a pass, {base['processor']:.2f} processor seconds, {base['score']:.4f}")
    for n in a.workers:
        engine = Ray(workers=n)
        found = fit(corpus, engine, a)
        found["score"] = score(found.pop("model"), data)
        words = int(np.count_nonzero(np.bincount(corpus.index, minlength=corpus.n_words)))
        least = 8.0 * words * a.K * n  # n - 1 times to another worker, and once to the driver
        found |= {
            "throughput": base["seconds"] / found["seconds"],
            "efficiency": base["processor"] / found["processor"],
            "entries": corpus.nnz,
            "least": least,
            "excess": found["bytes"] / least,
            "model_bytes": 8.0 * words * a.K,
        }
        print(
            f"{n} workers: {found['seconds']:.2f} s a pass ({found['throughput']:.0%} of the throughput), "
            f"{found['processor']:.2f} processor seconds ({found['efficiency']:.0%}), score {found['score']:.4f};\n"
            f"  {found['bytes'] / 1e6:.1f} MB a pass, {found['excess']:.2f} times the least; at a worker at most "
            f"{found['block_bytes'] / found['model_bytes']:.0%} of the topics, {found['block_bytes'] / 1e6:.1f} MB, "
            f"and {found['own_bytes'] / 1e6:.1f} MB of documents",
            flush=True,
        )
        engine.release()
        out.add(found, settings | {"workers": n, "load": os.getloadavg()[0], "base": base}, data)
    return 0


def fit(corpus: Corpus, engine: Any, a: Any) -> dict[str, Any]:
    used: list[float] = []
    model = ours.lda(
        a.K, inference="variational", learner=Asynchronous(warm_up=a.opening), max_iter=a.passes, tol=-float("inf"),
        random_state=0, engine=engine, n_jobs=a.threads, callbacks=[lambda *_: used.append(time.process_time())],
    ).fit(corpus)  # fmt: skip
    status = [record.workers for record in model.history_]
    processor = np.diff(used) + [s.get("processor", 0.0) for s in status[1:]]
    last = status[-1]
    return {
        "model": model,
        "seconds": float(np.diff([record.seconds for record in model.history_]).min()),
        "processor": float(np.median(processor)),
        "bytes": float(np.mean([s.get("added", 0.0) + s.get("received", 0.0) for s in status[1:]])),
        "block_bytes": last.get("block_bytes", 0.0),
        "own_bytes": last.get("worker_bytes", 0.0) - last.get("block_bytes", 0.0),
        "objective": model.history_[-1].objective / corpus.n_tokens,
        "documents_per_second": max((s.get("rows_per_second", 0.0) for s in status), default=0.0),
    }


def score(model: Any, data: Any) -> float:
    return float(completion_score(model.topic_word_, data.scored))


def within_limit(corpus: Corpus, a: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for n in (min(a.workers), max(a.workers)):
        engine = Ray(workers=n)
        pids = [peer.place.pid for peer in engine._pool().peers]
        began, peaks = [memory(pid, "RssAnon") for pid in pids], Peaks(pids)
        for pid in pids:
            most = int((memory(pid, "VmData") + a.limit) * 1e6)
            resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
        try:
            fitted = fit(corpus, engine, a)
            said = f"fitted, {fitted['objective']:.4f} per token"
            found["model_mb"] = fitted["model"].components_.nbytes / 1e6
        except (MemoryError, ConnectionError, RuntimeError) as error:
            said = f"{type(error).__name__}: {str(error)[:300]}"
        if [peer.place.pid for peer in engine._pool().peers] != pids:  # Ray has started others, without a limit
            said += " (not by these processes)"
        grown = [peak - before for peak, before in zip(peaks.own, began, strict=True)]
        found[str(n)] = {"said": said, "worker_mb": grown}
        print(f"{n} workers, {a.limit:g} MB each: {said}; at most {max(grown):.0f} MB", flush=True)
        engine.release()
    return found


if __name__ == "__main__":
    arguments.command(main)
