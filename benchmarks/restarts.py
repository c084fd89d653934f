"""Do restart proposals pay? Bound and score with and without, for documents visited warm and cold.

    python benchmarks/restarts.py --corpus wiki --K 100 --seeds 3
    python benchmarks/restarts.py --quick

A restart tries a document without one of its smallest topics and keeps the result if the document's objective rises.
Warm visits start where the last left off, cold ones from the words. With min_topic_mass = 0 nothing else removes small
topics from a document; the default threshold is beside it. All else is the same: variational posterior, memoized, L =
16, eta = 0.1, the same topics to start from and the same number of passes. Printed are means over seeds, with least and
greatest: bound a token and completion score at the end, share of restarts that were accepted in all passes and in the
last, and seconds. Validation documents are scored unless --role says otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import datasets
import drawing
from curves import Curve
from methods import ETA
from runs import HERE, Runs

NO_LIMIT = 1e4  # seconds: runs end with their passes


def grid(
    passes: int, restarts: Iterable[int] = (0, 5), masses: Iterable[float] = (0.0, 2.5), n_active: int | None = 16
) -> dict[str, dict[str, Any]]:
    """Settings of LDA by name: warm or cold, with and without restarts, at several epsilons."""
    shared = {"posterior": "variational", "topic_word_prior": ETA, "n_active": n_active, "max_iter": passes}
    return {
        f"{start}, {f'{n} restarts' if n else 'no restarts'}, ε = {eps:g}": shared
        | {"cold_visits": visits, "restarts": n, "min_topic_mass": eps}
        for eps in masses
        for start, visits in (("warm", 1), ("cold", None))
        for n in restarts
    }


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", nargs="+", default=["wiki"])
    p.add_argument("--K", type=int, default=100)
    p.add_argument("--passes", type=int, default=20)
    p.add_argument("--restarts", nargs="+", type=int, default=[0, 5])
    p.add_argument("--masses", nargs="+", type=float, default=[0.0, 2.5], help="values of min_topic_mass")
    p.add_argument("--dense", action="store_true", help="all K topics for each word, instead of 16")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--split", type=int, default=0)
    p.add_argument("--role", choices=datasets.ROLES, default="validation")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--quick", action="store_true", help="a generated corpus and few passes, to see that it runs")
    p.add_argument("--out", type=Path, default=HERE / "results")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.passes, a.seeds = [datasets.GENERATED], 20, 3, 1
    runs = Runs(a.out, a.threads, a.fresh, a.split, a.role, own_process=not a.quick)
    for corpus in a.corpus:
        print(f"\n{corpus}, K = {a.K}, {a.passes} passes, {a.seeds} seeds, split {a.split}, {a.role} documents")
        head = f"  {'':<32}{'bound a token':>28}{'score':>28}"
        print(f"{head}{'accepted':>10}{'at the end':>11}{'seconds':>9}{'docs/s':>8}")
        known: dict[str, list[Curve]] = {}
        for name, settings in grid(a.passes, a.restarts, a.masses, None if a.dense else 16).items():
            known[name] = [runs.curve("topmix", name, corpus, a.K, seed, NO_LIMIT, settings) for seed in range(a.seeds)]
            print(row(name, known[name]), flush=True)
        draw(corpus, a.K, known, a.out)
    return 0


def bound(curve: Curve) -> float:
    return curve.log[-1]["objective"]


def accepted(entries: list[dict[str, float]]) -> float:
    """Share of restarts that raised their document's objective; NaN where none was tried."""
    tried = sum(e["restarts"] for e in entries)
    return sum(e["accepted"] for e in entries) / tried if tried else float("nan")


def row(name: str, curves: list[Curve]) -> str:
    def several(values: list[float]) -> str:
        return f"{sum(values) / len(values):>10.4f} ({min(values):.4f}…{max(values):.4f})"

    log = [e for c in curves for e in c.log]
    seconds = sum(c.log[-1]["seconds"] for c in curves) / len(curves)
    documents = sum(c.log[-1]["documents"] for c in curves) / len(curves)
    bounds, scores = several([bound(c) for c in curves]), several([c.final["score"] for c in curves])
    share = "".join(
        f"{x:>10.1%}" if x == x else f"{'':>10}" for x in (accepted(log), accepted([c.log[-1] for c in curves]))
    )
    return f"  {name:<32}{bounds:>28}{scores:>28}{share} {seconds:>9.1f}{documents / seconds:>8.0f}"


def draw(corpus: str, K: int, curves: dict[str, list[Curve]], folder: Path) -> None:
    plt = drawing.pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    draw_bounds(axes, {name: some[0] for name, some in curves.items()})
    axes.set_title(f"{corpus}, K = {K}")
    axes.legend()
    drawing.save(figure, folder / f"restarts_{corpus}_{K}.png")
    plt.close(figure)


def draw_bounds(axes: Any, curves: dict[str, Curve]) -> None:
    """Bound a token against passes: red with restarts, blue without; dashed where warm; open marks where pruned."""
    for name, c in curves.items():
        color = drawing.RED if c.settings["restarts"] else drawing.BLUE
        style = {"color": color, "ls": "--" if c.settings["cold_visits"] else "-"}
        style |= {"mfc": "white"} if c.settings["min_topic_mass"] else {}
        bounds = [e["objective"] for e in c.log]
        axes.plot(
            range(1, len(bounds) + 1),
            bounds,
            label=name,
            marker="o" if c.settings["cold_visits"] is None else "s",
            **style,
        )
    axes.set(xlabel="passes", ylabel="bound (nats a token)")
    axes.xaxis.get_major_locator().set_params(integer=True)
    drawing.zoom(axes, [e["objective"] for c in curves.values() for e in c.log])


if __name__ == "__main__":
    sys.exit(main())
