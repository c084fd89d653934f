"""Hosts with a network between them, on one machine: each has a network, shared memory and temporary files of its own.

    python -m tools.hosts --hosts 4 --ms 10 --mbit 1000 --loss 0.001 -- python program.py   # runs on the first host
    python -m tools.hosts --hosts 3 --ray -- python program.py                               # with a Ray node on each

Needs root and Linux. A host is a network namespace and a mount namespace: /dev/shm and /tmp are its own, the rest of
the disk is everybody's. Host i has the address 10.77.0.(i + 1); the network is a switch, a process that holds the other
end of each host's Ethernet device (TAP). A frame waits for the frames before it at the rate of its sender's line, then
for the delay, each way; some are lost. So neither bridges nor `tc` are needed, nor modules of the kernel that it may
not have. While the file FOLDER/cut-i is there, the switch drops all frames of host i, as if a cable were pulled.

When the program ends, its hosts are removed with all processes in them.
"""

from __future__ import annotations

import argparse
import fcntl
import heapq
import json
import os
import random
import secrets
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

SUBNET, PORT = "10.77.0", 6379
MTU = 9000
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
STORE = 200 * 2**20  # bytes of a Ray node's object store, if nobody says otherwise
START_SECONDS = 120.0
TICKS = os.sysconf("SC_CLK_TCK")
ROOT = Path(__file__).parents[1]


