"""The state of a fit as moves see it: one model, the topics of all documents, and the statistics of every shard."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.stick_prior import StickPrior, Sticks
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordStats


@dataclass(frozen=True)
class Documents:
    model: TopicModel
    total: TopicStats
    memo: list[TopicStats]  # of each shard
    docs: list[DocTopics]
    lengths: list[np.ndarray]  # [documents] tokens

    @property
    def prior(self) -> StickPrior:
        assert isinstance(self.model.prior, StickPrior)
        return self.model.prior

    def bound(self) -> float:
        """Of the total as it is when first asked: the learner will change it later."""
        return self._bound

    @cached_property
    def _bound(self) -> float:
        return sum(self.model.bound(self.total).values())

    def counts(self) -> sp.csc_array:
        """[D, K] N_dk."""
        K = self.model.n_components
        rows = [sp.csr_array((d.count, d.topic, d.indptr), shape=(len(d.indptr) - 1, K)) for d in self.docs]
        return sp.csc_array(sp.vstack(rows), dtype=np.float64)

    def under(self, prior: StickPrior) -> Documents:
        """The same responsibilities, with topics and every q(pi_d) at their best under this prior."""
        memo = [prior.summarise(m.S, d, n, m.H) for m, d, n in zip(self.memo, self.docs, self.lengths)]
        total = replace(self.model, prior=prior).no_stats()
        for stats in memo:
            total += stats
        model = replace(self.model, prior=prior, words=self.model.words.update(total.S))
        return replace(self, model=model, total=total, memo=memo)

    def settled(self) -> Documents:
        """Sticks and proportions in turn, until they stand still. Tokens stay where they are."""
        here, now = self, self.bound()
        for _ in range(10):
            here, last = here.under(here.prior.update(here.total)), now
            now = here.bound()
            if now - last < 1e-7 * abs(now):
                break
        return here

    def renamed(self, names: np.ndarray, lost: float = 0.0) -> Documents:
        """Topic k becomes names[k]; topics with one name are merged, which takes `lost` from the entropy.

        Of which shard it is taken makes no difference: the bound has the sum.
        """
        K = int(names.max()) + 1
        total = sum(m.H for m in self.memo)
        share = [m.H / total if total > 0 else 1.0 / len(self.memo) for m in self.memo]
        memo = [replace(m, S=_renamed_words(m.S, names, K), H=m.H - lost * part) for m, part in zip(self.memo, share)]
        docs = [DocTopics(*_renamed_rows(d.indptr, d.topic, d.count, names, K)) for d in self.docs]
        words = self.model.words
        counts = replace(words.total, held=np.zeros((words.shape[0], K)), totals=np.zeros(K), factor=1.0)
        changed = replace(self, model=replace(self.model, words=words.update(counts)), memo=memo, docs=docs)
        return changed.under(renamed_prior(self.prior, names, self.total.D))


def renamed_prior(prior: StickPrior, names: np.ndarray, D: float) -> StickPrior:
    shares = np.bincount(names, prior.sticks.shares()[:-1])
    return replace(prior, sticks=Sticks.of_shares(shares, D, prior.stick_prior), D=0.0, T=np.zeros(0))


def _renamed_words(S: WordStats, names: np.ndarray, K: int) -> WordStats:
    return WordStats(S.cols, *_renamed_rows(S.indptr, S.topic, S.value, names, K), np.bincount(names, S.totals, K))


def _renamed_rows(
    indptr: np.ndarray, topic: np.ndarray, value: np.ndarray, names: np.ndarray, K: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = sp.csr_array((value, names[topic], indptr), shape=(len(indptr) - 1, K), copy=True)  # next line is in place
    rows.sum_duplicates()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data
