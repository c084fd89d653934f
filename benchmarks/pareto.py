"""What does a setting buy and cost: how do score and coherence change with eta, smoothing, epsilon, L and delta?

    python -m benchmarks.pareto --corpus nips kos wiki 20ng arxiv_100k --K 200 --draw docs/img
    python -m benchmarks.pareto --corpus nips wiki --K 20 50 200 800 2000 --only default

One setting changes at a time. Validation documents are scored. Means over seeds.
"""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import arguments, datasets, drawing, evaluate
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from topmix.metrics import completion_score

DEFAULT = "default"
SETTINGS: dict[str, tuple[str, list[Any]]] = {
    "η": ("topic_word_prior", [0.01, 0.03, 0.15]),
    "σ": ("inference__smoothing", [0.005, 0.08]),
    "ε": ("inference__min_topic_mass", [1.0, 2.0, 4.0, 8.0]),
    "L": ("n_active", [4, 8, 32]),
    "δ": ("inference__own_discount", [0.0, 0.25, 1.0]),
}


class Outcome(NamedTuple):
    corpus: str
    K: int
    knob: str
    value: Any
    score: float
    npmi: float
    diversity: float
    empty: float
    duplicate: float
    largest_share: float


MEASURED = Outcome._fields[4:]


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and one setting")
    arguments.add_corpus(p, ["nips", "kos", "wiki", "20ng", "arxiv_100k"], role="validation")
    p.add_argument("--K", nargs="+", type=int, default=[200])
    p.add_argument("--seeds", type=int, default=2)
    p.add_argument("--passes", type=int, default=4)
    p.add_argument("--only", nargs="+", choices=[DEFAULT, *SETTINGS], help="default: all of them")
    arguments.add_draw(p)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seeds, a.only = [datasets.GENERATED], [20], 1, ["L"]
    wanted = [(DEFAULT, "", None)]
    for knob, (parameter, values) in SETTINGS.items():
        if not a.only or knob in a.only:
            wanted += [(knob, parameter, value) for value in values]
    out = Results(a.out, "pareto")
    print(f"{'corpus':<12}{'K':>5}  {'setting':<10}   score    NPMI  diversity  empty  duplicate  largest")
    outcomes = []
    for corpus in a.corpus:
        data = datasets.load(corpus, split=a.split, role=a.role)
        for K in a.K:
            for knob, parameter, value in wanted:
                settings = {parameter: value} if parameter else {}
                if knob == "η":
                    usual = ours.default("inference__smoothing", K)  # as by default: one setting at a time
                    settings["inference__smoothing"] = min(value, usual)
                runs = [outcome(data, K, seed, a, settings) for seed in range(a.seeds)]
                o = Outcome(corpus, K, knob, value, *np.mean(runs, axis=0).tolist())
                setting = knob if value is None else f"{knob} = {value}"
                print(
                    f"{corpus:<12}{K:>5}  {setting:<10}{o.score:>9.4f}{o.npmi:>8.3f}{o.diversity:>11.3f}{o.empty:>7.1f}"
                    f"{o.duplicate:>11.1f}{o.largest_share:>9.3f}",
                    flush=True,
                )
                outcomes.append(o)
                measured = {name: getattr(o, name) for name in MEASURED}
                out.add(measured, settings | {"K": K, "passes": a.passes, "seeds": a.seeds}, data)
    draw(outcomes, a.draw)
    return 0


def outcome(data: datasets.Dataset, K: int, seed: int, a: argparse.Namespace, settings: dict[str, Any]) -> list[float]:
    common = {"random_state": seed, "n_jobs": a.threads, "max_iter": ours.with_sweeps(a.passes), "tol": -np.inf}
    topics = ours.topics_of(ours.lda(K, **common, **settings).fit(data.train))
    found = evaluate.describe(topics.topic_word, topics.tokens, data)
    found["score"] = completion_score(topics.topic_word, data.scored)
    return [found[name] for name in MEASURED]


def draw(outcomes: list[Outcome], folder: Path | None) -> None:
    """A panel per corpus and K, with a line through the values of each knob; all lines meet at the default."""
    panels = [list(group) for _, group in groupby(outcomes, key=lambda o: (o.corpus, o.K))]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    page = drawing.page(folder, "pareto.png", (3.3 * columns, 2.9 * rows), rows, columns, dpi=110)
    if page is None:
        return
    axes = page.panels
    for panel, ax in zip(panels, axes.flat):
        default = next(o for o in panel if o.knob == DEFAULT)
        for (knob, (parameter, _)), color, mark in zip(SETTINGS.items(), drawing.PALETTE, drawing.MARKS):
            own = ours.default(parameter, default.K)
            line = sorted(
                [(o.value, o.npmi, o.score) for o in panel if o.knob == knob] + [(own, default.npmi, default.score)]
            )
            ax.plot([x for _, x, _ in line], [y for _, _, y in line], color=color, marker=mark, label=knob)
            for value, x, y in line:
                if value != own:
                    ax.annotate(f"{value:g}", (x, y), (3, 3), textcoords="offset points", fontsize=7, color=color)
        ax.plot(default.npmi, default.score, "*", color="black", markersize=11, label="default", zorder=3)
        ax.set(title=f"{default.corpus}, K = {default.K}", xlabel="NPMI of the top 10 words")
    for row in axes:
        row[0].set_ylabel("completion score")
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    drawing.legend_below(page.figure, list(axes.flat[: len(panels)]))
    page.save()


if __name__ == "__main__":
    arguments.command(main)
