"""Asynchronous learning (Zhang et al. 2019) against batch and stochastic learning: bound and perplexity by the second.

    python benchmarks/asynchronous.py [--corpus kos nips wiki] [--K 64 128 256] [--seconds 60] [--threads 2] [--quick]
    python benchmarks/asynchronous.py --only speedup
    python benchmarks/asynchronous.py --only openings --K 128

All methods have the variational posterior, the same priors and the same initial topics. "batch" is VI as in textbooks:
all K topics, documents solved from their words alone in every pass; "batch, L = 16" is what our own defaults make of
it; "stochastic" is SVI, the best by its last bound of a small grid of step sizes. "asynchronous, no opening" is the
paper's algorithm alone, without the passes under posterior means that ours begins with. For the bound of a stochastic
model all training documents are solved anew. Seconds count initialisation and not what the figure needs to see.

Results are one JSON file: {"machine": {...}, "curves": [...]}, where a curve is

    {"panel": "fig4", "corpus": "nips", "K": 128, "method": "asynchronous", "settings": {...},
     "seconds": [...], "elbo": [...], "perplexity": [...]}

`panel` is the figure of the paper that it belongs to (fig4, fig6, fig7, fig8); `elbo` is the bound on all training
documents, and `perplexity` exp(-completion score) of held-out ones, or [] where none was asked for. papers/esvi.py
draws them.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import datasets
from curves import calibrate, fingerprint
from topmix import LDA, _core
from topmix.data import Corpus
from topmix.learners.asynchronous import Course, Fleet
from topmix.metrics import completion_score
from topmix.numerics.dirichlet import expected_log, log_normaliser

OUT = Path(__file__).resolve().parent / "results" / "asynchronous.json"
DENSE: dict[str, Any] = {"n_active": None, "min_topic_mass": 0.0}
OURS: dict[str, Any] = {"learner": "asynchronous", "n_active": None}
BATCH: dict[str, Any] = {"learner": "batch", "cold_visits": None, **DENSE}
GRID = [
    {"learner": "stochastic", "batch_size": 256, "learning_offset": offset, "learning_decay": decay, **DENSE}
    for offset in (1.0, 10.0)
    for decay in (0.5, 0.7)
]
OPENINGS = (0, 2, 5, 10, 20, 40)
VALIDATION = 300  # documents


class Watch:
    """A callback that keeps the time and what was learned, and ends the fit when its seconds are over."""

    def __init__(self, seconds: float, keeps_topics: bool):
        self.limit, self.keeps_topics, self.own = seconds, keeps_topics, 0.0
        self.seconds: list[float] = []
        self.elbo: list[float] = []
        self.topics: list[np.ndarray | None] = []

    def __call__(self, record: Any, model: Any) -> bool:
        began = time.perf_counter()
        self.seconds.append(record.seconds - self.own)
        self.elbo.append(record.objective)
        due = self.keeps_topics and (not self.seconds[:-1] or self.seconds[-1] > 1.4 * self.last_kept)
        if due:
            self.last_kept = self.seconds[-1]
        self.topics.append(model.words.pseudo_counts().T if due else None)
        self.own += time.perf_counter() - began
        return self.seconds[-1] > self.limit


def bound_of(lam: np.ndarray, estimator: LDA, X: Any) -> float:
    """The bound on X under q(phi) = Dir(lam [V, K]), with documents at their best."""
    topics = LDA(**estimator.get_params() | {"init": lam.T - estimator.topic_word_prior_, "callbacks": None})
    topics._set_model(topics._start(Corpus.from_scipy(X), np.random.default_rng(0), 2))
    eta = np.full_like(lam, estimator.topic_word_prior_)
    kl = log_normaliser(lam) - log_normaliser(eta) + ((lam - eta) * expected_log(lam)).sum(axis=0)
    return topics.score(X) - float(kl.sum())


def run(
    panel: str, method: str, settings: dict[str, Any], data: datasets.Dataset, K: int, seconds: float, threads: int,
    perplexity: bool = True, tol: float = 1e-4,
) -> dict[str, Any]:  # fmt: skip
    watch = Watch(seconds, perplexity or settings["learner"] == "stochastic")
    common = {"posterior": "variational", "max_iter": 10_000, "tol": tol, "random_state": 0, "n_jobs": threads}
    model = LDA(K, **common | settings, callbacks=[watch])
    if settings["learner"] == "stochastic":
        model.set_params(tol=-np.inf)
    model.fit(data.train)
    kept = [i for i, lam in enumerate(watch.topics) if lam is not None] or [len(watch.elbo) - 1]
    if watch.topics[-1] is None and watch.keeps_topics:
        watch.topics[-1] = model.model_.words.pseudo_counts().T
        kept.append(len(watch.topics) - 1)
    scores = [completion_score((watch.topics[i] / watch.topics[i].sum(axis=0)).T, data.test, random_state=0)
              for i in kept] if perplexity else []  # fmt: skip
    if settings["learner"] == "stochastic":
        for i in kept:
            watch.elbo[i] = bound_of(watch.topics[i], model, data.train)
        points = kept
    else:
        points = list(range(len(watch.elbo)))
    at = {i: float(np.exp(-s)) for i, s in zip(kept, scores)}
    curve = {
        "panel": panel, "corpus": data.name, "K": K, "method": method, "settings": settings,
        "seconds": [watch.seconds[i] for i in (kept if perplexity else points)],
        "elbo": [watch.elbo[i] for i in (kept if perplexity else points)],
        "perplexity": [at[i] for i in kept] if perplexity else [],
        "all_seconds": [watch.seconds[i] for i in points], "all_elbo": [watch.elbo[i] for i in points],
    }  # fmt: skip
    tokens = float(data.train.sum())
    end = f"{curve['all_elbo'][-1] / tokens:.4f} a token after {curve['all_seconds'][-1]:.2f} s"
    extra = f", perplexity {curve['perplexity'][-1]:.1f}" if perplexity else ""
    print(f"  {panel} {data.name} K = {K} {method:<28} {end}{extra}, {len(watch.elbo)} passes", flush=True)
    return curve


def reached(curve: dict[str, Any], elbo: float) -> float:
    """Seconds until the bound is there; inf: never."""
    return next((t for t, b in zip(curve["all_seconds"], curve["all_elbo"]) if b >= elbo), float("inf"))


def compare(data: datasets.Dataset, K: int, seconds: float, threads: int) -> list[dict[str, Any]]:
    """Figs. 4 and 6."""

    def go(method: str, settings: dict[str, Any]) -> dict[str, Any]:
        return run("fig4", method, settings, data, K, seconds, threads)

    ours, alone = go("asynchronous", OURS), go("asynchronous, no opening", OURS | {"opening": 0})
    batch, sparse = go("batch", BATCH), go("batch, L = 16", {"learner": "batch"})
    grid = [go(f"stochastic, tau {g['learning_offset']:g}, kappa {g['learning_decay']}", g) for g in GRID]
    svi = max(grid, key=lambda c: c["all_elbo"][-1])
    target, tokens = batch["all_elbo"][-1], float(data.train.sum())
    print(f"  {data.name} K = {K}: seconds to the end of batch ({target / tokens:.4f} a token): " + ", ".join(
        f"{c['method']} {reached(c, target):.2f}" for c in (ours, alone, batch, sparse, svi)), flush=True)  # fmt: skip
    four = [ours, alone, batch, sparse, svi | {"method": "stochastic"}]
    return four + [c | {"panel": "fig6"} for c in four]


def cut_off(
    data: datasets.Dataset, K: int, kept: list[int | None], seconds: float, threads: int, panel: str
) -> list[Any]:
    """Figs. 7 and 8: C topics kept of each entry."""
    out = []
    for C in kept:
        rests = ("best",) if C is None else ("best", "mean")
        for rest in rests:
            name = "asynchronous, C = K" if C is None else f"asynchronous, C = {C}, {rest} rest"
            settings = OURS | {"n_active": C, "rest": rest}
            out.append(run(panel, name, settings, data, K, seconds, threads, perplexity=False))
    return out


def speedup(data: datasets.Dataset, K: int, repeats: int = 3) -> dict[str, float]:
    """Two threads to the bound of one thread at pass 10, beside what two threads do for a loop of arithmetic.

    Seconds count from where the initial topics are there, which take as long for both. Snapshots are read while the
    workers go on, and their bounds computed when all is over: who looks needs a processor too, which one worker on two
    leaves idle and two do not. Between two snapshots the bound is taken to be a line.
    """
    x, out = np.linspace(0.1, 50.0, 1 << 20), np.empty(1 << 20)
    corpus = Corpus.from_scipy(data.train)

    def loop(threads: int) -> float:
        began = time.perf_counter()
        for _ in range(20):
            _core.lgamma(x, out, threads)
        return time.perf_counter() - began

    def learn(threads: int, n_passes: int) -> tuple[np.ndarray, np.ndarray]:
        """Seconds and bound of each pass."""
        model = LDA(K, posterior="variational", random_state=0)._start(corpus, np.random.default_rng(0), threads)
        began = time.perf_counter()
        fleet = Fleet.of(corpus, model, threads, Course(K, opening=0))
        fleet.native.start(n_passes)
        found = [(fleet.native.next(), time.perf_counter() - began) for _ in range(n_passes)]
        fleet.native.stop()
        statistics = [fleet.statistics(snapshot, model) for snapshot, _ in found]
        bounds = [sum(model.update(total).bound(total).values()) for total in statistics]
        return np.array([t for _, t in found]), np.array(bounds)

    loops, ones, twos = [], [], []
    for _ in range(repeats):  # in turn
        loops.append((loop(1), loop(2)))
        ones.append(learn(1, 10))
        twos.append(learn(2, 15))
    s = min(a for a, _ in loops) / min(b for _, b in loops)
    target = ones[0][1][-1]
    one, two = min(t[-1] for t, _ in ones), min(float(np.interp(target, bound, t)) for t, bound in twos)
    passes = float(np.mean([np.interp(target, bound, np.arange(1, 16)) for _, bound in twos]))
    print(
        f"  {data.name} K = {K}: one thread {one:.3f} s to its pass 10, two threads {two:.3f} s to that bound, in "
        f"{passes:.1f} passes: {one / two:.2f} times as fast; a loop of arithmetic {s:.2f} times; wanted {0.9 * s:.2f}",
        flush=True,
    )
    return {"one": one, "two": two, "loop": s, "passes": passes}


def openings(data: datasets.Dataset, K: int, threads: int, seeds: int = 2) -> list[dict[str, Any]]:
    """How many opening passes: the first training documents, held out, judge what is learned from the others."""
    held, train = data.train[:VALIDATION], data.train[VALIDATION:]
    out = []
    for n in OPENINGS:
        fits = [LDA(K, posterior="variational", **OURS | {"opening": n}, max_iter=100, tol=1e-4, n_jobs=threads,
                    random_state=seed).fit(train) for seed in range(seeds)]  # fmt: skip
        bound = float(np.mean([fit.elbo_ for fit in fits]) / train.sum())
        score = float(np.mean([completion_score(fit.topic_word_, held, random_state=0) for fit in fits]))
        passes = float(np.mean([fit.n_iter_ for fit in fits]))
        out.append({"corpus": data.name, "K": K, "opening": n, "bound": bound, "score": score, "passes": passes})
        print(f"  {data.name} K = {K}: opening {n:>3}: bound {bound:.4f} a token, validation score {score:.4f}, "
              f"{passes:.0f} passes", flush=True)  # fmt: skip
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", nargs="+", default=["kos", "nips", "wiki"])
    parser.add_argument("--K", nargs="+", type=int, default=[64, 128, 256])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each method")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=["speedup", "fig4", "fig7", "fig8"])
    parser.add_argument("--quick", action="store_true", help="a generated corpus and a second for each method")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    if given.quick:
        given.corpus, given.K, given.seconds = [datasets.GENERATED], [16], 0.5
    curves: list[dict[str, Any]] = []
    found: dict[str, Any] = {
        "machine": {"name": fingerprint(), "calibration": calibrate()},
        "curves": curves,
        "speedup": {},
        "openings": [],
    }

    def write() -> None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(found), encoding="utf-8")

    for name in given.corpus:
        data = datasets.load(name)
        for K in given.K:
            if "speedup" in given.only:
                found["speedup"][f"{name}, K = {K}"] = speedup(data, K, 1 if given.quick else 3)
            if "openings" in given.only:
                found["openings"] += openings(data, K, given.threads)
            if "fig4" in given.only:
                curves += compare(data, K, given.seconds, given.threads)
            if "fig7" in given.only:
                kept = [None, max(K // 4, 1), max(K // 16, 1)]
                curves += cut_off(data, K, kept, given.seconds, given.threads, "fig7")
            write()
        if "fig8" in given.only:
            for K in [24, 32] if given.quick else [256, 512]:
                curves += cut_off(data, K, [min(16, K // 4)], given.seconds, given.threads, "fig8")
            write()


if __name__ == "__main__":
    main()
