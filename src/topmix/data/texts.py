"""Raw text from files, one document at a time: (name, text).

    .jsonl .ndjson     one JSON object per line; `field` names the field with the text (several fields are joined)
    .csv .tsv          a header, then one document per row; `field` names the column with the text. A header without
                       commas may have semicolons, tabs or bars between its columns
    .txt .text         one document per line
    .parquet           one document per row; `field` names the column with the text
    a folder           one document per file, found recursively, in sorted order; hidden files are skipped. A folder
                       without texts may have *.parquet files, with one document per row

A file behind a URL such as s3:// is fetched first, except for Parquet, which is read where it is. All except Parquet
may be compressed with gzip (.gz). Only one document is in memory at a time. Errors name the file and the line.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import threading
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import IO

from topmix.data.documents import Document, Fields, document_of, field_list, first_and_all, is_hidden
from topmix.data.errors import CorpusError
from topmix.data.parquet_texts import SUFFIX, ParquetTexts
from topmix.data.paths import is_remote, open_whole
from topmix.data.sources import TEXT_SUFFIXES, Source, fetched, text_files, text_format

OTHER_TEXTS = (".md", ".rst", ".tex", ".html", ".htm", ".xml", ".eml", ".log")  # texts that a folder may hold, too
_BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
_CSV_LIMIT = 1 << 30  # characters per field; the limit of the csv module is 128 KB, too short for a book


def read_texts(
    path: str | PathLike[str] | Source,
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
    path : path, URL, or what `topmix.data.sources.look` found there
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
        For a folder: the files to read, such as "*.md". None reads *.txt and *.text, compressed or not.
    """
    format = path.texts if isinstance(path, Source) and format is None else format
    path = path.path if isinstance(path, Source) else fetched(path)
    if isinstance(path, str):
        return ParquetTexts(path, field, id_field).documents()
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder")
    if pattern is not None and not path.is_dir():
        raise ValueError(f"{path}: pattern= is for folders, but this is a file")
    kind = format or (text_format(path) if pattern is None else "folder")
    if kind == "folder" and next(text_files(path, pattern), None) is None:
        missing = f"no file matches {pattern!r}" if pattern else "no *.txt or *.text file; choose files with pattern="
        raise CorpusError(f"{path}: {missing}")
    if kind == "folder":
        _refuse_fields(path, field, id_field)
        if pattern is None:
            _warn_of_others(path)
        return _read_folder(path, pattern, encoding, errors)
    if kind == "jsonl":
        return _read_jsonl(path, field, id_field, encoding, errors)
    if kind == "parquet" or (kind is None and path.suffix.lower() == SUFFIX):
        return ParquetTexts(str(path), field, id_field).documents()
    if kind in ("csv", "tsv"):
        return _read_csv(path, "\t" if kind == "tsv" else ",", field, id_field, encoding, errors)
    if kind == "lines":
        _refuse_fields(path, field, id_field)
        return ((str(n), line.rstrip("\r\n")) for n, line in _lines(path, encoding, errors))
    problem = "holds no *.txt files; choose files with pattern=" if path.is_dir() else "not a known kind of text file"
    raise ValueError(f"{path}: {problem} (known are folders and {', '.join(TEXT_SUFFIXES)}, also with .gz)")


def _open(path: Path, encoding: str, errors: str, newline: str | None = None) -> IO[str]:
    opener: Callable[..., IO[str]] = gzip.open if path.suffix.lower() == ".gz" else open
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"  # removes the byte order mark that spreadsheets write
    if is_remote(path):  # of a folder, where a file is one document
        with open_whole(path) as file:
            copy = io.BytesIO(file.read())
        text = gzip.GzipFile(fileobj=copy) if opener is gzip.open else copy
        return io.TextIOWrapper(text, encoding, errors, newline)
    return opener(path, "rt", encoding=encoding, errors=errors, newline=newline)


def _lines(path: Path, encoding: str, errors: str, newline: str | None = None) -> Iterator[tuple[int, str]]:
    """(line number from 1, line)."""
    n = 0
    try:
        with _open(path, encoding, errors, newline) as f:
            for n, line in enumerate(f, 1):
                yield n, line
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}: not {encoding} after line {n}: {error.reason}; see encoding= and errors="
        ) from error
    except _BROKEN_GZIP as error:
        raise CorpusError(f"{path}: the gzip file is broken after line {n}: {error}") from error


