"""New documents under fitted topics or clusters: which of them they have, and how well these explain them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix import _core
from topmix.chains.hard_topics import HardTopics, place
from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows, Rows
from topmix.data.shard import Shards, in_order, row_sums
from topmix.engines import Engine
from topmix.fitted.mixture import FittedMixture
from topmix.fitted.topics import Fitted, FittedTopics, HardModel
from topmix.likelihoods.word_versions import WordVersions
from topmix.local.assign import Assigned, AssignStep
from topmix.local.fold_in import FoldedIn, FoldIn
from topmix.local.groups import AssignedGroups, AssignGroupsStep
from topmix.models.admixture import Admixture
from topmix.models.topics import TopicModel
from topmix.numerics.threads import use_threads

NO_TOPIC = -1
EXAMPLE_SMOOTHING = 20.0  # tokens


@dataclass(frozen=True)
class Solver:
    """Who solves documents."""

    engine: Engine
    threads: int
    n_active: int = 1  # clusters of a row that are kept, where there are clusters


def proportions(
    f: FittedTopics, corpus: Corpus, solver: Solver, *, normalize: bool = True, sparse: bool = False
) -> Any:
    """[documents, K] topic proportions, or tokens plus prior. Sparse rows have the topics that a document uses, and
    what the prior gives to the others is left out."""
    if isinstance(f.model, HardModel):
        return _placed_shares(f.model, corpus, solver.threads, normalize, sparse)
    if f.versions is not None and corpus.version is not None:
        found, rows = [], []
        for of_version, documents, here in by_version(f, f.versions, corpus):
            found.append(proportions(of_version, documents, solver, normalize=normalize, sparse=sparse))
            rows.append(here)
        return stacked(found)[np.argsort(np.concatenate(rows), kind="stable")]
    K = f.model.n_components
    parts = []
    for documents, folded in fold_in(f.model, corpus, solver):
        docs, n = folded.docs, documents.n_docs
        counts = sp.csr_array((docs.count.astype(np.float64), docs.topic, docs.indptr), shape=(n, K))
        lengths = row_sums(documents.indptr, documents.value)
        alpha = f.model.prior.of(documents.design).of_documents()  # [1 or documents, K]
        scale = 1.0 / (lengths + alpha.sum(axis=1)) if normalize else np.ones(n)
        if sparse:
            row = np.repeat(np.arange(n), np.diff(docs.indptr))
            counts.data += np.broadcast_to(alpha, (n, K))[row, docs.topic]
            counts.data *= np.repeat(scale, np.diff(docs.indptr))
            parts.append(counts)
        else:
            theta = counts.toarray() + alpha
            parts.append(theta / theta.sum(axis=1, keepdims=True) if normalize else theta)
    return stacked(parts)


def score(f: FittedTopics | FittedMixture, corpus: Corpus, solver: Solver) -> float:
    """A lower bound on the log likelihood of documents given the topics; of hard topics, minus their objective."""
    if isinstance(f, FittedMixture):
        if isinstance(corpus.vectors, GroupedRows):
            scored = assigned_groups(f, corpus.vectors, solver, keep_clusters=False, want_likelihood=True)
            return float(sum(a.likelihood.sum() for a in scored))
        rows = corpus if corpus.vectors is None else corpus.vectors
        return float(sum(a.likelihood.sum() for a in assigned(f, rows, solver, f.n_topics, keep_clusters=False)))
    if isinstance(f.model, HardModel):
        return -placed(f.model, corpus, solver.threads)[1]
    if f.versions is not None and corpus.version is not None:
        return sum(
            score(of_version, documents, solver) for of_version, documents, _ in by_version(f, f.versions, corpus)
        )
    return sum(folded.bound for _, folded in fold_in(f.model, corpus, solver, want_bound=True))


def by_version(
    f: FittedTopics, versions: WordVersions, corpus: Corpus
) -> Iterator[tuple[FittedTopics, Corpus, NDArray[np.int64]]]:
    """Documents of each version with its topics, and their rows. Those of no version that is known have what all
    versions share."""
    assert corpus.version is not None
    for t in np.unique(corpus.version) if corpus.n_docs else [0]:
        rows = np.flatnonzero(corpus.version == t)
        words = versions.words(None if t < 0 else int(t))
        yield replace(f, model=replace(f.topics, words=words), versions=None), corpus[rows], rows


def fold_in(
    model: TopicModel, corpus: Corpus, solver: Solver, *, want_bound: bool = False
) -> Iterator[tuple[Corpus, FoldedIn]]:
    """Documents under the topics as they are, a shard at a time, by the engine's workers."""
    engine, threads = solver.engine, solver.threads
    shards = Shards(corpus, in_order(corpus), keep=not engine.maps_files)
    workers = engine.open(shards, FoldIn(want_bound), threads)
    try:
        results = workers.run(workers.place(model).tables, range(len(shards)))
        for _ in range(len(shards)):
            with use_threads(threads):
                b, folded, _ = next(results)
            yield corpus[shards.rows[b]], folded
    finally:
        workers.close()


