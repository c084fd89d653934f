"""Which machine, which versions, which code: what one must know to read a figure.

A figure counts only on the machine that made it. `calibrate` is a short piece of fixed work: its seconds stand beside
each result and show whether the machine was as fast then as it is now.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("topmix", "numpy", "scipy", "scikit-learn", "tomotopy", "gensim", "faiss-cpu")


@cache
def describe() -> dict[str, Any]:
    """The machine, as a result row has it."""
    from topmix import _core

    return {
        "processor": processor(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "instructions": _core.isa,
        "calibration": calibrate(),
    }


def fingerprint() -> str:
    """Processor and usable cores in one line: seconds of two runs are comparable only if this is the same."""
    return f"{processor()}, {cores()} cores, {platform.system()}"


@cache
def processor() -> str:
    """The processor's name. ARM's /proc/cpuinfo has none, so lscpu is asked there."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    for line in [*lines, *_said("lscpu").splitlines()]:
        if line.lower().startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def calibrate(repeat: int = 5) -> float:
    """Seconds of fixed work that, like topic models, reads memory out of order. The best of a few, once per process."""
    rng = np.random.default_rng(0)
    table, ids = rng.random((20_000, 64), dtype=np.float32), rng.integers(20_000, size=200_000)

    def work() -> float:
        begin = time.perf_counter()
        np.add.reduceat(table[ids], np.arange(0, len(ids), 100)).sum()
        return time.perf_counter() - begin

    return min(work() for _ in range(repeat))


def version(package: str) -> str | None:
    """None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def versions() -> dict[str, str]:
    """Of Python, of topmix with a digest of its very code, and of every peer that is installed."""
    found = {name: v for name in PACKAGES if (v := version(name))}
    found["topmix"] = f"{found.get('topmix', '0')}+{code_of_topmix()}"
    return {"python": platform.python_version(), **found}


@cache
def commit() -> str:
    """The commit of this repository, with a plus where files differ from it; "unknown" without git."""
    found = _said("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD").strip()
    changed = _said("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no").strip()
    return (found + "+" * bool(changed)) or "unknown"


@cache
def code_of_topmix() -> str:
    """A few digits that change with the library's code, Python or native."""
    import topmix
    from topmix import _core

    root = Path(topmix.__file__).parent
    native = Path(str(sys.modules[f"topmix._core_{_core.isa}"].__file__))
    return digest(path.read_bytes() for path in [*sorted(root.rglob("*.py")), native])[:8]


def digest(pieces: Any) -> str:
    """SHA-256 of bytes or arrays, one after another."""
    sha = hashlib.sha256()
    for piece in pieces:
        sha.update(piece if isinstance(piece, bytes) else np.ascontiguousarray(piece).data)
    return sha.hexdigest()


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
