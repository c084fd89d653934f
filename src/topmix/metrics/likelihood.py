"""Log likelihood of tokens, given the topic weights of documents or the topic of each token."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from topmix.metrics.counts import as_counts, as_distributions


def token_log_likelihood(doc_topic: ArrayLike, topic_word: ArrayLike, X: object) -> float:
    """Mean over tokens of log Σ_k θ_dk φ_kw, for methods that infer θ themselves.

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


def discrete_log_likelihood(topic_word: ArrayLike, X: object, assignments: ArrayLike) -> float:
    """Mean over tokens of log φ_{z,w}, where each token has one topic, as in k-means.

    Parameters
    ----------
    topic_word : [K, V]
        Topics, φ. Rows are normalised.
    X : Corpus, sparse matrix or array of counts
    assignments : [tokens] or [nnz] int
        z: the topic of each token, or one topic for all tokens of a word in a document. The order is by rows, then by
        words; tokens of the same word are consecutive.
    """
    phi = as_distributions(topic_word)
    rows = as_counts(X, phi.shape[1])
    z = np.asarray(assignments)
    if z.ndim != 1 or not np.issubdtype(z.dtype, np.integer):
        raise ValueError("assignments must be a one-dimensional array of whole numbers")
    word, weight = rows.indices, rows.data
    if len(z) != rows.nnz:
        word, weight = np.repeat(word, weight.astype(np.int64)), np.ones(len(z))
    if len(z) != len(word):
        raise ValueError(
            f"{len(z)} assignments for {len(word)} tokens: pass one per token, or one per entry of X ({rows.nnz})"
        )
    if len(z) and (z.min() < 0 or z.max() >= len(phi)):
        raise ValueError(f"assignments must be topics from 0 to {len(phi) - 1}")
    with np.errstate(divide="ignore"):
        return float(weight @ np.log(phi[z, word]) / _tokens(weight))


def _tokens(weight: np.ndarray) -> float:
    if weight.sum() == 0:
        raise ValueError("X has no tokens")
    return float(weight.sum())
