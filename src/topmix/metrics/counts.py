"""Checks of the arguments of the metrics: counts, topics and priors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix.data.matrices import check_sparse

Floats = NDArray[np.float64]
RandomState = int | np.random.Generator | None


def as_counts(X: Any, n_words: int | None = None) -> sp.csr_array:
    """[D, V] float64 rows without duplicates and zeros, from a Corpus, a sparse matrix or an array."""
    if isinstance(X, str) or (isinstance(X, list | tuple) and X and isinstance(X[0], str)):
        raise ValueError("X is texts: pass counts of their words, model.counts(texts)")
    X = X.to_scipy() if hasattr(X, "to_scipy") else X
    if sp.issparse(X):
        check_sparse(X)
    rows = sp.csr_array(X if sp.issparse(X) else np.atleast_2d(np.asarray(X)), dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.all(np.isfinite(rows.data)) or np.any(rows.data < 0):
        raise ValueError("counts must be finite and not negative")
    if n_words is not None and rows.shape[1] != n_words:
        raise ValueError(
            f"the documents have {rows.shape[1]} words, the topics {n_words}: both need the same vocabulary"
        )
    return rows


def topics_and_documents(topic_word: Any, X: Any) -> tuple[Any, Any]:
    """Topics [K, V] and counts [D, V]. A fitted topic model has both: its topics, and how it reads documents."""
    if not hasattr(topic_word, "fit"):
        return topic_word, X
    if not hasattr(topic_word, "topic_word_"):
        raise ValueError(
            f"{type(topic_word).__name__} has no topics: pass a fitted topic model, or an array (topics, words)"
        )
    return topic_word.topic_word_, topic_word.counts(X) if hasattr(topic_word, "counts") else X


def as_topics(topic_word: ArrayLike, name: str = "topic_word") -> Floats:
    """[K, V] float64. Rows are not normalised: they are probabilities or pseudo-counts."""
    if hasattr(topic_word, "fit"):
        raise ValueError(f"{name} is a {type(topic_word).__name__}: pass its topics, model.topic_word_")
    phi = np.asarray(topic_word, dtype=np.float64)
    if phi.ndim != 2 or 0 in phi.shape:
        raise ValueError(f"{name} has the shape {phi.shape}; it must have the shape (topics, words)")
    if not np.all(np.isfinite(phi)) or np.any(phi < 0):
        raise ValueError(f"{name} must be finite and not negative")
    return phi


def as_distributions(topic_word: ArrayLike, name: str = "topic_word") -> Floats:
    """[K, V] rows that sum to one."""
    phi = as_topics(topic_word, name)
    return phi / row_sums(phi, name)[:, None]


def row_sums(phi: Floats, name: str = "topic_word") -> Floats:
    sums: Floats = phi.sum(axis=1)
    if not np.all(sums > 0):
        raise ValueError(f"row {int(np.argmin(sums))} of {name} is all zeros, so it cannot be normalised")
    return sums


def as_prior(doc_topic_prior: ArrayLike | None, K: int) -> Floats:
    """[K] α. None means 0.5 / K."""
    alpha = np.asarray(0.5 / K if doc_topic_prior is None else doc_topic_prior, dtype=np.float64)
    if alpha.shape not in ((), (K,)):
        raise ValueError(f"doc_topic_prior has the shape {alpha.shape}; it must be a number or have {K} entries")
    if not np.all(np.isfinite(alpha)) or not np.all(alpha > 0):
        raise ValueError("doc_topic_prior must be positive and finite")
    return np.broadcast_to(alpha, (K,)).copy()
