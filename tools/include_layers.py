"""Fails if a header of cpp/ includes one of a room above its own, or if includes go round in a circle.

    python tools/include_layers.py

A room (a folder of cpp/) may include itself and the rooms that it names here. Paths are written from cpp/, as in
`#include "simd/block.hpp"`.
"""

from __future__ import annotations

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

CPP = Path(__file__).resolve().parent.parent / "cpp"

BELOW: dict[str, set[str]] = {
    "base": set(),
    "data": {"base", "simd"},
    "simd": {"base"},
    "models": {"base", "simd"},
    "steps": {"base", "simd", "models"},
    "chains": {"base", "simd", "models", "steps"},
    "asynchronous": {"base", "simd", "models", "steps"},
}
BELOW["bind"] = BELOW["tests"] = set(BELOW)


def problems() -> list[str]:
    found = []
    graph: dict[str, list[str]] = {}
    for path in sorted([*CPP.rglob("*.hpp"), *CPP.rglob("*.cpp")]):
        name = path.relative_to(CPP).as_posix()
        graph[name] = re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)
        room = name.split("/")[0]
        for other in graph[name]:
            there = other.split("/")[0]
            if not (CPP / other).is_file():
                found.append(f"cpp/{name}: {other} is no path from cpp/")
            elif there != room and there not in BELOW.get(room, set()):
                found.append(f"cpp/{name}: {room} may not include {other}")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append("includes in a circle: " + " <- ".join(error.args[1]))
    return found


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or None)
