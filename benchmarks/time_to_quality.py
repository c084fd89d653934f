"""How long until the topics are as good as the best peer's?

    python -m benchmarks.time_to_quality --corpus nips wiki 20ng --K 200 800 --seconds 60
    python -m benchmarks.time_to_quality --corpus arxiv --K 1000 --seconds 300 --methods topmix tomotopy:fixed

Methods run one at a time, each in its own process. Time is training with initialisation; imports, loading the corpus
and evaluating are not counted. One evaluator scores all methods on the same documents, topmix.metrics.completion_score:
test documents, or with --role validation those on which settings may be chosen (--lda tries other settings of ours).
Peers: tomotopy (three settings), scikit-learn's online LDA and gensim's LdaMulticore. Their runs are remembered
(--fresh runs them again); ours are always run.

Prints, for each corpus and K, the best peer's score after some seconds and the time topmix took to reach it (the median
over seeds). Then the end of every run: score, NPMI and diversity of the top 10 words, empty and duplicate topics, share
of the largest topic, and peak resident memory in MB: of the process and those it started, with corpus and interpreter,
without evaluations. With several seeds also mean, least and greatest score of each method.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.harness import arguments, datasets, drawing
from benchmarks.harness.curve import NEVER
from benchmarks.harness.methods import METHODS, SETTINGS, is_installed, ours
from benchmarks.harness.results import Results
from benchmarks.harness.runs import Run, Runs

LDAS = [method for method in METHODS if not method.endswith("_hdp")]  # benchmarks/hdp.py has the others


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__)
    arguments.add_corpus(p, ["nips", "wiki"])
    p.add_argument("--K", nargs="+", type=int, default=[200])
    p.add_argument("--seconds", type=float, default=60, help="of training, for each run")
    p.add_argument("--methods", nargs="+", default=LDAS, metavar="METHOD", type=method_and_setting,
                   help=f"of {', '.join(METHODS)}; tomotopy:fixed is one setting of a method")  # fmt: skip
    p.add_argument("--seeds", type=int, default=1, help="runs of each method, with seeds 0, 1, ...")
    p.add_argument("--lda", type=lda_settings, default={}, metavar="JSON",
                   help="settings of topmix.LDA to try; decay is short for learner__decay")  # fmt: skip
    arguments.add_runs(p)
    arguments.add_draw(p)
    a = p.parse_args(argv)
    try:
        for name in a.corpus:
            datasets.check(name)
    except datasets.MissingData as error:
        print(error, file=sys.stderr)
        return 2
    out = Results(a.out, "time_to_quality")
    runs = Runs(a.runs, a.threads, True if a.fresh else "ours", a.split, a.role, results=out)
    for corpus in a.corpus:
        for K in a.K:
            found = []
            for method, settings in map(method_and_setting, a.methods):
                if not is_installed(method):
                    print(f"{method} is not installed: pip install --group bench", file=sys.stderr)
                    continue
                for setting in settings:
                    given = a.lda if method == "topmix" and a.lda else None
                    for seed in range(a.seeds):
                        found.append(runs.run(method, setting, corpus, K, seed, a.seconds, given))
            print(table(corpus, K, a.seconds, found), flush=True)
            draw(corpus, K, found, a.draw)
    return 0


def lda_settings(given: str) -> dict[str, Any]:
    try:
        return ours.full_names(json.loads(given))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def method_and_setting(given: str | tuple[str, list[str]]) -> tuple[str, list[str]]:
    """ "tomotopy" is all its settings, "tomotopy:fixed" one of them."""
    if isinstance(given, tuple):
        return given
    method, _, setting = given.partition(":")
    if method not in SETTINGS or (setting and setting not in SETTINGS[method]):
        known = [f"{m}:{s}" for m in SETTINGS for s in SETTINGS[m]]
        raise argparse.ArgumentTypeError(f"{given!r} is none of {', '.join([*SETTINGS, *known])}")
    return method, [setting] if setting else list(SETTINGS[method])


def table(corpus: str, K: int, budget: float, runs: list[Run]) -> str:
    """Time to the best peer's score, and the end of every run, as text."""
    own = [r.curve for r in runs if r.plan.method == "topmix"]
    peers = [r.curve for r in runs if r.plan.method != "topmix"]
    scored = f", split {runs[0].plan.split}, {runs[0].plan.role} documents" if runs else ""
    lines = [f"\n{corpus}, K = {K}: {budget:g} s of training{scored}"]
    if own and peers:
        lines.append(f"  {'after':>8}  {'best peer':<24}{'score':>9}  {'topmix there after':>20}  {'times faster':>12}")
        for B in (budget / 8, budget / 4, budget / 2, 1.1 * budget):  # a last pass may end a little late
            best = max(peers, key=lambda c: c.best(B))
            score = best.best(B)
            if score == float("-inf"):
                continue
            at = best.time_to(score)
            reached = sorted(c.time_to(score) for c in own)[len(own) // 2]
            there = f"{reached:.2f} s" if reached < NEVER else "not reached"
            faster = f"{at / reached:.1f}" if reached < NEVER else ""
            lines.append(f"  {at:>6.1f} s  {best.name:<24}{score:>9.4f}  {there:>20}  {faster:>12}")
    head = ("score", "NPMI", "diversity", "empty", "duplicate", "largest", "MB")
    lines.append(f"  {'at the end':<28}{'seconds':>9}" + "".join(f"{h:>10}" for h in head))
    for r in sorted(runs, key=lambda r: -r.final["score"]):
        f, name = r.final, r.curve.name + (f" #{r.plan.seed}" if r.plan.seed else "")
        lines.append(
            f"  {name:<28}{r.curve.seconds[-1]:>9.1f}{f['score']:>10.4f}{f['npmi']:>10.3f}{f['diversity']:>10.3f}"
            f"{f['empty']:>10.0f}{f['duplicate']:>10.0f}{f['largest_share']:>10.3f}"
            f"{f.get('resident_mb') or float('nan'):>10.0f}"
        )
        if "score_with_own_alpha" in f:
            lines.append(f"  {'  with the alpha it learned':<28}{'':>9}{f['score_with_own_alpha']:>10.4f}")
    return "\n".join([*lines, *spread(runs)])


def spread(runs: list[Run]) -> list[str]:
    """End scores over seeds, if there were several."""
    ends: dict[str, list[float]] = {}
    for r in runs:
        ends.setdefault(r.curve.name, []).append(r.final["score"])
    if max(map(len, ends.values()), default=0) < 2:
        return []
    lines = [f"  {'over seeds':<28}{'runs':>9}{'mean':>10}{'least':>10}{'greatest':>10}{'spread':>10}"]
    for name, s in sorted(ends.items(), key=lambda item: -mean(item[1])):
        lines.append(f"  {name:<28}{len(s):>9}{mean(s):>10.4f}{min(s):>10.4f}{max(s):>10.4f}{max(s) - min(s):>10.4f}")
    return lines


def draw(corpus: str, K: int, runs: list[Run], folder: Path | None) -> None:
    """Score against seconds."""
    page = drawing.page(folder, f"time_to_quality_{corpus}_{K}.png", (6, 4))
    if page is None:
        return
    axes = page.panels[0, 0]
    colours = dict(zip(dict.fromkeys(r.curve.name for r in runs), drawing.PALETTE))
    named = []
    for r in runs:
        style = {"color": colours[r.curve.name], "lw": 2.2 if r.plan.method == "topmix" else 1.2}
        named.append((r.curve.name if r.plan.seed == 0 else f"_{r.plan.seed}", r.curve.series(), style))
    drawing.lines(axes, named)
    axes.set(xscale="log", xlabel="seconds of training", ylabel="completion score (nats per token)")
    axes.set_title(f"{corpus}, K = {K}")
    drawing.zoom(axes, [s for r in runs for _, s in r.curve.series()])
    axes.legend()
    page.save()


if __name__ == "__main__":
    arguments.command(main)
