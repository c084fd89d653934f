"""Tables and figures of Jiang, Sra & Kulis, "Combinatorial topic models using small-variance asymptotics" (2016).

    python papers/combinatorial.py                    # all of it: an hour or so
    python papers/combinatorial.py --only table1      # or table2, table3 (with figure 2), table4, figure1
    python papers/combinatorial.py --quick            # small sizes, seconds: shows that it runs, not what comes out

Prints each table, ours beside the paper's, and draws the figures into --out. Their Enron and NYTimes are not public in
the form they used, so tables 3 and 4 are of kos and nips (see benchmarks/datasets.py); --quick generates corpora in
their place. Table 3's corpora are drawn from our models of those, whose topics --beta smooths; table 4 has three betas.
How far words are shared between topics decides what is possible there: the objective gives a word of several topics to
one of them, so that even from the true assignments the topics move away, the farther the smaller lambda is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from topmix import LDA, CombinatorialLDA, GibbsLDA, MultinomialMixture
from topmix.chains.combinatorial import place
from topmix.data import Corpus, sample_lda
from topmix.data.generate import LdaSample
from topmix.metrics import (
    adjusted_rand,
    discrete_log_likelihood,
    half_split_score,
    match_topics,
    nmi,
    topic_recovery_error,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
import datasets

SYNTH: dict[str, dict[str, Any]] = {
    "SynthA": {"n_words": 2000, "n_topics": 20, "doc_length": 150, "doc_topic_prior": 0.04, "topic_word_prior": 0.05},
    "SynthB": {"n_words": 3000, "n_topics": 50, "doc_length": 200, "doc_topic_prior": 0.02, "topic_word_prior": 0.01},
}
GRID = {"SynthA": (8, 9, 10, 11, 12), "SynthB": (6, 7, 8, 9, 10)}
TABLE1 = {  # the paper's NMI / adjusted Rand
    ("SynthA", "basic"): ["0.027/0.009"] * 5,
    ("SynthA", "word"): ["0.724/0.669", "0.730/0.660", "0.786/0.750", "0.786/0.745", "0.784/0.737"],
    ("SynthA", "word+refine"): ["0.828/0.838", "0.839/0.850", "0.825/0.810", "0.847/0.859", "0.848/0.859"],
    ("SynthA", "gibbs"): ["0.829/0.839"],
    ("SynthB", "basic"): ["0.043/0.007"] * 5,
    ("SynthB", "word"): ["0.850/0.737", "0.854/0.743", "0.855/0.752", "0.855/0.750", "0.850/0.743"],
    ("SynthB", "word+refine"): ["0.922/0.886", "0.926/0.901", "0.913/0.860", "0.923/0.899", "0.914/0.876"],
    ("SynthB", "gibbs"): ["0.917/0.873"],
}
TABLE2 = {  # the paper's recovery errors, 2K to 10K documents
    ("SynthA", "k-means"): (0.794, 0.801, 0.864, 0.635, 0.714),
    ("SynthA", "basic"): (1.821, 1.816, 1.823, 1.814, 1.818),
    ("SynthA", "word"): (0.772, 0.384, 0.373, 0.364, 0.220),
    ("SynthA", "word+refine"): (0.141, 0.107, 0.093, 0.086, 0.080),
    ("SynthA", "gibbs"): (0.130, 0.092, 0.076, 0.199, 0.197),
    ("SynthB", "k-means"): (1.063, 1.048, 1.022, 0.921, 0.952),
    ("SynthB", "basic"): (1.804, 1.798, 1.805, 1.796, 1.794),
    ("SynthB", "word"): (0.944, 0.760, 0.582, 0.537, 0.504),
    ("SynthB", "word+refine"): (0.102, 0.131, 0.155, 0.110, 0.105),
    ("SynthB", "gibbs"): (0.094, 0.091, 0.098, 0.338, 0.276),
}
TABLE3 = {"basic": "1.881/1.890", "word": "0.529/0.721", "word+refine": "0.201/0.297", "gibbs": "0.202/0.283"}
TABLE4 = {  # discrete, held-out: (Enron, NYTimes) at beta = 0.1, 0.01, 0.001
    "gibbs": "-5.93 -8.60, -5.48 -10.87, -5.09 -13.48; -6.59 -9.35, -6.21 -11.43, -5.89 -13.81",
    "word+refine": "-5.43 -9.88, -5.15 -11.75, -4.92 -13.88; -6.11 -10.67, -5.94 -12.30, -5.63 -14.64",
}


PENALTIES_KOS = (8, 30)  # of figure 1: the default, and the best of five up to 45 on validation documents
PENALTY_SEMI = 30.0  # of table 3: the best of 11, 20, 30 on other samples (random_state=7) of such models


class Setting:
    """Sizes: the paper's, or small ones."""

    def __init__(self, quick: bool, out: Path, sweeps: int | None = None, beta: float = 0.01):
        self.quick, self.out, self.beta = quick, out, beta
        self.docs = 300 if quick else 5000
        self.many_docs = (200, 400) if quick else (2000, 4000, 6000, 8000, 10_000)
        self.sweeps = sweeps or (20 if quick else 600)
        self.passes = {"basic": 10, "word": 5 if quick else 20, "word+refine": 3 if quick else 10}
        self.n_semi = 300 if quick else 10_000
        self.K_real = 10 if quick else 100
        self.K_semi = 8 if quick else 50
        self.seeds = 1 if quick else 5  # samples that table 1's Word + Refine is averaged over

    def grid(self, name: str) -> tuple[float, ...]:
        return GRID[name][::4] if self.quick else GRID[name]

    def synth(self, name: str, n_docs: int, seed: int = 0) -> LdaSample:
        how = dict(SYNTH[name])
        if self.quick:
            how |= {"n_words": 300, "n_topics": 6, "doc_length": 60}
        return sample_lda(n_docs, length_distribution="fixed", random_state=seed, **how)

    def real(self, name: str) -> tuple[sp.csr_array, sp.csr_array]:
        """(training, test) documents; drawn from LDA where all is to be quick."""
        if not self.quick:
            data = datasets.load(name, n_test=300)
            return data.train, data.test
        X = sample_lda(500, 400, 12, doc_length=80, random_state=len(name)).corpus.to_scipy()
        return X[50:], X[:50]


