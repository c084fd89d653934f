"""Measures of topics alone: diversity, agreement of two labellings and of two models. The topics of many fits of one
corpus are matched, averaged, and compared with those of one model. The arguments of all metrics are checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix.base.threads import one_thread
from topmix.corpus.corpus import Corpus
from topmix.corpus.counts import check_sparse
from topmix.corpus.documents import is_texts

Floats = NDArray[np.float64]
RandomState = int | np.random.Generator | None


@runtime_checkable
class Fits(Protocol):
    """An estimator in the place of data, of topmix or not."""

    def fit(self, X: object) -> object: ...


@runtime_checkable
class TopicModelLike(Protocol):
    """A topic model, which knows how documents are read."""

    topic_word_: NDArray[np.float64]

    def counts(self, X: object) -> Corpus: ...


def as_counts(X: object, n_words: int | None = None) -> sp.csr_array:
    """[D, V] float64 rows without duplicates and zeros, from a Corpus, a sparse matrix or an array."""
    if isinstance(X, str) or is_texts(X):
        raise ValueError("X is texts: pass counts of their words, model.counts(texts)")
    X = X.to_scipy() if isinstance(X, Corpus) else X
    if sp.issparse(X):
        check_sparse(X)
    rows = sp.csr_array(X if sp.issparse(X) else np.atleast_2d(np.asarray(X)), dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.all(np.isfinite(rows.data)) or np.any(rows.data < 0):
        raise ValueError("counts must be finite and not negative")
    if n_words is not None and rows.shape[1] != n_words:
        raise ValueError(
            f"the documents have {rows.shape[1]} words, the topics {n_words}: both need the same vocabulary"
        )
    return rows


def topics_and_documents(topic_word: object, X: object) -> tuple[object, object]:
    """Topics [K, V] and counts [D, V]. A fitted topic model has both: its topics, and how it reads documents."""
    if not isinstance(topic_word, Fits):
        return topic_word, X
    if not isinstance(topic_word, TopicModelLike):
        raise ValueError(
            f"{type(topic_word).__name__} has no topics: pass a fitted topic model, or an array (topics, words)"
        )
    return topic_word.topic_word_, topic_word.counts(X)


def as_topics(topic_word: object, name: str = "topic_word") -> Floats:
    """[K, V] float64. Rows are not normalised: they are probabilities or pseudo-counts."""
    if isinstance(topic_word, Fits):
        raise ValueError(f"{name} is a {type(topic_word).__name__}: pass its topics, model.topic_word_")
    phi = np.asarray(topic_word, dtype=np.float64)
    if phi.ndim != 2 or 0 in phi.shape:
        raise ValueError(f"{name} has the shape {phi.shape}; it must have the shape (topics, words)")
    if not np.all(np.isfinite(phi)) or np.any(phi < 0):
        raise ValueError(f"{name} must be finite and not negative")
    return phi


def as_distributions(topic_word: object, name: str = "topic_word") -> Floats:
    """[K, V] rows that sum to one."""
    phi = as_topics(topic_word, name)
    return phi / row_sums(phi, name)[:, None]


def row_sums(phi: Floats, name: str = "topic_word") -> Floats:
    sums: Floats = phi.sum(axis=1)
    if not np.all(sums > 0):
        raise ValueError(f"row {int(np.argmin(sums))} of {name} is all zeros, so it cannot be normalised")
    return sums


def top_ids(topic_word: NDArray[np.float64], top_n: int) -> NDArray[np.intp]:
    """[K, top_n] word ids, most probable first. Of equally probable words, the smaller id comes first."""
    K, V = topic_word.shape
    if not 1 <= top_n <= V:
        raise ValueError(f"top_n={top_n}: pass a number from 1 to the {V} words of the vocabulary")
    out = np.empty((K, top_n), dtype=np.intp)
    for k, row in enumerate(topic_word):
        ids = candidates(row, top_n)
        out[k] = ids[np.argsort(-row[ids], kind="stable")[:top_n]]
    return out


def candidates(row: NDArray[np.float64], n: int, rounding: float = 0.0) -> NDArray[np.intp]:
    """Ids of all numbers that may be among the n largest, ascending: those that are not below the n-th largest of the
    maxima of some sets of numbers. `rounding` is how far numbers, which are then positive, may be off."""
    in_set = len(row) // (4 * n + 64)
    if in_set < 4:
        return np.arange(len(row))
    sets = row[: len(row) // in_set * in_set].reshape(in_set, -1).max(axis=0)
    least = np.partition(sets, len(sets) - n)[len(sets) - n]
    return np.flatnonzero(row >= least * (1.0 - rounding))


# Diversity of topics, and counts of empty, duplicate and dominating topics.


def topic_diversity(topic_word: ArrayLike, top_n: int = 10) -> float:
    """Share of distinct words among the top_n words of all topics: 1 if no word is shared, 1/K if all are."""
    top = top_ids(as_topics(topic_word), top_n)
    return len(np.unique(top)) / top.size


def empty_topics(counts: ArrayLike, threshold: float = 1.0) -> NDArray[np.intp]:
    """Topics with fewer than `threshold` expected tokens. counts: [K] tokens per topic, without priors."""
    return np.flatnonzero(_counts(counts) < threshold)


def largest_share(counts: ArrayLike) -> float:
    """Share of all tokens that are in the largest topic. counts: [K] tokens per topic, without priors."""
    N = _counts(counts)
    return float(N.max() / N.sum()) if N.sum() > 0 else 0.0


def duplicate_topics(topic_word: ArrayLike, threshold: float = 0.9) -> NDArray[np.intp]:
    """Topics whose cosine with an earlier topic is over `threshold`: as many as are redundant. Empty topics all equal
    the prior, so remove them first."""
    phi = as_topics(topic_word)
    norm = np.sqrt(np.einsum("kv,kv->k", phi, phi))
    unit = phi / np.where(norm > 0, norm, 1.0)[:, None]
    return np.flatnonzero(np.tril(unit @ unit.T > threshold, k=-1).any(axis=1))


def _counts(counts: ArrayLike) -> NDArray[np.float64]:
    N = np.asarray(counts, dtype=np.float64)
    if N.ndim != 1 or not len(N) or not np.all(np.isfinite(N)):
        raise ValueError("counts must be a one-dimensional array with one finite number per topic")
    return N


# Agreement: of two labellings of the same tokens or rows, and of the topics of two models, in pairs by the Hungarian
# algorithm.


def nmi(true: ArrayLike, predicted: ArrayLike) -> float:
    """Normalized mutual information, from 0 to 1: I divided by the arithmetic mean of the two entropies. The values of
    the labels do not matter."""
    from sklearn.metrics import normalized_mutual_info_score  # here, because it comes with half of SciPy

    return float(normalized_mutual_info_score(np.ravel(true), np.ravel(predicted)))


def adjusted_rand(true: ArrayLike, predicted: ArrayLike) -> float:
    """Adjusted Rand index: 1 for equal partitions, about 0 for independent ones. It may be negative."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(np.ravel(true), np.ravel(predicted)))


