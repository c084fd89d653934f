"""Reads documents and tables: for a fit, or in the columns of a fitted model. `topmix.read` does the work, so that the
command learns from the same words as `fit` in Python."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer
from sklearn.base import BaseEstimator

from topmix.cli.command import note
from topmix.cli.flags import Flag, Settings, flags_of, option_of
from topmix.data import Corpus, Rows, Vectorizer, read_corpus, read_texts
from topmix.data.columns import column_of
from topmix.data.documents import Document, NamedTexts
from topmix.data.formats.format import Options, find_vocabulary
from topmix.data.languages import CODES, resolve_stop_words
from topmix.data.paths import is_remote, path_of
from topmix.data.readers import kind_of_text
from topmix.data.remote_file import local_copy
from topmix.data.rows import GroupedRows
from topmix.data.sources import text_format
from topmix.data.texts import OTHER_TEXTS
from topmix.data.vectorize import said_of
from topmix.engines import Engine
from topmix.read import DEFAULTS, How, Reading, in_groups, read, read_known, read_parts
from topmix.read.rows import parquet_rows

STANDARD_INPUT = Path("-")
GROUP = "group"  # the column of a file of groups that has several
LOOKED_FOR = (*OTHER_TEXTS, "")  # suffixes to look for in a folder without *.txt
WITHOUT_WIDTH = ("ldac", "svmlight")  # formats that do not have the number of words
SUFFIXES_WITHOUT_WIDTH = (".ldac", ".dat", ".svmlight", ".svm", ".libsvm")

# Options for reading texts, for tokenizing them, and for reading counts.
READING = flags_of(read_texts, leave_out=("path", "format"))
CUTTING = flags_of(Vectorizer, leave_out=("vocabulary", "tokenizer"))
COUNTS = flags_of(read_corpus, leave_out=("path", "out"))
READ_GROUPS: dict[str, list[Flag]] = {"Reading": [*COUNTS.values(), *READING.values()]}
FIT_GROUPS: dict[str, list[Flag]] = {**READ_GROUPS, "Words (of text)": list(CUTTING.values())}
CLI_DEFAULTS = {
    "token_pattern": "auto",
    "stop_words": "auto: english if the texts are English",
    "min_df": "5 for 1000 documents or more, 2 for 20 or more, else 1",
    "max_df": "0.5; 1.0 for fewer than 20 documents",
    "clean": "true",
}


class Read(NamedTuple):
    """Documents in the columns of a model, and how many tokens were left out."""

    corpus: Corpus
    n_unknown: float  # tokens that are not in the vocabulary of the model


class Source(NamedTuple):
    """Whether texts or counts are at a path, and how to read them."""

    is_text: bool
    how: How  # for counts its options are those of `read_corpus`


def source_at(path: Path, settings: Settings) -> Source:
    """As the options say, which are removed from `settings`."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    reading, counts = taken(settings, READING), taken(settings, COUNTS)
    form = counts.pop("format", None)
    if path.is_dir():
        pattern = reading.get("pattern") or pattern_of(path)
        is_parquet = pattern in (None, "*") and "pattern" not in reading and text_format(path) == "parquet"
        form = form or ("parquet" if is_parquet else "folder")
        if pattern is not None and not is_parquet:
            reading["pattern"] = pattern
    if kind_of_text(path, form) is None:
        return Source(False, How(format=form, file={**counts, **reading}))
    if counts:
        options = ", ".join(map(option_of, counts))
        raise ValueError(f"{options}: for files of counts, but {path} is read as text")
    fields = reading.pop("field", None)
    text = fields.split(",") if fields and "," in fields else fields
    return Source(True, How(text=text, format=form, file=reading))


def taken(settings: Settings, group: Mapping[str, Flag]) -> Settings:
    """The settings of a group of flags; they are removed from `settings`."""
    return {name: settings.pop(name) for name in group if name in settings}


def read_to_fit(path: Path, settings: Settings, out: Path | None = None, engine: Engine | None = None) -> Corpus:
    """The corpus at a path. Common and rare words of texts are left out unless the settings say otherwise. Workers of
    an engine that can count texts do so. With `out`, the corpus is built in that file."""
    cutting, (is_text, how) = taken(settings, CUTTING), source_at(path, settings)
    if "stop_words" in cutting:
        cutting["stop_words"] = _stop_words(cutting["stop_words"])
    if is_text:
        how = replace(how, vectorizer=Vectorizer(**DEFAULTS | cutting), out=out)
        corpus, reading = read(path, how, engine=engine)
        if said := said_of(reading.vectorizer.left_out_):
            note(f"{said}. --no-clean keeps mark-up, numbers and symbols; see also --stop-words and --max-df")
        return corpus
    stop_words = resolve_stop_words(cutting.pop("stop_words", None))
    options = {**how.file, **cutting, "out": None if stop_words else out}  # options for texts: an error
    corpus = read_corpus(path, format=how.format, **options)
    return corpus.drop_words(stop_words) if stop_words else corpus


