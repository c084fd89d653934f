"""Type stubs of the native module: src/topmix/_core.pyi, made by nanobind's stubgen from what is built.

python tools/stubs.py --write      after adding or changing a binding
python tools/stubs.py --check      says what differs, and fails if anything does
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import sys
from pathlib import Path

STUB = Path(__file__).parents[1] / "src" / "topmix" / "_core.pyi"
HEADER = '"""Made by tools/stubs.py from the native module; do not edit."""\n\n'
FOOTER = '''
isa: str
"""The instruction set that was loaded."""

def supported_isas() -> list[str]:
    """Instruction sets that this processor runs, best first."""
'''


def generate() -> str:
    from nanobind.stubgen import StubGen

    built = importlib.import_module(f"topmix._core_{importlib.import_module('topmix._core').isa}")
    generator = StubGen(built)
    generator.put(built)
    lines = (line.rstrip() for line in generator.get().splitlines())
    # Which build stubgen saw must not show.
    text = re.sub(r"topmix\._core_\w+\.", "", "\n".join(lines).strip()) + "\n"
    return HEADER + text + FOOTER


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--write", action="store_true")
    how.add_argument("--check", action="store_true")
    args = parser.parse_args()

    fresh = generate()
    if args.write:
        STUB.write_text(fresh)
        return 0
    stored = STUB.read_text() if STUB.exists() else ""
    sys.stdout.writelines(difflib.unified_diff(stored.splitlines(True), fresh.splitlines(True), "stored", "built"))
    return int(stored != fresh)


if __name__ == "__main__":
    sys.exit(main())
