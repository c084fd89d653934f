"""The methods that time_to_quality compares, each as one function that trains and reports as it goes.

    method(train, K, seed, threads, watch, report, **settings)

`report(topics)` is called now and then with a function that gives [K, V] topics (unnormalised will do) and [K] tokens a
topic, called only when a score is due; it pauses the watch, scores, and says whether time is up. Imports and making
a library's own documents of the corpus are not timed: that is loading. Everything from initialisation on is.

This file is also the process a method runs in: `python benchmarks/methods.py '{"method": ...}'` prints a Curve as JSON.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from curves import Curve, Stopwatch, calibrate, fingerprint, milestones
from datasets import Dataset, load
from topmix.metrics import (
    completion_score,
    duplicate_topics,
    empty_topics,
    largest_share,
    npmi_coherence,
    topic_diversity,
)

Topics = tuple[np.ndarray, np.ndarray]  # [K, V] topics, [K] tokens a topic
Report = Callable[[Callable[[], Topics]], bool]
ETA = 0.1  # and alpha = 0.5 / K: the same priors for all, where a setting does not say otherwise

SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "topmix": {"default": {}},
    "tomotopy": {
        "fixed": {"ours": True, "optim_interval": 0},
        "defaults": {"ours": False},
        "optimised": {"ours": True, "optim_interval": 10},
    },
    "sklearn": {"online": {}},
    "gensim": {"multicore": {}},
}
PACKAGE = {"sklearn": "scikit-learn"}


def topmix(X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, **settings: Any) -> None:
    with watch.pause():
        from topmix import LDA

    def callback(record: Any, model: Any) -> bool:
        return report(lambda: (model.words.mean(), np.asarray(model.words.total.totals, dtype=np.float64)))

    # It stops when the budget is spent, not before: the report says when.
    endless = {"max_iter": 1_000_000, "tol": -np.inf}
    LDA(n_components=K, n_jobs=threads, random_state=seed, callbacks=[callback], **endless | settings).fit(X)


def tomotopy(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, ours: bool = True,
    optim_interval: int | None = None,
) -> None:  # fmt: skip
    priors = {"alpha": 0.5 / K, "eta": ETA} if ours else {}
    with watch.pause():
        import tomotopy as tp

        model = tp.LDAModel(k=K, seed=seed, **priors)
        for d in range(X.shape[0]):
            row = slice(X.indptr[d], X.indptr[d + 1])
            model.add_doc(np.repeat(X.indices[row], X.data[row].astype(int)).astype(str).tolist())
        # That threads make it unrepeatable is known, and its every train() says so.
        warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
    if optim_interval is not None:
        model.optim_interval = optim_interval
    model.train(0, workers=threads)  # initialisation
    used = np.array([int(w) for w in model.used_vocabs])

    def topics() -> Topics:
        counts = np.asarray(model.get_count_by_topics(), dtype=np.float64)
        phi = np.full((K, X.shape[1]), model.eta)
        dist = np.array([model.get_topic_word_dist(k) for k in range(K)], dtype=np.float64)
        phi[:, used] = dist * (counts + len(used) * model.eta)[:, None]  # words of no training document keep η
        return phi, counts

    step = 1
    while True:
        begin = watch()
        model.train(step, workers=threads)
        # Steps of about a quarter second: often enough to stop in time, seldom enough to cost nothing.
        step = max(1, min(100, int(0.25 / max(1e-3, (watch() - begin) / step))))
        if report(topics):
            return


def sklearn(X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report) -> None:
    with watch.pause():
        from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        K, doc_topic_prior=0.5 / K, topic_word_prior=ETA, learning_method="online", total_samples=X.shape[0],
        n_jobs=threads, random_state=seed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    n = 4 * model.batch_size  # rows a call: each call starts its threads anew
    while True:
        with watch.pause():
            shuffled = X[rng.permutation(X.shape[0])].astype(np.float64)
        for begin in range(0, X.shape[0], n):
            model.partial_fit(shuffled[begin : begin + n])
            if report(lambda: (model.components_, model.components_.sum(axis=1) - ETA * X.shape[1])):
                return


def gensim(X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report) -> None:
    D, V = X.shape
    with watch.pause():
        from gensim.models import LdaMulticore

        rows = [slice(X.indptr[d], X.indptr[d + 1]) for d in range(D)]
        docs = [list(zip(X.indices[r].tolist(), X.data[r].tolist())) for r in rows]
        id2word = {v: str(v) for v in range(V)}
    # Its chunks of 2000 would be one update a pass on a small corpus.
    chunksize = min(2000, max(100, D // 10))
    model = LdaMulticore(
        None, K, id2word, workers=threads, chunksize=chunksize, alpha=[0.5 / K] * K, eta=ETA, eval_every=None,
        random_state=seed,
    )  # fmt: skip
    part = 4 * threads * chunksize  # documents a call: each call starts its processes anew
    while True:
        for begin in range(0, D, part):
            some = docs[begin : begin + part]
            # update() believes its documents are new, and would take the corpus for ever larger.
            model.state.numdocs = D - len(some)
            model.update(some)
            if report(lambda: (model.state.get_lambda(), model.state.get_lambda().sum(axis=1) - ETA * V)):
                return


METHODS: dict[str, Callable[..., None]] = {
    "topmix": topmix, "tomotopy": tomotopy, "sklearn": sklearn, "gensim": gensim,
}  # fmt: skip


def plan(method: str, setting: str, corpus: str, K: int, seed: int, budget: float) -> Curve:
    """A curve without its points: what would be run here."""
    version = importlib.metadata.version(PACKAGE.get(method, method))
    settings = SETTINGS[method][setting]
    return Curve(method, setting, version, corpus, K, seed, budget, settings=settings, machine=fingerprint())


def run(curve: Curve, data: Dataset, threads: int) -> Curve:
    """Trains until the budget is spent and fills the curve in."""
    curve.calibration = calibrate()
    due = milestones(curve.budget)
    last: dict[str, np.ndarray] = {}

    def report(topics: Callable[[], Topics]) -> bool:
        seconds = watch()
        with watch.pause():
            over = seconds >= curve.budget
            if over or seconds >= due[0]:
                while due and due[0] <= seconds:
                    due.pop(0)
                last["topic_word"], last["counts"] = (np.array(x, dtype=np.float64) for x in topics())
                curve.points.append((seconds, completion_score(last["topic_word"], data.test)))
        return over

    watch = Stopwatch()
    METHODS[curve.method](data.train, curve.K, curve.seed, threads, watch, report, **curve.settings)
    curve.final = {"score": curve.points[-1][1]} | describe(last["topic_word"], last["counts"], data)
    return curve


def describe(topic_word: np.ndarray, counts: np.ndarray, data: Dataset) -> dict[str, float]:
    """What the score does not show."""
    phi = topic_word / topic_word.sum(axis=1, keepdims=True)
    empty = empty_topics(counts)
    return {
        "npmi": float(npmi_coherence(phi, data.train)),
        "diversity": topic_diversity(phi),
        "empty": len(empty),
        "duplicate": len(duplicate_topics(np.delete(phi, empty, axis=0))) if len(empty) < len(phi) else 0,
        "largest_share": largest_share(counts),
    }


def main() -> None:
    spec = json.loads(sys.argv[1])
    threads = spec.pop("threads")
    curve = run(plan(**spec), load(spec["corpus"]), threads)
    print(json.dumps(asdict(curve)))


if __name__ == "__main__":
    main()