def texts_at(path: Path, settings: Settings) -> Iterator[str] | None:
    """The texts of the documents at a path, in order; None where it holds counts."""
    is_text, how = source_at(path, settings)
    if not is_text:
        return None
    return (text for _, text in read_texts(path, format=how.format, field=how.text, **how.file))


def pattern_of(folder: Path) -> str | None:
    """For a folder without *.txt: the most common suffix of text files, which may be no suffix at all."""
    paths = (path.relative_to(folder) for path in islice(folder.rglob("*"), 10_000) if path.is_file())
    suffixes = Counter(path.suffix.lower() for path in paths if not any(p.startswith(".") for p in path.parts))
    if suffixes[".txt"] or suffixes[".text"] or suffixes[".gz"]:
        return None
    best = max(LOOKED_FOR, key=suffixes.__getitem__)
    return (f"*{best}" if best else "*") if suffixes[best] else None


def read_for(model: BaseEstimator, path: Path, settings: Settings, *, whole: bool = False) -> Iterator[Read]:
    """Documents in the columns of a fitted model, in parts of bounded size, or as a whole. "-" is standard input, with
    one text or JSON object per line."""
    known: Reading = model._found().words_read
    documents: Path | NamedTexts = path
    if path == STANDARD_INPUT:
        documents, how = NamedTexts(_standard_input(taken(settings, READING))), How()
    else:
        is_text, how = source_at(path, settings)
        if not is_text:
            yield _in_columns(read_corpus(path, format=how.format, **_with_width(path, how, known)), known)
            return
    counter, owner = known.counter(), type(model).__name__
    how = replace(how, vectorizer=counter)
    if whole:
        yield Read(read_known(documents, known, how, owner=owner), counter.n_unknown_)
        return
    for part in read_parts(documents, known, how, owner=owner):
        yield Read(part, counter.n_unknown_)


def read_all_for(model: BaseEstimator, path: Path, settings: Settings) -> Read:
    """All documents in one corpus."""
    return next(read_for(model, path, settings, whole=True))


class Shown(NamedTuple):
    """Documents, as pages show them."""

    corpus: Corpus | None = None
    texts: Iterator[str] | None = None
    columns: dict[str, list[object]] | None = None


def read_to_show(
    model: BaseEstimator, path: Path | None, columns: Sequence[str], settings: Settings, texts: Path | None = None
) -> Shown:
    """Documents in the columns of a model, their texts, and what stands beside the texts; nothing without a path. Of a
    mixture of vectors the path is that of the vectors, and `texts` that of their texts."""
    if texts is not None and (path is None or takes_counts(model)):
        raise typer.BadParameter("texts stand beside vectors: pass these as --corpus", param_hint="--texts")
    if path is not None and not takes_counts(model):
        corpus = read_vectors(model, path, texts, dict(settings))
        beside = {name: column_of(texts, name, corpus.n_docs) for name in columns}
        return Shown(corpus, None if texts is None else texts_at(texts, dict(settings)), beside)
    if path is not None:
        corpus = read_all_for(model, path, dict(settings)).corpus
        beside = {name: column_of(path, name, corpus.n_docs) for name in columns}
        return Shown(corpus, texts_at(path, dict(settings)), beside)
    if columns:
        raise typer.BadParameter("columns are of documents: pass --corpus too", param_hint="--column")
    return Shown()


def read_vectors(model: BaseEstimator, path: Path, texts: Path | None, settings: Settings) -> Corpus:
    """Vectors, and the texts beside them in the words of a fitted mixture."""
    rows = read_table(path, {} if texts is not None else settings)
    found: Corpus = model.counts(rows, None if texts is None else read_all_for(model, texts, settings).corpus)
    return found


def read_vectors_to_fit(path: Path, texts: Path, settings: Settings, engine: Engine) -> Corpus:
    """Vectors, and the words of the texts beside them."""
    return read_to_fit(texts, settings, engine=engine).with_vectors(read_table(path, {}))


def read_grouped(path: Path, groups: str | None, settings: Settings, owner: str) -> tuple[GroupedRows, list[str]]:
    """Rows of numbers in groups, and the names of these in their order. `groups` is a column of the table, or a file:
    .npy, or a table with one column or with a column "group"."""
    if groups is None:
        raise typer.BadParameter(
            f"{owner} needs the group of each row: name a column of the table, or a file", param_hint="--groups"
        )
    if not (file := Path(groups)).is_file():
        if path.suffix.lower() == ".npy":
            raise typer.BadParameter(f"there is no such file, and {path} has no columns", param_hint="--groups")
        rows, values = read_table(path, settings, leave_out=groups), column_of(path, groups)
    else:
        rows = read_table(path, settings)
        values = _groups_in(file, len(rows))
    if len(values) != len(rows) or any(value is None for value in values):
        raise ValueError(f"{groups}: names groups of {len(values)} rows, and there are {len(rows)}: one each, no gaps")
    return in_groups(rows, values), [str(name) for name in np.unique(np.asarray(values))]


