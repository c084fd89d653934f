"""Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors (2016): Figs. 1 to 5.

arxiv_100k is in the place of the New York Times, and our bsds400, whose images are smaller, in that of their 400: all
774,400 of their 8x8 patches at the paper's stride of 4, in batches of about the paper's size. "paper" runs have
topmix.presets.sparse_lda; "ours" chooses the L best at the end of a document only, and topics with 2.5 tokens or fewer
leave it. Three seeds in Fig. 4 for runs that a conclusion rests on. "rates" is the paper's grid for the learning rate
of SVI, on validation documents. GibbsLDA is in the place of SparseLDA, one sparse sampler for another.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from benchmarks.harness import datasets
from benchmarks.harness.curve import Curve
from benchmarks.harness.engines import ReportingThreads
from benchmarks.harness.internals import cost_of_local_step, shard_of
from benchmarks.harness.jobs import Budget, Job, Write
from benchmarks.harness.methods import ours
from benchmarks.harness.methods.method import TimeIsUp
from benchmarks.harness.stopwatch import Milestones, Stopwatch
from benchmarks.harness.vectors import held_out, patches
from papers import everything
from papers.costs import cost_of_pass, distances, parts_of_two_passes, responsibilities, statistics
from papers.topics import preset, scored_run
from topmix import presets

PAPER = "sparse_posteriors"
CONCLUSION = (
    "MVI, L = 1",
    "MVI, L = 8",
    "MVI, L = K",
    "MVI, L = 8, ours",
    "SVI, L = 8",
    "SVI, L = K",
    "Gibbs sampling",
)
RATES = [(delta, kappa) for delta in (1.0, 10.0) for kappa in (0.55, 0.65)]
BATCHES = {"nips": 5, "wiki": 5, "kos": 5, "arxiv_100k": 200}


def jobs(small: bool) -> list[Job]:
    if small:
        sizes, K5 = [("kos", 50, 15.0, 1)], ("kos", 50, 5, 20.0)
        stride, rows, Ks = 8, 10_000, {50: 10.0}
    else:
        sizes = [("wiki", 800, 140.0, 1), ("nips", 200, 60.0, 1), ("wiki", 200, 60.0, 3), ("nips", 800, 90.0, 3)]
        sizes += [("arxiv_100k", 200, 120.0, 3)]
        K5, stride, rows, Ks = ("nips", 400, 10, 80.0), 4, None, {200: 80.0, 400: 100.0, 800: 150.0, 1600: 240.0}
    found = []
    for corpus, K, seconds, rank in sizes:
        for name in figure_4_runs(corpus, K):
            for seed in range(3 if name in CONCLUSION and not small else 1):
                about = {"corpus": corpus, "K": K, "name": name, "seconds": seconds, "seed": seed}
                found.append(Job(PAPER, "figure_4", about, seconds + 25, rank if name in CONCLUSION else rank + 1))
        for delta, kappa in RATES if K <= 200 else ():
            about = {"corpus": corpus, "K": K, "delta": delta, "kappa": kappa, "seconds": seconds}
            found.append(Job(PAPER, "rates", about, seconds + 25, rank + 1))
    corpus, K, passes, seconds = K5
    for L in (8, None):
        for start in ("warm", "cold"):
            for n in (0, 5):
                about = {"corpus": corpus, "K": K, "L": L, "start": start, "restarts": n, "passes": passes}
                found.append(Job(PAPER, "figure_5", about, seconds, 2))
    for K, seconds in Ks.items():
        for learner in ("memoized", "stochastic"):
            for L in (1, 4, 16, None):
                about = {"K": K, "L": L, "learner": learner, "stride": stride, "rows": rows, "seconds": seconds}
                found.append(Job(PAPER, "figure_2", about, seconds * 1.3 + 30, 2))
    about = {"K": 20 if small else 200, "rows": 10_000 if small else 30_000, "small": small}
    found.append(Job(PAPER, "figure_1", about, 20 if small else 120, 2))
    for corpus, K, _, rank in sizes[:3]:
        if corpus == sizes[0][0]:
            about = {"corpus": corpus, "K": K, "documents": 100 if small else 1000}
            found.append(Job(PAPER, "figure_3", about, 30 if small else 120, rank))
            for L in (1, 8, 16, None):
                about = {"corpus": corpus, "K": K, "L": L, "passes": 1 if small else 10}
                found.append(Job(PAPER, "figure_3a", about, 10 if small else 400, rank))
    return found


def figure_4_runs(corpus: str, K: int) -> dict[str, Any]:
    """Settings by name."""
    n = -(-datasets.load(corpus).train.shape[0] // BATCHES[corpus])
    runs: dict[str, Any] = {}
    for learner, short in (("memoized", "MVI"), ("stochastic", "SVI")):
        for L in (1, 4, 8, 16, None) if learner == "memoized" else (1, 8, None):
            kept = f"L = {L}" if L else "L = K"
            runs[f"{short}, {kept}"] = preset("sparse_lda", n_active=L, learner=learner, batch_size=n)
    light = {"inference__selection": "last", "inference__min_topic_mass": None, "inference__restarts": 0}
    runs["MVI, L = 8, ours"] = preset("sparse_lda", n_active=8, batch_size=n, change=light)
    runs["LDA, our defaults"] = {"within_passes": True}
    sampler = {"sampler": "parallel", "sampler__annealing": 0, "max_iter": 100_000, "burn_in": 99_999}
    runs["Gibbs sampling"] = preset(
        "gibbs", within=False, change=sampler, doc_topic_prior=0.5 / K, topic_word_prior=0.1
    )
    return runs


def figure_4(write: Write, budget: Budget, corpus: str, K: int, name: str, seconds: float, seed: int = 0) -> None:
    """Score against seconds."""
    settings = figure_4_runs(corpus, K)[name]
    scored_run(write, budget, {"figure": 4, "name": name}, corpus, K, settings, seconds, seed=seed)


def rates(
    write: Write, budget: Budget, corpus: str, K: int, delta: float, kappa: float, seconds: float
) -> None:  # fmt: skip
    """Scores of validation documents under SVI with L = 8 and the rate (delta + t)^-kappa."""
    n = -(-datasets.load(corpus).train.shape[0] // BATCHES[corpus])
    rate = {"learner__offset": delta, "learner__decay": kappa}
    settings = preset("sparse_lda", n_active=8, learner="stochastic", batch_size=n, change=rate)
    about = {"figure": "rates", "name": f"({delta:g} + t)^-{kappa:g}"}
    scored_run(write, budget, about, corpus, K, settings, seconds, role="validation")


def figure_5(
    write: Write, budget: Budget, corpus: str, K: int, L: int | None, start: str, restarts: int, passes: int
) -> None:  # fmt: skip
    """The bound against passes: warm and cold, with restarts and without."""
    n = -(-datasets.load(corpus).train.shape[0] // BATCHES[corpus])
    settings = preset(
        "sparse_lda", passes=passes, within=False, n_active=L, batch_size=n, cold=start == "cold", restarts=restarts
    )
    about = {"figure": 5, "name": f"{start}, {restarts} restarts", "L": L, "start": start, "restarts": restarts}
    scored_run(write, budget, about, corpus, K, settings, None)


def figure_3(write: Write, budget: Budget, corpus: str, K: int, documents: int) -> None:
    """(b), (c), (d): processor seconds of the local step with 100 iterations, of the sums, and distance from dense."""
    data = datasets.load(corpus)
    model = presets.sparse_lda(K, None, restarts=0).set_params(max_iter=1, n_jobs=1, random_state=0)
    fitted, shard = model.fit(data.train[: 3 * documents]), shard_of(data.train[:documents])
    proportions: dict[int, np.ndarray] = {}
    for L in (1, 4, 8, 16, 64, K):
        often = cost_of_local_step(shard, fitted, L, "often", 1)[0]
        local, both, proportions[L] = cost_of_local_step(shard, fitted, L, "last", 1)
        cost = {"often": often, "last": local, "sums": max(both - local, 0.0)}
        write(cost, {"figure": "3bc", "K": K, "L": L, "documents": documents}, data)
    far = {L: 0.5 * np.abs(x - proportions[K]).sum(axis=1) for L, x in proportions.items() if K > L}
    quantiles = {L: np.quantile(d, [0.1, 0.25, 0.5, 0.75, 0.9]) for L, d in far.items()}
    write({"distance": quantiles}, {"figure": "3d", "K": K, "documents": documents}, data)


def figure_3a(write: Write, budget: Budget, corpus: str, K: int, L: int | None, passes: int) -> None:
    """Seconds per pass, cut into parts: the paper's local step, and ours."""
    data = datasets.load(corpus)
    for whose in ("paper", "ours"):
        parts = cost_of_pass(data, K, L, passes, 1, selects_often=whose == "paper")
        found = {"seconds_per_pass": parts, "documents_per_second": data.train.shape[0] / sum(parts.values())}
        write(found, {"figure": "3a", "K": K, "L": L, "passes": passes, "whose": whose}, data)


