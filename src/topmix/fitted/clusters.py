"""Words of clusters, by class-based tf-idf (Grootendorst 2022, BERTopic).

The documents of a cluster are counted as one. Word w of cluster c, with A the mean number of tokens per cluster (as a
whole number, as in BERTopic) and f_w the tokens of the word in all clusters, has the weight

    W_cw = tf_cw log(1 + A / f_w),     tf_cw: the share of w among the tokens of c
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from topmix.fitted.frames import DataFrame, frame
from topmix.fitted.names import EMPTY, WORDS_PER_NAME, distinct
from topmix.metrics.counts import Floats
from topmix.parameters.checks import whole_number
from topmix.read import How, read

OUTLIERS = -1


def describe_clusters(
    labels: ArrayLike,
    documents: object,
    *,
    n_words: int = 10,
    outliers: bool = True,
    text: str | Sequence[str] | None = None,
    vectorizer: object = None,
    feature_names: Sequence[str] | None = None,
) -> DataFrame:
    """A table of clusters of documents, described by words: cluster, name, size, share, words and weights.

    The labels can come from anywhere, for instance from `VonMisesFisherMixture` or `GaussianMixture` of the
    documents' embeddings. Words have the weights of BERTopic: frequent in the cluster, and rare in the others.

    Parameters
    ----------
    labels : one per document
        The clusters, as whole numbers or names. -1 stands for documents without a cluster.
    documents
        The documents in the same order, as `LDA.fit` takes them: texts, counts, a table, a Corpus, a path.
    n_words : int
        Words per cluster, best first. A cluster that has fewer different words shows those.
    outliers : bool
        Whether the table has a row for the label -1, as its last one. Their words count in either case: what is
        common among them is not special for a cluster.
    text, vectorizer, feature_names
        How to read the documents, as in `LDA.fit`. BERTopic counts words with `CountVectorizer()`, without leaving
        any out.

    Returns
    -------
    DataFrame
        The largest cluster first; of the kind of the documents, or what is installed.

    Examples
    --------
    >>> import topmix
    >>> texts = ["a boat with a mast", "the mast of a ship", "a rook and a pawn", "the pawn takes a rook"]
    >>> table = topmix.describe_clusters([0, 0, 1, 1], texts, n_words=2)
    >>> [sorted(words) for words in table["words"]]
    [['boat', 'mast'], ['pawn', 'rook']]
    """
    n = whole_number(n_words, "n_words")
    corpus, reading = read(documents, How(text, vectorizer, feature_names), owner="describe_clusters")
    given = _checked(labels, corpus.n_docs)
    clusters, of_row = np.unique(given, return_inverse=True)
    sizes = np.bincount(of_row)
    where = sp.csr_array((np.ones(corpus.n_docs), (of_row, np.arange(corpus.n_docs))))  # [clusters, documents]
    weights = class_tfidf(sp.csr_array(where @ corpus.to_scipy()))
    names = [str(v) for v in (range(corpus.n_words) if reading.words is None else reading.words)]
    is_outlier = np.array([_is_outlier(label) for label in clusters.tolist()])
    order = np.lexsort((np.arange(len(clusters)), -sizes, is_outlier))
    rows = [i for i in order.tolist() if outliers or not is_outlier[i]]
    best = [_best(weights, i, n) for i in rows]
    words = [[names[v] for v in ids] for ids, _ in best]
    columns = {
        "cluster": clusters[rows].tolist(),
        "name": [", ".join(distinct(of_cluster, WORDS_PER_NAME)) or EMPTY for of_cluster in words],
        "size": sizes[rows].tolist(),
        "share": (sizes[rows] / max(corpus.n_docs, 1)).tolist(),
        "words": words,
        "weights": [values for _, values in best],
    }
    return frame(columns, reading.frame)


def class_tfidf(counts: sp.csr_array) -> sp.csr_array:
    """[clusters, V] weights from counts of words in clusters. A word that no cluster has, has no weight."""
    counts = sp.csr_array(counts, dtype=np.float64)
    tokens, idf = np.asarray(counts.sum(axis=1)).ravel(), class_idf(counts)  # before entries: sums may sort them
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    data: Floats = counts.data / tokens[row] * idf[counts.indices]
    return sp.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def class_idf(counts: sp.csr_array) -> Floats:
    """[V] log(1 + A / f_w) of each word; 0 where no cluster has it."""
    frequency = np.asarray(counts.sum(axis=0), np.float64).ravel()
    average = int(counts.sum() / counts.shape[0]) if counts.shape[0] else 0
    with np.errstate(over="ignore"):
        return np.where(frequency > 0, np.log1p(average / np.maximum(frequency, 1e-300)), 0.0)


def _checked(labels: ArrayLike, n_docs: int) -> NDArray[np.generic]:
    if isinstance(labels, BaseEstimator):
        raise ValueError("labels must be one label per document; pass model.labels_, or model.predict(X)")
    given = np.asarray(labels)
    if given.ndim != 1 or len(given) != n_docs:
        raise ValueError(f"labels has the shape {given.shape}, and there are {n_docs} documents: pass one label each")
    if given.dtype.kind == "f":
        if not np.all(np.isfinite(given)) or np.any(given != np.round(given)):
            raise ValueError("labels must be whole numbers or names; -1 stands for documents without a cluster")
        given = given.astype(np.int64)
    if given.dtype.kind == "O":
        if any(label is None for label in given.tolist()):
            raise ValueError("a label is missing: -1 stands for documents without a cluster")
        given = given.astype(str)
    return given


def _is_outlier(label: object) -> bool:
    return not isinstance(label, str) and label == OUTLIERS


def _best(weights: sp.csr_array, i: int, n: int) -> tuple[list[int], list[float]]:
    """The n largest entries of a row; of equal ones the word with the smaller number first."""
    ids, values = (a[weights.indptr[i] : weights.indptr[i + 1]] for a in (weights.indices, weights.data))
    order = np.lexsort((ids, -values))[:n]
    return ids[order].tolist(), values[order].tolist()
