"""Do restart proposals pay, for documents visited warm and cold?

    python -m benchmarks.restarts --corpus wiki --K 100 --seeds 3
    python -m benchmarks.restarts --quick

A restart tries a document without one of its smallest topics and keeps the result if the document's objective rises.
Warm visits start from the last visit, cold ones from the words. With min_topic_mass = 0 nothing else removes small
topics from a document; the default threshold is beside it. All else is the same: variational posterior, memoized, L =
16, eta = 0.1, the same initial topics and the same number of passes. Printed are means over seeds, with least and
greatest: bound per token and completion score at the end, share of restarts that were accepted in all passes and in the
last, and seconds. Validation documents are scored unless --role says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness import arguments, datasets, drawing
from benchmarks.harness.curve import Curve
from benchmarks.harness.methods.method import ETA
from benchmarks.harness.results import Results
from benchmarks.harness.runs import NO_LIMIT, Run, Runs


def grid(
    passes: int, restarts: Iterable[int] = (0, 5), masses: Iterable[float] = (0.0, 2.5), n_active: int | None = 16
) -> dict[str, dict[str, Any]]:
    """Settings of LDA by name: warm or cold, with and without restarts, at several epsilons."""
    shared = {"inference": "variational", "topic_word_prior": ETA, "n_active": n_active, "max_iter": passes}
    return {
        f"{start}, {f'{n} restarts' if n else 'no restarts'}, ε = {eps:g}": shared
        | {"inference__cold_visits": visits, "inference__restarts": n, "inference__min_topic_mass": eps}
        for eps in masses
        for start, visits in (("warm", 1), ("cold", None))
        for n in restarts
    }


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few passes")
    arguments.add_corpus(p, ["wiki"], role="validation")
    p.add_argument("--K", type=int, default=100)
    p.add_argument("--passes", type=int, default=20)
    p.add_argument("--restarts", nargs="+", type=int, default=[0, 5])
    p.add_argument("--masses", nargs="+", type=float, default=[0.0, 2.5], help="values of min_topic_mass")
    p.add_argument("--dense", action="store_true", help="all K topics for each word, instead of 16")
    p.add_argument("--seeds", type=int, default=3)
    arguments.add_runs(p)
    arguments.add_draw(p)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.passes, a.seeds = [datasets.GENERATED], 20, 3, 1
    out = Results(a.out, "restarts")
    runs = Runs(a.runs, a.threads, a.fresh, a.split, a.role, own_process=not a.quick, results=out)
    for corpus in a.corpus:
        print(f"\n{corpus}, K = {a.K}, {a.passes} passes, {a.seeds} seeds, split {a.split}, {a.role} documents")
        head = f"  {'':<32}{'bound per token':>28}{'score':>28}"
        print(f"{head}{'accepted':>10}{'at the end':>11}{'seconds':>9}{'docs/s':>8}")
        known: dict[str, list[Run]] = {}
        for name, settings in grid(a.passes, a.restarts, a.masses, None if a.dense else 16).items():
            seeds = range(a.seeds)
            known[name] = [runs.run("topmix", name, corpus, a.K, seed, NO_LIMIT, settings) for seed in seeds]
            print(line(name, known[name]), flush=True)
        draw(corpus, a.K, known, a.draw)
    return 0


def accepted(curves: list[Curve], last: bool = False) -> float:
    """Share of restarts that raised their document's objective, in all passes or in the last; NaN if none was tried."""
    part = slice(-1, None) if last else slice(None)
    tried, kept = (
        sum(v for c in curves for _, v in c.series(name)[part] if v is not None) for name in ("restarts", "accepted")
    )
    return kept / tried if tried else float("nan")


def line(name: str, runs: list[Run]) -> str:
    def several(values: list[float]) -> str:
        return f"{sum(values) / len(values):>10.4f} ({min(values):.4f}…{max(values):.4f})"

    curves = [r.curve for r in runs]
    seconds = sum(c.seconds[-1] for c in curves) / len(curves)
    documents = sum(c.last("documents") for c in curves) / len(curves)
    bounds, scores = several([c.last("objective") for c in curves]), several([r.final["score"] for r in runs])
    shares = (accepted(curves), accepted(curves, last=True))
    share = "".join(f"{x:>10.1%}" if x == x else f"{'':>10}" for x in shares)
    return f"  {name:<32}{bounds:>28}{scores:>28}{share} {seconds:>9.1f}{documents / seconds:>8.0f}"


def draw(corpus: str, K: int, runs: dict[str, list[Run]], folder: Path | None) -> None:
    page = drawing.page(folder, f"restarts_{corpus}_{K}.png", (6, 4))
    if page is None:
        return
    axes = page.panels[0, 0]
    draw_bounds(axes, {name: some[0] for name, some in runs.items()})
    axes.set_title(f"{corpus}, K = {K}")
    axes.legend()
    page.save()


def draw_bounds(axes: Any, runs: dict[str, Run]) -> None:
    """Bound per token against passes: red with restarts, blue without; dashed if warm; open marks if pruned."""
    for name, run in runs.items():
        settings = run.plan.settings
        is_cold = settings["inference__cold_visits"] is None
        style = {
            "color": drawing.RED if settings["inference__restarts"] else drawing.BLUE,
            "ls": "-" if is_cold else "--",
            "marker": "o" if is_cold else "s",
        }
        style |= {"mfc": "white"} if settings["inference__min_topic_mass"] else {}
        drawing.lines(axes, [(name, run.curve.series("objective", "n_pass"), style)])
    axes.set(xlabel="passes", ylabel="bound (nats per token)")
    axes.xaxis.get_major_locator().set_params(integer=True)
    drawing.zoom(axes, [v for r in runs.values() for _, v in r.curve.series("objective")])


if __name__ == "__main__":
    arguments.command(main)