def figure_1(write: Write, budget: Budget, K: int, rows: int, small: bool) -> None:
    """Cost of parts of a pass of a mixture, and how far sparse responsibilities are from dense ones."""
    data = patches(8).some(rows, 5_000)
    few = np.ascontiguousarray(data.train[: 4_000 if small else 36_000])
    Ks = [10, 20] if small else [50, 100, 200, 400, 800]
    write({"two_passes": parts_of_two_passes(few, K)}, {"figure": "1a", "K": K, "rows": len(few)}, data)
    write({"responsibilities": responsibilities(len(few), Ks)}, {"figure": "1b", "Ks": Ks, "rows": len(few)}, data)
    write({"statistics": statistics(few, Ks[:3])}, {"figure": "1c", "Ks": Ks[:3], "rows": len(few)}, data)
    far = distances(few, data.test, K)
    quantiles = {L: np.quantile(d, [0.1, 0.25, 0.5, 0.75, 0.9]) for L, d in far.items()}
    write({"distance": quantiles}, {"figure": "1d", "K": K, "rows": len(few)}, data)


def figure_2(
    write: Write, budget: Budget, K: int, L: int | None, learner: str, stride: int, rows: int | None, seconds: float
) -> None:  # fmt: skip
    """Held-out log likelihood of patches against seconds, by E[pi] and E[Sigma]."""
    data = patches(stride).some(rows, 4_000)
    model = presets.sparse_gmm(K, L, learner=learner, batch_size=-(-len(data.train) // 20))
    name = f"{'MVI' if learner == 'memoized' else 'SVI'}, {f'L = {L}' if L else 'L = K'}"
    curve = followed(name, model, data.test, data.train, budget.at_most(seconds))
    write({"curve": curve.to_dict()}, {"figure": 2, "name": name, "K": K, "L": L, "learner": learner}, data)


def followed(name: str, model: Any, test: np.ndarray, train: np.ndarray, seconds: float) -> Curve:
    """Held-out scores of a Gaussian mixture on the way, within passes."""
    curve, due = Curve(name), Milestones(seconds, 1, first=1.0)

    def look(fitted: Callable[[], Any], n_pass: float) -> None:
        with watch.pause():
            if due.due(watch.seconds):
                curve.add(watch.seconds, held_out(test, *expected_gaussians(fitted())), n_pass)
        if watch.seconds >= seconds:
            raise TimeIsUp

    model.set_params(
        n_jobs=1, random_state=0, max_iter=1_000_000,
        engine=ReportingThreads(lambda now, n_pass: look(lambda: ours.fitted_with(model, now), n_pass)),
    )  # fmt: skip
    watch = Stopwatch(time.process_time)
    with suppress(TimeIsUp):
        model.fit(train)
    return curve


def expected_gaussians(fitted: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[pi], the means, and E[Sigma], the inverse Wishart's mean, where scikit-learn and we have nu in its place."""
    nu, D = fitted.degrees_of_freedom_, fitted.covariances_.shape[-1]
    wider = np.maximum(nu / np.maximum(nu - D - 1.0, 1.0), 1.0)
    return fitted.weights_, fitted.means_, fitted.covariances_ * wider[:, None, None]


if __name__ == "__main__":
    raise SystemExit(everything.main(only=(PAPER,)))
