"""How much memory does it take to fit a large corpus?

    python -m benchmarks.memory --corpus arxiv
    python -m benchmarks.memory --quick

Each fit runs in its own process, from a saved corpus that is mapped into memory and from a CSR matrix that is loaded.
Printed are the peak of anonymous memory during the fit (RssAnon, sampled: what was allocated), the peak of all that was
resident (VmHWM, by the kernel; pages of the mapped file are in it, and the system may take those back), resident memory
before the fit, and seconds. Linux only. With --quick all fits run in one process, so its figures mean nothing.
"""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness import arguments, datasets
from benchmarks.harness.memory import PeakMemory, forget_peak, high_water, of_process
from benchmarks.harness.methods import ours
from benchmarks.harness.own_process import measure_apart
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Stopwatch
from topmix.data import Corpus


class Case(NamedTuple):
    name: str
    K: int
    passes: int
    settings: dict[str, Any]


CASES = (
    Case("memoized, one pass", 400, 1, {}),
    Case("stochastic, one pass", 400, 1, {"learner": "stochastic"}),
    # The third pass is the first that has everything: memos, and the last visit of each document.
    Case("default, three passes", 1000, 3, {}),
)


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics")
    arguments.add_corpus(p, "arxiv", role=None)
    p.add_argument("--inputs", nargs="+", choices=["mapped", "matrix"], default=["mapped", "matrix"])
    a = p.parse_args(argv)
    corpus = datasets.GENERATED if a.quick else a.corpus
    out = Results(a.out, "memory")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.topmix"
        data = datasets.load(corpus)
        X = data.train
        Corpus.from_scipy(X).save(path)
        print(f"{corpus}: {X.shape[0]:,} documents, {X.sum():,.0f} tokens, {X.shape[1]:,} words; ", end="")
        print(f"{path.stat().st_size / 2**20:,.0f} MB as a file; {a.threads} threads")
        print(f"{'':<26}{'K':>6}{'from':>9}{'anonymous':>12}{'resident':>11}{'before':>9}{'seconds':>9}")
        for case in CASES:
            for source in a.inputs:
                one = {
                    "corpus": corpus, "path": str(path), "source": source, "K": 20 if a.quick else case.K,
                    "passes": case.passes, "settings": case.settings, "threads": a.threads,
                }  # fmt: skip
                m = measure(**one) if a.quick else measure_apart("memory", one)
                print(
                    f"{case.name:<26}{one['K']:>6}{source:>9}{m['anonymous']:>9,.0f} MB{m['resident']:>8,.0f} MB"
                    f"{m['before']:>6,.0f} MB{m['seconds']:>9.1f}",
                    flush=True,
                )
                out.add(m, {"case": case.name} | {k: v for k, v in one.items() if k != "path"}, data)
    return 0


def measure(
    corpus: str, path: str, source: str, K: int, passes: int, settings: dict[str, Any], threads: int
) -> dict[str, float]:
    """One fit in this process, in MB and seconds."""
    X = Corpus.open(path) if source == "mapped" else datasets.load(corpus).train
    gc.collect()
    before, _ = of_process("self")
    forget_peak()
    with PeakMemory() as peak:
        watch = Stopwatch()
        ours.lda(K, max_iter=passes, tol=-float("inf"), n_jobs=threads, random_state=0, **settings).fit(X)
        seconds = watch.seconds
    return {"anonymous": peak.anonymous, "resident": high_water(), "before": before, "seconds": seconds}


if __name__ == "__main__":
    arguments.command(main)
