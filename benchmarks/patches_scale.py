"""K = 1600 on all 12 million patches, from a memory-mapped file: resident memory, seconds a pass, share of the summary.

    python benchmarks/patches_scale.py [--quick] [--K 100 400 1600] [--passes 2] [--rows 1000000] [--file patches.npy]

The patches of bsds400 at stride 1 (3 GB of float32) are written to --file once; --rows takes so many of them, from all
images alike. Resident memory is anonymous memory (RssAnon): pages of the mapped file do not count. Seconds a pass are
those of the last one, without initialisation, which is printed beside them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from resident import PeakMemory
from topmix import GaussianMixture
from topmix.likelihoods.gaussian import Gaussian
from vectors import SIDE, of_image, training_images


def write(path: Path, stride: int, n_images: int) -> None:
    images = training_images()[:n_images]
    each = len(range(0, images.shape[1] - SIDE + 1, stride)) ** 2
    out = np.lib.format.open_memmap(path, "w+", np.float32, (len(images) * each, SIDE * SIDE - 1))
    for i, image in enumerate(images):
        out[i * each : (i + 1) * each] = of_image(image, stride)
    out.flush()


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--K", type=int, nargs="+", default=[100, 400, 1600])
    p.add_argument("--passes", type=int, default=2)
    p.add_argument("--rows", type=int, help="of the file; all unless given")
    p.add_argument("--file", type=Path, default=Path(tempfile.gettempdir()) / "topmix_patches.npy")
    p.add_argument("--quick", action="store_true", help="few rows, K = 20, 40: that it runs")
    a = p.parse_args()
    if a.quick:
        a.K, a.file = [20, 40], a.file.with_name("topmix_patches_quick.npy")
    if not a.file.exists():
        write(a.file, 4 if a.quick else 1, 20 if a.quick else 400)

    summaries = [0.0]
    original = Gaussian.summarise

    def timed(*args: Any) -> Any:
        t = time.perf_counter()
        out = original(*args)
        summaries[0] += time.perf_counter() - t
        return out

    Gaussian.summarise = staticmethod(timed)  # type: ignore[method-assign,assignment]
    X = np.load(a.file, mmap_mode="r")
    if a.rows:
        X = X[:: max(1, len(X) // a.rows)]
    print(f"{len(X):,} rows of {X.shape[1]}, {X.nbytes / 1e9:.1f} GB")
    for K in a.K:
        ends, shares = [], []

        def after_pass(*_: Any, ends: list[float] = ends, shares: list[float] = shares) -> None:
            ends.append(time.perf_counter())
            shares.append(summaries[0])
            summaries[0] = 0.0

        begin, summaries[0] = time.perf_counter(), 0.0
        with PeakMemory(0.05) as peak:
            model = GaussianMixture(K, max_iter=a.passes, tol=-np.inf, random_state=0, callbacks=[after_pass]).fit(X)
        seconds = ends[-1] - (ends[-2] if len(ends) > 1 else begin)
        print(f"K = {K:5d}: {seconds:8.1f} s a pass, {seconds / K:.4f} s a cluster; first pass with initialisation "
              f"{ends[0] - begin:.1f} s; summary {shares[-1] / seconds:.1%}; {peak.anonymous / 1024:.2f} GB resident; "
              f"{len(X) / seconds:,.0f} rows/s; bound {model.elbo_ / len(X):.3f} a row", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
