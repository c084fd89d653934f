"""How long does a pass of a Gaussian mixture take on a GPU, how exact is it, and does it repeat?

    python -m benchmarks.cuda_mixtures                              # 3.6 million patches, K = 800
    python -m benchmarks.cuda_mixtures --images 400 --K 1600        # 12 million

All 8x8 patches of natural images (bsds400), 63 numbers each, full covariances. Clusters start from a fit to a sample of
the rows; then passes over all rows begin from there, twice: the seconds are of the second time, and both must have the
same bits. `start` is everything before the first pass ends. `error` is that of log weights, in nats. With --engine
threads the same is measured on the processor.
"""

from __future__ import annotations

import copy
import hashlib
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.cuda import device_name
from benchmarks.harness import arguments
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes
from benchmarks.harness.vectors import of_image, training_images
from tests.twins.gaussian import features
from topmix import GaussianMixture
from topmix.corpus.rows import Rows
from topmix.corpus.shard import Shards
from topmix.cuda.mixture import RowBackend
from topmix.cuda.row_sums import Scorer
from topmix.engines.cuda import Cuda
from topmix.engines.engine import Engine
from topmix.models.gaussian import Gaussian
from topmix.steps.rows import MixtureStep


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="4,000 random rows, K = 20")
    p.add_argument("--images", type=int, default=120, help="of 400, with 29,929 patches each")
    p.add_argument("--K", type=int, default=800)
    p.add_argument("--n-active", type=int, default=8)
    p.add_argument("--passes", type=int, default=6)
    p.add_argument("--sample", type=int, default=200_000, help="rows that clusters start from")
    p.add_argument("--engine", nargs="+", default=["cuda", "tf32"], help="cuda, tf32 or threads")
    p.add_argument("--learner", default="memoized")
    a = p.parse_args(argv)
    warnings.simplefilter("ignore")
    if a.quick:
        a.K, a.passes, a.sample = 20, 2, 2_000
        X = np.random.default_rng(0).normal(size=(4_000, 63)).astype(np.float32)
    else:
        X = np.concatenate([of_image(image, 1) for image in training_images()[: a.images]])
    some = X[:: max(1, len(X) // a.sample)]
    engines: dict[str, str | Engine] = {"cuda": Cuda(), "tf32": Cuda(precision="tf32"), "threads": "threads"}
    first = GaussianMixture(a.K, max_iter=2, random_state=0, engine=engines[a.engine[0]], n_jobs=a.threads).fit(some)
    out = Results(a.out, "cuda_mixtures")
    for name in a.engine:
        found = measured(first, X, engines[name], a)
        found["device"] = None if name == "threads" else device_name()
        found["error"] = None if name == "threads" else error_of(first, some, engines[name])
        print(
            f"{len(X):,} rows, K = {a.K}, {name}: start {found['start']:.2f} s, passes "
            f"{' '.join(f'{s * 1e3:.0f}' for s in found['passes'])} ms, bound {found['bound']:.4f} per row, "
            f"error {found['error']}, {'the same bits twice' if found['repeats'] else 'OTHER BITS'}",
            flush=True,
        )
        settings = {"K": a.K, "rows": len(X), "n_active": a.n_active, "learner": a.learner, "engine": name}
        out.add(found, settings | {"threads": a.threads})
        if not found["repeats"]:
            return 1
    return 0


def measured(first: GaussianMixture, X: np.ndarray, engine: str | Engine, a: Any) -> dict[str, Any]:
    hashes = []
    for _ in range(2 if isinstance(engine, Cuda) else 1):
        model = copy.deepcopy(first)
        model.set_params(engine=engine, n_active=a.n_active, learner=a.learner, warm_start=True)
        times, begin = PassTimes(), time.perf_counter()
        model.set_params(max_iter=a.passes, tol=-np.inf, callbacks=[times]).fit(X)
        seconds = time.perf_counter() - begin
        hashes.append(hashlib.sha256(model.covariances_.tobytes()).hexdigest()[:16])
    return times.summary() | {
        "seconds": seconds,
        "bound": model.elbo_ / len(X),
        "hash": hashes[-1],
        "repeats": hashes[0] == hashes[-1],
    }


def error_of(model: GaussianMixture, X: np.ndarray, engine: Any, n: int = 2000) -> dict[str, float]:
    """Of log weights within 20 nats of a row's best, against float64, beside NumPy's products in float32. A row far
    from all clusters has a log weight of thousands of nats, and the largest error."""
    likelihood, K = model.model_.likelihood, len(model.weights_)
    assert isinstance(likelihood, Gaussian)
    rows = np.ascontiguousarray(X[:: max(1, len(X) // n)])
    workers = engine.open(Shards(Rows(rows), [slice(0, len(rows))]), MixtureStep(Gaussian, 1), 1)
    backend: RowBackend = workers.backend
    c = backend.place(model.model_).tables(np.arange(X.shape[1])).likelihood
    z = backend.shard(workers.shards, 0).z(c.weights.dtype, c.origin, c.A)
    given = Scorer(backend.device, c.weights, len(rows), engine.precision)(z)
    scores = backend.device.get(given["scores"])[:, :K].astype(np.float64)
    if "row_scale" in given:
        scales = [backend.device.get(given[name]).astype(np.float64) for name in ("row_scale", "cluster_scale")]
        scores *= scales[0][:, None] * scales[1][:K]
    scores += c.constant
    q = likelihood.posterior
    W = np.concatenate([likelihood.shape.packed(q.P) * likelihood.shape.share_of_products(), q.Pm], axis=1)
    phi = features(backend.device.get(z), "products", True)
    workers.close()
    exact, plain = phi @ W.T + c.constant, phi.astype(np.float32) @ W.T.astype(np.float32) + c.constant
    near = exact > exact.max(axis=1, keepdims=True) - 20
    errors = {"": np.abs(scores - exact)[near], "float32_": np.abs(plain - exact)[near]}
    how = {"mean": np.mean, "most": lambda e: np.quantile(e, 0.99), "largest": np.max}
    return {which + name: float(of(e)) for which, e in errors.items() for name, of in how.items()}


if __name__ == "__main__":
    arguments.command(main)
