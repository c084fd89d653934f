"""How long until the topics are as good as the best peer's?

    python benchmarks/time_to_quality.py --corpus nips wiki 20ng --K 200 800 --seconds 60
    python benchmarks/time_to_quality.py --corpus arxiv_100k --K 200 800 --seconds 300 --methods topmix tomotopy:fixed
    python benchmarks/time_to_quality.py --corpus arxiv --K 1000 --seconds 300 --methods topmix tomotopy:fixed

One method at a time, each in its own process with 2 threads. Time is training with initialisation; imports, loading the
corpus and evaluating are not counted. All are scored by topmix.metrics.completion_score on the same documents: test
documents, or with --role validation some that were taken out of the training ones, to choose settings on (--lda tries
other settings of ours); --split draws other documents. Peers: tomotopy (three settings), scikit-learn's online LDA and
gensim's LdaMulticore. Their curves are kept in benchmarks/results/peers.jsonl and taken from there when machine,
versions and settings are the same (--fresh runs them again); ours are always run. With matplotlib, score against time
is drawn beside it.

Prints, for each corpus and K, the best peer's score after some seconds and the time topmix took to reach it (the median
over seeds), then how everyone ended: score, NPMI and diversity of the top 10 words, empty and duplicate topics, share
of the largest topic, and the most memory that was resident, in MB: of the whole process and those it started, corpus
and interpreter included, evaluations left out. With several seeds also mean, least and greatest end score of each.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import mean

import datasets
import drawing
from curves import Curve
from methods import METHODS, SETTINGS, is_installed
from runs import HERE, Runs, label

LDAS = [method for method in METHODS if not method.endswith("_hdp")]  # benchmarks/hdp.py has the others


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", nargs="+", default=["nips", "wiki"], metavar="NAME")
    p.add_argument("--K", nargs="+", type=int, default=[200])
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--methods", nargs="+", default=LDAS, metavar="METHOD", type=method_and_setting,
                   help=f"of {', '.join(METHODS)}; tomotopy:fixed is one setting of a method")  # fmt: skip
    p.add_argument("--seeds", type=int, default=1, help="runs of each method, with seeds 0, 1, ...")
    p.add_argument("--split", type=int, default=0, help="which documents are held out")
    p.add_argument("--role", choices=datasets.ROLES, default="test", help="which of them are scored")
    p.add_argument("--lda", type=json.loads, default={}, metavar="JSON", help="parameters of topmix.LDA to try")
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
    runs = Runs(a.out, a.threads, fresh=True if a.fresh else "ours", split=a.split, role=a.role)
    for corpus in a.corpus:
        for K in a.K:
            curves = []
            for method, settings in map(method_and_setting, a.methods):
                if not is_installed(method):
                    print(f"{method} is not installed: pip install 'topmix[bench]'", file=sys.stderr)
                    continue
                for setting in settings:
                    ours = a.lda if method == "topmix" and a.lda else None
                    for seed in range(a.seeds):
                        curves.append(runs.curve(method, setting, corpus, K, seed, a.seconds, ours))
            print(table(corpus, K, a.seconds, curves), flush=True)
            draw(corpus, K, curves, a.out)
    return 0


def method_and_setting(text: str | tuple[str, list[str]]) -> tuple[str, list[str]]:
    """ "tomotopy" has all its settings, "tomotopy:fixed" one."""
    if not isinstance(text, str):
        return text
    method, _, setting = text.partition(":")
    if method not in SETTINGS or (setting and setting not in SETTINGS[method]):
        known = [f"{m}:{s}" for m in SETTINGS for s in SETTINGS[m]]
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join([*SETTINGS, *known])}")
    return method, [setting] if setting else list(SETTINGS[method])


def table(corpus: str, K: int, budget: float, curves: list[Curve]) -> str:
    """Time to the best peer's score, and how everyone ended, as text."""
    ours = [c for c in curves if c.method == "topmix"]
    peers = [c for c in curves if c.method != "topmix"]
    scored = f", split {curves[0].split}, {curves[0].role} documents" if curves else ""
    lines = [f"\n{corpus}, K = {K}: {budget:g} s of training{scored}"]
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
            lines.append(f"  {at:>6.1f} s  {label(best):<24}{score:>9.4f}  {there:>20}  {faster:>12}")
    head = ("score", "NPMI", "diversity", "empty", "duplicate", "largest", "MB")
    lines.append(f"  {'at the end':<28}{'seconds':>9}" + "".join(f"{h:>10}" for h in head))
    for c in sorted(curves, key=lambda c: -c.final["score"]):
        f = c.final
        lines.append(
            f"  {label(c) + (f' #{c.seed}' if c.seed else ''):<28}{c.points[-1][0]:>9.1f}{f['score']:>10.4f}"
            f"{f['npmi']:>10.3f}{f['diversity']:>10.3f}{f['empty']:>10.0f}{f['duplicate']:>10.0f}"
            f"{f['largest_share']:>10.3f}{f.get('resident_mb', float('nan')):>10.0f}"
        )
    return "\n".join([*lines, *spread(curves)])


def spread(curves: list[Curve]) -> list[str]:
    """End scores over seeds, where there were several."""
    ends: dict[str, list[float]] = {}
    for c in curves:
        ends.setdefault(label(c), []).append(c.final["score"])
    if max(map(len, ends.values()), default=0) < 2:
        return []
    lines = [f"  {'over seeds':<28}{'runs':>9}{'mean':>10}{'least':>10}{'greatest':>10}{'spread':>10}"]
    for name, s in sorted(ends.items(), key=lambda item: -mean(item[1])):
        lines.append(f"  {name:<28}{len(s):>9}{mean(s):>10.4f}{min(s):>10.4f}{max(s):>10.4f}{max(s) - min(s):>10.4f}")
    return lines


def draw(corpus: str, K: int, curves: list[Curve], folder: Path) -> None:
    """Score against seconds, if matplotlib is there."""
    plt = drawing.pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    colours = dict(zip(dict.fromkeys(map(label, curves)), drawing.PALETTE))
    named = []
    for c in curves:
        style = {"color": colours[label(c)], "lw": 2.2 if c.method == "topmix" else 1.2}
        named.append((label(c) if c.seed == 0 else f"_{c.seed}", c.points, style))
    drawing.lines(axes, named)
    axes.set(xscale="log", xlabel="seconds of training", ylabel="completion score (nats a token)")
    axes.set_title(f"{corpus}, K = {K}")
    drawing.zoom(axes, [s for c in curves for _, s in c.points])
    axes.legend()
    drawing.save(figure, folder / f"time_to_quality_{corpus}_{K}.png")
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
