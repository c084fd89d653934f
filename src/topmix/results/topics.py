"""Fitted topics: everything that outlives a fit of a topic model, as one value.

Tables, groups, the tree, names, edits, predictors, pages and files are functions of it. What is dense and large is made
when it is first asked for, and kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix import _core
from topmix.base.threads import use_threads
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import Shards, in_order, row_sums
from topmix.engines.engine import Engine
from topmix.io.reading import Reading
from topmix.learn.chains import HardTopics, place
from topmix.learn.history import Record
from topmix.models.topics import TopicModel
from topmix.models.word_versions import WordVersions
from topmix.results.labels import Labels, Response
from topmix.results.names import EMPTY, RELEVANCE, WORDS_PER_NAME, relevant_words
from topmix.results.view import Reproducibility, TopicView
from topmix.steps.documents import FoldIn

NO_TOPIC = -1
EXAMPLE_SMOOTHING = 20.0  # tokens
Edit = dict[str, Any]  # {"do": name, ...arguments}, as JSON holds it
AboutFit = dict[str, Any]  # what every fit says of itself: fields of `Fitted`


@dataclass(frozen=True)
class Solver:
    """What solves documents."""

    engine: Engine
    threads: int
    n_active: int = 1  # clusters of a row that are kept, where there are clusters

    def run(
        self,
        step: Any,
        model: Any,
        data: Corpus | Rows,
        *,
        weight: NDArray[np.float64] | None = None,
        on_device: bool = True,
    ) -> Iterator[tuple[slice | np.ndarray, Any]]:
        """The rows of each shard, and what the step makes of them under the model, by the engine's workers. The model
        goes to their device, unless it is said not to."""
        shards = Shards(data, in_order(data), weight, keep=not self.engine.maps_files)
        workers = self.engine.open(shards, step, self.threads)
        try:
            placed = workers.place(model) if on_device else model
            results = workers.run(placed.tables, range(len(shards)))
            for _ in range(len(shards)):
                with use_threads(self.threads):
                    b, found, _ = next(results)
                yield shards.rows[b], found
            del placed, results  # the model where the workers read it
        finally:
            workers.close()


class DocumentShares(NamedTuple):
    """Documents under topics or clusters."""

    shares: sp.csr_array  # [documents, K] of the topics that they use
    tokens: NDArray[np.float64]  # [documents] that the model knows
    weight: NDArray[np.float64]  # [documents] from 0 to 1: how good an example of its topics a document is; 0: of none
    names: Sequence[str] | None = None  # of the documents

    def rows(self) -> NDArray[np.int64]:
        """The row of each entry of the shares."""
        return np.repeat(np.arange(len(self.tokens)), np.diff(self.shares.indptr))


def example_weight(length: NDArray[np.float64]) -> NDArray[np.float64]:
    """How good an example a document of this many tokens is: tokens / (tokens + 20). A long document about a topic
    comes before a short one that happens to use its words."""
    return np.asarray(length / (length + EXAMPLE_SMOOTHING))


def main_topics(shares: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The topic with the largest entry of each row, the first of several, and that entry."""
    n, some = shares.shape[0], np.flatnonzero(np.diff(shares.indptr))
    main, weight = np.full(n, NO_TOPIC, dtype=np.int64), np.full(n, np.nan)
    if not len(some):
        return main, weight
    starts = shares.indptr[some]
    weight[some] = np.maximum.reduceat(shares.data, starts)
    is_best = shares.data == np.repeat(weight[some], np.diff(shares.indptr)[some])
    main[some] = np.minimum.reduceat(np.where(is_best, shares.indices, shares.shape[1]), starts)
    return main, weight


