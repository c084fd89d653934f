"""Document completion: how well topics predict words held out of a document, given its other words.

    score = Σ_d Σ_{n in B_d} log Σ_k π̂_dk φ_k,w_n / Σ_d |B_d|,   π̂_dk = (N_dk + α_k) / Σ_k (N_dk + α_k)

where N_d is folded in from A_d. Natural logarithm, so nats a token; higher is better, and 0 is certainty. Everything is
computed from the topics' K × V matrix alone, so that methods which learn in different ways are judged by one evaluator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from topmix.metrics.counts import Floats, RandomState, as_prior, as_topics, row_sums
from topmix.metrics.fold_in import fold_in
from topmix.metrics.splits import split_tokens, split_types


class DocumentScores(NamedTuple):
    """One entry a document; 0 tokens where it was too short to split."""

    log_likelihood: Floats  # [D] of B's tokens, summed
    n_tokens: Floats  # [D] in B

    @property
    def mean(self) -> float:
        """Per token, over all documents."""
        total = self.n_tokens.sum()
        if total == 0:
            raise ValueError("no document is long enough to be split in two")
        return float(self.log_likelihood.sum() / total)


def completion_score(
    topic_word: ArrayLike,
    X: Any,
    *,
    doc_topic_prior: ArrayLike | None = None,
    fraction: float = 0.8,
    random_state: RandomState = 0,
    max_iter: int = 100,
    tol: float = 0.05,
) -> float:
    """Mean log predictive probability of a held-out token; types split 80/20.

    Parameters
    ----------
    topic_word : [K, V]
        Topics, φ. Rows are normalised, so pseudo-counts will do.
    X : Corpus, sparse matrix or array of counts
        Test documents. Those with fewer than two distinct words are skipped.
    doc_topic_prior : float or [K]
        α, per topic. None is 0.5 / K.
    fraction : float
        Share of a document's distinct words to learn its topics from; the rest is predicted.
    random_state : int or Generator
        The split depends on this and on X only, not on the topics.
    max_iter, tol
        A document's topics are settled when no expected count moves by tol, or after max_iter iterations.

    Returns
    -------
    float
        Nats a token. -inf if a held-out word has probability 0 in every topic: smooth the topics first.
    """
    return completion_scores(
        topic_word, X, doc_topic_prior=doc_topic_prior, fraction=fraction, random_state=random_state,
        max_iter=max_iter, tol=tol,
    ).mean  # fmt: skip


def completion_scores(
    topic_word: ArrayLike,
    X: Any,
    *,
    doc_topic_prior: ArrayLike | None = None,
    fraction: float = 0.8,
    random_state: RandomState = 0,
    max_iter: int = 100,
    tol: float = 0.05,
) -> DocumentScores:
    """`completion_score` document by document."""
    A, B = split_types(X, fraction=fraction, random_state=random_state)
    return predict(topic_word, A, B, doc_topic_prior, max_iter, tol)


def half_split_score(
    topic_word: ArrayLike,
    X: Any,
    *,
    doc_topic_prior: ArrayLike | None = None,
    random_state: RandomState = 0,
    max_iter: int = 100,
    tol: float = 0.05,
) -> float:
    """Mean log predictive probability of a held-out token; tokens split 50/50.

    Easier than `completion_score`: a word may be in both halves, and many are. The arguments are the same, but counts
    must be whole numbers.
    """
    A, B = split_tokens(X, random_state=random_state)
    return predict(topic_word, A, B, doc_topic_prior, max_iter, tol).mean


def predict(
    topic_word: ArrayLike,
    A: sp.csr_array,
    B: sp.csr_array,
    doc_topic_prior: ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 0.05,
) -> DocumentScores:
    """Scores of the tokens of B [D, V], with each document's topics folded in from A [D, V]."""
    phi = as_topics(topic_word)
    K, V = phi.shape
    if A.shape[1] != V:
        raise ValueError(f"the documents have {A.shape[1]} words, the topics {V}")
    alpha = as_prior(doc_topic_prior, K)
    # Only words that occur, word-major: a document then gathers whole rows, and a large vocabulary is not copied.
    words, ids = np.unique(np.concatenate([A.indices, B.indices]), return_inverse=True)
    table = np.ascontiguousarray((phi[:, words] / row_sums(phi)[:, None]).T)  # [words, K]
    id_a, id_b = ids[: A.nnz], ids[A.nnz :]

    log_likelihood, n_tokens = np.zeros(A.shape[0]), np.asarray(B.sum(axis=1), dtype=np.float64).ravel()
    # One BLAS thread: the products are too small for more, and the sums come out the same on any machine of its kind.
    with threadpool_limits(1, user_api="blas"), np.errstate(divide="ignore"):
        for d in np.flatnonzero(n_tokens):
            a, b = slice(A.indptr[d], A.indptr[d + 1]), slice(B.indptr[d], B.indptr[d + 1])
            gamma = alpha + fold_in(table[id_a[a]], A.data[a], alpha, max_iter=max_iter, tol=tol)
            log_likelihood[d] = B.data[b] @ np.log(table[id_b[b]] @ (gamma / gamma.sum()))
    return DocumentScores(log_likelihood, n_tokens)
