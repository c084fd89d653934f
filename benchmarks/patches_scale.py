"""How much memory and time does a pass over all 12 million patches take, from a memory-mapped file?

    python -m benchmarks.patches_scale [--quick] [--K 100 400 1600] [--passes 2] [--rows 1000000] [--file patches.npy]

The patches of bsds400 at stride 1 (3 GB of float32) are written to --file once; --rows takes some of them, from all
images alike. Resident memory is anonymous memory (RssAnon): pages of the mapped file do not count. Seconds per pass are
those of the last one, without initialisation, which is printed beside them, with the share of the summary of rows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.internals import timed_summaries
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes
from benchmarks.harness.vectors import SIDE, of_image, training_images


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few rows, K = 20 and 40")
    p.add_argument("--K", type=int, nargs="+", default=[100, 400, 1600])
    p.add_argument("--passes", type=int, default=2)
    p.add_argument("--rows", type=int, help="of the file; all unless given")
    p.add_argument("--file", type=Path, default=Path(tempfile.gettempdir()) / "topmix_patches.npy")
    a = p.parse_args(argv)
    if a.quick:
        a.K, a.file = [20, 40], a.file.with_name("topmix_patches_quick.npy")
    if not a.file.exists():
        write(a.file, 4 if a.quick else 1, 20 if a.quick else 400)
    X = np.load(a.file, mmap_mode="r")
    if a.rows:
        X = X[:: max(1, len(X) // a.rows)]
    out = Results(a.out, "patches_scale")
    print(f"{len(X):,} rows of {X.shape[1]}, {X.nbytes / 1e9:.1f} GB")
    for K in a.K:
        passes, ends = PassTimes(), [0.0]  # seconds in summaries, until the end of each pass
        settings = {"max_iter": a.passes, "n_jobs": a.threads}
        with PeakMemory(0.05) as peak, timed_summaries() as spent:
            looks = [passes, lambda *_, ends=ends, spent=spent: ends.append(spent[0])]
            model = ours.gaussian_mixture(K, tol=-np.inf, random_state=0, callbacks=looks, **settings).fit(X)
        seconds = passes.seconds()
        found = {
            "pass": seconds[-1], "first_pass_with_initialisation": seconds[0],
            "share_of_summary": (ends[-1] - ends[-2]) / seconds[-1], "anonymous_mb": peak.anonymous,
            "bound_per_row": model.elbo_ / len(X),
        }  # fmt: skip
        print(f"K = {K:5d}: {seconds[-1]:8.1f} s per pass, {seconds[-1] / K:.4f} s per cluster; first pass with "
              f"initialisation {seconds[0]:.1f} s; summary {found['share_of_summary']:.1%}; "
              f"{peak.anonymous / 1024:.2f} GB resident; {len(X) / seconds[-1]:,.0f} rows/s; "
              f"bound {found['bound_per_row']:.3f} per row", flush=True)  # fmt: skip
        out.add(found, settings | {"K": K, "rows": len(X), "file": a.file.name})
    return 0


def write(path: Path, stride: int, n_images: int) -> None:
    images = training_images()[:n_images]
    each = len(range(0, images.shape[1] - SIDE + 1, stride)) ** 2
    out = np.lib.format.open_memmap(path, "w+", np.float32, (len(images) * each, SIDE * SIDE - 1))
    for i, image in enumerate(images):
        out[i * each : (i + 1) * each] = of_image(image, stride)
    out.flush()


if __name__ == "__main__":
    arguments.command(main)
