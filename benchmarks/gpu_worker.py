"""What does a worker of a Ray cluster do on its GPU? Runs the actor of a cluster in this process, without Ray.

    python -m benchmarks.gpu_worker --corpus arxiv_100k --K 400 --passes 6
    python -m benchmarks.gpu_worker --quick --engine threads          # where there is no GPU

Where Ray is not installed, a few lines take the place of its names. Tables, what shards remember and statistics go
through pickle, as through an object store. The same fit, memoized, by the actor of `Ray(gpus_per_worker=1)`, by engine
"cuda", where statistics stay on the device, and by threads: seconds of a pass (median, without the first), bytes that
the actor gets and returns per pass, and the largest difference of the topics (shares of words) from those of threads.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from topmix.cuda.hosted import HostedStep
from topmix.data.shard import Shards
from topmix.engines import Cuda, Threads
from topmix.engines.engine import ShardResult, Tables, Workers
from topmix.engines.local import LocalWorkers, Worker
from topmix.inference import Collapsed
from topmix.learners import Memoized
from topmix.local import LocalStep


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics")
    arguments.add_corpus(p, "arxiv_100k", role=None)
    p.add_argument("--K", type=int, default=400)
    p.add_argument("--passes", type=int, default=6)
    p.add_argument("--batches", type=int, default=8, help="in a pass, of which two make an update")
    p.add_argument("--engine", choices=("cuda", "threads"), default="cuda", help="where the actor computes")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.passes = datasets.GENERATED, 10, 4
    data = datasets.load(a.corpus)
    X, out = data.train, Results(a.out, "gpu_worker")
    learner = Memoized(batch_size=-(-X.shape[0] // a.batches), batches_per_update=2)
    topics: dict[str, np.ndarray] = {}
    for name in ("threads", "cuda", "actor"):
        if name == "cuda" and a.engine == "threads":
            continue
        actor = Actor(a.engine == "cuda")
        engine = {"threads": "threads", "cuda": Cuda(), "actor": actor}[name]
        how = {"max_iter": a.passes, "tol": -float("inf"), "random_state": 0, "inference": Collapsed(sweeps=0)}
        model = ours.lda(a.K, **how, learner=learner, engine=engine, n_jobs=a.threads).fit(X)
        topics[name] = model.components_ / model.components_.sum(axis=1, keepdims=True)
        found = {
            "seconds": float(np.median(np.diff([record.seconds for record in model.history_]))),
            "difference": float(abs(topics[name] - topics["threads"]).max()),
            "objective": model.history_[-1].objective,
            "bytes_in": actor.bytes_in / a.passes,
            "bytes_out": actor.bytes_out / a.passes,
        }
        print(
            f"{name}: {found['seconds']:.3f} s a pass, objective {found['objective']:.6g}, topics differ by at most "
            f"{found['difference']:.2g}; {found['bytes_in'] / 1e6:.1f} MB in, {found['bytes_out'] / 1e6:.1f} MB out",
            flush=True,
        )
        out.add(found, {"who": name, "K": a.K, "passes": a.passes, "batches": a.batches, "engine": a.engine}, data)
    return 0


@dataclass(frozen=True, repr=False, eq=False)
class Actor(Threads):
    """One worker of a cluster, in this process."""

    maps_files = False
    on_gpu: bool = True
    bytes_in, bytes_out = 0, 0

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        return ActorWorkers(self, shards, HostedStep(step, Cuda()) if self.on_gpu else step, threads)


class ActorWorkers(LocalWorkers):
    def __init__(self, engine: Actor, shards: Shards, step: LocalStep, threads: int):
        super().__init__(shards, Worker(step, threads))
        self.engine, self.actor = engine, actor_class()()
        self.opening = pickle.loads(pickle.dumps(("session", step, threads)))

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        for b in shards:
            sent = pickle.dumps((tables(self.shards[b].cols), self._memory.get(b)), protocol=5)
            found = self.actor.step(self.opening, b, [self.shards.message(b)], *pickle.loads(sent))
            back = pickle.dumps(found, protocol=5)
            stats, memory, report = pickle.loads(back)
            object.__setattr__(self.engine, "bytes_in", self.engine.bytes_in + len(sent))
            object.__setattr__(self.engine, "bytes_out", self.engine.bytes_out + len(back))
            if memory is not None:
                self._memory[b] = memory
            yield ShardResult(b, stats, report.info)

    def close(self) -> None:
        self.actor.close("session")
        super().close()


def actor_class() -> Any:
    """The class of actors, which asks what stands here in the place of Ray."""
    if importlib.util.find_spec("ray") is None:
        for name in ("ray", "ray.actor", "ray.exceptions"):
            sys.modules.setdefault(name, ModuleType(name))
        ray: Any = sys.modules["ray"]
        ray.ObjectRef = sys.modules["ray.actor"].ActorHandle = object  # type: ignore[attr-defined]
        sys.modules["ray.exceptions"].RayError = OSError  # type: ignore[attr-defined]
        ray.method = lambda **_: lambda method: method
    from topmix.engines import ray_actor

    here = SimpleNamespace(get_node_id=lambda: "here")
    ray_actor.ray = SimpleNamespace(get=lambda value: value, get_runtime_context=lambda: here)  # type: ignore[attr-defined]
    return ray_actor.ShardActor


if __name__ == "__main__":
    arguments.command(main)