def _read_jsonl(path: Path, field: Fields, id_field: str | None, encoding: str, errors: str) -> Iterator[Document]:
    fields = field_list(field)
    for n, line in _lines(path, encoding, errors):
        if not line.strip():
            continue
        where = f"{path}: line {n}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # brackets nested too deep, numbers with thousands of digits
            raise CorpusError(f"{where}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise CorpusError(f"{where}: expected a JSON object, found {type(record).__name__}")
        yield document_of(record, fields, id_field, where, n)


def _read_csv(
    path: Path, delimiter: str, field: Fields, id_field: str | None, encoding: str, errors: str
) -> Iterator[Document]:
    first, lines = first_and_all(line for _, line in _lines(path, encoding, errors, newline=""))
    rows = csv.reader(lines, delimiter=_delimiter(first or "", delimiter), strict=True)
    header: list[str] = []
    try:
        header = _next_row(rows) or []
        fields = header if field is None and len(header) == 1 else field_list(field)
        for column in [*fields, *([id_field] if id_field else [])]:
            if column not in header:
                known = ", ".join(map(repr, header)) or "nothing"
                raise CorpusError(f"{path}: no column {column!r}; the header has {known}")
        while (row := _next_row(rows)) is not None:
            if not row:
                continue
            where = f"{path}: line {rows.line_num}"
            if len(row) != len(header):
                raise CorpusError(f"{where}: {len(row)} fields, but the header has {len(header)}")
            yield document_of(dict(zip(header, row)), fields, id_field, where, rows.line_num)
    except csv.Error as error:
        raise CorpusError(f"{path}: line {rows.line_num}: {error}") from error


def _delimiter(header: str, expected: str) -> str:
    """What separates the columns. Spreadsheets of many countries write semicolons into .csv files."""
    return expected if expected in header else max(expected, *";\t|", key=header.count)


def _next_row(rows: Iterator[list[str]]) -> list[str] | None:
    """The next row, or None."""
    with _long_fields:
        return next(rows, None)


class _LongFields:
    """While somebody is inside, the csv module takes long fields. Its limit is that of the whole process: the last one
    to leave puts it back."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = csv.field_size_limit(_CSV_LIMIT)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                csv.field_size_limit(self._before)


_long_fields = _LongFields()


def _read_folder(folder: Path, pattern: str | None, encoding: str, errors: str) -> Iterator[Document]:
    for path in sorted(text_files(folder, pattern), key=lambda p: p.relative_to(folder).parts):
        try:
            with _open(path, encoding, errors) as f:
                yield path.relative_to(folder).as_posix(), f.read()
        except UnicodeDecodeError as error:
            reason = f"byte {error.start}: {error.reason}"
            raise CorpusError(f"{path}: not {encoding} at {reason}; see encoding= and errors=") from error
        except _BROKEN_GZIP as error:
            raise CorpusError(f"{path}: the gzip file is broken: {error}") from error


def _warn_of_others(folder: Path) -> None:
    """Files that look like texts, and are not read because others end in .txt."""
    suffixes = Counter(
        path.suffix.lower()
        for path in folder.rglob("*")
        if path.suffix.lower() in OTHER_TEXTS and not is_hidden(path, folder) and path.is_file()
    )
    if suffixes:
        most = suffixes.most_common(1)[0][0]
        listed = ", ".join(f"{n} {suffix}" for suffix, n in suffixes.most_common())
        warnings.warn(
            f"{folder}: only *.txt files are read, and others are left out ({listed}): pass pattern='*{most}' to read "
            "these, or pattern='*' for all files",
            UserWarning,
            stacklevel=3,
        )


def _refuse_fields(path: Path, field: Fields, id_field: str | None) -> None:
    if field is not None or id_field is not None:
        raise ValueError(
            f"{path}: field= and id_field= are for JSON lines, CSV and Parquet, but this path has no fields"
        )
