"""Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors (2016): Figs. 1 to 5, redrawn.

    python papers/sparse_posteriors.py                    # two hours on two cores; runs of topics are remembered
    python papers/sparse_posteriors.py --figures 3 --K 400
    python papers/sparse_posteriors.py --quick            # generated data, seconds

Figures 1 and 2: mixtures of image patches; sparse_mixtures.py beside this file draws them, and has options of its own.
They are left out, saying so, where the images are not at hand.
Figure 3: what sparsity costs and saves. (a) seconds a pass over wiki, with documents a second above each bar, ours cut
into parts and peers beside it; (b) the local step alone, 100 iterations a document as in the paper, and (c) the sums by
word, for 1000 documents: processor seconds of one thread; (d) how far a document's topics are from the dense ones.
Figure 4: completion score against seconds of training on nips and wiki, all our learners and pip-installable peers.
Figure 5: the bound against passes for warm and cold starts, with and without restarts, dense and sparse.

The paper's settings: alpha = 0.5, eta = 0.1, step size (10 + t)^-0.65, fixed beforehand. Not the paper's: topics start
from the library's default, not from K documents, in all of our runs alike; the L best topics are chosen at the end of a
document, not along the way (which is drawn in 3b too: `selection="often"`); and the collapsed posterior, which is ours.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import datasets
import drawing
import restarts
import sparse_mixtures
from curves import Curve
from methods import ETA, SETTINGS, is_installed
from runs import HERE, Runs
from timed_engine import timed_engine
from topmix import LDA
from topmix.data import Corpus
from topmix.data.shard import Shard
from topmix.local import TopicStep
from topmix.models.topics import TopicModel

FIGURES = Path(__file__).resolve().parent / "figures"
VARIATIONAL: dict[str, Any] = {"posterior": "variational", "topic_word_prior": ETA, "within_passes": True}
DENSE: dict[str, Any] = {"n_active": None, "min_topic_mass": 0.0}
SVI: dict[str, Any] = {"learner": "stochastic", "learning_offset": 10.0, "learning_decay": 0.65, "cold_visits": None}
LEARNERS: dict[str, dict[str, Any]] = {
    "memoized L = 8": VARIATIONAL | {"n_active": 8},
    "memoized L = 1": VARIATIONAL | {"n_active": 1},
    "memoized dense": VARIATIONAL | DENSE,
    "stochastic L = 8": VARIATIONAL | SVI | {"n_active": 8},
    "stochastic dense": VARIATIONAL | SVI | DENSE,
    "batch dense": VARIATIONAL | DENSE | {"learner": "batch"},
    "collapsed memoized L = 16": {"within_passes": True},
    "collapsed stochastic L = 16": {"learner": "stochastic", "within_passes": True},
}
PEERS = (("sklearn", "online"), ("gensim", "multicore"), ("tomotopy", "fixed"))
STYLES: dict[str, dict[str, Any]] = {
    "memoized L = 8": {"color": drawing.BLUE, "lw": 1.8},
    "memoized L = 1": {"color": drawing.BLUE, "ls": ":"},
    "memoized dense": {"color": drawing.BLUE, "ls": "--"},
    "stochastic L = 8": {"color": drawing.RED, "lw": 1.8},
    "stochastic dense": {"color": drawing.RED, "ls": "--"},
    "batch dense": {"color": drawing.PURPLE, "ls": "--"},
    "collapsed memoized L = 16": {"color": drawing.GREEN, "lw": 2.2},
    "collapsed stochastic L = 16": {"color": drawing.GREEN, "ls": "-."},
    "sklearn": {"color": drawing.ORANGE},
    "gensim": {"color": drawing.SKY},
    "tomotopy": {"color": drawing.BLACK},
}


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--figures", nargs="+", type=int, choices=[1, 2, 3, 4, 5], default=[1, 2, 3, 4, 5])
    p.add_argument("--corpus", nargs="+", default=["nips", "wiki"])
    p.add_argument("--K", nargs="+", type=int, default=[200, 400, 800], help="of Figures 3 and 4")
    p.add_argument("--seconds", type=float, default=60, help="of training, for each run of Figure 4")
    p.add_argument("--passes", type=int, default=10, help="of Figure 5, and of Figure 3a")
    p.add_argument("--K5", type=int, default=400, help="topics of Figure 5")
    p.add_argument("--docs", type=int, default=1000, help="documents of Figures 3b to 3d")
    p.add_argument("--peers", nargs="*", choices=[m for m, _ in PEERS], default=[m for m, _ in PEERS])
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--fresh", action="store_true", help="run everything again")
    p.add_argument("--quick", action="store_true", help="a generated corpus and seconds, to see that it runs")
    p.add_argument("--results", type=Path, default=HERE / "results", help="where runs are remembered")
    p.add_argument("--out", type=Path, default=FIGURES)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seconds, a.passes, a.K5, a.docs = [datasets.GENERATED], [20], 0.1, 2, 10, 100
        a.threads = 1
        a.peers = ["sklearn"]
    mixtures = [n for n in a.figures if n in (1, 2)]
    if mixtures:
        try:
            sparse_mixtures.draw(mixtures, a.out, a.quick)
        except datasets.MissingData as missing:
            print(f"Figures 1 and 2 are left out: {missing}")
    peers = [(m, setting) for m, setting in PEERS if m in a.peers and is_installed(m)]
    for method, _ in PEERS:
        if method not in dict(peers):
            why = "not asked for" if is_installed(method) else "not installed (pip install 'topmix[bench]')"
            print(f"{method} is left out: {why}")
    runs = Runs(a.results, a.threads, a.fresh, own_process=not a.quick)
    if 3 in a.figures:
        figure_3(runs, a.corpus[-1], a.K, a.passes, a.docs, peers, a.seconds, a.out)
    if 4 in a.figures:
        figure_4(runs, a.corpus, a.K, a.seconds, peers, a.out)
    if 5 in a.figures:
        figure_5(runs, a.corpus, a.K5, a.passes, a.out)
    return 0


def figure_3(
    runs: Runs, corpus: str, Ks: list[int], passes: int, n_docs: int, peers: list[tuple[str, str]], seconds: float,
    out: Path,
) -> None:  # fmt: skip
    data, K = datasets.load(corpus), max(Ks)
    print(f"\nFigure 3a: {corpus}, K = {K}, {passes} passes; seconds a pass")
    bars = {f"L = {L}" if L else "dense": cost_of_pass(data, K, L, passes, runs.threads) for L in (1, 8, 16, None)}
    for name, parts in bars.items():
        detail, total = ", ".join(f"{part} {s:.2f}" for part, s in parts.items()), sum(parts.values())
        print(f"  {name:<10}{total:9.2f}   {data.train.shape[0] / total:9.0f} docs/s   ({detail})")
    rates = {}
    for method, setting in peers:
        log = runs.curve(method, setting, corpus, K, 0, seconds).log
        rates[method] = log[-1]["documents"] / log[-1]["seconds"]
        print(f"  {method:<10}{data.train.shape[0] / rates[method]:9.2f}   {rates[method]:9.0f} docs/s")

    print(f"Figures 3b, 3c: seconds of the local step and of the sums, {n_docs} documents")
    costs: dict[int, list[tuple[int, float, float, float]]] = {}
    distances: dict[int, np.ndarray] = {}
    for k in Ks:
        shard, model = fitted(data, k, n_docs, runs.threads)
        proportions: dict[int, np.ndarray] = {}
        for L in [n for n in (1, 2, 4, 8, 16, 32, 64) if n < k] + [k]:
            often = local_step(shard, model, L, "often")[0]
            local, both, proportions[L] = local_step(shard, model, L, "last")
            costs.setdefault(k, []).append((L, local, max(both - local, 0.0), often))
            parts = f"local {local:8.3f} ({often:.3f} when selecting often)   sums {both - local:8.3f}"
            print(f"  K = {k:<6}L = {L:<6}{parts}", flush=True)
        distances = {L: 0.5 * np.abs(x - proportions[k]).sum(axis=1) for L, x in proportions.items() if k > L}
    print(f"Figure 3d: variational distance from dense at K = {Ks[-1]}: median and 90% of documents")
    for L, d in distances.items():
        print(f"  L = {L:<6}{np.median(d):8.4f}{np.quantile(d, 0.9):8.4f}")
    draw_3(corpus, K, data.train.shape[0], bars, rates, costs, distances, out)


def cost_of_pass(data: datasets.Dataset, K: int, L: int | None, passes: int, threads: int) -> dict[str, float]:
    """Seconds a pass of memoized learning: tables, local step with its sums, and the rest, which is the global step."""
    settings = dict(DENSE) if L is None else {"n_active": L}
    settings |= {"posterior": "variational", "topic_word_prior": ETA, "cold_visits": None, "max_iter": passes}
    ends: list[float] = []

    def mark(*_: object) -> None:
        ends.append(time.perf_counter())

    with timed_engine() as times:
        LDA(
            K, tol=-np.inf, n_jobs=threads, random_state=0, engine="timed", callbacks=[mark],
            batch_size=-(-data.train.shape[0] // 10), **settings,
        ).fit(data.train)  # fmt: skip
    rest = ends[-1] - times.begin - times.tables - times.step
    return {part: s / passes for part, s in (("local", times.step), ("tables", times.tables), ("global", rest))}


def fitted(data: datasets.Dataset, K: int, n_docs: int, threads: int) -> tuple[Shard, TopicModel]:
    """Topics after a few passes, and documents to try local steps on."""
    lda = LDA(K, posterior="variational", topic_word_prior=ETA, max_iter=3, n_jobs=threads, random_state=0)
    lda.fit(data.train)
    return Shard.of(Corpus.from_scipy(data.train[:n_docs])), lda.model_


def local_step(shard: Shard, model: TopicModel, L: int, selection: str) -> tuple[float, float, np.ndarray]:
    """Seconds without and with sums by word, the best of three, and the documents' proportions [documents, K]."""
    K = model.n_components
    estimator = LDA(K, posterior="variational", n_active=L, min_topic_mass=0.0, doc_tol=0.0, selection=selection)
    step: TopicStep = estimator._step(K)
    tables = model.tables(shard.cols)
    seconds = {}
    for want_words in (False, True):
        tries = []
        for _ in range(3):
            start = time.process_time()
            _, docs, _, _ = step.solve(shard, tables, 1, want_words=want_words)
            tries.append(time.process_time() - start)
        seconds[want_words] = min(tries)
    counts = np.zeros((shard.n_rows, K))
    counts[np.repeat(np.arange(shard.n_rows), np.diff(docs.indptr)), docs.topic] = docs.count
    return seconds[False], seconds[True], counts / counts.sum(axis=1, keepdims=True)


