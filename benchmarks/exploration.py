"""What does exploration give: on corpora, on planted topics and on texts that share no word?

    python -m benchmarks.exploration corpora --seeds 3                       # validation documents
    python -m benchmarks.exploration corpora --corpus nips --sweeps 0 50 150 --engine cuda
    python -m benchmarks.exploration planted --seeds 3
    python -m benchmarks.exploration disjoint

`corpora` prints score, NPMI and diversity for each number of sweeps. `planted` prints the l1 error of matched topics
for corpora that are drawn from LDA's own model, beside GibbsLDA and, where it is installed, tomotopy with 300 sweeps.
`disjoint` counts the seeds that give each of two or five texts without a common word, repeated, a topic of its own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import arguments, datasets, evaluate
from benchmarks.harness.methods import is_installed, ours
from benchmarks.harness.methods.tomotopy import add_documents
from benchmarks.harness.results import Results
from topmix import LDA, GibbsLDA
from topmix.data import Corpus, sample_lda
from topmix.inference import Collapsed
from topmix.metrics import completion_score, topic_recovery_error


class Planted(NamedTuple):
    n_topics: int
    n_docs: int
    doc_length: int


PLANTED = [Planted(10, 600, 65), Planted(20, 2000, 85), Planted(20, 8000, 35), Planted(50, 8000, 105)]
N_WORDS = 1000
TOMOTOPY_SWEEPS = 300
SEEDS_OF_TEXTS = 20


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="generated data, one seed, few sweeps")
    p.add_argument("what", choices=PARTS)
    arguments.add_corpus(p, ["kos", "nips", "wiki", "20ng", "arxiv_100k"], role="validation")
    p.add_argument("--K", nargs="+", type=int, default=[200])
    p.add_argument("--sweeps", nargs="+", type=int, default=[0, Collapsed().sweeps])
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--engine", default="threads", help="threads or cuda")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seeds, a.sweeps = [datasets.GENERATED], [20], 1, [0, 4]
    PARTS[a.what](a, Results(a.out, "exploration"))
    return 0


def lda(K: int, sweeps: int, seed: int, a: argparse.Namespace) -> LDA:
    return LDA(K, inference=Collapsed(sweeps=sweeps), engine=a.engine, n_jobs=a.threads, random_state=seed)


def corpora(a: argparse.Namespace, out: Results) -> None:
    print("corpus           K sweeps seed    score    NPMI  diversity  empty  duplicate  largest  seconds")
    for name in a.corpus:
        data = datasets.load(name, split=a.split, role=a.role)
        for K in a.K:
            for sweeps in a.sweeps:
                for seed in range(a.seeds):
                    begin = time.perf_counter()
                    model = lda(K, sweeps, seed, a).fit(data.train)
                    seconds = time.perf_counter() - begin
                    topics = ours.topics_of(model)
                    found: dict[str, Any] = {"score": completion_score(topics.topic_word, data.scored)}
                    found |= evaluate.describe(topics.topic_word, topics.tokens, data) | {"seconds": seconds}
                    print(
                        f"{name:<12}{K:>6}{sweeps:>7}{seed:>5}{found['score']:>9.4f}{found['npmi']:>8.3f}"
                        f"{found['diversity']:>11.3f}{found['empty']:>7}{found['duplicate']:>11}"
                        f"{found['largest_share']:>9.3f}{seconds:>9.1f}",
                        flush=True,
                    )
                    settings = {"K": K, "sweeps": sweeps, "seed": seed, "engine": a.engine, "threads": a.threads}
                    out.add(found, settings, data)


def planted(a: argparse.Namespace, out: Results) -> None:
    cases = [Planted(5, 100, 30)] if a.quick else PLANTED
    for case in cases:
        errors: dict[str, list[float]] = {}
        for seed in range(a.seeds):
            sample = sample_lda(
                case.n_docs, N_WORDS, case.n_topics, doc_length=case.doc_length, random_state=100 + seed
            )
            for method, fit in methods(case.n_topics, seed, a).items():
                begin = time.perf_counter()
                topics = fit(sample.corpus)
                seconds = time.perf_counter() - begin
                error = topic_recovery_error(topics, sample.topic_word)
                errors.setdefault(method, []).append(error)
                settings = case._asdict() | {"method": method, "seed": seed, "threads": a.threads}
                out.add({"error": error, "seconds": seconds}, settings)
        print(*case, *(f"{method} {' '.join(f'{e:.2f}' for e in found)}" for method, found in errors.items()), sep=", ",
              flush=True)  # fmt: skip


def methods(K: int, seed: int, a: argparse.Namespace) -> dict[str, Callable[[Corpus], np.ndarray]]:
    found: dict[str, Callable[[Corpus], np.ndarray]] = {}
    for sweeps in a.sweeps:
        found[f"LDA sweeps={sweeps}"] = lambda X, sweeps=sweeps: lda(K, sweeps, seed, a).fit(X).topic_word_  # type: ignore[misc]
    gibbs = GibbsLDA(K, engine=a.engine, n_jobs=a.threads, random_state=seed)
    found["GibbsLDA"] = lambda X: np.asarray(gibbs.fit(X).topic_word_)
    if is_installed("tomotopy") and not a.quick:
        found["tomotopy"] = partial(of_tomotopy, K=K, seed=seed, threads=a.threads)
    return found


def of_tomotopy(corpus: Corpus, K: int, seed: int, threads: int) -> np.ndarray:
    import tomotopy as tp

    X = corpus.to_scipy()
    model = tp.LDAModel(k=K, seed=seed)
    add_documents(model, X)
    model.train(TOMOTOPY_SWEEPS, workers=threads)
    topics = np.zeros((K, X.shape[1]))
    topics[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in range(K)]
    return topics


def disjoint(a: argparse.Namespace, out: Results) -> None:
    n_seeds = 2 if a.quick else SEEDS_OF_TEXTS
    for n_texts in (2, 5):
        for copies in (20, 500):
            X = sp.csr_array(np.kron(np.repeat(np.eye(n_texts), copies, axis=0), np.ones(12)))
            for sweeps in a.sweeps:
                separated = sum(
                    is_separated(lda(n_texts, sweeps, seed, a).fit(X).topic_word_) for seed in range(n_seeds)
                )
                print(f"{n_texts} texts, {copies} copies, {sweeps} sweeps: {separated} of {n_seeds}", flush=True)
                settings = {"texts": n_texts, "copies": copies, "sweeps": sweeps, "seeds": n_seeds}
                out.add({"separated": separated}, settings)


def is_separated(topic_word: np.ndarray) -> bool:
    """Whether each topic is one text: twelve words have nearly all of it, and no two topics share them."""
    K = len(topic_word)
    shares = topic_word.reshape(K, K, 12).sum(axis=2)
    return bool(np.all(shares.max(axis=1) > 0.9) and len(set(shares.argmax(axis=1).tolist())) == K)


PARTS = {"corpora": corpora, "planted": planted, "disjoint": disjoint}

if __name__ == "__main__":
    arguments.command(main)
