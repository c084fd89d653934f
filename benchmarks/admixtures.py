"""Do groups of vectors that mix clusters find planted ones, and what are they worth on images, beside a mixture?

    python -m benchmarks.admixtures planted [--quick] [--seeds 3] [--groups 200 2000]
    python -m benchmarks.admixtures number [--quick] [--seeds 3] [--groups 200] [--starts 8 60]
    python -m benchmarks.admixtures patches [--quick] [--K 200] [--passes 10] [--stride 4] [--engine cuda]
    python -m benchmarks.admixtures words [--quick] [--K 50] [--seeds 3] [--documents 500]

`planted`: K = 10 and 30 clusters of vectors or directions in 8 dimensions, 200 or 2,000 groups of about 50 rows with
proportions from Dir(0.1): the clusters that were found, each by its own and no other, the mean distance of proportions
from those that were drawn, and the share of rows whose cluster is wrong, beside a mixture's.

`number`: the same data, and the number of clusters is found (a Dirichlet process), from several numbers to start with.

`words`: abstracts of arXiv as bags of word vectors: each word of a document is a row, weighed by how often it occurs.
Vectors are the first 50 singular vectors of positive pointwise mutual information in windows of five words, learned
from all 20,000 abstracts, and scaled to unit length. How much the largest topic says of the section (cs, math, ...):
NMI, beside LDA on the words themselves, and mixtures of the mean vector of each document. Clusters have one
concentration, or covariance, in common: a word is the same row again and again, and clusters of their own concentration
end on single words.

`patches`: 8x8 patches without their mean, an image is a group; zero means and full covariances. A fifth of the patches
of each test image (BSD68) is held out: their log likelihood, with the proportions of the others of the image, beside
that of the mixture; one evaluator for both. Passes are in seconds of the processor, without the first;
with `--engine cuda` in seconds of the clock, and two fits from the same clusters must have the same bits.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import re
import time

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils.extmath import randomized_svd

from benchmarks.cuda import device_name
from benchmarks.harness import arguments
from benchmarks.harness.datasets import find
from benchmarks.harness.machine import digest
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes
from benchmarks.harness.vectors import SIDE, held_out, of_image, training_images
from topmix import LDA, GaussianAdmixture, GaussianMixture, VonMisesFisherAdmixture, VonMisesFisherMixture

KINDS = {
    "vectors": (GaussianAdmixture, GaussianMixture),
    "directions": (VonMisesFisherAdmixture, VonMisesFisherMixture),
}
D, ALPHA, ROWS = 8, 0.1, 50
WINDOW, DIMENSIONS, LEAST_DOCUMENTS = 5, 50, 10  # of word vectors; and the fewest documents of a word


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few groups, K = 10, seconds")
    p.add_argument("what", choices=["planted", "number", "patches", "words"], nargs="?", default="planted")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--groups", type=int, nargs="+", default=[200, 2_000])
    p.add_argument("--starts", type=int, nargs="+", default=[8, 60])
    p.add_argument("--documents", type=int, default=500)
    p.add_argument("--K", type=int)
    p.add_argument("--passes", type=int, default=10)
    p.add_argument("--stride", type=int, default=4)
    p.add_argument("--engine", choices=["threads", "cuda"], default="threads", help="of the patches")
    p.add_argument("--methods", nargs="+", default=["mixture", "admixture"], choices=["mixture", "admixture"])
    a = p.parse_args(argv)
    out = Results(a.out, "admixtures")
    return {"planted": planted, "number": number, "patches": patches, "words": words}[a.what](a, out)


def planted(a: argparse.Namespace, out: Results) -> int:
    sizes = [(10, 50)] if a.quick else [(K, G) for K in (10, 30) for G in a.groups]
    for kind, (Admixture, Mixture) in KINDS.items():
        for K, n_groups in sizes:
            for seed in range(1 if a.quick else a.seeds):
                X, groups, z = draw(kind, K, n_groups, seed)
                drawn = shares(np.eye(K)[z], groups)
                began = time.process_time()
                model = Admixture(K, random_state=seed, n_jobs=a.threads).fit(X, groups)
                seconds = time.process_time() - began
                alone = Mixture(K, random_state=seed, n_jobs=a.threads).fit(X)
                found = {
                    "clusters_found": clusters_found(z, model.predict(X, groups), K),
                    "proportions_away": away(drawn, model.transform(X, groups), z, model.predict(X, groups)),
                    "rows_wrong": wrong(z, model.predict(X, groups), K),
                    "prior": float(model.weight_concentration_prior_.sum()),
                    "passes": model.n_iter_, "processor_seconds": seconds,
                    "mixture": {
                        "clusters_found": clusters_found(z, alone.predict(X), K),
                        "proportions_away": away(drawn, shares(alone.predict_proba(X), groups), z, alone.predict(X)),
                        "rows_wrong": wrong(z, alone.predict(X), K),
                    },
                }  # fmt: skip
                m = found["mixture"]
                print(f"{kind} K = {K}, {n_groups} groups, seed {seed}: {found['clusters_found']} of {K} clusters "
                      f"(mixture {m['clusters_found']}); proportions off by {found['proportions_away']:.3f} "
                      f"({m['proportions_away']:.3f}), rows wrong {found['rows_wrong']:.1%} ({m['rows_wrong']:.1%}); "
                      f"alpha {found['prior']:.2f} of {K * ALPHA:.0f}; {seconds:.1f} s", flush=True)  # fmt: skip
                settings = {"what": "planted", "kind": kind, "K": K, "groups": n_groups, "seed": seed}
                out.add(found, settings | {"D": D, "alpha": ALPHA, "rows": len(X), "threads": a.threads})
    return 0


def number(a: argparse.Namespace, out: Results) -> int:
    for K, n_groups in [(10, 50)] if a.quick else [(K, G) for K in (10, 30) for G in a.groups]:
        for kind, (Admixture, _) in KINDS.items():
            for seed in range(1 if a.quick else a.seeds):
                X, groups, z = draw(kind, K, n_groups, seed)
                for start in a.starts[:1] if a.quick else a.starts:
                    settings = {"objective": "vb"} if kind == "vectors" else {}
                    settings |= {"weight_concentration_prior_type": "dirichlet_process", "max_iter": 300}
                    began = time.process_time()
                    model = Admixture(start, random_state=seed, n_jobs=a.threads, **settings).fit(X, groups)
                    seconds, labels = time.process_time() - began, model.predict(X, groups)
                    n = max(K, len(model.weights_))
                    found = {
                        "K": len(model.weights_), "clusters_found": clusters_found(z, labels, n),
                        "rows_wrong": wrong(z, labels, n), "passes": model.n_iter_, "converged": model.converged_,
                        "objective_per_row": model.objective_ / len(X), "processor_seconds": seconds,
                    }  # fmt: skip
                    print(f"{kind} K = {K}, {n_groups} groups, seed {seed}, from {start}: {found['K']} clusters, "
                          f"{found['clusters_found']} of them planted, rows wrong {found['rows_wrong']:.1%}, objective "
                          f"{found['objective_per_row']:.4f}; {model.n_iter_} passes, {seconds:.1f} s",
                          flush=True)  # fmt: skip
                    about = {"what": "number", "kind": kind, "K": K, "groups": n_groups, "seed": seed, "start": start}
                    out.add(found, about | {"D": D, "alpha": ALPHA, "rows": len(X), "threads": a.threads})
    return 0


def words(a: argparse.Namespace, out: Results) -> int:
    with gzip.open(find("arxiv", "raw_20k.jsonl.gz"), "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    documents = documents[:2_000] if a.quick else documents
    tokens = [re.findall("[a-z]{3,}", f"{d['title']} {d['text']}".lower()) for d in documents]
    counts, word, of = counted(tokens)
    vectors, K = word_vectors(word, of, counts.shape[1]), a.K or 50
    n = min(a.documents, 500 if a.quick else len(documents))
    counts = counts[:n]
    y = np.unique([d["cat"].split(".")[0] for d in documents[:n]], return_inverse=True)[1]
    groups = np.repeat(np.arange(n), np.diff(counts.indptr))
    X, weight = vectors[counts.indices], counts.data.astype(np.float64)
    means = counts @ vectors / np.maximum(counts.sum(axis=1), 1)[:, None]
    print(f"{n:,} documents of {len(np.unique(y))} sections, {len(X):,} rows, {counts.shape[1]:,} words; K = {K}")
    about = {"name": f"arxiv abstracts, {n} of {len(documents)}", "sha256": digest([X, counts.data]), "rows": len(X)}
    for seed in range(1 if a.quick else a.seeds):
        same = {"random_state": seed, "n_jobs": a.threads}
        methods = {
            "LDA of words": lambda s=same: LDA(K, **s).fit(counts).transform(counts).argmax(axis=1),
            "VonMisesFisherAdmixture of word vectors, tied": lambda s=same: (
                VonMisesFisherAdmixture(K, concentration_type="tied", **s)
                .fit(X, groups, weight)
                .transform(X, groups)
                .argmax(axis=1)
            ),
            "GaussianAdmixture of word vectors, tied": lambda s=same: (
                GaussianAdmixture(K, covariance_type="tied", **s)
                .fit(X, groups, weight)
                .transform(X, groups)
                .argmax(axis=1)
            ),
            "VonMisesFisherMixture of mean vectors": lambda s=same: VonMisesFisherMixture(K, **s).fit(means).labels_,
            "GaussianMixture of mean vectors, diag": lambda s=same: (
                GaussianMixture(K, covariance_type="diag", **s).fit(means).labels_
            ),
        }
        for name, largest in methods.items():
            began = time.process_time()
            z = largest()
            seconds, nmi = time.process_time() - began, float(normalized_mutual_info_score(y, z))
            print(f"seed {seed}: NMI {nmi:.3f}, {name}, {seconds:.0f} s of the processor", flush=True)
            settings = {"what": "words", "method": name, "K": K, "seed": seed, "documents": n, "D": vectors.shape[1]}
            found = {"nmi": nmi, "topics": len(np.unique(z)), "processor_seconds": seconds, "corpus": about}
            out.add(found, settings | {"threads": a.threads})
    return 0


def counted(tokens: list[list[str]]) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Counts [documents, words] of words that are neither rare nor everywhere; these words one after another, and the
    document of each."""
    names, word = np.unique([w for one in tokens for w in one], return_inverse=True)
    of = np.repeat(np.arange(len(tokens)), [len(one) for one in tokens])
    counts = sp.coo_array((np.ones(len(word)), (of, word)), shape=(len(tokens), len(names))).tocsr()
    in_documents = np.bincount(counts.indices, minlength=len(names))
    kept = (in_documents >= LEAST_DOCUMENTS) & (in_documents <= len(tokens) / 2)
    kept &= ~np.isin(names, list(ENGLISH_STOP_WORDS))
    number = np.cumsum(kept) - 1
    there = kept[word]
    return sp.csr_array(counts[:, np.flatnonzero(kept)]), number[word[there]], of[there]


