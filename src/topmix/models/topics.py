"""Topic models: a prior on documents' proportions times words of topics.  docs/math.md, section 3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from topmix.allocations.covariate_prior import CovariatePrior, Population
from topmix.allocations.document_prior import DocumentPrior
from topmix.allocations.label_prior import LabelPrior
from topmix.allocations.own_priors import OwnPriors
from topmix.allocations.stick_prior import StickPrior
from topmix.data.shard import Shard
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.likelihoods.topic_words import TopicWords, WordTables
from topmix.models.document_options import DocumentOptions
from topmix.stats import TopicStats, WordTotal

Prior = (
    DocumentPrior | StickPrior | CovariatePrior | LabelPrior
)  # how documents share the topics; kernels see its alpha
LocalPrior = DocumentPrior | StickPrior | OwnPriors  # the same, of the documents of a shard


class TopicTables(NamedTuple):
    """Everything that a local step needs besides the shard: picklable, sized by the shard's own words."""

    words: WordTables
    prior: Prior
    posterior: str  # "variational" | "collapsed"
    document_options: DocumentOptions
    partner: np.ndarray | None  # [K] int32: the topic that each may be merged with, or -1

    def prior_of(self, shard: Shard) -> LocalPrior:
        """The prior of these documents, or their own."""
        return self.prior.of(shard.design)


@dataclass(frozen=True)
class TopicModel:
    prior: Prior
    words: TopicWords
    document_options: DocumentOptions = DocumentOptions()  # noqa: RUF009  (immutable)
    partner: np.ndarray | None = None  # pairs of topics whose merger the next pass is to weigh

    @property
    def n_components(self) -> int:
        return self.words.shape[1]

    def tables(self, cols: np.ndarray) -> TopicTables:
        return TopicTables(
            self.words.tables(cols), self.prior, self.words.posterior, self.document_options, self.partner
        )

    def no_stats(self) -> TopicStats:
        """The empty total that shards are added to."""
        return self.prior.no_stats(self.words.total.empty())

    def past_stats(self) -> TopicStats:
        """What the model has of past statistics, for a stream to continue from. Borrows the counts of words."""
        return self.prior.past_stats(self.words.total)

    def pseudo_counts(self) -> TopicStats:
        """The counts of the model as statistics to start from, for a learner to start from."""
        return self.prior.no_stats(self.words.total.pseudo or self.words.total)

    def update(self, total: TopicStats) -> TopicModel:
        return replace(self, prior=self.prior.update(total), words=self.words.update(total.S))

    @property
    def learns_priors(self) -> bool:
        return self.prior.learned or self.words.learned

    def relearn(
        self, total: TopicStats, lengths: np.ndarray, population: Population | None = None
    ) -> TopicModel | None:
        """The model with its priors moved towards the statistics, or None where they are fixed. `population` is of
        documents with covariates."""
        if not self.learns_priors:
            return None
        prior = self.prior
        if isinstance(prior, CovariatePrior):
            prior = prior if population is None else prior.relearn(total, population)
        elif prior.learned:
            prior = prior.relearn(total, lengths)
        return replace(self, prior=prior, words=self.words.relearn() if self.words.learned else self.words)

    def bound(self, total: TopicStats) -> dict[str, float]:
        """The objective, term by term, with topics at their optimum for these statistics."""
        return {"data": self.words.bound(), "entropy": total.H, "allocation": self.prior.bound(total)}

    def on_host(self) -> TopicModel:
        """The same model with its counts in this process's memory, wherever they were learned."""
        total = self.words.total.on_host()
        return self if total is self.words.total else replace(self, words=self.words.update(total))

    def weights(self) -> np.ndarray:
        """[K] the share of all tokens that each topic has."""
        sizes = np.maximum(self.words.total.totals, 0.0)
        return sizes / max(float(sizes.sum()), 1e-300)

    def write(self, out: Writer, *, with_total: bool = True) -> None:
        self.prior.write(out.at("prior"))
        self.words.write(out.at("words"), with_total=with_total)

    def read(self, file: CheckedReader, K: int, total: WordTotal | None = None) -> TopicModel:
        """A model of this kind with K topics, from a file. What a file does not say is as in this one."""
        V = self.words.shape[0]
        bounds_evidence = self.words.bounds_evidence
        words = TopicWords.read(file.at("words"), V, K, total=total, bounds_evidence=bounds_evidence)
        words = replace(words, smoothing=self.words.smoothing)
        prior: Prior
        if isinstance(self.prior, StickPrior):
            prior = StickPrior.read(file.at("prior"), K)
        elif isinstance(self.prior, CovariatePrior | LabelPrior):
            prior = self.prior.read(file.at("prior"), K, words.posterior)
        else:
            prior = DocumentPrior.read(file.at("prior"), K, words.posterior)
        return replace(self, prior=prior, words=words)
