"""Zhang et al., Extreme Stochastic Variational Inference (2019): Figs. 3, 4, 6, 7 and 8.

One machine: one worker, and two. kos and nips are in the place of Enron and the New York Times, wiki in that of the
large corpora. All methods have the same priors and the same random start; SVI is the best, by its last bound, of a
small grid of rates. "ours" begins with passes under posterior means, from the library's start. The bound of a
stochastic model is computed again on all training documents. Fig. 5 needs many machines.
"""

from __future__ import annotations

from typing import Any

from benchmarks import asynchronous_mixtures
from benchmarks.asynchronous import Comparison
from benchmarks.harness import datasets
from benchmarks.harness.jobs import Budget, Job, Write
from benchmarks.harness.results import Results
from benchmarks.harness.vectors import covtype
from papers import everything
from topmix import presets
from topmix.learners import Asynchronous, Stochastic

PAPER = "esvi"
SVI = {
    f"SVI, {batch}, {scale:g} / ({offset:g} + t)^{decay:g}": Stochastic(batch, scale=scale, offset=offset, decay=decay)
    for batch, scale, offset, decay in ((100, 0.1, 1, 1), (256, 1, 1, 0.5), (256, 1, 10, 0.7))
}  # the first is that of their Appendix E
MIXTURES: dict[str, dict[str, Any]] = {
    "ESVI": {"learner": "asynchronous", "n_active": None},
    "ESVI, 2 workers": {"learner": "asynchronous", "n_active": None, "learner__workers": 2},
    "ESVI, L = 8": {"learner": "asynchronous", "n_active": 8},
    "VI": {"learner": "batch", "n_active": None},
    "VI, L = 8": {"learner": "batch", "n_active": 8},
    "memoized, L = 8": {"learner": "memoized", "n_active": 8},
    **asynchronous_mixtures.SVI,
}


def estimator(name: str, K: int, workers: int) -> Any:
    """An LDA by the name of its method; "ESVI-TOPK" keeps a quarter of the topics."""
    base = presets.batch_vb(K).set_params(doc_topic_prior=None, topic_word_prior=None)
    if name == "VI":
        return base
    if name in SVI:
        return base.set_params(learner=SVI[name])
    if name == "ours":
        return presets.esvi_lda(K).set_params(learner=Asynchronous(workers), init="auto")
    kept = {"ESVI": None, "ESVI-TOPK": max(K // 4, 1)}.get(name, 0)
    return presets.esvi_lda(K, int(name.removeprefix("C = ")) if kept == 0 else kept, workers=workers)


def jobs(small: bool) -> list[Job]:
    corpora, Ks, seconds, mixtures = ["nips", "kos"], [128, 64, 16], 45.0, ["toy", "covtype"]
    if small:
        corpora, Ks, seconds, mixtures = ["kos"], [16], 8.0, ["small toy"]
    K, found = Ks[0], []

    def add(corpus: str, K: int, name: str, rank: int, **more: int) -> None:
        about = {"corpus": corpus, "K": K, "name": name, "seconds": seconds} | more
        found.append(Job(PAPER, "topics", about, 1.8 * seconds, rank, more.get("workers", 1)))

    for i, corpus in enumerate(corpora):
        for k in Ks:
            for name in ("ESVI", "ESVI-TOPK", "VI", *SVI, "ours"):
                add(corpus, k, name, 3 if k != K else 1 + i)
        for name in ("ESVI", "ESVI-TOPK", "VI"):
            add(corpus, K, name, 2 + i, workers=2)
        for C in dict.fromkeys((1, K // 16, K // 2)):
            add(corpus, K, f"C = {C}", 2 + i, figure=7)
    for k in (32, 64) if small else (256, 512):
        add("kos" if small else "wiki", k, "C = 16", 2, figure=8)
    for i, data in enumerate(mixtures):
        for name in MIXTURES:
            threads = 2 if "workers" in name else 1
            about = {"data": data, "name": name, "seconds": seconds}
            found.append(Job(PAPER, "figure_3", about, 1.8 * seconds, 1 + 2 * i, threads))
    return found


def topics(
    write: Write, budget: Budget, corpus: str, K: int, name: str, seconds: float, workers: int = 1, figure: int = 4
) -> None:  # fmt: skip
    """Bound and perplexity against seconds: Figs. 4 and 6, or 7, or 8."""
    data = datasets.load(corpus)
    limit = budget.at_most(seconds)
    curve = Comparison(data, limit, workers, Results(None, "")).follow(name, estimator(name, K, workers), figure == 4)
    about = {"figure": figure, "name": name, "K": K, "workers": workers, "seconds": limit}
    write({"curve": curve.to_dict(), "tokens": float(data.train.sum())}, about, data)


def figure_3(write: Write, budget: Budget, data: str, name: str, seconds: float) -> None:
    """Gaussian mixtures: bound and held-out likelihood against seconds."""
    K, threads = 256, 2 if "workers" in name else 1
    if data == "toy":
        vectors = asynchronous_mixtures.toy(30_000, 128, K)
        vectors = vectors._replace(test=vectors.test[:1_000])
    elif data == "covtype":
        vectors = covtype().some(None, 5_000)
    else:
        K, vectors = 12, asynchronous_mixtures.toy(1_500, 8, 12)
    kind = "diag" if data == "covtype" else "full"
    curve = asynchronous_mixtures.run(name, MIXTURES[name], vectors, K, kind, budget.at_most(seconds), threads)
    about = {"figure": 3, "name": name, "K": K, "data": data, "workers": threads, "run": MIXTURES[name]}
    write({"curve": curve.to_dict(), "rows": len(vectors.train)}, about, vectors)


if __name__ == "__main__":
    raise SystemExit(everything.main(only=(PAPER,)))
