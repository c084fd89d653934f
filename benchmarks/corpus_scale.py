"""Build a corpus file larger than you would hold in memory, then read and verify all of it.

    python benchmarks/corpus_scale.py --gb 5 --folder /somewhere/with/room

Documents are made as they are appended (word ids of a Zipf law, unsorted and with duplicates, so the builder has to
work) and columns are renamed at the end, the dearest way to build; making the documents is part of the time. Prints
MB/s of the finished file, and the peak of anonymous memory (RssAnon; Linux), sampled every 20 ms. The file is removed
at the end unless --keep.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path

import numpy as np

from resident import PeakMemory
from topmix.data import Corpus, CorpusBuilder


def build(path: Path, n_bytes: float, n_words: int, length: int, block: int) -> Corpus:
    rng = np.random.default_rng(0)
    per_block = 0.0  # bytes that one block takes in the file, measured on the first
    done = 0.0
    with CorpusBuilder(path) as builder:
        while done < n_bytes:
            indptr = np.concatenate([[0], np.cumsum(rng.poisson(length, block))])
            # P(v) ~ 1 / (v + 1): the logarithm of a Zipf id is uniform.
            index = (np.exp(rng.random(indptr[-1], np.float32) * np.float32(np.log(n_words))) - 1).astype(np.int32)
            builder.append(indptr, index, np.ones(len(index), np.float32))
            if not per_block:
                doc = np.repeat(np.arange(block), np.diff(indptr))
                per_block = 8.0 * len(np.unique(doc * n_words + index)) + 8.0 * block
            done += per_block
        return builder.finish([f"word{v}" for v in range(n_words)], remap=rng.permutation(n_words))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gb", type=float, default=5.0)
    p.add_argument("--words", type=int, default=100_000)
    p.add_argument("--length", type=int, default=200, help="tokens a document")
    p.add_argument("--block", type=int, default=4096, help="documents appended at a time")
    p.add_argument("--folder", help="where the file goes; the system's temporary folder if not given")
    p.add_argument("--keep", action="store_true")
    p.add_argument("--out", help="append the figures to this file, as JSON")
    a = p.parse_args()

    with _Folder(a.folder) if a.keep else tempfile.TemporaryDirectory(dir=a.folder) as folder:
        path = Path(folder) / "scale.topmix"
        row: dict[str, object] = {"gb": a.gb, "machine": platform.processor() or platform.machine()}
        for what, run in (
            ("build", lambda: build(path, a.gb * 1e9, a.words, a.length, a.block)),
            ("open", lambda: Corpus.open(path)),
            ("verify", lambda: Corpus.open(path).verify()),
            ("read", lambda: [c.n_tokens for c in _slices(Corpus.open(path))]),
        ):
            with PeakMemory() as peak:
                start = time.perf_counter()
                corpus = run()
                seconds = time.perf_counter() - start
            mb = path.stat().st_size / 1e6
            rate = "" if what == "open" else f"{mb / seconds:8.0f} MB/s"
            print(f"{what:8s} {seconds:9.3f} s {rate:13s}   peak RssAnon {peak.anonymous:6.0f} MB", flush=True)
            if what == "build":
                print(f"         {corpus!r}, {mb / 1e3:.2f} GB")
            row |= {f"{what}_s": round(seconds, 3), f"{what}_peak_mb": round(peak.anonymous)}
        if a.out:
            with open(a.out, "a") as f:
                f.write(json.dumps(row | {"file_mb": round(mb)}) + "\n")


def _slices(corpus: Corpus, n: int = 1 << 16) -> list[Corpus]:
    return [corpus[d : d + n] for d in range(0, len(corpus), n)]


class _Folder:
    def __init__(self, path: str | None) -> None:
        self.path = path or tempfile.gettempdir()

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    main()
