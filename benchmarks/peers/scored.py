"""A run that is scored on both kinds of documents, written as a row."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import datasets
from benchmarks.harness.jobs import Budget, Write
from benchmarks.harness.methods import SETTINGS, ours
from benchmarks.harness.runs import Plan, train
from benchmarks.harness.stopwatch import Milestones

THREADS = 2
OURS = "topmix"


def default_fit() -> dict[str, Any]:
    """Settings of a fit that stops as it does for users; without them a run takes all its seconds."""
    return {name: ours.default(name, 2) for name in ("max_iter", "tol")}


def run(
    write: Write, budget: Budget, corpus: str, K: int, method: str, setting: str, seed: int, seconds: float,
    settings: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Trains for some seconds, or until the method stops by itself."""
    data, limit = datasets.load(corpus), budget.at_most(seconds)
    given = SETTINGS[method][setting] if settings is None else settings
    plan = Plan(method, setting, corpus, K, seed, limit, given, THREADS)
    per_octave, first = (3, 0.1) if method == OURS else (1, limit / 8)  # scores of many topics take seconds
    found = train(plan, data, Milestones(limit, per_octave, first), both=True)
    found.curve.keep([i for i, score in enumerate(found.curve.score) if score is not None])
    about = {"method": method, "setting": setting, "K": K, "seed": seed, "seconds": limit, "run": given}
    write(found.to_dict(), about | {"evaluator": plan.evaluator}, data)
