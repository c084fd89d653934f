"""What does a worker of a Ray cluster do on its GPU? Runs driver and worker of a cluster in this process, without Ray.

    python -m benchmarks.gpu_worker --corpus arxiv_100k --K 400 --passes 6
    python -m benchmarks.gpu_worker --quick --engine emulated         # where there is no GPU

A few lines take the place of Ray's names: whatever is put, given or returned goes through pickle, as through an object
store. The same fit, memoized, by one worker of `Ray(gpus_per_worker=1)`, by engine "cuda" and by threads: seconds of a
pass (median, without the first), bytes that the worker gets and returns in a pass (the last), and the largest
difference of the topics (shares of words) from those of threads.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from topmix.corpus.shard import Shards
from topmix.cuda.hosted import HostedStep
from topmix.engines.cuda import Cuda
from topmix.engines.engine import Workers
from topmix.engines.local import Threads
from topmix.inference import Collapsed
from topmix.learners import Memoized
from topmix.steps import LocalStep


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics")
    arguments.add_corpus(p, "arxiv_100k", role=None)
    p.add_argument("--K", type=int, default=400)
    p.add_argument("--passes", type=int, default=6)
    p.add_argument("--batches", type=int, default=8, help="in a pass, of which two make an update")
    p.add_argument("--engine", choices=("cuda", "emulated"), default="cuda", help="of the worker")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.passes = datasets.GENERATED, 10, 4
    data = datasets.load(a.corpus)
    X, out = data.train, Results(a.out, "gpu_worker")
    learner = Memoized(batch_size=-(-X.shape[0] // a.batches), batches_per_update=2)
    cuda = Cuda()
    if a.engine == "emulated":
        from tests.cuda.emulated import Emulated

        cuda = Emulated()
    topics: dict[str, np.ndarray] = {}
    for name in ("threads", "cuda", "actor"):
        engine = {"threads": "threads", "cuda": cuda, "actor": Actor(cuda)}[name]
        how = {"max_iter": a.passes, "tol": -float("inf"), "random_state": 0, "inference": Collapsed(sweeps=0)}
        model = ours.lda(a.K, **how, learner=learner, engine=engine, n_jobs=a.threads).fit(X)
        topics[name] = model.components_ / model.components_.sum(axis=1, keepdims=True)
        last = model.history_[-1].workers or {}
        found = {
            "seconds": float(np.median(np.diff([record.seconds for record in model.history_]))),
            "difference": float(abs(topics[name] - topics["threads"]).max()),
            "objective": model.history_[-1].objective,
            "bytes_in": last.get("sent", 0.0),
            "bytes_out": last.get("received", 0.0),
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
    cuda: Cuda = Cuda()  # noqa: RUF009  (immutable)

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        without_ray()
        from topmix.engines.ray_actor import ShardActor
        from topmix.engines.ray_workers import RayWorkers

        peer: Any = OnePeer(ShardActor())
        pool: Any = OnePool(peer)
        return RayWorkers(shards, HostedStep(step, self.cuda), pool, threads, copies=1)


class OnePeer:
    number, resident, is_alive = 0, 0, True

    def __init__(self, actor: Any):
        self.actor, self.place = SimpleNamespace(), actor.place
        for name in ("step", "close", "columns", "add", "keep_copy"):
            setattr(self.actor, name, Method(getattr(actor, name)))


class OnePool:
    def __init__(self, peer: OnePeer):
        self.peers, self.users = [peer], set[object]()

    def all(self) -> list[OnePeer]:
        return list(self.peers)

    alive = wait_for_one = all

    def look_around(self) -> None:
        pass


class Reference:
    """To a value that was pickled."""

    def __init__(self, value: object):
        self.pickled = pickle.dumps(value, protocol=5)

    def value(self) -> Any:
        return pickle.loads(self.pickled)

    def __reduce__(self) -> tuple[Callable[[int], Reference], tuple[int]]:
        _known[id(self)] = self
        return _found, (id(self),)


def _found(number: int) -> Reference:
    return _known[number]


_known: dict[int, Reference] = {}  # that were given to a call which has not begun


class Method:
    """Of an actor: it is called at once."""

    def __init__(self, method: Callable[..., Any], n_returns: int = 1):
        self.method, self.n_returns = method, n_returns

    def options(self, num_returns: int) -> Method:
        return Method(self.method, num_returns)

    def remote(self, *given: object) -> Any:
        arguments = Reference(given).value()
        _known.clear()
        found = self.method(*(a.value() if isinstance(a, Reference) else a for a in arguments))
        return [Reference(each) for each in found] if self.n_returns > 1 else Reference(found)


class Names(ModuleType):
    """A module in which every name is some class of errors."""

    def __getattr__(self, name: str) -> type[Exception]:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Exception,), {})
        setattr(self, name, made)
        return made


def without_ray() -> None:
    """Puts what stands here in the place of Ray's modules."""
    if isinstance(sys.modules.get("ray"), Names):
        return
    if "ray" in sys.modules:
        raise RuntimeError("Ray is imported already, and nothing can stand in its place")
    for name in ("ray", "ray.actor", "ray.exceptions", "ray._private", "ray._private.state"):
        sys.modules[name] = Names(name)
    ray: Any = sys.modules["ray"]
    ray.ObjectRef, ray.put = Reference, Reference
    ray.get = lambda found: [ref.value() for ref in found] if isinstance(found, list) else found.value()
    ray.wait = lambda refs, **_: (refs, [])
    ray.method = lambda **_: lambda method: method
    ray.get_runtime_context = lambda: SimpleNamespace(get_node_id=lambda: "here")


if __name__ == "__main__":
    arguments.command(main)
