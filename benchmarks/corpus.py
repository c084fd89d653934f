"""How fast is text made into counts, against scikit-learn's CountVectorizer with the same settings?

    python -m benchmarks.corpus --repeat 5 --threads 2

The text is the 20,000 arXiv abstracts of arxiv/raw_20k.jsonl.gz (harness/datasets.py says where it is looked for). Both
sides get the same list of strings in memory and must make the same matrix; otherwise the benchmark fails. scikit-learn
has one thread; we have one, then --threads. Time is the best of --repeat; all take turns, so that a busy machine slows
all. --clock processor counts processor seconds: a busy machine changes them less, and threads do not lower them.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.harness import arguments, datasets
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import best_in_turn
from topmix.base.threads import use_threads
from topmix.data import from_texts

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "pruned": {"min_df": 5, "max_df": 0.5, "stop_words": "english"},
    "letters": {"token_pattern": "[a-z]{3,}", "min_df": 5, "max_df": 0.5, "stop_words": "english"},
    "bigrams": {"ngram_range": (1, 2), "min_df": 5},
}


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--docs", type=int, default=20_000)
    p.add_argument("--clock", choices=CLOCKS, default="wall")
    p.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    a = p.parse_args(argv)
    texts, out = abstracts()[: a.docs], Results(a.out, "corpus")
    print(f"{len(texts):,} texts, {sum(map(len, texts)):,} characters; best of {a.repeat}, {a.clock} time")
    for name in a.settings:
        found = compare(texts, SETTINGS[name], a.repeat, a.threads, CLOCKS[a.clock])
        line = (
            "{:<8} topmix {topmix_s:.3f} s, {threads} threads {threaded_s:.3f} s ({speedup:.2f}x)   "
            "scikit-learn {sklearn_s:.3f} s ({ratio:.1f}x)   V={V:,} nnz={nnz:,}"
        )
        print(line.format(name, threads=a.threads, **found), flush=True)
        about = {"name": name, "docs": len(texts), "best_of": a.repeat, "threads": a.threads, "clock": a.clock}
        out.add(found, SETTINGS[name] | about)
    return 0


def compare(
    texts: list[str], settings: dict[str, Any], repeat: int, threads: int, clock: Callable[[], float]
) -> dict[str, Any]:
    made: dict[str, Any] = {}

    def ours(n: int) -> None:
        with use_threads(n):
            made[f"corpus{n}"] = from_texts(texts, **settings)

    def theirs() -> None:
        made["vectorizer"] = CountVectorizer(**settings)
        made["X"] = made["vectorizer"].fit_transform(texts)

    sides = {"topmix": partial(ours, 1), "threaded": partial(ours, threads), "sklearn": theirs}
    seconds = best_in_turn(repeat, sides, clock=clock)
    X = made["X"]
    X.sort_indices()
    for corpus in (made["corpus1"], made[f"corpus{threads}"]):
        assert list(corpus.vocabulary) == made["vectorizer"].get_feature_names_out().tolist(), "the vocabularies differ"
        for a, b in ((corpus.indptr, X.indptr), (corpus.index, X.indices), (corpus.value, X.data)):
            assert np.array_equal(a, b), "the matrices differ"
    found: dict[str, Any] = {f"{name}_s": s for name, s in seconds.items()}
    found |= {"ratio": seconds["sklearn"] / seconds["topmix"], "speedup": seconds["topmix"] / seconds["threaded"]}
    return found | {"V": X.shape[1], "nnz": X.nnz}


def abstracts() -> list[str]:
    with gzip.open(datasets.find("arxiv", "raw_20k.jsonl.gz"), "rt", encoding="utf-8") as f:
        return [json.loads(line)["text"] for line in f]


if __name__ == "__main__":
    arguments.command(main)
