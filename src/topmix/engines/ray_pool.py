"""Actors on a cluster, and which of them can be asked. Starting one takes seconds, so they stay for the next call, or
until an engine with other settings starts its own."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING
from weakref import WeakSet

import ray
from ray import ObjectRef
from ray._private import ray_constants, services
from ray.actor import ActorHandle
from ray.exceptions import GetTimeoutError, RayActorError

from topmix import _core
from topmix._version import __version__
from topmix.engines.ray_actor import BLOCKS, Place, ShardActor

if TYPE_CHECKING:
    from topmix.engines.ray_engine import Ray

LOG = logging.getLogger("topmix.ray")
MORE_SECONDS = 30.0  # for the others, once the first actor is there
QUIET_SECONDS = 10.0  # without any, before the log says so
AGAIN_SECONDS = 5.0  # for workers of an earlier call to say that they are there
ROOM_SECONDS = 10.0  # for the cores of workers that ended to be free
LOOK_SECONDS = 1.0  # at least, between two looks at the machines of the cluster


class ClusterError(ConnectionError):
    """There is no cluster, no room on it, or not enough left of it."""


_pools: dict[tuple[str, Ray], Pool] = {}
_named: dict[str, str] = {}  # what `connect` was given -> the address that Ray has for it


class Peer:
    """One actor, as the driver sees it."""

    def __init__(self, number: int, actor: ActorHandle):
        self.number, self.actor = number, actor
        self.place = Place("", 0, "", "")
        self.is_alive = False
        self.probe: ObjectRef | None = actor.about.remote()  # answered when it is there, or there again
        self.resident = 0  # bytes

    def __repr__(self) -> str:
        return f"worker {self.number}"

    def look(self) -> bool:
        """Whether it is there. It may have come back since it was lost."""
        if self.probe is not None and ray.wait([self.probe], timeout=0.0)[0]:
            probe, self.probe = self.probe, None
            try:
                self.place = ray.get(probe)
            except RayActorError:
                self.lost()
                return False
            if self.place.version != __version__:
                raise ClusterError(f"a worker has topmix {self.place.version}, but this process has {__version__}")
            if self.place.isa != _core.isa:
                warnings.warn(
                    f"a worker computes with {self.place.isa} and this process with {_core.isa}: the last bits of "
                    "results may differ from engine='threads'. TOPMIX_ISA chooses for each machine.",
                    RuntimeWarning,
                    stacklevel=2,
                )
            self.is_alive = True
        return self.is_alive

    def lost(self) -> None:
        """Its process has ended. Ray starts it again, here or on another node."""
        self.is_alive = False
        self.probe = self.actor.about.remote()


class Pool:
    """The workers of one engine."""

    def __init__(self, engine: Ray):
        self.engine = engine
        self.users: WeakSet[object] = WeakSet()  # whose calls are not over; without any, the workers are idle
        self._nodes, self._looked = {node["NodeID"] for node in ray.nodes()}, 0.0
        # A call that fails is our own to repeat: its worker may have nowhere to come back to, and others are there.
        self._kind = ray.remote(concurrency_groups={BLOCKS: 3 + int(engine.cpus_per_worker)})(ShardActor).options(
            scheduling_strategy="SPREAD",
            num_cpus=engine.cpus_per_worker,
            num_gpus=engine.gpus_per_worker or None,
            max_restarts=-1,
            max_task_retries=0,
        )
        n = engine.workers or max(1, _fitting(engine, ray.available_resources()))
        self.peers = [Peer(i, self._kind.remote()) for i in range(n)]
        seconds, begin, is_first, is_quiet = engine.start_seconds, time.monotonic(), True, True
        deadline = begin + seconds
        # Which of them comes first is not known: Ray starts them in any order.
        while (alive := len(self.alive())) < n and (now := time.monotonic()) < deadline:
            if alive and is_first:
                deadline, is_first = now + MORE_SECONDS, False
            elif not alive and is_quiet and now > begin + QUIET_SECONDS:
                LOG.warning("no worker is there yet: waiting for room or new machines, up to %g seconds", seconds)
                is_quiet = False
            if probes := [peer.probe for peer in self.peers if peer.probe is not None]:
                ray.wait(probes, timeout=0.02)
        if not alive:
            self.end()
            free = ray.available_resources()
            ours = [f"{len(pool.peers)} of {pool.engine!r}" for pool in _pools.values()]
            cpus = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
            raise ClusterError(
                f"no worker of {engine.cpus_per_worker} CPUs{' and a GPU' if engine.gpus_per_worker else ''} could be "
                f"started within {seconds:g} seconds: the cluster has {len(cpus)} machines, the largest with "
                f"{max(cpus, default=0.0):g} CPUs, and {free.get('CPU', 0.0):g} free CPUs and "
                f"{free.get('GPU', 0.0):g} free GPUs. Workers of this process that are at work: "
                f"{', '.join(ours) or 'none'}; all others belong to other programs. If an autoscaler starts machines, "
                "give it more time: Ray(start_seconds=...)."
            )
        if alive < n:
            LOG.warning("%d of %d workers could be started; the others will join when there is room", alive, n)

    def look_again(self) -> None:
        """Asks workers where they are: one that nobody called may have been lost meanwhile, and started elsewhere."""
        asked = self.alive()
        for peer in asked:
            peer.probe = peer.actor.about.remote()
        if asked:
            ray.wait([peer.probe for peer in asked], num_returns=len(asked), timeout=AGAIN_SECONDS)
        self.alive()

    def look_around(self) -> None:
        """At the machines of the cluster, now and then: with `workers=None` new ones get workers. Workers that Ray had
        no room for are started by Ray itself."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        nodes = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
        joined, self._nodes = nodes.keys() - self._nodes, set(nodes)
        if self.engine.workers is None and joined:
            room = sum(_fitting(self.engine, nodes[node]) for node in joined)
            room -= sum(not peer.is_alive or peer.place.node in joined for peer in self.peers)  # they are or go there
            self.peers += [Peer(len(self.peers) + i, self._kind.remote()) for i in range(room)]

    def alive(self) -> list[Peer]:
        return [peer for peer in self.peers if peer.look()]

    def wait_for_one(self) -> list[Peer]:
        """Those that can be asked, once any is there."""
        deadline = time.monotonic() + self.engine.start_seconds
        while not (found := self.alive()):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"all {len(self.peers)} workers are lost and none came back within {self.engine.start_seconds:g} "
                    "seconds. A fit with a checkpoint continues from there when it is called again."
                )
            time.sleep(0.05)
        return found

    def end(self) -> None:
        for peer in self.peers:
            ray.kill(peer.actor)


