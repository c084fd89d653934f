"""How much memory does it take to fit a large corpus?

    python benchmarks/memory.py --corpus arxiv
    python benchmarks/memory.py --quick

Each fit runs in a process of its own, from a saved corpus that is mapped into memory and from a CSR matrix that is
loaded. Printed are the peak of anonymous memory during the fit (RssAnon, sampled every 20 ms: what was allocated), the
peak of all that was resident (VmHWM, by the kernel; pages of the mapped file are in it, and the system may take those
back), what was resident before the fit, and seconds. Linux only.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import datasets
from resident import PeakMemory, of_process


class Case(NamedTuple):
    name: str
    K: int
    passes: int
    parameters: dict[str, Any]


CASES = (
    Case("memoized, one pass", 400, 1, {}),
    Case("stochastic, one pass", 400, 1, {"learner": "stochastic"}),
    # The third pass is the first that has everything: memos, and where the documents were left.
    Case("default, three passes", 1000, 3, {}),
)


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", default="arxiv")
    p.add_argument("--inputs", nargs="+", choices=["mapped", "matrix"], default=["mapped", "matrix"])
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--quick", action="store_true", help="a generated corpus and few topics, to see that it runs")
    p.add_argument("--one", help=argparse.SUPPRESS)
    a = p.parse_args(argv)
    if a.one:
        print(json.dumps(measure(**json.loads(a.one))))
        return 0
    corpus = datasets.GENERATED if a.quick else a.corpus
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.topmix"
        X = datasets.load(corpus).train
        save(X, path)
        print(f"{corpus}: {X.shape[0]:,} documents, {X.sum():,.0f} tokens, {X.shape[1]:,} words; ", end="")
        print(f"{path.stat().st_size / 2**20:,.0f} MB as a file; {a.threads} threads")
        print(f"{'':<26}{'K':>6}{'from':>9}{'anonymous':>12}{'resident':>11}{'before':>9}{'seconds':>9}")
        del X
        gc.collect()
        for case in CASES:
            for source in a.inputs:
                K = 20 if a.quick else case.K
                one = {
                    "corpus": corpus, "path": str(path), "source": source, "K": K, "passes": case.passes,
                    "parameters": case.parameters, "threads": a.threads,
                }  # fmt: skip
                command = [sys.executable, __file__, "--one", json.dumps(one)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                m = json.loads(done.stdout.splitlines()[-1])
                print(
                    f"{case.name:<26}{K:>6}{source:>9}{m['anonymous']:>9,.0f} MB{m['resident']:>8,.0f} MB"
                    f"{m['before']:>6,.0f} MB{m['seconds']:>9.1f}",
                    flush=True,
                )
    return 0


def save(X: Any, path: Path) -> None:
    from topmix.data import Corpus

    Corpus.from_scipy(X).save(path)


def measure(
    corpus: str, path: str, source: str, K: int, passes: int, parameters: dict[str, Any], threads: int
) -> dict[str, float]:
    """One fit in this process, in MB and seconds."""
    from topmix import LDA
    from topmix.data import Corpus

    X = Corpus.open(path) if source == "mapped" else datasets.load(corpus).train
    gc.collect()
    before, _ = of_process("self")
    forget_peak()
    with PeakMemory() as peak:
        begin = time.perf_counter()
        LDA(K, max_iter=passes, tol=-float("inf"), n_jobs=threads, random_state=0, **parameters).fit(X)
        seconds = time.perf_counter() - begin
    return {"anonymous": peak.anonymous, "resident": high_water(), "before": before, "seconds": seconds}


def forget_peak() -> None:
    """VmHWM counts anew from what is resident now: loading is not part of the fit."""
    Path("/proc/self/clear_refs").write_text("5")


def high_water() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    sys.exit(main())