def missing() -> str | None:
    """Why there can be no hosts here, or None."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "hosts need root on Linux"
    if shutil.which("ip") is None or shutil.which("unshare") is None or not os.path.exists("/dev/net/tun"):
        return "hosts need iproute2, util-linux and /dev/net/tun"
    return None


@dataclass
class Hosts:
    """Inside a `with` block they are there."""

    n: int
    ms: float = 0.0  # on the way from one host to another
    mbit: float = 0.0  # of each host's line, each way; 0 is no limit
    loss: float = 0.0  # share of frames
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="topmix-hosts-")))
    store: int = STORE
    token: str = field(default_factory=lambda: secrets.token_hex(32))
    _switch: subprocess.Popen[bytes] | None = None
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def namespace(self, i: int) -> str:
        return f"{self.folder.name}-{i}"

    @staticmethod
    def address(i: int) -> str:
        return f"{SUBNET}.{i + 1}"

    def __enter__(self) -> Hosts:
        if (why := missing()) is not None:
            raise RuntimeError(why)
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _leave)
        try:
            for i in range(self.n):
                _ip("netns", "add", self.namespace(i))
                for own in ("tmp", "shm"):
                    (self.folder / str(i) / own).mkdir(parents=True)
            self.shape(self.ms, self.mbit, self.loss)
            command = [sys.executable, "-m", "tools.hosts", "--switch", str(self.folder), "--hosts", str(self.n)]
            self._switch = subprocess.Popen(command, cwd=ROOT)
            _until((self.folder / "ready").exists, lambda: "the switch does not start")
            for i in range(self.n):
                name = self.namespace(i)
                _ip("-n", name, "link", "set", "lo", "up")
                _ip("-n", name, "address", "add", f"{self.address(i)}/24", "dev", "eth0")
                _ip("-n", name, "link", "set", "eth0", "mtu", str(MTU), "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for i in range(self.n):
            for pid in self.pids(i):  # of this namespace, which is ours
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for process in self._started:
            process.wait()
        if self._switch is not None:
            self._switch.kill()
            self._switch.wait()
        for i in range(self.n):
            subprocess.run(["ip", "netns", "delete", self.namespace(i)], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, i: int, command: Sequence[str]) -> list[str]:
        """What runs a command on host i."""
        own = self.folder / str(i)
        mounts = f'mount --bind {own}/shm /dev/shm && mount --bind {own}/tmp /tmp && exec "$@"'
        inside = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, "sh", *command]
        return ["ip", "netns", "exec", self.namespace(i), *inside]

    def start(self, i: int, command: Sequence[str], **given: object) -> subprocess.Popen[bytes]:
        """A process on host i, which ends with the hosts."""
        own = {"TMPDIR": "/tmp", "TOPMIX_CACHE": "/tmp/cache", "PYTHONPATH": _python_path()}
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}  # as Ray wants it of a cluster
        environment = {**os.environ, **own, **token}
        process = subprocess.Popen(self.command(i, command), env=environment, **given)  # type: ignore[call-overload]
        self._started.append(process)
        return process

    def shape(self, ms: float = 0.0, mbit: float = 0.0, loss: float = 0.0) -> None:
        """The lines are like this from now on."""
        self.ms, self.mbit, self.loss = ms, mbit, loss
        new = self.folder / "new"
        new.write_text(json.dumps({"ms": ms, "mbit": mbit, "loss": loss}))
        new.replace(self.folder / "line")

    def cut(self, i: int) -> None:
        """Nobody hears host i any more, nor does it hear anybody, until `join`."""
        (self.folder / f"cut-{i}").touch()

    def join(self, i: int) -> None:
        (self.folder / f"cut-{i}").unlink(missing_ok=True)

    def kill(self, i: int) -> None:
        """All processes of host i end at once."""
        for pid in self.pids(i):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def pids(self, i: int) -> list[int]:
        found = subprocess.run(["ip", "netns", "pids", self.namespace(i)], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def sent(self, i: int) -> tuple[int, int]:
        """Bytes that host i has sent and received, headers included."""
        [found] = json.loads(_ip("-n", self.namespace(i), "-j", "-s", "link", "show", "eth0"))
        return found["stats64"]["tx"]["bytes"], found["stats64"]["rx"]["bytes"]

    def seconds(self, i: int) -> float:
        """Processor seconds of the processes that host i has now."""
        return sum(self.seconds_by_name(i).values())

    def seconds_by_name(self, i: int) -> dict[str, float]:
        """The same, by the first fifteen characters of their names."""
        found: dict[str, float] = {}
        for pid in self.pids(i):
            with suppress(OSError):
                before, _, after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
                fields, name = after.split(), before.partition("(")[2]
                found[name] = found.get(name, 0.0) + (int(fields[11]) + int(fields[12])) / TICKS
        return found

    def start_ray(self, cpus: int = 1) -> str:
        """A Ray node on each host. The address for programs that run on a host."""
        for i in range(self.n):
            self.start_node(i, cpus)
        return f"{self.address(0)}:{PORT}"

    def start_node(self, i: int, cpus: int = 1, *, jobs: bool = False) -> None:
        """With `jobs`, the first host takes some at port 8265; that needs ray[default]."""
        dashboard = "--dashboard-host=0.0.0.0" if jobs else "--include-dashboard=false"
        head = ["--head", f"--port={PORT}", dashboard]
        where = head if i == 0 else [f"--address={self.address(0)}:{PORT}"]
        command = [
            sys.executable, "-m", "ray.scripts.scripts", "start", *where, f"--node-ip-address={self.address(i)}",
            f"--num-cpus={cpus}", f"--object-store-memory={self.store}",
            "--disable-usage-stats", "--block",
        ]  # fmt: skip
        said, started = self.folder / f"ray-{i}.log", b"Ray runtime started"
        before = said.read_bytes().count(started) if said.exists() else 0
        with open(said, "ab") as log:
            self.start(i, command, stdout=log, stderr=log)
        _until(
            lambda: said.read_bytes().count(started) > before,
            lambda: f"Ray does not start on host {i}: {said.read_text(errors='replace')[-2000:]}",
        )


class Switch:
    """Frames from one TAP device to another, late, and some of them not at all."""

    def __init__(self, folder: Path, n: int):
        self.folder, self.rng = folder, random.Random(0)
        self.ports = [self._device(i) for i in range(n)]
        self._look()
        self.learned: dict[bytes, int] = {}  # address -> port
        self.free = [0.0] * n  # when the line of each host has sent what it was given
        self.waiting: list[tuple[float, int, int, bytes]] = []  # when, number, to whom, frame
        self.number = 0

    def _device(self, i: int) -> int:
        device, name = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK), f"tmx{os.getpid()}-{i}"
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
        _ip("link", "set", name, "netns", f"{self.folder.name}-{i}", "name", "eth0")
        return device

    def run(self) -> None:
        poll = select.epoll()
        of = {device: i for i, device in enumerate(self.ports)}
        for device in self.ports:
            poll.register(device, select.EPOLLIN)
        (self.folder / "ready").touch()
        looked = 0.0
        while True:
            now = time.monotonic()
            if now - looked > 0.05:
                looked = now
                self._look()
            wait = min(0.05, max(0.0, self.waiting[0][0] - now)) if self.waiting else 0.05
            for device, _ in poll.poll(wait):
                for _ in range(64):
                    try:
                        frame = os.read(device, 1 << 16)
                    except BlockingIOError:
                        break
                    self._take(of[device], frame)
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                _, _, port, frame = heapq.heappop(self.waiting)
                if port not in self.cut:
                    with suppress(OSError):  # its device is down, or its queue is full: the frame is lost
                        os.write(self.ports[port], frame)

    def _look(self) -> None:
        """What the lines are like now."""
        line = json.loads((self.folder / "line").read_text())
        self.delay, self.rate, self.loss = line["ms"] / 1e3, line["mbit"] * 125e3, line["loss"]
        self.cut = {i for i in range(len(self.ports)) if (self.folder / f"cut-{i}").exists()}

    def _take(self, port: int, frame: bytes) -> None:
        self.learned[frame[6:12]] = port
        if port in self.cut or (self.loss and self.rng.random() < self.loss):
            return
        now = time.monotonic()
        if self.rate:
            self.free[port] = max(self.free[port], now) + len(frame) / self.rate
            now = self.free[port]
        known = self.learned.get(frame[:6])
        for to in range(len(self.ports)) if known is None else (known,):
            if to != port:
                self.number += 1
                heapq.heappush(self.waiting, (now + self.delay, self.number, to, frame))


def _leave(*_: object) -> None:
    """By way of __exit__, which no second signal interrupts."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


def _until(is_so: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(otherwise())
        time.sleep(0.1)


def _python_path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hosts", type=int, default=2)
    p.add_argument("--ms", type=float, default=0.0, help="milliseconds from one host to another")
    p.add_argument("--mbit", type=float, default=0.0, help="megabits per second of each host's line; 0 is no limit")
    p.add_argument("--loss", type=float, default=0.0, help="share of frames that are lost")
    p.add_argument("--ray", action="store_true", help="start a Ray node on each host; RAY_ADDRESS says where")
    p.add_argument("--switch", type=Path, help=argparse.SUPPRESS)
    p.add_argument("command", nargs="*")
    a = p.parse_args(argv)
    if a.switch is not None:
        Switch(a.switch, a.hosts).run()
    with Hosts(a.hosts, a.ms, a.mbit, a.loss) as hosts:
        print(f"{a.hosts} hosts; touch {hosts.folder}/cut-1 cuts off the second", file=sys.stderr)
        if a.ray:
            os.environ["RAY_ADDRESS"] = hosts.start_ray()
        return hosts.start(0, a.command or [os.environ.get("SHELL", "sh")]).wait()


if __name__ == "__main__":
    sys.exit(main())
