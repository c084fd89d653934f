"""Do clusters of counts agree with classes, beside spherical k-means on TF-IDF? And is a pass as short as one of LDA?

    python -m benchmarks.count_clusters labels --seeds 5 --out benchmarks/results/count_clusters.jsonl
    python -m benchmarks.count_clusters labels --corpus m10 dblp --methods LDA "tomotopy LDA" "tomotopy PTM"
    python -m benchmarks.count_clusters passes --corpus nyt arxiv_100k --K 50
    python -m benchmarks.count_clusters settings --corpus bbc m10 --try '{"topic_word_prior": 0.3}'

`labels` is NMI and purity with the classes of all documents, and the seconds of whole fits. The peer is scikit-learn's
KMeans on its TfidfTransformer, whose rows have unit length, with the best of ten starts; of three above half a million
entries, where ten take minutes. Ours has its defaults; "gsdmm" is the preset, and "documents" has that start, which was
the only one once. Of topic models it is the largest topic of a document. `settings` tries others on the corpora that
settings were chosen on (CHOSEN_ON): NMI, and the held-out bound per token. The other corpora are for reporting.
`passes` is the time of a pass after the first, of MultinomialMixture and of LDA with as many topics, in turns; with one
thread it is processor time, as are the seconds of fits.
"""

from __future__ import annotations

import csv
import json
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.methods.tomotopy import add_documents
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes

CLUSTERS = {"bbc": 20, "m10": 20, "nyt": 50, "dblp": 20, "20ng": 20}  # K of each corpus with classes
CHOSEN_ON = ("bbc", "m10")
TOMOTOPY_SWEEPS = 1000


class Labelled(NamedTuple):
    name: str
    X: sp.csr_array
    y: np.ndarray
    sha256: str

    @property
    def about(self) -> dict[str, Any]:
        return {"name": self.name, "sha256": self.sha256}


def load(name: str) -> Labelled:
    """A corpus with the class of each document."""
    if name == datasets.GENERATED:
        from topmix.data import sample_lda

        drawn = sample_lda(300, 200, 5, doc_topic_prior=0.02, doc_length=30, random_state=0)
        X = sp.csr_array(drawn.corpus.to_scipy(), dtype=np.float32)
        return Labelled(name, X, drawn.doc_topic.argmax(axis=1), datasets.sha256(name))
    X = sp.csr_array(sp.load_npz(datasets.find(name)), dtype=np.float32)
    if name == "nyt":
        with datasets.find(name, "documents.csv").open(encoding="utf-8") as f:
            classes = [row["section"] for row in csv.DictReader(f)]
    elif name == "20ng":
        classes = next(iter(np.load(datasets.find(name, "labels.npz")).values())).tolist()
    else:
        classes = datasets.find(name, "labels.txt").read_text(encoding="utf-8").split("\n")[: X.shape[0]]
    return Labelled(name, X, np.unique(classes, return_inverse=True)[1], datasets.sha256(name))


def k_means(data: Labelled, K: int, seed: int, threads: int) -> np.ndarray:
    with threadpool_limits(threads):
        rows = TfidfTransformer().fit_transform(sp.csr_matrix(data.X))
        return np.asarray(KMeans(K, n_init=10 if data.X.nnz < 500_000 else 3, random_state=seed).fit_predict(rows))


def mixture(**settings: Any) -> Callable[[Labelled, int, int, int], np.ndarray]:
    def fit(data: Labelled, K: int, seed: int, threads: int) -> np.ndarray:
        model = ours.multinomial_mixture(K, random_state=seed, n_jobs=threads, **settings)
        return model.fit_predict(data.X)

    return fit


def gsdmm(data: Labelled, K: int, seed: int, threads: int) -> np.ndarray:
    model = ours.preset(K, "gsdmm", random_state=seed, n_jobs=threads)
    return np.asarray(model.fit_predict(data.X))


def lda(data: Labelled, K: int, seed: int, threads: int) -> np.ndarray:
    """The largest topic of each document."""
    model = ours.lda(K, random_state=seed, n_jobs=threads).fit(data.X)
    return np.asarray(model.transform(data.X).argmax(axis=1))


