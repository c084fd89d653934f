"""Texts in Parquet: a file, or a folder of *.parquet files in sorted order, on a disk or behind a URL.

Documents are numbered through all files; the number is the name of a document without an id. Rows can be cut into parts
of about the same size by the metadata of the files, and each part read by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from topmix.data.documents import DEFAULT_ID_FIELD, Document, Fields, document_of, field_list, is_hidden
from topmix.data.errors import CorpusError
from topmix.data.formats.arrow_file import ArrowFile, RowGroup, open_table
from topmix.data.paths import is_remote, path_of
from topmix.data.remote_file import files_below

BATCH_ROWS = 1 << 10
SUFFIX = ".parquet"


class Piece(NamedTuple):
    """Rows of one file."""

    path: str  # or its URL
    begin: int
    end: int | None
    before: int  # documents of other files before this file


Part = tuple[Piece, ...]


def parquet_files(path: str | os.PathLike[str]) -> list[str]:
    """The path itself, or the *.parquet files of a folder, sorted; hidden ones are skipped."""
    if is_remote(path):
        url = str(path_of(path)) if isinstance(path, os.PathLike) else path
        return files_below(url, SUFFIX) or [url]
    folder = Path(path)
    if not folder.is_dir():
        return [str(folder)]
    found = [p for p in folder.rglob("*") if p.suffix.lower() == SUFFIX and not is_hidden(p, folder) and p.is_file()]
    return [str(p) for p in sorted(found, key=lambda p: p.relative_to(folder).parts)]


@dataclass(frozen=True)
class ParquetTexts:
    """Which files and which columns."""

    path: str
    field: Fields = None
    id_field: str | None = None

    def documents(self) -> Iterator[Document]:
        """All of them. A file is opened when the one before it has ended."""
        n = 0
        for path in self._files():
            for document in self._read(Piece(path, 0, None, n)):
                n += 1
                yield document

    def read(self, part: Part) -> Iterator[Document]:
        for piece in part:
            yield from self._read(piece)

    def cut(self, n_parts: int, least: int, most: int) -> list[Part] | None:
        """About n parts of the same size, in the order of the documents; each has about `least` to `most` bytes of
        text. Reads the metadata of all files and no text. None where a file is not Parquet but Arrow, which does not
        say how many rows it has."""
        found = list[tuple[str, list[RowGroup]]]()
        for path in self._files():
            with open_table(path) as table:
                self._check_columns(path, table)
                if table.is_arrow:
                    return None
                found.append((path, table.row_groups(field_list(self.field))))
        n_bytes = min(max(sum(g.n_bytes for _, groups in found for g in groups) // n_parts, least, 1), most)
        parts, part, size, n = list[Part](), list[Piece](), 0, 0
        for path, groups in found:
            for group in groups:
                rows = group.end - group.begin
                pieces = min(max(1, round(group.n_bytes / n_bytes)), max(rows, 1))
                cuts = [group.begin + rows * i // pieces for i in range(pieces + 1)]
                for begin, end in pairwise(cuts):
                    if begin == end:
                        continue
                    part.append(Piece(path, begin, end, n))
                    size += group.n_bytes // pieces
                    if 4 * size >= 3 * n_bytes:  # rather a little less than twice as much
                        parts.append(tuple(part))
                        part, size = [], 0
            n += groups[-1].end if groups else 0
        return [*parts, tuple(part)] if part else parts

    def _files(self) -> list[str]:
        files = parquet_files(self.path)
        if not files:
            raise CorpusError(f"{self.path}: no *.parquet file in this folder")
        return files

    def _read(self, piece: Piece) -> Iterator[Document]:
        fields, n = field_list(self.field), piece.begin
        with open_table(piece.path) as table:
            self._check_columns(piece.path, table)
            wanted = [name for name in (*fields, self.id_field or DEFAULT_ID_FIELD) if name in table.schema.names]
            for batch in table.batches(BATCH_ROWS, wanted, piece.begin, piece.end):
                for record in batch.select(wanted).to_pylist():
                    n += 1
                    yield document_of(record, fields, self.id_field, f"{piece.path}: row {n}", piece.before + n)

    def _check_columns(self, path: str, table: ArrowFile) -> None:
        names: list[str] = table.schema.names
        for column in [*field_list(self.field), *([self.id_field] if self.id_field else [])]:
            if column not in names:
                raise CorpusError(
                    f"{path}: no column {column!r} for the text; the columns are {', '.join(names)}. "
                    "Pass field= (a file of counts has the columns words and counts, or doc, word and count)"
                )
