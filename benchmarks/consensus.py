"""Is a topic that a consensus calls real a real one, does a consensus agree better with people, and what does it cost?

    python -m benchmarks.consensus planted --corpora 0-119 --out benchmarks/results/consensus.jsonl
    python -m benchmarks.consensus table --out benchmarks/results/consensus.jsonl
    python -m benchmarks.consensus classes --corpus bbc nyt 20ng arxiv --out benchmarks/results/consensus.jsonl
    python -m benchmarks.consensus cost --corpus arxiv_100k --K 100 --fits 20 --threads 2
    python -m benchmarks.consensus cost --corpus arxiv_100k --K 100 --fits 100 --engine cuda

`planted` draws corpora whose topics are known: 1 to 40 topics, 250 to 800 documents of 25 to 100 words, topics that
share words, noise words, equal and unequal sizes. It asks for the right number of topics, half of it, or up to twice as
many. Each row has the mean similarity of each topic of the consensus to its partners, and what the topic is most like
among the planted ones: the cosine of both, centred on the frequencies of the words. From 0.7 on it matches. `table`
reads the rows: corpora with even numbers choose the rule, and those with odd numbers from UNSEEN on report it; earlier
ones were looked at while the rule was made. It prints a new CALIBRATION from the former.

`classes` is NMI and purity of the largest topic of each document with the classes that people gave: of single fits, of
the same after one pass from their own proportions, as a consensus makes it ("polished alike"), of the model of the
consensus, and of its `doc_topic`; beside scikit-learn and tomotopy, and the consensus of tomotopy's
runs.

`cost` is the time of a consensus with all that belongs to it, from a corpus in memory.
"""

from __future__ import annotations

import gzip
import json
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import normalized_mutual_info_score

import topmix
from benchmarks.count_clusters import CLUSTERS, Labelled, load, purity
from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.methods.tomotopy import add_documents
from benchmarks.harness.results import Results, read
from topmix.data import Corpus, sample_lda
from topmix.engines.cuda import Cuda
from topmix.inference import Collapsed
from topmix.results.measures import centred
from topmix.results.view import LEVEL, REAL
from topmix.selection.consensus import CALIBRATION, SWEEPS
from topmix.selection.measure import ALIKE

UNSEEN = 61
SINGLE = 3  # single fits beside a consensus of a planted corpus
TOMOTOPY_SWEEPS = 500


class Planted(NamedTuple):
    corpus: Corpus
    topics: np.ndarray  # [K, V]
    about: dict[str, Any]


def planted(number: int) -> Planted:
    rng = np.random.default_rng(number)
    K = int(rng.choice([1, 5, 10, 20, 40], p=[0.08, 0.22, 0.25, 0.25, 0.2]))
    about = {
        "number": number,
        "K": K,
        "documents": int(rng.choice([250, 500, 800])),
        "length": int(rng.choice([25, 50, 100])),
        "words": int(rng.choice([500, 1000])),
        "eta": float(rng.choice([0.03, 0.1])),
        "noise": float(rng.choice([0.0, 0.1, 0.3])),
        "unequal": bool(rng.integers(2)),
        "alpha": float(rng.choice([0.3, 1.0, 2.0])),
        "asked": max(2, round(max(K, 5) * float(rng.choice([0.5, 1.0, 1.0, 1.5, 2.0])))),
    }
    V = about["words"]
    common = rng.permutation(1 / (1 + np.arange(V)))
    topics = rng.dirichlet(np.full(V, about["eta"]), K)
    topics = (1 - about["noise"]) * topics + about["noise"] * common / common.sum()
    drawn = sample_lda(
        about["documents"], V, K, doc_length=about["length"], doc_topic_prior=about["alpha"] / K, topic_word=topics,
        topic_sizes=1 / (1 + np.arange(K)) if about["unequal"] else None, random_state=number,
    )  # fmt: skip
    return Planted(drawn.corpus, drawn.topic_word, about)


def to_planted(topic_word: np.ndarray, is_empty: np.ndarray, known: Planted) -> np.ndarray:
    """[topics, planted topics] cosines. With one planted topic, the corpus has none that sets documents apart."""
    counts = np.bincount(known.corpus.index, known.corpus.value, minlength=known.corpus.n_words)
    frequency = counts / counts.sum()
    if len(known.topics) == 1:
        return np.zeros((len(topic_word), 1))
    found = centred(topic_word, frequency).astype(float) @ centred(known.topics, frequency).astype(float).T
    found[is_empty] = 0.0
    return found


