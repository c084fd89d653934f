"""A fit of topics as the search for their number sees and changes it between two passes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from topmix.learn.search import SearchSnapshot
from topmix.models.document_prior import DocTopics
from topmix.models.stick_prior import StickPrior
from topmix.models.topic_words import COLLAPSED_WORD_PRIOR_TOTAL, WORD_PRIOR, TopicWords, collapsed_word_prior
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordStats
from topmix.steps.documents import Visit

LEAST_MASS = 1e-6  # tokens: with fewer a topic has left a variational document, and would only cost time
FINISH_WORD_PRIOR = 0.2  # eta of collapsed passes after a search; never more than COLLAPSED_WORD_PRIOR_TOTAL over K


@dataclass(frozen=True)
class Posteriors:
    """How topics and documents are solved in the parts of a fit: under which posterior, prior of words and options."""

    final: str  # the posterior that topics are to have in the end
    shared: DocumentOptions  # of all parts
    least_mass: float | None  # of a topic of a document; None: the posterior decides
    restarts: int
    chooses_prior: bool  # whether the prior on words is the default one of each part; else it stays as it is
    smoothing: float | None
    searches: bool

    def under(self, model: TopicModel, posterior: str, *, is_searching: bool = False) -> TopicModel:
        """Its topics, with documents solved under this posterior, and the default prior on words that belongs to it.
        The search has one for all K, so that their bounds can be compared. Topics that are there to predict have a
        larger one."""
        words, K, eta = replace(model.words, posterior=posterior), model.n_components, WORD_PRIOR
        if posterior == "collapsed" and not is_searching:
            firm = min(FINISH_WORD_PRIOR, COLLAPSED_WORD_PRIOR_TOTAL / K)
            eta = firm if self.searches else collapsed_word_prior(K)
        if self.chooses_prior:
            words = replace(words, eta=np.full((1, 1), eta))
        words = replace(words, smoothing=None) if is_searching else self.smoothed(words)
        options = self.options(posterior, is_searching=is_searching)
        return replace(model, words=words, document_options=options, partner=None)

    def options(self, posterior: str, *, is_searching: bool = False) -> DocumentOptions:
        """How documents are solved. The search leaves restarts to its last passes: earlier they end lower."""
        is_collapsed = posterior == "collapsed"
        eps = LEAST_MASS if self.least_mass is None and not is_collapsed else self.shared.eps
        restarts = 0 if is_collapsed or is_searching else self.restarts
        return replace(self.shared, eps=eps, restarts=restarts, own_discount=0.0)

    def smoothed(self, words: TopicWords) -> TopicWords:
        smoothing = self.smoothing
        if smoothing is None and self.chooses_prior and words.posterior == "collapsed":
            smoothing = min(collapsed_word_prior(words.shape[1]), float(words.eta[0, 0]))
        return replace(words, smoothing=smoothing)


@dataclass(frozen=True)
class Documents(SearchSnapshot):
    """One model, the topics of all documents, and the statistics of every shard."""

    model: TopicModel
    lengths: list[np.ndarray]  # [documents] tokens of each shard

    @property
    def prior(self) -> StickPrior:
        assert isinstance(self.model.prior, StickPrior)
        return self.model.prior

    @property
    def docs(self) -> list[DocTopics]:
        return [visit.docs for visit in self.memory.values()]

    def counts(self) -> sp.csc_array:
        """[D, K] N_dk."""
        K = self.model.n_components
        return sp.csc_array(sp.vstack([by_topic(d, K) for d in self.docs]))

    def moved(self, M: np.ndarray | sp.csr_array) -> dict[int, Visit]:
        """What workers remember after what documents have of topic k has gone where M [K, K'] says."""
        return {b: replace(visit, docs=moved(visit.docs, M)) for b, visit in self.memory.items()}

    def under(self, prior: StickPrior) -> Documents:
        """The same responsibilities, with topics and every q(pi_d) at their best under this prior."""
        parts = zip(self.memo.items(), self.docs, self.lengths)
        memo = {b: prior.summarise(m.S, d, n, m.H) for (b, m), d, n in parts}
        total = replace(self.model, prior=prior).no_stats()
        for stats in memo.values():
            total += stats
        model = replace(self.model, prior=prior, words=self.model.words.update(total.S))
        return replace(self, model=model, total=total, memo=memo)

    def settled(self) -> Documents:
        """Sticks and proportions in turn, until they stand still. Tokens stay where they are."""
        here, now = self, self.worth
        for _ in range(10):
            here, last = here.under(here.prior.update(here.total)), now
            now = here.worth
            if now - last < 1e-7 * abs(now):
                break
        return here

    def renamed(self, names: np.ndarray, lost: float = 0.0) -> Documents:
        """Topic k becomes names[k]; topics with one name are merged, which takes `lost` from the entropy.

        Of which shard it is taken makes no difference: the bound has the sum.
        """
        K, words = int(names.max()) + 1, self.model.words
        total, memo = sum(m.H for m in self.memo.values()), {}
        for b, m in self.memo.items():
            S, part = m.S, m.H / total if total > 0 else 1.0 / len(self.memo)
            rows = sp.csr_array((S.value, names[S.topic], S.indptr), (len(S.cols), K), copy=True)
            rows.sum_duplicates()  # in place
            given = rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data
            memo[b] = replace(m, S=WordStats(S.cols, *given, np.bincount(names, S.totals, K)), H=m.H - lost * part)
        memory = self.moved(np.eye(K)[names])
        counts = replace(words.total, held=np.zeros((words.shape[0], K)), totals=np.zeros(K), factor=1.0)
        changed = replace(self, model=replace(self.model, words=words.update(counts)), memo=memo, memory=memory)
        return changed.under(renamed_prior(self.prior, names, self.total.D))


def by_topic(docs: DocTopics, K: int) -> sp.csr_array:
    """[documents, K] N_dk."""
    shape = (len(docs.indptr) - 1, K)
    return sp.csr_array((docs.count.astype(np.float64), docs.topic.astype(np.int32), docs.indptr), shape=shape)


def moved(docs: DocTopics, M: np.ndarray | sp.csr_array) -> DocTopics:
    """The same documents, or groups, after what they have of topic k has gone where M [K, K'] says."""
    rows = sp.csr_array(by_topic(docs, M.shape[0]) @ sp.csr_array(M))
    rows.sort_indices()
    return DocTopics(rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data.astype(np.float32))


def renamed_prior(prior: StickPrior, names: np.ndarray, D: float) -> StickPrior:
    return prior.with_shares(np.bincount(names, prior.sticks.shares()[:-1]), D)
