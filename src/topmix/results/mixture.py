"""Fitted clusters: everything that outlives a fit of a mixture, as one value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from topmix.base.checks import whole_number
from topmix.base.fields import CheckedReader, Writer
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import GroupedRows, Rows
from topmix.corpus.shard import row_sums
from topmix.io.documents import read
from topmix.io.reading import How, Reading
from topmix.models.mixture import Admixture, Mixture
from topmix.models.sparse_counts import Sparse
from topmix.models.stored import Stored
from topmix.results.names import EMPTY, RELEVANCE, WORDS_PER_NAME, distinct
from topmix.results.topics import DocumentShares, Fitted, Solver, example_weight, main_topics
from topmix.results.view import DataFrame, TopicView, frame
from topmix.steps.rows import Assigned, AssignedGroups, AssignGroupsStep, AssignStep

OUTLIERS = -1  # the label of documents without a cluster
LEAST_SHARE = 1e-3  # of a document in a cluster that gets its words: less would only make tables long
SMOOTHING = 0.01  # tokens that each cluster has of the words of all: no word is impossible
NO_WORDS = "these clusters have no words: fit(X, texts=...) gives them the words of the texts beside the vectors"


@dataclass(frozen=True)
class ClusterWords(Stored):
    """The words of clusters of vectors: those of the texts beside the vectors, by the clusters of these."""

    counts: Annotated[sp.csr_array, Sparse("K", "V", index="I32")]  # tokens
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

    def weighed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[K, V] probabilities of words, and what relevance holds against a word, [V]: at the usual one words have the
        order of class-based tf-idf."""
        counts = self.counts.toarray()
        of_words = counts.sum(axis=0)
        counts += SMOOTHING * (of_words / max(float(of_words.sum()), 1e-300) if of_words.any() else 1 / len(of_words))
        base = -np.log(np.maximum(class_idf(self.counts), 1e-300)) / (1.0 - RELEVANCE)
        return counts / counts.sum(axis=1, keepdims=True), base

    def write(self, out: Writer, *, without: str = "") -> None:
        super().write(out, without=without)
        out.value("reading", self.reading.about())

    @classmethod
    def read(cls, file: CheckedReader, **given: object) -> ClusterWords:
        reading = Reading.read(file.inside("reading"))
        return super().read(file, reading=reading, V=reading.n_features, **given)


