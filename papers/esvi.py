"""Zhang et al., Extreme Stochastic Variational Inference (2019): Figs. 3, 4, 6, 7 and 8.

One machine: 1 to 16 workers. kos and nips are in the place of Enron and the New York Times, wiki in that of the large
corpora. All methods have the same priors, the same random start and the same time, which all of them use up; SVI is the
best, by its last bound, of a small grid of rates. The paper does not give alpha: Fig. 4 has the library's .5 / K, and
"alphas" three others. "ESVI, by tokens" is Algorithm 5 to the letter: words travel one by one, by routes that are drawn
again in every round, and counts follow every token. "ours" begins with passes under posterior means, from the library's
start. The bound of a stochastic model is computed again on all training documents. Three seeds for K = 128 and one
worker. "rows of" a corpus are its documents as vectors of counts, with the priors of the paper's Appendix E and
diagonal covariances. Fig. 5 needs many machines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import asynchronous_mixtures
from benchmarks.asynchronous import Comparison
from benchmarks.harness import datasets
from benchmarks.harness.curve import Curve
from benchmarks.harness.jobs import Budget, Job, Write
from benchmarks.harness.results import Results
from benchmarks.harness.vectors import Vectors, covtype
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
ROWS_OF = "rows of "  # a corpus: its counts as vectors
APPENDIX_E = {"degrees_of_freedom_prior": 500_000.0, "mean_prior": 0.0, "covariance_prior": 2.0}  # nu_0, m_0, 1 / W_0
ALPHAS = {"0.1": lambda K: 0.1, "1/K": lambda K: 1 / K, "50/K": lambda K: 50 / K}


def estimator(name: str, K: int, workers: int) -> Any:
    """An LDA by the name of its method; "ESVI-TOPK" keeps a quarter of the topics."""
    base = presets.batch_vb(K).set_params(doc_topic_prior=None, topic_word_prior=None)
    if name == "ESVI, by tokens":
        return presets.esvi_lda(K, workers=workers).set_params(learner__per_token=True)
    if name == "VI":
        return base
    if name in SVI:
        return base.set_params(learner=SVI[name])
    if name == "ours":
        return presets.esvi_lda(K).set_params(learner=Asynchronous(workers), init="auto")
    kept = {"ESVI": None, "ESVI-TOPK": max(K // 4, 1)}.get(name, 0)
    return presets.esvi_lda(K, int(name.removeprefix("C = ")) if kept == 0 else kept, workers=workers)


def jobs(small: bool) -> list[Job]:
    corpora, Ks, seconds, mixtures = ["nips", "kos"], [128, 64, 16], 45.0, ["toy", "covtype", "first toy"]
    mixtures += [f"{ROWS_OF}{corpus}" for corpus in corpora]
    if small:
        corpora, Ks, seconds, mixtures = ["kos"], [16], 8.0, ["small toy"]
    K, found = Ks[0], []

    def add(corpus: str, k: int, name: str, rank: int, workers: int = 1, **more: Any) -> None:
        limit = seconds if k == K and workers <= 2 and not more else min(seconds, 20.0)
        for seed in range(3 if k == K and workers == 1 and more.get("figure") != 7 and not small else 1):
            about = {"corpus": corpus, "K": k, "name": name, "seconds": limit, "workers": workers, "seed": seed}
            found.append(Job(PAPER, "topics", about | more, 1.2 * limit + 10, rank, workers))

    for i, corpus in enumerate(corpora):
        for k in Ks:
            for name in ("ESVI", "ESVI-TOPK", "ESVI, by tokens", "VI", *SVI, "ours"):
                add(corpus, k, name, 3 if k != K else 1)
        for name in ("ESVI", "ESVI-TOPK", "ESVI, by tokens", "VI"):
            add(corpus, K, name, 2, workers=2)
        for workers in () if small or corpus != "nips" else (4, 8, 16):
            for name in ("ESVI", "VI"):
                add(corpus, K, name, 2, workers=workers)
        for alpha in ALPHAS:
            for name in ("ESVI", "ESVI-TOPK", "VI", *SVI, "ours"):
                add(corpus, K, name, 2, figure="alphas", alpha=alpha)
        for C in dict.fromkeys((1, K // 16, K // 2)):
            add(corpus, K, f"C = {C}", 2 + i, figure=7)
    for k in (32, 64) if small else (256, 512, 1024):
        add("kos" if small else "wiki", k, "C = 16", 2, figure=8)
    for i, data in enumerate(mixtures):
        for name in MIXTURES:
            threads = 2 if "workers" in name else 1
            about = {"data": data, "name": name, "seconds": seconds}
            found.append(Job(PAPER, "figure_3", about, 1.8 * seconds, 1 if i == 0 else 2, threads))
    return found


def topics(
    write: Write, budget: Budget, corpus: str, K: int, name: str, seconds: float, workers: int = 1,
    figure: int | str = 4, alpha: str = "0.5/K", seed: int = 0,
) -> None:  # fmt: skip
    """Bound and perplexity against seconds: Figs. 4 and 6, or 7, or 8, or Fig. 4 with another alpha."""
    data = datasets.load(corpus)
    limit, model = budget.at_most(seconds), estimator(name, K, workers)
    if alpha in ALPHAS:
        model.set_params(doc_topic_prior=ALPHAS[alpha](K))
    compared = Comparison(data, limit, workers, Results(None, ""))
    curve = compared.follow(name, model, figure in (4, "alphas"), tol=-np.inf, seed=seed)
    thin(curve)
    about = {"figure": figure, "name": name, "K": K, "workers": workers, "seconds": limit, "alpha": alpha, "seed": seed}
    write({"curve": curve.to_dict(), "tokens": float(data.train.sum())}, about, data)


def thin(curve: Curve, per_octave: int = 4) -> None:
    """Some points of each octave of the seconds, those with a score, and the last."""
    octaves = (per_octave * np.log2(np.maximum(curve.seconds, 1e-3))).astype(int)
    first = np.flatnonzero(np.diff(octaves, prepend=octaves[:1] - 1))
    scored = [i for i, score in enumerate(curve.score) if score is not None]
    curve.keep(sorted({*first.tolist(), *scored, len(curve) - 1}))


def figure_3(write: Write, budget: Budget, data: str, name: str, seconds: float) -> None:
    """Gaussian mixtures: bound and held-out likelihood against seconds."""
    K, threads, priors = 256, 2 if "workers" in name else 1, None
    if data == "toy":
        vectors = asynchronous_mixtures.toy(30_000, 128, K)
        vectors = vectors._replace(test=vectors.test[:1_000])
    elif data == "covtype":
        vectors = covtype().some(None, 5_000)
    elif data == "first toy":  # before it was made harder for one cluster alone
        vectors = asynchronous_mixtures.toy(30_000, 128, K, spread=0.3)
        vectors = vectors._replace(name=data, test=vectors.test[:1_000])
    elif data.startswith(ROWS_OF):
        counts = datasets.load(data.removeprefix(ROWS_OF))
        vectors = Vectors(data, *(part.toarray() for part in (counts.train, counts.validation, counts.test)))
        D = vectors.train.shape[1]
        priors = {prior: value if "degrees" in prior else np.full(D, value) for prior, value in APPENDIX_E.items()}
    else:
        K, vectors = 12, asynchronous_mixtures.toy(1_500, 8, 12)
    kind = "diag" if data == "covtype" or priors else "full"
    limit = budget.at_most(seconds)
    curve = asynchronous_mixtures.run(
        name, MIXTURES[name], vectors, K, kind, limit, threads, {"objective": "vb"} | (priors or {})
    )
    about = {"figure": 3, "name": name, "K": K, "data": data, "workers": threads, "run": MIXTURES[name]}
    write({"curve": curve.to_dict(), "rows": len(vectors.train)}, about, vectors)


if __name__ == "__main__":
    raise SystemExit(everything.main(only=(PAPER,)))
