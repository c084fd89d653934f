"""Do intervals of effects cover the truth? And do section and year of an article tell what is in it?

    python -m benchmarks.covariates coverage --sets 200 --out benchmarks/results/covariates.jsonl
    python -m benchmarks.covariates completion --corpus nyt --K 50 --seconds 300
    python -m benchmarks.covariates versions --K 50 --seconds 300
    python -m benchmarks.covariates labels --threads 1
    python -m benchmarks.covariates responses --K 50 --threads 1
    python -m benchmarks.covariates size --documents 1000000 --K 100

`coverage` draws data sets from the model of `Covariates("group + x")`: 4 topics of 150 words, 250 documents of about 60
tokens, effects from Gaussians, a quarter of them zero. It counts 95% intervals that hold the truth, of all effects
and of zeros. Topics are matched to the planted ones; sets where one is not found (cosine below 0.8) are left out of a
second count, for they have no right answer. `completion` predicts held-out words of test documents (nats per token),
with the prior 0.5 / K and with the method's own: LDA without and with covariates, and tomotopy's DMRModel until so many
seconds have passed. tomotopy's metadata are categories alone: year is one. `--methods stm` is the port of R's stm on
PyPI, structural-topic-model. `versions` predicts held-out words too, with the topics of each document's year: LDA
without and with OverTime and ByGroup, after four passes and after all, and tomotopy's DTModel until so many seconds
have passed; `periods` are the scores year by year. `labels` predicts the newsgroup of the test documents of 20ng, and
the category of abstracts of arXiv: LabelledLDA beside
scikit-learn's one-vs-rest logistic regression on TF-IDF and tomotopy's LLDAModel. `responses` predicts classes
(accuracy) or a number (R2) from topics: SupervisedLDA beside LDA whose proportions a regression is fitted to after it,
with the strength that is best on validation documents, a regression on TF-IDF, and, of numbers, tomotopy's SLDAModel;
`words` is the score of held-out words, which says whether topics lost by it. Seconds of `completion`,
`versions`, `labels` and `responses` are those of a processor: use one thread. `size` draws documents of 100 words that
depend on ten covariates, and compares a pass with covariates to one without: seconds per pass, and the memory of the
process.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import time
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, r2_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.harness import arguments, datasets
from benchmarks.harness.memory import forget_peak, high_water
from benchmarks.harness.methods.method import ETA
from benchmarks.harness.results import Results
from topmix import LDA, LabelledLDA, SupervisedLDA
from topmix.data import from_texts
from topmix.metrics import completion_score, completion_scores
from topmix.priors import ByGroup, Covariates, OverTime
from topmix.results.covariates import effects as effects_of

FIRST_SET = 5000  # settings were chosen on earlier ones
FOUND = 0.8


def planted(seed: int, D: int = 250, V: int = 150, K: int = 4, length: int = 60) -> tuple[Any, ...]:
    """Counts, columns, effects [K, 3] and topics [K, V]."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(V, 0.1), K)
    group, x = rng.integers(2, size=D), rng.normal(size=D)
    effects = np.column_stack([rng.normal(-1.0, 0.3, K), rng.normal(0, 0.7, K), rng.normal(0, 0.5, K)])
    effects[:, 1:] *= rng.random((K, 2)) < 0.75
    alpha = np.exp(np.column_stack([np.ones(D), group, x]) @ effects.T)
    theta = np.array([rng.dirichlet(a) for a in alpha])
    X = [rng.multinomial(n, t @ phi) for n, t in zip(rng.poisson(length, D) + 1, theta)]
    return sp.csr_array(np.array(X)), {"group": np.array(["a", "b"])[group].tolist(), "x": x.tolist()}, effects, phi


def covered(seed: int) -> dict[str, Any]:
    """Which intervals of one data set hold the truth."""
    X, columns, effects, phi = planted(seed)
    begin = time.process_time()
    lda = LDA(4, doc_topic_prior=Covariates("group + x"), random_state=seed, n_jobs=1).fit(X, metadata=columns)
    seconds = time.process_time() - begin
    cosine = phi @ lda.topic_word_.T / np.outer(np.linalg.norm(phi, axis=1), np.linalg.norm(lda.topic_word_, axis=1))
    order = linear_sum_assignment(-cosine)[1]
    table = effects_of(lda._found(), 0.95)  # no DataFrame is needed here
    low, high = (np.asarray(table[name]).reshape(4, 3)[order] for name in ("low", "high"))
    inside, least = (low < effects) & (effects < high), float(cosine[np.arange(4), order].min())
    return {"inside": inside.tolist(), "zero": (effects == 0).tolist(), "cosine": least, "seconds": seconds}