def of_tomotopy(kind: str) -> Callable[[Labelled, int, int, int], np.ndarray]:
    """The same of tomotopy, after TOMOTOPY_SWEEPS sweeps, with its own priors. PTM has as many pseudo-documents as it
    has by default where there are ten documents to each, else a tenth of the documents."""

    def fit(data: Labelled, K: int, seed: int, threads: int) -> np.ndarray:
        import tomotopy as tp

        warnings.filterwarnings("ignore", message="The training result may differ", category=RuntimeWarning)
        given = {"k": K, "seed": seed}
        model = tp.LDAModel(**given) if kind == "LDA" else tp.PTModel(p=min(10 * K, len(data.y) // 10), **given)
        add_documents(model, data.X)
        model.train(TOMOTOPY_SWEEPS, workers=threads)
        z = np.zeros(len(data.y), np.int64)  # documents without words are left out there
        z[np.diff(data.X.indptr) > 0] = [np.argmax(d.get_topic_dist()) for d in model.docs]
        return z

    return fit


def purity(y: np.ndarray, z: np.ndarray) -> float:
    """The share of documents that have the most frequent class of their cluster."""
    return float(contingency_matrix(y, z).max(axis=0).sum() / len(y))


METHODS: dict[str, Callable[[Labelled, int, int, int], np.ndarray]] = {
    "topmix": mixture(),
    "scikit-learn": k_means,
    "gsdmm": gsdmm,
    "documents": mixture(init="documents"),
    "LDA": lda,
    "tomotopy LDA": of_tomotopy("LDA"),
    "tomotopy PTM": of_tomotopy("PTM"),
}


def labels(a: Any, out: Results) -> None:
    for name in a.corpus:
        data = load(name)
        K = a.K or CLUSTERS.get(name, 5)
        for method in a.methods:
            found = []
            for seed in range(a.seeds):
                clock = time.process_time if a.threads == 1 else time.perf_counter
                begin = clock()
                z = METHODS[method](data, K, seed, a.threads)
                seconds, nmi = clock() - begin, float(normalized_mutual_info_score(data.y, z))
                found.append(nmi)
                settings = {"what": "labels", "method": method, "K": K, "seed": seed, "threads": a.threads}
                result = {"nmi": nmi, "purity": purity(data.y, z), "seconds": seconds, "clusters": len(np.unique(z))}
                out.add(result, settings, data)
                said = f"NMI {nmi:.3f}, purity {result['purity']:.3f}, {seconds:.2f} s"
                print(f"{name} K={K} {method:<13} seed {seed}: {said}", flush=True)
            print(f"{name} K={K} {method:<13} mean {np.mean(found):.3f}, worst {min(found):.3f}", flush=True)


def settings(a: Any, out: Results) -> None:
    """NMI of the documents that were learned from, and the log likelihood of a fifth that was not."""
    tried = json.loads(a.settings)
    for name in a.corpus:
        data = load(name)
        K = a.K or CLUSTERS.get(name, 5)
        found = []
        for seed in range(a.seeds):
            held_out = np.random.default_rng(seed).random(len(data.y)) < 0.2
            model = ours.multinomial_mixture(K, random_state=seed, n_jobs=a.threads, **tried).fit(data.X[~held_out])
            nmi = float(normalized_mutual_info_score(data.y[~held_out], model.predict(data.X[~held_out])))
            score = float(model.score_samples(data.X[held_out]).sum() / data.X[held_out].sum())
            found.append((nmi, score))
            given = {"what": "settings", "K": K, "seed": seed, "tried": tried, "threads": a.threads}
            out.add({"nmi": nmi, "score": score, "passes": model.n_iter_}, given, data)
        nmi, score = np.mean(found, axis=0)
        print(
            f"{name} K={K} {a.settings} NMI {nmi:.3f}, worst {min(found)[0]:.3f}; nats per token {score:.4f}",
            flush=True,
        )


def passes(a: Any, out: Results) -> None:
    for name in a.corpus:
        data = datasets.load(name)
        K = a.K or 50
        for turn in range(a.seeds):
            for method, make in (("topmix", ours.multinomial_mixture), ("LDA", ours.lda)):
                times = PassTimes(time.process_time if a.threads == 1 else time.perf_counter)
                more = {"inference__sweeps": 0} if method == "LDA" else {}
                make(K, max_iter=6, tol=-np.inf, n_jobs=a.threads, random_state=turn, callbacks=[times], **more).fit(
                    data.train
                )
                found = times.summary()
                out.add(found, {"what": "passes", "method": method, "K": K, "threads": a.threads, "turn": turn}, data)
                print(
                    f"{name} K={K} {method:<7} {1e3 * found['median']:.0f} ms a pass, the first {found['start']:.2f} s"
                )


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="generated documents, one seed")
    p.add_argument("what", choices=["labels", "settings", "passes"], nargs="?", default="labels")
    arguments.add_corpus(p, [], role=None)
    p.add_argument("--K", type=int, help="of all corpora; else CLUSTERS, and 50 for passes")
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--methods", nargs="+", choices=METHODS, default=["topmix", "scikit-learn"])
    p.add_argument("--try", dest="settings", default="{}", metavar="JSON", help="settings of MultinomialMixture")
    a = p.parse_args(argv)
    a.corpus = a.corpus or {"labels": list(CLUSTERS), "settings": CHOSEN_ON, "passes": ["nyt"]}[a.what]
    if a.quick:
        a.corpus, a.seeds, a.methods = [datasets.GENERATED], 1, [m for m in METHODS if not m.startswith("tomotopy")]
    {"labels": labels, "settings": settings, "passes": passes}[a.what](a, Results(a.out, "count_clusters"))
    return 0


if __name__ == "__main__":
    arguments.command(main)
