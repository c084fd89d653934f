"""Fitted clusters: everything that outlives a fit of a mixture, as one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.fitted.clusters import class_idf
from topmix.fitted.names import RELEVANCE
from topmix.fitted.topics import Fitted
from topmix.fitted.view import TopicView
from topmix.likelihoods.categorical import Categorical
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.read import Reading

LEAST_SHARE = 1e-3  # of a document in a cluster that gets its words: less would only make tables long
SMOOTHING = 0.01  # tokens that each cluster has of the words of all: no word is impossible
NO_WORDS = "these clusters have no words: fit(X, texts=...) gives them the words of the texts beside the vectors"


@dataclass(frozen=True)
class ClusterWords:
    """The words of clusters of vectors: those of the texts beside the vectors, by the clusters of these."""

    counts: sp.csr_array  # [K, V] tokens
    reading: Reading  # of the texts

    @classmethod
    def of(cls, shares: sp.csr_array, corpus: Corpus, reading: Reading) -> ClusterWords:
        """`shares` [documents, K] is what clusters have of each."""
        kept = shares.copy()
        kept.data[kept.data < LEAST_SHARE] = 0.0
        kept.eliminate_zeros()
        return cls(sp.csr_array(kept.T @ corpus.to_scipy()).astype(np.float64), reading)

    def regrouped(self, parts: NDArray[np.float64]) -> ClusterWords:
        """Of other clusters: parts [new, K] is how much of each cluster they have."""
        return ClusterWords(sp.csr_array(sp.csr_array(parts) @ self.counts), self.reading)

    def divided(self, k: int, halves: NDArray[np.float64], share: NDArray[np.float64]) -> ClusterWords:
        """Cluster k in two, the second of which is the last: a word belongs to them as `halves` [2, V] have its tokens,
        and as `share` [2] where these do not have it."""
        own = sp.csr_array(self.counts[[k]])
        tokens = halves[:, own.indices]
        total = tokens.sum(axis=0)
        parts = np.where(total > 0, tokens / np.maximum(total, 1e-300), share[:, None]) * own.data
        first, second = (sp.csr_array((part, own.indices, own.indptr), own.shape) for part in parts)
        counts = sp.vstack([self.counts[:k], first, self.counts[k + 1 :], second], format="csr")
        return ClusterWords(sp.csr_array(counts), self.reading)

    def view(self, share: NDArray[np.float64], n_rows: float) -> TopicView:
        """As topics of words. At the usual relevance they have the order of class-based tf-idf."""
        counts = self.counts.toarray()
        of_words = counts.sum(axis=0)
        counts += SMOOTHING * (of_words / max(float(of_words.sum()), 1e-300) if of_words.any() else 1 / len(of_words))
        names = self.reading.words
        named = [str(v) for v in (range(self.reading.n_features) if names is None else names)]
        base = -np.log(np.maximum(class_idf(self.counts), 1e-300)) / (1.0 - RELEVANCE)
        return TopicView(counts / counts.sum(axis=1, keepdims=True), share, 0.0, named, n_rows=n_rows, base=base)

    def write(self, out: Writer) -> None:
        by_word = sp.csr_array(self.counts.T)
        out.array("indptr", by_word.indptr.astype(np.int64))
        out.array("topic", by_word.indices.astype(np.uint16))
        out.array("tokens", by_word.data)
        out.value("reading", self.reading.about())

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> ClusterWords:
        reading = Reading.read(file.inside("reading"))
        indptr, topic = file.rows_of_topics(reading.n_features, K)
        tokens = file.vector("tokens", "F64", len(topic))
        if len(tokens) and tokens.min() < 0:
            raise ModelFileError(f"{file.prefix}tokens has negative counts of words")
        by_word = sp.csr_array((tokens, topic.astype(np.int32), indptr), shape=(reading.n_features, K))
        return cls(sp.csr_array(by_word.T), reading)


@dataclass(frozen=True, kw_only=True)
class FittedMixture(Fitted):
    model: Mixture | Admixture
    labels: NDArray[np.int64] | None = None  # the cluster of each row of the fit, where they are kept
    texts: ClusterWords | None = None  # of clusters of vectors, where there were texts beside them

    @property
    def n_topics(self) -> int:
        return self.model.n_components

    @property
    def alpha(self) -> NDArray[np.float64]:
        return np.zeros(self.n_topics)

    @property
    def words_read(self) -> Reading:
        return self.reading if self.texts is None else self.texts.reading

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        return self.model.weights()

    @property
    def optimises(self) -> str:
        """The objective: "vb", "map" or "ml"."""
        return self.model.objective

    @property
    def lower_bound(self) -> float | None:
        """The objective as scikit-learn has it: per row for "ml"."""
        if self.objective is None:
            return None
        return self.objective / self.n_seen if self.optimises == "ml" else self.objective

    @property
    def has_words(self) -> bool:
        return self.texts is not None or isinstance(self.model.likelihood, Categorical)

    @cached_property
    def view(self) -> TopicView:
        """Clusters of counts, or of vectors that have words, as topics of words."""
        if self.texts is not None:
            return replace(
                self.texts.view(self.weights, self.n_seen), reproducibility=self.reproducibility, kept=self.places
            )
        words = self.model.likelihood
        if not isinstance(words, Categorical):
            raise ValueError(NO_WORDS)
        names = self.reading.words
        named = [str(v) for v in (range(self.reading.n_features) if names is None else names)]
        return TopicView(
            words.mean(), self.weights, 0.0, named, self.reproducibility, n_rows=self.n_seen, kept=self.places
        )

    @cached_property
    def topic_names(self) -> list[str]:
        if self.has_words:
            return super().topic_names
        return [self.names.get(k, f"cluster {k}") for k in range(self.n_topics)]
