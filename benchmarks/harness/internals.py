"""What benchmarks compute with parts of topmix that are not public: bounds under given posteriors, single steps.

Everything here may break when the library changes inside; scripts do not reach in by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from benchmarks.harness.methods import ours
from benchmarks.harness.stopwatch import best_of
from topmix.data import Corpus
from topmix.data.shard import Shard
from topmix.data.table import Table
from topmix.data.vectors import VectorShard
from topmix.learners.asynchronous import Course, Fleet
from topmix.learners.stochastic import blend
from topmix.likelihoods.gaussian import Gaussian
from topmix.local import MixtureStep
from topmix.numerics.dirichlet import expected_log, log_normaliser

# Topics


def bound_of_topics(pseudo_counts: np.ndarray, settings: ours.Settings, eta: float, X: Any) -> float:
    """The bound on X under q(phi) = Dir(pseudo_counts [K, V]), with documents at their best."""
    topics = ours.lda(len(pseudo_counts), **settings | {"init": pseudo_counts - eta})
    topics._set_model(topics._start(Corpus.from_scipy(X), np.random.default_rng(0), 2))
    lam = pseudo_counts.T
    prior = np.full_like(lam, eta)
    kl = log_normaliser(lam) - log_normaliser(prior) + ((lam - prior) * expected_log(lam)).sum(axis=0)
    return topics.score(X) - float(kl.sum())


def asynchronous_passes(X: Any, K: int, threads: int, n_passes: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and bound of each pass of asynchronous learning, from where the initial topics are there.

    Snapshots are read while the workers go on, and their bounds are computed when all is over: an observer needs a
    processor too, which one worker on two leaves idle and two workers do not.
    """
    corpus = Corpus.from_scipy(X)
    model = ours.lda(K, inference="variational", random_state=0)._start(corpus, np.random.default_rng(0), threads)
    begin = time.perf_counter()
    fleet = Fleet.of(corpus, model, threads, Course(K, opening=0))
    fleet.native.start(n_passes)
    found = [(fleet.native.next(), time.perf_counter() - begin) for _ in range(n_passes)]
    fleet.native.stop()
    totals = [fleet.statistics(snapshot, model) for snapshot, _ in found]
    bounds = [sum(model.update(total).bound(total).values()) for total in totals]
    return np.array([t for _, t in found]), np.array(bounds)


def shard_of(X: Any) -> Shard:
    return Shard.of(Corpus.from_scipy(X))


def cost_of_local_step(
    shard: Shard, fitted: Any, L: int, selection: str, repeat: int = 3
) -> tuple[float, float, np.ndarray]:
    """Processor seconds without and with sums by word, and proportions [documents, K], under a fitted LDA's topics."""
    K = fitted.n_components
    settings = {"n_active": L, "min_topic_mass": 0.0, "doc_tol": 0.0, "selection": selection}
    step = ours.lda(K, inference="variational", **settings)._step(K)
    tables = fitted.model_.tables(shard.cols)

    def solve(want_words: bool) -> Any:
        return step.solve(shard, tables, 1, want_words=want_words)

    seconds = [best_of(repeat, lambda want=want: solve(want), time.process_time) for want in (False, True)]
    _, docs, _, _ = solve(False)
    counts = np.zeros((shard.n_rows, K))
    counts[np.repeat(np.arange(shard.n_rows), np.diff(docs.indptr)), docs.topic] = docs.count
    return seconds[0], seconds[1], counts / counts.sum(axis=1, keepdims=True)


# Gaussian mixtures


def copy_of_mixture(view: Any) -> Any:
    """What a callback sees, safe from what the fit does next. `settled` makes a posterior of it."""
    return replace(view, likelihood=replace(view.likelihood, total=view.likelihood.total.copy()))


def settled(copy: Any) -> Any:
    """The copy with its own posterior, from its own statistics."""
    return replace(copy, likelihood=copy.likelihood.update(copy.likelihood.total))


def stream_mixture(model: Any, X: np.ndarray, look: Callable[[Any], bool]) -> None:
    """The stochastic learner, step by step, until `look(view)` is True.

    The learner itself reports after each pass, and a pass of 100 rows at a time takes minutes.
    """
    data, rng, K = Table(X), np.random.default_rng(0), model.n_components
    threads, size = model.n_jobs or 1, min(model.batch_size or 4096, len(X))
    now, seed = model._started(model._prepared(data, None, K), data, None, K, rng, threads)
    step, rho = MixtureStep(Gaussian, model.n_active or K), model._step_size()
    total = now.no_stats(threads).add(seed)
    for t in count():
        shard = VectorShard(X, np.sort(rng.choice(len(X), size, replace=False)))
        new, _ = step(shard, now.tables(shard.cols), None, threads)
        now = now.update(blend(total, new, rho(t), float(len(X)), new.n_rows))
        if look(now):
            return


def bound_of_mixture(view: Any, X: np.ndarray, threads: int, L: int = 16) -> float:
    """On all rows, each with its best responsibilities under the mixture.

    The bound is linear in the statistics, so by Eq. (1.6) it is the sum over rows, and the bound without any rows.
    """
    shard = VectorShard(X, slice(0, len(X)))
    tables = view.tables(shard.cols)
    L = min(L, view.n_components)
    found = (Gaussian.assign(p, tables.likelihood, tables.log_weights, L, threads) for p in shard.pieces(1 << 15))
    return float(sum(a.likelihood.sum() for a in found)) + sum(view.bound(view.no_stats()).values())
