"""Seconds to build a corpus from raw text, against scikit-learn's CountVectorizer with the same settings.

    python benchmarks/corpus.py --repeat 5

The text is the 20,000 arXiv abstracts of arxiv/raw_20k.jsonl.gz, looked for in $TOPMIX_DATA and then in ../shared/data
beside the repository. Both sides get the same list of strings in memory, run on one thread and must make the same
matrix; otherwise the benchmark fails. Time is the best of --repeat, the two sides taking turns so that a busy machine
slows both. --out appends each line as JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from topmix import __version__, _core
from topmix.data import from_texts

SETTINGS: dict[str, dict] = {
    "default": {},
    "pruned": {"min_df": 5, "max_df": 0.5, "stop_words": "english"},
    "letters": {"token_pattern": "[a-z]{3,}", "min_df": 5, "max_df": 0.5, "stop_words": "english"},
    "bigrams": {"ngram_range": (1, 2), "min_df": 5},
}


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--docs", type=int, default=20_000)
    p.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    p.add_argument("--out")
    a = p.parse_args()

    texts = abstracts()[: a.docs]
    print(f"{len(texts):,} texts, {sum(map(len, texts)):,} characters; {_core.isa}; best of {a.repeat}, one thread")
    for name in a.settings:
        row = compare(texts, SETTINGS[name], a.repeat)
        line = "{:<8} topmix {topmix_s:.3f} s   scikit-learn {sklearn_s:.3f} s  {ratio:5.1f}x   V={V:,} nnz={nnz:,}"
        print(line.format(name, **row))
        if a.out:
            where = {"machine": platform.processor() or platform.machine(), "isa": _core.isa, "version": __version__}
            with open(a.out, "a") as f:
                f.write(json.dumps({"benchmark": "corpus", "settings": name, "docs": len(texts)} | row | where) + "\n")


def compare(texts: list[str], settings: dict, repeat: int) -> dict:
    ours, theirs = [], []
    for _ in range(repeat):
        t, corpus = timed(lambda: from_texts(texts, **settings))
        ours.append(t)
        vectorizer = CountVectorizer(**settings)
        t, X = timed(lambda v=vectorizer: v.fit_transform(texts))
        theirs.append(t)
    X.sort_indices()
    assert list(corpus.vocabulary) == vectorizer.get_feature_names_out().tolist(), "the vocabularies differ"
    for a, b in ((corpus.indptr, X.indptr), (corpus.index, X.indices), (corpus.value, X.data)):
        assert np.array_equal(a, b), "the matrices differ"
    return {
        "topmix_s": min(ours), "sklearn_s": min(theirs), "ratio": min(theirs) / min(ours),
        "V": X.shape[1], "nnz": X.nnz,
    }  # fmt: skip


def timed(fn):
    t0 = time.perf_counter()
    result = fn()
    return time.perf_counter() - t0, result


def abstracts() -> list[str]:
    folders = [Path(os.environ["TOPMIX_DATA"])] if "TOPMIX_DATA" in os.environ else []
    folders.append(Path(__file__).resolve().parents[1].parent / "shared" / "data")
    for folder in folders:
        path = folder / "arxiv" / "raw_20k.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as f:
                return [json.loads(line)["text"] for line in f]
    print(f"arxiv/raw_20k.jsonl.gz is in none of {', '.join(map(str, folders))}; set TOPMIX_DATA", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
