"""A method run in its own process, and remembered.

Runs are kept as result rows, in peers.jsonl and topmix.jsonl of a folder, and taken from there if the machine, the
corpus, the version and the settings are the same. The version of topmix names its very code: any change of the library
makes its remembered runs void.

This file is also the process a method runs in: `python -m benchmarks.harness.runs '{"method": ...}'` prints a Run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import datasets, machine, results
from benchmarks.harness.arguments import RUNS
from benchmarks.harness.curve import Curve
from benchmarks.harness.evaluate import EVALUATORS, describe, normalised
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.methods import METHODS, SETTINGS, label, version_of
from benchmarks.harness.methods.method import Topics
from benchmarks.harness.stopwatch import Milestones, Stopwatch
from topmix.metrics import completion_score

DRIFT = 1.25  # times slower or faster than at calibration: a remembered run is then doubtful
NO_LIMIT = 1e4  # seconds, for runs that end with their passes


@dataclass(frozen=True)
class Plan:
    """What is to be run. `setting` is the name of these settings; `n_docs` trains on the first documents only."""

    method: str
    setting: str
    corpus: str
    K: int
    seed: int
    seconds: float  # of training
    settings: dict[str, Any]
    threads: int = 2
    split: int = 0
    role: str = "test"  # which documents are scored
    evaluator: str = "completion"
    n_docs: int | None = None

    @property
    def label(self) -> str:
        return label(self.method, self.setting)

    def data(self) -> datasets.Dataset:
        return datasets.load(self.corpus, split=self.split, role=self.role)


@dataclass
class Run:
    """A plan and what came of it. `final` is measured at the end: score, npmi, ..., resident_mb."""

    plan: Plan
    curve: Curve
    final: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """For a result row, where the plan is in the settings."""
        return {"curve": self.curve.to_dict(), "final": self.final}

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Run:
        result = row["result"]
        return cls(Plan(**row["settings"]), Curve.from_dict(result["curve"]), result["final"])


def train(plan: Plan, data: datasets.Dataset, due: Milestones | None = None, both: bool = False) -> Run:
    """Trains until the seconds are spent, or the method stops by itself, and scores it on the way.

    `both` scores test and validation documents at each point, and at the end also with the method's own prior, if it is
    another than the evaluator's: the columns score, validation, score_own_alpha and validation_own_alpha.
    """
    X = data.train if plan.n_docs is None else data.train[: plan.n_docs]
    evaluate, due, curve = EVALUATORS[plan.evaluator], due or Milestones(plan.seconds), Curve(plan.label)
    last: Callable[[], Topics] | None = None

    def scores(topics: Topics, at_end: bool) -> dict[str, float]:
        phi = normalised(topics.topic_word)
        if not both:
            return {"score": evaluate(phi, data.scored)}
        found = {}
        for name, documents in (("score", data.test), ("validation", data.validation)):
            found[name] = evaluate(phi, documents)
            if at_end and is_learned(topics.alpha):
                found[f"{name}_own_alpha"] = completion_score(phi, documents, doc_topic_prior=topics.alpha)
        return found

    def report(topics: Callable[[], Topics], n_pass: float, /, **facts: float) -> bool:
        nonlocal last
        with watch.pause(), memory.pause():
            last = topics
            found = scores(topics(), watch.seconds >= plan.seconds) if due.due(watch.seconds) else {}
            curve.add(watch.seconds, n_pass=n_pass, documents=n_pass * X.shape[0], **found, **facts)
        return watch.seconds >= plan.seconds

    with PeakMemory() as memory:
        watch = Stopwatch()
        METHODS[plan.method](X, plan.K, plan.seed, plan.threads, watch, report, **plan.settings)
    assert last is not None, f"{plan.label} reported nothing"
    topics = last()
    phi = normalised(topics.topic_word)
    if curve.score[-1] is None:  # it stopped by itself
        curve.amend(**scores(topics, at_end=True))
    final = {"score": curve.score[-1], "seconds": curve.seconds[-1]}
    final |= {"resident_mb": memory.resident, "anonymous_mb": memory.anonymous}
    final |= describe(phi, topics.tokens, data)
    if topics.alpha is not None:
        final["score_with_own_alpha"] = completion_score(phi, data.scored, doc_topic_prior=topics.alpha)
    return Run(plan, curve, final)


def is_learned(alpha: np.ndarray | None) -> bool:
    """Whether a method's prior is another than the evaluator's own, 0.5 / K."""
    return alpha is not None and not np.allclose(alpha, 0.5 / len(alpha), rtol=1e-3)


def train_for(
    seconds: float, method: str, X: sp.csr_array, K: int, seed: int, threads: int, **settings: Any
) -> tuple[Topics, float]:
    """For whoever wants the topics themselves: normalised topics after some seconds, and passes."""
    watch = Stopwatch()
    seen: list[tuple[Callable[[], Topics], float]] = []

    def report(topics: Callable[[], Topics], n_pass: float, /, **_: float) -> bool:
        seen[:] = [(topics, n_pass)]
        return watch.seconds >= seconds

    METHODS[method](X, K, seed, threads, watch, report, **settings)
    topics, n_pass = seen[0][0](), seen[0][1]
    return topics._replace(topic_word=normalised(topics.topic_word), tokens=np.asarray(topics.tokens)), n_pass


@dataclass
class Runs:
    """Where runs come from. `fresh` runs again what is remembered, all of it or only "ours"."""

    folder: Path = RUNS
    threads: int = 2
    fresh: bool | str = False
    split: int = 0
    role: str = "test"
    evaluator: str = "completion"
    own_process: bool = True  # False is for tests and --quick: memory and imports are then shared
    results: results.Results | None = None  # every run that somebody asked for is written there too
    _rows: dict[Path, dict[str, dict[str, Any]]] = field(default_factory=dict, init=False)

    def run(
        self, method: str, setting: str, corpus: str, K: int, seed: int, seconds: float,
        settings: dict[str, Any] | None = None, n_docs: int | None = None,
    ) -> Run:  # fmt: skip
        """What this method gives in some seconds. `setting` is a name of SETTINGS, or any name with settings."""
        settings = SETTINGS[method][setting] if settings is None else settings
        scoring = {"split": self.split, "role": self.role, "evaluator": self.evaluator}
        plan = Plan(method, setting, corpus, K, seed, seconds, settings, self.threads, **scoring, n_docs=n_docs)
        row = self._remembered(plan) or self._new(plan)
        if self.results is not None and self.results.path is not None:
            results.append(self.results.path, row | {"benchmark": self.results.benchmark})
        return Run.from_row(row)

    def _remembered(self, plan: Plan) -> dict[str, Any] | None:
        if self.fresh is True or (self.fresh and plan.method == "topmix"):
            return None
        row = self._known(self._path(plan)).get(key(plan))
        if row is not None and not 1 / DRIFT < (ratio := machine.calibrate() / row["machine"]["calibration"]) < DRIFT:
            when = "than when this run was made: use --fresh"
            print(f"{plan.label}: this machine takes {ratio:.2f} times as long now {when}", file=sys.stderr)
        return row

    def _new(self, plan: Plan) -> dict[str, Any]:
        where = f"{plan.corpus}, K = {plan.K}, seed {plan.seed}"
        print(f"running {plan.label} on {where}", file=sys.stderr, flush=True)
        result = in_own_process(plan) if self.own_process else train(plan, plan.data()).to_dict()
        row = results.row("runs", result, asdict(plan), corpus_of(plan)) | {"key": key(plan)}
        results.append(self._path(plan), row)
        self._known(self._path(plan))[row["key"]] = row
        return row

    def _path(self, plan: Plan) -> Path:
        return self.folder / ("topmix.jsonl" if plan.method == "topmix" else "peers.jsonl")

    def _known(self, path: Path) -> dict[str, dict[str, Any]]:
        if path not in self._rows:
            self._rows[path] = {row["key"]: row for row in results.read(path)}  # the last row with a key counts
        return self._rows[path]


def key(plan: Plan) -> str:
    """Two runs with the same key are the same run."""
    what = {
        "machine": machine.fingerprint(),
        "version": version_of(plan.method),
        "corpus": datasets.sha256(plan.corpus),
    }
    return machine.digest([json.dumps(asdict(plan) | {"of": what}, sort_keys=True).encode()])[:16]


def corpus_of(plan: Plan) -> dict[str, Any]:
    return {
        "name": plan.corpus, "sha256": datasets.sha256(plan.corpus), "split": plan.split, "role": plan.role,
    }  # fmt: skip


def in_own_process(plan: Plan) -> dict[str, Any]:
    limits = {f"{library}_NUM_THREADS": str(plan.threads) for library in ("OMP", "OPENBLAS", "MKL")}
    folder = os.environ.get("TOPMIX_DATA")
    where = {"TOPMIX_DATA": str(Path(folder).resolve())} if folder else {}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness.runs", json.dumps(asdict(plan))],
        cwd=machine.ROOT, env=os.environ | limits | where, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    plan = Plan(**json.loads(sys.argv[1]))
    print(json.dumps(train(plan, plan.data()).to_dict()))


if __name__ == "__main__":
    main()
