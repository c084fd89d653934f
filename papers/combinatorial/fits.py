"""The sizes of all experiments, and the estimators that they compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.synthetic import SYNTHETIC, synthetic
from papers.combinatorial.reported import GRID
from topmix.data import sample_lda
from topmix.data.generate import LdaSample


class Sizes:
    """The paper's, or small ones; and where results go."""

    def __init__(
        self, quick: bool, draw: Path | None, out: Results, threads: int, sweeps: int | None = None, beta: float = 0.01
    ) -> None:
        self.quick, self.draw, self.out, self.threads, self.beta = quick, draw, out, threads, beta
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

    def synthetic(self, name: str, n_docs: int, seed: int = 0) -> LdaSample:
        small = {"n_words": 300, "n_topics": 6, "doc_length": 60} if self.quick else {}
        return synthetic(name, n_docs, seed, **small)

    def real(self, name: str) -> datasets.Dataset:
        """A real corpus with at most 300 test documents; drawn from LDA if all is to be quick."""
        if not self.quick:
            data = datasets.load(name)
            return data._replace(test=data.test[:300])
        X = sample_lda(500, 400, 12, doc_length=80, random_state=len(name)).corpus.to_scipy()
        return datasets.Dataset(f"{name}, generated", X[100:], X[50:100], X[:50], [], "")

    def write(self, result: dict[str, Any], data: datasets.Dataset | None = None, **settings: Any) -> None:
        self.out.add(result, settings | {"sweeps": self.sweeps, "threads": self.threads, "quick": self.quick}, data)


def priors(name: str) -> tuple[float, float]:
    return SYNTHETIC[name]["doc_topic_prior"], SYNTHETIC[name]["topic_word_prior"]


def hard(s: Sizes, X: Any, K: int, algorithm: str, penalty: Any, **how: Any) -> Any:
    how = {"max_iter": s.passes[algorithm], "tol": -np.inf, "random_state": 0, "n_jobs": s.threads} | how
    return ours.combinatorial_lda(K, penalty=penalty, algorithm=algorithm, **how).fit(X)


def gibbs(s: Sizes, X: Any, K: int, alpha: Any, eta: float, **how: Any) -> Any:
    how = {"max_iter": s.sweeps, "thin": 10, "random_state": 0, "n_jobs": s.threads} | how
    return ours.gibbs_lda(K, doc_topic_prior=alpha, topic_word_prior=eta, **how).fit(X)


def lda(s: Sizes, X: Any, K: int, alpha: float, eta: float, **how: Any) -> Any:
    how = {"max_iter": 50, "tol": 1e-4, "random_state": 0, "n_jobs": s.threads} | how
    return ours.lda(K, doc_topic_prior=alpha, topic_word_prior=eta, **how).fit(X)


def topics_by_method(s: Sizes, X: Any, K: int, alpha: float, eta: float, penalty: float) -> dict[str, np.ndarray]:
    """Topics of every method that tables 2 and 3 have; "w+r" is Word + Refine."""
    start = hard(s, X, K, "word+refine", penalty, max_iter=3)
    found = {name: hard(s, X, K, name, penalty) for name in ("basic", "word", "word+refine")}
    found["gibbs"] = gibbs(s, X, K, alpha, eta)
    found["gibbs from w+r"] = gibbs(s, X, K, alpha, eta, init=start, max_iter=s.sweeps // 5)
    found["lda"] = lda(s, X, K, alpha, eta)
    found["lda from w+r"] = lda(s, X, K, alpha, eta, init=start)
    return {name: fitted.topic_word_ for name, fitted in found.items()}
