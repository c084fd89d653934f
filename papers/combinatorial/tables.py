"""Tables 1 and 4: agreement with true assignments, and log likelihoods of new documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.synthetic import SYNTHETIC
from papers.combinatorial.fits import Sizes, gibbs, hard, priors
from papers.combinatorial.reported import GRID, TABLE1, TABLE4
from topmix.chains.hard_topics import place
from topmix.data import Corpus
from topmix.data.generate import LdaSample
from topmix.metrics import adjusted_rand, discrete_log_likelihood, half_split_score, nmi


def table1(s: Sizes) -> None:
    print(f"\nTable 1: NMI / adjusted Rand of token assignments, {s.docs} documents; ours (paper's)")
    print(f"Word + Refine: means over {s.seeds} samples; the others: one")
    for name in SYNTHETIC:
        samples = [s.synthetic(name, s.docs, seed) for seed in range(s.seeds)]
        K, grid = len(samples[0].topic_word), s.grid(name)
        print(f"{name:<14}" + "".join(f"{f'lambda = {g}':>26}" for g in (*grid, "auto")))
        for algorithm in ("basic", "word", "word+refine"):
            paper = dict(zip(GRID[name], TABLE1[name, algorithm]))
            over = samples if algorithm == "word+refine" else samples[:1]
            lambdas = (*grid, "auto") if algorithm == "word+refine" else grid
            found = [agreement(partial(hard, s, K=K, algorithm=algorithm, penalty=g), over) for g in lambdas]
            cells = [f"{x[0]:.3f}/{x[1]:.3f} ({paper.get(g, '-')})" for g, x in zip(lambdas, found)]
            print(f"{algorithm:<14}" + "".join(f"{c:>26}" for c in cells), flush=True)
            if algorithm == "word+refine":
                print(f"{'  spread':<14}" + "/".join(f"{x:.3f}" for x in np.ptp(found[: len(grid)], axis=0)))
            result = {"nmi_and_rand": dict(zip(lambdas, found))}
            s.write(result, table=1, synthetic=name, method=algorithm, documents=s.docs)
        alpha, eta = priors(name)
        x = agreement(partial(gibbs, s, K=K, alpha=alpha, eta=eta), samples[:1])
        cell = f"{x[0]:.3f}/{x[1]:.3f} ({TABLE1[name, 'gibbs'][0]})"
        print(f"{'gibbs':<14}{cell:>26}", flush=True)
        s.write({"nmi_and_rand": x}, table=1, synthetic=name, method="gibbs", documents=s.docs)


def agreement(fit: Callable[..., Any], samples: list[LdaSample]) -> np.ndarray:
    """Mean NMI and adjusted Rand index of the tokens' topics with the truth."""
    pairs = [(x.assignments, fit(X=x.corpus).token_topics_) for x in samples]
    return np.mean([(nmi(*pair), adjusted_rand(*pair)) for pair in pairs], axis=0)


def table4(s: Sizes) -> None:
    print("\nTable 4: log likelihood per token of new documents, discrete and held-out; kos, then nips")
    for name in ("kos", "nips"):
        data = s.real(name)
        train, test = data.train, data.test
        counts = hard(s, train, s.K_real, "word+refine", 8.0).components_ - 0.01  # without its smoothing
        for method in ("gibbs", "word+refine"):
            cells = []
            for beta in (0.1, 0.01, 0.001):
                if method == "gibbs":
                    phi = gibbs(s, train, s.K_real, 0.5 / s.K_real, beta).topic_word_
                else:
                    phi = (counts + beta) / (counts + beta).sum(axis=1, keepdims=True)
                found = {"discrete": discrete_score(phi, test), "held_out": half_split_score(phi, test)}
                cells.append(f"{found['discrete']:.2f} {found['held_out']:.2f}")
                s.write(found, data, table=4, method=method, beta=beta, K=s.K_real)
            print(f"{name:<6}{method:<14}{', '.join(cells)}", flush=True)
    print("paper, Enron; NYTimes:")
    for method, figures in TABLE4.items():
        print(f"      {method:<14}{figures}")


def discrete_score(phi: np.ndarray, test: Any) -> float:
    """Log likelihood per token, with the assignments that Word gives the new documents."""
    scaled = np.ascontiguousarray(np.round(phi.T * 1e8).astype(np.int32))  # Word takes counts
    z = place(Corpus.from_scipy(test), scaled, 8.0, 1e-3, 2)[0].z
    return discrete_log_likelihood(phi, test, z)
