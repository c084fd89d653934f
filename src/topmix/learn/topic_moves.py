"""A fit of topics as the search for their number sees and changes it between two passes; two topics that become one,
and one that becomes two.  docs/math.md Eq. (3.25).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from topmix.base.threads import one_thread
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

    def counts(self) -> sp.csc_array:
        """[D, K] N_dk."""
        K = self.model.n_components
        return sp.csc_array(sp.vstack([by_topic(visit.docs, K) for visit in self.memory.values()]))

    def moved(self, M: np.ndarray | sp.csr_array) -> dict[int, Visit]:
        """What workers remember after what documents have of topic k has gone where M [K, K'] says."""
        return {b: replace(visit, docs=moved(visit.docs, M)) for b, visit in self.memory.items()}

    def under(self, prior: StickPrior) -> Documents:
        """The same responsibilities, with topics and every q(pi_d) at their best under this prior."""
        parts = zip(self.memo.items(), self.memory.values(), self.lengths)
        memo = {b: prior.summarise(m.S, visit.docs, n, m.H) for (b, m), visit, n in parts}
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


# Two topics become one where the bound is higher so. Every term of the gain is exact.
#
# All but one can be had from statistics at any time: those of words, documents and sticks. The entropy of tokens that
# are in both topics needs the tokens, and only falls. So candidates are the pairs that would gain without that loss, no
# topic in two of them. The next pass gathers their entropies, and after it they are judged.

NEIGHBOURS = 4  # of each topic, by the cosine of their words, that are looked at
AT_A_TIME = 256  # pairs
MOST_IN_VAIN = 16  # pairs in a row that would not gain, the best first: those after them would gain less still

Pair = tuple[int, int]


class Merged(NamedTuple):
    names: np.ndarray  # [K] what each topic becomes
    lost: float  # entropy
    gains: dict[Pair, float]  # of the pairs that were merged, in the order of merging


def candidates(here: Documents, refused: Iterable[Pair] = ()) -> list[Pair]:
    """Pairs that would gain if no token were in both, the best first, no topic in two of them."""
    counts = np.maximum(here.model.words.total.counts(), 0.0)
    counts /= np.maximum(np.linalg.norm(counts, axis=0), 1e-300)
    cosine = counts.T @ counts
    np.fill_diagonal(cosine, -1.0)
    nearest = np.argsort(-cosine, axis=1, kind="stable")[:, : min(NEIGHBOURS, len(cosine) - 1)]
    similar = {(min(j, k), max(j, k)) for j, row in enumerate(nearest.tolist()) for k in row}
    pairs = sorted(similar - set(refused))
    return list(decide(here, pairs, np.zeros(len(pairs)), each_alone=True).gains)


def decide(here: Documents, pairs: list[Pair], lost: np.ndarray, *, each_alone: bool = False) -> Merged:
    """Those that raise the bound, one after the other, or each alone; `lost` [pairs] is what each takes from the
    entropy."""
    K = here.model.n_components
    if not pairs:
        return Merged(np.arange(K), 0.0, {})
    apart = _words(here.model.words, pairs) + of_documents(here.counts(), here.prior, here.total.D, pairs) - lost
    gains: dict[Pair, float] = {}
    used: set[int] = set()
    taken, before, in_vain = 0.0, of_sticks(here.prior, np.arange(K), here.total.D), 0
    for i in np.argsort(-apart, kind="stable"):
        if not used.isdisjoint(pairs[i]):
            continue
        names = names_of(K, [pairs[i]] if each_alone else [*gains, pairs[i]])
        after = of_sticks(here.prior, names, here.total.D)
        gain = float(apart[i]) + after - before
        if gain > 0:
            gains[pairs[i]] = gain
            used.update(pairs[i])
            taken, before, in_vain = taken + float(lost[i]), before if each_alone else after, 0
        elif (in_vain := in_vain + 1) == MOST_IN_VAIN:
            break
    return Merged(names_of(K, list(gains)), taken, gains)


def names_of(K: int, pairs: list[Pair]) -> np.ndarray:
    first = np.arange(K)
    for j, k in pairs:
        first[k] = j
    _, names = np.unique(first, return_inverse=True)
    return names


def _words(words: TopicWords, pairs: list[Pair]) -> np.ndarray:
    """[pairs] of the words' part, sum_k c_Dir(eta) - c_Dir(eta + S_k)."""
    S = sp.csc_array(np.maximum(words.total.counts(), 0.0))
    eta = np.broadcast_to(words.eta, (S.shape[0], 1))[:, 0]
    whole, prior = eta.sum(), gammaln(eta)

    def gains(counts: sp.csc_array, _: object) -> np.ndarray:  # words that a topic does not have add nothing
        by_word = gammaln(eta[counts.indices] + counts.data) - prior[counts.indices]
        return _columns(by_word, counts) + gammaln(whole) - gammaln(whole + counts.sum(axis=0))

    return _together(S, np.zeros(S.shape[1]), pairs, gains)


def of_documents(N: sp.csc_array, prior: StickPrior, D: float, pairs: list[Pair]) -> np.ndarray:
    """[pairs] of the documents' part with q(pi_d) at its best, sum_dk log Gamma(N_dk + alpha_k)."""

    def gains(counts: sp.csc_array, alpha: np.ndarray) -> np.ndarray:
        a = np.repeat(alpha, np.diff(counts.indptr))
        return _columns(gammaln(counts.data + a) - gammaln(a), counts) + D * gammaln(alpha)

    return _together(N, prior.alpha, pairs, gains)


def _together(
    X: sp.csc_array, alpha: np.ndarray, pairs: list[Pair], gains: Callable[[sp.csc_array, np.ndarray], np.ndarray]
) -> np.ndarray:
    """[pairs] gains of the summed columns, less those of the two apart; some pairs at a time."""
    apart = gains(X, alpha)
    first, second = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    out = []
    for begin in range(0, len(pairs), AT_A_TIME):
        j, k = first[begin : begin + AT_A_TIME], second[begin : begin + AT_A_TIME]
        out.append(gains(sp.csc_array(X[:, j] + X[:, k]), alpha[j] + alpha[k]))
    return np.concatenate(out) - apart[first] - apart[second]


def _columns(values: np.ndarray, of: sp.csc_array) -> np.ndarray:
    """Sums of values that lie as the entries do."""
    return np.bincount(np.repeat(np.arange(of.shape[1]), np.diff(of.indptr)), values, minlength=of.shape[1])


def of_sticks(before: StickPrior, names: np.ndarray, D: float) -> float:
    """D E[c_Dir(alpha beta)] - KL(q(u) || p(u)), where topic k becomes names[k]."""
    prior = renamed_prior(before, names, D)
    return D * prior.sticks.log_normaliser(prior.concentration) - prior.sticks.divergence(prior.stick_prior)


# One topic becomes two: what to propose. Whether it is kept, the whole corpus says.
#
# A topic that holds two subjects shows it in the documents that have most of it: their words in it fall into two
# kinds. So some of these documents are drawn, and a small mixture of two separates their tokens of this topic, first
# by document, then by token. The topic's counts are divided in the same proportions. Nothing here needs to be exact:
# the two go into all documents that had the one, and where the bound is not higher they are merged again.

SAMPLE = 100  # documents that a topic is split by
FEWEST = 8  # documents; with fewer there is nothing to tell apart
TRACE = 0.01  # tokens; with fewer a word says nothing of the topic in a document
STARTS, SWEEPS, TOKEN_SWEEPS = 4, 8, 8
SMOOTHING = 0.02  # of a word in each of the two, over the mean count

Rows: TypeAlias = Callable[[np.ndarray], sp.csr_array]  # [documents, V] words of these documents
Table: TypeAlias = Callable[[np.ndarray], np.ndarray]  # [words, K] weights of these words


class Split(NamedTuple):
    topic: int
    share: np.ndarray  # [V] of each word that the second takes
    weight: float  # of all tokens that the second takes


def splits(
    rows_of: Rows, tokens: sp.csc_array, table: Table, alpha: np.ndarray, topics: Iterable[int],
    rng: np.random.Generator,
) -> list[Split]:  # fmt: skip
    """How each of these topics may fall in two, by documents with these words that have tokens [D, K] of each topic."""
    by_doc, found = sp.csr_array(tokens), []
    with one_thread():  # on such small matrices more threads only wait for each other
        for k in topics:
            of = slice(tokens.indptr[k], tokens.indptr[k + 1])
            rows, size = tokens.indices[of], tokens.data[of]
            rows, size = rows[size > 1.0], size[size > 1.0]
            if len(rows) < FEWEST:
                continue
            chosen = np.sort(rng.choice(rows, min(SAMPLE, len(rows)), replace=False, p=size / size.sum()))
            two = _separated(_tokens_of(k, rows_of(chosen), by_doc[chosen], table, alpha), rng)
            if two is not None:
                smooth = two + 0.1 * two.sum(axis=1, keepdims=True) / two.sum()  # words not seen go by weight
                found.append(Split(k, smooth[1] / smooth.sum(axis=0), float(two[1].sum() / two.sum())))
    return found


def _tokens_of(k: int, X: sp.csr_array, N: sp.csr_array, table: Table, alpha: np.ndarray) -> sp.csr_array:
    """[documents, V] c_du r_duk, with documents' proportions as they are."""
    words, column = np.unique(X.indices, return_inverse=True)
    weights = table(words)
    width = np.diff(X.indptr)
    row = np.repeat(np.arange(len(width)), width)
    total, own = np.zeros(len(row)), np.zeros(len(row))
    weight = N.data + alpha[N.indices]
    begin, end = N.indptr[:-1], N.indptr[1:]
    for i in range(int(np.diff(N.indptr).max(initial=0))):  # the i-th topic of every document at once
        has = begin[row] + i < end[row]
        at = (begin[row] + i)[has]
        share = weight[at] * weights[column[has], N.indices[at]]
        total[has] += share
        own[has] += np.where(N.indices[at] == k, share, 0.0)
    return sp.csr_array((X.data * own / np.maximum(total, 1e-300), X.indices, X.indptr), shape=X.shape)


def _separated(Y: sp.csr_array, rng: np.random.Generator) -> np.ndarray | None:
    """[2, words of Y] expected counts, by documents first and then by tokens; None where there is one kind."""
    seen = sp.coo_array(Y)
    row, word, tokens = (part[seen.data > TRACE] for part in (*seen.coords, seen.data))
    words, column = np.unique(word, return_inverse=True)
    if not len(words):
        return None
    dense = np.zeros((Y.shape[0], len(words)))
    dense[row, column] = tokens
    dense = dense[dense.any(axis=1)]
    sizes, mean = dense.sum(axis=1), dense.mean(axis=0)
    least = SMOOTHING * float(mean.mean())

    def topics(r: np.ndarray) -> np.ndarray:  # [2, documents] -> [2, words] log phi
        counts = r @ dense + least + 0.01 * mean
        return np.log(counts / counts.sum(axis=1, keepdims=True))

    best, best_r = -np.inf, None
    for _ in range(STARTS):
        first, second = rng.choice(len(dense), 2, replace=False, p=sizes / sizes.sum()) if len(dense) > 1 else (0, 0)
        counts = 0.5 * dense[[first, second]] / sizes[[first, second], None] + 0.5 * mean / mean.sum()
        log_phi = np.log(counts + 1e-12)
        for _ in range(SWEEPS):
            score = log_phi @ dense.T  # [2, documents]
            top = score.max(axis=0)
            r = np.exp(score - top)
            value = float(np.sum(top + np.log(r.sum(axis=0))))
            r /= r.sum(axis=0)
            log_phi = topics(r)
        if value > best:
            best, best_r = value, r
    if best_r is None:
        return None
    phi, theta = np.exp(topics(best_r)), 0.8 * best_r + 0.1
    for _ in range(TOKEN_SWEEPS):
        q = dense / np.maximum(theta.T @ phi, 1e-300)  # [documents, words]
        counts, theta = phi * (theta @ q), theta * (phi @ q.T)
        theta = (theta + 0.1) / (theta + 0.1).sum(axis=0)
        phi = (counts + least) / (counts + least).sum(axis=1, keepdims=True)
    out = np.zeros((2, Y.shape[1]))
    out[:, words] = counts
    return out
