"""Actors on a cluster, and which of them can be asked. Starting one takes seconds, so they stay for the next call, or
until an engine with other settings needs their cores."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Protocol
from weakref import WeakSet

import ray
from ray import ObjectRef
from ray._private import ray_constants, services
from ray._private.state import state
from ray.actor import ActorHandle
from ray.exceptions import GetTimeoutError, RayActorError

from topmix import _core
from topmix._version import __version__
from topmix.engines.ray_actor import About, Place, ShardActor
from topmix.engines.ray_nomad import GROUP

LOG = logging.getLogger("topmix.ray")
MORE_SECONDS = 30.0  # for the others, once the first actor is there
QUIET_SECONDS = 10.0  # without any, before the log says so
AGAIN_SECONDS = 5.0  # for workers of an earlier call to say that they are there
ROOM_SECONDS = 10.0  # for the cores of workers that ended to be free
LOOK_SECONDS = 1.0  # at least, between two looks at the machines of the cluster


class ClusterError(ConnectionError):
    """There is no cluster, no room on it, or not enough left of it."""


class Wanted(Protocol):
    """What the engine Ray asks for; a key of the pools, so it must be hashable."""

    @property
    def address(self) -> str | None: ...
    @property
    def workers(self) -> int | None: ...
    @property
    def cpus_per_worker(self) -> float: ...
    @property
    def gpus_per_worker(self) -> int: ...
    @property
    def start_seconds(self) -> float: ...


_pools: dict[tuple[str, Wanted], Pool] = {}
_named: dict[str, str] = {}  # what `connect` was given -> the address that Ray has for it


class Peer:
    """One actor, as the driver sees it."""

    def __init__(self, number: int, actor: ActorHandle):
        self.number, self.actor = number, actor
        self.place = Place("", 0)
        self.is_alive = False
        self.probe: ObjectRef | None = actor.about.remote()  # answered when it is there, or there again
        self.waiting: set[ObjectRef] = set()  # calls that it has not answered
        self.since = time.monotonic()  # when it last answered, or was given something to do
        self.is_late = False  # it has not answered for so long that another worker took over
        self.resident = 0  # bytes

    def __repr__(self) -> str:
        return f"worker {self.number}"

    @property
    def node(self) -> str:
        return self.place.node

    @property
    def pid(self) -> int:
        return self.place.pid

    def look(self, seconds: float = 0.0) -> bool:
        """Whether it is there. It may have come back since it was lost."""
        if self.probe is not None and ray.wait([self.probe], timeout=seconds)[0]:
            probe, self.probe = self.probe, None
            try:
                self._arrived(ray.get(probe))
            except RayActorError:
                self.lost()
        return self.is_alive

    def lost(self) -> None:
        """Its process has ended. Ray starts it again, here or on another node."""
        self.is_alive = self.is_late = False
        self.waiting.clear()
        self.probe = self.actor.about.remote()

    def answered(self, ref: ObjectRef) -> None:
        self.waiting.discard(ref)
        self.since, self.is_late = time.monotonic(), False

    def _arrived(self, about: About) -> None:
        if about.version != __version__:
            raise ClusterError(f"a worker has topmix {about.version}, but this process has {__version__}")
        if about.isa != _core.isa:
            warnings.warn(
                f"a worker computes with {about.isa} and this process with {_core.isa}: the last bits of results may "
                "differ from engine='threads'. TOPMIX_ISA chooses for each machine.",
                RuntimeWarning,
                stacklevel=2,
            )
        self.place, self.is_alive = about.place, True


class Pool:
    """The workers of one engine."""

    def __init__(self, engine: Wanted):
        self.engine = engine
        self.users: WeakSet[object] = WeakSet()  # whose calls are not over; without any, the workers are idle
        gpus, n = engine.gpus_per_worker, engine.workers or max(1, room_for(engine))
        self.leaving: set[str] = set()  # nodes that Ray is told to drain: they end soon
        self._nodes, self._looked = {node["NodeID"] for node in ray.nodes()}, 0.0
        # A task that fails is our own to repeat: only we know which results were used already.
        options = {"num_cpus": engine.cpus_per_worker, "max_restarts": -1, "max_task_retries": 0}
        if gpus:
            options["num_gpus"] = gpus
        self._kind = ray.remote(concurrency_groups={GROUP: 4})(ShardActor).options(
            scheduling_strategy="SPREAD", **options
        )
        self.peers = [Peer(i, self._kind.remote()) for i in range(n)]
        begin = time.monotonic()
        deadline, more, quiet = begin + engine.start_seconds, None, begin + QUIET_SECONDS
        while not self._all_there(0.02):
            if any(peer.is_alive for peer in self.peers):
                more = more or time.monotonic() + MORE_SECONDS
            elif time.monotonic() > quiet:
                LOG.warning(
                    "no worker is there yet: waiting for room or new machines, up to %g seconds", engine.start_seconds
                )
                quiet = float("inf")
            if time.monotonic() > (more or deadline):
                if not _end_idle(engine):  # cores may be free, and not enough of them on any node
                    break
                deadline, more = time.monotonic() + engine.start_seconds, None
        alive = sum(peer.is_alive for peer in self.peers)
        if not alive:
            self.end()
            free = ray.available_resources()
            has = f"{free.get('CPU', 0.0):g} free CPUs" + (f" and {free.get('GPU', 0.0):g} free GPUs" if gpus else "")
            ours = ", ".join(f"{len(pool.peers)} of {pool.engine!r}" for pool in _pools.values())
            cpus = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
            raise ClusterError(
                f"no worker of {engine.cpus_per_worker} CPUs{' and a GPU' if gpus else ''} could be started within "
                f"{engine.start_seconds:g} seconds: the cluster has {len(cpus)} machines, the largest with "
                f"{max(cpus, default=0.0):g} CPUs, and {has} (`ray status` says more). Workers of this process that "
                f"are at work: {ours or 'none'}; all others belong to other programs. If an autoscaler starts "
                "machines, give it more time: Ray(start_seconds=...)."
            )
        if alive < n:
            LOG.warning("%d of %d workers could be started; the others will join when there is room", alive, n)

    def _all_there(self, seconds: float) -> bool:
        """Waits so long for one more. Which of them comes first is not known: Ray starts them in any order."""
        if probes := [peer.probe for peer in self.peers if peer.probe is not None]:
            ray.wait(probes, timeout=seconds)
        return len(self.alive()) == len(self.peers)

    def look_again(self) -> None:
        """Asks workers where they are: one that nobody called may have been lost meanwhile, and started elsewhere."""
        for peer in self.alive():
            peer.probe = peer.actor.about.remote()
        idle = [peer for peer in self.peers if peer.is_alive and not peer.waiting]
        deadline = time.monotonic() + AGAIN_SECONDS
        while any(peer.look(0.02) and peer.probe is not None for peer in idle) and time.monotonic() < deadline:
            pass

    def look_around(self) -> None:
        """At the machines of the cluster, now and then: some are about to go, and with `workers=None` new ones get
        workers. Workers that Ray had no room for are started by Ray itself."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        leaving = draining()
        for peer in self.peers:
            if peer.is_alive and peer.node in leaving - self.leaving:
                LOG.warning("%r (process %d) is about to go: others get its shards", peer, peer.pid)
        self.leaving = leaving
        nodes = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
        joined, self._nodes = nodes.keys() - self._nodes, set(nodes)
        if self.engine.workers is None and joined:
            room = sum(_fitting(self.engine, nodes[node]) for node in joined)
            room -= sum(not peer.is_alive or peer.node in joined for peer in self.peers)  # they are or go there
            self.peers += [Peer(len(self.peers) + i, self._kind.remote()) for i in range(room)]

    def let_go(self) -> None:
        """Ends workers whose machine is about to go, and who have nothing to do. Ray starts them elsewhere when there
        is room."""
        if self.leaving and self.staying():
            for peer in self.peers:
                if peer.is_alive and peer.node in self.leaving and not peer.waiting:
                    ray.kill(peer.actor, no_restart=False)
                    peer.lost()

    def alive(self) -> list[Peer]:
        return [peer for peer in self.peers if peer.look()]

    def staying(self) -> list[Peer]:
        """Those whose machine is not about to go."""
        return [peer for peer in self.alive() if peer.node not in self.leaving]

    def wait_for_one(self) -> list[Peer]:
        """Those that can be asked, once any is there: those that stay, or all if none does."""
        deadline = time.monotonic() + self.engine.start_seconds
        while not (found := self.staying() or self.alive()):
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


