"""Where topics start: pseudo-counts [V, K] that fade during the first pass. It matters more than anything after it.

Topics made of single documents are too sharp: every learner stays in a poor optimum. Near-uniform ones collapse into
copies of each other. What works is a little of one document in a lot of the corpus mean ("blended"). Common words would
then start alike in all topics and stay there; so they are damped, and a few background topics, plain means of
documents, start with what was taken away. docs/choosing.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from topmix.data.corpus import Corpus
from topmix.likelihoods.categorical import spread_rows

OWN = 0.1  # share of a blended topic that is its document's own
COMMON = 0.008  # a word this frequent is damped by half, one ten times as frequent by a hundred
BACKGROUND = 0.2  # background topics, as a share of K times the mass that damping takes away
DOCUMENTS_A_BACKGROUND = 50
PSEUDO_TOKENS = 3000.0  # a topic, at the start


def blended(corpus: Corpus, K: int, rng: np.random.Generator) -> np.ndarray:
    X = corpus.to_scipy()
    mean, rows = _mean(X), _usable(X)
    damping = 1.0 / (1.0 + (mean / COMMON) ** 2)
    n_background = min(K - 1, round(BACKGROUND * K * float(mean @ (1.0 - damping))))

    seeds = np.empty((K, X.shape[1]))
    for k in range(n_background):
        chosen = rng.choice(rows, min(DOCUMENTS_A_BACKGROUND, len(rows)), replace=False)
        seeds[k] = _mean(X[np.sort(chosen)])
    chosen = rng.choice(rows, K - n_background, replace=len(rows) < K - n_background)
    seeds[n_background:] = (1.0 - OWN) * mean * damping
    for k, d in enumerate(chosen, start=n_background):
        entries = slice(X.indptr[d], X.indptr[d + 1])
        words, counts = X.indices[entries], X.data[entries]
        seeds[k, words] += OWN * counts / max(counts.sum(), 1e-300) * damping[words]
    return _scaled(seeds)


def documents(corpus: Corpus, K: int, rng: np.random.Generator) -> np.ndarray:
    """K documents far from each other, as Hughes & Sudderth (2016) start: k-means++ under the KL divergence."""
    X = corpus.to_scipy()
    mean = _mean(X)
    rows = spread_rows(X, np.ones(X.shape[0]), K, mean, rng)
    return np.ascontiguousarray(X[rows].toarray().T, dtype=np.float64)


def random(corpus: Corpus, K: int, rng: np.random.Generator) -> np.ndarray:
    """Near-uniform: Gamma(100, 1/100) for each word and topic, as scikit-learn and Hoffman et al. (2010) start."""
    return np.ascontiguousarray(rng.gamma(100.0, 0.01, (K, corpus.n_words)).T)


STARTS: dict[str, Callable[[Corpus, int, np.random.Generator], np.ndarray]] = {
    "auto": blended,
    "blended": blended,
    "documents": documents,
    "random": random,
}


def _usable(X: sp.csr_array) -> np.ndarray:
    rows = np.flatnonzero(np.diff(X.indptr))
    return rows if len(rows) else np.arange(X.shape[0])


def _mean(X: sp.csr_array) -> np.ndarray:
    sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    return sums / max(sums.sum(), 1e-300)


def _scaled(seeds: np.ndarray) -> np.ndarray:  # [K, V] -> [V, K]
    sums = np.maximum(seeds.sum(axis=1), 1e-300)
    return np.ascontiguousarray((seeds * (PSEUDO_TOKENS / sums)[:, None]).T)
