"""Document completion: how well topics predict held-out words of a document from its other words.

    score = Σ_d Σ_{n in B_d} log Σ_k π̂_dk φ_k,w_n / Σ_d |B_d|,   π̂_dk = (N_dk + α_k) / Σ_k (N_dk + α_k)

N_d comes from A_d by `fold_in`. The unit is nats per token: higher is better, and 0 is a certain prediction. The score
depends only on the K × V matrix of topics, so it can compare topics of all methods.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from topmix.metrics.counts import Floats, RandomState, as_prior, as_topics, row_sums, topics_and_documents
from topmix.metrics.engine import MeasuringEngine, Words, checked
from topmix.metrics.fold_in import fold_in
from topmix.metrics.splits import split_tokens, split_types


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
    engine: MeasuringEngine | None = None,
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
    engine : Cuda or None
        Where documents are computed: `topmix.engines.Cuda()` is a GPU. None is the processor.

    Returns
    -------
    float
        Nats per token. -inf if a held-out word has probability 0 in every topic: smooth the topics first.
    """
    return completion_scores(
        topic_word, X, doc_topic_prior=doc_topic_prior, fraction=fraction, random_state=random_state,
        max_iter=max_iter, tol=tol, engine=engine,
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
    engine: MeasuringEngine | None = None,
) -> DocumentScores:
    """`completion_score` for each document."""
    topic_word, X = topics_and_documents(topic_word, X)
    A, B = split_types(X, fraction=fraction, random_state=random_state)
    return predict(topic_word, A, B, doc_topic_prior, max_iter, tol, engine)


def half_split_score(
    topic_word: object,
    X: object,
    *,
    doc_topic_prior: ArrayLike | None = None,
    random_state: RandomState = 0,
    max_iter: int = 100,
    tol: float = 0.05,
    engine: MeasuringEngine | None = None,
) -> float:
    """Mean log predictive probability of a held-out token, with the tokens of a document split 50/50.

    This is easier than `completion_score`, because a word may be in both halves. The arguments are the same, except
    that counts must be whole numbers.
    """
    topic_word, X = topics_and_documents(topic_word, X)
    A, B = split_tokens(X, random_state=random_state)
    return predict(topic_word, A, B, doc_topic_prior, max_iter, tol, engine).mean


def predict(
    topic_word: object,
    A: sp.csr_array,
    B: sp.csr_array,
    doc_topic_prior: ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 0.05,
    engine: MeasuringEngine | None = None,
) -> DocumentScores:
    """Scores of the tokens of B [D, V], with the topics of each document inferred from A [D, V]."""
    phi = as_topics(topic_word)
    V = phi.shape[1]
    if A.shape[1] != V:
        raise ValueError(f"the documents have {A.shape[1]} words, the topics {V}: both need the same vocabulary")
    parts = parts_of(A, B)
    table = np.ascontiguousarray((phi[:, parts.words] / row_sums(phi)[:, None]).T)
    return predict_parts(table, parts, doc_topic_prior, max_iter, tol, engine)


class Parts(NamedTuple):
    """Two parts of the words of documents, numbered among those that occur."""

    words: np.ndarray  # [n] ids, ascending
    known: Words
    held: Words


def parts_of(A: sp.csr_array, B: sp.csr_array) -> Parts:
    words, ids = np.unique(np.concatenate([A.indices, B.indices]), return_inverse=True)
    return Parts(words, Words(A.indptr, ids[: A.nnz], A.data), Words(B.indptr, ids[A.nnz :], B.data))


def predict_parts(
    table: np.ndarray,
    parts: Parts,
    doc_topic_prior: ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 0.05,
    engine: MeasuringEngine | None = None,
) -> DocumentScores:
    """The same, under a table [words, K] of the words that occur: a document reads whole rows of it."""
    (A, B), D, K = (parts.known, parts.held), len(parts.known.indptr) - 1, table.shape[1]
    priors = np.asarray(0.5 / K if doc_topic_prior is None else doc_topic_prior, np.float64)
    if priors.ndim == 2 and len(priors) != D:
        raise ValueError(f"doc_topic_prior has {len(priors)} rows for {D} documents")
    alpha = as_prior(priors[0] if priors.ndim == 2 and len(priors) else priors, K)
    log_likelihood, n_tokens = np.zeros(D), np.diff(np.concatenate([[0.0], np.cumsum(B.tokens)])[B.indptr])
    todo = n_tokens > 0
    if (chosen := checked(engine)) is not None and table.size and priors.ndim < 2:
        log_likelihood = chosen.held_out(table, A, B, alpha, max_iter, tol)
        todo &= np.isnan(log_likelihood)
    # One BLAS thread: the products are small, and the sums are the same for any number of cores.
    with threadpool_limits(1, user_api="blas"), np.errstate(divide="ignore"):
        for d in np.flatnonzero(todo):
            a, b = slice(A.indptr[d], A.indptr[d + 1]), slice(B.indptr[d], B.indptr[d + 1])
            alpha = as_prior(priors[d], K) if priors.ndim == 2 else alpha
            gamma = alpha + fold_in(table[A.word[a]], A.tokens[a], alpha, max_iter=max_iter, tol=tol)
            log_likelihood[d] = B.tokens[b] @ np.log(table[B.word[b]] @ (gamma / gamma.sum()))
    return DocumentScores(log_likelihood, n_tokens)


def completion_scorer(estimator: Any, X: object, y: object = None) -> float:
    """Mean log probability of held-out words of X under the topics of a fitted estimator, in nats per token. A scorer
    for GridSearchCV, cross_val_score and other tuners.

    Pass it as `scoring=`. `score` of a topic model is a bound that has seen the words; it is not a held-out score, and
    cannot be compared between two kinds of inference. A model with engine="cuda" is scored on the GPU. The last step of
    a Pipeline must be a topic model.
    """
    *steps, (_, model) = getattr(estimator, "steps", [("", estimator)])
    for _, step in steps:
        X = X if step is None or step == "passthrough" else step.transform(X)
    if not hasattr(model, "topic_word_"):
        raise ValueError(f"completion_scorer needs a fitted topic model, and a {type(model).__name__} has no topics")
    engine = model._engine() if hasattr(model, "_engine") else None
    return completion_score(model, X, engine=engine if isinstance(engine, MeasuringEngine) else None)
