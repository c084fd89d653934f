"""Natural image patches: what does a pass with few clusters per row cost, beside one with all of them?

    python -m benchmarks.patches [--quick] [--K 200] [--passes 10]

8x8 patches of the bsds400 images on a grid of stride 4, projected on the 63-dimensional complement of the constant
vector; scored on Set12 patches by one evaluator. Times count initialisation. `benchmarks.everything` compares with
scikit-learn.
"""

from __future__ import annotations

from benchmarks.harness import arguments
from benchmarks.harness.methods import topmix
from benchmarks.harness.results import Results
from benchmarks.harness.vectors import patches


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few rows, K = 20, seconds")
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--passes", type=int, default=10)
    a = p.parse_args(argv)
    if a.quick:
        a.K, a.passes = 20, 3
    data = patches(32 if a.quick else 4).some(None, 2_000 if a.quick else 20_000)
    n, out = len(data.train), Results(a.out, "patches")
    print(f"{n:,} training patches, {len(data.validation):,} for validation, K = {a.K}")
    passes, final = {}, {}
    for L in (8, None):
        curve = topmix.gaussian_mixture(data, a.K, a.passes, n_active=L, n_jobs=a.threads)
        passes[L], final[L] = min(curve.pass_seconds()), curve.column("validation")[-1]
        print(f"{'dense' if L is None else f'L = {L}'}: {n / passes[L]:,.0f} rows/s; {final[L]:.3f} after {a.passes} "
              f"passes, {curve.seconds[-1]:.1f} s\n  {curve.brief()}", flush=True)  # fmt: skip
        settings = {"method": "topmix", "K": a.K, "n_active": L, "passes": a.passes, "threads": a.threads}
        out.add({"curve": curve.to_dict()}, settings, data)
    print(f"a pass with L = 8 is {passes[None] / passes[8]:.2f} times faster than dense; final score {final[8]:.3f} "
          f"against {final[None]:.3f}")  # fmt: skip
    return 0


if __name__ == "__main__":
    arguments.command(main)
