"""A measurement in its own process, so that its memory is not that of other measurements.

A script that measures this way has `measure(**asked)`. What is asked and what it returns must be JSON.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import Any

from benchmarks.harness.machine import ROOT


def measure_apart(script: str, asked: dict[str, Any]) -> dict[str, Any]:
    """`benchmarks.SCRIPT.measure(**asked)`, in a new process."""
    command = [sys.executable, "-m", "benchmarks.harness.own_process", script, json.dumps(asked)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    script, asked = sys.argv[1:]
    print(json.dumps(importlib.import_module(f"benchmarks.{script}").measure(**json.loads(asked))))


if __name__ == "__main__":
    main()