@dataclass(frozen=True, kw_only=True)
class FittedMixture(Fitted):
    model: Mixture | Admixture
    labels: NDArray[np.int64] | None = None  # the cluster of each row of the fit, where they are kept
    texts: ClusterWords | None = None  # of clusters of vectors, where there were texts beside them

    @property
    def words_read(self) -> Reading:
        return self.reading if self.texts is None else self.texts.reading

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        return self.model.weights()

    @property
    def lower_bound(self) -> float | None:
        """The objective as scikit-learn has it: per row for "ml"."""
        if self.objective is None:
            return None
        return self.objective / self.n_seen if self.model.objective == "ml" else self.objective

    @property
    def has_words(self) -> bool:
        return self.texts is not None or self.model.likelihood.rows == "counts"

    @cached_property
    def view(self) -> TopicView:
        """Clusters of counts, or of vectors that have words, as topics of words."""
        likelihood, base = self.model.likelihood, None
        if self.texts is not None:
            topic_word, base = self.texts.weighed()
        elif self.has_words:
            topic_word = likelihood.mean()
        else:
            raise ValueError(NO_WORDS)
        return TopicView(
            topic_word, self.weights, 0.0, self.words, self.reproducibility,
            n_rows=self.n_seen, base=base, kept=self.places,
        )  # fmt: skip

    @cached_property
    def topic_names(self) -> list[str]:
        if self.has_words:
            return super().topic_names
        return [self.names.get(k, f"cluster {k}") for k in range(self.n_topics)]

    def assign(self, rows: Corpus | Rows, solver: Solver, L: int, *, keep_clusters: bool = True) -> Iterator[Assigned]:
        """The L best clusters of all rows in their order, a shard at a time; or their likelihood alone. Rows in groups
        have at most as many as the solver keeps, given the rows of their groups, and come at once."""
        rows = rows.vectors if isinstance(rows, Corpus) and rows.vectors is not None else rows
        if rows.groups is None:
            step, first = AssignStep(type(self.model.likelihood), L, keep_clusters), 0
            for _, assigned in solver.run(step, self.model, rows):
                refuse_too_far(assigned.likelihood, first)
                first += len(assigned.likelihood)
                yield assigned
            return
        data = rows.groups
        visits = self.assign_groups(data, solver, keep_clusters=keep_clusters, want_likelihood=not keep_clusters)
        every = Assigned(*(np.concatenate(field) for field in zip(*(a[:3] for a in visits))))
        if keep_clusters and every.r.shape[1] > L:
            best = np.argsort(-every.r, axis=1, kind="stable")[:, :L]
            cluster, r = (np.take_along_axis(field, best, axis=1) for field in every[:2])
            every = every._replace(cluster=cluster, r=r)
        if data.order is not None:
            order = np.argsort(data.order, kind="stable")
            every = Assigned(*(field[order] if len(field) else field for field in every))
        yield every

    def likelihood(self, rows: Corpus | Rows, solver: Solver) -> NDArray[np.float64]:
        """The log likelihood of each row."""
        return np.concatenate([a.likelihood for a in self.assign(rows, solver, self.n_topics, keep_clusters=False)])

    def density(self, corpus: Corpus, solver: Solver) -> NDArray[np.float64]:
        """[documents] the log likelihood of each; of a group, the mean of its rows."""
        if corpus.vector_groups is None:
            return self.likelihood(corpus, solver)
        groups = corpus.vector_groups.alone()
        return groups.lengths(self.likelihood(groups, solver)) / np.maximum(groups.lengths(), 1.0)

    def assign_groups(
        self,
        data: GroupedRows,
        solver: Solver,
        keep_clusters: bool = True,
        want_likelihood: bool = False,
        weight: np.ndarray | None = None,
    ) -> Iterator[AssignedGroups]:
        """Groups under the clusters of an admixture, a shard at a time."""
        step = AssignGroupsStep(type(self.model.likelihood), solver.n_active, keep_clusters, want_likelihood)
        for _, assigned in solver.run(step, self.model, data, weight=weight, on_device=False):
            refuse_too_far(assigned.likelihood, 0)
            yield assigned

    def probabilities(self, rows: Corpus | Rows, solver: Solver, L: int) -> tuple[sp.csr_array, NDArray[np.float64]]:
        """[rows, K] posterior probabilities of the L best clusters, and the log likelihood of each row."""
        shares, likelihood = [], []
        for a in self.assign(rows, solver, L):
            r = a.r.astype(np.float64)
            r /= r.sum(axis=1, keepdims=True)  # float32 shares sum to one only roughly
            indptr = np.arange(0, r.size + 1, r.shape[1])
            shares.append(sp.csr_array((r.ravel(), a.cluster.ravel(), indptr), shape=(len(r), self.n_topics)))
            likelihood.append(a.likelihood)
        return sp.vstack(shares, format="csr"), np.concatenate(likelihood)

    def score(self, corpus: Corpus, solver: Solver) -> float:
        return float(self.likelihood(corpus, solver).sum())

    def document_shares(self, corpus: Corpus, solver: Solver) -> DocumentShares:
        data, prior = corpus.vector_groups, self.model.prior
        if data is not None and prior is not None:  # their rows stand for tokens
            parts = [sp.csr_array(a.N) for a in self.assign_groups(data, solver, keep_clusters=False)]
            shares, n, alpha = sp.csr_array(sp.vstack(parts)), data.lengths(), prior.alpha
            shares.data += alpha[shares.indices]
            shares.data /= np.repeat(n + alpha.sum(), np.diff(shares.indptr))
            return DocumentShares(shares, n, example_weight(n))
        tokens = row_sums(corpus.indptr, corpus.value)
        shares, likelihood = self.probabilities(corpus, solver, solver.n_active)
        if corpus.vectors is None:
            return DocumentShares(shares, tokens, example_weight(tokens))
        # How good an example a vector is, whose probability is easily 1 in hundreds of dimensions: its density in its
        # cluster, over that at the mean of the cluster, and per dimension.
        main, weight = main_topics(shares)
        of_means, likelihood_of_means = self.probabilities(Rows(self.model.likelihood.mean()), solver, self.n_topics)
        at_mean = likelihood_of_means + np.log(np.maximum(of_means.diagonal(), 1e-300))
        density = likelihood + np.log(np.maximum(weight, 1e-300)) - at_mean[main]
        weight = np.clip(np.exp(np.minimum(density / self.reading.n_features, 0.0)), 1e-9, 1.0)
        return DocumentShares(shares, tokens, weight)


