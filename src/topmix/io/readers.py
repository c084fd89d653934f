"""What is at a path, and who reads it: texts, one document at a time, or counts.

    .jsonl .ndjson     one JSON object per line; `field` names the field with the text (several fields are joined)
    .csv .tsv          a header, then one document per row; `field` names the column with the text. A header without
                       commas may have semicolons, tabs or bars between its columns
    .txt .text         one document per line, unless the first bytes are those of a format of counts
    .parquet           one document per row, if there is a column of strings; `field` names the column with the text
    a folder           one document per file, found recursively, in sorted order; hidden files are skipped. Files are
                       *.txt and *.text. A folder without these may have *.parquet files, with one document per row;
                       else its files are those with the most common suffix of texts, which may be none
    any other file     counts, by the file's name and first bytes

A file behind a URL such as s3:// is fetched first, except for Parquet, which is read where it is. Text files may be
compressed with gzip (.gz). Errors name the file and the line.
"""

from __future__ import annotations

import csv
import json
import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from topmix.base.checks import CorpusError
from topmix.base.paths import TEMPORARY_SUFFIX, is_path, is_remote, path_of
from topmix.base.remote_file import local_copy
from topmix.corpus.corpus import Corpus
from topmix.corpus.documents import Document, Fields, document_blocks, document_of, field_list, first_and_all, is_hidden
from topmix.corpus.vectorize import Vectorizer
from topmix.io.formats import H5AD, MATRIX_MARKET, NPZ, SAVED, UCI, Format, Options, VocabularyLike
from topmix.io.libraries import places_of
from topmix.io.parquet import PARQUET, SUFFIX, holds_texts, parquet_files, parquet_texts
from topmix.io.textfile import TextFile, plain_name

# Formats of counts. The first bytes of a file are tried in this order.
FORMATS: dict[str, Format] = {f.name: f for f in (SAVED, PARQUET, NPZ, H5AD, MATRIX_MARKET, UCI)}
TEXT_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".txt": "lines", ".text": "lines"}
OTHER_TEXTS = (".md", ".rst", ".tex", ".html", ".htm", ".xml", ".eml", ".log")  # texts that a folder may hold, too
_CSV_LIMIT = 1 << 30  # characters per field; the limit of the csv module is 128 KB, too short for a book
_csv_lock = threading.Lock()


@dataclass(frozen=True)
class TextFormat:
    """The options of `read_texts`."""

    field: Fields = None
    id_field: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"
    pattern: str | None = None


class Source(NamedTuple):
    """What is at a path."""

    path: Path  # on this machine, or of a file that is read where it is
    texts: str | None  # the name of one of READERS
    counts: Format | None  # where it is not texts; None where neither name nor first bytes tell


def look(path: str | PathLike[str], format: str | None = None, pattern: str | None = None) -> Source:
    """Texts or counts: as `format` says, or by the name and the first bytes. A `pattern` is for texts in a folder."""
    source = fetched(path)
    if source.name.endswith(TEMPORARY_SUFFIX):
        raise CorpusError(f"{source}: this is an unfinished temporary file of an interrupted write; delete it")
    kind = format or ("folder" if pattern is not None else text_format(source))
    if kind == "parquet" and not source.is_dir() and not holds_texts(parquet_files(source)[0]):
        return Source(source, None, PARQUET)
    counts = None
    if kind not in READERS or (kind == "lines" and format is None):
        counts = _format_named(source, format)
        if counts is None:
            with TextFile(source) as file:
                head = file.head()
            flags = re.DOTALL | re.IGNORECASE
            counts = next((f for f in FORMATS.values() if re.match(f.signature, head, flags)), None)
    return Source(source, kind if kind in READERS and counts is None else None, counts)


