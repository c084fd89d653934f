"""Jiang, Sra & Kulis, Combinatorial topic models using small-variance asymptotics (2016): Tables 1 to 5, Figs. 1 and 2.

"word" and "word+refine" are the paper's (presets.word_refine), where a document keeps what it had unless Algorithm 2
finds something cheaper; "to the letter" it never keeps anything. "smoothed" has our early smoothing, "ours" exchanges
of topics as well. Gibbs is the plain chain from random topics, 3,300 sweeps, no annealing; our parallel sampler is used
for more than 2,000 documents. In Tables 1 and 2 recovery errors of combinatorial algorithms are the best over lambda,
as in the paper, of three starts each; in Table 3 lambda is chosen on another sample of documents, in Table 4 on
validation documents. kos and nips are in the place of Enron and the New York Times.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import datasets
from benchmarks.harness.curve import Curve
from benchmarks.harness.jobs import Budget, Job, Write
from benchmarks.harness.stopwatch import Stopwatch
from benchmarks.harness.synthetic import SYNTHETIC, synthetic
from papers import everything
from papers.anchor import anchor_topics
from topmix import MultinomialMixture, presets
from topmix.chains import Parallel, Sequential
from topmix.data import Corpus, sample_lda
from topmix.learn.chains import HardTopics, place
from topmix.metrics import (
    adjusted_rand,
    discrete_log_likelihood,
    half_split_score,
    match_topics,
    nmi,
    topic_recovery_error,
)

PAPER = "combinatorial"
LAMBDAS = (6, 7, 8, 9, 10, 11, 12)
LETTER = ("word, to the letter", "word+refine, to the letter")
HARD = ("basic", "word", "word+refine", *LETTER, "word+refine, smoothed", "ours")
WIDE = (6, 8, 10, 12, 20, 30, 45, 70, 100)  # lambdas of Table 3
WIDER = (2, 4, 8, 16, 30, 60, 120, 240, 480)  # and of Table 4
SOURCE_SWEEPS = 3000  # of the model that documents of Table 3 are drawn from
OTHERS = ("k-means", "VB", "anchor", "gibbs")
BETAS = (0.1, 0.01, 0.001)
SMALL = {"n_words": 300, "n_topics": 6, "doc_length": 60}


def jobs(small: bool) -> list[Job]:
    found = []
    sizes, sweeps, docs = ([300], 60, 300) if small else ([2000, 6000, 4000, 8000, 10_000], 3300, 6000)
    for name in SYNTHETIC:
        for n in sizes:
            for method in (*HARD, *OTHERS):
                cost = {"gibbs": 50.0, "VB": 14.0, "anchor": 3.0}.get(method, 3.0) * n / 1000
                for seed in range(1 if small or method not in HARD else 3):
                    about = {"sample": name, "documents": n, "method": method, "sweeps": sweeps, "small": small}
                    rank = 1 if n in sizes[:2] else 3
                    found.append(Job(PAPER, "tables_1_and_2", about | {"seed": seed}, 10 + min(cost, 420), rank))
        for start in ("random", 6, 8, 10):
            about = {"sample": name, "documents": docs, "start": start, "sweeps": 60 if small else 600, "small": small}
            found.append(Job(PAPER, "figure_1", about, 10 if small else 90, 2))
    for corpus in ["kos"] if small else ["kos", "nips"]:
        for method in (*HARD, "VB", "anchor", "gibbs"):
            about = {"corpus": corpus, "method": method, "small": small, "sweeps": sweeps}
            found.append(Job(PAPER, "table_3", about, 20 if small else 250 if method == "gibbs" else 100, 3))
        for start in ("random", 6, 8, 10):
            about = {"corpus": corpus, "start": start, "sweeps": 60 if small else 600, "small": small}
            found.append(Job(PAPER, "figure_1_right", about, 10 if small else 90, 3))
        for method in ("word+refine", "ours", *(f"gibbs, beta = {b}" for b in BETAS)):
            about = {"corpus": corpus, "method": method, "small": small, "sweeps": sweeps}
            found.append(Job(PAPER, "table_4", about, 20 if small else 150, 2 if corpus == "kos" else 3))
    return found


def sample_of(name: str, n: int, small: bool) -> Any:
    return synthetic(name, n, 0, **(SMALL if small else {}))


def hard_topics(method: str, X: Any, K: int, penalty: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Topics [K, V] and the topic of each token, by one of HARD."""
    if method not in LETTER:
        fitted = hard(method, K, penalty, random_state=seed).fit(X)
        return fitted.topic_word_, fitted.token_topics_
    corpus = X if isinstance(X, Corpus) else Corpus.from_scipy(X)
    topics, rng = HardTopics(corpus, K, float(penalty), threads=1), np.random.default_rng(seed)
    topics.start(rng.integers(0, K, topics.n_tokens).astype(np.uint16))
    for _ in range(20 if method == LETTER[0] else 10):
        topics.assign("place")
        if method == LETTER[1]:
            topics.refine(rng.permutation(topics.n_docs))
    return topics.word.T / np.maximum(topics.total, 1)[:, None], topics.z


