"""Fitted topic models as tables and text files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from topmix.data.atomic import atomic_write, check_can_write
from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.export.libraries import to_pyldavis
from topmix.export.tables import Columns, write_csv_table, write_parquet_table
from topmix.models.topics import TopicModel
from topmix.views.model import Model, fitted_of, proportions, view_of

TOP_WORDS = 100


def write_csv(
    model: Model,
    path: Path,
    corpus: Corpus | None = None,
    *,
    n_words: int | None = TOP_WORDS,
    delimiter: str = ",",
) -> None:
    """A table with one row per topic and word, best words first: topic, share, rank, word, probability.

    n_words is the number of words per topic; None writes all words. The argument `corpus` is not used.
    """
    with atomic_write(path) as file:
        write_csv_table(file, _topics(model, n_words), delimiter)


def write_tsv(model: Model, path: Path, corpus: Corpus | None = None, *, n_words: int | None = TOP_WORDS) -> None:
    """The table of `write_csv`, separated by tabs."""
    write_csv(model, path, n_words=n_words, delimiter="\t")


def write_parquet(model: Model, path: Path, corpus: Corpus | None = None, *, n_words: int | None = TOP_WORDS) -> None:
    """The table of `write_csv` as a Parquet file."""
    with atomic_write(path) as file:
        write_parquet_table(file, _topics(model, n_words))


def write_pyldavis(model: Model, path: Path, corpus: Corpus | None = None) -> None:
    """The arguments of pyLDAvis.prepare, as JSON."""
    check_can_write(path)  # before the work
    data = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in to_pyldavis(model, corpus).items()}
    with atomic_write(path) as file:
        file.write(json.dumps(data).encode())


def write_mallet(model: Model, path: Path, corpus: Corpus | None = None) -> None:
    """A folder with the files that `mallet train-topics` writes, tab-separated.

    topic-keys.txt           topic, alpha of the topic, its top words
    topic-word-weights.txt   topic, word, weight (the pseudo-count: tokens plus prior)
    doc-topics.txt           document, name, the proportion of each topic; only if a corpus is given
    """
    fitted, view, K = fitted_of(model), view_of(model), len(model.components_)
    names = [] if corpus is None else corpus.names or [str(d) for d in range(corpus.n_docs)]
    for what, strings in (("word", view.words), ("name", names)):
        for n, string in enumerate(strings):
            if any(separator in string for separator in "\t\n\r"):
                raise CorpusError(f"{what} {n} is {string!r}: tabs and line breaks separate what MALLET's files hold")
    path.mkdir(parents=True, exist_ok=True)
    alpha = fitted.alpha if isinstance(fitted.model, TopicModel) else np.full(K, 1.0 / K)
    top = view.top(20)
    keys = (f"{k}\t{alpha[k]:.5f}\t{' '.join(view.words_of(top[k]))} " for k in range(K))
    _write_lines(path / "topic-keys.txt", keys)
    weights = (zip(view.words, model.components_[k].tolist()) for k in range(K))
    lines = (f"{k}\t{word}\t{x:.6g}" for k, of_topic in enumerate(weights) for word, x in of_topic)
    _write_lines(path / "topic-word-weights.txt", lines)
    if corpus is not None:
        cells = (map("%.6g".__mod__, row.tolist()) for row in proportions(model, corpus))
        of_docs = ("\t".join([str(d), names[d], *row]) for d, row in enumerate(cells))
        _write_lines(path / "doc-topics.txt", of_docs)


def _topics(model: Model, n_words: int | None) -> Iterator[Columns]:
    """The rows of each topic."""
    view = view_of(model)
    for k, top in enumerate(view.top(len(view.words) if n_words is None else n_words)):
        n = len(top)
        yield {
            "topic": np.full(n, k, np.int32),
            "share": np.full(n, view.share[k]),
            "rank": np.arange(1, n + 1, dtype=np.int32),
            "word": view.words_of(top),
            "probability": view.topic_word[k, top],
        }


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path) as file:
        for line in lines:
            file.write(line.encode() + b"\n")
