"""The topics of many fits of one corpus: matched, averaged, and compared with the topics of one model.

Topics are compared by what sets them apart from the corpus: rows are centred on the frequencies of the words before
their cosine is taken, because words that all topics have would make all topics alike.  docs/math.md Eq. (3.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.metrics.counts import Floats
from topmix.numerics.blas import one_thread

Rows: TypeAlias = NDArray[np.float32] | sp.csr_array  # [K, n] of unit length, or zero
MOST_COMPARED = 12  # fits that are compared in pairs, to find the one that is most like the others
ROUNDS = 10


class Aligned(NamedTuple):
    reference: int  # the fit that is most like the others
    partner: list[NDArray[np.intp]]  # [F] of [K]: the topic of each fit that is topic k of the consensus; -1: none
    similarity: Floats  # [F, K] of the partner and the mean of all of them; 0 where there is none


class Comparison(NamedTuple):
    """Topics of one model beside those of F fits."""

    partner: NDArray[np.intp]  # [F, K] one to one; -1: none
    similarity: Floats  # [F, K] with the partner
    other: Floats  # [F, K] with the most similar topic of the fit that is not the partner
    nearest: NDArray[np.intp]  # [F, K] the most similar topic of the fit, partner or not


def centred(topic_word: NDArray[np.floating], frequency: Floats) -> NDArray[np.float32]:
    """[K, V] unit rows: p(w | k) - p(w). A topic that is the corpus itself, or has no word more than others, is zero:
    empty topics are alike in all fits, and say nothing."""
    away = np.asarray(topic_word, np.float64) - frequency
    length = np.linalg.norm(away, axis=1, keepdims=True)
    least = 1e-9 * np.linalg.norm(topic_word, axis=1, keepdims=True)  # what rounding leaves of equal rows
    says = (length > least) & (np.ptp(topic_word, axis=1, keepdims=True) > 0)
    return np.where(says, away / np.maximum(length, 1e-300), 0.0).astype(np.float32)


def memberships(shares: sp.csr_array) -> sp.csr_array:
    """[K, rows] unit rows: to which documents a cluster belongs. [rows, K] is given."""
    found = sp.csr_array(shares.T, dtype=np.float32)
    length = np.sqrt(np.asarray(found.multiply(found).sum(axis=1), np.float64)).ravel()
    return sp.csr_array(sp.diags_array((1.0 / np.maximum(length, 1e-30)).astype(np.float32)) @ found)


def align(fits: Sequence[Rows]) -> Aligned:
    """Topics of all fits in the order of one of them: pairs with the greatest total similarity to the mean of those
    that were paired before, until they stay the same."""
    reference = _most_typical(fits)
    K, mean = fits[reference].shape[0], fits[reference]
    before: list[NDArray[np.intp]] | None = None
    for _ in range(ROUNDS):
        found = [_pairs(_products(mean, fit)) for fit in fits]
        if before is not None and all(np.array_equal(a, b) for a, b in zip(found, before)):
            break
        before, mean = found, _mean([_in_order(fit, partner) for fit, partner in zip(fits, found)])
    assert before is not None
    similarity = np.zeros((len(fits), K))
    for f, (fit, partner) in enumerate(zip(fits, before)):
        similarity[f] = _of_partners(_products(mean, fit), partner)
    return Aligned(reference, before, similarity)


def compare(topics: Rows, fits: Sequence[Rows]) -> Comparison:
    K, F = topics.shape[0], len(fits)
    partner, nearest = np.full((F, K), -1, np.intp), np.zeros((F, K), np.intp)
    similarity, other = np.zeros((F, K)), np.zeros((F, K))
    for f, fit in enumerate(fits):
        found = _products(topics, fit)
        partner[f] = _pairs(found)
        similarity[f] = _of_partners(found, partner[f])
        nearest[f] = found.argmax(axis=1)
        has = partner[f] >= 0
        found[np.flatnonzero(has), partner[f][has]] = -1.0
        other[f] = np.maximum(found.max(axis=1), 0.0)
    return Comparison(partner, similarity, other, nearest)


def mean_shares(shares: Sequence[sp.csr_array], partner: Sequence[NDArray[np.intp]]) -> sp.csr_array:
    """[rows, K] mean proportions over fits, whose topics are matched; rows sum to one."""
    K = len(partner[0])
    total = sp.csr_array((shares[0].shape[0], K))
    for of_fit, pairs in zip(shares, partner):
        has = np.flatnonzero(pairs >= 0)
        moved = sp.csr_array((np.ones(len(has)), (pairs[has], has)), shape=(of_fit.shape[1], K))
        total = total + of_fit @ moved
    sums = np.asarray(total.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(sums, 1e-300)) @ total)


def _most_typical(fits: Sequence[Rows]) -> int:
    """The fit whose topics are most like those of the others, of at most MOST_COMPARED. Where numbers of topics differ,
    of those with the median number."""
    sizes = np.array([fit.shape[0] for fit in fits])
    middle = np.sort(sizes)[(len(sizes) - 1) // 2]
    some = np.flatnonzero(sizes == middle)[:MOST_COMPARED]
    total = np.zeros(len(some))
    for i, j in combinations(range(len(some)), 2):
        found = _products(fits[some[i]], fits[some[j]])
        similarity = _of_partners(found, _pairs(found)).sum()
        total[[i, j]] += similarity
    return int(some[total.argmax()])


def _products(a: Rows, b: Rows) -> Floats:
    """[K_a, K_b] cosines."""
    with one_thread():  # for the same bits on any number of cores
        found: Rows = a @ b.T
    dense = np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), np.float64)
    return np.clip(dense, -1.0, 1.0)  # rounding leads beyond


def _pairs(similarity: Floats) -> NDArray[np.intp]:
    """[K_a] the partner of each row, one to one, with the greatest total; -1 where there are fewer columns."""
    from scipy.optimize import linear_sum_assignment  # here, because it takes a while to load

    partner = np.full(len(similarity), -1, np.intp)
    rows, columns = linear_sum_assignment(-similarity)
    partner[rows] = columns
    return partner


def _of_partners(similarity: Floats, partner: NDArray[np.intp]) -> Floats:
    found: Floats = np.where(partner >= 0, similarity[np.arange(len(partner)), partner], 0.0)
    return np.maximum(found, 0.0)


def _in_order(fit: Rows, partner: NDArray[np.intp]) -> Rows:
    has = (partner >= 0).astype(np.float32)
    rows = fit[np.maximum(partner, 0)]
    return sp.csr_array(sp.diags_array(has) @ rows) if sp.issparse(rows) else rows * has[:, None]


def _mean(fits: Sequence[Rows]) -> Rows:
    """Unit rows in the direction of the mean."""
    total = sum(fits[1:], start=fits[0])
    if sp.issparse(total):
        return memberships(sp.csr_array(total.T))
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30), np.float32)
