"""The methods that benchmarks compare, each as one function that trains and reports as it goes.

    method(train, K, seed, threads, watch, report, **settings)

`report(topics, **facts)` is called now and then with a function that gives [K, V] topics (unnormalised will do) and [K]
tokens a topic, called only when a score is due, and with what the method can say of itself for nothing; it pauses the
watch, scores, and says whether time is up. Imports and making a library's own documents of the corpus are not timed:
that is loading. Everything from initialisation on is.

This file is also the process a method runs in: `python benchmarks/methods.py '{"method": ...}'` prints a Curve as JSON.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from curves import Curve, Stopwatch, calibrate, fingerprint, milestones
from datasets import Dataset, load
from hdp_methods import gensim_hdp, tomotopy_hdp
from resident import PeakMemory
from tomotopy_training import add_documents, train
from topmix.metrics import (
    completion_score,
    duplicate_topics,
    empty_topics,
    half_split_score,
    largest_share,
    npmi_coherence,
    topic_diversity,
)

Topics = tuple[np.ndarray, np.ndarray]  # [K, V] topics, [K] tokens a topic
Report = Callable[..., bool]
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
    "tomotopy_hdp": {"defaults": {}, "few": {"gamma": 1.0}},
    "gensim_hdp": {"defaults": {}},
}
PACKAGE = {"sklearn": "scikit-learn", "tomotopy_hdp": "tomotopy", "gensim_hdp": "gensim"}
EVALUATORS: dict[str, Callable[[np.ndarray, sp.csr_array], float]] = {
    "completion": completion_score,
    "half_split": lambda phi, X: half_split_score(phi, X, doc_topic_prior=0.1),  # paper 001: its alpha, for all alike
}


class TimeIsUp(Exception):
    """Ends a fit in the middle of a pass."""


def topmix(X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, **settings: Any) -> None:
    """LDA, or another `estimator`, with these parameters.

    Reports after each pass; stochastic learning after each batch, as its passes are long. `within_passes` says
    otherwise. Without max_iter and tol it stops when the budget is spent, not before.
    """
    with watch.pause():
        import topmix
        from topmix.engines import ENGINES, Threads

        estimator = getattr(topmix, settings.pop("estimator", "LDA"))
        n_tokens = float(X.sum())
    within = settings.pop("within_passes", settings.get("learner") == "stochastic")

    def topics_of(model: Any) -> Topics:
        return model.words.mean(), np.asarray(model.words.total.totals, dtype=np.float64)

    class Reporting(Threads):
        batches = 0

        def run(self, tables: Callable[..., Any], shards: Iterable[int]) -> Iterator[tuple[int, Any]]:
            model = tables.__self__  # type: ignore[attr-defined]  # learners pass the method of what they have so far
            for b in shards:
                seen = self.batches / self.n_shards * X.shape[0]
                if self.batches and report(partial(topics_of, model), documents=seen):
                    raise TimeIsUp
                self.batches += 1
                yield from super().run(tables, [b])

    def callback(record: Any, model: Any) -> bool:
        facts = {"documents": record.n_pass * X.shape[0], "objective": record.objective / n_tokens, **record.effort}
        facts["n_components"] = record.n_components
        return report(lambda: topics_of(model), **facts)

    endless = {"max_iter": 1_000_000, "tol": -np.inf}
    parameters = {"n_jobs": threads, "random_state": seed, "callbacks": [callback]} | endless | settings
    if within:
        ENGINES["reporting"], parameters["engine"] = Reporting, "reporting"
    try:
        estimator(n_components=K, **parameters).fit(X)
    except TimeIsUp:
        pass
    finally:
        ENGINES.pop("reporting", None)


def tomotopy(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, ours: bool = True,
    optim_interval: int | None = None,
) -> None:  # fmt: skip
    priors = {"alpha": 0.5 / K, "eta": ETA} if ours else {}
    with watch.pause():
        import tomotopy as tp

        model = tp.LDAModel(k=K, seed=seed, **priors)
        add_documents(model, X)
    if optim_interval is not None:
        model.optim_interval = optim_interval
    train(model, X, threads, watch, report, lambda: range(K))


def sklearn(
    X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report, n_jobs: int | None = None
) -> None:  # fmt: skip
    with watch.pause():
        from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        K, doc_topic_prior=0.5 / K, topic_word_prior=ETA, learning_method="online", total_samples=X.shape[0],
        n_jobs=n_jobs or threads, random_state=seed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    n = 4 * model.batch_size  # rows a call: each call starts its threads anew
    seen = 0
    while True:
        order = rng.permutation(X.shape[0])
        for begin in range(0, X.shape[0], n):
            with watch.pause():
                some = X[order[begin : begin + n]].astype(np.float64)
            model.partial_fit(some)
            seen += some.shape[0]
            if report(lambda: (model.components_, model.components_.sum(axis=1) - ETA * X.shape[1]), documents=seen):
                return


def gensim(X: sp.csr_array, K: int, seed: int, threads: int, watch: Stopwatch, report: Report) -> None:
    D, V = X.shape
    with watch.pause():
        from gensim.models import LdaMulticore

        id2word = {v: str(v) for v in range(V)}
    # Its chunks of 2000 would be one update a pass on a small corpus.
    chunksize = min(2000, max(100, D // 10))
    model = LdaMulticore(
        None, K, id2word, workers=threads, chunksize=chunksize, alpha=[0.5 / K] * K, eta=ETA, eval_every=None,
        random_state=seed,
    )  # fmt: skip
    # Documents a call: each call starts its processes anew, so more where they are quick, but not for minutes.
    part = threads * chunksize
    seen = 0
    while True:
        begin = 0
        while begin < D:
            with watch.pause():  # its documents are lists of pairs: all at once, a large corpus would be gigabytes
                rows = [slice(X.indptr[d], X.indptr[d + 1]) for d in range(begin, min(begin + part, D))]
                some = [list(zip(X.indices[r].tolist(), X.data[r].tolist())) for r in rows]
            # update() believes its documents are new, and would take the corpus for ever larger.
            model.state.numdocs = D - len(some)
            start = watch()
            model.update(some)
            begin, seen = begin + len(some), seen + len(some)
            if watch() - start < 5:
                part = min(2 * part, 8 * threads * chunksize)
            if report(
                lambda: (model.state.get_lambda(), model.state.get_lambda().sum(axis=1) - ETA * V), documents=seen
            ):
                return


METHODS: dict[str, Callable[..., None]] = {
    "topmix": topmix, "tomotopy": tomotopy, "sklearn": sklearn, "gensim": gensim,
    "tomotopy_hdp": tomotopy_hdp, "gensim_hdp": gensim_hdp,
}  # fmt: skip


def version_of(method: str) -> str:
    return importlib.metadata.version(PACKAGE.get(method, method))


def is_installed(method: str) -> bool:
    try:
        version_of(method)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def plan(
    method: str, setting: str, corpus: str, K: int, seed: int, budget: float, settings: dict[str, Any] | None = None,
    **scoring: Any,
) -> Curve:  # fmt: skip
    """A curve without its points: what would be run here. Settings are those of that name unless given."""
    settings = SETTINGS[method][setting] if settings is None else settings
    machine = fingerprint()
    return Curve(
        method, setting, version_of(method), corpus, K, seed, budget, settings=settings, machine=machine, **scoring
    )


def run(curve: Curve, data: Dataset, threads: int) -> Curve:
    """Trains until the budget is spent and fills the curve in.

    A setting of any method: `n_docs` trains on the first so many documents only.
    """
    curve.calibration = calibrate()
    settings = {name: value for name, value in curve.settings.items() if name not in ("n_docs", "threads")}
    train = data.train[: curve.settings["n_docs"]] if "n_docs" in curve.settings else data.train
    evaluate = EVALUATORS[curve.evaluator]
    due = milestones(curve.budget)
    last: dict[str, Any] = {}

    def score(seconds: float) -> None:
        topic_word, counts = last["topics"]()
        last.update(topic_word=np.array(topic_word, dtype=np.float64), counts=np.array(counts, dtype=np.float64))
        curve.points.append((seconds, evaluate(last["topic_word"], data.test)))

    def report(topics: Callable[[], Topics], **facts: float) -> bool:
        seconds = watch()
        with watch.pause(), memory.pause():
            over = seconds >= curve.budget
            last.update(topics=topics, seconds=seconds)
            if over or seconds >= due[0]:
                while due and due[0] <= seconds:
                    due.pop(0)
                score(seconds)
                facts["score"] = curve.points[-1][1]
            if facts:
                curve.log.append({"seconds": seconds} | facts)
        return over

    with PeakMemory() as memory:
        watch = Stopwatch()
        METHODS[curve.method](train, curve.K, curve.seed, threads, watch, report, **settings)
    if not curve.points or curve.points[-1][0] < last["seconds"]:  # it stopped by itself
        score(last["seconds"])
    curve.final = {"score": curve.points[-1][1], "resident_mb": memory.resident, "anonymous_mb": memory.anonymous}
    curve.final |= describe(last["topic_word"], last["counts"], data)
    return curve


def train_for(
    seconds: float, method: str, X: sp.csr_array, K: int, seed: int, threads: int, **settings: Any
) -> tuple[np.ndarray, np.ndarray, float]:
    """For those who want to see the topics themselves: [K, V] distributions, [K] tokens, documents visited."""
    watch, last = Stopwatch(), {}

    def report(topics: Callable[[], Topics], documents: float, **_: float) -> bool:
        last.update(topics=topics, documents=documents)
        return watch() >= seconds

    METHODS[method](X, K, seed, threads, watch, report, **settings)
    phi, counts = (np.asarray(x, dtype=np.float64) for x in last["topics"]())
    return phi / phi.sum(axis=1, keepdims=True), counts, last["documents"]


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
    curve = Curve(**{f.name: spec[f.name] for f in fields(Curve) if f.name in spec})
    data = load(curve.corpus, split=curve.split, role=curve.role)
    print(json.dumps(asdict(run(curve, data, curve.settings["threads"]))))


if __name__ == "__main__":
    main()
