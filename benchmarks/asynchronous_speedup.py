"""How much sooner do two asynchronous workers reach the bound that one has after ten passes?

    python -m benchmarks.asynchronous_speedup [--corpus kos nips wiki] [--K 64 128 256] [--quick]

Beside it stands what two threads gain for a loop of arithmetic on this machine. Seconds count from the initial topics,
which take as long for both. Between two snapshots the bound is taken to be a line.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import arguments, datasets
from benchmarks.harness.internals import asynchronous_passes
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Stopwatch
from topmix import _core

PASSES = 10  # of one worker
MORE = 15  # of two: they see each other's updates late, and may need more passes


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus, once")
    arguments.add_corpus(p, ["kos", "nips", "wiki"], role=None)
    p.add_argument("--K", nargs="+", type=int, default=[64, 128, 256])
    p.add_argument("--repeat", type=int, default=3)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.repeat = [datasets.GENERATED], [16], 1
    out = Results(a.out, "asynchronous_speedup")
    for name in a.corpus:
        data = datasets.load(name)
        for K in a.K:
            found = speedup(data.train, K, a.repeat)
            print(
                f"  {name} K = {K}: one thread {found['one']:.3f} s to its pass {PASSES}, two threads "
                f"{found['two']:.3f} s to that bound, in {found['passes']:.1f} passes: "
                f"{found['one'] / found['two']:.2f} times as fast; a loop of arithmetic {found['loop']:.2f} times; "
                f"wanted {0.9 * found['loop']:.2f}",
                flush=True,
            )
            out.add(found, {"K": K, "best_of": a.repeat}, data)
    return 0


def speedup(X: object, K: int, repeat: int) -> dict[str, float]:
    loops, ones, twos = [], [], []
    for _ in range(repeat):  # in turn
        loops.append((arithmetic(1), arithmetic(2)))
        ones.append(asynchronous_passes(X, K, 1, PASSES))
        twos.append(asynchronous_passes(X, K, 2, MORE))
    target = ones[0][1][-1]
    return {
        "one": min(float(t[-1]) for t, _ in ones),
        "two": min(float(np.interp(target, bound, t)) for t, bound in twos),
        "loop": min(a for a, _ in loops) / min(b for _, b in loops),
        "passes": float(np.mean([np.interp(target, bound, np.arange(1, MORE + 1)) for _, bound in twos])),
    }


def arithmetic(threads: int) -> float:
    x, out = np.linspace(0.1, 50.0, 1 << 20), np.empty(1 << 20)
    watch = Stopwatch()
    for _ in range(20):
        _core.lgamma(x, out, threads)
    return watch.seconds


if __name__ == "__main__":
    arguments.command(main)
