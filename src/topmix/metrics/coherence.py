"""Coherence: do the top words of a topic occur together?

With p the share of documents (or windows of text) that a word or a pair is in, ε = 1e-12 and natural logarithms:

    NPMI    mean over pairs i ≠ j of  n_ij = log[(p_ij + ε) / (p_i p_j)] / −log(p_ij + ε)
    u_mass  mean over pairs i > j of  log[(p_ij + ε) / p_j],   words by falling probability
    c_v     mean over i of cos(n_i, Σ_j n_j),   n_i the row of NPMI values of word i with all top words, itself included

and the mean over topics. These are gensim's CoherenceModel "c_npmi", "u_mass" and "c_v" to rounding, but for three
cases in which gensim's arithmetic gives out:

- A pair that is in every document has n = 1. (There 0/0, which rounding makes −1.)
- A pair with a word that is in no document has n = −1, as a pair that is never together has when ε → 0. (There inf or
  nan.) u_mass keeps gensim's 0 where the word to condition on is in no document.
- A word stays in a sliding window until its last copy leaves. (There until its first, so that repeated words
  count too little.)

Note what ε does: a pair never seen together has n = −1 + log(p_i p_j) / log ε, about −0.67 for two words in 1% of the
documents. eps=0 gives the textbook's −1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.metrics.cooccurrence import CoOccurrence, in_documents, in_windows
from topmix.metrics.counts import Floats, as_counts, as_topics
from topmix.metrics.top_words import top_ids

EPSILON = 1e-12  # gensim's
Topics = ArrayLike | Sequence[Sequence[str]] | Sequence[Sequence[int]]
Texts = Iterable[Sequence[str]]


def npmi_coherence(
    topics: Topics,
    X: Any = None,
    *,
    texts: Texts | None = None,
    vocabulary: Sequence[str] | None = None,
    window_size: int | None = 10,
    top_n: int = 10,
    per_topic: bool = False,
    eps: float = EPSILON,
) -> float | Floats:
    """Normalised pointwise mutual information of the top words; from about −1 (never together) to 1 (always).

    Parameters
    ----------
    topics : [K, V] array, or a list of top words (or word ids) for each topic
        Of an array of floats the top_n largest in each row are taken, of a list the first top_n.
    X : Corpus, sparse matrix or array of counts
        Reference documents: co-occurrence is in a document.
    texts : list of lists of words
        Instead of X: co-occurrence is in a window of window_size tokens; None takes whole texts.
    vocabulary : list of str
        The words of ids or columns, where words meet ids. A Corpus brings its own.
    top_n : int
    per_topic : bool
        An array with one number a topic, instead of their mean.
    eps : float
        ε of the formulas. 0 for none.
    """
    return _mean([_npmi(c, n, eps) for c, n in _each(topics, X, texts, vocabulary, window_size, top_n)], per_topic)


def umass_coherence(
    topics: Topics,
    X: Any = None,
    *,
    texts: Texts | None = None,
    vocabulary: Sequence[str] | None = None,
    top_n: int = 10,
    per_topic: bool = False,
    eps: float = EPSILON,
) -> float | Floats:
    """Log probability of a top word given one before it, in a document; 0 or less, higher is better.

    The arguments are those of `npmi_coherence`. Texts are taken whole.
    """
    return _mean([_umass(c, n, eps) for c, n in _each(topics, X, texts, vocabulary, None, top_n)], per_topic)


def cv_coherence(
    topics: Topics,
    X: Any = None,
    *,
    texts: Texts | None = None,
    vocabulary: Sequence[str] | None = None,
    window_size: int | None = 110,
    top_n: int = 10,
    per_topic: bool = False,
    eps: float = EPSILON,
) -> float | Floats:
    """Cosine of each top word's NPMI values with those of the whole topic.

    The arguments are those of `npmi_coherence`. Defined on texts; with X, whole documents take the place of windows.
    """
    return _mean([_cv(c, n, eps) for c, n in _each(topics, X, texts, vocabulary, window_size, top_n)], per_topic)


def npmi_matrix(together: NDArray[np.int64], n: int, eps: float = EPSILON) -> Floats:
    """[words, words] n_ij from the number of documents that hold both, of n."""
    p_ij = together / n
    p = np.diag(p_ij)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log((p_ij + eps) / np.outer(p, p)) / -np.log(p_ij + eps)
    value[together == n] = 1.0
    value[(p == 0) | (p == 0)[:, None]] = -1.0
    if eps == 0:
        value[together == 0] = -1.0
    return value


def _npmi(together: NDArray[np.int64], n: int, eps: float) -> float:
    value = npmi_matrix(together, n, eps)
    return float(value[~np.eye(len(value), dtype=bool)].mean())


def _umass(together: NDArray[np.int64], n: int, eps: float) -> float:
    i, j = np.tril_indices(len(together), k=-1)
    single = np.diag(together)[j]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log((together[i, j] / n + eps) / (single / n))
    return float(np.where(single > 0, value, 0.0).mean())


def _cv(together: NDArray[np.int64], n: int, eps: float) -> float:
    vectors = npmi_matrix(together, n, eps)
    whole = vectors.sum(axis=0)
    norm = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    return float(np.divide(vectors @ whole, norm, out=np.zeros(len(vectors)), where=norm > 0).mean())


def _mean(values: list[float], per_topic: bool) -> float | Floats:
    return np.array(values) if per_topic else float(np.mean(values))


def _each(
    topics: Topics, X: Any, texts: Texts | None, vocabulary: Sequence[str] | None, window_size: int | None, top_n: int
) -> Iterable[tuple[NDArray[np.int64], int]]:
    if (X is None) == (texts is None):
        raise ValueError("give either X, for documents, or texts, for windows of text")
    if vocabulary is None:
        vocabulary = getattr(X, "vocabulary", None)
    found: CoOccurrence
    if texts is None:
        found = in_documents(_as_ids(topics, vocabulary, top_n), as_counts(X))
    else:
        lists = _as_words(topics, vocabulary, top_n)
        words = sorted({w for t in lists for w in t})
        place = {w: i for i, w in enumerate(words)}
        found = in_windows([np.array([place[w] for w in t], dtype=np.intp) for t in lists], words, texts, window_size)
    if found.n == 0:
        raise ValueError("there are no documents to look for the words in")
    return ((c, found.n) for c in found.together)


def _top(topics: Topics, top_n: int) -> list[list[Any]]:
    """The top words of each topic, as ids or as strings."""
    if top_n < 2:
        raise ValueError(f"top_n={top_n}: coherence is about pairs, so at least 2")
    if isinstance(topics, np.ndarray) and np.issubdtype(topics.dtype, np.floating):
        return top_ids(as_topics(topics), top_n).tolist()
    lists = [list(t)[:top_n] for t in topics]  # type: ignore[union-attr, arg-type]
    if not lists or min(map(len, lists)) < 2:
        raise ValueError("every topic needs at least two top words")
    return lists


def _as_ids(topics: Topics, vocabulary: Sequence[str] | None, top_n: int) -> list[NDArray[np.intp]]:
    lists = _top(topics, top_n)
    if isinstance(lists[0][0], str):
        if vocabulary is None:
            raise ValueError("top words are strings and X has columns: give the vocabulary")
        place = {w: i for i, w in enumerate(vocabulary)}
        missing = next((w for t in lists for w in t if w not in place), None)
        if missing is not None:
            raise ValueError(f"the top word {missing!r} is not in the vocabulary")
        lists = [[place[w] for w in t] for t in lists]
    return [np.array(t, dtype=np.intp) for t in lists]


def _as_words(topics: Topics, vocabulary: Sequence[str] | None, top_n: int) -> list[list[str]]:
    lists = _top(topics, top_n)
    if isinstance(lists[0][0], str):
        return lists
    if vocabulary is None:
        raise ValueError("topics are ids and texts are words: give the vocabulary")
    return [[vocabulary[i] for i in t] for t in lists]
