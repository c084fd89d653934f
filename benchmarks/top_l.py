"""Rows per second of top-L selection and softmax, one thread, beside what one would write without it.

    python benchmarks/top_l.py [--K 50 200 800 3200] [--L 1 4 16 64] [--repeat 7] [--out results.jsonl]
    TOPMIX_ISA=avx2 python benchmarks/top_l.py

numpy is argpartition, then softmax over the chosen; nth_element is the C++ of cpp/bind/top_l.cpp, whose softmax is the
vectorised one too. Time is processor time of the calling thread, the best of --repeat with the methods taking turns, so
that a busy machine does not favour the short runs.
--scores chooses what rows look like: normal log weights, or "peaked" ones as a converged mixture has (few large, many
far below).
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from functools import partial

import numpy as np

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


def best_of(repeat: int, methods: dict[str, Callable[[], object]]) -> dict[str, float]:
    best = dict.fromkeys(methods, np.inf)
    for _ in range(repeat):
        for name, run in methods.items():
            t0 = time.thread_time()
            run()
            best[name] = min(best[name], time.thread_time() - t0)
    return best


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--K", type=int, nargs="+", default=[50, 200, 800, 3200])
    p.add_argument("--L", type=int, nargs="+", default=[1, 4, 16, 64])
    p.add_argument("--cells", type=int, default=400_000, help="rows x K; small enough to stay in cache")
    p.add_argument("--repeat", type=int, default=7)
    p.add_argument("--scores", choices=["normal", "peaked"], default="normal")
    p.add_argument("--out")
    a = p.parse_args()

    rng = np.random.default_rng(0)
    print(f"isa={_core.isa}  scores={a.scores}  rows/s on one thread, best of {a.repeat}")
    print(f"{'K':>5} {'L':>3} {'topmix':>12} {'numpy':>11} {'nth_element':>12} {'vs numpy':>9} {'vs nth':>7}")
    for K in a.K:
        n = max(a.cells // K, 1)
        s = scores(a.scores, n, K, rng)
        for L in a.L:
            m = min(L, K)
            idx, r, H = np.empty((n, m), np.int32), np.empty((n, m), np.float32), np.empty(n)
            methods: dict[str, Callable[[], object]] = {
                "topmix": partial(_core.top_l_rows, s, L, idx, r, True, H),
                "numpy": partial(numpy_rows, s, L, idx, r),
                "nth_element": partial(_core.nth_element_rows, s, L, idx, r, True),
            }
            seconds = best_of(a.repeat, methods)
            rate = {name: n / t for name, t in seconds.items()}
            over = {name: seconds[name] / seconds["topmix"] for name in ("numpy", "nth_element")}
            print(
                f"{K:>5} {L:>3} {rate['topmix']:>12,.0f} {rate['numpy']:>11,.0f} {rate['nth_element']:>12,.0f} "
                f"{over['numpy']:>8.1f}x {over['nth_element']:>6.1f}x",
                flush=True,
            )
            if a.out:
                record = {"benchmark": "top_l", "isa": _core.isa, "scores": a.scores, "K": K, "L": L, "rows": n}
                record |= {"repeat": a.repeat, "rows_per_s": {k: round(v) for k, v in rate.items()}}
                record |= {"machine": platform.machine(), "numpy": np.__version__}
                with open(a.out, "a") as f:
                    f.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
