"""How many rows per second does top-L selection with softmax take, against NumPy?

    python -m benchmarks.top_l [--K 50 200 800 3200] [--L 1 4 16 64] [--repeat 7]
    TOPMIX_ISA=avx2 python -m benchmarks.top_l

One thread. numpy is argpartition, then softmax over the chosen.
Time is processor time of the calling thread, the best of --repeat; the methods take turns, so
that a busy machine does not favour the short runs. --scores chooses the rows: normal log weights, or "peaked" ones as a
converged mixture has (few large, many far below).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import best_in_turn
from topmix import _core


def numpy_rows(s: np.ndarray, L: int, idx: np.ndarray, r: np.ndarray) -> None:
    m = idx.shape[1]
    top = np.argpartition(s, s.shape[1] - m, axis=1)[:, s.shape[1] - m :]
    top.sort(axis=1)
    w = np.take_along_axis(s, top, axis=1)
    w = np.exp(w - w.max(axis=1, keepdims=True))
    idx[:], r[:] = top, w / w.sum(axis=1, keepdims=True)


def scores(kind: str, n: int, K: int, rng: np.random.Generator) -> np.ndarray:
    s = rng.normal(size=(n, K))
    return (np.where(rng.random((n, K)) < 8 / K, s, -200 + 50 * s) if kind == "peaked" else s).astype(np.float32)


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__)
    p.add_argument("--K", type=int, nargs="+", default=[50, 200, 800, 3200])
    p.add_argument("--L", type=int, nargs="+", default=[1, 4, 16, 64])
    p.add_argument("--cells", type=int, default=400_000, help="rows x K; small enough to stay in cache")
    p.add_argument("--repeat", type=int, default=7)
    p.add_argument("--scores", choices=["normal", "peaked"], default="normal")
    a = p.parse_args(argv)
    rng, out = np.random.default_rng(0), Results(a.out, "top_l")
    print(f"isa={_core.isa}  scores={a.scores}  rows/s on one thread, best of {a.repeat}")
    print(f"{'K':>5} {'L':>3} {'topmix':>12} {'numpy':>11} {'vs numpy':>9}")
    for K in a.K:
        n = max(a.cells // K, 1)
        s = scores(a.scores, n, K, rng)
        for L in a.L:
            m = min(L, K)
            idx, r, H = np.empty((n, m), np.int32), np.empty((n, m), np.float32), np.empty(n)
            methods: dict[str, Callable[[], object]] = {
                "topmix": partial(_core.top_l_rows, s, L, idx, r, True, H),
                "numpy": partial(numpy_rows, s, L, idx, r),
            }
            seconds = best_in_turn(a.repeat, methods, time.thread_time)
            rate = {name: n / t for name, t in seconds.items()}
            over = seconds["numpy"] / seconds["topmix"]
            print(f"{K:>5} {L:>3} {rate['topmix']:>12,.0f} {rate['numpy']:>11,.0f} {over:>8.1f}x", flush=True)
            settings = {"scores": a.scores, "K": K, "L": L, "rows": n, "best_of": a.repeat}
            out.add({"rows_per_s": rate}, settings)
    return 0


if __name__ == "__main__":
    arguments.command(main)
