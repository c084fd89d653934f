"""Two topics become one where the bound is higher so. Every term of the gain is exact.  docs/math.md Eq. (3.25).

All but one can be had from statistics at any time: those of words, documents and sticks. The entropy of tokens that
are in both topics needs the tokens, and only falls. So candidates are the pairs that would gain without that loss, no
topic in two of them. The next pass gathers their entropies, and after it they are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from topmix.base.threads import one_thread
from topmix.learn.documents import Documents, renamed_prior
from topmix.models.stick_prior import StickPrior
from topmix.models.topic_words import TopicWords

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
    pairs = sorted(_similar(here.model.words) - set(refused))
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


def _similar(words: TopicWords) -> set[Pair]:
    counts = np.maximum(words.total.counts(), 0.0)
    counts /= np.maximum(np.linalg.norm(counts, axis=0), 1e-300)
    cosine = counts.T @ counts
    np.fill_diagonal(cosine, -1.0)
    n = min(NEIGHBOURS, len(cosine) - 1)
    nearest = np.argsort(-cosine, axis=1, kind="stable")[:, :n]
    return {(min(j, k), max(j, k)) for j, row in enumerate(nearest.tolist()) for k in row}


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
    rows_of: Rows,
    tokens: sp.csc_array,
    table: Table,
    alpha: np.ndarray,
    topics: Iterable[int],
    rng: np.random.Generator,
) -> list[Split]:
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