def hard(s: Setting, X: Any, K: int, algorithm: str, penalty: Any, **how: Any) -> CombinatorialLDA:
    passes = how.pop("max_iter", s.passes[algorithm])
    return CombinatorialLDA(
        K, penalty=penalty, algorithm=algorithm, max_iter=passes, tol=-np.inf, random_state=0, **how
    ).fit(X)


def gibbs(s: Setting, X: Any, K: int, alpha: Any, eta: float, **how: Any) -> GibbsLDA:
    return GibbsLDA(
        K, doc_topic_prior=alpha, topic_word_prior=eta, thin=10, random_state=0, **{"max_iter": s.sweeps} | how
    ).fit(X)


def lda(X: Any, K: int, alpha: float, eta: float, **how: Any) -> LDA:
    return LDA(K, doc_topic_prior=alpha, topic_word_prior=eta, max_iter=50, tol=1e-4, random_state=0, **how).fit(X)


def priors(name: str) -> tuple[float, float]:
    return SYNTH[name]["doc_topic_prior"], SYNTH[name]["topic_word_prior"]


def table1(s: Setting) -> None:
    print(f"\nTable 1: NMI / adjusted Rand of token assignments, {s.docs} documents; ours (paper's)")
    print(f"Word + Refine: means over {s.seeds} samples; the others: one")
    for name in SYNTH:
        samples = [s.synth(name, s.docs, seed) for seed in range(s.seeds)]
        K, grid = len(samples[0].topic_word), s.grid(name)

        def agreement(fit: Callable[[Any], Any], samples: list[LdaSample]) -> np.ndarray:
            found = [(x.assignments, fit(x.corpus).labels_) for x in samples]
            return np.mean([(nmi(*pair), adjusted_rand(*pair)) for pair in found], axis=0)

        print(f"{name:<14}" + "".join(f"{f'lambda = {g}':>26}" for g in (*grid, "auto")))
        for algorithm in ("basic", "word", "word+refine"):
            paper = dict(zip(GRID[name], TABLE1[name, algorithm]))
            over = samples if algorithm == "word+refine" else samples[:1]
            lambdas = (*grid, "auto") if algorithm == "word+refine" else grid
            ours = [agreement(lambda X, K=K, a=algorithm, g=g: hard(s, X, K, a, g), over) for g in lambdas]
            cells = [f"{x[0]:.3f}/{x[1]:.3f} ({paper.get(g, '-')})" for g, x in zip(lambdas, ours)]
            print(f"{algorithm:<14}" + "".join(f"{c:>26}" for c in cells), flush=True)
            if algorithm == "word+refine":
                print(f"{'  spread':<14}" + "/".join(f"{x:.3f}" for x in np.ptp(ours[: len(grid)], axis=0)))
        alpha, eta = priors(name)
        x = agreement(lambda X, K=K, a=alpha, e=eta: gibbs(s, X, K, a, e), samples[:1])
        found = f"{x[0]:.3f}/{x[1]:.3f} ({TABLE1[name, 'gibbs'][0]})"
        print(f"{'gibbs':<14}{found:>26}", flush=True)