def coverage(a: Any, out: Results) -> None:
    seeds = range(FIRST_SET, FIRST_SET + a.sets)
    results = Parallel(n_jobs=a.threads)(delayed(covered)(seed) for seed in seeds)
    for seed, result in zip(seeds, results):
        out.add(result, {"what": "coverage", "seed": seed})
    hits, zero, cosine = (np.array([result[name] for result in results]) for name in ("inside", "zero", "cosine"))
    well = cosine > FOUND
    print(f"{a.sets} sets, 95% intervals hold the truth in {hits.mean():.1%}, of zeros in {hits[zero].mean():.1%}")
    hits_well, zero_well = hits[well], zero[well]
    print(
        f"{well.sum()} sets with all topics found: {hits_well.mean():.1%}, of zeros {hits_well[zero_well].mean():.1%}"
    )
    print("by term:", dict(zip(["Intercept", "group", "x"], hits.mean(axis=(0, 1)).round(3).tolist())))


def completion(a: Any, out: Results) -> None:
    for name in a.corpus:
        X = datasets._read(name)[0]
        train, validation, test = datasets.parts(np.flatnonzero(np.diff(X.indptr)), 0)
        with datasets.find(name, "documents.csv").open(encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        scored = test if a.role == "test" else validation
        about = _About({"name": name, "sha256": datasets.sha256(name), "split": 0, "role": a.role})

        def columns(which: np.ndarray, rows: list[dict[str, str]] = rows) -> dict[str, list[Any]]:
            return {"section": [rows[d]["section"] for d in which], "year": [float(rows[d]["year"]) for d in which]}

        for seed in range(a.seeds):
            for method in a.methods:
                found = METHODS[method](X, train, scored, columns, a, seed)
                for result in found:
                    settings = {"what": "completion", "method": method, "K": a.K, "seed": seed, "threads": a.threads}
                    out.add(result, settings, about)
                    print(name, method, seed, {k: round(v, 4) for k, v in result.items()}, flush=True)


def size(a: Any, out: Results) -> None:
    """Drawn with NumPy in parts, into arrays that are as large as needed; both fits make the same few passes, and the
    first pass, which is a cold one, is left out of the comparison. The first peak of memory is that of the drawing,
    and those of fits start again from what is there before them: the documents, which they share, among it."""
    rng, V, P = np.random.default_rng(0), 20_000, 10
    D, K = (2000 if a.quick else a.documents), a.K
    phi = np.cumsum(rng.dirichlet(np.full(V, 0.02), K), axis=1)
    columns = {f"x{i}": (rng.integers(2, size=D) if i % 2 else rng.normal(size=D)).astype(float) for i in range(P)}
    effects = np.column_stack([np.full(K, np.log(0.05)), rng.normal(0, 0.3, (K, P))])
    indptr, n_entries = np.zeros(D + 1, np.int64), 0
    index, value = np.empty(D * 100, np.int32), np.empty(D * 100, np.float32)
    for begin in range(0, D, 20_000):
        x = np.column_stack([column[begin : begin + 20_000] for column in columns.values()])
        theta = rng.gamma(np.exp(np.column_stack([np.ones(len(x)), x]) @ effects.T)) + 1e-12
        theta = np.cumsum(theta / theta.sum(axis=1, keepdims=True), axis=1)
        n = len(theta)
        topic = _topics(rng, theta)
        word = np.empty((n, 100), np.int32)
        for k in range(K):
            at = topic == k
            word[at] = np.searchsorted(phi[k], rng.random(int(at.sum()))).clip(0, V - 1)
        row = np.repeat(np.arange(n), 100)
        part = sp.csr_array((np.ones(n * 100, np.float32), (row, word.ravel())), shape=(n, V))
        index[n_entries : n_entries + part.nnz], value[n_entries : n_entries + part.nnz] = part.indices, part.data
        indptr[begin + 1 : begin + n + 1] = n_entries + part.indptr[1:]
        n_entries += part.nnz
    X = sp.csr_array((value[:n_entries], index[:n_entries], indptr.astype(np.int32)), shape=(D, V))
    formula = Covariates(" + ".join(columns))
    settings = {"what": "size", "documents": D, "K": K, "threads": a.threads, "engine": a.engine, "covariates": P}
    drawing = peak_gigabytes()
    for method, prior in {"plain": None, "covariates": formula}.items():
        lda = LDA(K, doc_topic_prior=prior, max_iter=5, tol=-1.0, random_state=0, n_jobs=a.threads, engine=a.engine)
        forget_peak()
        begin, spent = time.perf_counter(), time.process_time()
        lda.fit(X, metadata=None if prior is None else columns)
        seconds = time.perf_counter() - begin
        ends = [record.seconds for record in lda.history_]
        result = {
            "seconds": seconds,
            "processor seconds": time.process_time() - spent,
            "seconds per pass": (ends[-1] - ends[0]) / (len(ends) - 1),
            "peak GB": peak_gigabytes(),
            "peak GB of drawing": drawing,
        }
        del lda
        out.add(result, settings | {"method": method})
        print(D, "documents", method, {name: round(value, 2) for name, value in result.items()}, flush=True)


def peak_gigabytes() -> float:
    return high_water() * 2**20 / 1e9


def _topics(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
    """[documents, 100] topics, drawn from cumulative shares, a document at a time."""
    return np.array([np.searchsorted(t, rng.random(100)).clip(0, len(t) - 1) for t in theta])


class _About:
    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about


def plain(X: Any, train: Any, scored: Any, columns: Any, a: Any, seed: int) -> list[dict[str, float]]:
    begin = time.process_time()
    lda = LDA(a.K, random_state=seed, n_jobs=a.threads).fit(X[train])
    seconds, score = time.process_time() - begin, completion_score(lda, X[scored])
    return [{"seconds": seconds, "score": score, "own": score}]


def covariates(
    X: Any, train: Any, scored: Any, columns: Any, a: Any, seed: int, max_iter: int | None = None
) -> list[dict[str, float]]:
    lda = LDA(a.K, doc_topic_prior=Covariates("section + year"), max_iter=max_iter, random_state=seed, n_jobs=a.threads)
    begin = time.process_time()
    lda.fit(X[train], metadata=columns(train))
    seconds = time.process_time() - begin
    own = lda.transform(sp.csr_array((len(scored), X.shape[1])), normalize=False, metadata=columns(scored))
    scores = completion_score(lda, X[scored]), completion_score(lda, X[scored], doc_topic_prior=own)
    return [{"seconds": seconds, "score": scores[0], "own": scores[1]}]


def tomotopy(X: Any, train: Any, scored: Any, columns: Any, a: Any, seed: int) -> list[dict[str, float]]:
    """Scored every so often until the time is up; scoring is not counted."""
    import tomotopy as tp

    warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
    model = tp.DMRModel(k=a.K, alpha=0.5 / a.K, eta=ETA, seed=seed)
    names, of_train, of_scored = (
        np.array([str(v) for v in range(X.shape[1])], dtype=object),
        columns(train),
        columns(scored),
    )

    def beside(of: dict[str, list[Any]], i: int) -> list[str]:
        return [of["section"][i], f"year {of['year'][i]:.0f}"]

    for i, d in enumerate(train):
        row = slice(X.indptr[d], X.indptr[d + 1])
        words = names[np.repeat(X.indices[row], X.data[row].astype(int))].tolist()
        model.add_doc(words, multi_metadata=beside(of_train, i))
    spent, found = 0.0, []
    while spent < a.seconds:
        begin = time.process_time()
        model.train(20, workers=a.threads)
        spent += time.process_time() - begin
        if found and spent < 1.3 * found[-1]["seconds"] and spent < a.seconds:
            continue
        used = np.array([int(w) for w in model.used_vocabs])
        tokens = np.asarray(model.get_count_by_topics(), np.float64)
        phi = np.full((a.K, X.shape[1]), ETA)
        dist = np.array([model.get_topic_word_dist(k) for k in range(a.K)], np.float64)
        phi[:, used] = dist * (tokens + len(used) * ETA)[:, None]
        own = np.array([model.get_topic_prior(multi_metadata=beside(of_scored, i)) for i in range(len(scored))])
        scores = completion_score(phi, X[scored]), completion_score(phi, X[scored], doc_topic_prior=own)
        found.append({"seconds": spent, "score": scores[0], "own": scores[1]})
    return found


STM = """
import sys, time
import numpy as np, scipy.sparse as sp
from stm import StructuralTopicModel

folder, K, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
X, beside = sp.load_npz(folder + "/X.npz"), np.load(folder + "/beside.npy")
model, spent, n = StructuralTopicModel(K, max_iter=1, warm_start=True, random_state=0), 0.0, 0
while spent < seconds:
    begin = time.process_time()
    model.fit(X, prevalence=beside)
    spent, n = spent + time.process_time() - begin, n + 1
    np.savez(folder + f"/{n:04}.npz", phi=model.components_, seconds=spent)
"""


def stm(X: Any, train: Any, scored: Any, columns: Any, a: Any, seed: int) -> list[dict[str, float]]:
    """The port of R's package, which needs Python 3.12: in an interpreter of its own, `--stm`. Its prior of documents
    is no Dirichlet: topics alone are scored."""
    of = columns(train)
    sections = sorted(set(of["section"]))[1:]
    beside = [[section == each for each in sections] for section in of["section"]]
    year = np.array(of["year"])
    with TemporaryDirectory() as folder:
        sp.save_npz(f"{folder}/X.npz", sp.csr_matrix(X[train]))
        np.save(f"{folder}/beside.npy", np.column_stack([np.array(beside, float), (year - year.mean()) / year.std()]))
        one = dict(os.environ) | {"OPENBLAS_NUM_THREADS": "1"}
        subprocess.run([a.stm, "-c", STM, folder, str(a.K), str(a.seconds)], check=True, env=one)
        files = [np.load(path) for path in sorted(Path(folder).glob("0*.npz"))]
        scores = [completion_score(file["phi"], X[scored]) for file in files]
    return [{"seconds": float(f["seconds"]), "score": score, "own": score} for f, score in zip(files, scores)]


def versions(a: Any, out: Results) -> None:
    for name in a.corpus:
        X = datasets._read(name)[0]
        train, validation, test = datasets.parts(np.flatnonzero(np.diff(X.indptr)), 0)
        with datasets.find(name, "documents.csv").open(encoding="utf-8") as f:
            year = np.array([int(row["year"]) for row in csv.DictReader(f)])
        scored = test if a.role == "test" else validation
        about = _About({"name": name, "sha256": datasets.sha256(name), "split": 0, "role": a.role})

        def judged(topics: Any, X: Any = X, scored: Any = scored, year: Any = year) -> dict[str, Any]:
            """`topics(year)` are those of a year."""
            found = {
                int(y): completion_scores(topics(y), X[scored[year[scored] == y]]) for y in np.unique(year[scored])
            }
            sums = [sum(float(part.sum()) for part in parts) for parts in zip(*found.values())]
            return {"score": sums[0] / sums[1], "periods": {str(y): s.mean for y, s in found.items()}}

        for seed in range(a.seeds):
            for method in a.version_methods:
                for result in VERSIONS[method](X[train], year[train], judged, a, seed):
                    settings = {"what": "versions", "method": method, "K": a.K, "seed": seed, "threads": a.threads}
                    out.add(result, settings, about)
                    print(name, method, seed, f"{result['seconds']:.1f} s {result['score']:.4f}", flush=True)


def with_prior(prior: Any, max_iter: int | None = None) -> Any:
    def fitted(X: Any, year: Any, judged: Any, a: Any, seed: int) -> list[dict[str, Any]]:
        lda = LDA(a.K, topic_word_prior=prior, max_iter=max_iter, random_state=seed, n_jobs=a.threads)
        begin = time.process_time()
        lda.fit(X, metadata=None if prior is None else {"year": year.tolist()})
        seconds = time.process_time() - begin
        return [
            {"seconds": seconds} | judged(lambda y: lda.topic_word_ if prior is None else lda.topic_word_of(int(y)))
        ]

    return fitted


def tomotopy_over_time(X: Any, year: Any, judged: Any, a: Any, seed: int) -> list[dict[str, Any]]:
    """Scored every so often until the time is up; scoring is not counted."""
    import tomotopy as tp

    warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
    years, (D, V) = np.unique(year), X.shape
    model = tp.DTModel(k=a.K, t=len(years), seed=seed)
    names = np.array([str(v) for v in range(V)], dtype=object)
    for d in range(D):
        row = slice(X.indptr[d], X.indptr[d + 1])
        words = names[np.repeat(X.indices[row], X.data[row].astype(int))].tolist()
        model.add_doc(words, timepoint=int(np.searchsorted(years, year[d])))

    def topics(y: Any) -> np.ndarray:
        t = int(np.searchsorted(years, y))
        phi = np.full((a.K, V), 1e-9)
        phi[:, [int(w) for w in model.used_vocabs]] += [model.get_topic_word_dist(k, t) for k in range(a.K)]
        return phi

    spent, found = 0.0, list[dict[str, Any]]()
    while spent < a.seconds:
        begin = time.process_time()
        model.train(5, workers=a.threads)
        spent += time.process_time() - begin
        if found and spent < 1.3 * found[-1]["seconds"] and spent < a.seconds:
            continue
        found.append({"seconds": spent} | judged(topics))
    return found


VERSIONS = {
    "plain": with_prior(None),
    "plain, 4 passes": with_prior(None, 4),
    "over time": with_prior(OverTime("year")),
    "over time, 4 passes": with_prior(OverTime("year"), 4),
    "over time, 1 pass": with_prior(OverTime("year"), 1),
    "by group": with_prior(ByGroup("year")),
    "tomotopy": tomotopy_over_time,
}


def labels(a: Any, out: Results) -> None:
    for corpus in a.labelled:
        X, y, train, test, about = LABELLED[corpus]()
        for method in a.classifiers:
            begin = time.process_time()
            with threadpool_limits(1):  # the regression's many small products take eight times as long on two threads
                found = CLASSIFIERS[method](X, y, train, test, a)
            seconds = time.process_time() - begin
            result = {f"{kind} F1": f1_score(y[test], found, average=kind) for kind in ("micro", "macro")}
            out.add(result | {"seconds": seconds}, {"what": "labels", "method": method, "threads": a.threads}, about)
            print(corpus, method, {n: round(value, 4) for n, value in result.items()}, f"{seconds:.1f} s", flush=True)


def newsgroups() -> tuple[Any, ...]:
    X = datasets._read("20ng")[0]
    y, is_test = (next(iter(np.load(datasets.find("20ng", f"{name}.npz")).values())) for name in ("labels", "split"))
    about = _About({"name": "20ng", "sha256": datasets.sha256("20ng")})
    return X, y, np.flatnonzero(is_test == 0), np.flatnonzero(is_test == 1), about


def categories() -> tuple[Any, ...]:
    """20,000 abstracts of arXiv with their main category, those with 20 or more; a fifth is for testing."""
    with gzip.open(datasets.find("arxiv", "raw_20k.jsonl.gz"), "rt", encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    X = from_texts([f"{row['title']} {row['text']}" for row in rows], min_df=10, max_df=0.5).to_scipy()
    _, y, n = np.unique([row["cat"] for row in rows], return_inverse=True, return_counts=True)
    kept = np.random.default_rng(0).permutation(np.flatnonzero(n[y] >= 20))
    about = _About(
        {"name": "arxiv", "part": "raw_20k", "labels": int((n >= 20).sum()), "sha256": datasets.sha256("arxiv")}
    )
    return sp.csr_array(X), y, kept[len(kept) // 5 :], kept[: len(kept) // 5], about


LABELLED = {"20ng": newsgroups, "arxiv": categories}


def labelled(n_free: int, per_label: int) -> Any:
    def predicted(X: Any, y: Any, train: Any, test: Any, a: Any) -> np.ndarray:
        model = LabelledLDA(per_label, n_free=n_free, random_state=0, n_jobs=a.threads).fit(X[train], y[train])
        return model.predict(X[test])

    return predicted


def logistic(X: Any, y: Any, train: Any, test: Any, a: Any) -> np.ndarray:
    model = make_pipeline(
        TfidfTransformer(sublinear_tf=True), OneVsRestClassifier(LogisticRegression(C=30, max_iter=300))
    )
    return np.asarray(model.fit(sp.csr_matrix(X[train]), y[train]).predict(sp.csr_matrix(X[test])))


def tomotopy_labels(X: Any, y: Any, train: Any, test: Any, a: Any) -> np.ndarray:
    import tomotopy as tp

    names = np.array([str(v) for v in range(X.shape[1])], dtype=object)

    def words(d: int) -> list[str]:
        row = slice(X.indptr[d], X.indptr[d + 1])
        found: list[str] = names[np.repeat(X.indices[row], X.data[row].astype(int))].tolist()
        return found

    model = tp.LLDAModel(seed=0)
    for d in train:
        model.add_doc(words(d), labels=[str(y[d])])
    model.train(200, workers=a.threads)
    theta, _ = model.infer([model.make_doc(words(d)) for d in test], workers=a.threads)
    places = np.array([int(label) for label in model.topic_label_dict])
    return places[np.array(theta)[:, : len(places)].argmax(axis=1)]


CLASSIFIERS = {
    "topmix": labelled(0, 1),
    "topmix, 10 free": labelled(10, 1),
    "scikit-learn": logistic,
    "tomotopy": tomotopy_labels,
}


def responses(a: Any, out: Results) -> None:
    for name in a.responding:
        X, y, train, test, about = RESPONSES[name]()
        train = np.random.default_rng(0).permutation(train)
        validation, train = train[: len(train) // 6], train[len(train) // 6 :]
        scored = test if a.role == "test" else validation
        about = _About(about.about | {"role": a.role})
        for seed in range(a.seeds):
            for method in a.response_methods:
                if (found := RESPONDING[method](X, y, train, validation, scored, a, seed)) is None:
                    continue
                settings = {"what": "responses", "response": name, "method": method, "K": a.K, "seed": seed}
                out.add(found, settings | {"threads": a.threads}, about)
                print(name, method, seed, {n: round(value, 4) for n, value in found.items()}, flush=True)


def beside_nyt(column: str) -> Any:
    def read() -> tuple[Any, ...]:
        X = datasets._read("nyt")[0]
        train, validation, test = datasets.parts(np.flatnonzero(np.diff(X.indptr)), 0)
        with datasets.find("nyt", "documents.csv").open(encoding="utf-8") as f:
            y = np.array([row[column] for row in csv.DictReader(f)])
        about = _About({"name": "nyt", "sha256": datasets.sha256("nyt"), "split": 0, "column": column})
        rows = np.concatenate([train, validation])
        return X, y.astype(float) if column == "year" else y, rows, test, about

    return read


RESPONSES = LABELLED | {"nyt section": beside_nyt("section"), "nyt year": beside_nyt("year")}
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)


def best_of(strengths: Any, x: Any, of_validation: Any, of_scored: Any, *responses: Any) -> float:
    """The score of a regression, with the strength that is best on validation documents."""
    y, y_validation, y_scored = responses

    def fitted(C: float) -> Any:
        model = Ridge(1 / C) if y.dtype.kind == "f" else LogisticRegression(C=C, max_iter=1000)
        return model.fit(x, y)

    models = [fitted(C) for C in strengths]
    return float(max(models, key=lambda model: model.score(of_validation, y_validation)).score(of_scored, y_scored))


def lda_then_regression(X: Any, y: Any, train: Any, validation: Any, scored: Any, a: Any, seed: int) -> Any:
    begin = time.process_time()
    lda = LDA(a.K, random_state=seed, n_jobs=a.threads).fit(X[train])
    parts = [lda.transform(X[rows]) for rows in (train, validation, scored)]
    score = best_of(STRENGTHS, *parts, *(y[rows] for rows in (train, validation, scored)))
    seconds = time.process_time() - begin
    return {"score": score, "words": completion_score(lda, X[scored]), "seconds": seconds}


def supervised(weight: float | None) -> Any:
    def fitted(X: Any, y: Any, train: Any, validation: Any, scored: Any, a: Any, seed: int) -> Any:
        own = {} if weight is None else {"response_weight": weight}
        kind = "gaussian" if y.dtype.kind == "f" else "categorical"
        begin = time.process_time()
        model = SupervisedLDA(a.K, response=kind, random_state=seed, n_jobs=a.threads, **own).fit(X[train], y[train])
        score = model.score(X[scored], y[scored])
        seconds = time.process_time() - begin
        return {"score": score, "words": completion_score(model, X[scored]), "seconds": seconds}

    return fitted


def words_alone(X: Any, y: Any, train: Any, validation: Any, scored: Any, a: Any, seed: int) -> Any:
    begin = time.process_time()
    weights = TfidfTransformer(sublinear_tf=True).fit(sp.csr_matrix(X[train]))
    parts = [weights.transform(sp.csr_matrix(X[rows])) for rows in (train, validation, scored)]
    score = best_of((1.0, 10.0), *parts, *(y[rows] for rows in (train, validation, scored)))
    return {"score": score, "seconds": time.process_time() - begin}


def tomotopy_responses(X: Any, y: Any, train: Any, validation: Any, scored: Any, a: Any, seed: int) -> Any:
    """Of numbers alone: it has no classes, but yes or no. Of two lengths of training, what is best on validation
    documents; seconds are those of this training, and of the documents that are scored."""
    if y.dtype.kind != "f":
        return None
    import tomotopy as tp

    names = np.array([str(v) for v in range(X.shape[1])], dtype=object)

    def words(d: int) -> list[str]:
        row = slice(X.indptr[d], X.indptr[d + 1])
        found: list[str] = names[np.repeat(X.indices[row], X.data[row].astype(int))].tolist()
        return found

    centre, scale = y[train].mean(), y[train].std()
    found: list[dict[str, Any]] = []
    model = tp.SLDAModel(k=a.K, vars="l", alpha=0.5 / a.K, eta=ETA, seed=seed)
    for d in train:
        model.add_doc(words(d), y=[float((y[d] - centre) / scale)])
    spent = 0.0
    for iterations in (100, 300):
        begin = time.process_time()
        model.train(iterations - model.global_step, workers=a.threads)
        spent += time.process_time() - begin
        scores = []
        for rows in (validation, scored):
            begin = time.process_time()
            documents = [model.make_doc(words(d)) for d in rows]
            model.infer(documents, workers=a.threads)
            guessed = centre + scale * np.array([model.estimate(document)[0] for document in documents])
            scores.append(float(r2_score(y[rows], guessed)))
        last = time.process_time() - begin
        found.append({"validation": scores[0], "score": scores[1], "seconds": spent + last, "iterations": iterations})
    return max(found, key=lambda one: one["validation"])


RESPONDING = {
    "LDA, then regression": lda_then_regression,
    "SupervisedLDA": supervised(None),
    "SupervisedLDA, weight 1": supervised(1.0),
    "TF-IDF": words_alone,
    "tomotopy": tomotopy_responses,
}
METHODS = {
    "plain": plain,
    "covariates": covariates,
    **{f"covariates, {n} passes": partial(covariates, max_iter=n) for n in (5, 10)},
    "tomotopy": tomotopy,
    "stm": stm,
}


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="two data sets")
    kinds = ["coverage", "completion", "versions", "labels", "responses", "size"]
    p.add_argument("what", choices=kinds, nargs="?", default="coverage")
    arguments.add_corpus(p, ["nyt"])
    p.add_argument("--sets", type=int, default=200)
    p.add_argument("--K", type=int, default=50)
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--seconds", type=float, default=300.0)
    p.add_argument("--methods", nargs="+", choices=METHODS, default=[name for name in METHODS if name != "stm"])
    p.add_argument("--stm", default="python3.12", help="an interpreter with structural-topic-model, for `stm`")
    p.add_argument("--version-methods", nargs="+", choices=VERSIONS, default=list(VERSIONS))
    p.add_argument("--documents", type=int, default=100_000, help="of `size`")
    p.add_argument("--engine", default="threads", help="of `size`")
    p.add_argument("--labelled", nargs="+", choices=LABELLED, default=list(LABELLED))
    p.add_argument("--classifiers", nargs="+", choices=CLASSIFIERS, default=list(CLASSIFIERS))
    p.add_argument("--responding", nargs="+", choices=RESPONSES, default=list(RESPONSES))
    p.add_argument("--response-methods", nargs="+", choices=RESPONDING, default=list(RESPONDING))
    a = p.parse_args(argv)
    a.sets = 2 if a.quick else a.sets
    commands = (coverage, completion, versions, labels, responses, size)
    dict(zip(kinds, commands))[a.what](a, Results(a.out, "covariates"))
    return 0


if __name__ == "__main__":
    arguments.command(main)
