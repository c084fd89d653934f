"""Is asynchronous learning of topics (Zhang et al. 2019) ahead of batch and stochastic learning at every second?

    python -m benchmarks.asynchronous [--corpus kos nips wiki] [--K 64 128 256] [--seconds 60] [--quick]
    python -m benchmarks.asynchronous --only openings --K 128

All methods have the variational posterior, the same priors and the same initial topics. "batch" is VI as in textbooks:
all K topics, documents solved from their words alone in every pass; "batch, L = 16" has our defaults instead.
"stochastic" is SVI, the best by its last bound of a small grid of step sizes. "asynchronous, no opening" is the paper's
algorithm alone, without the passes under posterior means that ours begins with. For the bound of a stochastic model all
training documents are solved again. Seconds count initialisation and no evaluation.

Each row has a `panel`, the figure of the paper that it belongs to (fig4, fig6, fig7, fig8), and a curve:
`elbo` is the bound on all training documents, `perplexity` is exp(-completion score) of held-out ones.
--only openings asks how many opening passes are best, on validation documents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import arguments, datasets
from benchmarks.harness.curve import Curve
from benchmarks.harness.internals import bound_of_topics
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Milestones, Stopwatch
from topmix.learners import Stochastic
from topmix.metrics import completion_score

Settings = dict[str, Any]
DENSE: Settings = {"n_active": None, "inference__min_topic_mass": 0.0}
OURS: Settings = {"learner": "asynchronous", "n_active": None}
BATCH: Settings = {"learner": "batch", "inference__cold_visits": None, **DENSE}
GRID: list[Settings] = [
    {
        "learner": "stochastic", "learner__batch_size": 256, "learner__offset": offset, "learner__decay": decay,
    } | DENSE
    for offset in (1.0, 10.0)
    for decay in (0.5, 0.7)
]  # fmt: skip
OPENINGS = (0, 2, 5, 10, 20, 40)
PARTS = ("fig4", "fig7", "fig8", "openings")


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and a tenth of a second for each method")
    arguments.add_corpus(p, ["kos", "nips", "wiki"])
    p.add_argument("--K", nargs="+", type=int, default=[64, 128, 256])
    p.add_argument("--seconds", type=float, default=60.0, help="of training, for each run")
    p.add_argument("--only", nargs="+", choices=PARTS, default=["fig4", "fig7", "fig8"])
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seconds = [datasets.GENERATED], [16], 0.1
    out = Results(a.out, "asynchronous")
    for name in a.corpus:
        compared = Comparison(datasets.load(name, split=a.split, role=a.role), a.seconds, a.threads, out)
        for K in a.K:
            if "openings" in a.only:
                compared.openings(K)
            if "fig4" in a.only:
                compared.learners(K)
            if "fig7" in a.only:
                compared.cut_off("fig7", K, [None, max(K // 4, 1), max(K // 16, 1)])
        if "fig8" in a.only:
            for K in [24, 32] if a.quick else [256, 512]:
                compared.cut_off("fig8", K, [min(16, K // 4)])
    return 0


class Comparison:
    """Runs on one corpus, each of which is printed and written as a row."""

    def __init__(self, data: datasets.Dataset, seconds: float, threads: int, out: Results) -> None:
        self.data, self.seconds, self.threads, self.out = data, seconds, threads, out
        self.tokens = float(data.train.sum())

    def learners(self, K: int) -> None:
        """Figs. 4 and 6."""
        found = {
            name: self.run(name, settings, K)
            for name, settings in {
                "asynchronous": OURS,
                "asynchronous, no opening": OURS | {"learner__warm_up": 0},
                "batch": BATCH,
                "batch, L = 16": {"learner": "batch"},
            }.items()
        }
        grid = [self.run(f"stochastic, tau {g['learner__offset']:g}, kappa {g['learner__decay']}", g, K) for g in GRID]
        best = max(range(len(GRID)), key=lambda i: grid[i].last("elbo"))
        found["stochastic"] = grid[best]
        target = found["batch"].last("elbo")
        times = ", ".join(f"{name} {c.time_to(target, 'elbo'):.2f}" for name, c in found.items())
        end = f"seconds to the end of batch ({target / self.tokens:.4f} per token)"
        print(f"  {self.data.name} K = {K}: {end}: {times}", flush=True)
        for panel in ("fig4", "fig6"):
            for name, curve in found.items():
                self.write(panel, name, curve, K)

    def cut_off(self, panel: str, K: int, kept: list[int | None]) -> None:
        """Figs. 7 and 8: C topics kept of each entry."""
        for C in kept:
            for outside in ("best",) if C is None else ("best", "mean"):
                name = "asynchronous, C = K" if C is None else f"asynchronous, C = {C}, {outside} rest"
                settings = OURS | {"n_active": C, "learner__tail": outside}
                self.write(panel, name, self.run(name, settings, K, perplexity=False), K)

    def openings(self, K: int, seeds: int = 2) -> None:
        """How many opening passes are best on validation documents?"""
        for n in OPENINGS:
            settings = OURS | {"inference": "variational", "learner__warm_up": n, "max_iter": 100, "tol": 1e-4}
            fits = [
                ours.lda(K, **settings, n_jobs=self.threads, random_state=seed).fit(self.data.train)
                for seed in range(seeds)
            ]
            scores = [completion_score(f.topic_word_, self.data.validation, random_state=0) for f in fits]
            found = {
                "bound": float(np.mean([f.elbo_ for f in fits])) / self.tokens,
                "score": float(np.mean(scores)),
                "passes": float(np.mean([f.n_iter_ for f in fits])),
            }
            print(f"  {self.data.name} K = {K}: opening {n:>3}: bound {found['bound']:.4f} per token, validation score "
                  f"{found['score']:.4f}, {found['passes']:.0f} passes", flush=True)  # fmt: skip
            self.out.add(found, settings | {"K": K, "seeds": seeds}, self.data._replace(role="validation"))

    def run(self, name: str, settings: Settings, K: int, perplexity: bool = True) -> Curve:
        """Bound, and perplexity at some of the times, of one fit."""
        return self.follow(name, ours.lda(K, **{"inference": "variational"} | settings), perplexity)

    def follow(self, name: str, model: Any, perplexity: bool = True, tol: float = 1e-4, seed: int = 0) -> Curve:
        """Of this LDA. Both are computed when the fit is over."""
        streams = model.learner == "stochastic" or isinstance(model.learner, Stochastic)
        curve, watch, due = Curve(name), Stopwatch(), Milestones(self.seconds, per_octave=2, first=1e-3)
        topics: dict[int, np.ndarray] = {}  # [K, V] counts at some points

        def look(record: Any, view: Any) -> bool:
            with watch.pause():
                if (perplexity or streams) and due.due(watch.seconds):
                    topics[len(curve)] = view.counts().T.copy()
                curve.add(watch.seconds, None, record.n_pass, elbo=record.objective)
            return watch.seconds > self.seconds

        common = {
            "max_iter": 10_000,
            "tol": -np.inf if streams else tol,
            "random_state": seed,
            "n_jobs": self.threads,
            "callbacks": [look],
        }
        model.set_params(**common).fit(self.data.train)
        eta = float(model.topic_word_prior_)
        if perplexity or streams:
            topics[len(curve) - 1] = model.components_ - eta
        curve.extras["perplexity"] = [None] * len(curve)
        for i, counts in topics.items():
            if perplexity:
                curve.score[i] = completion_score(counts + eta, self.data.scored, random_state=0)
                curve.extras["perplexity"][i] = float(np.exp(-curve.score[i]))
            if streams:
                curve.extras["elbo"][i] = bound_of_topics(counts, model, eta, self.data.train)
        passes = len(curve)
        if streams:  # its own bound is an estimate
            curve.keep(sorted(topics))
        said = f", perplexity {curve.last('perplexity'):.1f}" if perplexity else ""
        where = f"{self.data.name} K = {model.n_components}"
        print(f"  {where} {name:<28} {curve.last('elbo') / self.tokens:.4f} per token after "
              f"{curve.seconds[-1]:.2f} s{said}, {passes} passes", flush=True)  # fmt: skip
        return curve

    def write(self, panel: str, name: str, curve: Curve, K: int) -> None:
        settings = {"panel": panel, "method": name, "run": curve.name, "K": K, "threads": self.threads}
        self.out.add({"curve": curve.to_dict()}, settings | {"seconds": self.seconds}, self.data)


if __name__ == "__main__":
    arguments.command(main)
