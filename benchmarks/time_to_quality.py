"""How long until the topics are as good as the best peer's?

    python benchmarks/time_to_quality.py --corpus nips wiki --K 200 800 --seconds 60

One method at a time, each in its own process with 2 threads. Time is training with initialisation; imports, loading the
corpus and evaluating are not counted. All are scored by topmix.metrics.completion_score on the same test documents.
Peers: tomotopy (three settings), scikit-learn's online LDA and gensim's LdaMulticore. Their curves are kept in
benchmarks/results/peers.jsonl and taken from there when machine, versions and settings are the same (--fresh runs them
again); ours are always run. With matplotlib, score against time is drawn beside it.

Prints, for each corpus and K, the best peer's score after some seconds and the time topmix took to reach it, then how
everyone ended: score, NPMI and diversity of the top 10 words, empty and duplicate topics, share of the largest topic.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import datasets
from curves import Cache, Curve, calibrate
from methods import METHODS, SETTINGS, plan

HERE = Path(__file__).resolve().parent
DRIFT = 1.25  # times slower or faster than at calibration: a cached curve is then doubtful


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", nargs="+", default=["nips", "wiki"], metavar="NAME")
    p.add_argument("--K", nargs="+", type=int, default=[200])
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    p.add_argument("--seeds", type=int, default=1, help="runs of each method, with seeds 0, 1, ...")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--fresh", action="store_true", help="run peers again, cached or not")
    p.add_argument("--out", type=Path, default=HERE / "results", help="folder of peers.jsonl, topmix.jsonl and figures")
    a = p.parse_args(argv)
    try:
        for name in a.corpus:
            datasets.find(name)
    except datasets.MissingData as error:
        print(error, file=sys.stderr)
        return 2
    cache, ours = Cache(a.out / "peers.jsonl"), Cache(a.out / "topmix.jsonl")
    now = calibrate()
    for corpus in a.corpus:
        for K in a.K:
            curves = []
            for method in a.methods:
                for setting in SETTINGS[method]:
                    for seed in range(a.seeds):
                        wanted = plan(method, setting, corpus, K, seed, a.seconds)
                        wanted.settings = wanted.settings | {"threads": a.threads}
                        store = ours if method == "topmix" else cache
                        curves.append(obtain(wanted, store, now, fresh=a.fresh or method == "topmix"))
            print(table(corpus, K, a.seconds, curves), flush=True)
            draw(corpus, K, curves, a.out)
    return 0


def obtain(wanted: Curve, cache: Cache, calibration: float, *, fresh: bool) -> Curve:
    """The curve from the cache, or else from a process of its own."""
    known = None if fresh else cache.get(wanted)
    if known is not None:
        ratio = calibration / known.calibration
        if not 1 / DRIFT < ratio < DRIFT:
            print(
                f"{name(known)}: this machine takes {ratio:.2f} times as long as when the curve was made: use --fresh"
            )
        return known
    print(f"running {name(wanted)} on {wanted.corpus}, K = {wanted.K}, seed {wanted.seed}", file=sys.stderr, flush=True)
    threads = wanted.settings["threads"]
    spec = {k: getattr(wanted, k) for k in ("method", "setting", "corpus", "K", "seed", "budget")} | {
        "threads": threads
    }
    limits = {f"{lib}_NUM_THREADS": str(threads) for lib in ("OMP", "OPENBLAS", "MKL")}
    done = subprocess.run(
        [sys.executable, str(HERE / "methods.py"), json.dumps(spec)],
        env=os.environ | limits, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    curve = Curve.from_dict(json.loads(done.stdout.splitlines()[-1]))
    curve.settings = wanted.settings
    cache.put(curve)
    return curve


def name(curve: Curve) -> str:
    return curve.method if len(SETTINGS[curve.method]) == 1 else f"{curve.method} ({curve.setting})"


def table(corpus: str, K: int, budget: float, curves: list[Curve]) -> str:
    """Time to the best peer's score, and how everyone ended, as text."""
    ours = [c for c in curves if c.method == "topmix"]
    peers = [c for c in curves if c.method != "topmix"]
    lines = [f"\n{corpus}, K = {K}: {budget:g} s of training"]
    if ours and peers:
        lines.append(f"  {'after':>8}  {'best peer':<24}{'score':>9}  {'topmix there after':>20}  {'times faster':>12}")
        for B in (budget / 8, budget / 4, budget / 2, 1.1 * budget):  # a last pass may end a little late
            best = max(peers, key=lambda c: c.score_at(B))
            score = best.score_at(B)
            if score == float("-inf"):
                continue
            at = best.time_to(score)
            reached = sorted(c.time_to(score) for c in ours)[len(ours) // 2]
            there = f"{reached:.2f} s" if reached < float("inf") else "not reached"
            faster = f"{at / reached:.1f}" if reached < float("inf") else ""
            lines.append(f"  {at:>6.1f} s  {name(best):<24}{score:>9.4f}  {there:>20}  {faster:>12}")
    head = ("score", "NPMI", "diversity", "empty", "duplicate", "largest")
    lines.append(f"  {'at the end':<28}{'seconds':>9}" + "".join(f"{h:>11}" for h in head))
    for c in sorted(curves, key=lambda c: -c.final["score"]):
        f = c.final
        lines.append(
            f"  {name(c) + (f' #{c.seed}' if c.seed else ''):<28}{c.points[-1][0]:>9.1f}{f['score']:>11.4f}"
            f"{f['npmi']:>11.3f}{f['diversity']:>11.3f}{f['empty']:>11.0f}{f['duplicate']:>11.0f}{f['largest_share']:>11.3f}"
        )
    return "\n".join(lines)


def draw(corpus: str, K: int, curves: list[Curve], folder: Path) -> None:
    """Score against seconds, if matplotlib is there."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("  (no figure: matplotlib is not installed)")
        return
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for c in curves:
        axes.semilogx(*zip(*c.points), marker="o", markersize=3, lw=2.5 if c.method == "topmix" else 1.2, label=name(c))
    axes.set(xlabel="seconds of training", ylabel="completion score (nats a token)", title=f"{corpus}, K = {K}")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(folder / f"time_to_quality_{corpus}_{K}.png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
