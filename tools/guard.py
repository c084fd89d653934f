#!/usr/bin/env python3
"""The regression guard: instructions of the hot kernels against a baseline, which noise of the machine cannot move.

    tools/guard.py            # compares; more than 3% up fails, and says which kernel
    tools/guard.py --accept   # takes the present counts as the baseline of this compiler

callgrind counts the instructions of each kernel of cpp/tests/instructions.cpp on fixed data (instructions.sh). Counts
depend on the compiler, so cpp/tests/instructions.json has a baseline for each that was accepted. Without valgrind, or
with a compiler that has no baseline, one line says so and nothing is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASELINE = ROOT / "cpp" / "tests" / "instructions.json"
MOST = 0.03  # growth that is let pass
Counts = dict[str, int]


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--accept", action="store_true", help="write the present counts as the baseline")
    p.add_argument("kernels", nargs="*", help="only these")
    a = p.parse_args(argv)
    known: dict[str, Counts] = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    compiler = compiler_name()
    if shutil.which("valgrind") is None:
        print("guard: skipped, valgrind is not installed")
        return 0
    if not a.accept and compiler not in known:
        print(f"guard: skipped, there is no baseline for {compiler} (make guard-accept writes one)")
        return 0
    now = counted(a.kernels)
    if a.accept:
        known[compiler] = known.get(compiler, {}) | now if a.kernels else now
        BASELINE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"guard: {len(now)} counts accepted for {compiler}")
        return 0
    worse, said = compare(known[compiler], now)
    print("\n".join(said))
    return int(worse)


def compare(before: Counts, now: Counts) -> tuple[bool, list[str]]:
    """Whether a kernel has grown too much, and what to say."""
    said, worse = [], False
    for kernel, count in now.items():
        if kernel not in before:
            said.append(f"guard: {kernel} is new: make guard-accept")
            continue
        growth = count / before[kernel] - 1
        if growth > MOST:
            worse = True
            said.append(f"guard: {kernel} takes {growth:+.1%} instructions ({before[kernel]:,} -> {count:,})")
        elif growth < -MOST:
            said.append(f"guard: {kernel} is better by {-growth:.1%}: make guard-accept keeps it so")
    if worse:
        said.append("guard: failed. If that is meant, accept the new counts with make guard-accept.")
    elif not any("new" in line for line in said):
        said.append(f"guard: {len(now)} kernels within {MOST:.0%} of the baseline")
    return worse, said


def counted(kernels: list[str]) -> Counts:
    """Instructions by "instruction set kernel"."""
    isas = {"ISAS": "x86-64-v3" if platform.machine() == "x86_64" else "base"}
    script = str(ROOT / "cpp" / "tests" / "instructions.sh")
    done = subprocess.run(
        [script, *kernels], stdout=subprocess.PIPE, text=True, check=True, env=os.environ | isas
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()]
    bad = [" ".join(line) for line in lines if len(line) != 3 or not int(line[2])]
    if bad:
        raise SystemExit(f"guard: callgrind counted nothing for {', '.join(bad)}")
    return {f"{isa} {kernel}": int(count) for isa, kernel, count in lines}


def compiler_name() -> str:
    """Name, full version and machine of the compiler that cmake would take."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or "g++"
    try:
        said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "no compiler"
    return f"{said.splitlines()[0]}, {platform.machine()}"


if __name__ == "__main__":
    sys.exit(main())
