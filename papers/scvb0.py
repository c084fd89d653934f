"""Foulds et al., Stochastic Collapsed Variational Bayesian Inference for LDA (KDD 2013): Figs. 1-3 and Table 2, redone.

    python -m papers.scvb0 --small | --full   # with the paper's own algorithms: papers/experiments
    python -m papers.scvb0                      # forty minutes on two cores; runs are remembered
    python -m papers.scvb0 --figures 1 --corpus wiki
    python -m papers.scvb0 --quick              # a generated corpus, seconds

Does SCVB0 learn better topics sooner than stochastic and batch variational inference?

Figure 1: held-out log likelihood per token against seconds of training; half of each test document's tokens is given,
the other half predicted (topmix.metrics.half_split_score, alpha = 0.1 for all). SVB-Bx-Oy is our own stochastic
variational learner with x iterations per document and priors y above those of SCVB0. Figure 2: the same runs against
documents visited. Figure 3: SCVB0 against batch VB on all documents and on fewer. Table 2: topics after five seconds on
nips, K = 20: coherence (NPMI of the top 10 words in the training corpus) over --seeds runs, and some topics to read.

The paper's settings: minibatches of 100 documents, step sizes 10 / (1000 + t)^0.9 for topics and 1 / (10 + t)^0.9 for
documents, one burn-in pass, alpha = 0.1, eta = 0.01, all K topics for every token. Beside them SCVB0 with L = 16, the
sparsity that the paper left open. Topics start at random, it says, but not how; here all methods start alike from the
library's default. --init random is near-uniform noise as in Hoffman's code, which SCVB0's first minibatches wash out:
after two passes over 3000 documents of wiki (K = 100, validation documents) it had -8.285 from there against -7.885,
SVB-B5-O0 -8.045 against -7.990.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import arguments, datasets, drawing
from benchmarks.harness.results import Results
from benchmarks.harness.runs import Run, Runs, train_for
from papers import FIGURES, everything
from topmix.metrics import npmi_coherence, topic_diversity

Settings = dict[str, Any]


def priors(offset: float = 0.0) -> Settings:
    return {"doc_topic_prior": 0.1 + offset, "topic_word_prior": 0.01 + offset}


STREAM: Settings = {
    "learner": "stochastic", "learner__batch_size": 100, "learner__scale": 10.0, "learner__offset": 1000.0,
    "learner__decay": 0.9,
}  # fmt: skip
SCVB0: Settings = priors() | STREAM | {
    "inference": "scvb0", "n_active": None, "inference__doc_burn_in": 1, "inference__doc_decay": 0.9,
}  # fmt: skip
VB: Settings = {
    "inference": "variational", "n_active": None, "inference__min_topic_mass": 0.0, "inference__cold_visits": None,
}  # fmt: skip


def svb(iterations: int, offset: float) -> Settings:
    return VB | STREAM | priors(offset) | {"inference__max_doc_update_iter": iterations, "inference__doc_tol": 0.0}


STOCHASTIC: dict[str, Settings] = {
    "SCVB0": SCVB0,
    "SCVB0, L = 16": SCVB0 | {"n_active": 16},
    **{f"SVB-B{B}-O{offset:g}": svb(B, offset) for B in (1, 5) for offset in (0.0, 0.5)},
}
STYLES: dict[str, Settings] = {
    "SCVB0": {"color": drawing.RED, "lw": 2.2},
    "SCVB0, L = 16": {"color": drawing.ORANGE, "lw": 1.6},
    "SVB-B1-O0": {"color": drawing.BLUE, "ls": "--"},
    "SVB-B1-O0.5": {"color": drawing.BLUE},
    "SVB-B5-O0": {"color": drawing.GREEN, "ls": "--"},
    "SVB-B5-O0.5": {"color": drawing.GREEN},
}


def main(argv: list[str] | None = None) -> int:
    if everything.is_asked(argv):
        return everything.main(argv, ("scvb0",))
    p = arguments.parser(__doc__, quick="a generated corpus and seconds")
    arguments.add_corpus(p, ["wiki", "arxiv_100k"])
    p.add_argument("--figures", nargs="+", choices=["1", "2", "3", "table"], default=["1", "2", "3", "table"])
    p.add_argument("--K", type=int, default=100)
    p.add_argument("--seconds", type=float, default=120, help="of training, for each run")
    p.add_argument("--init", choices=["auto", "random", "documents"], default="auto", help="topics to start from")
    p.add_argument("--small", default="nips", help="the corpus of Table 2")
    p.add_argument("--small-seconds", type=float, default=5)
    p.add_argument("--seeds", type=int, default=10, help="runs of Table 2")
    arguments.add_runs(p)
    arguments.add_draw(p, FIGURES)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seconds = [datasets.GENERATED], 10, 0.1
        a.small, a.small_seconds, a.seeds, a.threads = datasets.GENERATED, 0.05, 2, 1
    out = Results(a.out, "scvb0")
    runs = Runs(a.runs, a.threads, a.fresh, a.split, a.role, "half_split", own_process=not a.quick, results=out)
    if {"1", "2"} & {*a.figures}:
        figures_1_and_2(runs, a.corpus, a.K, a.seconds, a.init, a.figures, a.draw)
    if "3" in a.figures:
        figure_3(runs, a.corpus[-1], a.K, a.seconds, a.init, a.draw)
    if "table" in a.figures:
        data = datasets.load(a.small, split=a.split, role=a.role)
        table_2(data, 10 if a.quick else 20, a.small_seconds, a.init, a.seeds, a.threads, out)
    return 0


def figures_1_and_2(
    runs: Runs, corpora: list[str], K: int, seconds: float, init: str, wanted: list[str], folder: Path
) -> None:  # fmt: skip
    known: dict[str, dict[str, Run]] = {}
    for corpus in corpora:
        settings = {name: s | {"init": init} for name, s in STOCHASTIC.items()}
        known[corpus] = {n: runs.run("topmix", n, corpus, K, 0, seconds, s) for n, s in settings.items()}
        print(f"\nFigures 1, 2: {corpus}, K = {K}: held-out log likelihood per token after some seconds; documents")
        when = [seconds / n for n in (16, 8, 4, 2, 1)]
        print(f"  {'':<16}" + "".join(f"{t:>9.3g} s" for t in when) + f"{'documents':>12}")
        for name, run in known[corpus].items():
            scores = "".join(f"{run.curve.best(1.05 * t):>11.4f}" for t in when)
            print(f"  {name:<16}{scores}{run.curve.last('documents'):>12,.0f}", flush=True)
        best = max((n for n in STOCHASTIC if n.startswith("SVB")), key=lambda n: known[corpus][n].final["score"])
        ahead = known[corpus]["SCVB0"].final["score"] - known[corpus][best].final["score"]
        print(f"  SCVB0 ends {abs(ahead):.4f} {'above' if ahead > 0 else 'below'} the best SVB ({best})")
    if "1" in wanted:
        draw(known, "seconds", "seconds of training", folder, "scvb0_1.png")
    if "2" in wanted:
        draw(known, "documents", "documents visited", folder, "scvb0_2.png")


def figure_3(runs: Runs, corpus: str, K: int, seconds: float, init: str, folder: Path) -> None:
    D = datasets.load(corpus, split=runs.split).train.shape[0]
    known = {"SCVB0": runs.run("topmix", "SCVB0", corpus, K, 0, seconds, SCVB0 | {"init": init})}
    for n in sorted({D // 100, D // 10, D}):
        name = f"batch VB, N = {n:,}"
        settings = VB | priors() | {"learner": "batch", "init": init}
        known[name] = runs.run("topmix", name, corpus, K, 0, seconds, settings, n_docs=n)
    print(f"\nFigure 3: {corpus}, K = {K}: held-out log likelihood per token after {seconds:g} s, and passes")
    for name, run in known.items():
        print(f"  {name:<24}{run.final['score']:>10.4f}{len(run.curve.series('objective')):>8}")
    draw({corpus: known}, "seconds", "seconds of training", folder, "scvb0_3.png")


def draw(known: dict[str, dict[str, Run]], against: str, x: str, folder: Path, name: str) -> None:
    page = drawing.page(folder, name, (1 + 3.7 * len(known), 3.6), columns=len(known), dpi=110)
    if page is None:
        return
    for axes, (corpus, runs) in zip(page.panels[0], known.items()):
        lines = []
        for named, run in runs.items():
            lines.append((named, run.curve.series(against=against), STYLES.get(named, {}) | {"markersize": 2.5}))
            K = run.plan.K
        drawing.lines(axes, lines)
        axes.set(xscale="log", xlabel=x, title=f"{corpus}, K = {K}")
        late = [s for _, points, _ in lines for _, s in points[len(points) // 4 :]]
        drawing.zoom(axes, late, share=0.95)
    page.panels[0, 0].set_ylabel("held-out log likelihood (nats per token)")
    drawing.legend_below(page.figure, page.panels[0], columns=3)
    page.save()


def table_2(
    data: datasets.Dataset, K: int, seconds: float, init: str, seeds: int, threads: int, out: Results
) -> None:  # fmt: skip
    shown = "NPMI (least, greatest), diversity, documents visited"
    print(f"\nTable 2: {data.name}, K = {K}, {seconds:g} s, {seeds} runs: {shown}")
    read: dict[str, list[str]] = {}
    for name, settings in STOCHASTIC.items():
        npmi, diversity, visited = [], [], []
        for seed in range(seeds):
            topics, passes = train_for(seconds, "topmix", data.train, K, seed, threads, init=init, **settings)
            phi = topics.topic_word
            npmi.append(float(npmi_coherence(phi, data.train)))
            diversity.append(topic_diversity(phi))
            visited.append(passes * data.train.shape[0])
        some = np.random.default_rng(0).choice(K, 3, replace=False)  # at random, as in the paper, of the last run
        read[name] = [" ".join(data.vocabulary[v] for v in np.argsort(-phi[k])[:10]) for k in some]
        spread = f"{np.mean(npmi):8.4f} ({min(npmi):.4f}, {max(npmi):.4f})"
        print(f"  {name:<16}{spread}{np.mean(diversity):10.3f}{np.mean(visited):12,.0f}", flush=True)
        found = {"npmi": npmi, "diversity": diversity, "documents": visited}
        out.add(found, settings | {"table": 2, "name": name, "K": K, "seconds": seconds, "init": init}, data)
    for name, lines in read.items():
        print(f"  {name}")
        for line in lines:
            print(f"    {line}")


if __name__ == "__main__":
    arguments.command(main)
