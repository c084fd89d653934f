"""Which run of a peer counts: chosen on validation documents, reported on test documents."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.harness.curve import Curve

Row = dict[str, Any]


class Best(NamedTuple):
    """One run at one moment with one prior: the best of some on validation documents."""

    row: Row
    prior: str  # "" is the evaluator's, "_own_alpha" the method's own
    validation: float
    test: float
    seconds: float  # until its test score was as high for the first time


def best(rows: list[Row]) -> Best:
    """Of all points of all these runs, with either prior."""
    found = [point for row in rows for prior in ("", "_own_alpha") for point in _points(row, prior)]
    if not found:
        raise ValueError("there is no run with scores of validation documents")
    return max(found, key=lambda b: b.validation)


def _points(row: Row, prior: str) -> list[Best]:
    curve = Curve.from_dict(row["result"]["curve"])
    test = curve.column(f"score{prior}")
    return [
        Best(row, prior, v, t, curve.time_to(t, f"score{prior}"))
        for v, t in zip(curve.column(f"validation{prior}"), test)
        if v is not None and t is not None
    ]


def reached(rows: list[Row], score: float) -> list[float]:
    """Seconds until each of our runs has this test score, the soonest first; infinite where it has not."""
    return sorted(Curve.from_dict(row["result"]["curve"]).time_to(score) for row in rows)
