"""The peak of a process's memory, as the kernel counts it (Linux; elsewhere NaN).

Resident memory is everything of the process that is in memory; anonymous memory is what it allocated. Pages of a mapped
file are in the first and not in the second. Processes that it started count too; pages that a fork shares are counted
once in each.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self


class PeakMemory:
    """The largest resident and anonymous memory, in MB, of samples taken in the block, except inside `pause`."""

    def __init__(self, every: float = 0.02, *, children: bool = True) -> None:
        self._now = now if children else lambda: of_process("self")
        self.every, self.resident, self.anonymous = every, float("nan"), float("nan")
        self._stop, self._paused = threading.Event(), False

    def __enter__(self) -> Self:
        self.resident, self.anonymous = self._now()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @contextmanager
    def pause(self) -> Iterator[None]:
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    def _watch(self) -> None:
        while not self._stop.wait(self.every):
            if not self._paused:
                resident, anonymous = self._now()
                if not self._paused:  # a pause may have begun while we read
                    self.resident, self.anonymous = max(self.resident, resident), max(self.anonymous, anonymous)


def now() -> tuple[float, float]:
    """(resident, anonymous) MB of this process and its children."""
    resident, anonymous = of_process("self")
    for child in _children(os.getpid()):
        r, a = of_process(str(child))
        resident, anonymous = resident + r, anonymous + a
    return resident, anonymous


def of_process(pid: str) -> tuple[float, float]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # gone meanwhile, or no such file system
        return (float("nan"), float("nan")) if pid == "self" else (0.0, 0.0)
    fields = dict(line.split(":", 1) for line in lines if line.startswith(("VmRSS:", "RssAnon:")))
    mb = {name: int(value.split()[0]) / 1024 for name, value in fields.items()}
    return mb.get("VmRSS", 0.0), mb.get("RssAnon", 0.0)


def forget_peak() -> None:
    """`high_water` starts again from what is resident now, where the kernel lets it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def high_water() -> float:
    """The peak of resident memory of this process, in MB, since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return (found[0] if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            direct = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in direct:
            found += [child, *_children(child)]
    return found
