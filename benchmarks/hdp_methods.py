"""Peers that find their own number of topics, as functions that train and report (benchmarks/methods.py says how)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

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
        names = np.array([str(v) for v in range(X.shape[1])], dtype=object)
        for d in range(X.shape[0]):
            row = slice(X.indptr[d], X.indptr[d + 1])
            model.add_doc(names[np.repeat(X.indices[row], X.data[row].astype(int))].tolist())
        warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
    model.train(0, workers=threads)
    used = np.array([int(w) for w in model.used_vocabs])

    def topics() -> tuple[np.ndarray, np.ndarray]:
        live = [k for k in range(model.k) if model.is_live_topic(k)]
        counts = np.asarray(model.get_count_by_topics(), dtype=np.float64)[live]
        phi = np.full((len(live), X.shape[1]), eta)
        dist = np.array([model.get_topic_word_dist(k) for k in live], dtype=np.float64)
        phi[:, used] = dist * (counts + len(used) * eta)[:, None]
        return phi, counts

    step, passes = 1, 0
    while True:
        begin = watch()
        model.train(step, workers=threads)
        passes += step
        step = max(1, min(100, int(0.25 / max(1e-3, (watch() - begin) / step))))
        if report(topics, documents=passes * X.shape[0], n_components=float(model.live_k)):
            return


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