def placed(model: HardModel, corpus: Corpus, threads: int) -> tuple[HardTopics, float]:
    """Tokens of new documents by the algorithm Word, and what they cost."""
    return place(corpus, model.counts, model.penalty, model.smoothing, threads)


def _placed_shares(model: HardModel, corpus: Corpus, threads: int, normalize: bool, sparse: bool) -> Any:
    hard, _ = placed(model, corpus, threads)
    K = hard.n_components
    indptr, topic, count = _core.document_topics(hard.tokens, hard.z, K, hard.threads)
    counts = sp.csr_array((count.astype(np.float64), topic.astype(np.int32), indptr), shape=(hard.n_docs, K))
    sums = np.asarray(counts.sum(axis=1)).ravel()
    if normalize:
        counts.data /= np.repeat(sums, np.diff(indptr))
    if sparse:
        return counts
    dense = counts.toarray()
    if normalize:
        dense[sums == 0] = 1.0 / K
    return dense


def assigned(
    f: FittedMixture, rows: Corpus | Rows, solver: Solver, L: int, *, keep_clusters: bool = True
) -> Iterator[Assigned]:
    """The L best clusters of all rows, a shard at a time, by the engine's workers."""
    shards = Shards(rows, in_order(rows))
    workers = solver.engine.open(shards, AssignStep(type(f.model.likelihood), L, keep_clusters), solver.threads)
    first = 0
    try:
        results = workers.run(workers.place(f.model).tables, range(len(shards)))
        for _ in range(len(shards)):
            with use_threads(solver.threads):
                _, found, _ = next(results)
            refuse_too_far(found.likelihood, first)
            first += len(found.likelihood)
            yield found
        del results  # which has the model where the workers read it
    finally:
        workers.close()


def assigned_groups(
    f: FittedMixture,
    data: GroupedRows,
    solver: Solver,
    *,
    keep_clusters: bool = True,
    want_likelihood: bool = False,
    weight: np.ndarray | None = None,
) -> Iterator[AssignedGroups]:
    """Groups under the clusters of an admixture, a shard at a time, by the engine's workers."""
    shards = Shards(data, in_order(data), weight)
    step = AssignGroupsStep(type(f.model.likelihood), solver.n_active, keep_clusters, want_likelihood)
    workers = solver.engine.open(shards, step, solver.threads)
    try:
        results = workers.run(f.model.tables, range(len(shards)))
        for _ in range(len(shards)):
            with use_threads(solver.threads):
                _, found, _ = next(results)
            refuse_too_far(found.likelihood, 0)
            yield found
        del results  # which has the rows where the workers read them
    finally:
        workers.close()


def refuse_too_far(likelihood: np.ndarray, first: int) -> None:
    """Rows so far from all clusters that none of them has a likelihood. `first` is the number of the first row."""
    far = np.flatnonzero(~np.isfinite(likelihood))
    if len(far):
        raise ValueError(
            f"row {first + int(far[0])} of X is so far from all clusters that its likelihood is not a number; "
            "float64 reaches further than float32"
        )


def probabilities(a: Assigned, K: int) -> sp.csr_array:
    """[rows, K] posterior probabilities of the clusters that were kept."""
    r = a.r.astype(np.float64)
    r /= r.sum(axis=1, keepdims=True)  # float32 shares sum to one only roughly
    return sp.csr_array((r.ravel(), a.cluster.ravel(), np.arange(0, r.size + 1, r.shape[1])), shape=(len(r), K))