def draw_3(
    corpus: str, K: int, D: int, bars: dict[str, dict[str, float]], rates: dict[str, float],
    costs: dict[int, list[tuple[int, float, float, float]]], distances: dict[int, np.ndarray], out: Path,
) -> None:  # fmt: skip
    plt = drawing.pyplot()
    if plt is None:
        return
    figure, panels = plt.subplots(2, 2, figsize=(8.5, 6), layout="constrained")
    axes = panels[0, 0]
    longest = max(sum(parts.values()) for parts in bars.values())
    for x, parts in enumerate(bars.values()):
        bottom = 0.0
        for (part, s), color in zip(parts.items(), (drawing.BLUE, drawing.ORANGE, drawing.GREEN)):
            axes.bar(x, s, 0.7, bottom, color=color, label=part if x == 0 else None)
            bottom += s
        axes.text(x, bottom, f"{D / bottom:,.0f}", ha="center", va="bottom", fontsize=8)
    for x, rate in enumerate(rates.values(), start=len(bars)):
        height = min(D / rate, 1.25 * longest)
        axes.bar(x, height, 0.7, color=drawing.GREY, label="peers" if x == len(bars) else None)
        cut = "" if height == D / rate else f"\n({D / rate:,.0f} s)"
        axes.text(x, height, f"{rate:,.0f}{cut}", ha="center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(bars) + len(rates)), [*bars, *rates], fontsize=8)
    axes.set(ylabel="seconds a pass", title=f"(a) {corpus}, K = {K}; documents a second above")
    axes.set_ylim(0, 1.5 * longest)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left", ncols=2)
    for axes, column, title in ((panels[0, 1], 1, "(b) local step"), (panels[1, 0], 2, "(c) sums by word")):
        drawing.lines(axes, [(f"K = {k}", [(c[0], c[column]) for c in some], {}) for k, some in costs.items()])
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel="L (the last point is L = K)", ylabel="seconds", title=title)
    often = [(c[0], c[3]) for c in costs[max(costs)]]
    panels[0, 1].plot(*zip(*often), ls=":", color=drawing.GREY, label=f"K = {max(costs)}, selecting often")
    for axes in (panels[0, 1], panels[1, 0]):
        axes.set_ylim(0, None)
        axes.legend()
    axes = panels[1, 1]
    for (L, d), color in zip(distances.items(), drawing.PALETTE):
        axes.step(np.sort(d), np.arange(1, len(d) + 1) / len(d), where="post", color=color, label=f"L = {L}")
    axes.set(xlabel="variational distance from dense", ylabel="share of documents", title=f"(d) K = {max(costs)}")
    axes.set_xlim(0, max((np.quantile(d, 0.98) for d in distances.values()), default=1.0) + 0.01)
    axes.legend(loc="lower right")
    drawing.save(figure, out / "sparse_posteriors_3.png", dpi=110)
    plt.close(figure)