def read_corpus(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    vocabulary: VocabularyLike = None,
    out: str | PathLike[str] | None = None,
    verify: bool = True,
    **text: Any,
) -> Corpus:
    """Read a corpus from a file of counts, or from text: a folder, JSON lines, CSV, TSV, one document per line.

    Parameters
    ----------
    path
        A file, a folder of text files or of Parquet files, or a URL such as s3:// (needs fsspec). Files of text may be
        compressed with gzip.
    format : {"topmix", "uci", "mtx", "npz", "parquet", "h5ad", "folder", "jsonl", "csv", "tsv", "lines"} or None
        The format of the file. None recognises it by the file's name and first bytes.
    vocabulary : sequence of str, path, False or None
        The words, or a file with one word per line. None looks for a file in the same folder: `vocab.X.txt` for
        `docword.X.txt`; for X.mtx `X.mtx.vocab.txt`, `X.vocab.txt`, `X.vocab`, `X.tokens`, `vocab.X.txt`, `vocab.txt`.
        False reads without words.
    out : path, optional
        Build the corpus in this `.topmix` file, in bounded memory, and map it from there.
    verify : bool
        Whether to compare the checksums of a `.topmix` file, for which the file is read once. See `Corpus.open`.
    **text
        For text only: options of `read_texts` (`field`, `id_field`, `encoding`, ...) and of `Vectorizer`
        (`stop_words`, `min_df`, ...).

    Raises
    ------
    CorpusError
        The file is damaged, cut short or in another format. The message names the file and the line or byte.
    """
    source = look(path, format)
    if source.texts is not None:
        options = TextFormat(**{f.name: text.pop(f.name) for f in fields(TextFormat) if f.name in text})
        vectorizer = Vectorizer(**text | {"vocabulary": vocabulary})
        return vectorizer._fit_blocks(document_blocks(texts_at(source.path, source.texts, options)), out)
    if text:
        raise ValueError(f"{', '.join(text)}: for text only, but {source.path} holds counts")
    return counts_at(source, Options(vocabulary, None if out is None else path_of(out), verify))


def counts_at(source: Source, options: Options) -> Corpus:
    """The counts that `look` found."""
    file, vocabulary = source.path, options.vocabulary
    if source.counts is None:
        raise CorpusError(
            f"{file}: byte 0: neither the name nor the first bytes tell the format; "
            f"pass format=, one of {', '.join(FORMATS)}"
        )
    try:
        return source.counts.read(file, options)
    except CorpusError as error:  # errors of the builder do not name the file
        if file.name in str(error) or (is_path(vocabulary) and str(vocabulary) in str(error)):
            raise
        raise CorpusError(f"{file}: {error}") from error


def write_corpus(corpus: Corpus, path: str | PathLike[str], format: str | None = None) -> None:
    """Write a corpus. Without `format`, the name of the file decides (`docword.X.txt`, `.mtx.gz`, ...).

    Text formats are compressed when the name ends in .gz. All formats except `.topmix` and Parquet write the vocabulary
    to a second file in the same folder, `vocab.X.txt` for `docword.X.txt` and `X.mtx.vocab.txt` for X.mtx, and lose the
    names and meta. Files are written atomically.
    """
    target = path_of(path)
    target_format = _format_named(target, format)
    if target_format is None:
        raise ValueError(f"{target}: the name does not tell the format; pass format=, one of {', '.join(FORMATS)}")
    target_format.write(corpus, target)


def _format_named(path: Path, format: str | None) -> Format | None:
    """A format of counts by its name, or by that of a file."""
    if format is not None:
        if format not in FORMATS:
            raise ValueError(f"unknown format {format!r}; pass one of {', '.join(FORMATS)}")
        return FORMATS[format]
    name = plain_name(path)
    suffix = Path(name).suffix.lower()
    return next((f for f in FORMATS.values() if suffix in f.suffixes or (f.prefix and name.startswith(f.prefix))), None)


