"""What does scoring only clusters near a row's last one save, and what does it cost?

    python -m benchmarks.candidates [--quick] [--K 1600] [--candidates 32] [--passes 6] [--rows 774400] [--seed 0]

8x8 patches of the bsds400 images on a grid of stride 4, scored on BSD68 patches by one evaluator. Memoized learning
with the defaults, from the same start, with candidates and with full scans. The first pass of both scores all clusters;
passes after it are compared, and the whole run beside them.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.methods import topmix
from benchmarks.harness.results import Results
from benchmarks.harness.vectors import patches


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few rows, K = 40")
    p.add_argument("--K", type=int, default=1600)
    p.add_argument("--candidates", type=int, nargs="+", default=[32])
    p.add_argument("--passes", type=int, default=6)
    p.add_argument("--rows", type=int, default=774_400)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args(argv)
    if a.quick:
        a.K, a.passes, a.rows = 40, 3, 20_000
    data = patches(16 if a.quick else 4).some(a.rows, 2_000 if a.quick else 10_000)
    out = Results(a.out, "candidates")
    print(f"{len(data.train):,} training patches, {len(data.test):,} test patches, K = {a.K}")

    full = None
    for candidates in (None, *a.candidates):
        settings = {"candidates": candidates, "random_state": a.seed, "n_jobs": a.threads}
        curve = topmix.gaussian_mixture(data, a.K, a.passes, **settings)
        of_pass, whole, score = float(np.median(curve.pass_seconds())), curve.seconds[-1], curve.last()
        name = "full scan" if candidates is None else f"{candidates} candidates"
        print(
            f"{name}: {of_pass:.2f} s per pass, {whole:.1f} s in all with initialisation; {score:.4f} nats at the end"
        )
        print(f"  {curve.brief()}", flush=True)
        if full is None:
            full = of_pass, whole, score
        else:
            print(f"  a pass {full[0] / of_pass:.2f} times faster, the run {full[1] / whole:.2f} times; "
                  f"score {(score - full[2]) / abs(full[2]):+.4%}", flush=True)  # fmt: skip
        out.add({"curve": curve.to_dict(), "pass": of_pass}, settings | {"K": a.K, "passes": a.passes}, data)
    return 0


if __name__ == "__main__":
    arguments.command(main)