def table2(s: Setting) -> None:
    print("\nTable 2: mean l1 error of recovered topics; ours (paper's)")
    for name in SYNTH:
        lam = {"SynthA": 10.0, "SynthB": 8.0}[name]
        samples = [s.synth(name, n) for n in s.many_docs]
        K = len(samples[0].topic_word)
        alpha, eta = priors(name)
        methods: dict[str, Callable[[Any], Any]] = {
            "k-means": lambda X, K=K: MultinomialMixture(K, n_active=1, random_state=0).fit(X).components_,
            "basic": lambda X, K=K, lam=lam: hard(s, X, K, "basic", lam).topic_word_,
            "word": lambda X, K=K, lam=lam: hard(s, X, K, "word", lam).topic_word_,
            "word+refine": lambda X, K=K, lam=lam: hard(s, X, K, "word+refine", lam).topic_word_,
            "gibbs": lambda X, K=K, a=alpha, e=eta: gibbs(s, X, K, a, e).topic_word_,
            "gibbs from w+r": lambda X, K=K, a=alpha, e=eta, lam=lam: (
                gibbs(
                    s, X, K, a, e, init=hard(s, X, K, "word+refine", lam, max_iter=3), max_iter=s.sweeps // 5
                ).topic_word_
            ),
            "lda": lambda X, K=K, a=alpha, e=eta: lda(X, K, a, e).topic_word_,
            "lda from w+r": lambda X, K=K, a=alpha, e=eta, lam=lam: (
                lda(X, K, a, e, init=hard(s, X, K, "word+refine", lam, max_iter=3)).topic_word_
            ),
        }
        print(f"{name:<16}" + "".join(f"{x.corpus.n_docs:>16}" for x in samples))
        for method, fit in methods.items():
            paper = TABLE2.get((name, method), ())
            cells = [f"{topic_recovery_error(fit(x.corpus), x.topic_word):.3f}" for x in samples]
            cells = [f"{c} ({paper[i]:.3f})" if i < len(paper) and not s.quick else c for i, c in enumerate(cells)]
            print(f"{method:<16}" + "".join(f"{c:>16}" for c in cells), flush=True)