class TopicMatch(NamedTuple):
    """min(K_a, K_b) pairs, in the order of the topics of a. Topics of the larger model may have no partner."""

    a: NDArray[np.intp]  # [pairs] topics of the first model
    b: NDArray[np.intp]  # [pairs] the partners in the second model
    distance: Floats  # [pairs]


def match_topics(a: ArrayLike, b: ArrayLike, *, metric: str = "l1") -> TopicMatch:
    """One-to-one pairs of topics with the smallest total distance.

    Parameters
    ----------
    a, b : [K_a, V] and [K_b, V]
        Topics of two models over one vocabulary. Rows are normalised.
    metric : {"l1", "cosine", "hellinger"}
        Σ|p − q|, from 0 to 2; 1 − cos, from 0 to 1; or sqrt(1 − Σ sqrt(pq)), from 0 to 1. The last two are faster.
    """
    from scipy.optimize import linear_sum_assignment  # here, because it takes a while to load
    from scipy.spatial.distance import cdist

    p, q = as_distributions(a, "a"), as_distributions(b, "b")
    if p.shape[1] != q.shape[1]:
        raise ValueError(f"the models have {p.shape[1]} and {q.shape[1]} words: both need the same vocabulary")
    if metric == "l1":
        distance: Floats = cdist(p, q, "cityblock")
    elif metric == "cosine":
        p, q = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (p, q))
        distance = np.maximum(1.0 - p @ q.T, 0.0)
    elif metric == "hellinger":
        distance = hellinger(p, q)
    else:
        raise ValueError(f"metric={metric!r} is not one of 'l1', 'cosine', 'hellinger'")
    rows, cols = linear_sum_assignment(distance)
    return TopicMatch(rows, cols, distance[rows, cols])