def hard(method: str, K: int, penalty: float, **change: Any) -> Any:
    """One of HARD but those to the letter, unfitted."""
    model = presets.word_refine(K, float(penalty), algorithm=method if method in ("basic", "word") else "word+refine")
    if method in ("word+refine, smoothed", "ours"):
        model.set_params(early_smoothing=True, exchanges=method == "ours")
    return model.set_params(**{"random_state": 0, "n_jobs": 1} | change)


def fitted_gibbs(
    X: Any, K: int, alpha: float, eta: float, sweeps: int, budget: Budget, exact: bool, **change: Any
) -> Any:  # fmt: skip
    """A chain, which ends early where its time is up; topics are then those of its last samples."""
    end = time.time() + budget.at_most(1e9)
    calls = [lambda record, view: time.time() > end, *change.pop("callbacks", [])]
    settings = {"max_iter": sweeps, "burn_in": sweeps * 10 // 11, "thin": max(1, sweeps // 110), "callbacks": calls}
    settings["sampler"] = Sequential(annealing=0) if exact else Parallel(annealing=0)
    return presets.gibbs(K, alpha, eta).set_params(**{"random_state": 0, "n_jobs": 1} | settings | change).fit(X)


def topics_of(method: str, X: Any, K: int, alpha: float, eta: float) -> np.ndarray:
    """[K, V] by k-means under the KL divergence, variational inference or anchor words."""
    if method == "k-means":
        return MultinomialMixture(K, n_active=1, random_state=0, n_jobs=1).fit(X).topic_word_
    if method == "VB":
        return presets.batch_vb(K, alpha, eta).set_params(max_iter=100, random_state=0, n_jobs=1).fit(X).topic_word_
    return anchor_topics(X.to_scipy(), K)


def tables_1_and_2(
    write: Write, budget: Budget, sample: str, documents: int, method: str, sweeps: int, small: bool, seed: int = 0
) -> None:  # fmt: skip
    """Mean l1 error of recovered topics and agreement of tokens with the truth, for every lambda if it has one."""
    x, (alpha, eta) = sample_of(sample, documents, small), priors(sample)
    K = len(x.topic_word)
    about = {"table": 2, "sample": sample, "documents": documents, "method": method, "seed": seed}

    def add(phi: np.ndarray, z: np.ndarray | None, begin: float, result: dict[str, Any], **more: Any) -> None:
        result |= {"seconds": time.process_time() - begin, "error": topic_recovery_error(phi, x.topic_word)}
        if z is not None:
            result |= {"nmi": nmi(x.assignments, z), "rand": adjusted_rand(x.assignments, z)}
        write(result, about | more)

    begin = time.process_time()
    if method == "gibbs":
        for exact in (True, False) if documents <= 2000 else (False,):
            begin = time.process_time()
            chain = fitted_gibbs(x.corpus, K, alpha, eta, sweeps, budget, exact)
            add(chain.topic_word_, chain.token_topics_, begin, {"sweeps": chain.n_iter_}, exact=exact)
    elif method in HARD:
        for penalty in LAMBDAS:
            begin = time.process_time()
            phi, z = hard_topics(method, x.corpus, K, penalty, seed)
            add(phi, z, begin, {}, **{"lambda": penalty})
    else:
        add(topics_of(method, x.corpus, K, alpha, eta), None, begin, {})


def figure_1(
    write: Write, budget: Budget, sample: str, documents: int, start: str | int, sweeps: int, small: bool
) -> None:  # fmt: skip
    """Recovery error along a chain from random topics, or from three passes of Word+Refine; their time counts."""
    x, (alpha, eta) = sample_of(sample, documents, small), priors(sample)
    K = len(x.topic_word)

    def error(counts: np.ndarray) -> float:
        return topic_recovery_error(counts + eta, x.topic_word)

    for method in ("random",) if start == "random" else ("word+refine", "ours"):
        curve = along_a_chain(error, x.corpus, K, alpha, eta, sweeps, budget, method, start)
        about = {"figure": 1, "sample": sample, "documents": documents, "method": method, "lambda": start}
        write({"curve": curve.to_dict()}, about | {"name": curve.name})


def figure_1_right(
    write: Write, budget: Budget, corpus: str, start: str | int, sweeps: int, small: bool
) -> None:  # fmt: skip
    """The held-out score of real documents along such chains."""
    K, data = 10 if small else 100, datasets.load(corpus)
    alpha, eta = 0.5 / K, 0.01

    def loss(counts: np.ndarray) -> float:
        phi = (counts + eta) / (counts + eta).sum(axis=1, keepdims=True)
        return -half_split_score(phi, data.test[:300])

    for method in ("random",) if start == "random" else ("word+refine", "ours"):
        curve = along_a_chain(loss, data.train, K, alpha, eta, sweeps, budget, method, start)
        write({"curve": curve.to_dict()}, {"figure": "1 right", "K": K, "method": method, "name": curve.name}, data)


def along_a_chain(
    loss: Callable[[np.ndarray], float], X: Any, K: int, alpha: float, eta: float, sweeps: int, budget: Budget,
    method: str, start: str | int,
) -> Curve:  # fmt: skip
    """Minus the loss of the counts [K, V], along a chain."""
    due = {*np.unique(np.geomspace(1, sweeps, 40).astype(int)).tolist()}
    curve, watch = Curve(method if method == "random" else f"{method}, lambda = {start}"), Stopwatch(time.process_time)
    init = "random" if method == "random" else hard(method, K, float(start), max_iter=3).fit(X)

    def look(record: Any, view: Any) -> None:
        if record.n_pass in due:
            with watch.pause():
                curve.add(watch.seconds, -loss(view.counts().T), record.n_pass)

    fitted_gibbs(X, K, alpha, eta, sweeps, budget, exact=False, init=init, callbacks=[look])
    return curve


def table_3(write: Write, budget: Budget, corpus: str, method: str, sweeps: int, small: bool) -> None:
    """And Fig. 2: errors of all topics on documents drawn from a model of a real corpus.

    Lambda is the best one on a first sample of documents; the errors are of a second one.
    """
    K, n, beta = (8, 300, 0.01) if small else (50, 10_000, 0.01)
    alpha, data = 0.5 / K, datasets.load(corpus)
    how = {"doc_length": 200, "length_distribution": "fixed", "doc_topic_prior": alpha}
    source = source_topics(corpus, K, alpha, beta, 60 if small else SOURCE_SWEEPS)
    first, second = (sample_lda(n, topic_word=source, random_state=seed, **how) for seed in (2, 1))
    about = {"table": 3, "method": method, "documents": n, "K": K, "beta": beta}

    def add(phi: np.ndarray, part: str, **more: Any) -> float:
        errors = match_topics(source, phi).distance
        found = {"error": errors.mean()} | ({"errors": errors} if part == "test" else {})
        write(found, about | {"part": part} | more, data)
        return float(errors.mean())

    if method == "gibbs":
        chain = fitted_gibbs(second.corpus, K, alpha, beta, sweeps, budget, exact=False)
        add(chain.topic_word_, "test", sweeps=chain.n_iter_)
    elif method not in HARD:
        add(topics_of(method, second.corpus, K, alpha, beta), "test")
    else:
        tried = {at: add(hard_topics(method, first.corpus, K, at)[0], "choice", **{"lambda": at}) for at in WIDE}
        best = min(tried, key=lambda at: tried[at])
        for seed in range(3):
            add(hard_topics(method, second.corpus, K, best, seed)[0], "test", seed=seed, **{"lambda": best})


def source_topics(corpus: str, K: int, alpha: float, beta: float, sweeps: int, threads: int = 1) -> np.ndarray:
    """[K, V] of a chain on a real corpus. All methods have the same, so it is kept among temporary files."""
    data = datasets.load(corpus)
    path = Path(tempfile.gettempdir()) / f"topmix-papers-{corpus}-{data.sha256[:12]}-{K}-{sweeps}.npy"
    if not path.exists():
        chain = fitted_gibbs(data.train, K, alpha, beta, sweeps, Budget(np.inf), exact=False, n_jobs=threads)
        part = path.with_suffix(f".{os.getpid()}.npy")
        np.save(part, chain.topic_word_)
        part.replace(path)
    return np.load(path)


def table_4(write: Write, budget: Budget, corpus: str, method: str, sweeps: int, small: bool) -> None:
    """Log likelihood per token of new documents, discrete and held-out; for Table 5 some topics to read."""
    K, data = 10 if small else 100, datasets.load(corpus)
    test, alpha = data.test[:300], 0.5 / K

    def add(phi: np.ndarray, beta: float, topics_per_document: float, **more: Any) -> None:
        found = {"discrete": discrete_score(phi, test), "held_out": half_split_score(phi, test)}
        found["validation"] = half_split_score(phi, data.validation[:300])
        words = [" ".join(data.vocabulary[v] for v in np.argsort(-row)[:10]) for row in phi]
        found |= {"topics_per_document": topics_per_document} | ({"topics": words} if beta == BETAS[1] else {})
        write(found, {"table": 4, "method": method.split(",")[0], "K": K, "beta": beta} | more, data)

    if method.startswith("gibbs"):
        beta = float(method.split("= ")[1])
        chain = fitted_gibbs(data.train, K, alpha, beta, sweeps if corpus == "kos" else sweeps // 3, budget, False)
        add(chain.topic_word_, beta, used_per_document(data.train, chain.token_topics_), sweeps=chain.n_iter_)
        return
    for penalty in WIDER:
        model = hard(method, K, penalty).fit(data.train)
        counts = model.components_ - model.smoothing
        for beta in BETAS:
            phi = (counts + beta) / (counts + beta).sum(axis=1, keepdims=True)
            add(phi, beta, used_per_document(data.train, model.token_topics_), **{"lambda": penalty})


def discrete_score(phi: np.ndarray, test: Any) -> float:
    """Log likelihood per token, with the assignments that Word gives the new documents."""
    scaled = np.ascontiguousarray(np.round(phi.T * 1e8).astype(np.int32))  # Word takes counts
    z = place(Corpus.from_scipy(test), scaled, 8.0, 1e-3, 2)[0].z
    return discrete_log_likelihood(phi, test, z)


def used_per_document(X: Any, z: np.ndarray) -> float:
    """Topics that a document uses, on average."""
    document = np.repeat(np.arange(X.shape[0]), np.asarray(X.sum(axis=1)).ravel().astype(int))
    return len(np.unique(document.astype(np.int64) * (int(z.max()) + 1) + z)) / X.shape[0]


def priors(name: str) -> tuple[float, float]:
    return SYNTHETIC[name]["doc_topic_prior"], SYNTHETIC[name]["topic_word_prior"]


if __name__ == "__main__":
    raise SystemExit(everything.main(only=(PAPER,)))
