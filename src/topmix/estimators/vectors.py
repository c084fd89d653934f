"""Mixtures of vectors: clusters that the texts beside the vectors describe, as words describe topics."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import pairwise
from typing import Self, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from topmix.base.checks import is_plural, whole_number
from topmix.base.threads import use_threads
from topmix.corpus.corpus import Corpus
from topmix.corpus.documents import plain, readable
from topmix.corpus.rows import GroupedRows, Rows
from topmix.estimators.declared import Settings, VectorOptions, takes
from topmix.estimators.mixture import MixtureEstimator, Read
from topmix.io.documents import AS_IT_IS, read
from topmix.io.reading import How, Reading
from topmix.io.rows import split_texts
from topmix.models.statistics import MixtureStats
from topmix.results import edits
from topmix.results.mixture import NO_WORDS, FittedMixture
from topmix.results.tables import checked_topic
from topmix.results.view import DataFrame

LEAST_HALF = 2.0  # rows of each half of a cluster
# Parameters of a fit of two clusters.
TWO: Settings = {
    "n_components": 2, "weight_concentration_prior_type": "dirichlet_distribution", "init": "auto",
    "init_params": "auto", "n_init": 1, "max_time": None, "warm_start": False, "verbose": 0, "callbacks": None,
}  # fmt: skip


def without_words(n_docs: int, n_words: int) -> Corpus:
    none = np.zeros(0, np.int32), np.zeros(0, np.float32)
    return Corpus.trusted(np.zeros(n_docs + 1, np.int64), *none, n_words)


def documents_of(rows: Rows, corpus: Corpus) -> Corpus:
    """Rows, or groups of rows, as documents, with words for each of them, or for each row of the groups."""
    data = rows.groups
    if data is None:
        return corpus.with_columns(vectors=rows)
    if corpus.n_docs != len(data):
        data = GroupedRows(data.rows, data.starts, data.order, data.names, corpus.to_scipy())
        corpus = Corpus.from_scipy(data.summed(corpus.to_scipy()), corpus.vocabulary)
    return corpus.with_columns(vectors=data).named(None if data.names is None else [str(name) for name in data.names])


def words_of_rows(corpus: Corpus) -> sp.csr_array:
    """[rows, V] the words of each row; where they are known of its group alone, its share of these."""
    data = corpus.vector_groups
    if data is None:
        return corpus.to_scipy()
    if data.texts is not None:
        return data.texts
    shares = sp.diags_array(1.0 / np.maximum(data.lengths(), 1.0)) @ corpus.to_scipy()
    return sp.csr_array(shares)[data.of_row()]


def texts_of_documents(corpus: Corpus, texts: list[str] | None) -> list[str] | None:
    """A text for each document: where documents are groups of rows, and each row has one, all of these."""
    data = corpus.vector_groups
    if texts is None or data is None or len(texts) == len(data):
        return texts
    order = range(len(texts)) if data.order is None else data.order.tolist()
    return [" ".join(texts[n] for n in order[a:b]) for a, b in pairwise(data.starts.tolist())]


class VectorMixture(MixtureEstimator):
    """GaussianMixture and VonMisesFisherMixture. A document is a row of X, with its text where there are texts.

    Notes
    -----
    Rows are computed in the type that they come in: float32 is twice as fast, and float64 takes its place where
    clusters are too thin for it. An array mapped from a file (numpy.memmap, or the path of a .npy file) is read a piece
    at a time.

    X of a GaussianMixture may be sparse, a SciPy matrix or a Corpus. Its rows are made dense a piece at a time; only
    `learner="asynchronous"`, which needs `covariance_type="diag"` then, computes with the entries alone.
    """

    _takes = "vectors"

    @takes(VectorOptions)
    def fit(self, X: object, y: object = None, sample_weight: object = None, **how: Unpack[VectorOptions]) -> Self:
        """Learns the clusters of X, of shape (n_samples, n_features), or in a .npy, .csv, .tsv or .parquet file.

        A weight is a number of rows, in all sums and beside priors, which count as rows too. What the data decides (the
        covariances that "map" expects, where clusters start, when to stop) depends only on how weights compare with
        each other, and takes a row with any weight as one row: two equal rows seem to predict each other."""
        return self._fit_as(X, y, sample_weight, how)

    @abstractmethod
    def _read_rows(self, X: object, known: Reading | None) -> tuple[Rows, Reading]:
        """X, checked."""

    def _data(
        self, X: object, groups: object = None, how: How = AS_IT_IS, known: Reading | None = None
    ) -> tuple[Rows, Reading]:
        self._refuse_groups(groups)
        if isinstance(X, Corpus) and X.vectors is not None:
            X = X.vectors
            if known is not None:
                return X, known  # they were read before
        return self._read_rows(X, known)

    def _documents(self, X: object, groups: object, texts: object, how: How, before: FittedMixture | None) -> Read:
        if texts is None and isinstance(X, Corpus) and X.vectors is not None:  # both were read before
            data = X.vectors.alone()
            X, how = X.with_columns(vectors=data), AS_IT_IS
            texts = X if data.texts is None else Corpus.from_scipy(data.texts, X.vocabulary)
        X, texts = split_texts(X, texts)
        data, reading = self._data(X, groups, how, None if before is None else before.reading)
        if texts is None:
            return data, reading, None
        known = None if before is None or before.texts is None else before.texts.reading
        words = read(texts, how, known, owner=type(self).__name__, engine=self._engine())
        if words[0].n_docs not in (len(data), len(data.rows)):
            size, one = f"{len(data)} rows of X", "one each"
            if data.groups is not None:
                size, one = f"{len(data.rows)} rows in {len(data)} groups", "one for each row or group"
            raise ValueError(f"there are {words[0].n_docs} texts for {size}: pass {one}")
        return data, reading, words

    def _completion(self, X: object) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of each row, or of the held-out rows of each group: the log likelihood, and how many rows it is of."""
        scores = self.score_samples(X)
        return scores, np.ones(len(scores))

    def counts(self, X: object, texts: object = None) -> Corpus:
        """X as the model reads it: a Corpus in the words of `texts`, one for each row of X, with the rows beside it."""
        return self._read_known(X, texts=texts)

    def _read_known(self, X: object, groups: object = None, texts: object = None) -> Corpus:
        if isinstance(X, Corpus) and X.vectors is not None:
            return X
        f = self._found()
        if texts is not None and f.texts is None:
            raise ValueError(NO_WORDS)
        with use_threads(self._threads()):
            data, _, words = self._documents(X, groups, texts, AS_IT_IS, f)
        assert isinstance(data, Rows)
        none = without_words(len(data), 1 if f.texts is None else f.texts.reading.n_features)
        return documents_of(data, none if words is None else words[0])

    def representative_documents(
        self, X: object, *beside: object, texts: object = None, n: int = 5, **named: object
    ) -> DataFrame:
        """A table of the documents that are most typical of each cluster, by their density in it, n of each, best
        first: topic, name, document, weight, its probability of the cluster, and its text where `texts` is a list.

        Of an admixture, `representative_documents(X, groups)`, the groups that have most of each cluster. Short groups
        come after long ones: a share counts as rows of the cluster over the rows of the group plus 20."""
        named = named if texts is None else named | {"texts": texts}
        corpus, kept = self._read_known(X, *beside, **named), None
        if is_plural(texts):
            kept = texts_of_documents(corpus, [readable(str(one)) for one in plain(texts)])
        return self._examples(corpus, kept, n)

    def split_topic(
        self, X: object, topic: int, *beside: object, max_docs: int = 20_000, random_state: int = 0, **named: object
    ) -> Self:
        """Makes two clusters of one: a mixture of two is fitted to the rows of X that are in it, at most `max_docs` of
        them. The cluster keeps its place and its name, and the second is the last. With `texts=` each gets its own
        words; without, both have those of the whole. An admixture needs the groups too: split_topic(X, topic, groups).
        """
        f, corpus = self._found(), self._read_known(X, *beside, **named)
        assert corpus.vectors is not None
        vectors = corpus.vectors.alone()
        corpus = corpus.with_columns(vectors=vectors)
        k, seed = checked_topic(f, topic), whole_number(random_state, "random_state", least=0)
        mine = np.flatnonzero(self.predict(corpus) == k)
        if len(mine) > whole_number(max_docs, "max_docs"):
            mine = np.sort(np.random.default_rng(seed).choice(mine, max_docs, replace=False))
        rows, r = vectors.rows[mine], np.zeros((1, 2))
        if len(mine) >= 2 * LEAST_HALF:
            known = TWO.keys() & self.get_params(deep=False).keys()
            two = clone(self).set_params(random_state=seed, **{name: TWO[name] for name in known})
            of_one = rows if vectors.groups is None else GroupedRows(rows, np.array([0, len(rows)]))
            r = np.asarray(two.fit(of_one).predict_proba(of_one))
        if r.sum(axis=0).min() < LEAST_HALF:
            raise ValueError(f"cluster {k} cannot be split: too few rows are in it")
        K, N = f.n_topics, f.model.sizes
        parts, places, scale = np.eye(K + 1, K), np.zeros((K + 1, 2)), float(max(N[k], 0.0)) / len(mine)
        parts[k, k], places[k, 0], places[K, 1] = 0.0, scale, scale
        halves = MixtureStats(f.model.likelihood.of_rows(rows, r), r.sum(axis=0), 0.0, 0.0)
        now = edits.regrouped(f, parts, (), (places, halves))
        if f.texts is not None:
            words = np.asarray(r.T @ words_of_rows(corpus)[mine])
            now = replace(now, texts=f.texts.divided(k, words, r.mean(axis=0)))
        return self._edited(now)
