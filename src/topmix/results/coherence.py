"""Coherence: how often the top words of a topic occur together.

p is the share of documents (or windows of text) that contain a word or a pair of words, ε = 1e-12, logarithms are
natural:

    NPMI    mean over pairs i ≠ j of  n_ij = log[(p_ij + ε) / (p_i p_j)] / −log(p_ij + ε)
    u_mass  mean over pairs i > j of  log[(p_ij + ε) / p_j],   words by falling probability
    c_v     mean over i of cos(n_i, Σ_j n_j),   n_i: the NPMI values of word i with all top words and with itself

The score is the mean over topics. It equals "c_npmi", "u_mass" and "c_v" of gensim's CoherenceModel up to rounding,
except in three cases:

- A pair that is in every document has n = 1. gensim computes 0 / 0, which rounding turns into −1.
- A pair with a word that is in no document has n = −1, the limit for ε → 0. gensim gives inf or nan.
- A word stays in a sliding window until its last copy leaves. gensim drops it with its first copy.

ε changes the value of a pair that never occurs together: n = −1 + log(p_i p_j) / log ε, about −0.67 for two words that
are each in 1% of the documents. eps=0 gives −1, as in the definition of NPMI.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix.corpus.corpus import Corpus
from topmix.results.measures import Floats, as_counts, as_topics, top_ids, topics_and_documents

_ENTRIES = 1 << 22  # entries of the boolean matrix of windows that is in memory at a time
EPSILON = 1e-12  # as in gensim
Topics = ArrayLike | Sequence[Sequence[str]] | Sequence[Sequence[int]]
Texts = Iterable[Sequence[str]]


def npmi_coherence(
    topics: Topics,
    X: object = None,
    *,
    texts: Texts | None = None,
    vocabulary: Sequence[str] | None = None,
    window_size: int | None = 10,
    top_n: int = 10,
    per_topic: bool = False,
    eps: float = EPSILON,
) -> float | Floats:
    """Normalised pointwise mutual information of the top words, from about −1 (never together) to 1 (always).

    Parameters
    ----------
    topics : [K, V] array, a list of top words (or word ids) for each topic, or a fitted topic model
        The top_n largest entries of each row of an array of floats, or the first top_n words of each list.
    X : Corpus, sparse matrix or array of counts; for a model, what its `fit` takes
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
    """
    return _scores("npmi", topics, X, texts, vocabulary, window_size, top_n, per_topic, eps)


def umass_coherence(
    topics: Topics,
    X: object = None,
    *,
    texts: Texts | None = None,
    vocabulary: Sequence[str] | None = None,
    top_n: int = 10,
    per_topic: bool = False,
    eps: float = EPSILON,
) -> float | Floats:
    """Mean log probability of a top word, given a more probable top word in the same document: 0 or less, higher is
    better. The arguments are those of `npmi_coherence`; windows are whole texts."""
    return _scores("umass", topics, X, texts, vocabulary, None, top_n, per_topic, eps)


def cv_coherence(
    topics: Topics,
    X: object = None,
    *,
    texts: Texts | None = None,
    vocabulary: Sequence[str] | None = None,
    window_size: int | None = 110,
    top_n: int = 10,
    per_topic: bool = False,
    eps: float = EPSILON,
) -> float | Floats:
    """Mean cosine of the NPMI values of a top word with those of the whole topic. The arguments are those of
    `npmi_coherence`. The measure is defined on texts; with X, documents are the windows."""
    return _scores("cv", topics, X, texts, vocabulary, window_size, top_n, per_topic, eps)


def _scores(
    measure: str,
    topics: Topics,
    X: object,
    texts: Texts | None,
    vocabulary: Sequence[str] | None,
    window_size: int | None,
    top_n: int,
    per_topic: bool,
    eps: float,
) -> float | Floats:
    """What a measure makes of the documents or windows that hold both words of each pair."""
    given, X = topics_and_documents(topics, X)
    if (X is None) == (texts is None):
        raise ValueError("pass either X (documents) or texts (windows of text), not both or none")
    if vocabulary is None and isinstance(X, Corpus):
        vocabulary = X.vocabulary
    if top_n < 2:
        raise ValueError(f"top_n={top_n}: coherence needs pairs of words; pass at least 2")
    if isinstance(given, np.ndarray) and np.issubdtype(given.dtype, np.floating):
        lists: list[list[Any]] = top_ids(as_topics(given), top_n).tolist()
    elif isinstance(given, Iterable):
        lists = [list(t)[:top_n] for t in given]
    else:
        raise ValueError(f"topics is a {type(given).__name__}: pass an array (topics, words), or lists of top words")
    if not lists or min(map(len, lists)) < 2:
        raise ValueError("every topic needs at least two top words")
    if texts is not None:
        if window_size is not None and window_size < 1:
            raise ValueError(f"window_size={window_size}: pass at least 1, or None for whole texts")
        if not isinstance(lists[0][0], str):
            if vocabulary is None:
                raise ValueError("the topics are ids, but texts holds words: pass vocabulary=")
            lists = [[vocabulary[i] for i in t] for t in lists]
        place = {w: i for i, w in enumerate(sorted({w for t in lists for w in t}))}
        ids = [np.array([place[w] for w in t]) for t in lists]
        parts: Iterable[sp.csr_array] = _windows(texts, place, window_size)
    else:
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
        ids, counts = [np.array(t, dtype=np.intp) for t in lists], as_counts(X)
        if max(int(t.max()) for t in ids) >= counts.shape[1]:
            raise ValueError(f"a top word is not among the {counts.shape[1]} words of the documents")
        parts = [counts]
    # Per topic [words, words] how many documents or windows have both, and alone on the diagonal; and of how many.
    used, places = np.unique(np.concatenate(ids), return_inverse=True)
    local = np.split(places.astype(np.intp), np.cumsum([len(t) for t in ids])[:-1])
    together, n = [np.zeros((len(t), len(t)), dtype=np.int64) for t in ids], 0
    for part in parts:
        present = sp.csc_array(part[:, used] > 0, dtype=np.int64)
        for k, t in enumerate(local):
            columns = present[:, t]
            together[k] += (columns.T @ columns).toarray()
        n += part.shape[0]
    if n == 0:
        raise ValueError("there are no documents: X or texts is empty")
    values = [_score(measure, of_topic, n, eps) for of_topic in together]
    return np.array(values) if per_topic else float(np.mean(values))


def _score(measure: str, together: NDArray[np.int64], n: int, eps: float) -> float:
    """Of one topic, from `together` [words, words], the number of documents (of n) that hold both words."""
    p_ij = together / n
    p = np.diag(p_ij)
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "umass":
            i, j = np.tril_indices(len(together), k=-1)
            return float(np.where(p[j] > 0, np.log((p_ij[i, j] + eps) / p[j]), 0.0).mean())
        value = np.log((p_ij + eps) / np.outer(p, p)) / -np.log(p_ij + eps)
    value[together == n] = 1.0
    value[(p == 0) | (p == 0)[:, None]] = -1.0
    if eps == 0:
        value[together == 0] = -1.0
    if measure == "npmi":
        return float(value[~np.eye(len(value), dtype=bool)].mean())
    whole = value.sum(axis=0)
    norm = np.linalg.norm(value, axis=1) * np.linalg.norm(whole)
    return float(np.divide(value @ whole, norm, out=np.zeros(len(value)), where=norm > 0).mean())


def _windows(texts: Texts, ids: dict[str, int], size: int | None) -> Iterator[sp.csr_array]:
    """Matrices [windows, words] that are not zero where a window holds a word, with about _ENTRIES entries each.

    A token at position p is in the windows that start at p - size + 1 to p. An empty text is one window.
    """
    rows: list[NDArray[np.int64]] = []
    cols: list[NDArray[np.int64]] = []
    n = entries = 0

    def counted() -> sp.csr_array:
        r, c = np.concatenate(rows), np.concatenate(cols)
        return sp.csr_array((np.ones(len(r), np.int32), (r, c)), shape=(n, len(ids)))

    for text in texts:
        tokens = [(v, p) for p, word in enumerate(text) if (v := ids.get(word)) is not None]
        word, p = np.array(tokens, np.int64).reshape(-1, 2).T
        length = len(text) if size is None else min(size, len(text))
        n_windows = len(text) - length + 1
        first, last = np.maximum(p - length + 1, 0), np.minimum(p, n_windows - 1)
        often = last - first + 1
        begin = np.cumsum(often) - often
        rows.append(n + np.repeat(first - begin, often) + np.arange(often.sum()))
        cols.append(np.repeat(word, often))
        n, entries = n + n_windows, entries + int(often.sum())
        if entries >= _ENTRIES:
            yield counted()
            rows, cols, n, entries = [], [], 0, 0
    if n:
        yield counted()
