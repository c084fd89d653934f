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
are each in 1% of the documents. eps=0 gives −1, as in the definition of NPMI. A window is some consecutive tokens of a
text, or the whole text if the text is shorter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix.data.corpus import Corpus
from topmix.metrics.counts import Floats, as_counts, as_topics, top_ids, topics_and_documents
from topmix.metrics.engine import MeasuringEngine, checked

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
    engine: MeasuringEngine | None = None,
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
    X: object = None,
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
    X: object = None,
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
    X: object,
    texts: Texts | None,
    vocabulary: Sequence[str] | None,
    window_size: int | None,
    top_n: int,
    engine: MeasuringEngine | None,
) -> Iterable[tuple[NDArray[np.int64], int]]:
    """Per topic: [words, words] documents or windows that hold both words, and the number of all."""
    given, X = topics_and_documents(topics, X)
    if (X is None) == (texts is None):
        raise ValueError("pass either X (documents) or texts (windows of text), not both or none")
    if checked(engine) is not None and X is None:
        raise ValueError("engine= counts documents X: windows of texts are counted by the processor")
    if vocabulary is None:
        vocabulary = X.vocabulary if isinstance(X, Corpus) else None
    found: CoOccurrence
    if texts is None:
        found = in_documents(_as_ids(given, vocabulary, top_n), as_counts(X), engine)
    else:
        lists = _as_words(given, vocabulary, top_n)
        words = sorted({w for t in lists for w in t})
        place = {w: i for i, w in enumerate(words)}
        found = in_windows([np.array([place[w] for w in t], dtype=np.intp) for t in lists], words, texts, window_size)
    if found.n == 0:
        raise ValueError("there are no documents: X or texts is empty")
    return ((c, found.n) for c in found.together)


def _top(topics: object, top_n: int) -> list[list[str]] | list[list[int]]:
    """The top words of each topic, as ids or as strings."""
    if top_n < 2:
        raise ValueError(f"top_n={top_n}: coherence needs pairs of words; pass at least 2")
    if isinstance(topics, np.ndarray) and np.issubdtype(topics.dtype, np.floating):
        return top_ids(as_topics(topics), top_n).tolist()
    if not isinstance(topics, Iterable):
        raise ValueError(f"topics is a {type(topics).__name__}: pass an array (topics, words), or lists of top words")
    lists = [list(t)[:top_n] for t in topics]
    if not lists or min(map(len, lists)) < 2:
        raise ValueError("every topic needs at least two top words")
    return lists


def _as_ids(topics: object, vocabulary: Sequence[str] | None, top_n: int) -> list[NDArray[np.intp]]:
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


def _as_words(topics: object, vocabulary: Sequence[str] | None, top_n: int) -> list[list[str]]:
    lists = _top(topics, top_n)
    if isinstance(lists[0][0], str):
        return lists
    if vocabulary is None:
        raise ValueError("the topics are ids, but texts holds words: pass vocabulary=")
    return [[vocabulary[i] for i in t] for t in lists]


class CoOccurrence(NamedTuple):
    """Counts for each topic, over n documents or windows."""

    together: list[NDArray[np.int64]]  # per topic: [words, words]; the diagonal counts each word alone
    n: int


def in_documents(
    topics: Sequence[NDArray[np.intp]], X: sp.csr_array, engine: MeasuringEngine | None = None
) -> CoOccurrence:
    """Counts in documents X [D, V], including empty ones. `topics` are word ids, that is columns of X."""
    if engine is not None:
        _check_words(np.concatenate(topics), X.shape[1])
        return CoOccurrence(engine.together(topics, X.shape[1], X.indptr, X.indices), X.shape[0])
    return _count(topics, [X])


def in_windows(
    topics: Sequence[NDArray[np.intp]], words: Sequence[str], texts: Iterable[Sequence[str]], size: int | None
) -> CoOccurrence:
    """Counts in windows of `size` tokens, or in whole texts if None. `topics` are positions in `words`.

    An empty text is one window.
    """
    if size is not None and size < 1:
        raise ValueError(f"window_size={size}: pass at least 1, or None for whole texts")
    return _count(topics, _windows(texts, {w: i for i, w in enumerate(words)}, size))


def _count(topics: Sequence[NDArray[np.intp]], parts: Iterable[sp.csr_array]) -> CoOccurrence:
    used, ids = np.unique(np.concatenate(topics), return_inverse=True)
    local = np.split(ids.astype(np.intp), np.cumsum([len(t) for t in topics])[:-1])
    together = [np.zeros((len(t), len(t)), dtype=np.int64) for t in topics]
    n = 0
    for part in parts:
        _check_words(used, part.shape[1])
        present = sp.csc_array(part[:, used] > 0, dtype=np.int64)
        for k, t in enumerate(local):
            columns = present[:, t]
            together[k] += (columns.T @ columns).toarray()
        n += part.shape[0]
    return CoOccurrence(together, n)


def _check_words(used: NDArray[np.intp], n_words: int) -> None:
    if len(used) and used.max() >= n_words:
        raise ValueError(f"a top word is not among the {n_words} words of the documents")


def _windows(texts: Iterable[Sequence[str]], ids: dict[str, int], size: int | None) -> Iterator[sp.csr_array]:
    """Boolean matrices [windows, words] with about _ENTRIES entries each."""
    rows: list[NDArray[np.int64]] = []
    cols: list[NDArray[np.int64]] = []
    n = entries = 0
    for text in texts:
        first, last, word, n_windows = _intervals(text, ids, size)
        length = last - first + 1
        begin = np.cumsum(length) - length
        rows.append(n + np.repeat(first - begin, length) + np.arange(length.sum()))
        cols.append(np.repeat(word, length))
        n, entries = n + n_windows, entries + int(length.sum())
        if entries >= _ENTRIES:
            yield _booleans(rows, cols, n, len(ids))
            rows, cols, n, entries = [], [], 0, 0
    if n:
        yield _booleans(rows, cols, n, len(ids))


def _intervals(
    text: Sequence[str], ids: dict[str, int], size: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """(first, last, word, n_windows): the windows first..last of one text hold the word. Intervals are disjoint.

    A token at position p is in the windows that start at p - size + 1 to p. A window that also holds the previous copy
    of the word belongs to the interval of that copy.
    """
    tokens = [(w, p) for p, t in enumerate(text) if (w := ids.get(t)) is not None]
    word, p = np.array(tokens, dtype=np.int64).reshape(-1, 2).T
    order = np.argsort(word, kind="stable")
    word, p = word[order], p[order]
    size = len(text) if size is None else min(size, len(text))
    n_windows = len(text) - size + 1
    previous = np.where(np.diff(word, prepend=-1) == 0, np.roll(p, 1), -1)
    first = np.maximum(np.maximum(p - size, previous) + 1, 0)
    last = np.minimum(p, n_windows - 1)
    some = first <= last
    return first[some], last[some], word[some], n_windows


def _booleans(rows: list[NDArray[np.int64]], cols: list[NDArray[np.int64]], n_rows: int, n_cols: int) -> sp.csr_array:
    r, c = np.concatenate(rows), np.concatenate(cols)
    return sp.csr_array((np.ones(len(r), dtype=np.int8), (r, c)), shape=(n_rows, n_cols))
