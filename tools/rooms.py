"""Fails if a room of the library has more lines than its budget, if a room has none, if budgets are more than 40,000
lines together, or if a module imports one of a room above its own by a string, which import-linter cannot see.

    python tools/rooms.py

Rooms and budgets are in pyproject.toml, `[tool.topmix.packages]`, from the top of the house to its ground.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "topmix"
ALL_BUDGETS = 40_000
BY_STRING = re.compile(r"""(?:import_module|__import__)\(f?["']topmix\.(\w+)""")


def problems() -> list[str]:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["topmix"]["packages"]
    found = []
    if (total := sum(package["budget"] for package in packages.values())) > ALL_BUDGETS:
        found.append(f"budgets are {total:,} lines together, and may be {ALL_BUDGETS:,}")
    for room in ["(top)", *sorted(path.name for path in PACKAGE.iterdir() if any(path.glob("*.py")))]:
        if room not in packages:
            found.append(f"{room}: no purpose and no budget in [tool.topmix.packages]")
            continue
        files = PACKAGE.glob("*.py") if room == "(top)" else (PACKAGE / room).rglob("*.py")
        lines = sum(path.read_text().count("\n") for path in files)
        if lines > (budget := packages[room]["budget"]):
            found.append(f"{room}: {lines:,} lines of Python, and its budget is {budget:,}")
    for path in sorted(PACKAGE.rglob("*.py")):
        room, rooms = path.relative_to(PACKAGE).parts[0], list(packages)
        for other in BY_STRING.findall(path.read_text()):
            if room in rooms and rooms.index(room) > rooms.index(other):
                found.append(f"{path.relative_to(PACKAGE)}: imports from {other}, which is above it, by a string")
    return found


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "every room is within its budget")
    sys.exit(bool(found))
