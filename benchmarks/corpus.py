"""How fast is text made into counts, against scikit-learn's CountVectorizer with the same settings?

    python -m benchmarks.corpus --repeat 5

The text is the 20,000 arXiv abstracts of arxiv/raw_20k.jsonl.gz (harness/datasets.py says where it is looked for). Both
sides get the same list of strings in memory, run on one thread and must make the same matrix; otherwise the benchmark
fails. Time is the best of --repeat; the two sides take turns, so that a busy machine slows both.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.harness import arguments, datasets
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import best_in_turn
from topmix.data import from_texts

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
    p.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    a = p.parse_args(argv)
    texts, out = abstracts()[: a.docs], Results(a.out, "corpus")
    print(f"{len(texts):,} texts, {sum(map(len, texts)):,} characters; best of {a.repeat}, one thread")
    for name in a.settings:
        found = compare(texts, SETTINGS[name], a.repeat)
        line = "{:<8} topmix {topmix_s:.3f} s   scikit-learn {sklearn_s:.3f} s  {ratio:5.1f}x   V={V:,} nnz={nnz:,}"
        print(line.format(name, **found), flush=True)
        out.add(found, SETTINGS[name] | {"name": name, "docs": len(texts), "best_of": a.repeat})
    return 0


def compare(texts: list[str], settings: dict[str, Any], repeat: int) -> dict[str, Any]:
    made: dict[str, Any] = {}

    def ours() -> None:
        made["corpus"] = from_texts(texts, **settings)

    def theirs() -> None:
        made["vectorizer"] = CountVectorizer(**settings)
        made["X"] = made["vectorizer"].fit_transform(texts)

    seconds = best_in_turn(repeat, {"topmix": ours, "sklearn": theirs})
    corpus, X = made["corpus"], made["X"]
    X.sort_indices()
    assert list(corpus.vocabulary) == made["vectorizer"].get_feature_names_out().tolist(), "the vocabularies differ"
    for a, b in ((corpus.indptr, X.indptr), (corpus.index, X.indices), (corpus.value, X.data)):
        assert np.array_equal(a, b), "the matrices differ"
    ratio = seconds["sklearn"] / seconds["topmix"]
    return {f"{name}_s": s for name, s in seconds.items()} | {"ratio": ratio, "V": X.shape[1], "nnz": X.nnz}


def abstracts() -> list[str]:
    with gzip.open(datasets.find("arxiv", "raw_20k.jsonl.gz"), "rt", encoding="utf-8") as f:
        return [json.loads(line)["text"] for line in f]


if __name__ == "__main__":
    arguments.command(main)
