"""Splits of test documents into two parts: A to infer the topics of a document, B to predict."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from topmix.metrics.counts import RandomState, as_counts


def split_types(
    X: object, *, fraction: float = 0.8, random_state: RandomState = 0
) -> tuple[sp.csr_array, sp.csr_array]:
    """A and B, both [D, V]: a random `fraction` of the distinct words of each document is in A, with all their tokens.

    A gets ceil(fraction n) of n distinct words, and at most n - 1. Documents with fewer than two distinct words are
    empty in both.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction}: pass a number between 0 and 1")
    rows, rng = as_counts(X), np.random.default_rng(random_state)
    in_a = np.zeros(rows.nnz, dtype=bool)
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:]):
        n = int(end - begin)
        order = rng.permutation(n)
        in_a[begin + order[: min(int(np.ceil(fraction * n)), n - 1)]] = n >= 2
    split = np.repeat(np.diff(rows.indptr) >= 2, np.diff(rows.indptr))
    return _with_data(rows, rows.data * in_a), _with_data(rows, rows.data * (split & ~in_a))


def split_tokens(X: object, *, random_state: RandomState = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """A and B, both [D, V]: random halves of the tokens of each document. A is larger if their number is odd.

    A word may be in both. Documents with fewer than two tokens are empty in both. Counts must be whole numbers.
    """
    rows, rng = as_counts(X), np.random.default_rng(random_state)
    counts = rows.data.astype(np.int64)
    if np.any(counts != rows.data):
        raise ValueError("X has counts that are not whole numbers, which cannot be split into tokens")
    b = np.zeros(rows.nnz, dtype=np.int64)
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:]):
        c = counts[begin:end]
        if c.sum() < 2:
            counts[begin:end] = 0
        else:
            b[begin:end] = rng.multivariate_hypergeometric(c, int(c.sum()) // 2, method="marginals")
    return _with_data(rows, counts - b), _with_data(rows, b)


def _with_data(rows: sp.csr_array, data: np.ndarray) -> sp.csr_array:
    part = sp.csr_array((data.astype(np.float64), rows.indices.copy(), rows.indptr.copy()), shape=rows.shape)
    part.eliminate_zeros()
    return part
