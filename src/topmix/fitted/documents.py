"""New documents under fitted topics: which topics they have, and how well the topics explain them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix import _core
from topmix.chains.hard_topics import HardTopics, place
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, in_order, row_sums
from topmix.engines import Engine
from topmix.fitted.topics import FittedTopics, HardModel
from topmix.likelihoods.word_versions import WordVersions
from topmix.local.fold_in import FoldedIn, FoldIn
from topmix.models.topics import TopicModel
from topmix.numerics.threads import use_threads

NO_TOPIC = -1
EXAMPLE_SMOOTHING = 20.0  # tokens


@dataclass(frozen=True)
class Solver:
    """Who solves documents."""

    engine: Engine
    threads: int


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


def score(f: FittedTopics, corpus: Corpus, solver: Solver) -> float:
    """A lower bound on the log likelihood of documents given the topics; of hard topics, minus their objective."""
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


def sparse_shares(f: FittedTopics, corpus: Corpus, solver: Solver) -> tuple[sp.csr_array, np.ndarray]:
    """Shares of the topics that documents use, and known tokens of the documents."""
    return sp.csr_array(proportions(f, corpus, solver, sparse=True)), row_sums(corpus.indptr, corpus.value)


def smoothed(share: NDArray[np.float64], length: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much a document is an example of a topic: tokens of the topic / (tokens + 20).

    The share of a topic in a short document is easily 1. So a long document about the topic comes before a short one
    that happens to use its words.
    """
    found: NDArray[np.float64] = share * (length / (length + EXAMPLE_SMOOTHING))
    return found


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