def pool_of(engine: Ray) -> Pool:
    """The workers of this engine: those of the last call, or new ones in the place of idle ones of other engines."""
    connect(engine.address)
    job = ray.get_runtime_context().get_job_id()
    for key in [key for key in _pools if key[0] != job]:
        del _pools[key]  # of a connection that has ended, and its actors with it
    if (job, engine) in _pools:
        _pools[job, engine].look_again()
        return _pools[job, engine]
    idle = [key for key, pool in _pools.items() if not pool.users]
    if idle:
        free = ray.available_resources().get("CPU", 0.0)
        free += sum(_pools[key].engine.cpus_per_worker * len(_pools[key].alive()) for key in idle)
        for key in idle:
            _pools.pop(key).end()
        deadline = time.monotonic() + ROOM_SECONDS  # they end soon, and not at once
        while ray.available_resources().get("CPU", 0.0) < free and time.monotonic() < deadline:
            time.sleep(0.02)
    _pools[job, engine] = pool = Pool(engine)
    return pool


def _fitting(engine: Ray, free: Mapping[str, float]) -> int:
    """How many workers there is room for."""
    gpus, fit = engine.gpus_per_worker, int(free.get("CPU", 0.0) // engine.cpus_per_worker)
    return min(fit, int(free.get("GPU", 0.0) // gpus)) if gpus else fit


def connect(address: str | None) -> None:
    """Connects to the cluster, unless this process is connected already."""
    if address is not None and address.startswith("ray://"):
        raise ValueError(
            f"address={address!r}: a fit over ray:// would send everything through one proxy. Run the program on a "
            "node of the cluster (`ray job submit`, address='auto')."
        )
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", here) and _named.get(address) != here:
            raise ValueError(f"address={address!r}, but this process is connected to the cluster at {here!r}")
        return
    how = {"log_to_driver": False, "logging_level": logging.WARNING, "configure_logging": False}
    try:
        if services.canonicalize_bootstrap_address(address) is None:
            # A cluster that is started without this listens on the loopback address, as Ray does by itself on macOS and
            # Windows. Elsewhere its ports would be open to the network, and no argument of `ray.init` changes that.
            before, ray_constants.ENABLE_RAY_CLUSTER = ray_constants.ENABLE_RAY_CLUSTER, False
            try:
                ray.init(address="local", include_dashboard=False, **how)
            finally:
                ray_constants.ENABLE_RAY_CLUSTER = before
            here = _named["local"] = ray.get_runtime_context().gcs_address
            if not ip_address(here.rpartition(":")[0].strip("[]")).is_loopback:
                LOG.warning("Ray was started here and listens at %s: other machines may reach it", here)
        else:
            ray.init(address=address, **how)
            if address is not None:
                _named[address] = ray.get_runtime_context().gcs_address
    except (ConnectionError, GetTimeoutError, RuntimeError, ValueError) as error:
        raise ClusterError(f"there is no Ray cluster at address={address!r}: {error}") from error


class Traffic:
    """Bytes of messages and seconds of work, added up by whoever sends and receives."""

    def __init__(self, pool: Pool, n_rows: float):
        self.pool, self.n_rows, self._since = pool, n_rows, time.monotonic()
        self.sent = 0.0  # tables, from the driver to workers
        self.received = 0.0  # sums, from workers to the driver
        self.added = 0.0  # from worker to worker, on the way to a sum
        self.copied = 0.0  # what shards remember, to another node
        self.busy = 0.0  # seconds of visits
        self.processor = 0.0  # the same in processor time, which other programs do not change
        self._before = dict.fromkeys(("sent", "received", "added", "copied", "busy", "processor"), 0.0)

    def status(self) -> dict[str, float]:
        """Of the time since it was last asked: a pass."""
        took, alive = max(time.monotonic() - self._since, 1e-9), self.pool.alive()
        before, now = self._before, {name: getattr(self, name) for name in self._before}
        self._since, self._before = time.monotonic(), now
        spent = {name: now[name] - before[name] for name in now}
        return {
            "workers": float(len(alive)),
            "rows_per_second": self.n_rows / took,
            "worker_bytes": float(max((peer.resident for peer in alive), default=0)),
            "busy": spent.pop("busy") / (took * max(len(alive), 1)),
            **spent,
        }
