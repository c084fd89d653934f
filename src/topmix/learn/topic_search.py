"""The search for the number of topics, from the first pass of a memoized fit to its last.

It has three phases. *Size*: short fits of several sizes are compared, and the best goes on. *Search*: pairs of topics
are judged after every pass and merged. After a pass that merged nothing and gained little, something larger is tried:
documents start from their words again, new topics join, every topic is split, or the smallest are deleted. *Polish*:
with the number settled, a few last passes make topics that predict better.

Topics are searched under the variational posterior, whose bound judges the moves. Where all topics start again, a few
collapsed passes come first, because they lead to a higher bound; then documents start from their words a few times:
while topics are young they leave documents too soon, and they do not come back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
import scipy.sparse as sp

from topmix import _core
from topmix.base.checks import whole_number, whole_number_or_none
from topmix.base.component import Component
from topmix.base.fields import ModelFileError
from topmix.learn.fit import Fit
from topmix.learn.learners import PassResult
from topmix.learn.search import TRIAL, Listed, Move, Search, Trial, are_numbers
from topmix.learn.topic_moves import Documents, Pair, Posteriors, Rows, candidates, decide, splits
from topmix.models.stored import Flag, Stored, choice, integer
from topmix.models.topics import TopicModel, blended, restarted
from topmix.models.words import WordTotal
from topmix.steps import Info


@dataclass(frozen=True, repr=False)
class TopicSearch(Component):
    """How HDP finds its number of topics.

    Short fits of several sizes say with how many topics to begin. Then topics are merged, added, split and deleted
    while the bound of the whole corpus rises. A few passes with the number settled come last.

    Parameters
    ----------
    warm_up : int
        Collapsed passes with which new topics begin, where the final inference is collapsed: they lead to a higher
        bound than variational ones. Never more than a quarter of max_iter.
    polish : int
        Passes at the end, with the number of topics settled; one more where the search is over before max_iter. Never
        more than a quarter of max_iter.
    max_topics : int or None
        The largest number of topics to try; where n_components is larger, this many come first. None is half the
        number of documents.

    Examples
    --------
    >>> from topmix.search import TopicSearch
    >>> TopicSearch(max_topics=200)
    TopicSearch(max_topics=200)
    """

    warm_up: int = 4
    polish: int = 9
    max_topics: int | None = None

    def check(self) -> None:
        whole_number(self.warm_up, "warm_up", least=0)
        whole_number(self.polish, "polish", least=0)
        whole_number_or_none(self.max_topics, "max_topics")


SEARCHES = {"auto": TopicSearch}

# With how many topics to start: the bounds of short fits say so. The bound of fits that are equally old has one peak
# over the number of topics, and the peak stays at the same number until the fits are over. Sizes are powers of the root
# of two: every other one is tried from the middle outwards, until the best lies between two that are worse; then those
# beside the best.

FIRST = 12  # of the sizes, 64 topics
MOST_SIZES = 64


def size(i: int) -> int:
    return round(2 ** (i / 2))


def largest_size(most: int) -> int:
    """Up to `most`. Later moves do not ask for more either: they would approach `most` pass by pass."""
    return max(size(i) for i in range(2 * most.bit_length() + 1) if size(i) <= most)


def next_size(bounds: dict[int, float], most: int) -> int | None:
    """The next size to try after those whose bounds are known; None when the best one is."""
    first = next((i for i in range(FIRST, 0, -1) if size(i) <= most), 0)
    known = {size(i) for i in bounds}
    for step, tried in (2, [i for i in bounds if i % 2 == first % 2]), (1, list(bounds)):
        best = max(tried, key=bounds.__getitem__, default=None)
        if best is None:
            return first
        for i in (best - step, best + step):
            if i >= 0 and size(i) <= most and size(i) not in known:
                return i
    return None


# What the search has tried so far, and what it should try next.

ORDER = ("refresh", "birth", "split", "delete")
DELETED = (0.2, 0.05, 0.02)  # topics that are tried without, over K, the smallest; the next share when the last failed
AGAIN = {"refresh": ("birth", "split", "delete"), "delete": ("birth", "split")}  # after a gain; after others, all
FAILURES = {"refresh": 1, "birth": 1, "split": 1, "delete": len(DELETED)}  # after so many a kind of move is given up


_FAILURES = Listed(dict, lambda n: list(n) == list(ORDER) and all(n[k] in range(FAILURES[k] + 1) for k in ORDER))
_PAIRS = Listed(set, lambda found: all(type(j) is type(k) is int and 0 <= j < k for j, k in found))
_BOUNDS = Listed(dict, lambda found: all(i in range(MOST_SIZES) for i in found) and are_numbers(found.values()))


@dataclass
class TriedTopics(Stored):
    """Failures per kind of move since the last gain. The kind that gained last is tried again first."""

    failures: Annotated[dict[str, int], _FAILURES] = field(default_factory=lambda: dict.fromkeys(ORDER, 0))
    favourite: Annotated[str, choice(*ORDER, "renew")] = ORDER[0]
    refused_deletion: Annotated[int, integer(0, _core.MAX_TOPICS)] = 0  # topics, the last time that it was tried
    refused: Annotated[set[Pair], _PAIRS] = field(default_factory=set)  # that are not to be merged
    chooses_size: Flag = False
    bounds: Annotated[dict[int, float], _BOUNDS] = field(default_factory=dict)  # of the sizes that were tried

    def following(self) -> str | None:
        """The kind of move to try next; None when each was given up."""
        order = sorted(ORDER, key=lambda kind: kind != self.favourite)
        return next((kind for kind in order if self.failures[kind] < FAILURES[kind]), None)

    def gained(self, kind: str, by_much: bool) -> None:
        """A move was kept. Where it gained more than a quiet pass does, others are worth trying again."""
        if by_much:
            self.failures |= dict.fromkeys(AGAIN.get(kind, ORDER), 0)
            self.failures["refresh"] += kind == "refresh"
            self.favourite = kind
        elif kind in self.failures and kind != "delete":  # another of the same kind is not worth it
            self.failures[kind] += 1

    def failed(self, kind: str, n_topics: int) -> None:
        """A move was undone."""
        self.refused_deletion = n_topics if kind == "delete" else 0
        if kind in self.failures:
            self.failures[kind] += 1

    def deletion(self, K: int) -> int | None:
        """How many topics to try without; None when all shares were tried."""
        while (n := max(1, round(DELETED[self.failures["delete"]] * K))) == self.refused_deletion:
            self.failures["delete"] += 1
            if self.failures["delete"] == FAILURES["delete"]:
                return None
        return n if n < K else None


# Other topics for the same documents. A split or a deletion moves tokens by a matrix M [K, K'], what part of a topic's
# tokens goes to which of the new topics; so a document that had no token of these topics is unchanged.

RECEIVERS = 4  # topics that a deleted topic's tokens start in


def split(here: Documents, topics: np.ndarray, rows: Rows, rng: np.random.Generator) -> Move | None:
    """Each of these topics in two, where it holds two kinds of words; `rows` gives the words of documents."""
    words = here.model.words
    table = words.tables(np.arange(words.shape[0], dtype=np.int32)).table
    found = splits(rows, here.counts(), table.__getitem__, here.prior.alpha, topics.tolist(), rng)
    if not found:
        return None
    K, n = here.model.n_components, len(found)
    counts, old = here.total.S.counts(), here.prior.sticks.shares()[:-1]
    born = np.stack([counts[:, s.topic] * s.share for s in found], axis=1)
    parent, weight = np.array([s.topic for s in found]), np.array([s.weight for s in found])
    counts[:, parent] -= born
    shares = np.concatenate([old, old[parent] * weight])
    shares[parent] -= shares[K:]
    stays = np.ones(K)
    stays[parent] -= weight
    goes = sp.csr_array((weight, (parent, np.arange(n))), shape=(K, n))
    M = sp.hstack([sp.diags_array(stays), goes]).tocsr()
    return started(here, f"split {n}", np.hstack([counts, born]), shares, M)


def deletion(here: Documents, gone: np.ndarray) -> Move:
    """Without these topics. Their tokens start in the topics that have most of their words."""
    K, counts = here.model.n_components, np.maximum(here.total.S.counts(), 0.0)
    kept = np.delete(np.arange(K), gone)
    shares = here.prior.sticks.shares()[kept]
    shares *= (1.0 - here.prior.sticks.shares()[-1]) / shares.sum()
    M = np.eye(K)[:, kept]
    rest = counts[:, kept] / np.maximum(counts[:, kept].sum(axis=1, keepdims=True), 1e-300)
    for k in gone:
        part = counts[:, k] @ rest
        receivers = np.argsort(-part, kind="stable")[:RECEIVERS]
        M[k, receivers] = (part[receivers] + 1e-300) / (part[receivers] + 1e-300).sum()
    return started(here, f"delete {len(gone)}", counts[:, kept], shares, M)


def started(
    here: Documents, what: str, counts: np.ndarray, shares: np.ndarray, M: np.ndarray | sp.csr_array | None = None
) -> Move:
    """Documents start with the tokens that M gives them, or from their words."""
    total, prior = WordTotal.of(np.ascontiguousarray(np.maximum(counts, 0.0))), here.prior
    model = replace(here.model, prior=prior.with_shares(shares, here.total.D), words=here.model.words.update(total))
    return Move(what, model, model.prior.no_stats(total), None if M is None else here.moved(M))


# The schedule.

FRESH = 6  # passes of topics that start again, in which documents start from their words
REFRESH = 3  # the same with the topics that are there
ROOM = 0.25  # for more topics, over K: with less below the largest number a trial is not worth it


class SearchedTopics(Search[Documents]):
    """Passes between which the number of topics changes: `warm_up` collapsed ones where all topics start again, and
    `polish` at the end. Short fits may say with how many topics to begin."""

    tried: TriedTopics

    def __init__(
        self, fit: Fit, rng: np.random.Generator, *, posteriors: Posteriors, warm_up: int, polish: int,
        max_topics: int, chooses_size: bool,
    ) -> None:  # fmt: skip
        self.posteriors, self.warm_up, self.max_topics = posteriors, warm_up, max_topics
        self.corpus, self.tried = fit.problem.corpus, TriedTopics(chooses_size=chooses_size)
        numbers = np.arange(self.corpus.n_docs)
        self.order = np.concatenate([numbers[rows] for rows in fit.batches])  # of documents in shards
        self.X = sp.csr_array(self.corpus.to_scipy())
        self.refused: set[Pair] = set()  # before a trial
        super().__init__(fit, rng, polish, warm_up, FRESH if chooses_size else 1)

    def warmed_up(self, model: TopicModel) -> TopicModel:
        self.fit.workers.forget()  # variational documents have fewer topics: they start from their words
        return self.posteriors.under(model, "variational", is_searching=True)

    def snapshot(self, result: PassResult) -> Documents:
        memory, memo, shards = self.fit.workers.recall(), self.fit.state.memo, range(len(self.fit.batches))
        if any(b not in memo or b not in memory or memory[b].docs is None for b in shards):
            raise ModelFileError("the checkpoint lacks documents")
        self.current = Documents(
            result.model, result.total, {b: memo[b] for b in shards}, {b: memory[b] for b in shards}, self.fit.lengths
        )
        return self.current

    def put(self, here: Documents) -> TopicModel:
        """The next pass weighs the best pairs of topics: it gathers what their mergers would lose."""
        super().put(here)
        partner = np.full(here.model.n_components, -1, np.int32)
        for j, k in candidates(here, self.tried.refused):
            partner[j], partner[k] = k, j
        return replace(self.posteriors.under(here.model, "variational", is_searching=True), partner=partner)

    def merged(self, here: Documents, info: Info) -> Documents:
        """The pairs that the last pass found worth merging become one topic each."""
        partner = here.model.partner
        lower = np.flatnonzero([] if partner is None else partner > np.arange(len(partner)))
        if partner is None or not len(lower):
            return here
        pairs, base = [(int(j), int(partner[j])) for j in lower], here.under(here.prior)
        found = decide(base, pairs, info["merge_entropy"][lower])
        self.tried.refused |= set(pairs) - set(found.gains)
        if not found.gains:
            return here
        self.made |= {f"merge {j} {k}": gain for (j, k), gain in found.gains.items()}
        return self._renamed(base.renamed(found.names, found.lost).settled(), found.names)

    def settled(self, here: Documents, quiet: bool) -> Documents:
        """With topics in order of size, where the bound is not lower so."""
        order = np.argsort(-here.total.S.totals, kind="stable")
        if (quiet or self.is_last()) and not np.array_equal(order, np.arange(len(order))):
            names = np.empty_like(order)
            names[order] = np.arange(len(order))
            there = here.renamed(names).settled()
            here = here if there.worth < here.worth else self._renamed(there, names)
        model = self.relearned(here.model)
        return here if model is None else replace(here, model=model)

    def _renamed(self, there: Documents, names: np.ndarray) -> Documents:
        both = ((int(names[j]), int(names[k])) for j, k in self.tried.refused if k < len(names))
        self.tried.refused = {(min(a, b), max(a, b)) for a, b in both if a != b}
        return there

    def relearned(self, model: TopicModel) -> TopicModel | None:
        return replace(model, words=model.words.relearn()) if model.words.learned else None

    def polished(self, model: TopicModel) -> TopicModel:
        """Documents are solved without the variational penalty; or with it, and each is tried without its smallest
        topics. Earlier that would lower the bound in the end: topics that leave a document do not come back."""
        posteriors = self.posteriors
        if posteriors.final != model.words.posterior:
            self.fit.workers.forget()
        return posteriors.under(model, posteriors.final)

    # What to try

    def next_move(self, here: Documents, quiet: bool, passes_left: int) -> Move | None:
        move, tried = None, self.tried
        if tried.chooses_size and passes_left > self.warm_up + FRESH + TRIAL:
            i = next_size(tried.bounds, self.max_topics)
            if i is not None:
                n, warm_up = size(i), self.warm_up
                move = started(here, f"renew {n}", blended(self.corpus, n, self.rng).counts(), np.full(n, 1 / (n + 1)))
                move = move._replace(size=i, warm_up=warm_up, fresh=FRESH)
        tried.chooses_size = move is not None
        while quiet and move is None and (kind := tried.following()) is not None:
            move = self._move(here, kind)
            if move is None:
                tried.failures[kind] = FAILURES[kind]
        if move is None:
            return None
        self.refused, tried.refused = tried.refused, set()
        posterior = "collapsed" if move.warm_up else "variational"
        return move._replace(model=self.posteriors.under(move.model, posterior, is_searching=True))

    def _move(self, here: Documents, kind: str) -> Move | None:
        K, room = here.model.n_components, self.max_topics - here.model.n_components
        if kind in ("birth", "split") and room < ROOM * K:
            return None
        sizes = here.total.S.totals
        if kind == "refresh":  # the same topics; documents start from their words
            counts, shares = here.total.S.counts(), here.prior.sticks.shares()[:-1]
            return started(here, "refresh", counts, shares)._replace(fresh=REFRESH)
        if kind == "birth":  # more topics, each of one document
            n, shares = min(K, room), here.prior.sticks.shares()[:-1]
            start = restarted(self.corpus, np.append(np.full(n, -1.0), sizes), self.rng)
            new = np.zeros((self.corpus.n_words, n)) if start is None else start.counts()[:, :n]
            shares = np.append(shares, np.full(n, shares.sum() / K)) * K / (K + n)
            return started(here, f"birth {n}", np.hstack([here.total.S.counts(), new]), shares)
        if kind == "split":
            largest = np.sort(np.argsort(-sizes, kind="stable")[:room])
            return split(here, largest, lambda docs: self.X[self.order[docs]], self.rng)
        gone = self.tried.deletion(K)
        return None if gone is None else deletion(here, np.argsort(sizes, kind="stable")[:gone])

    def judged(self, trial: Trial, gain: float, is_kept: bool) -> None:
        move, tried = trial.move, self.tried
        if move.size is not None:
            tried.bounds[move.size] = trial.last
        if is_kept:
            tried.refused = set()
            tried.gained(move.kind, by_much=gain > self.fit.problem.least_gain)
        else:
            tried.refused = self.refused
            tried.failed(move.kind, int(move.what.split()[1]) if move.kind == "delete" else 0)
