"""Twin of cpp/steps/scvb0.hpp: SCVB0 on one minibatch, token by token in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.twins import rng
from tests.twins.top_l import normalise_top_l

Array = NDArray[np.float64]


class Scvb0Result(NamedTuple):
    S: Array  # [words, K] sum of m gamma over the pass that counts
    docs: Array  # [D, K] likewise
    averages: Array  # [D, K] N^Theta
    entropy: float
    margin: float  # how near a selection was to going the other way, relative to the weight at the cut


def scvb0_step(
    indptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    table: NDArray[np.float32],
    alpha: Array,
    *,
    scale: float,
    offset: float,
    decay: float,
    burn_in: int,
    L: int,
    seed: int,
    pass_: int,
) -> Scvb0Result:
    n_docs, K = len(indptr) - 1, table.shape[1]
    S, docs, averages = np.zeros(table.shape), np.zeros((n_docs, K)), np.zeros((n_docs, K))
    entropy, margin = 0.0, np.inf
    for d in range(n_docs):
        words, copies = index[indptr[d] : indptr[d + 1]], value[indptr[d] : indptr[d + 1]].astype(np.float64)
        C = copies.sum()
        stream = rng.words(seed, pass_, d)
        order = list(range(len(words)))
        N, t = C * alpha / alpha.sum(), 0.0
        for n_pass in range(burn_in + 1):
            shuffle(order, stream)
            for u in order:
                w = table[words[u]].astype(np.float64) * (N + alpha)  # Eq. (5)
                margin = min(margin, gap(w, L))
                idx, shares, H = normalise_top_l(w, L)
                gamma = np.zeros(K)
                gamma[idx] = shares
                left = (1 - min(1.0, scale / (offset + t) ** decay)) ** copies[u]
                N = left * N + (1 - left) * C * gamma  # Eq. (9)
                t += copies[u]
                if n_pass == burn_in:
                    S[words[u]] += copies[u] * gamma
                    docs[d] += copies[u] * gamma
                    entropy += copies[u] * H
        averages[d] = N
    return Scvb0Result(S, docs, averages, entropy, margin)


def shuffle(order: list[int], stream: Iterator[int]) -> None:
    """Fisher-Yates, from the end."""
    for i in range(len(order), 1, -1):
        j = rng.below(stream, i)
        order[i - 1], order[j] = order[j], order[i - 1]


def gap(w: Array, L: int) -> float:
    """Between the last weight that is kept and the first that is not, relative."""
    if len(w) <= L:
        return np.inf
    ranked = np.sort(w)[::-1]
    return float(1 - ranked[L] / ranked[L - 1])
