"""Two topics become one where the bound is higher so. Every term of the gain is exact.  docs/math.md Eq. (3.25).

All but one can be had from statistics at any time: those of words, documents and sticks. The entropy of tokens that
are in both topics needs the tokens, and only falls. So candidates are the pairs that would gain without that loss, no
topic in two of them. The next pass gathers their entropies, and after it they are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from topmix.allocations.stick_prior import StickPrior
from topmix.likelihoods.topic_words import TopicWords
from topmix.search.documents import Documents, renamed_prior

NEIGHBOURS = 4  # of each topic, by the cosine of their words, that are looked at
AT_A_TIME = 256  # pairs
MOST_IN_VAIN = 16  # pairs in a row that would not gain, the best first: those after them would gain less still

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
    before_entropy = _words(here.model.words, pairs) + of_documents(here.counts(), here.prior, here.total.D, pairs)
    found: list[Pair] = []
    used: set[int] = set()
    before, in_vain = _sticks(here, []), 0
    for i in np.argsort(-before_entropy, kind="stable"):
        pair = pairs[i]
        if not used.isdisjoint(pair):
            continue
        if before_entropy[i] + _sticks(here, [pair]) > before:
            found.append(pair)
            used.update(pair)
            in_vain = 0
        elif (in_vain := in_vain + 1) == MOST_IN_VAIN:
            break
    return found


def decide(here: Documents, pairs: list[Pair], lost: np.ndarray) -> Merged:
    """Those that raise the bound, one after the other; `lost` [pairs] is what each takes from the entropy."""
    K = here.model.n_components
    if not pairs:
        return Merged(np.arange(K), 0.0, {})
    apart = _words(here.model.words, pairs) + of_documents(here.counts(), here.prior, here.total.D, pairs) - lost
    merged: list[Pair] = []
    gains: dict[Pair, float] = {}
    taken, before, in_vain = 0.0, _sticks(here, []), 0
    for i in np.argsort(-apart, kind="stable"):
        after = _sticks(here, [*merged, pairs[i]])
        gain = float(apart[i]) + after - before
        if gain > 0:
            merged.append(pairs[i])
            gains[pairs[i]] = gain
            taken, before, in_vain = taken + float(lost[i]), after, 0
        elif (in_vain := in_vain + 1) == MOST_IN_VAIN:
            break
    return Merged(names_of(K, merged), taken, gains)


def names_of(K: int, pairs: list[Pair]) -> np.ndarray:
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
    S = sp.csc_array(np.maximum(words.total.counts(), 0.0))
    eta = np.broadcast_to(words.eta, (S.shape[0], 1))[:, 0]
    whole, prior = eta.sum(), gammaln(eta)

    def gains(counts: sp.csc_array) -> np.ndarray:  # of each column; words that a topic does not have add nothing
        by_word = gammaln(eta[counts.indices] + counts.data) - prior[counts.indices]
        return _columns(by_word, counts) + gammaln(whole) - gammaln(whole + counts.sum(axis=0))

    return _together(S, pairs, gains)


def of_documents(N: sp.csc_array, prior: StickPrior, D: float, pairs: list[Pair]) -> np.ndarray:
    """[pairs] of the documents' part with q(pi_d) at its best, sum_dk log Gamma(N_dk + alpha_k)."""
    own, both = prior.alpha, np.array([prior.alpha[[j, k]].sum() for j, k in pairs])

    def gains(counts: sp.csc_array, alpha: np.ndarray) -> np.ndarray:
        a = np.repeat(alpha, np.diff(counts.indptr))
        return _columns(gammaln(counts.data + a) - gammaln(a), counts) + D * gammaln(alpha)

    return _together(N, pairs, lambda counts: gains(counts, own), lambda counts, of: gains(counts, both[of]))


def _together(
    X: sp.csc_array,
    pairs: list[Pair],
    gains: Callable[[sp.csc_array], np.ndarray],
    of_pairs: Callable[[sp.csc_array, slice], np.ndarray] | None = None,
) -> np.ndarray:
    """[pairs] gains of the summed columns, less those of the two apart; some pairs at a time."""
    apart = gains(X)
    first, second = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    out = []
    for begin in range(0, len(pairs), AT_A_TIME):
        of = slice(begin, begin + AT_A_TIME)
        both = sp.csc_array(X[:, first[of]] + X[:, second[of]])
        out.append(gains(both) if of_pairs is None else of_pairs(both, of))
    return np.concatenate(out) - apart[first] - apart[second]


def _columns(values: np.ndarray, of: sp.csc_array) -> np.ndarray:
    """Sums of values that lie as the entries do."""
    return np.bincount(np.repeat(np.arange(of.shape[1]), np.diff(of.indptr)), values, minlength=of.shape[1])


def _sticks(here: Documents, merged: list[Pair]) -> float:
    """D E[c_Dir(alpha beta)] - KL(q(u) || p(u)) with these merged."""
    return of_sticks(here.prior, names_of(here.model.n_components, merged), here.total.D)


def of_sticks(before: StickPrior, names: np.ndarray, D: float) -> float:
    """The same, where topic k becomes names[k]."""
    prior = renamed_prior(before, names, D)
    return D * prior.sticks.log_normaliser(prior.concentration) - prior.sticks.divergence(prior.stick_prior)
