"""Twin of cpp/chains/gibbs.hpp and gibbs_sequential.hpp: the same draws, token by token in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.twins import rng

Array = NDArray[np.float64]
LANES = 16


class Counts(NamedTuple):
    """What tokens with topics z add up to."""

    word: Array  # [V, K]
    total: Array  # [K]


def count(words: NDArray[np.int64], z: NDArray[np.int64], V: int, K: int) -> Counts:
    word = np.zeros((V, K))
    np.add.at(word, (words, z), 1)
    return Counts(word, word.sum(axis=0))


def sequential_sweep(
    words: NDArray[np.int64],  # [tokens]
    first: NDArray[np.int64],  # [docs + 1]
    z: NDArray[np.int64],  # [tokens] changed in place
    alpha: Array,
    eta: Array,  # [V, K]
    seed: int,
    sweep: int,
) -> None:
    """Each token given all others, exactly."""
    V, K = eta.shape
    counts, lanes = count(words, z, V, K), np.argsort(np.arange(K) % LANES, kind="stable")
    for d in range(len(first) - 1):
        stream = rng.words(seed, sweep, d)
        mine = np.bincount(z[first[d] : first[d + 1]], minlength=K).astype(np.float64)
        for i in range(first[d], first[d + 1]):
            v = words[i]
            for n in (mine, counts.word[v], counts.total):
                n[z[i]] -= 1
            w = (mine + alpha) * (counts.word[v] + eta[v]) / (counts.total + eta.sum(axis=0))
            z[i] = lanes[pick(w[lanes], uniform(stream))]
            for n in (mine, counts.word[v], counts.total):
                n[z[i]] += 1


def sample_block(
    words: NDArray[np.int64],
    first: NDArray[np.int64],
    docs: range,
    z: NDArray[np.int64],  # changed in place
    alpha: Array,
    eta: Array,  # [V, K]
    seed: int,
    sweep: int,
) -> None:
    """Tokens of these documents, with the counts of words and totals as they are at the start."""
    counts = count(words, z, *eta.shape)
    norm = counts.total + eta.sum(axis=0)
    sample_documents(words, first, docs, z, alpha, (counts.word + eta) / norm, norm, seed, sweep)


def sample_documents(
    words: NDArray[np.int64],
    first: NDArray[np.int64],
    docs: range,
    z: NDArray[np.int64],  # changed in place
    alpha: Array,
    e: Array,  # [V, K] weights of words in topics, whose counts hold these tokens
    norm: Array,  # [K] what e was divided by
    seed: int,
    sweep: int,
    number: int = 0,  # of the first token
    own: Array | None = None,  # [docs, K] priors of documents, for which alpha makes proposals
) -> None:
    """Each token of these documents again, under fixed weights of words."""
    for d in docs:
        places: list[int | None] = []  # topics in order of arrival; who comes later takes the first place that is free
        n = np.zeros(len(alpha))
        for k in z[first[d] : first[d + 1]]:
            places += [int(k)] if n[k] == 0 else []
            n[k] += 1
        for i in range(first[d], first[d + 1]):
            v, old, stream = words[i], int(z[i]), rng.words(seed, sweep, number + i)
            keep = (n[old] - 1 + alpha[old]) * (e[v, old] * norm[old] - 1) / (norm[old] - 1)
            others = [k for k in places if k not in (old, None)]
            document = sum(n[k] * e[v, k] for k in others)
            prior = alpha * e[v] * (np.arange(len(alpha)) != old)
            x = uniform(stream) * (keep + document + prior.sum()) - keep
            w = uniform(stream)
            if x < 0:
                continue
            if x < document:
                new, accepts = others[pick(np.array([n[k] * e[v, k] for k in others]), x / document)], w
            else:
                new, accepts = pick(prior, w), (x - document) / prior.sum()
            assert new is not None
            if own is not None:
                odds = (n[new] + own[d, new]) / (n[new] + alpha[new])
                odds /= (n[old] - 1 + own[d, old]) / (n[old] - 1 + alpha[old])
                if accepts >= odds:
                    continue
            n[old] -= 1
            if n[old] == 0:
                places[places.index(old)] = None
            if n[new] == 0 and None in places:
                places[places.index(None)] = new
            elif n[new] == 0:
                places.append(new)
            n[new] += 1
            z[i] = new


def draw_given(
    words: NDArray[np.int64],
    first: NDArray[np.int64],
    given: list[dict[int, float]],  # the topics of each document and their counts, in order
    alpha: Array,
    e: Array,
    seed: int,
    sweep: int,
    number: int = 0,
) -> NDArray[np.int64]:
    """A topic for each token, given the proportions of its document."""
    z = np.zeros(len(words), np.int64)
    for d, counts in enumerate(given):
        for i in range(first[d], first[d + 1]):
            stream = rng.words(seed, sweep, number + i)
            own = np.array([n * e[words[i], k] for k, n in counts.items()])
            prior = alpha * e[words[i]]
            x = uniform(stream) * (own.sum() + prior.sum())
            inside = x < own.sum()
            z[i] = list(counts)[pick(own, x / own.sum())] if inside else pick(prior, uniform(stream))
    return z


def pick(w: Array, u: float) -> int:
    return int(min(np.searchsorted(np.cumsum(w), u * w.sum(), side="right"), len(w) - 1))


def uniform(stream: Iterator[int]) -> float:
    """In [0, 1), 24 bits."""
    return (next(stream) >> 8) * 2.0**-24


def log_joint(
    words: NDArray[np.int64], doc: NDArray[np.int64], z: NDArray[np.int64], alpha: Array, eta: Array
) -> float:
    """log p(w, z) by the chain rule: each token given those before it, in any order."""
    V, K = eta.shape
    n_dk, n_vk = np.zeros((int(doc.max(initial=-1)) + 1, K)), np.zeros((V, K))
    total = 0.0
    for d, v, k in zip(doc, words, z):
        total += np.log((n_dk[d, k] + alpha[k]) / (n_dk[d].sum() + alpha.sum()))
        total += np.log((n_vk[v, k] + eta[v, k]) / (n_vk[:, k].sum() + eta[:, k].sum()))
        n_dk[d, k] += 1
        n_vk[v, k] += 1
    return float(total)
