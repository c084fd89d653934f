"""Peers that find their own number of topics, as functions that train and report (benchmarks/methods.py says how)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tomotopy_training import add_documents, train

if TYPE_CHECKING:
    from curves import Stopwatch

Report = Callable[..., bool]


def tomotopy_hdp(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, alpha: float = 0.1,
    gamma: float = 0.1, eta: float = 0.1, optim_interval: int = 10,
) -> None:  # fmt: skip
    """HDPModel: a Gibbs sampler. Starts from K topics; those with no table any more are left out of what is scored."""
    with watch.pause():
        import tomotopy as tp

        model = tp.HDPModel(initial_k=K, alpha=alpha, gamma=gamma, eta=eta, seed=seed)
        model.optim_interval = optim_interval
        add_documents(model, X)

    def live() -> list[int]:
        return [k for k in range(model.k) if model.is_live_topic(k)]

    train(model, X, threads, watch, report, live, lambda: {"n_components": float(model.live_k)})


def gensim_hdp(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, **settings: Any
) -> None:  # fmt: skip
    """HdpModel: stochastic variational inference with K topics at the top, all of which it keeps; one thread."""
    D, V = X.shape
    with watch.pause():
        from gensim.models import HdpModel

        rows = [slice(X.indptr[d], X.indptr[d + 1]) for d in range(D)]
        docs = [list(zip(X.indices[r].tolist(), X.data[r].astype(int).tolist())) for r in rows]
        id2word = {v: str(v) for v in range(V)}
    size = min(256, max(32, D // 20))
    model = HdpModel(docs, id2word, max_chunks=1, chunksize=size, T=K, random_state=seed, **settings)
    rng, seen = np.random.default_rng(seed), size

    def topics() -> tuple[np.ndarray, np.ndarray]:
        counts = model.m_lambda + model.m_eta
        return counts, np.maximum(model.m_lambda.sum(axis=1), 0.0)

    while True:
        order = rng.permutation(D)
        for begin in range(0, D, size):
            model.update_chunk([docs[d] for d in order[begin : begin + size]])
            seen += size
            with watch.pause():
                model.update_expectations()
            if report(topics, documents=seen):
                return
