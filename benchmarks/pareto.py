"""What a setting buys and costs: score against coherence for eta, smoothing, epsilon, L and delta, one at a time.

    python benchmarks/pareto.py --corpus nips kos wiki 20ng arxiv_100k --K 200 --out docs/img/pareto.png
    python benchmarks/pareto.py --corpus nips wiki --K 20 50 200 800 2000 --only default

Validation documents are scored (datasets.py): the test documents are in neither part. Means over seeds.
"""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import datasets
import drawing
from methods import describe
from topmix import LDA
from topmix.estimators.priors import WORD_PRIOR, firm_word_prior
from topmix.metrics import completion_score

DEFAULT = "default"
SETTINGS: dict[str, tuple[str, list[Any]]] = {
    "η": ("topic_word_prior", [0.01, 0.03, 0.15]),
    "σ": ("smoothing", [0.005, 0.08]),
    "ε": ("min_topic_mass", [1.0, 2.0, 4.0, 8.0]),
    "L": ("n_active", [4, 8, 32]),
    "δ": ("own_discount", [0.0, 0.25, 1.0]),
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
    largest: float


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", nargs="+", default=["nips", "kos", "wiki", "20ng", "arxiv_100k"])
    p.add_argument("--K", nargs="+", type=int, default=[200])
    p.add_argument("--seeds", type=int, default=2)
    p.add_argument("--passes", type=int, default=4)
    p.add_argument("--only", nargs="+", choices=[DEFAULT, *SETTINGS], help="default: all of them")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--out", type=Path, help="where to draw score against coherence")
    a = p.parse_args()
    wanted = [(DEFAULT, "", None)]
    for knob, (parameter, values) in SETTINGS.items():
        if not a.only or knob in a.only:
            wanted += [(knob, parameter, value) for value in values]
    print(f"{'corpus':<12}{'K':>5}  {'setting':<10}   score    NPMI  diversity  empty  duplicate  largest")
    outcomes = []
    for corpus in a.corpus:
        data = datasets.load(corpus, role="validation")
        for K in a.K:
            for knob, parameter, value in wanted:
                settings = {parameter: value} if parameter else {}
                if knob == "η":
                    settings["smoothing"] = min(value, WORD_PRIOR)  # as by default: one thing at a time
                runs = [outcome(data, K, seed, a, settings) for seed in range(a.seeds)]
                o = Outcome(corpus, K, knob, value, *np.mean(runs, axis=0).tolist())
                setting = knob if value is None else f"{knob} = {value}"
                print(
                    f"{corpus:<12}{K:>5}  {setting:<10}{o.score:>9.4f}{o.npmi:>8.3f}{o.diversity:>11.3f}{o.empty:>7.1f}"
                    f"{o.duplicate:>11.1f}{o.largest:>9.3f}",
                    flush=True,
                )
                outcomes.append(o)
    if a.out:
        draw(outcomes, a.out)


def outcome(data: datasets.Dataset, K: int, seed: int, a: argparse.Namespace, settings: dict[str, Any]) -> list[float]:
    lda = LDA(K, random_state=seed, n_jobs=a.threads, max_iter=a.passes, tol=-np.inf, **settings).fit(data.train)
    about = describe(lda.components_, np.asarray(lda.model_.words.total.totals), data)
    score = completion_score(lda.topic_word_, data.test)
    return [score, *(about[k] for k in ("npmi", "diversity", "empty", "duplicate", "largest_share"))]


def draw(outcomes: list[Outcome], path: Path) -> None:
    """A panel for each corpus and K: a line through the values of each knob, which all meet at the default."""
    plt = drawing.pyplot()
    if plt is None:
        return
    panels = [list(group) for _, group in groupby(outcomes, key=lambda o: (o.corpus, o.K))]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.3 * columns, 2.9 * rows), layout="constrained", squeeze=False)
    for panel, ax in zip(panels, axes.flat):
        default = next(o for o in panel if o.knob == DEFAULT)
        for (knob, (parameter, _)), color, mark in zip(SETTINGS.items(), drawing.PALETTE, drawing.MARKS):
            own = {"η": firm_word_prior(default.K), "σ": WORD_PRIOR}.get(knob, LDA().get_params()[parameter])
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
    drawing.legend_below(figure, list(axes.flat[: len(panels)]))
    drawing.save(figure, path, dpi=110)


if __name__ == "__main__":
    main()
