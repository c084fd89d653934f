"""CVB0 in NumPy: as it is written, token by token, and as cpp/steps/cvb0.hpp runs it, topics fixed within a shard.

The first is what the second is meant to come to. They share fixed points: when no gamma moves any more, what the words
hold of a token is its gamma, and the two updates are the same equation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.twins.scvb0 import gap
from tests.twins.top_l import normalise_top_l

Array = NDArray[np.float64]


def textbook(X: Array, alpha: Array, eta: float, gamma: Array, n_passes: int, L: int | None = None) -> Array:
    """Foulds et al. 2013, Eq. (3), every count up to date. X [D, V] counts; gamma [D, V, K] is updated and returned.

    Copies of a word in a document share a gamma, and one copy is left out; with counts of one that is every token.
    """
    K = len(alpha)
    for _ in range(n_passes):
        N_doc, N_word = np.einsum("dv,dvk->dk", X, gamma), np.einsum("dv,dvk->vk", X, gamma)
        N_topic = N_word.sum(axis=0)
        for d, v in zip(*np.nonzero(X)):
            own, c = gamma[d, v].copy(), X[d, v]
            one = min(c, 1.0) * own
            w = (N_doc[d] - one + alpha) * (N_word[v] - one + eta) / (N_topic - one + X.shape[1] * eta)
            idx, shares, _ = normalise_top_l(w, L or K)
            gamma[d, v] = 0
            gamma[d, v, idx] = shares
            moved = c * (gamma[d, v] - own)
            N_doc[d] += moved
            N_word[v] += moved
            N_topic += moved
    return gamma


class Cvb0Result(NamedTuple):
    S: Array  # [words, K]
    docs: Array  # [D, K]
    entropy: float
    sweeps: int
    gamma: Array  # [nnz, K]
    margin: float  # as in tests/twins/scvb0.py


def cvb0_step(
    indptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    counts: Array,
    norm: Array,
    alpha: Array,
    *,
    least: float,
    L: int,
    burn_in: int,
    last: Array | None,
) -> Cvb0Result:
    """counts [words, K] are N_vk + eta_v, norm [K] is N_k + eta; `last` [nnz, K] is what they hold of each entry."""
    n_docs, K = len(indptr) - 1, len(alpha)
    S, docs, gamma = np.zeros(counts.shape), np.zeros((n_docs, K)), np.zeros((len(index), K))
    total_entropy, sweeps, margin = 0.0, 0, np.inf
    for d in range(n_docs):
        entries = range(indptr[d], indptr[d + 1])
        for i in entries:
            if last is None:
                idx, shares, _ = normalise_top_l(counts[index[i]] / norm, L)
                margin = min(margin, gap(counts[index[i]] / norm, L))
                gamma[i, idx] = shares
            else:
                gamma[i] = last[i]
        N = value[entries.start : entries.stop].astype(np.float64) @ gamma[entries.start : entries.stop]
        for _ in range(1 if last is not None else burn_in + 1):
            entropy = 0.0
            for i in entries:
                c, word, phi = float(value[i]), counts[index[i]], counts[index[i]] / norm
                own = min(c, 1.0) * gamma[i]
                if last is not None:
                    phi = np.where(own > 0, np.maximum(word - own, least) / np.maximum(norm - own, least), phi)
                w = phi * (np.maximum(N - own, 0) + alpha)
                margin = min(margin, gap(w, L))
                idx, shares, H = normalise_top_l(w, L)
                N = N - c * gamma[i]
                gamma[i] = 0
                gamma[i, idx] = shares
                N = N + c * gamma[i]
                entropy += c * H
            sweeps += len(entries) > 0
        total_entropy += entropy
        docs[d] = N
        for i in entries:
            S[index[i]] += value[i] * gamma[i]
    return Cvb0Result(S, docs, total_entropy, sweeps, gamma, margin)
