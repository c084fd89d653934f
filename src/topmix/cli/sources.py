"""Reads documents and tables: for a fit, or in the columns of a fitted model."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topmix.cli.flags import Flag, flags_of, option_of
from topmix.data import Corpus, Table, Vectorizer, read_corpus, read_texts
from topmix.data.documents import Document
from topmix.data.languages import CODES, resolve_stop_words
from topmix.data.parquet_texts import ParquetTexts
from topmix.data.readers import kind_of_text
from topmix.data.sources import text_format
from topmix.data.texts import OTHER_TEXTS
from topmix.engines import Engine

STANDARD_INPUT = Path("-")
LOOKED_FOR = (*OTHER_TEXTS, "")  # suffixes to look for in a folder without *.txt
BLOCK_TEXTS = 2048  # documents in memory at a time when a fitted model reads them

# Options for reading texts, for tokenizing them, and for reading counts.
READING = flags_of(read_texts, leave_out=("path", "format"))
CUTTING = flags_of(Vectorizer, leave_out=("vocabulary", "tokenizer"))
COUNTS = flags_of(read_corpus, leave_out=("path", "out"))
READ_GROUPS: dict[str, list[Flag]] = {"Reading": [*COUNTS.values(), *READING.values()]}
FIT_GROUPS: dict[str, list[Flag]] = {**READ_GROUPS, "Words (of text)": list(CUTTING.values())}
CLI_DEFAULTS = {
    "token_pattern": "auto",
    "stop_words": "english",
    "min_df": "5 for 1000 documents or more, 2 for 20 or more, else 1",
    "max_df": "0.5; 1.0 for fewer than 20 documents",
}


class Read(NamedTuple):
    """Documents in the columns of a model, and how many tokens were left out."""

    corpus: Corpus
    n_unknown: int  # tokens that are not in the vocabulary of the model


def split(settings: dict[str, Any], *groups: dict[str, Flag]) -> list[dict[str, Any]]:
    """The settings of each group of flags; they are removed from `settings`."""
    taken = [{name: settings.pop(name) for name in group if name in settings} for group in groups]
    for group in taken:
        if "," in (group.get("field") or ""):
            group["field"] = group["field"].split(",")
    return taken


def read_to_fit(path: Path, settings: dict[str, Any], out: Path | None = None, engine: Engine | None = None) -> Corpus:
    """The corpus at a path. Common and rare words of texts are left out unless the settings say otherwise. Workers of
    an engine that can count texts do so."""
    reading, cutting, counts = split(settings, READING, CUTTING, COUNTS)
    form = text_at(path, reading, counts.pop("format", None))
    kind = kind_of_text(path, form)
    if kind is None:
        stop_words = resolve_stop_words(_stop_words(cutting.pop("stop_words", None)))
        out = None if stop_words else out
        corpus = read_corpus(path, format=form, **counts, **reading, **cutting, out=out)  # options for texts: an error
        return corpus.drop_words(stop_words) if stop_words else corpus
    cutting = {"token_pattern": "auto", "stop_words": "english", "min_df": "auto", "max_df": "auto"} | cutting
    cutting["stop_words"] = _stop_words(cutting["stop_words"])
    if kind == "parquet" and engine is not None and engine.counts_texts and not counts:
        vectorizer = Vectorizer(**cutting)
        texts = ParquetTexts(os.path.abspath(path), reading.get("field"), reading.get("id_field"))
        if (counted := engine.count_texts(texts, vectorizer, vectorizer._begin_fit(), out)) is not None:
            return counted
    return read_corpus(path, format=form, **counts, **reading, **cutting, out=out)


def text_at(path: Path, reading: dict[str, Any], form: str | None) -> str | None:
    """The format of a path; None: guess it. For a folder, the pattern of its text files is set in `reading`."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        return form
    pattern = reading.get("pattern") or pattern_of(path)
    if pattern in (None, "*") and "pattern" not in reading and text_format(path) == "parquet":
        return form or "parquet"
    if pattern is not None:
        reading["pattern"] = pattern
    return form or "folder"


def texts_at(path: Path, settings: dict[str, Any]) -> Iterator[str] | None:
    """The texts of the documents at a path, in order; None where it holds counts."""
    [reading] = split(settings, READING)
    form = text_at(path, reading, settings.get("format"))
    if kind_of_text(path, form) is None:
        return None
    return (text for _, text in read_texts(path, format=form, **reading))


def pattern_of(folder: Path) -> str | None:
    """For a folder without *.txt: the most common suffix of text files, which may be no suffix at all."""
    paths = (path.relative_to(folder) for path in islice(folder.rglob("*"), 10_000) if path.is_file())
    suffixes = Counter(path.suffix.lower() for path in paths if not any(p.startswith(".") for p in path.parts))
    if suffixes[".txt"] or suffixes[".text"] or suffixes[".gz"]:
        return None
    best = max(LOOKED_FOR, key=suffixes.__getitem__)
    return (f"*{best}" if best else "*") if suffixes[best] else None


def read_for(model: Any, path: Path, settings: dict[str, Any]) -> Iterator[Read]:
    """Documents in the columns of a fitted model, block by block. "-" is standard input, with one text or JSON
    object per line."""
    reading, counts = split(settings, READING, COUNTS)
    if path != STANDARD_INPUT:
        form = text_at(path, reading, counts.pop("format", None))
        if kind_of_text(path, form) is None:
            yield _in_columns(model, read_corpus(path, format=form, **_width(model, path, form, counts), **reading))
            return
        documents: Iterator[Document] = read_texts(path, format=form, **reading)
    else:
        documents = _standard_input(reading)
    vectorizer = Vectorizer.of(model)
    while block := list(islice(documents, BLOCK_TEXTS)):
        names, texts = zip(*block)
        yield Read(vectorizer.transform(texts, names=names), vectorizer.n_unknown_)


