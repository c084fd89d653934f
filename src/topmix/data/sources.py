"""What is at a path: texts of which kind, or counts in which format. Everybody looks once, and readers take the answer.

    .jsonl .ndjson     texts, one JSON object per line
    .csv .tsv          texts, one document per row, below a header
    .txt .text         texts, one document per line, unless the first bytes are those of a format of counts
    .parquet           texts if it has a column of strings and not the columns of a file of counts
    a folder           texts, one document per file; without text files it may have *.parquet files
    any other file     counts, by the file's name and first bytes

Files of text may be compressed with gzip (.gz). A file behind a URL such as s3:// is fetched first, except for Parquet.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from topmix.data.documents import is_hidden
from topmix.data.errors import CorpusError
from topmix.data.formats import FORMATS, Format
from topmix.data.formats.arrow import holds_texts
from topmix.data.parquet_texts import SUFFIX, parquet_files
from topmix.data.paths import TEMPORARY_SUFFIX, is_remote, path_of
from topmix.data.remote_file import local_copy
from topmix.data.textfile import TextFile

TEXT_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".txt": "lines", ".text": "lines"}
SAVED = ".topmix"  # the suffix of corpora
TEXT_FORMATS = ("folder", "jsonl", "csv", "tsv", "lines", "parquet")


class Source(NamedTuple):
    """What is at a path."""

    path: Path | str  # on this machine; or the URL of Parquet, which is read where it is
    texts: str | None  # one of TEXT_FORMATS
    counts: Format | None  # where it is not texts; None where neither name nor first bytes tell


def look(path: str | os.PathLike[str], format: str | None = None) -> Source:
    """Texts or counts: as `format` says, or by the name and the first bytes."""
    source = fetched(path)
    if isinstance(source, str):
        has_texts = holds_texts(parquet_files(source)[0])
        return Source(source, "parquet", None) if has_texts else Source(source, None, FORMATS["parquet"])
    if source.name.endswith(TEMPORARY_SUFFIX):
        raise CorpusError(f"{source}: this is an unfinished temporary file of an interrupted write; delete it")
    kind = format or text_format(source) or ("folder" if source.is_dir() else None)
    if kind is None and source.suffix.lower() == SUFFIX and source.is_file():
        kind = "parquet"
    if kind == "parquet" and not source.is_dir() and not holds_texts(source):
        return Source(source, None, FORMATS["parquet"])
    if kind not in TEXT_FORMATS:
        return Source(source, None, _recognised(source) if format is None else named_format(format))
    counts = _recognised(source) if kind == "lines" and format is None else None
    return Source(source, kind if counts is None else None, counts)


def fetched(path: str | os.PathLike[str]) -> Path | str:
    """The path; for a URL that of its copy on this machine. Folders, saved corpora and Parquet (then a string) are read
    where they are."""
    if not is_remote(path):
        return Path(path)
    url = str(path_of(path)) if isinstance(path, os.PathLike) else path
    if url.lower().endswith(SUFFIX) or parquet_files(url) != [url]:
        return url
    there = path_of(path)
    return there if there.suffix == SAVED or there.is_dir() else local_copy(url)


def text_format(path: str | os.PathLike[str]) -> str | None:
    """The text format by the name of the path: "jsonl", "csv", "tsv", "lines" or "folder"; "parquet" for a folder of
    such files. None if it is not text."""
    path = path_of(path)
    if path.is_dir():
        if any(True for _ in text_files(path)):
            return "folder"
        return "parquet" if parquet_files(path) else None
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return TEXT_SUFFIXES.get(suffixes[-1]) if suffixes else None


def text_files(folder: Path, pattern: str | None = None) -> Iterator[Path]:
    """The files of a folder that are not hidden: those of a pattern, or *.txt and *.text, compressed or not."""
    for path in folder.rglob(pattern or "*"):
        if not is_hidden(path, folder) and path.is_file() and (pattern is not None or text_format(path) == "lines"):
            yield path


def named_format(name: str) -> Format:
    """A format of counts by its name."""
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}; pass one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _recognised(path: Path) -> Format | None:
    named = [f for f in FORMATS.values() if f.is_named(path)]
    if is_remote(path) and named:  # its first bytes would not come alone
        return named[0]
    with TextFile(path) as file:
        head = file.head()
    if named and path.suffix.lower() != ".dat":  # .dat is the suffix of many formats
        return named[0]
    return next((f for f in [*(f for f in FORMATS.values() if f.matches(head)), *named]), None)