def pool_of(engine: Wanted) -> Pool:
    """The workers of this engine: those of the last call, or new ones."""
    connect(engine.address)
    key = ray.get_runtime_context().get_job_id(), engine
    for other in [other for other in _pools if other[0] != key[0]]:
        del _pools[other]  # of a connection that has ended, and its actors with it
    if key in _pools:
        _pools[key].look_again()
        if missing := len(_pools[key].peers) - len(_pools[key].alive()):
            _make_room(engine, missing)
    else:
        _make_room(engine, engine.workers)
        _pools[key] = Pool(engine)
    return _pools[key]


def room_for(engine: Wanted) -> int:
    """How many workers the cluster has room for."""
    return _fitting(engine, ray.available_resources())


def _fitting(engine: Wanted, free: Mapping[str, float]) -> int:
    gpus, fit = engine.gpus_per_worker, int(free.get("CPU", 0.0) // engine.cpus_per_worker)
    return min(fit, int(free.get("GPU", 0.0) // gpus)) if gpus else fit


def draining() -> set[str]:
    """Nodes that Ray was told to drain (`ray drain-node`, an autoscaler); none where it does not say."""
    try:
        return set(state.get_draining_nodes())
    except Exception:  # not part of Ray's interface: whatever it raises, a fit does not depend on it
        return set()


def _make_room(engine: Wanted, n: int | None) -> None:
    """Ends idle workers of other engines of this process, if there is no room for n more of this one. None is as many
    as fit: they take the places of idle ones."""
    if n is not None and room_for(engine) >= n:
        return
    wanted = ray.available_resources().get("CPU", 0.0) + _end_idle(engine)
    deadline = time.monotonic() + ROOM_SECONDS  # they end soon, and not at once
    while ray.available_resources().get("CPU", 0.0) < wanted and time.monotonic() < deadline:
        time.sleep(0.02)


def _end_idle(engine: Wanted) -> float:
    """Ends idle workers of other engines; how many CPUs they had."""
    freed = 0.0
    for key in [key for key, pool in _pools.items() if not pool.users and pool.engine != engine]:
        pool = _pools.pop(key)
        freed += sum(peer.is_alive for peer in pool.peers) * pool.engine.cpus_per_worker
        pool.end()
    return freed


def release(engine: Wanted) -> None:
    for key in [key for key in _pools if key[1] == engine]:
        pool = _pools.pop(key)
        if ray.is_initialized() and ray.get_runtime_context().get_job_id() == key[0]:
            pool.end()


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
            with _listening_here_alone():
                ray.init(address="local", include_dashboard=False, **how)
            here = ray.get_runtime_context().gcs_address
            _named["local"] = here
            if not ip_address(here.rpartition(":")[0].strip("[]")).is_loopback:
                LOG.warning("Ray was started here and listens at %s: other machines may reach it", here)
        else:
            ray.init(address=address, **how)
            if address is not None:
                _named[address] = ray.get_runtime_context().gcs_address
    except (ConnectionError, GetTimeoutError, RuntimeError, ValueError) as error:
        raise ClusterError(f"there is no Ray cluster at address={address!r}: {error}") from error


@contextmanager
def _listening_here_alone() -> Iterator[None]:
    """A cluster that is started in this block listens on the loopback address, as Ray does by itself on macOS and
    Windows. Elsewhere its ports are open to the network, and no argument of `ray.init` changes that."""
    before, ray_constants.ENABLE_RAY_CLUSTER = ray_constants.ENABLE_RAY_CLUSTER, False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
