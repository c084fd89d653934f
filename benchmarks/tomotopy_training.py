"""What all models of tomotopy share: documents in, passes with reports, topics out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from curves import Stopwatch


def add_documents(model: Any, X: sp.csr_array) -> None:
    names = np.array([str(v) for v in range(X.shape[1])], dtype=object)
    for d in range(X.shape[0]):
        row = slice(X.indptr[d], X.indptr[d + 1])
        model.add_doc(names[np.repeat(X.indices[row], X.data[row].astype(int))].tolist())


def train(
    model: Any,
    X: sp.csr_array,
    threads: int,
    watch: Stopwatch,
    report: Callable[..., bool],
    live: Callable[[], Sequence[int]],
    facts: Callable[[], dict[str, float]] = dict,
) -> None:
    """Until `report` has had enough. `live` are the topics that count."""
    # That threads make it unrepeatable is known, and its every train() says so.
    warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
    model.train(0, workers=threads)  # initialisation
    used = np.array([int(w) for w in model.used_vocabs])

    def topics() -> tuple[np.ndarray, np.ndarray]:
        ks = list(live())
        counts = np.asarray(model.get_count_by_topics(), dtype=np.float64)[ks]
        phi = np.full((len(ks), X.shape[1]), model.eta)
        dist = np.array([model.get_topic_word_dist(k) for k in ks], dtype=np.float64)
        phi[:, used] = dist * (counts + len(used) * model.eta)[:, None]  # words of no training document keep η
        return phi, counts

    step, passes = 1, 0
    while True:
        begin = watch()
        model.train(step, workers=threads)
        passes += step
        # Steps of about a quarter second: often enough to stop in time, seldom enough to cost nothing.
        step = max(1, min(100, int(0.25 / max(1e-3, (watch() - begin) / step))))
        if report(topics, documents=passes * X.shape[0], **facts()):
            return
