"""Log likelihood of tokens when something says where they come from: document weights, or one topic a token."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from topmix.metrics.counts import as_counts, as_distributions


def token_log_likelihood(doc_topic: ArrayLike, topic_word: ArrayLike, X: Any) -> float:
    """Mean over tokens of log Σ_k θ_dk φ_kw, for methods with their own way to weigh a document's topics.

    Parameters
    ----------
    doc_topic : [D, K]
        Weights of topics in documents, θ. Rows are normalised.
    topic_word : [K, V]
        Topics, φ. Rows are normalised.
    X : Corpus, sparse matrix or array of counts
    """
    phi, theta = as_distributions(topic_word), as_distributions(doc_topic, "doc_topic")
    rows = as_counts(X, phi.shape[1])
    if theta.shape != (rows.shape[0], len(phi)):
        raise ValueError(f"doc_topic has the shape {theta.shape}; it must be {(rows.shape[0], len(phi))}")
    total = 0.0
    with np.errstate(divide="ignore"):
        for d, (begin, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:])):
            total += rows.data[begin:end] @ np.log(theta[d] @ phi[:, rows.indices[begin:end]])
    return float(total / _tokens(rows.data))


def discrete_log_likelihood(topic_word: ArrayLike, X: Any, assignments: ArrayLike) -> float:
    """Mean over tokens of log φ_{z,w}: the k-means view, in which a token has one topic.

    Parameters
    ----------
    topic_word : [K, V]
        Topics, φ. Rows are normalised.
    X : Corpus, sparse matrix or array of counts
    assignments : [tokens] or [nnz] int
        z: one topic a token, or one for all tokens of a word in a document. In order of rows, then words; a word's
        tokens stand together.
    """
    phi = as_distributions(topic_word)
    rows = as_counts(X, phi.shape[1])
    z = np.asarray(assignments)
    if z.ndim != 1 or not np.issubdtype(z.dtype, np.integer):
        raise ValueError("assignments must be one row of whole numbers")
    word, weight = rows.indices, rows.data
    if len(z) != rows.nnz:
        word, weight = np.repeat(word, weight.astype(np.int64)), np.ones(len(z))
    if len(z) != len(word):
        raise ValueError(f"{len(z)} assignments for {len(word)} tokens of {rows.nnz} words in documents")
    if len(z) and (z.min() < 0 or z.max() >= len(phi)):
        raise ValueError(f"assignments must be topics from 0 to {len(phi) - 1}")
    with np.errstate(divide="ignore"):
        return float(weight @ np.log(phi[z, word]) / _tokens(weight))


def _tokens(weight: np.ndarray) -> float:
    if weight.sum() == 0:
        raise ValueError("there are no tokens")
    return float(weight.sum())
