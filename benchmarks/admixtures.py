"""Do groups of vectors that mix clusters find planted ones, and what are they worth on images, beside a mixture?

    python -m benchmarks.admixtures planted [--quick] [--seeds 3] [--groups 200 2000]
    python -m benchmarks.admixtures patches [--quick] [--K 200] [--passes 10] [--stride 4]

`planted`: K = 10 and 30 clusters of vectors or directions in 8 dimensions, 200 or 2,000 groups of about 50 rows with
proportions from Dir(0.1): the clusters that were found, each by its own and no other, the mean distance of proportions
from those that were drawn, and the share of rows whose cluster is wrong, beside a mixture's.

`patches`: 8x8 patches without their mean, an image is a group; zero means and full covariances. A fifth of the patches
of each test image (BSD68) is held out: their log likelihood, with the proportions of the others of the image, beside
that of the mixture; one evaluator for both. Passes are in seconds of the processor, without the first.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.harness import arguments
from benchmarks.harness.datasets import find
from benchmarks.harness.machine import digest
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes
from benchmarks.harness.vectors import SIDE, held_out, of_image, training_images
from topmix import GaussianAdmixture, GaussianMixture, VonMisesFisherAdmixture, VonMisesFisherMixture

KINDS = {
    "vectors": (GaussianAdmixture, GaussianMixture),
    "directions": (VonMisesFisherAdmixture, VonMisesFisherMixture),
}
D, ALPHA, ROWS = 8, 0.1, 50


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few groups, K = 10, seconds")
    p.add_argument("what", choices=["planted", "patches"], nargs="?", default="planted")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--groups", type=int, nargs="+", default=[200, 2_000])
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--passes", type=int, default=10)
    p.add_argument("--stride", type=int, default=4)
    p.add_argument("--methods", nargs="+", default=["mixture", "admixture"], choices=["mixture", "admixture"])
    a = p.parse_args(argv)
    out = Results(a.out, "admixtures")
    return planted(a, out) if a.what == "planted" else patches(a, out)


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
    K, n_passes, images = a.K, a.passes, training_images()
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
    for name in a.methods:
        model = {"mixture": GaussianMixture, "admixture": GaussianAdmixture}[name](K, **settings)
        passes = PassTimes(time.process_time)
        model.set_params(callbacks=[passes])
        with PeakMemory(0.05) as peak:
            model.fit(X) if name == "mixture" else model.fit(X, groups)
        weights = model.weights_ if name == "mixture" else model.transform(known)[image]
        found = {
            "held_out": held_out(X_held, weights, model.means_, model.covariances_),
            "pass": float(np.median(passes.seconds()[1:])), "resident_mb": peak.resident,
            "objective_per_row": model.objective_ / len(X),
        }  # fmt: skip
        print(f"{name}: {found['held_out']:.3f} per held-out patch after {n_passes} passes, {found['pass']:.2f} s of "
              f"the processor per pass, {peak.resident / 1024:.2f} GB resident", flush=True)  # fmt: skip
        about_fit = {"what": "patches", "method": name, "K": K, "stride": a.stride, "passes": n_passes}
        out.add(found | {"corpus": about}, about_fit | {"threads": a.threads})
    return 0


if __name__ == "__main__":
    arguments.command(main)