def topic_recovery_error(estimated: ArrayLike, true: ArrayLike) -> float:
    """Mean ℓ1 distance from each true topic to its partner among the estimated topics, from 0 to 2.

    Pairs come from `match_topics`. A true topic without a partner costs 2, the distance of topics that share no word.
    An estimated topic without a partner costs nothing: report the number of topics together with this error.
    """
    match = match_topics(true, estimated, metric="l1")
    K = len(np.asarray(true))
    return float((match.distance.sum() + 2.0 * (K - len(match.a))) / K)


def hellinger(a: NDArray[np.floating], b: NDArray[np.floating] | None = None, block: int = 4096) -> Floats:
    """[K_a, K_b] Hellinger distances of distributions over V words, from 0 (equal) to 1 (no common word); without b,
    [K_a, K_a] among those of a. Memory holds `block` words at a time."""
    affinity = np.zeros((len(a), len(a if b is None else b)))
    for begin in range(0, a.shape[1], block):
        roots = np.sqrt(a[:, begin : begin + block])
        affinity += roots @ (roots if b is None else np.sqrt(b[:, begin : begin + block])).T
    distance: Floats = np.sqrt(np.maximum(1.0 - affinity, 0.0))
    if b is None:
        np.fill_diagonal(distance, 0.0)
    return distance


# Topics of many fits. They are compared by what sets them apart from the corpus: rows are centred on the frequencies of
# the words before their cosine is taken, because words that all topics have would make all topics alike.
# docs/math.md Eq. (3.36).

UnitRows: TypeAlias = NDArray[np.float32] | sp.csr_array  # [K, n] of unit length, or zero
MOST_COMPARED = 12  # fits that are compared in pairs, to find the one that is most like the others
ROUNDS = 10


class Comparison(NamedTuple):
    """Topics of one model beside those of F fits."""

    partner: NDArray[np.intp]  # [F, K] one to one; -1: none
    similarity: Floats  # [F, K] with the partner
    other: Floats  # [F, K] with the most similar topic of the fit that is not the partner


def centred(topic_word: NDArray[np.floating], frequency: Floats) -> NDArray[np.float32]:
    """[K, V] unit rows: p(w | k) - p(w). A topic that is the corpus itself, or has no word more than others, is zero:
    empty topics are alike in all fits, and say nothing."""
    away = np.asarray(topic_word, np.float64) - frequency
    length = np.linalg.norm(away, axis=1, keepdims=True)
    least = 1e-9 * np.linalg.norm(topic_word, axis=1, keepdims=True)  # what rounding leaves of equal rows
    says = (length > least) & (np.ptp(topic_word, axis=1, keepdims=True) > 0)
    return np.where(says, away / np.maximum(length, 1e-300), 0.0).astype(np.float32)


