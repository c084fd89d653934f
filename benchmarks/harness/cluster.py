"""A Ray cluster of three nodes on this machine, and what can happen to it. For ray_faults and for tests/cluster."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv6Address, ip_address
from pathlib import Path
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
        settings["prestart_worker_first_driver"] = False  # else twelve processes start, and most of them wait in vain
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

    def watched(self: Any, *args: Any) -> Any:
        begun = begin(self, *args)
        seen[0] += 1
        if seen[0] == at:
            self.begun_last = begun
            act(self)
        return begun

    with mock.patch.object(RayWorkers, "_begin", watched):
        yield


def kill_one(workers: Any) -> None:
    os.kill(workers.begun_last.peer.place.pid, signal.SIGKILL)


def kill_all(workers: Any) -> None:
    for peer in workers.pool.alive():
        os.kill(peer.place.pid, signal.SIGKILL)


class RemovedNode:
    """Ends a node that has a worker, and not this process. `mend` lets another one join."""

    def __init__(self, cluster: Any):
        self.cluster = cluster

    def __call__(self, workers: Any) -> None:
        others = {node.node_id: node for node in self.cluster.list_all_nodes() if node is not self.cluster.head_node}
        deadline = time.monotonic() + WAIT_SECONDS
        while not (found := [others[peer.place.node] for peer in workers.pool.alive() if peer.place.node in others]):
            if time.monotonic() > deadline:
                raise RuntimeError("no worker came up on another node")
            time.sleep(0.1)  # on a busy machine some workers join late
        self.cluster.remove_node(found[0], allow_graceful=False)

    def mend(self) -> None:
        self.cluster.add_node(**NODE)


class FilledStore:
    """Fills the object store of this node with more than it holds, until `mend`."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    def __call__(self, workers: Any) -> None:
        import ray

        self.held = [ray.put(np.ones(2**20)) for _ in range(14)]  # 8 MB each

    def mend(self) -> None:
        self.held = []


class Strangers:
    """Clients at every port of a process (this one) and of those that it started, inside the block. They know the ports
    and not the language: bytes at random, HTTP, the beginning of TLS and of gRPC, silent connections that stay."""

    def __init__(self, pid: int | None = None, clients: int = 3, held: int = 60):
        self.pid, self.clients, self.held = pid or os.getpid(), clients, held
        self.met: Counter[str] = Counter()  # by what they said

    def __enter__(self) -> Strangers:
        self.ports, self._over = sorted(listening(self.pid)), threading.Event()
        self._threads = [threading.Thread(target=self._come, args=[random.Random(n)]) for n in range(self.clients)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _come(self, rng: random.Random) -> None:
        silent: list[socket.socket] = []
        while not self._over.wait(0.001):
            kind, (address, port) = rng.choice(list(HELLO)), rng.choice(self.ports)
            client = socket.socket(socket.AF_INET)
            client.settimeout(0.2)
            try:
                host = "127.0.0.1" if ip_address(address).is_loopback or address == "::" else address
                client.connect((host, port))
                client.sendall(HELLO[kind](rng))
                self.met[kind] += 1
                if kind == "nothing":
                    silent.append(client)
                    if len(silent) > self.held:
                        silent.pop(0).close()
                    continue
                client.recv(1 << 16)
            except OSError:  # let go, or a port of a worker that has ended
                pass
            client.close()
        for client in silent:
            client.close()


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HELLO: dict[str, Callable[[random.Random], bytes]] = {
    "nothing": lambda rng: b"",
    "bytes": lambda rng: rng.randbytes(rng.choice((1, 9, 300, 60_000))),
    "zeros": lambda rng: bytes(rng.choice((8, 5000))),
    "GET": lambda rng: b"GET /api/jobs/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n",
    "POST": lambda rng: b'POST /api/jobs/ HTTP/1.1\r\nContent-Length: 17\r\n\r\n{"entrypoint": 1}',
    "TLS": lambda rng: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(500),
    "frames": lambda rng: PREFACE + rng.randbytes(rng.choice((9, 200, 9000))),
    "large frame": lambda rng: PREFACE + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + bytes(2000),
    "half a call": lambda rng: PREFACE + bytes.fromhex("000000040000000000") + b"\x00\x00\x20\x01\x04\x00\x00\x00\x01",
}


def listening(pid: int) -> set[tuple[str, int]]:
    """(address, port) of the TCP ports at which a process and those that it started listen. Linux."""
    parents, found = dict[int, int](), set[tuple[str, int]]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    family = {pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    open_ports = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":  # listens
                host, port = fields[1].split(":")
                words = [bytes.fromhex(host[i : i + 8])[::-1] for i in range(0, len(host), 8)]
                address = ip_address(b"".join(words))
                mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
                open_ports[f"socket:[{fields[9]}]"] = (str(mapped or address), int(port, 16))
    for member in family:
        for link in Path(f"/proc/{member}/fd").glob("*"):
            with suppress(OSError):
                if (at := open_ports.get(os.readlink(link))) is not None:
                    found.add(at)
    return found
