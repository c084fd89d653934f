"""Reads documents and tables: for a fit, or in the columns of a fitted model. `topmix.read` does the work, so that the
command learns from the same words as `fit` in Python."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sklearn.base import BaseEstimator

from topmix.cli.command import note
from topmix.cli.flags import Flag, Settings, flags_of, option_of
from topmix.data import Corpus, Vectorizer, read_corpus, read_texts
from topmix.data.documents import Document, NamedTexts
from topmix.data.formats.format import Options, find_vocabulary
from topmix.data.languages import CODES, resolve_stop_words
from topmix.data.paths import path_of
from topmix.data.readers import kind_of_text
from topmix.data.sources import text_format
from topmix.data.texts import OTHER_TEXTS
from topmix.data.vectorize import said_of
from topmix.engines import Engine
from topmix.read import DEFAULTS, How, Reading, read, read_known, read_parts

STANDARD_INPUT = Path("-")
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