def figure_4(
    runs: Runs, corpora: list[str], Ks: list[int], seconds: float, peers: list[tuple[str, str]], out: Path
) -> None:  # fmt: skip
    known: dict[tuple[str, int], dict[str, Curve]] = {}
    for corpus in corpora:
        for K in Ks:
            some = {name: runs.curve("topmix", name, corpus, K, 0, seconds, s) for name, s in LEARNERS.items()}
            some |= {m: runs.curve(m, setting, corpus, K, 0, seconds, SETTINGS[m][setting]) for m, setting in peers}
            known[corpus, K] = some
            when = ", ".join(f"{seconds / n:g}" for n in (8, 4, 2, 1))
            print(f"\nFigure 4: {corpus}, K = {K}: score after {when} s")
            for name, c in some.items():
                scores = (c.score_at(1.1 * seconds / n) for n in (8, 4, 2, 1))
                print(f"  {name:<30}" + "".join(f"{s:>10.4f}" for s in scores), flush=True)
    plt = drawing.pyplot()
    if plt is None:
        return
    size = (1 + 3 * len(Ks), 1 + 2.5 * len(corpora))
    figure, panels = plt.subplots(len(corpora), len(Ks), figsize=size, layout="constrained", squeeze=False)
    for row, corpus in zip(panels, corpora):
        for axes, K in zip(row, Ks):
            some = known[corpus, K]
            drawing.lines(axes, [(name, c.points, STYLES[name] | {"marker": None}) for name, c in some.items()])
            axes.set(xscale="log", title=f"{corpus}, K = {K}")
            drawing.zoom(axes, [s for c in some.values() for t, s in c.points if t > seconds / 30])
        row[0].set_ylabel("completion score (nats a token)")
    for axes in panels[-1]:
        axes.set_xlabel("seconds of training")
    drawing.legend_below(figure, panels.ravel())
    drawing.save(figure, out / "sparse_posteriors_4.png", dpi=110)
    plt.close(figure)