def refuse_too_far(likelihood: np.ndarray, first: int) -> None:
    """Rows so far from all clusters that none of them has a likelihood. `first` is the number of the first row."""
    far = np.flatnonzero(~np.isfinite(likelihood))
    if len(far):
        raise ValueError(
            f"row {first + int(far[0])} of X is so far from all clusters that its likelihood is not a number; "
            "float64 reaches further than float32"
        )


# Words of clusters, by class-based tf-idf (Grootendorst 2022, BERTopic). The documents of a cluster are counted as one.
#
#     W_cw = tf_cw log(1 + A / f_w)
#
# tf_cw is the share of w among the tokens of c, A the mean number of tokens per cluster, as a whole number, and f_w the
# tokens of the word in all clusters.


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
    if isinstance(labels, BaseEstimator):
        raise ValueError("labels must be one label per document; pass model.labels_, or model.predict(X)")
    given = np.asarray(labels)
    if given.ndim != 1 or len(given) != corpus.n_docs:
        raise ValueError(
            f"labels has the shape {given.shape}, and there are {corpus.n_docs} documents: pass one label each"
        )
    if given.dtype.kind == "f":
        if not np.all(np.isfinite(given)) or np.any(given != np.round(given)):
            raise ValueError("labels must be whole numbers or names; -1 stands for documents without a cluster")
        given = given.astype(np.int64)
    if given.dtype.kind == "O":
        if any(label is None for label in given.tolist()):
            raise ValueError("a label is missing: -1 stands for documents without a cluster")
        given = given.astype(str)
    clusters, of_row = np.unique(given, return_inverse=True)
    sizes = np.bincount(of_row)
    where = sp.csr_array((np.ones(corpus.n_docs), (of_row, np.arange(corpus.n_docs))))  # [clusters, documents]
    weights = class_tfidf(sp.csr_array(where @ corpus.to_scipy()))
    names = [str(v) for v in (range(corpus.n_words) if reading.words is None else reading.words)]
    is_outlier = np.array([not isinstance(label, str) and label == OUTLIERS for label in clusters.tolist()])
    order = np.lexsort((np.arange(len(clusters)), -sizes, is_outlier))
    rows = [i for i in order.tolist() if outliers or not is_outlier[i]]
    words, values = [], []
    for i in rows:
        own = slice(weights.indptr[i], weights.indptr[i + 1])
        best = np.lexsort((weights.indices[own], -weights.data[own]))[:n]
        words.append([names[v] for v in weights.indices[own][best]])
        values.append(weights.data[own][best].tolist())
    columns = {
        "cluster": clusters[rows].tolist(),
        "name": [", ".join(distinct(of_cluster, WORDS_PER_NAME)) or EMPTY for of_cluster in words],
        "size": sizes[rows].tolist(),
        "share": (sizes[rows] / max(corpus.n_docs, 1)).tolist(),
        "words": words,
        "weights": values,
    }
    return frame(columns, reading.frame)


def class_tfidf(counts: sp.csr_array) -> sp.csr_array:
    """[clusters, V] weights from counts of words in clusters. A word that no cluster has, has no weight."""
    counts = sp.csr_array(counts, dtype=np.float64)
    tokens, idf = np.asarray(counts.sum(axis=1)).ravel(), class_idf(counts)  # before entries: sums may sort them
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    data = counts.data / tokens[row] * idf[counts.indices]
    return sp.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def class_idf(counts: sp.csr_array) -> NDArray[np.float64]:
    """[V] log(1 + A / f_w) of each word; 0 where no cluster has it."""
    frequency = np.asarray(counts.sum(axis=0), np.float64).ravel()
    average = int(counts.sum() / counts.shape[0]) if counts.shape[0] else 0
    with np.errstate(over="ignore"):
        return np.where(frequency > 0, np.log1p(average / np.maximum(frequency, 1e-300)), 0.0)
