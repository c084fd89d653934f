"""Document completion: how well topics predict held-out words of a document from its other words.

    score = Σ_d Σ_{n in B_d} log Σ_k π̂_dk φ_k,w_n / Σ_d |B_d|,   π̂_dk = (N_dk + α_k) / Σ_k (N_dk + α_k)

N_d comes from A_d by `fold_in`. The unit is nats per token: higher is better, and 0 is a certain prediction. The score
depends only on the K × V matrix of topics, so it can compare topics of all methods.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import psi, softmax
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from topmix.base.checks import prior_of
from topmix.results.measures import (
    Floats,
    RandomState,
    TopicModelLike,
    as_counts,
    as_distributions,
    as_topics,
    row_sums,
    topics_and_documents,
)

# The topics of a new document, given fixed topics: the dense local step of variational LDA.
#
#     r_nk ∝ φ_k,w_n exp ψ(N_k + α_k),   N_k = Σ_n c_n r_nk
#
# The iteration starts from r ∝ φ and ends when no N_k changes by `tol`, or after `max_iter` iterations. It works in
# float64, without restarts and pruning.
#
# exp ψ(N_k + α_k) falls very fast when N_k falls below one token (at K = 800 down to e^-1600). So after a few
# iterations most topics of a document have no effect in float64. `fold_in` leaves such topics out during the iteration,
# and computes all topics once more at the end. If the topics that were left out would have an effect, the document is
# computed again by `fold_in_log`, which keeps all topics and cannot underflow.

_UNSEEN = 1e-20  # tokens: a topic with less is left out; its effect on all sums is below rounding
_CHANGED = 1e-9  # tokens that all topics that were left out may have together at the end
_TINY = 1e-250  # weight of a token: if it is smaller, products with φ may have underflowed


def fold_in(W: Floats, c: Floats, alpha: Floats, *, max_iter: int = 100, tol: float = 0.05) -> Floats:
    """[K] expected tokens N of each topic, for n distinct words with likelihoods W [n, K] and counts c [n].

    Words with probability 0 in all topics are left out.
    """
    possible = W.any(axis=1)
    if not possible.all():
        W, c = W[possible], c[possible]
    if not len(c):
        return np.zeros(len(alpha))
    unseen = _UNSEEN * min(1.0, c.min())
    active, Wa, a = np.arange(len(alpha)), W, alpha
    N = (c / W.sum(axis=1)) @ W
    for _ in range(max_iter):
        P = np.exp(psi(N + a))
        s = Wa @ P
        if s.min() < _TINY:
            return fold_in_log(W, c, alpha, max_iter=max_iter, tol=tol)
        M = P * ((c / s) @ Wa)
        done, N = np.abs(M - N).max() < tol, M
        if done:
            break
        keep = unseen < N
        if 4 * np.count_nonzero(keep) < 3 * len(N):  # a copy of W pays only if it is much smaller
            active, Wa, a, N = active[keep], Wa[:, keep], a[keep], N[keep]
    out: Floats = np.zeros(len(alpha))
    out[active] = N
    if len(active) < len(alpha):
        # Whether those that were left out may have an effect.
        P = np.exp(psi(out + alpha))
        M = P * ((c / (W @ P)) @ W)
        M[active] = 0.0
        if not M.sum() < _CHANGED:
            return fold_in_log(W, c, alpha, max_iter=max_iter, tol=tol)
    return out


def fold_in_log(W: Floats, c: Floats, alpha: Floats, *, max_iter: int = 100, tol: float = 0.05) -> Floats:
    """`fold_in` with all topics in all iterations, in log space. Slow."""
    with np.errstate(divide="ignore"):
        log_w = np.log(W)  # [n, K]
    N: Floats = c @ softmax(log_w, axis=1)
    for _ in range(max_iter):
        M = c @ softmax(log_w + psi(N + alpha), axis=1)
        done, N = np.abs(M - N).max() < tol, M
        if done:
            break
    return N


class DocumentScores(NamedTuple):
    """One entry per document. A document that is too short to split has 0 tokens."""

    log_likelihood: Floats  # [D] sum over the tokens of B
    n_tokens: Floats  # [D] tokens in B

    @property
    def mean(self) -> float:
        """Log likelihood per token, over all documents."""
        total = self.n_tokens.sum()
        if total == 0:
            raise ValueError("no document is long enough to be split: pass documents with at least two distinct words")
        return float(self.log_likelihood.sum() / total)


def completion_score(
    topic_word: object,
    X: object,
    *,
    doc_topic_prior: ArrayLike | None = None,
    fraction: float = 0.8,
    random_state: RandomState = 0,
    max_iter: int = 100,
    tol: float = 0.05,
) -> float:
    """Mean log predictive probability of a held-out token, with the distinct words of a document split 80/20.

    Parameters
    ----------
    topic_word : [K, V] or a fitted topic model
        Topics, φ. Rows are normalised, so they may be pseudo-counts. Of a model its `topic_word_` is taken.
    X : Corpus, sparse matrix or array of counts
        Test documents. Documents with fewer than two distinct words are skipped. With a model also what its
        `transform` takes, such as texts.
    doc_topic_prior : float, [K] or [D, K]
        α, per topic, or per document and topic. None means 0.5 / K.
    fraction : float
        Share of the distinct words of a document from which its topics are inferred. The others are predicted.
    random_state : int or Generator
        Seed of the split. The split depends on it and on X, not on the topics.
    max_iter, tol
        The inference of a document ends when no expected count changes by tol, or after max_iter iterations.

    Returns
    -------
    float
        Nats per token. -inf if a held-out word has probability 0 in every topic: smooth the topics first.
    """
    return completion_scores(
        topic_word, X, doc_topic_prior=doc_topic_prior, fraction=fraction, random_state=random_state,
        max_iter=max_iter, tol=tol,
    ).mean  # fmt: skip


def completion_scores(
    topic_word: object,
    X: object,
    *,
    doc_topic_prior: ArrayLike | None = None,
    fraction: float = 0.8,
    random_state: RandomState = 0,
    max_iter: int = 100,
    tol: float = 0.05,
) -> DocumentScores:
    """`completion_score` for each document."""
    topic_word, X = topics_and_documents(topic_word, X)
    parts = split_types(X, fraction=fraction, random_state=random_state)
    return _predicted(topic_word, parts, doc_topic_prior, max_iter, tol)


def half_split_score(
    topic_word: object,
    X: object,
    *,
    doc_topic_prior: ArrayLike | None = None,
    random_state: RandomState = 0,
    max_iter: int = 100,
    tol: float = 0.05,
) -> float:
    """Mean log predictive probability of a held-out token, with the tokens of a document split 50/50. This is easier
    than `completion_score`, because a word may be in both halves. Counts must be whole numbers."""
    topic_word, X = topics_and_documents(topic_word, X)
    parts = split_tokens(X, random_state=random_state)
    return _predicted(topic_word, parts, doc_topic_prior, max_iter, tol).mean


class DocumentParts(NamedTuple):
    """Two parts of the words of documents, numbered among those that occur."""

    words: np.ndarray  # [n] ids, ascending
    known: sp.csr_array  # [D, n]
    held: sp.csr_array  # [D, n]

    @classmethod
    def of(cls, A: sp.csr_array, B: sp.csr_array) -> DocumentParts:
        words = np.union1d(A.indices, B.indices)
        return cls(words, A[:, words], B[:, words])

    def scores(
        self,
        table: np.ndarray,
        doc_topic_prior: ArrayLike | None = None,
        max_iter: int = 100,
        tol: float = 0.05,
    ) -> DocumentScores:
        """Of the held-out tokens, with the topics of each document inferred from the known ones. `table` [words, K] has
        the words that occur: a document reads whole rows of it."""
        A, B, D, K = self.known, self.held, self.known.shape[0], table.shape[1]
        priors = np.asarray(0.5 / K if doc_topic_prior is None else doc_topic_prior, np.float64)
        if priors.ndim == 2 and len(priors) != D:
            raise ValueError(f"doc_topic_prior has {len(priors)} rows for {D} documents")
        alpha = prior_of(priors[0] if priors.ndim == 2 and len(priors) else priors, "doc_topic_prior", K)
        log_likelihood, n_tokens = np.zeros(D), np.diff(np.concatenate([[0.0], np.cumsum(B.data)])[B.indptr])
        # One BLAS thread: the products are small, and the sums are the same for any number of cores.
        with threadpool_limits(1, user_api="blas"), np.errstate(divide="ignore"):
            for d in np.flatnonzero(n_tokens > 0):
                a, b = slice(A.indptr[d], A.indptr[d + 1]), slice(B.indptr[d], B.indptr[d + 1])
                alpha = prior_of(priors[d], "doc_topic_prior", K) if priors.ndim == 2 else alpha
                gamma = alpha + fold_in(table[A.indices[a]], A.data[a], alpha, max_iter=max_iter, tol=tol)
                log_likelihood[d] = B.data[b] @ np.log(table[B.indices[b]] @ (gamma / gamma.sum()))
        return DocumentScores(log_likelihood, n_tokens)


def _predicted(
    topic_word: object,
    parts: tuple[sp.csr_array, sp.csr_array],
    doc_topic_prior: ArrayLike | None,
    max_iter: int,
    tol: float,
) -> DocumentScores:
    phi, known, V = as_topics(topic_word), DocumentParts.of(*parts), parts[0].shape[1]
    if phi.shape[1] != V:
        raise ValueError(f"the documents have {V} words, the topics {phi.shape[1]}: both need the same vocabulary")
    table = np.ascontiguousarray((phi[:, known.words] / row_sums(phi)[:, None]).T)
    return known.scores(table, doc_topic_prior, max_iter, tol)


def completion_scorer(estimator: BaseEstimator, X: object, y: object = None) -> float:
    """Mean log probability of held-out words of X under the topics of a fitted estimator, in nats per token. Pass it
    as `scoring=` to GridSearchCV, cross_val_score and other tuners.

    `score` of a topic model is a bound that has seen the words, and cannot be compared between two kinds of inference.
    The last step of a Pipeline must be a topic model.
    """
    from sklearn.pipeline import Pipeline  # here, because it takes a while to load

    model = estimator
    if isinstance(estimator, Pipeline):
        *steps, (_, model) = estimator.steps
        for _, step in steps:
            X = X if step is None or step == "passthrough" else step.transform(X)
    if not isinstance(model, TopicModelLike):
        raise ValueError(f"completion_scorer needs a fitted topic model, and a {type(model).__name__} has no topics")
    return completion_score(model, X)


# Splits of test documents into two parts: A to infer the topics of a document, B to predict.


def split_types(
    X: object, *, fraction: float = 0.8, random_state: RandomState = 0
) -> tuple[sp.csr_array, sp.csr_array]:
    """A and B, both [D, V]: ceil(fraction n) of the n distinct words of each document, at random, are in A with all
    their tokens, and at least one is in B. Documents with fewer than two distinct words are empty in both."""
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction}: pass a number between 0 and 1")
    rows, rng = as_counts(X), np.random.default_rng(random_state)
    in_a = np.zeros(rows.nnz, dtype=bool)
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:]):
        n = int(end - begin)
        order = rng.permutation(n)
        in_a[begin + order[: min(int(np.ceil(fraction * n)), n - 1)]] = n >= 2
    split = np.repeat(np.diff(rows.indptr) >= 2, np.diff(rows.indptr))
    return _with_data(rows, rows.data * in_a), _with_data(rows, rows.data * (split & ~in_a))


def split_tokens(X: object, *, random_state: RandomState = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """A and B, both [D, V]: random halves of the tokens of each document, so a word may be in both. A is larger if
    their number is odd. Documents with fewer than two tokens are empty in both. Counts must be whole numbers."""
    rows, rng = as_counts(X), np.random.default_rng(random_state)
    counts = rows.data.astype(np.int64)
    if np.any(counts != rows.data):
        raise ValueError("X has counts that are not whole numbers, which cannot be split into tokens")
    b = np.zeros(rows.nnz, dtype=np.int64)
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:]):
        c = counts[begin:end]
        if c.sum() < 2:
            counts[begin:end] = 0
        else:
            b[begin:end] = rng.multivariate_hypergeometric(c, int(c.sum()) // 2, method="marginals")
    return _with_data(rows, counts - b), _with_data(rows, b)


def _with_data(rows: sp.csr_array, data: np.ndarray) -> sp.csr_array:
    part = sp.csr_array((data.astype(np.float64), rows.indices.copy(), rows.indptr.copy()), shape=rows.shape)
    part.eliminate_zeros()
    return part


# Log likelihood of tokens, given the topic weights of documents or the topic of each token.


def token_log_likelihood(doc_topic: ArrayLike, topic_word: ArrayLike, X: object) -> float:
    """Mean over tokens of log Σ_k θ_dk φ_kw, for methods that infer θ [D, K] themselves. Rows of θ and φ [K, V] are
    normalised, and X are counts."""
    phi, theta = as_distributions(topic_word), as_distributions(doc_topic, "doc_topic")
    rows = as_counts(X, phi.shape[1])
    if theta.shape != (rows.shape[0], len(phi)):
        raise ValueError(f"doc_topic has the shape {theta.shape}; it must be {(rows.shape[0], len(phi))}")
    total = 0.0
    with np.errstate(divide="ignore"):
        for d, (begin, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:])):
            total += rows.data[begin:end] @ np.log(theta[d] @ phi[:, rows.indices[begin:end]])
    if not rows.nnz:
        raise ValueError("X has no tokens")
    return float(total / rows.data.sum())


def discrete_log_likelihood(topic_word: ArrayLike, X: object, assignments: ArrayLike) -> float:
    """Mean over tokens of log φ_{z,w}, where each token of the counts X has one topic, as in k-means.

    `assignments` has the topic z of each token, or one for all tokens of a word in a document: by rows, then by words,
    with tokens of the same word next to each other.
    """
    phi = as_distributions(topic_word)
    rows = as_counts(X, phi.shape[1])
    z = np.asarray(assignments)
    if z.ndim != 1 or not np.issubdtype(z.dtype, np.integer):
        raise ValueError("assignments must be a one-dimensional array of whole numbers")
    word, weight = rows.indices, rows.data
    if len(z) != rows.nnz:
        word, weight = np.repeat(word, weight.astype(np.int64)), np.ones(len(z))
    if len(z) != len(word):
        raise ValueError(
            f"{len(z)} assignments for {len(word)} tokens: pass one per token, or one per entry of X ({rows.nnz})"
        )
    if len(z) and (z.min() < 0 or z.max() >= len(phi)):
        raise ValueError(f"assignments must be topics from 0 to {len(phi) - 1}")
    if weight.sum() == 0:
        raise ValueError("X has no tokens")
    with np.errstate(divide="ignore"):
        return float(weight @ np.log(phi[z, word]) / weight.sum())