def _groups_in(file: Path, n_rows: int) -> list[object]:
    suffix = file.suffix.lower()
    if suffix == ".npy":
        return list(np.load(file, allow_pickle=False).ravel())
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        names = pq.read_schema(file).names
        return column_of(file, names[0] if len(names) == 1 else GROUP)
    with open(file, encoding="utf-8-sig", newline="") as lines:
        table = [row for row in csv.reader(lines, delimiter="\t" if suffix == ".tsv" else ",") if row]
    if table and len(table[0]) == 1:
        return [row[0] for row in table[len(table) - n_rows if len(table) == n_rows + 1 else 0 :]]  # with a header
    if not table or GROUP not in table[0]:
        raise ValueError(f"{file}: has several columns, and none is named {GROUP!r}")
    at = table[0].index(GROUP)
    return [row[at] if at < len(row) else None for row in table[1:]]


def read_table(path: Path, settings: Settings, leave_out: str | None = None) -> Rows:
    """Rows of numbers: a .npy file, or a CSV, TSV or Parquet file whose columns are all numbers, but for one that is
    left out."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    if settings:
        options = ", ".join(map(option_of, settings))
        raise ValueError(f"{path} is read as a table of numbers, without documents: leave out {options}")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return Rows.open(path)
    path = local_copy(path) if is_remote(path) else path
    if suffix == ".parquet":
        return parquet_rows(path, leave_out)
    if suffix not in (".csv", ".tsv"):
        raise ValueError(f"{path}: a table of numbers must be a .npy, .csv, .tsv or .parquet file")
    delimiter = "\t" if suffix == ".tsv" else ","
    with open(path, encoding="utf-8-sig") as file:
        header = file.readline().rstrip("\r\n").split(delimiter)
    names = [cell.strip('"') for cell in header]
    if leave_out is not None and leave_out not in names:
        raise ValueError(f"{path}: no column {leave_out!r}; there are {', '.join(names[:20])}")
    kept = [i for i, name in enumerate(names) if name != leave_out]
    used = None if leave_out is None else kept
    try:
        named = not all(_is_number(cell) for cell in header)
        rows = np.loadtxt(
            path, delimiter=delimiter, skiprows=int(named), ndmin=2, encoding="utf-8-sig", usecols=used, quotechar='"'
        )
    except ValueError as error:
        raise ValueError(f"{path}: not a table of numbers: {error}") from error
    return Rows(rows, [names[i] for i in kept] if named else None)


def takes_counts(estimator: BaseEstimator) -> bool:
    """Whether an estimator models counts, such as documents; others model rows of numbers."""
    return bool(estimator.__sklearn_tags__().input_tags.positive_only)


def _in_columns(corpus: Corpus, known: Reading) -> Read:
    """Counts in the columns of a model: by the names of words where there are some, else as they are."""
    if known.words is not None and corpus.vocabulary is not None:
        return Read(*corpus.in_words(known.words.tolist()))
    if corpus.n_words != known.n_features:
        raise ValueError(
            f"the documents have {corpus.n_words} words and the model has {known.n_features}; to match them by name, "
            "give --vocabulary"
        )
    return Read(Corpus.trusted(corpus.indptr, corpus.index, corpus.value, corpus.n_words, None, corpus.names), 0)


def _with_width(path: Path, how: How, known: Reading) -> Settings:
    """LDA-C and svmlight files do not have the number of words: without a vocabulary it is that of the model."""
    is_vague = path.name.removesuffix(".gz").endswith(SUFFIXES_WITHOUT_WIDTH) or how.format in WITHOUT_WIDTH
    if is_vague and "n_words" not in how.file and find_vocabulary(path, Options(how.file.get("vocabulary"))) is None:
        return {**how.file, "n_words": known.n_features}
    return dict(how.file)


def _standard_input(reading: Settings) -> Iterator[Document]:
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


def _stop_words(given: str | None) -> str | list[str] | None:
    if given is None or given in ("auto", "english", *CODES):
        return given
    path = path_of(given)
    if not path.is_file():
        raise ValueError(
            f"--stop-words must be english, another language, none, or a file with one word per line; there is no file "
            f"{given}"
        )
    return path.read_text(encoding="utf-8").split()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