def read_texts(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    field: Fields = None,
    id_field: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    pattern: str | None = None,
) -> Iterator[Document]:
    """The documents of a file or folder as an iterator of (name, text).

    Parameters
    ----------
    path : path or URL
    format : {"folder", "jsonl", "csv", "tsv", "lines", "parquet"} or None
        The format. None recognises it by the name of the path.
    field : str, several, or None
        The field (JSON lines) or column (CSV, Parquet) with the text; several are joined by a newline. None is "text".
    id_field : str or None
        The field or column with the name of the document. None is "id" if there is one, else the line number.
    encoding : str
        The encoding of the files, as in the built-in `open`.
    errors : str
        How to treat bytes that cannot be decoded, as in the built-in `open`: strict, replace or ignore.
    pattern : str or None
        For a folder: the files to read, such as "*.md". None reads *.txt and *.text, compressed or not; where there are
        none, the files with the most common suffix of texts, such as .md or none.
    """
    source = fetched(path)
    kind = format or ("folder" if pattern is not None else text_format(source))
    return texts_at(source, kind, TextFormat(field, id_field, encoding, errors, pattern))


def texts_at(path: Path, kind: str | None, options: TextFormat) -> Iterator[Document]:
    """The texts at a path that `fetched` gave; `kind` is one of READERS, where it is known."""
    if not (kind == "parquet" and is_remote(path)) and not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder")
    if options.pattern is not None and not path.is_dir():
        raise ValueError(f"{path}: pattern= is for folders, but this is a file")
    if kind not in READERS:
        known = f"known are folders and {', '.join(TEXT_SUFFIXES)}, also with .gz"
        raise ValueError(f"{path}: not a known kind of text file ({known})")
    if kind in ("folder", "lines") and (options.field is not None or options.id_field is not None):
        raise ValueError(
            f"{path}: field= and id_field= are for JSON lines, CSV and Parquet, but this path has no fields"
        )
    return READERS[kind](path, options)


def fetched(path: str | PathLike[str]) -> Path:
    """The path; for a URL that of its copy on this machine. Folders, saved corpora and Parquet are read where they
    are."""
    there = path_of(path)
    if not is_remote(path) or there.suffix.lower() in (SUFFIX, *SAVED.suffixes) or "*" in str(path) or there.is_dir():
        return there
    return local_copy(path)


def text_format(path: str | PathLike[str]) -> str | None:
    """The text format by the name of the path, or by the files in a folder. None if it is not text."""
    path = path_of(path)
    if is_remote(path) and ("*" in path.name or path.suffix.lower() == SUFFIX):
        return "parquet"
    if path.is_dir():
        return "folder" if any(True for _ in text_files(path)) or not parquet_files(path) else "parquet"
    return "parquet" if path.suffix.lower() == SUFFIX else TEXT_SUFFIXES.get(Path(plain_name(path)).suffix.lower())


def text_files(folder: Path, pattern: str | None = None) -> Iterator[Path]:
    """The files of a folder that are not hidden: those of a pattern, or *.txt and *.text, compressed or not."""
    for path in folder.rglob(pattern or "*"):
        is_wanted = pattern is not None or plain_name(path).lower().endswith((".txt", ".text"))
        if is_wanted and not is_hidden(path, folder) and path.is_file():
            yield path


def _lines(path: Path, options: TextFormat, newline: str | None = None) -> Iterator[tuple[int, str]]:
    """(line number from 1, line)."""
    n = 0
    try:
        with TextFile(path) as file, file.text(options.encoding, options.errors, newline) as lines:
            for n, line in enumerate(lines, 1):
                yield n, line
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}: not {options.encoding} after line {n}: {error.reason}; see encoding= and errors="
        ) from error


def _read_jsonl(path: Path, options: TextFormat) -> Iterator[Document]:
    for n, line in _lines(path, options):
        if line.strip():
            yield json_document(line, options, f"{path}: line {n}", n)


