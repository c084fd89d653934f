"""Can a corpus be built and verified that is larger than one would hold in memory?

    python -m benchmarks.corpus_scale --gb 5 --folder /somewhere/with/room

Documents are made as they are appended (word ids of a Zipf law, unsorted and with duplicates, so that the builder has
work to do) and columns are renamed at the end, the most expensive way to build. Making the documents is part of the
time. Prints MB/s of the finished file, and the peak of anonymous memory (RssAnon; Linux). The file is removed at the
end unless --keep.
"""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Stopwatch
from topmix.data import Corpus, CorpusBuilder


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__)
    p.add_argument("--gb", type=float, default=5.0)
    p.add_argument("--words", type=int, default=100_000)
    p.add_argument("--length", type=int, default=200, help="tokens per document")
    p.add_argument("--block", type=int, default=4096, help="documents appended at a time")
    p.add_argument("--folder", default=tempfile.gettempdir(), help="where the file goes")
    p.add_argument("--keep", action="store_true")
    a = p.parse_args(argv)
    found: dict[str, float] = {}
    with nullcontext(a.folder) if a.keep else tempfile.TemporaryDirectory(dir=a.folder) as folder:
        path = Path(folder) / "scale.topmix"
        for what, work in (
            ("build", lambda: build(path, a.gb * 1e9, a.words, a.length, a.block)),
            ("open", lambda: Corpus.open(path, verify=False)),
            ("verify", lambda: Corpus.open(path, verify=False).verify()),
            ("read", lambda: [c.n_tokens for c in slices(Corpus.open(path, verify=False))]),
        ):
            with PeakMemory() as peak:
                watch = Stopwatch()
                corpus = work()
                seconds = watch.seconds
            mb = path.stat().st_size / 1e6
            rate = "" if what == "open" else f"{mb / seconds:8.0f} MB/s"
            print(f"{what:8s} {seconds:9.3f} s {rate:13s}   peak RssAnon {peak.anonymous:6.0f} MB", flush=True)
            if what == "build":
                print(f"         {corpus!r}, {mb / 1e3:.2f} GB")
            found |= {f"{what}_s": seconds, f"{what}_peak_mb": peak.anonymous, "file_mb": mb}
    settings = {"gb": a.gb, "words": a.words, "length": a.length, "block": a.block}
    Results(a.out, "corpus_scale").add(found, settings)
    return 0


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


def slices(corpus: Corpus, n: int = 1 << 16) -> list[Corpus]:
    return [corpus[d : d + n] for d in range(0, len(corpus), n)]


if __name__ == "__main__":
    arguments.command(main)
