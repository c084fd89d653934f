"""Fitted topics: everything that outlives a fit of a topic model, as one value.

Tables, groups, the tree, names, edits, predictors, pages and files are functions of it. What is dense and large is made
when it is first asked for, and kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.fitted.labels import Labels
from topmix.fitted.names import EMPTY, RELEVANCE, WORDS_PER_NAME, relevant_words
from topmix.fitted.reproducibility import Reproducibility
from topmix.fitted.response import Response
from topmix.fitted.view import TopicView
from topmix.fitting.history import Record
from topmix.likelihoods.word_versions import WordVersions
from topmix.models.topics import TopicModel
from topmix.read import Reading

Edit = dict[str, Any]  # {"do": name, ...arguments}, as JSON holds it


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What topics and mixtures share."""

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

    @property
    @abstractmethod
    def n_topics(self) -> int: ...

    @property
    @abstractmethod
    def alpha(self) -> NDArray[np.float64]:
        """[K] what a document has of each topic before it is seen, in tokens."""

    @property
    @abstractmethod
    def view(self) -> TopicView: ...

    @property
    def words_read(self) -> Reading:
        """How words were read."""
        return self.reading

    @cached_property
    def topic_names(self) -> list[str]:
        """One per topic: the one that was given, or else its most distinctive words."""
        made = relevant_words(self.view, WORDS_PER_NAME, RELEVANCE)
        return [self.names.get(k, ", ".join(words) if words else EMPTY) for k, words in enumerate(made)]

    def __getstate__(self) -> dict[str, Any]:
        """What was made when somebody asked for it is made again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


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
class FittedTopics(Fitted):
    model: TopicModel | HardModel
    n_tokens_seen: float = 0.0
    bound: float | None = None  # exp(-objective per token), which scikit-learn has
    token_topics: NDArray[np.int32] | None = None  # where every token has one topic: after the last pass
    truncation: int | None = None  # of an HDP: the number of topics that was asked for
    n_samples: int = 0  # of a sampler, that were averaged
    chain_length: int = 0  # sweeps of a sampler, those before a warm start among them
    last_sizes: NDArray[np.float64] | None = None  # [K] tokens of the last batch of a stream
    labels: Labels | None = None  # that topics belong to
    versions: WordVersions | None = None  # of the words of topics
    response: Response | None = None  # of documents, given their topics

    @property
    def n_topics(self) -> int:
        return self.model.n_components

    @property
    def topics(self) -> TopicModel:
        """The model, where it is not one of hard assignments."""
        assert isinstance(self.model, TopicModel)
        return self.model

    @cached_property
    def components(self) -> NDArray[np.float64]:
        """[K, V] counts of words in topics, plus the prior."""
        if isinstance(self.model, HardModel):
            return np.asarray(np.ascontiguousarray(self.model.counts.T) + self.model.smoothing, np.float64)
        return self.model.words.pseudo_counts()

    @cached_property
    def topic_word(self) -> NDArray[np.float64]:
        """[K, V] probabilities of words in topics."""
        if self.token_topics is not None:  # of a sampler: phi of its samples, weighed by the sizes of their topics
            return np.asarray(self.components / self.components.sum(axis=1, keepdims=True))
        return self.topics.words.mean()

    @property
    def alpha(self) -> NDArray[np.float64]:
        return np.zeros(self.n_topics) if isinstance(self.model, HardModel) else self.model.prior.alpha

    @cached_property
    def words(self) -> list[str]:
        """Names of the words, or their numbers."""
        names = self.reading.words
        return [str(v) for v in (range(self.reading.n_features) if names is None else names)]

    @cached_property
    def view(self) -> TopicView:
        m = self.model
        sizes = np.maximum(m.counts.sum(axis=0) if isinstance(m, HardModel) else m.words.total.totals, 0.0)
        tokens = float(sizes.sum())
        share = sizes / tokens if tokens > 0 else np.full(len(sizes), 1.0 / len(sizes))
        return TopicView(self.topic_word, share, tokens, self.words, self.reproducibility, kept=self.places)