def stacked(parts: Iterable[Any]) -> Any:
    """Rows below each other. A dense result grows in place, so that it is not in memory twice."""
    parts = iter(parts)
    whole = next(parts)
    if sp.issparse(whole):
        rest = list(parts)
        return sp.vstack([whole, *rest], format="csr") if rest else whole
    for part in parts:
        n = len(whole)
        if not whole.flags.owndata:
            whole = whole.copy()
        whole.resize((n + len(part), *whole.shape[1:]), refcheck=False)
        whole[n:] = part
    return whole


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What topics and mixtures share."""

    model: Any  # of a class that each says
    reading: Reading
    history: tuple[Record, ...] = ()
    converged: bool | None = None  # None where nobody asked
    n_iter: int = 0  # passes
    objective: float | None = None  # at the end; None where the fit did not come to one
    n_updates: int = 0  # of the model
    n_seen: float = 0.0  # rows, where a stream counts them
    names: Mapping[int, str] = field(default_factory=dict)  # of topics, those that were given
    edits: tuple[Edit, ...] = ()
    places: NDArray[np.float64] | None = None  # [K, 2] on the map, once an edit keeps them; NaN where a topic is new
    reproducibility: Reproducibility | None = None  # of a consensus
    asked: Mapping[str, object] = field(default_factory=dict)  # what parameters said of the model, when it was learned

    @property
    def n_topics(self) -> int:
        return int(self.model.n_components)

    @property
    def alpha(self) -> NDArray[np.float64]:
        """[K] what a document has of each topic before it is seen, in tokens."""
        return np.zeros(self.n_topics)

    @property
    @abstractmethod
    def view(self) -> TopicView: ...

    @abstractmethod
    def score(self, corpus: Corpus, solver: Solver) -> float:
        """A lower bound on the log likelihood of documents."""

    @abstractmethod
    def document_shares(self, corpus: Corpus, solver: Solver) -> DocumentShares:
        """The topics that documents use."""

    def shares_of_parts(self, parts: Iterable[Corpus], solver: Solver) -> DocumentShares:
        """The same of documents that come in parts."""
        visits, names = [], list[str]()
        for corpus in parts:
            visits.append(self.document_shares(corpus, solver))
            names += corpus.names or ()
        shares, tokens, weight, _ = zip(*visits)
        whole = sp.csr_array(sp.vstack(shares, format="csr"))
        return DocumentShares(whole, np.concatenate(tokens), np.concatenate(weight), names or None)

    @property
    def has_words(self) -> bool:
        return True

    @property
    def words_read(self) -> Reading:
        """How words were read."""
        return self.reading

    @cached_property
    def words(self) -> list[str]:
        """Names of the words, or their numbers."""
        names = self.words_read.words
        return [str(v) for v in (range(self.words_read.n_features) if names is None else names)]

    @cached_property
    def topic_names(self) -> list[str]:
        """One per topic: the one that was given, or else its most distinctive words."""
        made = relevant_words(self.view, WORDS_PER_NAME, RELEVANCE)
        return [self.names.get(k, ", ".join(words) if words else EMPTY) for k, words in enumerate(made)]

    def __getstate__(self) -> dict[str, object]:
        """What was made when somebody asked for it is made again."""
        return {f.name: vars(self)[f.name] for f in fields(self)}


@dataclass(frozen=True, kw_only=True)
class FittedTopics(Fitted):
    model: TopicModel | HardModel
    n_tokens_seen: float = 0.0
    bound: float | None = None  # exp(-objective per token), which scikit-learn has
    token_topics: NDArray[np.int32] | None = None  # where every token has one topic: after the last pass
    n_samples: int = 0  # of a sampler, that were averaged
    chain_length: int = 0  # sweeps of a sampler, those before a warm start among them
    last_sizes: NDArray[np.float64] | None = None  # [K] tokens of the last batch of a stream
    labels: Labels | None = None  # that topics belong to
    versions: WordVersions | None = None  # of the words of topics
    response: Response | None = None  # of documents, given their topics

    @property
    def topics(self) -> TopicModel:
        """The model, where it is not one of hard assignments."""
        assert isinstance(self.model, TopicModel)
        return self.model

    @cached_property
    def components(self) -> NDArray[np.float64]:
        """[K, V] counts of words in topics, plus the prior."""
        return self.topics.words.pseudo_counts()

    @cached_property
    def topic_word(self) -> NDArray[np.float64]:
        """[K, V] probabilities of words in topics."""
        if self.token_topics is not None:  # of a sampler: phi of its samples, weighed by the sizes of their topics
            return np.asarray(self.components / self.components.sum(axis=1, keepdims=True))
        return self.topics.words.mean()

    @property
    def alpha(self) -> NDArray[np.float64]:
        return super().alpha if isinstance(self.model, HardModel) else self.model.prior.alpha

    @cached_property
    def view(self) -> TopicView:
        model = self.model
        sizes = model.counts.sum(axis=0) if isinstance(model, HardModel) else model.words.total.totals
        sizes = np.maximum(sizes, 0.0)
        tokens = float(sizes.sum())
        share = sizes / tokens if tokens > 0 else np.full(len(sizes), 1.0 / len(sizes))
        return TopicView(self.topic_word, share, tokens, self.words, self.reproducibility, kept=self.places)

    def proportions(self, corpus: Corpus, solver: Solver, *, normalize: bool = True, sparse: bool = False) -> Any:
        """[documents, K] topic proportions, or tokens plus prior. Sparse rows have the topics that a document uses, and
        what the prior gives to the others is left out."""
        if self.versions is not None and corpus.version is not None:
            blocks, rows = [], []
            for of_version, documents, here in self._by_version(self.versions, corpus):
                blocks.append(of_version.proportions(documents, solver, normalize=normalize, sparse=sparse))
                rows.append(here)
            return stacked(blocks)[np.argsort(np.concatenate(rows), kind="stable")]
        K, prior = self.n_topics, self.topics.prior
        parts = []
        for part, folded in solver.run(FoldIn(), self.topics, corpus):
            documents, docs = corpus[part], folded.docs
            n = documents.n_docs
            counts = sp.csr_array((docs.count.astype(np.float64), docs.topic, docs.indptr), shape=(n, K))
            alpha = prior.of(documents.design).of_documents()  # [1 or documents, K]
            if sparse:
                row = np.repeat(np.arange(n), np.diff(docs.indptr))
                counts.data += np.broadcast_to(alpha, (n, K))[row, docs.topic]
                if normalize:
                    scale = 1.0 / (row_sums(documents.indptr, documents.value) + alpha.sum(axis=1))
                    counts.data *= scale[row]
                parts.append(counts)
            else:
                theta = counts.toarray() + alpha
                parts.append(theta / theta.sum(axis=1, keepdims=True) if normalize else theta)
        return stacked(parts)

    def score(self, corpus: Corpus, solver: Solver) -> float:
        if self.versions is not None and corpus.version is not None:
            versions = self._by_version(self.versions, corpus)
            return sum(of_version.score(documents, solver) for of_version, documents, _ in versions)
        return sum(folded.bound for _, folded in solver.run(FoldIn(want_bound=True), self.topics, corpus))

    def document_shares(self, corpus: Corpus, solver: Solver) -> DocumentShares:
        tokens = row_sums(corpus.indptr, corpus.value)
        shares = sp.csr_array(self.proportions(corpus, solver, sparse=True))
        return DocumentShares(shares, tokens, example_weight(tokens))

    def _by_version(self, versions: WordVersions, corpus: Corpus) -> Iterator[tuple[FittedTopics, Corpus, np.ndarray]]:
        """Documents of each version with its topics, and their rows. Those of no version that is known have what all
        versions share."""
        assert corpus.version is not None
        for t in np.unique(corpus.version) if corpus.n_docs else [0]:
            rows = np.flatnonzero(corpus.version == t)
            words = versions.words(None if t < 0 else int(t))
            yield replace(self, model=replace(self.topics, words=words), versions=None), corpus[rows], rows


@dataclass(frozen=True)
class HardModel:
    """Topics of tokens that have one topic each, and what a document pays for a topic."""

    counts: NDArray[np.int32]  # [V, K]
    penalty: float
    smoothing: float  # added to every count when topics meet documents that they were not fitted to

    @property
    def n_components(self) -> int:
        return self.counts.shape[1]


@dataclass(frozen=True, kw_only=True)
class FittedHardTopics(FittedTopics):
    """Of tokens that have one topic each."""

    model: HardModel

    @cached_property
    def components(self) -> NDArray[np.float64]:
        return np.asarray(np.ascontiguousarray(self.model.counts.T) + self.model.smoothing, np.float64)

    def assign(self, corpus: Corpus, threads: int) -> tuple[HardTopics, float]:
        """Tokens of new documents by the algorithm Word, and what they cost."""
        return place(corpus, self.model.counts, self.model.penalty, self.model.smoothing, threads)

    def proportions(self, corpus: Corpus, solver: Solver, *, normalize: bool = True, sparse: bool = False) -> Any:
        hard, _ = self.assign(corpus, solver.threads)
        K = hard.n_components
        indptr, topic, count = _core.document_topics(hard.tokens, hard.z, K, hard.threads)
        counts = sp.csr_array((count.astype(np.float64), topic.astype(np.int32), indptr), shape=(hard.n_docs, K))
        sums = np.asarray(counts.sum(axis=1)).ravel()
        if normalize:
            counts.data /= np.repeat(sums, np.diff(indptr))
        if sparse:
            return counts
        dense = counts.toarray()
        if normalize:
            dense[sums == 0] = 1.0 / K
        return dense

    def score(self, corpus: Corpus, solver: Solver) -> float:
        """Minus the objective."""
        return -self.assign(corpus, solver.threads)[1]