def json_document(line: str, options: TextFormat, where: str, n: int) -> Document:
    """The document of a line, which is a JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:  # brackets nested too deep, numbers with thousands of digits
        raise CorpusError(f"{where}: not JSON: {error}") from error
    if not isinstance(record, dict):
        raise CorpusError(f"{where}: expected a JSON object, found {type(record).__name__}")
    return document_of(record, field_list(options.field), options.id_field, where, n)


def _read_csv(path: Path, options: TextFormat, delimiter: str = ",") -> Iterator[Document]:
    field, id_field = options.field, options.id_field
    first, lines = first_and_all(line for _, line in _lines(path, options, newline=""))
    if first is not None and delimiter not in first:  # spreadsheets of many countries write semicolons
        delimiter = max(delimiter, *";\t|", key=first.count)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = _next_row(rows) or []
        fields = header if field is None and len(header) == 1 else field_list(field)
        for column in [*fields, *([id_field] if id_field else [])]:
            if column not in header:
                known = ", ".join(map(repr, header)) or "nothing"
                raise CorpusError(f"{path}: no column {column!r}; the header has {known}. Pass text= or field=")
        places_of([name for name in (*fields, id_field) if name], header)
        while (row := _next_row(rows)) is not None:
            where = f"{path}: line {rows.line_num}"
            if row and len(row) != len(header):
                raise CorpusError(f"{where}: {len(row)} fields, but the header has {len(header)}")
            if row:
                yield document_of(dict(zip(header, row)), fields, id_field, where, rows.line_num)
    except csv.Error as error:
        raise CorpusError(f"{path}: line {rows.line_num}: {error}") from error


def _next_row(rows: Iterator[list[str]]) -> list[str] | None:
    """The next row, or None. Meanwhile the csv module takes long fields: its limit is that of the whole process."""
    with _csv_lock:
        before = csv.field_size_limit(_CSV_LIMIT)
        try:
            return next(rows, None)
        finally:
            csv.field_size_limit(before)


def _read_folder(folder: Path, options: TextFormat) -> Iterator[Document]:
    paths = list(text_files(folder, options.pattern))
    if options.pattern is None:
        every = list(text_files(folder, "*"))
        suffixes = Counter(path.suffix.lower() for path in every)
        kind = ".txt" if paths else max((*OTHER_TEXTS, ""), key=suffixes.__getitem__)
        paths = paths or [path for path in every if path.suffix.lower() == kind]
        others = [(suffix, n) for suffix, n in suffixes.most_common() if suffix in OTHER_TEXTS and suffix != kind]
        if others:
            read = f"*{kind} files" if kind else "files without a suffix"
            left_out = ", ".join(f"{n} {suffix}" for suffix, n in others)
            why = f"pass pattern='*{others[0][0]}' to read these, or pattern='*' for all files"
            warnings.warn(f"{folder}: only {read} are read, and others are left out ({left_out}): {why}", stacklevel=3)
    if not paths:
        missing = "holds no *.txt or other texts" if options.pattern is None else f"no file matches {options.pattern!r}"
        raise CorpusError(f"{folder}: {missing}; choose files with pattern=")
    paths.sort(key=lambda path: path.relative_to(folder).parts)

    def documents() -> Iterator[Document]:
        for path in paths:
            try:
                with TextFile(path) as file, file.text(options.encoding, options.errors) as text:
                    yield path.relative_to(folder).as_posix(), text.read()
            except UnicodeDecodeError as error:
                raise CorpusError(
                    f"{path}: not {options.encoding} at byte {error.start}: {error.reason}; see encoding= and errors="
                ) from error

    return documents()


READERS: dict[str, Callable[[Path, TextFormat], Iterator[Document]]] = {
    "folder": _read_folder,
    "jsonl": _read_jsonl,
    "csv": _read_csv,
    "tsv": partial(_read_csv, delimiter="\t"),
    "lines": lambda path, options: ((str(n), line.rstrip("\r\n")) for n, line in _lines(path, options)),
    "parquet": parquet_texts,
}
