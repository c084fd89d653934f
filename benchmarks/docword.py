"""Reading a UCI docword file: topmix against a plain Python line loop, in one run.

    python benchmarks/docword.py --copies 4

The file is made from the nips corpus if TOPMIX_DATA or ../shared/data has it, else from generated documents; --copies
repeats the documents. Times are the best of --repeat. Both sides end with the same three arrays, and that is checked.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from topmix.data import Corpus, read_corpus, write_corpus


def line_loop(path: Path) -> tuple[list[int], list[int], list[int]]:
    """What one writes without thinking much: split, int, append."""
    docs, words, counts = [], [], []
    with open(path) as file:
        for _ in range(3):
            file.readline()
        for line in file:
            d, w, c = line.split()
            docs.append(int(d))
            words.append(int(w))
            counts.append(int(c))
    return docs, words, counts


def documents(copies: int) -> tuple[str, Corpus]:
    folder = Path(os.environ.get("TOPMIX_DATA") or Path(__file__).parents[2] / "shared" / "data") / "nips"
    if (folder / "X.npz").exists():
        name, X = "nips", sp.csr_array(sp.load_npz(folder / "X.npz"))
    else:
        rng = np.random.default_rng(0)
        name, X = "generated", sp.csr_array(rng.poisson(0.06, (1500, 7605)))
    return name, Corpus.from_scipy(sp.vstack([X] * copies, format="csr"))


def best(run: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--copies", type=int, default=4)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--out", help="append the figures to this file, as JSON")
    a = p.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        name, corpus = documents(a.copies)
        path = Path(folder) / f"docword.{name}.txt"
        write_corpus(corpus, path)
        packed = path.with_name(path.name + ".gz")
        with open(path, "rb") as source, gzip.open(packed, "wb", 6) as target:
            shutil.copyfileobj(source, target)
        saved = Path(folder) / "out.topmix"

        docs, words, counts = line_loop(path)
        found = read_corpus(path)
        assert found.equals(corpus)
        np.testing.assert_array_equal(found.index + 1, words)
        np.testing.assert_array_equal(found.value, counts)
        np.testing.assert_array_equal(np.repeat(np.arange(1, len(found) + 1), np.diff(found.indptr)), docs)
        del docs, words, counts

        mb = path.stat().st_size / 1e6
        print(f"{name}: {corpus.nnz:,} lines, {mb:.1f} MB")
        slow = best(lambda: line_loop(path), a.repeat)
        row: dict[str, object] = {"corpus": name, "mb": round(mb, 1), "loop_s": round(slow, 4)}
        print(f"Python loop       {slow:8.3f} s {mb / slow:8.0f} MB/s")
        for what, run in (
            ("read_corpus", lambda: read_corpus(path)),
            ("  from .gz", lambda: read_corpus(packed)),
            ("  out=file", lambda: read_corpus(path, out=saved)),
        ):
            t = best(run, a.repeat)
            print(f"{what:17s} {t:8.3f} s {mb / t:8.0f} MB/s {slow / t:6.1f} times as fast")
            row[what.strip()] = round(t, 4)
        if a.out:
            with open(a.out, "a") as f:
                f.write(json.dumps(row | {"machine": platform.processor() or platform.machine()}) + "\n")


if __name__ == "__main__":
    main()
