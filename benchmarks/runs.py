"""A method run in a process of its own, and remembered: what every comparison is made of.

Peers' curves are kept in peers.jsonl and taken from there when machine, versions and settings are the same. Ours are in
topmix.jsonl, under a version that names the code: a change of the library makes all of them void.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import datasets
import methods
from curves import Cache, Curve, calibrate

HERE = Path(__file__).resolve().parent
DRIFT = 1.25  # times slower or faster than at calibration: a cached curve is then doubtful


@dataclass
class Runs:
    """Where curves come from. `fresh` runs again what is known, all of it or only "ours"."""

    folder: Path = HERE / "results"
    threads: int = 2
    fresh: bool | str = False
    split: int = 0
    role: str = "test"
    evaluator: str = "completion"
    own_process: bool = True  # False is for tests: memory and imports are then shared
    _data: dict[str, datasets.Dataset] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.peers, self.ours = Cache(self.folder / "peers.jsonl"), Cache(self.folder / "topmix.jsonl")

    def curve(
        self, method: str, setting: str, corpus: str, K: int, seed: int, seconds: float,
        settings: dict[str, Any] | None = None,
    ) -> Curve:  # fmt: skip
        """What this method gives in so many seconds. `setting` is a name of SETTINGS, or any name with settings."""
        scoring = {"split": self.split, "role": self.role, "evaluator": self.evaluator}
        wanted = methods.plan(method, setting, corpus, K, seed, seconds, settings, **scoring)
        wanted.settings = wanted.settings | {"threads": self.threads}
        cache, fresh = self.peers, self.fresh is True
        if method == "topmix":
            cache, fresh = self.ours, bool(self.fresh)
            wanted.version += f"+{code_of_topmix()}"
        known = None if fresh else cache.get(wanted)
        if known is None:
            print(f"running {label(wanted)} on {corpus}, K = {K}, seed {seed}", file=sys.stderr, flush=True)
            known = self._run(wanted)
            cache.put(known)
        else:
            self._doubt(known)
        return known

    def _run(self, wanted: Curve) -> Curve:
        if not self.own_process:
            if wanted.corpus not in self._data:
                self._data[wanted.corpus] = datasets.load(wanted.corpus, split=self.split, role=self.role)
            return methods.run(wanted, self._data[wanted.corpus], self.threads)
        limits = {f"{library}_NUM_THREADS": str(self.threads) for library in ("OMP", "OPENBLAS", "MKL")}
        done = subprocess.run(
            [sys.executable, str(HERE / "methods.py"), json.dumps(asdict(wanted))],
            env=os.environ | limits, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        return Curve.from_dict(json.loads(done.stdout.splitlines()[-1]))

    def _doubt(self, known: Curve) -> None:
        ratio = calibrate() / known.calibration
        if not 1 / DRIFT < ratio < DRIFT:
            when = "than when the curve was made: use --fresh"
            print(f"{label(known)}: this machine is {ratio:.2f} times as slow now {when}", file=sys.stderr)


def label(curve: Curve) -> str:
    """The method's name, with the setting where it has several or one of its own."""
    named = methods.SETTINGS.get(curve.method, {})
    return curve.method if len(named) == 1 and curve.setting in named else f"{curve.method} ({curve.setting})"


@cache
def code_of_topmix() -> str:
    """A few digits that change with the library's code, Python or native."""
    import topmix
    from topmix import _core

    root = Path(topmix.__file__).parent
    digest = hashlib.sha256()
    for path in [*sorted(root.rglob("*.py")), Path(str(sys.modules[f"topmix._core_{_core.isa}"].__file__))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