def certificates(a: Any, out: Results) -> None:
    for number in a.corpora:
        known = planted(number)
        K, begin = known.about["asked"], time.process_time()
        estimator = ours.lda(K, inference=Collapsed(sweeps=SWEEPS), n_jobs=a.threads)
        result = topmix.consensus(known.corpus, fits=a.fits, estimator=estimator, verbose=0)
        seconds = time.process_time() - begin
        view = result.model._found().view
        alike = to_planted(result.model.topic_word_, view.is_empty(), known)
        single = []
        for seed in range(SINGLE):
            model = ours.lda(K, random_state=1000 + seed, n_jobs=a.threads, verbose=0).fit(known.corpus)
            single.append(to_planted(model.topic_word_, model._found().view.is_empty(), known).max(axis=0))
        r, digits = result.reproducibility, 4
        row = {
            "similarity": r.similarity.round(digits).tolist(),
            "found": r.found.round(digits).tolist(),
            "share": view.share.round(6).tolist(),
            "alike": alike.max(axis=1).round(digits).tolist(),
            "planted": alike.argmax(axis=1).tolist(),
            "single": [s.round(digits).tolist() for s in single],
            "seconds": seconds,
        }
        out.add(row, {"what": "planted", "fits": a.fits, "threads": a.threads, **known.about})
        print(f"{known.about}: {np.mean(alike.max(axis=1) >= ALIKE):.2f} match, {seconds:.1f} s", flush=True)


class Topics(NamedTuple):
    """Of all corpora of one kind, end to end."""

    score: np.ndarray
    is_real: np.ndarray


def topics_of(rows: list[dict[str, Any]], name: str = "similarity") -> Topics:
    score = np.concatenate([r["result"][name] for r in rows])
    return Topics(score, np.concatenate([np.asarray(r["result"]["alike"]) >= ALIKE for r in rows]))


def missed(rows: list[dict[str, Any]], least: float) -> float:
    """Of the planted topics that a single fit finds, the share that no topic with this similarity matches."""
    found = lost = 0
    for r in rows:
        result = r["result"]
        called = (np.asarray(result["similarity"]) >= least) & (np.asarray(result["alike"]) >= ALIKE)
        ours_has = set(np.asarray(result["planted"])[called].tolist())
        for single in result["single"]:
            theirs = np.flatnonzero(np.asarray(single) >= ALIKE).tolist()
            found, lost = found + len(theirs), lost + len([k for k in theirs if k not in ours_has])
    return lost / max(found, 1)


def table(a: Any, out: Results) -> None:
    rows = [r for r in read(a.out) if r["settings"].get("what") == "planted"]
    chosen_on = [r for r in rows if r["settings"]["number"] % 2 == 0]
    reported = [r for r in rows if r["settings"]["number"] % 2 == 1 and r["settings"]["number"] >= UNSEEN]
    score, is_real = topics_of(chosen_on)
    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(score, is_real)
    at = np.round(np.linspace(0.3, 0.9, 13), 2)
    print("isotonic:", [(float(x), round(float(p), 3)) for x, p in zip(at, fitted.predict(at))])
    order = np.argsort(-score, kind="stable")
    wrong = np.cumsum(~is_real[order]) / (1 + np.arange(len(order)))
    ok = np.flatnonzero(wrong <= 1 - LEVEL)
    print(f"least similarity with at most {1 - LEVEL:.0%} wrong, on {len(chosen_on)}: {score[order[ok[-1]]]:.3f}")
    x, p = zip(*CALIBRATION)
    for name, some in (("chosen on", chosen_on), ("reported on", reported)):
        score, is_real = topics_of(some)
        probability = np.interp(score, x, p)
        print(f"\n{name}: {len(some)} corpora, {len(score)} topics, {is_real.mean():.1%} of them planted")
        print("| reliability | topics | mean reliability | planted |\n|---|---|---|---|")
        edges = [0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0001]
        for low, high in pairwise(edges):
            inside = (probability >= low) & (probability < high)
            if inside.any():
                print(f"| {low:.2f} to {min(high, 1):.2f} | {inside.sum()} | {probability[inside].mean():.3f} | "
                      f"{is_real[inside].mean():.3f} |")  # fmt: skip
        least, called = REAL, score >= REAL
        print(f"called real at {LEVEL:.0%}: {called.sum()}; match no planted topic: {(~is_real[called]).mean():.1%}; "
              f"missed of what a single fit finds: {missed(some, least):.1%} "
              f"(without a rule {missed(some, -1.0):.1%})")  # fmt: skip
        for what in ("K", "length", "noise", "asked/K", "eta", "unequal"):
            groups: dict[Any, list[Any]] = {}
            for r in some:
                s = r["settings"]
                groups.setdefault(s["asked"] / s["K"] if what == "asked/K" else s[what], []).append(r)
            said = []
            for value, of_value in sorted(groups.items()):
                part = topics_of(of_value)
                real = part.score >= REAL
                said.append(f"{value}: {(~part.is_real[real]).mean() if real.any() else 0:.1%} of {real.sum()} wrong, "
                            f"{missed(of_value, least):.1%} missed")  # fmt: skip
            print(f"  by {what}: " + "; ".join(said))


