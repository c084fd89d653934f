"""Coherence: how often the top words of a topic occur together.

p is the share of documents (or windows of text) that contain a word or a pair of words, ε = 1e-12, logarithms are
natural:

    NPMI    mean over pairs i ≠ j of  n_ij = log[(p_ij + ε) / (p_i p_j)] / −log(p_ij + ε)
    u_mass  mean over pairs i > j of  log[(p_ij + ε) / p_j],   words by falling probability
    c_v     mean over i of cos(n_i, Σ_j n_j),   n_i: the NPMI values of word i with all top words and with itself

The score is the mean over topics. It equals "c_npmi", "u_mass" and "c_v" of gensim's CoherenceModel up to rounding,
except in three cases:

- A pair that is in every document has n = 1. gensim computes 0 / 0, which rounding turns into −1.
- A pair with a word that is in no document has n = −1, the limit for ε → 0. gensim gives inf or nan. u_mass is 0, as in
  gensim, if the word j is in no document.
- A word stays in a sliding window until its last copy leaves. gensim drops it with its first copy, so that repeated
  words count too little.

ε changes the value of a pair that never occurs together: n = −1 + log(p_i p_j) / log ε, about −0.67 for two words that
are each in 1% of the documents. eps=0 gives −1, as in the definition of NPMI.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.metrics.cooccurrence import CoOccurrence, in_documents, in_windows
from topmix.metrics.counts import Floats, as_counts, as_topics
from topmix.metrics.engine import MeasuringEngine, checked
from topmix.metrics.top_words import top_ids

EPSILON = 1e-12  # as in gensim
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
    engine: MeasuringEngine | None = None,
) -> float | Floats:
    """Normalised pointwise mutual information of the top words, from about −1 (never together) to 1 (always).

    Parameters
    ----------
    topics : [K, V] array, or a list of top words (or word ids) for each topic
        The top_n largest entries of each row of an array of floats, or the first top_n words of each list.
    X : Corpus, sparse matrix or array of counts
        Reference documents. Words co-occur if they are in the same document.
    texts : list of lists of words
        Reference texts, instead of X. Words co-occur if they are in the same window.
    window_size : int or None
        Tokens in a window of a text. None takes whole texts.
    vocabulary : list of str
        The words in the order of their ids, needed if one argument has words and the other ids. A Corpus has its own.
    top_n : int
        Number of top words per topic.
    per_topic : bool
        Whether to return one score per topic instead of the mean.
    eps : float
        ε of the formulas; may be 0.
    engine : Cuda or None
        Where the documents X are counted: `topmix.engines.Cuda()` is a GPU. None is the processor. The counts, and so
        the scores, are the same.
    """
    return _mean(
        [_npmi(c, n, eps) for c, n in _co_occurrences(topics, X, texts, vocabulary, window_size, top_n, engine)],
        per_topic,
    )


def umass_coherence(
    topics: Topics,
    X: Any = None,
    *,
    texts: Texts | None = None,
    vocabulary: Sequence[str] | None = None,
    top_n: int = 10,
    per_topic: bool = False,
    eps: float = EPSILON,
    engine: MeasuringEngine | None = None,
) -> float | Floats:
    """Mean log probability of a top word, given a more probable top word in the same document. 0 or less.

    Higher is better. The arguments are those of `npmi_coherence`. Windows are whole texts.
    """
    return _mean(
        [_umass(c, n, eps) for c, n in _co_occurrences(topics, X, texts, vocabulary, None, top_n, engine)], per_topic
    )


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
    engine: MeasuringEngine | None = None,
) -> float | Floats:
    """Mean cosine of the NPMI values of a top word with the NPMI values of the whole topic.

    The arguments are those of `npmi_coherence`. The measure is defined on texts; with X, documents are the windows.
    """
    return _mean(
        [_cv(c, n, eps) for c, n in _co_occurrences(topics, X, texts, vocabulary, window_size, top_n, engine)],
        per_topic,
    )


def npmi_matrix(together: NDArray[np.int64], n: int, eps: float = EPSILON) -> Floats:
    """[words, words] n_ij from `together`, the number of documents (of n) that hold both words."""
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


def _co_occurrences(
    topics: Topics,
    X: Any,
    texts: Texts | None,
    vocabulary: Sequence[str] | None,
    window_size: int | None,
    top_n: int,
    engine: MeasuringEngine | None,
) -> Iterable[tuple[NDArray[np.int64], int]]:
    """Per topic: [words, words] documents or windows that hold both words, and the number of all."""
    if (X is None) == (texts is None):
        raise ValueError("pass either X (documents) or texts (windows of text), not both or none")
    if checked(engine) is not None and X is None:
        raise ValueError("engine= counts documents X: windows of texts are counted by the processor")
    if vocabulary is None:
        vocabulary = getattr(X, "vocabulary", None)
    found: CoOccurrence
    if texts is None:
        found = in_documents(_as_ids(topics, vocabulary, top_n), as_counts(X), engine)
    else:
        lists = _as_words(topics, vocabulary, top_n)
        words = sorted({w for t in lists for w in t})
        place = {w: i for i, w in enumerate(words)}
        found = in_windows([np.array([place[w] for w in t], dtype=np.intp) for t in lists], words, texts, window_size)
    if found.n == 0:
        raise ValueError("there are no documents: X or texts is empty")
    return ((c, found.n) for c in found.together)


def _top(topics: Topics, top_n: int) -> list[list[Any]]:
    """The top words of each topic, as ids or as strings."""
    if top_n < 2:
        raise ValueError(f"top_n={top_n}: coherence needs pairs of words; pass at least 2")
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
            raise ValueError(
                "the top words are strings, but X has no words: pass vocabulary=, or model.counts(texts) as X"
            )
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
        raise ValueError("the topics are ids, but texts holds words: pass vocabulary=")
    return [[vocabulary[i] for i in t] for t in lists]
