"""One topic becomes two: what to propose. Whether it is kept, the whole corpus says.

A topic that holds two subjects shows it in the documents that have most of it: their words in it fall into two kinds.
So some of these documents are drawn, and a small mixture of two separates their tokens of this topic, first by
document, then by token. The topic's counts are divided in the same proportions. Nothing here needs to be exact: the two
go into all documents that had the one, and where the bound is not higher they are merged again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from topmix.numerics.blas import one_thread
from topmix.search.documents import Documents

SAMPLE = 100  # documents that a topic is split by
FEWEST = 8  # documents; with fewer there is nothing to tell apart
TRACE = 0.01  # tokens; with fewer a word says nothing of the topic in a document
STARTS, SWEEPS, TOKEN_SWEEPS = 4, 8, 8
SMOOTHING = 0.02  # of a word in each of the two, over the mean count


Table: TypeAlias = Callable[[np.ndarray], np.ndarray]  # [words, K] weights of these words


class Split(NamedTuple):
    topic: int
    share: np.ndarray  # [V] of each word that the second takes
    weight: float  # of all tokens that the second takes


def splits(
    here: Documents, rows_of: Callable[[np.ndarray], sp.csr_array], topics: np.ndarray, rng: np.random.Generator
) -> list[Split]:
    """How each of these topics may fall in two. `rows_of` gives words of documents, numbered as in `here`."""
    V = here.model.words.shape[0]
    N, table = here.counts(), here.model.words.tables(np.arange(V, dtype=np.int32)).table
    by_doc = sp.csr_array(N)
    alpha = here.prior.alpha
    found = []
    with one_thread():  # on such small matrices more threads only wait for each other
        for k in topics:
            rows, size = N.indices[N.indptr[k] : N.indptr[k + 1]], N.data[N.indptr[k] : N.indptr[k + 1]]
            rows, size = rows[size > 1.0], size[size > 1.0]
            if len(rows) < FEWEST:
                continue
            chosen = np.sort(rng.choice(rows, min(SAMPLE, len(rows)), replace=False, p=size / size.sum()))
            found.append(_in_two(int(k), rows_of(chosen), by_doc[chosen], table.__getitem__, alpha, rng))
    return [split for split in found if split is not None]


def split_of(
    k: int, X: sp.csr_array, N: sp.csr_array, table: Table, alpha: np.ndarray, rng: np.random.Generator
) -> Split | None:
    """How one topic may fall in two, by documents X [D, V] that have N [D, K] tokens of each topic."""
    size = sp.csc_array(N)[:, [k]].toarray().ravel()
    rows = np.flatnonzero(size > 1.0)
    if len(rows) < FEWEST:
        return None
    weight = size[rows] / size[rows].sum()
    chosen = np.sort(rng.choice(rows, min(SAMPLE, len(rows)), replace=False, p=weight))
    with one_thread():
        return _in_two(k, X[chosen], sp.csr_array(N[chosen]), table, alpha, rng)


def _in_two(
    k: int, X: sp.csr_array, N: sp.csr_array, table: Table, alpha: np.ndarray, rng: np.random.Generator
) -> Split | None:
    two = _separated(_tokens_of(k, X, N, table, alpha), rng)
    return None if two is None else _divided(k, two)


def _tokens_of(k: int, X: sp.csr_array, N: sp.csr_array, table: Table, alpha: np.ndarray) -> sp.csr_array:
    """[documents, V] c_du r_duk, with documents' proportions as they are."""
    words, column = np.unique(X.indices, return_inverse=True)
    weights = table(words)
    width = np.diff(X.indptr)
    row = np.repeat(np.arange(len(width)), width)
    total, own = np.zeros(len(row)), np.zeros(len(row))
    weight = N.data + alpha[N.indices]
    begin, end = N.indptr[:-1], N.indptr[1:]
    for i in range(int(np.diff(N.indptr).max(initial=0))):  # the i-th topic of every document at once
        has = begin[row] + i < end[row]
        at = (begin[row] + i)[has]
        share = weight[at] * weights[column[has], N.indices[at]]
        total[has] += share
        own[has] += np.where(N.indices[at] == k, share, 0.0)
    return sp.csr_array((X.data * own / np.maximum(total, 1e-300), X.indices, X.indptr), shape=X.shape)


def _separated(Y: sp.csr_array, rng: np.random.Generator) -> np.ndarray | None:
    """[2, words of Y] expected counts, by documents first and then by tokens; None where there is one kind."""
    seen = sp.coo_array(Y)
    row, word, tokens = (part[seen.data > TRACE] for part in (*seen.coords, seen.data))
    words, column = np.unique(word, return_inverse=True)
    if not len(words):
        return None
    dense = np.zeros((Y.shape[0], len(words)))
    dense[row, column] = tokens
    dense = dense[dense.any(axis=1)]
    sizes, mean = dense.sum(axis=1), dense.mean(axis=0)
    least = SMOOTHING * float(mean.mean())

    def topics(r: np.ndarray) -> np.ndarray:  # [2, documents] -> [2, words] log phi
        counts = r @ dense + least + 0.01 * mean
        return np.log(counts / counts.sum(axis=1, keepdims=True))

    best, best_r = -np.inf, None
    for _ in range(STARTS):
        first, second = rng.choice(len(dense), 2, replace=False, p=sizes / sizes.sum()) if len(dense) > 1 else (0, 0)
        counts = 0.5 * dense[[first, second]] / sizes[[first, second], None] + 0.5 * mean / mean.sum()
        log_phi = np.log(counts + 1e-12)
        for _ in range(SWEEPS):
            score = log_phi @ dense.T  # [2, documents]
            top = score.max(axis=0)
            r = np.exp(score - top)
            value = float(np.sum(top + np.log(r.sum(axis=0))))
            r /= r.sum(axis=0)
            log_phi = topics(r)
        if value > best:
            best, best_r = value, r
    if best_r is None:
        return None
    phi, theta = np.exp(topics(best_r)), 0.8 * best_r + 0.1
    for _ in range(TOKEN_SWEEPS):
        q = dense / np.maximum(theta.T @ phi, 1e-300)  # [documents, words]
        counts, theta = phi * (theta @ q), theta * (phi @ q.T)
        theta = (theta + 0.1) / (theta + 0.1).sum(axis=0)
        phi = (counts + least) / (counts + least).sum(axis=1, keepdims=True)
    out = np.zeros((2, Y.shape[1]))
    out[:, words] = counts
    return out


def _divided(k: int, two: np.ndarray) -> Split:
    weight = float(two[1].sum() / two.sum())
    smooth = two + 0.1 * two.sum(axis=1, keepdims=True) / two.sum()  # words that were not seen go by weight
    return Split(k, smooth[1] / smooth.sum(axis=0), weight)