class Visited(NamedTuple):
    """Documents under topics or clusters."""

    shares: sp.csr_array  # [documents, K] of the topics that they use
    tokens: NDArray[np.float64]  # [documents] that the model knows
    weight: NDArray[np.float64]  # [documents] from 0 to 1: how good an example of its topics a document is; 0: of none


def visited(f: Fitted, corpus: Corpus, solver: Solver) -> Visited:
    tokens = row_sums(corpus.indptr, corpus.value)
    if isinstance(f, FittedTopics):
        return Visited(sp.csr_array(proportions(f, corpus, solver, sparse=True)), tokens, example_weight(tokens))
    assert isinstance(f, FittedMixture)
    if isinstance(corpus.vectors, GroupedRows):
        return _visited_groups(f, corpus.vectors, solver)
    rows = corpus if corpus.vectors is None else corpus.vectors
    parts = [(probabilities(a, f.n_topics), a.likelihood) for a in assigned(f, rows, solver, solver.n_active)]
    shares = sp.csr_array(sp.vstack([part for part, _ in parts]))
    if corpus.vectors is None:
        return Visited(shares, tokens, example_weight(tokens))
    return Visited(shares, tokens, _typical(f, shares, np.concatenate([of_rows for _, of_rows in parts]), solver))


def _visited_groups(f: FittedMixture, data: GroupedRows, solver: Solver) -> Visited:
    """Documents that are groups of vectors: their rows stand for tokens."""
    assert isinstance(f.model, Admixture)
    parts = [sp.csr_array(a.N) for a in assigned_groups(f, data, solver, keep_clusters=False)]
    shares, n, alpha = sp.csr_array(sp.vstack(parts)), data.lengths(), f.model.prior.alpha
    shares.data += alpha[shares.indices]
    shares.data /= np.repeat(n + alpha.sum(), np.diff(shares.indptr))
    return Visited(shares, n, example_weight(n))


def example_weight(length: NDArray[np.float64]) -> NDArray[np.float64]:
    """How good an example a document of this many tokens is: tokens / (tokens + 20).

    The share of a topic in a short document is easily 1. So a long document about the topic comes before a short one
    that happens to use its words.
    """
    found: NDArray[np.float64] = length / (length + EXAMPLE_SMOOTHING)
    return found


def _typical(
    f: FittedMixture, shares: sp.csr_array, likelihood: NDArray[np.float64], solver: Solver
) -> NDArray[np.float64]:
    """How good an example a vector is, whose probability is easily 1 in hundreds of dimensions: its density in its
    cluster, over that at the mean of the cluster, and per dimension."""
    K, (main, weight) = f.n_topics, main_topics(shares)
    parts = [(probabilities(a, K), a.likelihood) for a in assigned(f, Rows(f.model.likelihood.mean()), solver, K)]
    own = sp.csr_array(sp.vstack([part for part, _ in parts])).diagonal()
    at_mean = np.concatenate([of_rows for _, of_rows in parts]) + np.log(np.maximum(own, 1e-300))
    density = likelihood + np.log(np.maximum(weight, 1e-300)) - at_mean[main]
    return np.clip(np.exp(np.minimum(density / f.reading.n_features, 0.0)), 1e-9, 1.0)


def main_topics(shares: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The topic with the largest entry of each row, the first of several, and that entry."""
    n, some = shares.shape[0], np.flatnonzero(np.diff(shares.indptr))
    main, weight = np.full(n, NO_TOPIC, dtype=np.int64), np.full(n, np.nan)
    if not len(some):
        return main, weight
    starts = shares.indptr[some]
    weight[some] = np.maximum.reduceat(shares.data, starts)
    is_best = shares.data == np.repeat(weight[some], np.diff(shares.indptr)[some])
    main[some] = np.minimum.reduceat(np.where(is_best, shares.indices, shares.shape[1]), starts)
    return main, weight


def stacked(parts: Iterable[Any]) -> Any:
    """Rows below each other. A dense result grows in place, so that it is not in memory twice."""
    parts = iter(parts)
    whole = next(parts)
    if sp.issparse(whole):
        rest = list(parts)
        return sp.vstack([whole, *rest], format="csr") if rest else whole
    for part in parts:
        n = len(whole)
        if not whole.flags.owndata:
            whole = whole.copy()
        whole.resize((n + len(part), *whole.shape[1:]), refcheck=False)
        whole[n:] = part
    return whole
