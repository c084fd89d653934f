"""Twin of cuda/kernels/gibbs.cu: the same draws, token by token in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.twins.gibbs import count

Array = NDArray[np.float64]
MASK, GOLDEN = (1 << 64) - 1, 0x9E3779B97F4A7C15


def mixed(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def uniform(bits: int) -> float:
    """In [0, 1), 24 bits."""
    return (bits >> 40) * 2.0**-24


def sample_block(
    words: NDArray[np.int64],  # [tokens]
    first: NDArray[np.int64],  # [docs + 1]
    docs: range,
    z: NDArray[np.int64],  # [tokens] changed in place
    alpha: Array,
    eta: Array,  # [V, K]
    seed: int,
    sweep: int,
    own: Array | None = None,  # [docs, K] priors of documents, for which alpha makes proposals
) -> Array:
    """Returns for each document how close its closest draw was to another topic, as a share of all weight."""
    counts = count(words, z, *eta.shape)
    norm = counts.total + eta.sum(axis=0)
    e = (counts.word + eta) / norm
    margins = np.full(len(docs), np.inf)
    for at, d in enumerate(docs):
        key = mixed((seed + GOLDEN * mixed((sweep << 32) + d)) & MASK)
        topics: list[int] = []  # in order of arrival; the place of one that left is used again
        n: list[int] = []

        def arrive(k: int, topics: list[int] = topics, n: list[int] = n) -> None:
            if k not in topics:
                if 0 in n:
                    topics[n.index(0)] = k
                else:
                    topics.append(k)
                    n.append(0)
            n[topics.index(k)] += 1

        for k in z[first[d] : first[d + 1]]:
            arrive(int(k))
        for i in range(first[d], first[d + 1]):
            v, old, c = words[i], int(z[i]), int(i - first[d])
            mine = n[topics.index(old)]
            keep = (mine - 1 + alpha[old]) * (counts.word[v, old] + eta[v, old] - 1) / (norm[old] - 1)
            document = np.array([n[j] * e[v, k] * (k != old) for j, k in enumerate(topics)])
            prior = alpha * e[v]
            prior[old] = 0
            total = keep + document.sum() + prior.sum()
            u, u_prior = (uniform(mixed((key + GOLDEN * (2 * c + j)) & MASK)) for j in (1, 2))
            x = u * total
            edges = np.append(keep + np.append(0, np.cumsum(document)), total)
            margins[at] = min(margins[at], np.abs(edges[:-1] - x).min() / total)
            if x < keep:
                continue
            if x < keep + document.sum():
                new = topics[int(np.searchsorted(np.cumsum(document), x - keep, side="right"))]
            else:
                sums = np.cumsum(prior)
                margins[at] = min(margins[at], np.abs(sums - u_prior * sums[-1]).min() / sums[-1])
                new = int(np.searchsorted(sums, u_prior * sums[-1], side="right"))
            if own is not None and new != old:
                n_new = n[topics.index(new)] if new in topics else 0
                odds = (n_new + own[d, new]) / (n_new + alpha[new])
                odds /= (mine - 1 + own[d, old]) / (mine - 1 + alpha[old])
                u = uniform(mixed(mixed((key + GOLDEN * (2 * c + 2)) & MASK)))
                margins[at] = min(margins[at], abs(u - odds))
                if u >= odds:
                    continue
            n[topics.index(old)] -= 1
            arrive(new)
            z[i] = new
    return margins
