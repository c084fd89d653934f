"""Fitted topic models as tables and text files."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from topmix.data.atomic import atomic_write, check_can_write
from topmix.data.csv_lines import csv_writer
from topmix.data.errors import CorpusError
from topmix.views.topics import proportions, view_of

TOP_WORDS = 100


def write_csv(
    model: Any, path: Path, corpus: Any = None, *, n_words: int | None = TOP_WORDS, delimiter: str = ","
) -> None:
    """A table with one row per topic and word, best words first: topic, share, rank, word, probability.

    n_words is the number of words per topic; None writes all words. The argument `corpus` is not used.
    """
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        out = csv_writer(text, delimiter)
        out.writerow(["topic", "share", "rank", "word", "probability"])
        for k, share, words, probabilities in _topics(model, n_words):
            rows = zip(words, probabilities)
            out.writerows((k, f"{share:.6g}", n, word, f"{p:.6g}") for n, (word, p) in enumerate(rows, 1))
        text.flush()
        text.detach()


def write_tsv(model: Any, path: Path, corpus: Any = None, *, n_words: int | None = TOP_WORDS) -> None:
    """The table of `write_csv`, separated by tabs."""
    write_csv(model, path, n_words=n_words, delimiter="\t")


def write_parquet(model: Any, path: Path, corpus: Any = None, *, n_words: int | None = TOP_WORDS) -> None:
    """The table of `write_csv` as a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'topmix[parquet]'") from error
    schema = pa.schema([("topic", pa.int32()), ("share", pa.float64()), ("rank", pa.int32()),
                        ("word", pa.string()), ("probability", pa.float64())])  # fmt: skip
    with atomic_write(path) as file, pq.ParquetWriter(file, schema) as writer:
        for k, share, words, probabilities in _topics(model, n_words):
            n = len(words)
            columns = [np.full(n, k), np.full(n, share), np.arange(1, n + 1), words, probabilities]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def write_pyldavis(model: Any, path: Path, corpus: Any = None) -> None:
    """The arguments of pyLDAvis.prepare, as JSON."""
    from topmix.export.libraries import to_pyldavis

    if corpus is None:
        raise ValueError("pyLDAvis needs documents: pass a corpus")
    check_can_write(path)  # before the work
    data = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in to_pyldavis(model, corpus).items()}
    with atomic_write(path) as file:
        file.write(json.dumps(data).encode())


def write_mallet(model: Any, path: Path, corpus: Any = None) -> None:
    """A folder with the files that `mallet train-topics` writes, tab-separated.

    topic-keys.txt           topic, alpha of the topic, its top words
    topic-word-weights.txt   topic, word, weight (the pseudo-count: tokens plus prior)
    doc-topics.txt           document, name, the proportion of each topic; only if a corpus is given
    """
    view = view_of(model)
    names = None if corpus is None else corpus.names
    for what, strings in (("word", view.words), ("name", names or ())):
        for n, string in enumerate(strings):
            if any(separator in string for separator in "\t\n\r"):
                raise CorpusError(f"{what} {n} is {string!r}: tabs and line breaks separate what MALLET's files hold")
    path.mkdir(parents=True, exist_ok=True)
    alpha = np.broadcast_to(np.asarray(getattr(model, "doc_topic_prior_", 1.0 / view.n_topics)), (view.n_topics,))
    top = view.top(20)
    _write_lines(
        path / "topic-keys.txt",
        (f"{k}\t{alpha[k]:.5f}\t{' '.join(view.words_of(top[k]))} " for k in range(view.n_topics)),
    )
    _write_lines(
        path / "topic-word-weights.txt",
        (
            f"{k}\t{word}\t{x:.6g}"
            for k in range(view.n_topics)
            for word, x in zip(view.words, model.components_[k].tolist())
        ),
    )
    if corpus is not None:
        names = [str(d) for d in range(corpus.n_docs)] if names is None else names
        rows = proportions(model, corpus)
        _write_lines(
            path / "doc-topics.txt",
            ("\t".join([str(d), names[d], *map("%.6g".__mod__, row.tolist())]) for d, row in enumerate(rows)),
        )


def _topics(model: Any, n_words: int | None) -> Iterator[tuple[int, float, list[str], np.ndarray]]:
    """(topic, share, top words, their probabilities) of each topic."""
    view = view_of(model)
    top = view.top(len(view.words) if n_words is None else n_words)
    for k in range(view.n_topics):
        yield k, float(view.share[k]), view.words_of(top[k]), view.topic_word[k, top[k]]


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    with atomic_write(path) as file:
        for line in lines:
            file.write(line.encode() + b"\n")
