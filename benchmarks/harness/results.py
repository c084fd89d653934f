"""Results as rows: a JSON object per line, each with everything that one must know to read it.

    {"benchmark": "passes", "date": "2025-01-31", "machine": {...}, "versions": {...}, "commit": "...",
     "corpus": {"name": "nips", "sha256": "...", "split": 0, "role": "test"}, "settings": {...}, "result": {...}}

Committed rows are in benchmarks/results/*.jsonl, one file per script.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.harness import machine
from topmix.base.component import Component

FOLDER = machine.ROOT / "benchmarks" / "results"


class Data(Protocol):
    """What was learned from: a corpus or rows of numbers."""

    @property
    def about(self) -> dict[str, Any]: ...


class Results:
    """Takes the rows of one script and appends them to its file; without a file it takes them and does nothing."""

    def __init__(self, path: Path | None, benchmark: str) -> None:
        self.path, self.benchmark = path, benchmark

    def add(self, result: dict[str, Any], settings: dict[str, Any], data: Data | None = None) -> None:
        if self.path is not None:
            append(self.path, row(self.benchmark, result, settings, data.about if data else None))


def row(
    benchmark: str, result: dict[str, Any], settings: dict[str, Any], corpus: dict[str, Any] | None = None
) -> dict[str, Any]:
    """One result with its machine, versions, commit, corpus and settings."""
    return {
        "benchmark": benchmark,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine.describe(),
        "versions": machine.versions(),
        "commit": machine.commit(),
        "corpus": corpus,
        "settings": settings,
        "result": result,
    }


def append(path: Path, row: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as f:
        f.write(json.dumps(_plain(row), allow_nan=False) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """All rows of a file, the oldest first; none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def _plain(value: Any) -> Any:
    """As JSON has it: no components, arrays or numbers of NumPy, and null for NaN and infinities."""
    if isinstance(value, Component):
        value = value.to_dict()
    if isinstance(value, dict):
        return {str(name): _plain(v) for name, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
