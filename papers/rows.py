"""The stored rows of papers/results, as figures, tables and conclusions ask for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.harness import results
from benchmarks.harness.curve import Curve
from papers import RESULTS

Row = dict[str, Any]


def rows(paper: str, folder: Path = RESULTS, **wanted: Any) -> list[Row]:
    """Rows of a paper whose settings have these values; `corpus` asks for the corpus's name."""
    found = results.read(folder / f"{paper}.jsonl")
    corpus = wanted.pop("corpus", None)
    return [
        row
        for row in found
        if all(row["settings"].get(name) == value for name, value in wanted.items())
        and (corpus is None or corpus_of(row) == corpus)
    ]


def corpus_of(row: Row) -> str:
    return row["corpus"]["name"] if row["corpus"] else ""


def curve_of(row: Row) -> Curve:
    return Curve.from_dict(row["result"]["curve"])


def panels(found: list[Row]) -> dict[tuple[str, int], dict[str, Row]]:
    """Rows by corpus and K, then by the name of the method: of the first seed, and the last of a name counts."""
    out: dict[tuple[str, int], dict[str, Row]] = {}
    for row in found:
        if is_first_seed(row):
            out.setdefault((corpus_of(row), row["settings"]["K"]), {})[row["settings"]["name"]] = row
    return out


def is_first_seed(row: Row) -> bool:
    return not row["settings"].get("seed")


def seeds(found: list[Row], *keys: str) -> dict[tuple[Any, ...], dict[str, list[Row]]]:
    """Rows by corpus and these settings, then by the name of the method: one row of each seed, the last of it."""
    out: dict[tuple[Any, ...], dict[str, dict[int, Row]]] = {}
    for row in found:
        s = row["settings"]
        where = (corpus_of(row), *(s[key] for key in keys))
        out.setdefault(where, {}).setdefault(s["name"], {})[s.get("seed") or 0] = row
    return {where: {name: list(some.values()) for name, some in named.items()} for where, named in out.items()}
