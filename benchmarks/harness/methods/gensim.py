"""gensim's online variational models: LdaMulticore, and HdpModel, which has its own number of topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.methods.method import ETA, Report, Topics
from benchmarks.harness.stopwatch import Stopwatch


def lda(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, ours: bool = True
) -> None:  # fmt: skip
    """With our priors, or its own, 1 / K for both."""
    D, V = X.shape
    alpha, eta = (0.5 / K, ETA) if ours else (1 / K, 1 / K)
    with watch.pause():
        from gensim.models import LdaMulticore

        id2word = {v: str(v) for v in range(V)}
    # Its default chunks of 2000 documents would be one update per pass on a small corpus.
    chunksize = min(2000, max(100, D // 10))
    model = LdaMulticore(
        None, K, id2word, workers=threads, chunksize=chunksize, alpha=[alpha] * K, eta=eta, eval_every=None,
        random_state=seed,
    )  # fmt: skip

    def topics() -> Topics:
        counts = model.state.get_lambda()
        return Topics(counts, counts.sum(axis=1) - eta * V, np.full(K, alpha))

    # Documents per call. Each call starts processes, so more documents if calls are quick, but not for minutes.
    part = threads * chunksize
    seen = 0
    while True:
        begin = 0
        while begin < D:
            with watch.pause():  # its documents are lists of pairs: a large corpus would be gigabytes at once
                some = pairs(X, range(begin, min(begin + part, D)))
            # update() counts its documents as new, and would take the corpus for larger with each call.
            model.state.numdocs = D - len(some)
            start = watch.seconds
            model.update(some)
            begin, seen = begin + len(some), seen + len(some)
            if watch.seconds - start < 5:
                part = min(2 * part, 8 * threads * chunksize)
            if report(topics, seen / D):
                return


def hdp(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, **settings: Any
) -> None:  # fmt: skip
    """K topics at the top level, all of which it keeps; one thread."""
    D, V = X.shape
    with watch.pause():
        from gensim.models import HdpModel

        docs = pairs(X, range(D))
        id2word = {v: str(v) for v in range(V)}
    size = min(256, max(32, D // 20))
    model = HdpModel(docs, id2word, max_chunks=1, chunksize=size, T=K, random_state=seed, **settings)
    rng, seen = np.random.default_rng(seed), size

    def topics() -> Topics:
        alpha, _ = model.hdp_to_lda()  # its own way to a prior of documents
        return Topics(
            model.m_lambda + model.m_eta, np.maximum(model.m_lambda.sum(axis=1), 0.0), np.maximum(alpha, 1e-9)
        )

    while True:
        order = rng.permutation(D)
        for begin in range(0, D, size):
            model.update_chunk([docs[d] for d in order[begin : begin + size]])
            seen += size
            with watch.pause():
                model.update_expectations()
            if report(topics, seen / D):
                return


def pairs(X: sp.csr_array, documents: range) -> list[list[tuple[int, int]]]:
    """(word, count) of documents, as gensim has them."""
    rows = [slice(X.indptr[d], X.indptr[d + 1]) for d in documents]
    return [list(zip(X.indices[r].tolist(), X.data[r].astype(int).tolist())) for r in rows]
