"""A run of topics that is scored on the way: what Figs. 4 and 5 of one paper and Figs. 1 to 3 of another need."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import datasets
from benchmarks.harness.jobs import Budget, Write
from benchmarks.harness.runs import NO_LIMIT, Plan, train
from benchmarks.harness.stopwatch import Milestones

Settings = dict[str, Any]


def preset(
    name: str, *, passes: int | None = None, within: bool = True, change: Settings | None = None, **arguments: Any
) -> Settings:
    """Settings of a run: a function of topmix.presets, its arguments, and what is changed afterwards."""
    settings = {"estimator": "preset", "preset": name, "arguments": arguments, "within_passes": within}
    return settings | ({"max_iter": passes} if passes else {}) | (change or {})


def scored_run(
    write: Write, budget: Budget, about: Settings, corpus: str, K: int, settings: Settings, seconds: float | None,
    *, evaluator: str = "completion", seed: int = 0, n_docs: int | None = None, held_out: int = datasets.MOST_HELD_OUT,
    role: str = "test",
) -> None:  # fmt: skip
    """Trains for some seconds, or to the end of its passes, and writes the curve."""
    data = datasets.load(corpus, most=held_out, role=role)
    limit = budget.at_most(NO_LIMIT if seconds is None else seconds)
    plan = Plan("topmix", about["name"], corpus, K, seed, limit, settings, 1, evaluator=evaluator, n_docs=n_docs)
    found = train(plan, data, Milestones(limit, per_octave=1 if K > 200 else 2, first=0.5))  # scores take seconds
    points = zip(found.curve.score, found.curve.column("objective"))
    found.curve.keep([i for i, point in enumerate(points) if any(v is not None for v in point)])
    write(found.to_dict(), about | {"K": K, "seed": seed, "seconds": limit, "n_docs": n_docs, "run": settings}, data)
