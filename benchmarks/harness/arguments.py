"""The options that all scripts have, so that they are spelled and explained once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from benchmarks.harness import datasets
from benchmarks.harness.machine import ROOT

RUNS = ROOT / "benchmarks" / "results" / "runs"


def parser(doc: str | None, *, quick: str = "") -> argparse.ArgumentParser:
    """A parser that explains the script by its docstring, with --out, --threads and, if it says how, --quick."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=Path, metavar="FILE", help="append a JSON row per result to this file")
    p.add_argument("--threads", type=int, default=2)
    if quick:
        p.add_argument("--quick", action="store_true", help=f"{quick}: shows that the script runs, no more")
    return p


def add_corpus(p: argparse.ArgumentParser, default: list[str] | str, role: str | None = "test") -> None:
    """--corpus; with a default role also --split and --role."""
    several = {"nargs": "+"} if isinstance(default, list) else {}
    p.add_argument("--corpus", default=default, metavar="NAME", **several)
    if role:
        p.add_argument("--split", type=int, default=0, help="which documents are for validation; the test set is fixed")
        p.add_argument("--role", choices=datasets.ROLES, default=role, help="which documents are scored")


def add_runs(p: argparse.ArgumentParser) -> None:
    """Where runs are remembered."""
    p.add_argument("--runs", type=Path, default=RUNS, metavar="FOLDER", help="where runs are remembered")
    p.add_argument("--fresh", action="store_true", help="run everything again")


def add_draw(p: argparse.ArgumentParser, default: Path | None = None) -> None:
    p.add_argument("--draw", type=Path, default=default, metavar="FOLDER", help="draw figures into this folder")


def command(main: Callable[[], int]) -> NoReturn:
    """Runs a script. Missing data is a message, not a traceback."""
    try:
        sys.exit(main())
    except datasets.MissingData as missing:
        print(missing, file=sys.stderr)
        sys.exit(2)
