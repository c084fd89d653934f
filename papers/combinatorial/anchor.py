"""Anchor words (Arora et al. 2013), which Jiang, Sra & Kulis compare with: topics from co-occurrence alone.

1. Q, the joint probability of two words of a document, without bias (their Eq. in section 4.1), rows normalised.
2. K anchor words: rows of Q, in a random projection, each the farthest from the span of those before (FastAnchorWords).
3. Every other row as a convex combination of the anchors' rows, by exponentiated gradient on the KL divergence
   (RecoverKL): p(topic | word), and from it and p(word) the topics.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

PROJECTED = 1000  # dimensions
LEAST_DOCUMENTS = 10  # that a word must be in to become an anchor


def anchor_topics(X: sp.csr_array, K: int, seed: int = 0) -> np.ndarray:
    """[K, V] topics of counts [D, V]."""
    Q, share = co_occurrence(X)
    documents = np.asarray((X > 0).sum(axis=0)).ravel()
    found = anchors(Q, np.flatnonzero(documents >= min(LEAST_DOCUMENTS, documents.max())), K, seed)
    given_word = recover(Q, Q[found])  # [V, K] p(topic | word)
    topics = (given_word * share[:, None]).T
    return topics / topics.sum(axis=1, keepdims=True)


def co_occurrence(X: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """[V, V] with rows that sum to one, and [V] the sums that they had: shares of words."""
    X = sp.csr_array(X, dtype=np.float64)
    n = np.asarray(X.sum(axis=1)).ravel()
    X, n = X[n >= 2], n[n >= 2]
    weight = sp.diags_array(1.0 / (n * (n - 1.0)))
    Q = (X.T @ (weight @ X)).toarray()
    Q[np.diag_indices(len(Q))] -= np.asarray((weight @ X).sum(axis=0)).ravel()
    Q /= Q.sum()
    share = Q.sum(axis=1)
    return Q / np.maximum(share, 1e-300)[:, None], share


def anchors(Q: np.ndarray, candidates: np.ndarray, K: int, seed: int) -> np.ndarray:
    """K rows of Q, each the farthest from the span of those before: Gram-Schmidt in a random projection."""
    rng = np.random.default_rng(seed)
    rows = Q[candidates]
    if rows.shape[1] > PROJECTED:
        rows = rows @ rng.normal(size=(rows.shape[1], PROJECTED)) / np.sqrt(PROJECTED)
    chosen = [int(np.argmax(np.square(rows).sum(axis=1)))]
    rows = rows - rows[chosen[0]]
    for _ in range(K - 1):
        length = np.square(rows).sum(axis=1)
        best = int(np.argmax(length))
        chosen.append(best)
        direction = rows[best] / np.sqrt(max(length[best], 1e-300))
        rows = rows - np.outer(rows @ direction, direction)
    return candidates[np.array(chosen)]


def recover(Q: np.ndarray, basis: np.ndarray, steps: int = 300, tol: float = 1e-5) -> np.ndarray:
    """[V, K] weights of the basis rows [K, V] for every row of Q, that minimise KL(row || weights @ basis).

    Exponentiated gradient is EM here: weights are multiplied by how much better a basis row explains than the mean.
    """
    V, K = len(Q), len(basis)
    weights = np.full((V, K), 1.0 / K)
    basis = np.maximum(basis, 1e-12)
    for _ in range(steps):
        ratio = Q / (weights @ basis)
        new = weights * (ratio @ basis.T)
        new /= np.maximum(new.sum(axis=1, keepdims=True), 1e-300)
        moved = np.abs(new - weights).max()
        weights = new
        if moved < tol:
            break
    return weights
