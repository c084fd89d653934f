"""Two topics become one where the bound is higher so. Every term of the gain is exact.  docs/math.md Eq. (3.25).

All but one can be had from statistics at any time: those of words, documents and sticks. The entropy of tokens that
are in both topics needs the tokens, and only falls. So candidates are the pairs that would gain but for it, no topic in
two of them; the next pass gathers their entropies; and after it they are judged with what it left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from topmix import dirichlet
from topmix.allocations.hdp import StickPrior
from topmix.likelihoods.topic_words import TopicWords
from topmix.moves.documents import Documents, renamed_prior

NEIGHBOURS = 4  # of each topic, by the cosine of their words, that are looked at

Pair = tuple[int, int]


class Merged(NamedTuple):
    names: np.ndarray  # [K] what each topic becomes
    lost: float  # entropy
    gains: dict[Pair, float]  # of the pairs that were merged, in the order of merging


def candidates(here: Documents, refused: Iterable[Pair] = ()) -> list[Pair]:
    """Pairs that would gain if no token were in both, the best first, no topic in two of them."""
    pairs = sorted(_similar(here.model.words) - set(refused))
    if not pairs:
        return []
    before_entropy = _words(here.model.words, pairs) + _documents(here.counts(), here.prior, here.total.D, pairs)
    found: list[Pair] = []
    used: set[int] = set()
    for i in np.argsort(-before_entropy, kind="stable"):
        pair = pairs[i]
        if used.isdisjoint(pair) and before_entropy[i] + _sticks(here, [], pair) > 0:
            found.append(pair)
            used.update(pair)
    return found


def decide(here: Documents, pairs: list[Pair], lost: np.ndarray) -> Merged:
    """Those that raise the bound, one after the other; `lost` [pairs] is what each takes from the entropy."""
    K = here.model.n_components
    if not pairs:
        return Merged(np.arange(K), 0.0, {})
    apart = _words(here.model.words, pairs) + _documents(here.counts(), here.prior, here.total.D, pairs) - lost
    merged: list[Pair] = []
    gains: dict[Pair, float] = {}
    taken = 0.0
    for i in np.argsort(-apart, kind="stable"):
        gain = float(apart[i]) + _sticks(here, merged, pairs[i])
        if gain > 0:
            merged.append(pairs[i])
            gains[pairs[i]] = gain
            taken += float(lost[i])
    return Merged(_names(K, merged), taken, gains)


def _names(K: int, pairs: list[Pair]) -> np.ndarray:
    first = np.arange(K)
    for j, k in pairs:
        first[k] = j
    _, names = np.unique(first, return_inverse=True)
    return names


def _similar(words: TopicWords) -> set[Pair]:
    counts = np.maximum(words.total.counts(), 0.0)
    counts /= np.maximum(np.linalg.norm(counts, axis=0), 1e-300)
    cosine = counts.T @ counts
    np.fill_diagonal(cosine, -1.0)
    n = min(NEIGHBOURS, len(cosine) - 1)
    nearest = np.argsort(-cosine, axis=1, kind="stable")[:, :n]
    return {(min(j, k), max(j, k)) for j, row in enumerate(nearest.tolist()) for k in row}


def _words(words: TopicWords, pairs: list[Pair]) -> np.ndarray:
    """[pairs] of the words' part, sum_k c_Dir(eta) - c_Dir(eta + S_k)."""
    counts = np.maximum(words.total.counts(), 0.0)
    eta = np.broadcast_to(words.eta, (len(counts), 1))
    prior = dirichlet.log_normaliser(eta)[0]
    cost = prior - dirichlet.log_normaliser(eta + counts)
    together = [dirichlet.log_normaliser(eta[:, 0] + counts[:, j] + counts[:, k]) for j, k in pairs]
    return np.array([prior - both - cost[j] - cost[k] for (j, k), both in zip(pairs, together)])


def _documents(N: sp.csc_array, prior: StickPrior, D: float, pairs: list[Pair]) -> np.ndarray:
    """[pairs] of the documents' part with q(pi_d) at its best, sum_dk log Gamma(N_dk + alpha_k)."""
    alpha = prior.alpha
    gains = []
    for j, k in pairs:
        both = N[:, [j]] + N[:, [k]]
        nowhere = D - both.nnz
        gain = np.sum(gammaln(both.data + alpha[j] + alpha[k])) + nowhere * gammaln(alpha[j] + alpha[k])
        for t in (j, k):
            own = N.data[N.indptr[t] : N.indptr[t + 1]]
            gain -= np.sum(gammaln(own + alpha[t])) + (D - len(own)) * gammaln(alpha[t])
        gains.append(gain)
    return np.array(gains)


def _sticks(here: Documents, merged: list[Pair], pair: Pair) -> float:
    """What this merge after those adds to D E[c_Dir(alpha beta)] - KL(q(u) || p(u))."""
    K, D = here.model.n_components, here.total.D

    def value(pairs: list[Pair]) -> float:
        prior = renamed_prior(here.prior, _names(K, pairs), D)
        return D * prior.sticks.log_normaliser(prior.concentration) - prior.sticks.divergence(prior.stick_prior)

    return value([*merged, pair]) - value(merged)
