"""Anchor words (Arora et al. 2013), which Jiang, Sra & Kulis compare with: topics from co-occurrence alone.

1. Q, the joint probability of two words of a document, without bias (their Eq. in section 4.1), rows normalised.
2. K anchor words: rows of Q, in a random projection, each the farthest from the span of those before (FastAnchorWords).
3. Every other row as a convex combination of the anchors' rows, by least squares (RecoverL2): p(topic | word), and
   from it and p(word) the topics.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

PROJECTED = 1000  # dimensions
FREQUENT = 0.05  # share of documents that a word must be in to become an anchor; rare words have noisy rows


def anchor_topics(X: sp.csr_array, K: int, seed: int = 0) -> np.ndarray:
    """[K, V] topics of counts [D, V]."""
    Q, share = co_occurrence(X)
    documents = np.asarray((X > 0).sum(axis=0)).ravel()
    least = min(FREQUENT * X.shape[0], np.sort(documents)[-min(10 * K, len(documents))])  # enough to choose from
    found = anchors(Q, np.flatnonzero(documents >= least), K, seed)
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


def recover(Q: np.ndarray, basis: np.ndarray, steps: int = 500, tol: float = 1e-6) -> np.ndarray:
    """[V, K] weights of the basis rows [K, V] for every row of Q: convex combinations, nearest in squares.

    Projected gradient with momentum. It needs the products with the basis alone, not Q itself.
    """
    G, B = basis @ basis.T, Q @ basis.T
    rate = 1.0 / np.linalg.eigvalsh(G)[-1]
    weights = ahead = np.full(B.shape, 1.0 / len(basis))
    t = 1.0
    for _ in range(steps):
        new = on_simplex(ahead - rate * (ahead @ G - B))
        t, before = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0, t
        ahead = new + (before - 1.0) / t * (new - weights)
        moved = np.abs(new - weights).max()
        weights = new
        if moved < tol:
            break
    return weights


def on_simplex(x: np.ndarray) -> np.ndarray:
    """The nearest point of the simplex to each row."""
    ordered = -np.sort(-x, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1.0
    n = np.arange(1, x.shape[1] + 1)
    last = (ordered - sums / n > 0).sum(axis=1)
    shift = sums[np.arange(len(x)), last - 1] / last
    return np.maximum(x - shift[:, None], 0.0)