def word_vectors(word: np.ndarray, of: np.ndarray, n_words: int) -> np.ndarray:
    """[words, DIMENSIONS] of unit length."""
    pairs = []
    for apart in range(1, WINDOW + 1):
        near = of[:-apart] == of[apart:]
        a, b = word[:-apart][near], word[apart:][near]
        pairs += [(a, b), (b, a)]
    a, b = (np.concatenate(side) for side in zip(*pairs))
    both = sp.csr_array(sp.coo_array((np.ones(len(a)), (a, b)), shape=(n_words, n_words)))
    each, pmi = both.sum(axis=1), both.tocoo()
    row, col = pmi.coords
    pmi.data = np.maximum(np.log(pmi.data * each.sum() / (each[row] * each[col])), 0.0)
    U, s, _ = randomized_svd(sp.csr_array(pmi), DIMENSIONS, random_state=0)
    found = U * np.sqrt(s)
    return (found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)).astype(np.float32)


def draw(kind: str, K: int, n_groups: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that overlap, the group of each, and its cluster."""
    rng = np.random.default_rng(seed)
    theta, centres = rng.dirichlet(np.full(K, ALPHA), n_groups), rng.normal(size=(K, D))
    groups = np.repeat(np.arange(n_groups), rng.poisson(ROWS - 2, n_groups) + 2)
    z = np.array([rng.choice(K, p=theta[d]) for d in groups])
    X = centres[z] + rng.normal(size=(len(z), D)) * (0.7 if kind == "vectors" else 0.9)
    if kind == "vectors":  # each with a covariance of its own
        X = centres[z] + np.einsum("nij,nj->ni", (np.eye(D) + 0.3 * rng.normal(size=(K, D, D)))[z], X - centres[z])
    return X.astype(np.float32), groups, z


def shares(r: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """[groups, K] mean of the rows of each."""
    sums = np.zeros((groups.max() + 1, r.shape[1]))
    np.add.at(sums, groups, r)
    return sums / np.bincount(groups)[:, None]


def matched(z: np.ndarray, found: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.zeros((K, K))
    np.add.at(table, (z, found), 1)
    return table, *linear_sum_assignment(-table)


def clusters_found(z: np.ndarray, found: np.ndarray, K: int) -> int:
    """Those that have more than half of the rows of a planted cluster, and more than half of their own from it."""
    table, true, own = matched(z, found, K)
    both = table[true, own]
    return int(np.sum((both > 0.5 * table.sum(axis=1)[true]) & (both > 0.5 * table.sum(axis=0)[own])))


def wrong(z: np.ndarray, found: np.ndarray, K: int) -> float:
    table, true, own = matched(z, found, K)
    return 1.0 - float(table[true, own].sum()) / len(z)


def away(drawn: np.ndarray, shares: np.ndarray, z: np.ndarray, found: np.ndarray) -> float:
    """Half of the summed distance of proportions, on average over groups."""
    _, true, own = matched(z, found, drawn.shape[1])
    return float(0.5 * np.abs(shares[:, own] - drawn[:, true]).sum(axis=1).mean())


def patches(a: argparse.Namespace, out: Results) -> int:
    K, n_passes, images = a.K or 200, a.passes, training_images()
    if a.quick:
        K, n_passes, images = 10, 3, images[:10]
    parts = [of_image(image, a.stride * (4 if a.quick else 1)) for image in images]
    X, groups = np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    with np.load(find("bsds400", "test_images.npz")) as test:
        others = [of_image(test[name], SIDE) for name in test.files if name.startswith("bsd68")]
    rng, known, held, image = np.random.default_rng(0), [], [], []
    for i, part in enumerate(others):
        is_held = rng.permutation(len(part)) < len(part) // 5
        known.append(part[~is_held])
        held.append(part[is_held])
        image += [i] * int(is_held.sum())
    X_held, about = np.concatenate(held), {"name": f"patches, stride {a.stride}", "sha256": digest([X]), "rows": len(X)}
    print(f"{len(X):,} patches of {len(parts)} images; {len(X_held):,} held out of {len(others)} others; K = {K}")
    del parts, others
    settings = {"zero_mean": True, "max_iter": n_passes, "tol": -np.inf, "random_state": 0, "n_jobs": a.threads}
    settings |= {"engine": a.engine}
    on_gpu = a.engine == "cuda"
    for name in a.methods:
        model = {"mixture": GaussianMixture, "admixture": GaussianAdmixture}[name](K, **settings)
        passes, rows = (
            PassTimes(time.perf_counter if on_gpu else time.process_time),
            (X, groups)[: 1 + (name != "mixture")],
        )
        model.set_params(callbacks=[passes])
        with PeakMemory(0.05) as peak:
            model.fit(*rows)
        weights = model.weights_ if name == "mixture" else model.transform(known)[image]
        found = {
            "held_out": held_out(X_held, weights, model.means_, model.covariances_),
            "pass": float(np.median(passes.seconds()[1:])),
            "resident_mb": peak.resident,
            "objective_per_row": model.objective_ / len(X),
        } | ({"passes": passes.seconds(), "repeats": repeats(model, rows), "device": device_name()} if on_gpu else {})
        of = "seconds" if on_gpu else "s of the processor"
        print(f"{name}: {found['held_out']:.3f} per held-out patch after {n_passes} passes, {found['pass']:.4g} {of} "
              f"per pass, {peak.resident / 1024:.2f} GB resident", flush=True)  # fmt: skip
        if on_gpu:
            print(" ".join(f"{s * 1e3:.1f}" for s in found["passes"]), "ms;", "the same bits twice" if found["repeats"]
                  else "OTHER BITS", flush=True)  # fmt: skip
        about_fit = {"what": "patches", "method": name, "K": K, "stride": a.stride, "passes": n_passes}
        out.add(found | {"corpus": about}, about_fit | {"threads": a.threads, "engine": a.engine})
    return 0


def repeats(model: GaussianMixture, rows: tuple[np.ndarray, ...]) -> bool:
    """Whether two fits that go on from here have the same bits."""
    copies = [copy.deepcopy(model) for _ in range(2)]
    for each in copies:
        each.set_params(warm_start=True, max_iter=2, callbacks=None).fit(*rows)
    return bool(np.array_equal(*(each.covariances_ for each in copies)))


if __name__ == "__main__":
    arguments.command(main)
