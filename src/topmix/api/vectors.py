"""Mixtures of vectors: clusters that the texts beside the vectors describe, as words describe topics."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from topmix.api.checkpoints import Keep
from topmix.api.described import where_words
from topmix.api.mixture import MixtureEstimator, rows_of
from topmix.api.sklearn_callbacks import with_sklearn_callbacks
from topmix.data.corpus import Corpus
from topmix.data.documents import plain
from topmix.data.rows import GroupedRows, Rows
from topmix.fitted import edits
from topmix.fitted.frames import DataFrame
from topmix.fitted.mixture import NO_WORDS
from topmix.fitted.names import RELEVANCE
from topmix.fitted.tables import checked_topic
from topmix.models.admixture import Admixture
from topmix.numerics.threads import use_threads
from topmix.parameters.checks import whole_number
from topmix.read import How, read_known
from topmix.stats import MixtureStats

LEAST_HALF = 2.0  # rows of each half of a cluster
TWO: dict[str, Any] = {"n_init": 1, "max_time": None, "warm_start": False, "verbose": 0, "callbacks": None}


def without_words(n_docs: int, n_words: int) -> Corpus:
    """Documents that have vectors alone."""
    none = np.zeros(0, np.int32), np.zeros(0, np.float32)
    return Corpus.trusted(np.zeros(n_docs + 1, np.int64), *none, n_words)


def texts_of_documents(corpus: Corpus, texts: list[str] | None) -> list[str] | None:
    """A text for each document: where documents are groups of rows, and each row has one, all of these."""
    data = corpus.vectors
    if texts is None or not isinstance(data, GroupedRows) or len(texts) == len(data):
        return texts
    order = range(len(texts)) if data.order is None else data.order.tolist()
    return [" ".join(texts[n] for n in order[a:b]) for a, b in pairwise(data.starts.tolist())]


class VectorMixture(MixtureEstimator):
    """GaussianMixture and VonMisesFisherMixture. A document is a row of X and, where there are texts, the text beside
    it."""

    @with_sklearn_callbacks
    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        texts: object = None,
        text: str | Sequence[str] | None = None,
        vectorizer: object = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
    ) -> Self:
        """Learns the clusters of X, of shape (n_samples, n_features).

        `texts` has one text, or title, for each row of X, as `LDA.fit` takes documents: a list, a table or the path of
        a file, whose column is `text`; `vectorizer` counts their words. They have no part in the clusters. The clusters
        get their words, so that all tables and pages of topics describe clusters too.

        Warns with scikit-learn's ConvergenceWarning where `max_iter` passes were not enough; not where `tol` is
        negative, which asks for all of them, and not where a callback ended the fit.

        With `checkpoint`, a path, the fit is saved there every `checkpoint_every` passes and at its end. Where the file
        exists already, the fit continues from it, with the same bits as if it had never stopped: see `LDA.fit`.
        """
        of_texts, keep = (
            None if texts is None else (texts, How(text, vectorizer)),
            Keep.of(checkpoint, checkpoint_every),
        )
        return self._fit_as(X, y, How(), sample_weight, of_texts, keep)

    def counts(self, X: object, texts: object = None) -> Corpus:
        """X as the model reads it: a Corpus in the words of the model, with the vectors beside it where X is vectors
        and `texts` their texts."""
        if isinstance(X, Corpus) and X.vectors is not None:
            return X
        f, rows = self._found(), self._rows(X)
        assert isinstance(rows, Rows)
        if texts is None:
            V = 1 if f.texts is None else f.texts.reading.n_features
            return without_words(len(rows), V).with_vectors(rows)
        if f.texts is None:
            raise ValueError(NO_WORDS)
        with use_threads(self._threads()):
            corpus = read_known(texts, f.texts.reading, owner=type(self).__name__, engine=self._engine())
        return corpus.with_vectors(rows)

    def _read_known(self, X: object) -> Corpus:
        return self.counts(X)

    @where_words
    def topic_info(
        self, X: object = None, *, texts: object = None, n_words: int = 10, relevance: float = RELEVANCE
    ) -> DataFrame:
        """A table of the clusters, largest first, as that of topics: topic, name, size in rows, share, coherence,
        words, nearest clusters by their words, documents and quality.

        At the default `relevance` words have the order of class-based tf-idf, as in BERTopic: frequent in the cluster,
        and rare in others; relevance=1 is frequency alone. Documents need X, and coherence X and its `texts`.
        """
        given = X if X is None else self.counts(X, texts=texts)
        return super().topic_info(given, n_words=n_words, relevance=relevance)

    def representative_documents(self, X: object, *, texts: object = None, n: int = 5) -> DataFrame:
        """A table of the documents that are most typical of each cluster, n of each, best first: topic, name, document,
        weight, its probability of the cluster, and its text where `texts` is a list of texts. A document is the more
        typical the higher its density in the cluster is."""
        corpus, kept = self.counts(X, texts=texts), None
        if isinstance(texts, Iterable) and not isinstance(texts, str):
            kept = texts_of_documents(corpus, [str(one) for one in plain(texts)])
        return self._examples(corpus, kept, n)

    def words_by(
        self, X: object, column: str | Iterable[object], topic: int, *, texts: object = None, n_words: int = 10
    ) -> DataFrame:
        """The words of one cluster that a group of documents uses more than the other groups do: see `LDA.words_by`.
        Rows of X need their `texts`."""
        return super().words_by(self.counts(X, texts=texts), column, topic, n_words=n_words)

    def split_topic(
        self, X: object, topic: int, *, texts: object = None, max_docs: int = 20_000, random_state: int = 0
    ) -> Self:
        """Makes two clusters of one: a mixture of two is fitted to the rows of X that are in it, at most `max_docs` of
        them. The cluster keeps its place and its name, and the second is the last. With `texts` each gets its own
        words; without, both have those of the whole."""
        f, corpus = self._found(), self.counts(X, texts=texts)
        k, seed = checked_topic(f, topic), whole_number(random_state, "random_state", least=0)
        mine = np.flatnonzero(self.predict(corpus) == k)
        if len(mine) > whole_number(max_docs, "max_docs"):
            mine = np.sort(np.random.default_rng(seed).choice(mine, max_docs, replace=False))
        rows, model = rows_of(corpus.vectors)[mine], f.model
        assert isinstance(rows, Rows)
        r = None if len(mine) < 2 * LEAST_HALF else self._in_two(rows, seed)
        if r is None or r.sum(axis=0).min() < LEAST_HALF:
            raise ValueError(f"cluster {k} cannot be split: too few rows are in it")
        K, N = f.n_topics, model.sizes if isinstance(model, Admixture) else model.as_stats().N
        parts, places, scale = np.eye(K + 1, K), np.zeros((K + 1, 2)), float(max(N[k], 0.0)) / len(mine)
        parts[k, k], places[k, 0], places[K, 1] = 0.0, scale, scale
        now = edits.regrouped(f, parts, (), (places, self._halves(rows, r)))
        if f.texts is not None:
            words = f.texts.divided(k, self._words_beside(corpus, mine, r), r.mean(axis=0))
            now = replace(now, texts=words)
        return self._edited(now)

    def _in_two(self, rows: Rows, seed: int) -> np.ndarray:
        """[rows, 2] responsibilities of two clusters of these rows."""
        two = clone(self).set_params(n_components=2, random_state=seed, **TWO)
        two.set_params(**{name: "auto" for name in ("init", "init_params") if name in two.get_params(deep=False)})
        return np.asarray(two.fit(rows).predict_proba(rows))

    def _words_beside(self, corpus: Corpus, rows: np.ndarray, r: np.ndarray) -> np.ndarray:
        """[2, V] the words beside some rows, by the responsibilities r [rows, 2]."""
        return np.asarray(r.T @ corpus[rows].to_scipy())

    @abstractmethod
    def _halves(self, rows: Rows, r: np.ndarray) -> MixtureStats:
        """Statistics of rows with responsibilities [rows, 2], in the terms of the fitted clusters."""