def read_all_for(model: Any, path: Path, settings: dict[str, Any]) -> Read:
    """All blocks in one corpus."""
    blocks = list(read_for(model, path, settings))
    if not blocks:
        raise ValueError(f"{path}: contains no documents")
    return Read(joined([block.corpus for block in blocks]), sum(block.n_unknown for block in blocks))


def joined(blocks: Sequence[Corpus]) -> Corpus:
    """Corpora with the same words, one after another."""
    if len(blocks) == 1:
        return blocks[0]
    starts = np.cumsum([0, *(block.nnz for block in blocks)])
    indptr = np.concatenate([[0], *(block.indptr[1:] + start for block, start in zip(blocks, starts))])
    index, value = (np.concatenate([getattr(b, a) for b in blocks]) for a in ("index", "value"))
    names = [name for block in blocks for name in block.names or ()]
    first = blocks[0]
    return Corpus.trusted(indptr, index, value, first.n_words, first.vocabulary, names or None, meta=first.meta)


def read_table(path: Path, settings: dict[str, Any]) -> Table:
    """Rows of numbers: a .npy file, or a CSV, TSV or Parquet file whose columns are all numbers."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    if settings:
        options = ", ".join(map(option_of, settings))
        raise ValueError(f"{path} is read as a table of numbers, without documents: leave out {options}")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return Table.open(path)
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        columns = pq.read_table(path)
        return Table(np.column_stack([c.to_numpy() for c in columns.columns]), columns.column_names)
    if suffix not in (".csv", ".tsv"):
        raise ValueError(f"{path}: a table of numbers must be a .npy, .csv, .tsv or .parquet file")
    delimiter = "\t" if suffix == ".tsv" else ","
    with open(path, encoding="utf-8-sig") as file:
        header = file.readline().rstrip("\r\n").split(delimiter)
    try:
        named = not all(_is_number(cell) for cell in header)
        rows = np.loadtxt(path, delimiter=delimiter, skiprows=int(named), ndmin=2, encoding="utf-8-sig")
    except ValueError as error:
        raise ValueError(f"{path}: not a table of numbers: {error}") from error
    return Table(rows, [cell.strip('"') for cell in header] if named else None)


def takes_counts(estimator: Any) -> bool:
    """Whether an estimator models counts, such as documents; others model rows of numbers."""
    return bool(estimator.__sklearn_tags__().input_tags.positive_only)


def _in_columns(model: Any, corpus: Corpus) -> Read:
    known = getattr(model, "feature_names_in_", None)
    if known is None or corpus.vocabulary is None:
        if corpus.n_words != model.n_features_in_:
            raise ValueError(
                f"the documents have {corpus.n_words} words and the model has {model.n_features_in_}; to match them "
                "by name, give --vocabulary"
            )
        return Read(Corpus.trusted(corpus.indptr, corpus.index, corpus.value, corpus.n_words, None, corpus.names), 0)
    place = {str(word): v for v, word in enumerate(known)}
    column = np.array([place.get(word, -1) for word in corpus.vocabulary], dtype=np.int64)
    rows = corpus.to_scipy().tocoo()
    keep = column[rows.col] >= 0
    import scipy.sparse as sp

    shape = (corpus.n_docs, len(place))
    X = sp.csr_array((rows.data[keep], (rows.row[keep], column[rows.col[keep]])), shape=shape)
    words = [str(word) for word in known]
    return Read(Corpus.from_scipy(X, vocabulary=words, names=corpus.names), int(rows.data[~keep].sum()))


def _width(model: Any, path: Path, form: str | None, counts: dict[str, Any]) -> dict[str, Any]:
    """LDA-C and svmlight files do not have the number of words: without a vocabulary it is that of the model."""
    from topmix.data.formats.format import Options, find_vocabulary

    vague = any(
        path.name.removesuffix(".gz").endswith(suffix) for suffix in (".ldac", ".dat", ".svmlight", ".svm", ".libsvm")
    )
    vague = vague or form in ("ldac", "svmlight")
    if vague and "n_words" not in counts and find_vocabulary(path, Options(counts.get("vocabulary"))) is None:
        return counts | {"n_words": model.n_features_in_}
    return counts


def _standard_input(reading: dict[str, Any]) -> Iterator[Document]:
    import json

    field, id_field = reading.get("field", "text"), reading.get("id_field", "id")
    for n, line in enumerate(sys.stdin, 1):
        if not line.lstrip().startswith("{"):
            yield str(n), line.rstrip("\n")
            continue
        try:
            record = json.loads(line)
            yield str(record.get(id_field, n)), str(record[field])
        except (ValueError, KeyError, RecursionError) as error:
            raise ValueError(f"standard input, line {n}: not a JSON object with a field {field!r}: {error}") from error


def _stop_words(given: str | None) -> Any:
    if given is None or given in ("auto", "english", *CODES):
        return given
    if not Path(given).is_file():
        raise ValueError(
            f"--stop-words must be english, another language, none, or a file with one word per line; there is no file "
            f"{given}"
        )
    return Path(given).read_text(encoding="utf-8").split()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
