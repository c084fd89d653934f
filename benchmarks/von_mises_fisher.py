"""Directions: how soon do we reach the likelihood of EM in NumPy, and are the labels as good as those of k-means?

    python -m benchmarks.von_mises_fisher speed --clusters 10 50 200 --seeds 3 --out results.jsonl
    python -m benchmarks.von_mises_fisher labels --clusters 10 50 --seeds 5 --concentrations tied
    python -m benchmarks.von_mises_fisher kernels

The rows of mnist, divided by their lengths.
`speed` is seconds to the same likelihood. The peer is the reference twin: float32, all products by BLAS on --threads
threads, dense posteriors, with our Bessel functions and our start (its seconds are counted for both). It runs until an
iteration gains less than 1e-3 nats per row. The target is what it reached, less 1e-3; we run with default settings
until we stop by ourselves, and are asked when we passed the target. Likelihoods are without priors; ours is the lower
bound of L-sparse posteriors. The two take turns, seed by seed. `labels` is NMI with the digits and the seconds of whole
fits; scikit-learn's KMeans has its defaults. `kernels` compares scores and top L with sgemm alone.

On a machine that others use, wall time says little, least of all of BLAS on several threads, which spin while they
wait: --cpu takes one thread for all and counts its processor time.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks.harness import arguments, datasets
from benchmarks.harness.results import Results
from tests.twins.von_mises_fisher import Clusters, em_step
from topmix import VonMisesFisherMixture, _core
from topmix.base.bessel import inverse_ratio
from topmix.base.threads import one_thread, use_threads
from topmix.corpus.directions import Directions
from topmix.models.von_mises_fisher import empty, log_peak, start

clock = time.perf_counter


def mnist(n_rows):
    file = np.load(datasets.find("mnist"))
    rows = np.random.default_rng(0).permutation(len(file["y"]))[:n_rows]
    return Directions(file["X"][rows].astype(np.float32)).data, file["y"][rows]


def numpy_em(X, K, seed, threads, max_iter):
    """[(seconds, log likelihood per row)], one per iteration: the likelihood is of the clusters at that time."""
    begin, curve, table, same = clock(), [], Directions(X), VonMisesFisherMixture(K, random_state=seed)
    rng = same._rng()
    same._learner(table).batches(table, 1, rng)  # draws from rng, as `fit` does before it starts: so both start alike
    with use_threads(threads):
        model = start(empty(table, None, K), table, None, "auto", rng)
    p, N, rho = model.parameters, model.N, model.prior_resultant
    c, at = Clusters(N / N.sum(), p.mu, p.kappa), clock() - begin
    with threadpool_limits(threads, "blas"):
        while len(curve) < max_iter + 1 and (len(curve) < 3 or curve[-1][1] - curve[-2][1] > 1e-3):
            c, likelihood = em_step(
                X, c, 1.0, rho, 1.0 / K, 4096 if K >= 100 else None,
                lambda D, kappa: log_peak(D, kappa) - kappa, lambda D, r: inverse_ratio(D, r, 1e6),
            )  # fmt: skip
            curve.append((at, likelihood / len(X)))
            at = clock() - begin
    return curve


def ours(X, K, seed, threads, max_iter, **settings):
    curve, n, begin = [], len(X), clock()

    def watch(record, view):
        d, weights = view._model.likelihood, view._model.allocation
        p, b, log_pi = d.parameters, d.prior_rows, weights.log_weights()
        prior = b * float(np.sum(p.log_peak + p.kappa * (d.prior_resultant - 1)))
        data = record.terms["data"] - prior + record.terms["entropy"] + float(weights.counts() @ log_pi)
        curve.append((clock() - begin, data / n))

    model = VonMisesFisherMixture(
        K, random_state=seed, n_jobs=threads, max_iter=max_iter, callbacks=[watch], **settings
    )
    model.fit(X)
    return curve, model


def speed(a):
    X, _ = mnist(a.rows)
    for K in a.clusters:
        ratios = []
        for seed in range(a.seeds):
            theirs = numpy_em(X, K, seed, a.threads, a.iterations)
            mine, _ = ours(X, K, seed, a.threads, a.iterations)
            target = theirs[-1][1] - 1e-3
            their_time = next(t for t, value in theirs if value >= target)
            my_time = next((t for t, value in mine if value >= target), None)
            row = {
                "what": "speed", "K": K, "seed": seed, "rows": len(X), "threads": a.threads, "target": target,
                "numpy_seconds": their_time, "numpy_iterations": len(theirs) - 1, "numpy_end": theirs[-1][1],
                "seconds": my_time, "passes": len(mine), "end": mine[-1][1], "end_seconds": mine[-1][0],
                "numpy_s_per_pass": (theirs[-1][0] - theirs[0][0]) / (len(theirs) - 1),
                "s_per_pass": (mine[-1][0] - mine[0][0]) / max(len(mine) - 1, 1),
            }  # fmt: skip
            tell(row, a.out)
            ratios.append(their_time / my_time if my_time else 0.0)
        print(f"K={K}: times sooner, by seed: {', '.join(f'{r:.1f}' if r else 'never' for r in ratios)}", flush=True)


def labels(a):
    X, y = mnist(a.rows)
    for K in a.clusters:
        for seed in range(a.seeds):
            begin = clock()
            with threadpool_limits(a.threads):
                k_means = KMeans(K, random_state=seed).fit(X)
            middle = clock()
            _, model = ours(X, K, seed, a.threads, a.iterations, concentration_type=a.concentrations)
            end = clock()
            row = {
                "what": "labels", "concentrations": a.concentrations, "K": K, "seed": seed, "rows": len(X),
                "threads": a.threads,
                "nmi": normalized_mutual_info_score(y, model.labels_), "seconds": end - middle,
                "k_means_nmi": normalized_mutual_info_score(y, k_means.labels_), "k_means_seconds": middle - begin,
            }  # fmt: skip
            tell(row, a.out)


def kernels(a):
    for K, D in ((1000, 256), (1000, 784)):
        rng, n, L = np.random.default_rng(0), 20_000, 8
        x = rng.standard_normal((n, D)).astype(np.float32)
        W, c = rng.standard_normal((K, D)).astype(np.float32), np.zeros(K, np.float32)
        out = np.empty((n, L), np.int32), np.empty((n, L), np.float32), np.empty(n), np.empty(n)
        for threads in range(1, a.threads + 1):

            def scores(x=x, W=W, c=c, out=out, threads=threads):
                with one_thread():
                    _core.assign_gaussian(x, W, c, "none", True, threads, *out)

            def product(x=x, W=W, threads=threads):
                with threadpool_limits(threads, "blas"):
                    return x @ W.T

            mine, blas = (min(timed(f) for _ in range(5)) for f in (scores, product))
            work = 2e-9 * n * K * D
            tell(
                {"what": "kernels", "K": K, "D": D, "threads": threads, "gflops": work / mine, "sgemm": work / blas},
                a.out,
            )


def timed(f):
    begin = clock()
    f()
    return clock() - begin


def tell(row, out):
    print(" ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()), flush=True)
    named = ("what", "K", "D", "seed", "rows", "threads", "concentrations")
    settings = {name: row[name] for name in named if name in row} | {"isa": _core.isa}
    out.add({name: value for name, value in row.items() if name not in named}, settings)


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__)
    p.add_argument("what", choices=["speed", "labels", "kernels"])
    p.add_argument("--clusters", type=int, nargs="+", default=[10, 50])
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--rows", type=int, default=70_000)
    p.add_argument("--iterations", type=int, default=100)
    p.add_argument("--concentrations", choices=["free", "tied"], default="free", help="of our clusters, for labels")
    p.add_argument("--cpu", action="store_true", help="one thread, processor time")
    a = p.parse_args(argv)
    a.out = Results(a.out, "von_mises_fisher")
    if a.cpu:
        global clock
        clock, a.threads = time.process_time, 1
    {"speed": speed, "labels": labels, "kernels": kernels}[a.what](a)
    return 0


if __name__ == "__main__":
    arguments.command(main)