def labelled(name: str) -> Labelled:
    if name != "arxiv":
        return load(name)
    with gzip.open(datasets.find("arxiv", "raw_20k.jsonl.gz"), "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    counts = topmix.data.from_texts([f"{d['title']} {d['text']}" for d in documents])
    sections = [d["cat"].split(".")[0] for d in documents]
    return Labelled("arxiv_20k", counts.to_scipy(), np.unique(sections, return_inverse=True)[1], datasets.sha256(name))


def runs_of_tomotopy(data: Labelled, K: int, seeds: int, threads: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(topics [K, V], largest topic of each document) of each run."""
    import tomotopy as tp

    warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
    for seed in range(seeds):
        model = tp.LDAModel(k=K, seed=seed)
        add_documents(model, data.X)
        model.train(TOMOTOPY_SWEEPS, workers=threads)
        z = np.zeros(len(data.y), np.int64)  # documents without words are left out there
        z[np.diff(data.X.indptr) > 0] = [np.argmax(d.get_topic_dist()) for d in model.docs]
        topics = np.zeros((K, data.X.shape[1]))
        topics[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in range(K)]
        yield topics, z


def classes(a: Any, out: Results) -> None:
    for name in a.corpus:
        data = labelled(name)
        K = a.K or CLUSTERS.get(name, 50)

        def add(method: str, z: np.ndarray, seed: int | None, begin: float, data: Labelled = data, K: int = K) -> None:
            found = {"nmi": float(normalized_mutual_info_score(data.y, z)), "purity": purity(data.y, z),
                     "seconds": time.perf_counter() - begin}  # fmt: skip
            fits = a.fits if "consensus" in method else 1
            settings = {"what": "classes", "method": method, "K": K, "seed": seed, "fits": fits, "threads": a.threads}
            out.add(found, settings, data)
            print(f"{data.name} K={K} {method:<27} seed {seed}: NMI {found['nmi']:.4f}, purity {found['purity']:.4f}, "
                  f"{found['seconds']:.1f} s", flush=True)  # fmt: skip

        if "topmix" in a.methods:
            for seed in range(a.seeds):
                begin = time.perf_counter()
                model = ours.lda(K, random_state=seed, n_jobs=a.threads, engine=a.engine).fit(data.X)
                add("topmix", np.asarray(model.transform(data.X)).argmax(axis=1), seed, begin)
                alone = topmix.consensus(data.X, fits=[model, model], estimator=model, verbose=0).model
                add("topmix, polished alike", np.asarray(alone.transform(data.X)).argmax(axis=1), seed, begin)
        if "consensus" in a.methods:
            estimator = ours.lda(K, inference=Collapsed(sweeps=SWEEPS), n_jobs=a.threads, engine=a.engine)
            for seed in range(a.consensuses):
                begin = time.perf_counter()
                result = topmix.consensus(
                    data.X, fits=a.fits, estimator=estimator, random_state=1000 * (seed + 1), verbose=0
                )
                add("consensus", np.asarray(result.model.transform(data.X)).argmax(axis=1), seed, begin)
                add("consensus, doc_topic", result.labels(), seed, begin)
                print(f"{data.name}: {int(result.is_real.sum())} of {K} topics are real", flush=True)
        if "scikit-learn" in a.methods:
            for seed in range(a.seeds):
                begin = time.perf_counter()
                peer = LatentDirichletAllocation(K, random_state=seed, n_jobs=a.threads)
                add("scikit-learn", peer.fit_transform(data.X).argmax(axis=1), seed, begin)
        if "tomotopy" in a.methods:
            topics, begin = [], time.perf_counter()
            for seed, (phi, z) in enumerate(runs_of_tomotopy(data, K, a.seeds, a.threads)):
                counts = phi * (data.X.sum() / K)
                topics.append(ours.lda(K, init=counts, max_iter=0, n_jobs=a.threads).fit(data.X))
                add("tomotopy", z, seed, begin)
                begin = time.perf_counter()
            if len(topics) > 1:
                estimator = ours.lda(K, n_jobs=a.threads)
                result = topmix.consensus(data.X, fits=topics, estimator=estimator, verbose=0)
                add("consensus of tomotopy", np.asarray(result.model.transform(data.X)).argmax(axis=1), None, begin)
                add("consensus of tomotopy, doc_topic", result.labels(), None, begin)


def cost(a: Any, out: Results) -> None:
    for name in a.corpus:
        data = datasets.load(name)
        corpus = Corpus.from_scipy(data.train)
        K = a.K or 100
        estimator = ours.lda(K, inference=Collapsed(sweeps=SWEEPS), n_jobs=a.threads, engine=a.engine)
        if a.warm:  # kernels are compiled, libraries loaded
            topmix.consensus(corpus[:2000], fits=2, estimator=estimator, verbose=0)
        begin, processor = time.perf_counter(), time.process_time()
        result = topmix.consensus(corpus, fits=a.fits, estimator=estimator, verbose=1)
        found = {
            "seconds": time.perf_counter() - begin,
            "processor": time.process_time() - processor,
            "documents": corpus.n_docs,
            "tokens": float(corpus.n_tokens),
            "real": int(result.is_real.sum()),
            "stability": float(result.similarity.mean()),
        }
        settings = {"what": "cost", "K": K, "fits": a.fits, "engine": a.engine, "threads": a.threads,
                    "at_once": Cuda.most_fits if a.engine == "cuda" else a.threads}  # fmt: skip
        out.add(found, settings, data)
        print(f"{name} K={K} {a.fits} fits, {a.engine}, {a.threads} threads: {found}", flush=True)


def numbers(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few small corpora and fits")
    p.add_argument("what", choices=["planted", "table", "classes", "cost"], nargs="?", default="planted")
    arguments.add_corpus(p, [], role=None)
    p.add_argument("--corpora", type=numbers, default=range(120), metavar="N-N", help="which planted corpora")
    p.add_argument("--K", type=int, help="topics; else by corpus")
    p.add_argument("--fits", type=int, default=20)
    p.add_argument("--seeds", type=int, default=5, help="single fits")
    p.add_argument("--consensuses", type=int, default=2)
    p.add_argument("--methods", nargs="+", default=["topmix", "consensus"],
                   choices=["topmix", "consensus", "scikit-learn", "tomotopy"])  # fmt: skip
    p.add_argument("--engine", choices=["threads", "cuda"], default="threads")
    p.add_argument("--at-once", type=int, help="fits that run at once on a GPU; else four")
    p.add_argument("--warm", action="store_true", help="a small consensus before the clock starts")
    a = p.parse_args(argv)
    a.corpus = a.corpus or {"classes": ["bbc", "nyt", "20ng", "arxiv"], "cost": ["arxiv_100k"]}.get(a.what, [])
    if a.quick:
        a.corpora, a.corpus, a.fits, a.seeds, a.consensuses = range(2), [datasets.GENERATED], 4, 2, 1
    if a.at_once:
        Cuda.most_fits = a.at_once
    out = Results(a.out, "consensus")
    {"planted": certificates, "table": table, "classes": classes, "cost": cost}[a.what](a, out)
    return 0


if __name__ == "__main__":
    arguments.command(main)
