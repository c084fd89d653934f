"""The arguments of the metrics, checked: counts, topics and their top words, priors."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix.data.corpus import Corpus
from topmix.data.matrices import check_sparse
from topmix.parameters.checks import prior_of

Floats = NDArray[np.float64]
RandomState = int | np.random.Generator | None


@runtime_checkable
class Estimator(Protocol):
    def fit(self, X: object, y: object = None) -> object: ...


def as_counts(X: object, n_words: int | None = None) -> sp.csr_array:
    """[D, V] float64 rows without duplicates and zeros, from a Corpus, a sparse matrix or an array."""
    if isinstance(X, str) or (isinstance(X, list | tuple) and X and isinstance(X[0], str)):
        raise ValueError("X is texts: pass counts of their words, model.counts(texts)")
    X = X.to_scipy() if isinstance(X, Corpus) else X
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


def topics_and_documents(topic_word: object, X: object) -> tuple[object, object]:
    """Topics [K, V] and counts [D, V]. A fitted topic model has both: its topics, and how it reads documents."""
    if not isinstance(topic_word, Estimator):
        return topic_word, X
    if not hasattr(topic_word, "topic_word_"):
        raise ValueError(
            f"{type(topic_word).__name__} has no topics: pass a fitted topic model, or an array (topics, words)"
        )
    return topic_word.topic_word_, topic_word.counts(X) if hasattr(topic_word, "counts") else X


def as_topics(topic_word: object, name: str = "topic_word") -> Floats:
    """[K, V] float64. Rows are not normalised: they are probabilities or pseudo-counts."""
    if isinstance(topic_word, Estimator):
        raise ValueError(f"{name} is a {type(topic_word).__name__}: pass its topics, model.topic_word_")
    phi = np.asarray(topic_word, dtype=np.float64)
    if phi.ndim != 2 or 0 in phi.shape:
        raise ValueError(f"{name} has the shape {phi.shape}; it must have the shape (topics, words)")
    if not np.all(np.isfinite(phi)) or np.any(phi < 0):
        raise ValueError(f"{name} must be finite and not negative")
    return phi


def as_distributions(topic_word: object, name: str = "topic_word") -> Floats:
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
    return prior_of(0.5 / K if doc_topic_prior is None else doc_topic_prior, "doc_topic_prior", K)


def top_ids(topic_word: NDArray[np.float64], top_n: int) -> NDArray[np.intp]:
    """[K, top_n] word ids, most probable first. Of equally probable words, the smaller id comes first."""
    K, V = topic_word.shape
    if not 1 <= top_n <= V:
        raise ValueError(f"top_n={top_n}: pass a number from 1 to the {V} words of the vocabulary")
    out = np.empty((K, top_n), dtype=np.intp)
    for k, row in enumerate(topic_word):
        ids = candidates(row, top_n)
        out[k] = ids[np.argsort(-row[ids], kind="stable")[:top_n]]
    return out


def candidates(row: NDArray[np.float64], n: int, rounding: float = 0.0) -> NDArray[np.intp]:
    """Ids of all numbers that may be among the n largest, ascending: those that are not below the n-th largest of the
    maxima of some sets of numbers. `rounding` is how far numbers, which are then positive, may be off."""
    in_set = len(row) // (4 * n + 64)
    if in_set < 4:
        return np.arange(len(row))
    sets = row[: len(row) // in_set * in_set].reshape(in_set, -1).max(axis=0)
    least = np.partition(sets, len(sets) - n)[len(sets) - n]
    return np.flatnonzero(row >= least * (1.0 - rounding))
