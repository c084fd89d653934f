"""What benchmarks compute with parts of topmix that are not public: bounds under given posteriors, single steps.

Everything here may break when the library changes inside; scripts do not reach in by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.harness.methods import ours
from benchmarks.harness.stopwatch import best_of
from topmix import _core
from topmix.base.dirichlet import expected_log, log_normaliser
from topmix.base.threads import use_threads
from topmix.corpus.shard import Shard
from topmix.data import Corpus, Rows
from topmix.engines.local import Threads
from topmix.estimators.priors import FirstTopics
from topmix.inference import Variational
from topmix.io.reading import Reading
from topmix.learn.asynchronous_mixture import AsynchronousMixture
from topmix.learn.asynchronous_topics import AsynchronousTopics, Travel, statistics
from topmix.learners import Task
from topmix.models.gaussian import Gaussian
from topmix.results.topics import FittedTopics
from topmix.steps.documents import solve

# Topics


def first_model(lda: Any, corpus: Corpus, rng: np.random.Generator) -> Any:
    """The model that a fit of this LDA would start from."""
    return FirstTopics(lda.init, lda._empty_model(corpus.n_words), corpus)(rng)[0]


def bound_of_topics(counts: np.ndarray, lda: Any, eta: float, X: Any) -> float:
    """The bound on X under q(phi) = Dir(counts + eta), counts [K, V], with documents at their best for this LDA."""
    topics = clone(lda).set_params(init=counts, topic_word_prior=eta, callbacks=None)
    start = first_model(topics, Corpus.from_scipy(X), np.random.default_rng(0))
    topics._fitted = FittedTopics(reading=Reading(X.shape[1]), model=start)
    lam = counts.T + eta
    prior = np.full_like(lam, eta)
    kl = log_normaliser(lam) - log_normaliser(prior) + ((lam - prior) * expected_log(lam)).sum(axis=0)
    return topics.score(X) - float(kl.sum())


def asynchronous_passes(X: Any, K: int, workers: int, n_passes: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and bound of each pass of asynchronous learning, counted from the initial topics.

    Snapshots are read while the workers go on, and their bounds are computed when all is over: an observer needs a
    processor too, which one worker on two leaves idle and two workers do not.
    """
    corpus = Corpus.from_scipy(X)
    model = first_model(ours.lda(K, inference="variational"), corpus, np.random.default_rng(0))
    begin = time.perf_counter()
    topics = AsynchronousTopics(corpus, model, workers, Travel(K, warm_up=0), n_passes)
    topics.native.start(n_passes)
    found = [(topics.native.next(), time.perf_counter() - begin) for _ in range(n_passes)]
    topics.close()
    totals = [statistics(snapshot, model, topics.lengths) for snapshot, _ in found]
    bounds = [sum(model.update(total).bound(total).values()) for total in totals]
    return np.array([t for _, t in found]), np.array(bounds)


def shard_of(X: Any) -> Shard:
    return Shard.of(Corpus.from_scipy(X))


def cost_of_local_step(
    shard: Shard, fitted: Any, L: int, selection: str, repeat: int = 3
) -> tuple[float, float, np.ndarray]:
    """Processor seconds without and with sums by word, and proportions [documents, K], under a fitted LDA's topics."""
    K, scratch = fitted.n_components, _core.TopicScratch()

    def tables(iterations: int) -> Any:
        inference = Variational(
            min_topic_mass=0.0, doc_tol=0.0, selection=selection, max_doc_update_iter=iterations
        )  # fmt: skip
        return replace(fitted.model_, document_options=inference.document_options(L)).tables(shard.cols)

    def spent(given: Any, want_words: bool, times: int) -> float:
        with use_threads(1):
            return best_of(times, lambda: solve(shard, given, scratch, want_words=want_words), time.process_time)

    all_made, one_made = tables(100), tables(1)
    local = spent(all_made, False, repeat)
    # Of one iteration, where they are not lost in the rest.
    sums = spent(one_made, True, 2 + repeat) - spent(one_made, False, 2 + repeat)
    with use_threads(1):
        docs = solve(shard, all_made, scratch, want_words=False).docs
    counts = np.zeros((shard.n_rows, K))
    counts[np.repeat(np.arange(shard.n_rows), np.diff(docs.indptr)), docs.topic] = docs.count
    return local, local + sums, counts / counts.sum(axis=1, keepdims=True)


# Gaussian mixtures


def bound_of_mixture(fitted: Any, X: np.ndarray) -> float:
    """On all rows, each with its best responsibilities under the mixture.

    The bound is linear in the statistics, so by Eq. (1.6) it is the sum over rows, and the bound without any rows.
    """
    model = fitted.model_
    return float(fitted.score_samples(X).sum()) + sum(model.bound(model.no_stats()).values())


def asynchronous_mixture(
    estimator: Any, X: np.ndarray, weight: np.ndarray | None, L: int, workers: int, threads: int,
    rows_per_update: int, rng: np.random.Generator, seed: int,
) -> AsynchronousMixture:  # fmt: skip
    """Workers on rows that have made their first pass; `native` is there, and not started."""
    data, K, rows = Rows(X), estimator.n_components, [slice(0, len(X))]
    start, pseudo_counts = estimator._first_clusters(data, weight, K)(rng)
    task = Task(data, start, rows, estimator._local_step(K), Threads(), threads, L, max_iter=1, weight=weight)
    mixture = AsynchronousMixture(task, workers, rows_per_update, seed)
    model, _ = mixture.first_pass(start, pseudo_counts)
    mixture.native = mixture.opened(model)
    return mixture


@contextmanager
def timed_summaries() -> Iterator[list[float]]:
    """Inside the block, the first element is the seconds that were spent in Gaussian.summarise."""
    spent, original = [0.0], Gaussian.summarise

    def timed(*args: Any) -> Any:
        begin = time.perf_counter()
        found = original(*args)
        spent[0] += time.perf_counter() - begin
        return found

    Gaussian.summarise = staticmethod(timed)  # type: ignore[method-assign,assignment]
    try:
        yield spent
    finally:
        Gaussian.summarise = staticmethod(original)  # type: ignore[method-assign,assignment]