def figure_5(runs: Runs, corpora: list[str], K: int, passes: int, out: Path) -> None:
    known: dict[tuple[str, str], dict[str, Curve]] = {}
    for corpus in corpora:
        for kind, L in (("L = 16", 16), ("dense", None)):
            shown = "bound a token, score, restarts accepted, seconds"
            print(f"\nFigure 5: {corpus}, K = {K}, {kind}, {passes} passes: {shown}")
            for name, settings in restarts.grid(passes, masses=(0.0,), n_active=L).items():
                c = runs.curve("topmix", f"{kind}, {name}", corpus, K, 0, restarts.NO_LIMIT, settings)
                known.setdefault((corpus, kind), {})[name.rsplit(",", 1)[0]] = c
                share = restarts.accepted(c.log)
                ends = f"{restarts.bound(c):10.4f}{c.final['score']:10.4f}"
                print(
                    f"  {name:<30}{ends}{f'{share:9.1%}' if share == share else '':>9}{c.log[-1]['seconds']:9.1f}",
                    flush=True,
                )
    plt = drawing.pyplot()
    if plt is None:
        return
    size = (8.5, 0.8 + 2.8 * len(corpora))
    figure, panels = plt.subplots(len(corpora), 2, figsize=size, layout="constrained", squeeze=False)
    for row, corpus in zip(panels, corpora):
        for axes, kind in zip(row, ("L = 16", "dense")):
            restarts.draw_bounds(axes, known[corpus, kind])
            axes.set_title(f"{corpus}, K = {K}, {kind}")
    drawing.legend_below(figure, panels.ravel())
    drawing.save(figure, out / "sparse_posteriors_5.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
