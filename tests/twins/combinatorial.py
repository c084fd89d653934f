"""Twin of cpp/chains/combinatorial.hpp and refine.hpp: objective, Basic, Word and Refine, plainly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def objective(words: Ints, doc: Ints, z: Ints, K: int, penalty: float) -> float:
    """Sum over tokens of -log psi_zw, psi the frequencies of words in topics, plus the penalty for topics in use."""
    counts = np.zeros((int(words.max(initial=-1)) + 1, K))
    np.add.at(counts, (words, z), 1)
    psi = counts[words, z] / counts.sum(axis=0)[z]
    return float(-np.log(psi).sum() + penalty * len({(d, k) for d, k in zip(doc.tolist(), z.tolist())}))


def basic(words: Ints, z: Ints, D: Array, penalty: float) -> Ints:
    """Algorithm 1 on one document: tokens one after another to the nearest topic; a new one is `penalty` farther."""
    z = z.copy()
    for i, v in enumerate(words):
        far = D[v] + penalty * ~np.isin(np.arange(D.shape[1]), z)
        if far.min() < D[v, z[i]]:
            z[i] = far.argmin()
    return z


def word(words: Ints, D: Array, penalty: float) -> Ints:
    """Algorithm 2 on one document, by trying every prefix of every order: the cheapest set a token, again and again."""
    K = D.shape[1]
    z, price = np.full(len(words), -1), np.full(K, penalty)
    while np.any(z < 0):
        best = (np.inf, 0, np.zeros(0, np.int64))
        free = np.flatnonzero(z < 0)
        for k in range(K):
            order = free[np.argsort(D[words[free], k], kind="stable")]
            ratio = (price[k] + np.cumsum(D[words[order], k])) / np.arange(1, len(order) + 1)
            n = 1 if price[k] == 0 else int(ratio.argmin()) + 1
            if ratio[n - 1] < best[0]:
                best = (float(ratio[n - 1]), k, order[:n])
        price[best[1]] = 0.0
        z[best[2]] = best[1]
    return z


def cost(words: Ints, z: Ints, D: Array, penalty: float) -> float:
    """What one document adds to the objective under fixed distances."""
    return float(D[words, z].sum() + penalty * len(np.unique(z)))


def refine(words: Ints, doc: Ints, z: Ints, K: int, penalty: float, order: Ints, least_round: int = 256) -> Ints:
    """Algorithm 3: every difference is the objective computed twice.

    A round is an eighth of the documents. Those of its documents that would move nothing when it begins are not
    visited, unless most documents of the round before moved, or rounds would be smaller than `least_round`.
    """
    z, size, most_move = z.copy(), -(-len(order) // 8), False

    def better(z: Ints, mini: Ints) -> int:
        """The topic of the least objective, if that is below the present one."""
        now, t = objective(words, doc, z, K, penalty), int(z[mini[0]])
        change = np.zeros(K)
        for k in range(K):
            moved = z.copy()
            moved[mini] = k
            change[k] = objective(words, doc, moved, K, penalty) - now
        change[t] = np.inf
        return int(change.argmin()) if change.min() < -1e-9 else t

    def minis(d: int, z: Ints) -> Iterator[Ints]:
        mine = np.flatnonzero(doc == d)
        for t in dict.fromkeys(z[mine].tolist()):
            mini = mine[z[mine] == t]
            if len(mini):
                yield mini

    for begin in range(0, len(order), size):
        group, moved, start = order[begin : begin + size], 0, z.copy()
        for d in group:
            if (
                most_move
                or size < least_round
                or any(better(start, mini) != start[mini[0]] for mini in minis(d, start))
            ):
                before = z[doc == d]
                for mini in minis(d, z):
                    z[mini] = better(z, mini)
                moved += bool(np.any(before != z[doc == d]))
        most_move = 2 * moved > len(group)
    return z
