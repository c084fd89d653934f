"""A Ray cluster of three nodes on this machine, and what can happen to it. For ray_faults and for tests/cluster."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

STORE = 100 * 2**20  # bytes of each node's object store
WAIT_SECONDS = 60.0  # for workers that join late
NODE = {"num_cpus": 4, "object_store_memory": STORE}  # logical cores

Act = Callable[[Any], None]  # of the driver's workers


@contextmanager
def three_nodes() -> Iterator[Any]:
    """This process is connected to them."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of a change to come
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        from ray.cluster_utils import Cluster

        # Small objects would stay with the driver: here even they lie on the nodes that made them, as large ones do.
        # Workers usually give way to every other process: beside busy ones they would hardly run.
        settings = {"max_direct_call_object_size": 1000, "health_check_period_ms": 1000, "worker_niceness": 0}
        cluster = Cluster(
            initialize_head=True, head_node_args={**NODE, "include_dashboard": False, "_system_config": settings}
        )
        for _ in range(2):
            cluster.add_node(**NODE)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.shutdown()
        cluster.shutdown()


@contextmanager
def in_the_middle(act: Act, at: int) -> Iterator[None]:
    """Inside the block, `act` is called once: when the visit with this number has been handed to a worker."""
    from topmix.engines.ray_workers import RayWorkers

    begin, seen = RayWorkers._begin, [0]

    def watched(self: Any, *args: Any) -> None:
        begin(self, *args)
        seen[0] += 1
        if seen[0] == at:
            act(self)

    with mock.patch.object(RayWorkers, "_begin", watched):
        yield


def kill_one(workers: Any) -> None:
    os.kill(_busy(workers).pid, signal.SIGKILL)


def kill_all(workers: Any) -> None:
    for peer in workers.pool.alive():
        os.kill(peer.pid, signal.SIGKILL)


class RemovedNode:
    """Ends a node that has a worker, and not this process. `mend` lets another one join."""

    def __init__(self, cluster: Any):
        self.cluster = cluster

    def __call__(self, workers: Any) -> None:
        others = {node.node_id: node for node in self.cluster.list_all_nodes() if node is not self.cluster.head_node}
        deadline = time.monotonic() + WAIT_SECONDS
        while not (found := [others[peer.node] for peer in workers.pool.alive() if peer.node in others]):
            if time.monotonic() > deadline:
                raise RuntimeError("no worker came up on another node")
            time.sleep(0.1)  # on a busy machine some workers join late
        self.cluster.remove_node(found[0], allow_graceful=False)

    def mend(self) -> None:
        self.cluster.add_node(**NODE)


class StoppedWorker:
    """A worker that does not answer, until `mend`."""

    pid = 0

    def __call__(self, workers: Any) -> None:
        self.pid = _busy(workers).pid
        os.kill(self.pid, signal.SIGSTOP)

    def mend(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGCONT)


class FilledStore:
    """Fills the object store of this node with more than it holds, until `mend`."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    def __call__(self, workers: Any) -> None:
        import ray

        self.held = [ray.put(np.ones(2**20)) for _ in range(14)]  # 8 MB each

    def mend(self) -> None:
        self.held = []


def _busy(workers: Any) -> Any:
    return max(workers.pool.alive(), key=lambda peer: len(peer.waiting))