def table3(s: Setting) -> None:
    """And figure 2: how errors are spread over topics."""
    alpha, beta, K = 0.5 / s.K_semi, s.beta, s.K_semi
    print(f"\nTable 3: recovery error on {s.n_semi} documents from models of kos / nips with beta = {beta}; ", end="")
    print(f"lambda = {PENALTY_SEMI:.0f} (paper: semiEnron/semiNYTimes)")
    spread: dict[str, dict[str, np.ndarray]] = {}
    for name in ("kos", "nips"):
        phi = gibbs(s, s.real(name)[0], K, alpha, beta).topic_word_
        how: dict[str, Any] = {"doc_length": 200, "length_distribution": "fixed", "doc_topic_prior": alpha}
        X = sample_lda(s.n_semi, topic_word=phi, random_state=1, **how).corpus
        start = hard(s, X, K, "word+refine", PENALTY_SEMI, max_iter=3)
        found = {a: hard(s, X, K, a, PENALTY_SEMI).topic_word_ for a in ("basic", "word", "word+refine")}
        found["gibbs"] = gibbs(s, X, K, alpha, beta).topic_word_
        found["gibbs from w+r"] = gibbs(s, X, K, alpha, beta, init=start, max_iter=s.sweeps // 5).topic_word_
        found["lda"] = lda(X, K, alpha, beta).topic_word_
        found["lda from w+r"] = lda(X, K, alpha, beta, init=start).topic_word_
        spread[name] = {method: match_topics(phi, topics).distance for method, topics in found.items()}
    for method in spread["kos"]:
        ours = "/".join(f"{spread[name][method].mean():.3f}" for name in spread)
        print(f"{method:<16}{ours:>14}   ({TABLE3.get(method, '-')})")

    def densities(axes: Any, name: str) -> None:
        from scipy.stats import gaussian_kde

        at = np.linspace(0, 2, 300)
        for method, errors in spread[name].items():
            if errors.std() > 0:
                axes.plot(at, gaussian_kde(errors)(at), label=method)
        axes.set(xlabel="l1 error of a topic", ylabel="density", title=f"semi-synthetic {name}")

    draw(s, "combinatorial_figure2.png", [partial(densities, name=name) for name in spread])


def table4(s: Setting) -> None:
    print("\nTable 4: log likelihood a token of new documents, discrete and held-out; kos, then nips")
    for name in ("kos", "nips"):
        train, test = s.real(name)
        found = hard(s, train, s.K_real, "word+refine", 8.0).components_ - 0.01  # counts: its smoothing taken off
        for method in ("gibbs", "word+refine"):
            cells = []
            for beta in (0.1, 0.01, 0.001):
                if method == "gibbs":
                    phi = gibbs(s, train, s.K_real, 0.5 / s.K_real, beta).topic_word_
                else:
                    phi = (found + beta) / (found + beta).sum(axis=1, keepdims=True)
                counts = np.ascontiguousarray(np.round(phi.T * 1e8).astype(np.int32))  # Word takes counts
                z = place(Corpus.from_scipy(test), counts, 8.0, 1e-3, 2)[0].z
                cells.append(f"{discrete_log_likelihood(phi, test, z):.2f} {half_split_score(phi, test):.2f}")
            print(f"{name:<6}{method:<14}{', '.join(cells)}", flush=True)
    print("paper, Enron; NYTimes:")
    for method, figures in TABLE4.items():
        print(f"      {method:<14}{figures}")


def figure1(s: Setting) -> None:
    print("\nFigure 1: Gibbs from a random start and from three passes of Word + Refine; the first samples are drawn")
    plots = []
    for name in SYNTH:
        for seed in range(min(s.seeds, 3)):
            sample = s.synth(name, s.docs, seed)
            K, (alpha, eta) = len(sample.topic_word), priors(name)

            def error(chain: Any, sample: LdaSample = sample, eta: float = eta) -> float:
                return topic_recovery_error(chain.word.T + eta, sample.topic_word)

            curves = run_chains(s, sample.corpus, K, alpha, eta, s.grid(name)[::2], error)
            report(f"{name}, sample {seed}", curves, falls=True)
            if seed == 0:
                plots.append(lines(curves, f"{name}: recovery error"))
    train, test = s.real("kos")
    curves = run_chains(
        s, train, s.K_real, 0.5 / s.K_real, 0.1, PENALTIES_KOS, lambda chain: half_split_score(chain.word.T + 0.1, test)
    )
    report("kos", curves, falls=False)
    plots.append(lines(curves, "kos: held-out score"))
    draw(s, "combinatorial_figure1.png", plots)


Curves = dict[str, list[tuple[float, float, int]]]  # (seconds, value, sweeps)


def run_chains(
    s: Setting, X: Any, K: int, alpha: float, eta: float, grid: tuple[float, ...], value: Callable[[Any], float]
) -> Curves:
    """Values along chains. The clock counts the start, and stops while a value is computed. "random" is the paper's;
    "annealed" is ours from the same start."""
    curves: Curves = {}
    due = np.unique(np.geomspace(1, s.sweeps, 12 if s.quick else 40).astype(int))
    for start in ("random", "annealed", *grid):
        begin, spent = time.perf_counter(), 0.0
        init = None if isinstance(start, str) else hard(s, X, K, "word+refine", start, max_iter=3)
        points: list[tuple[float, float, int]] = []

        def watch(record: Any, chain: Any, points: Any = points, begin: float = begin) -> None:
            nonlocal spent
            if record.n_pass in due:
                now = time.perf_counter()
                points.append((now - begin - spent, value(chain), record.n_pass))
                spent += time.perf_counter() - now

        gibbs(s, X, K, alpha, eta, init=init, callbacks=[watch], annealing=0 if start == "random" else None)
        curves[start if isinstance(start, str) else f"from Word + Refine, lambda = {start}"] = points
    return curves


def report(name: str, curves: Curves, *, falls: bool) -> None:
    """When each chain first was where the random one ended, in seconds and in sweeps."""
    seconds, goal, sweeps = curves["random"][-1]

    def first(points: list[tuple[float, float, int]]) -> tuple[float, int]:
        return next(((t, n) for t, v, n in points if (v <= goal if falls else v >= goal)), (np.inf, 0))

    reached, after = first(curves["random"])
    print(f"{name}: random start ends at {goal:.3f} after {sweeps} sweeps, {seconds:.1f} s; ", end="")
    print(f"first there after {after} sweeps, {reached:.2f} s")
    for start, points in list(curves.items())[1:]:
        at, n = first(points)
        found = f"there after {n} sweeps, {at:.2f} s: {reached / at:.1f} times sooner" if n else "not reached"
        print(f"  {start}: {found}; ends at {points[-1][1]:.3f}", flush=True)


def lines(curves: Curves, title: str) -> Callable[[Any], None]:
    def plot(axes: Any) -> None:
        for start, points in curves.items():
            axes.semilogx(*list(zip(*points))[:2], label=start.replace("from Word + Refine", "W+R"))
        axes.set(xlabel="seconds", title=title)

    return plot


def draw(s: Setting, name: str, plots: list[Callable[[Any], None]]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("(no figure: matplotlib is not installed)")
        return
    s.out.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, len(plots), figsize=(4.5 * len(plots), 4), layout="constrained", squeeze=False)
    for plot, ax in zip(plots, axes[0]):
        plot(ax)
        ax.grid(alpha=0.3)
        ax.legend()
    figure.savefig(s.out / name, dpi=130)
    plt.close(figure)
    print(f"drawn: {s.out / name}")


PARTS = {"table1": table1, "table2": table2, "table3": table3, "table4": table4, "figure1": figure1}


def main(argv: list[str] | None = None) -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    p.add_argument("--sweeps", type=int, help="of Gibbs chains; 600 unless told, the paper has 3300")
    p.add_argument("--beta", type=float, default=0.01, help="smoothing of the topics that table 3's corpora come from")
    p.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "figures")
    a = p.parse_args(argv)
    setting = Setting(a.quick, a.out, a.sweeps, a.beta)
    for part in a.only:
        PARTS[part](setting)


if __name__ == "__main__":
    main()