def memberships(shares: sp.csr_array) -> sp.csr_array:
    """[K, rows] unit rows: to which documents a cluster belongs. [rows, K] is given."""
    rows = sp.csr_array(shares.T, dtype=np.float32)
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64)).ravel()
    return sp.csr_array(sp.diags_array((1.0 / np.maximum(length, 1e-30)).astype(np.float32)) @ rows)


def align(fits: Sequence[UnitRows]) -> list[NDArray[np.intp]]:
    """[F] of [K]: the topic of each fit that is topic k of all of them; -1: none. Their order is that of the fit that
    is most like the others. Pairs have the greatest total similarity to the mean of those that were paired before,
    until they stay the same."""
    # Of fits with the median number of topics, at most MOST_COMPARED, the one whose topics are most like the others'.
    sizes = np.array([fit.shape[0] for fit in fits])
    some = np.flatnonzero(sizes == np.sort(sizes)[(len(sizes) - 1) // 2])[:MOST_COMPARED]
    likeness = np.zeros(len(some))
    for i, j in combinations(range(len(some)), 2):
        likeness[[i, j]] += _paired(fits[some[i]], fits[some[j]])[1].sum()
    mean = fits[some[likeness.argmax()]]
    before: list[NDArray[np.intp]] = []
    for _ in range(ROUNDS):
        partners = [_paired(mean, fit)[0] for fit in fits]
        if before and all(np.array_equal(a, b) for a, b in zip(partners, before)):
            break
        before, total = partners, sum(_of_partners(partner, fit.shape[0]) @ fit for partner, fit in zip(partners, fits))
        if sp.issparse(total):
            mean = memberships(sp.csr_array(total).T)
        else:
            mean = np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30), np.float32)
    return before


def _of_partners(partner: NDArray[np.intp], n: int) -> sp.csr_array:
    """[K, n] with a one in the column of each partner."""
    has = np.flatnonzero(partner >= 0)
    return sp.csr_array((np.ones(len(has), np.float32), (has, partner[has])), shape=(len(partner), n))


def compare(topics: UnitRows, fits: Sequence[UnitRows]) -> Comparison:
    of_fits = []
    for fit in fits:
        partner, similarity, cosines = _paired(topics, fit)
        has = np.flatnonzero(partner >= 0)
        cosines[has, partner[has]] = -1.0
        of_fits.append((partner, similarity, np.maximum(cosines.max(axis=1), 0.0)))
    return Comparison(*map(np.array, zip(*of_fits)))


def mean_shares(shares: Sequence[sp.csr_array], partners: Sequence[NDArray[np.intp]]) -> sp.csr_array:
    """[rows, K] mean proportions over fits, whose topics are matched; rows sum to one."""
    total = sp.csr_array((shares[0].shape[0], len(partners[0])))
    for of_fit, partner in zip(shares, partners):
        total = total + of_fit @ _of_partners(partner, of_fit.shape[1]).T
    sums = np.asarray(total.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(sums, 1e-300)) @ total)


def _paired(a: UnitRows, b: UnitRows) -> tuple[NDArray[np.intp], Floats, Floats]:
    """[K_a] the partner in b of each row, one to one, with the greatest total, and the cosine with it, 0 or more; -1
    and 0 where b has fewer rows. [K_a, K_b] all cosines."""
    from scipy.optimize import linear_sum_assignment  # here, because it takes a while to load

    with one_thread():  # for the same bits on any number of cores
        product: UnitRows = a @ b.T
    dense = np.asarray(product if isinstance(product, np.ndarray) else product.toarray(), np.float64)
    cosines = np.clip(dense, -1.0, 1.0)  # rounding leads beyond
    partner, similarity = np.full(len(cosines), -1, np.intp), np.zeros(len(cosines))
    rows, columns = linear_sum_assignment(-cosines)
    partner[rows], similarity[rows] = columns, np.maximum(cosines[rows, columns], 0.0)
    return partner, similarity, cosines
