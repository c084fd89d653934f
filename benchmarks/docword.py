"""How fast is a UCI docword file read, against a plain Python line loop?

    python -m benchmarks.docword --copies 4

The file is made from a corpus (--corpus), nips unless told otherwise; --copies repeats the documents. Times are the
best of --repeat. Both sides end with the same three arrays, and that is checked.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import arguments, datasets
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import best_of
from topmix.data import Corpus, read_corpus, write_corpus


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus")
    arguments.add_corpus(p, "nips", role=None)
    p.add_argument("--copies", type=int, default=4)
    p.add_argument("--repeat", type=int, default=5)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.repeat = datasets.GENERATED, 1
    data, out = datasets.load(a.corpus), Results(a.out, "docword")
    corpus = Corpus.from_scipy(sp.vstack([data.train] * a.copies, format="csr"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "docword.txt"
        write_corpus(corpus, path)
        packed = path.with_name(path.name + ".gz")
        with open(path, "rb") as source, gzip.open(packed, "wb", 6) as target:
            shutil.copyfileobj(source, target)
        saved = Path(folder) / "out.topmix"
        check(path, corpus)
        mb = path.stat().st_size / 1e6
        print(f"{a.corpus}: {corpus.nnz:,} lines, {mb:.1f} MB")
        slow = best_of(a.repeat, lambda: line_loop(path))
        print(f"Python loop       {slow:8.3f} s {mb / slow:8.0f} MB/s")
        for what, read in (
            ("read_corpus", lambda: read_corpus(path)),
            ("  from .gz", lambda: read_corpus(packed)),
            ("  out=file", lambda: read_corpus(path, out=saved)),
        ):
            t = best_of(a.repeat, read)
            print(f"{what:17s} {t:8.3f} s {mb / t:8.0f} MB/s {slow / t:6.1f} times as fast", flush=True)
            settings = {"what": what.strip(), "copies": a.copies, "best_of": a.repeat}
            out.add({"mb": mb, "loop_s": slow, "topmix_s": t}, settings, data)
    return 0


def line_loop(path: Path) -> tuple[list[int], list[int], list[int]]:
    """The plain way: split, int, append."""
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


def check(path: Path, corpus: Corpus) -> None:
    docs, words, counts = line_loop(path)
    found = read_corpus(path)
    assert found.equals(corpus)
    np.testing.assert_array_equal(found.index + 1, words)
    np.testing.assert_array_equal(found.value, counts)
    np.testing.assert_array_equal(np.repeat(np.arange(1, len(found) + 1), np.diff(found.indptr)), docs)


if __name__ == "__main__":
    arguments.command(main)
