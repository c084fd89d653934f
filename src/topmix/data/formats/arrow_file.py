"""Parquet and Arrow files, opened: their columns, their rows batch by batch, and where Parquet may be cut."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import IO, TYPE_CHECKING, NamedTuple

from topmix.data.errors import CorpusError
from topmix.data.remote_file import open_binary

if TYPE_CHECKING:
    import pyarrow as pa

BUFFER = 1 << 20  # bytes of a column that are read at a time


class RowGroup(NamedTuple):
    begin: int  # first row
    end: int
    n_bytes: int  # of the columns that were asked for, before compression


class ArrowFile:
    def __init__(self, file: IO[bytes]) -> None:
        magic = file.read(4)
        file.seek(0)
        self._parquet = self._arrow = None
        if magic == b"PAR1":
            import pyarrow.parquet as pq

            self._parquet = pq.ParquetFile(file, page_checksum_verification=True, buffer_size=BUFFER, pre_buffer=False)
            self.schema = self._parquet.schema_arrow
        else:
            self._arrow = pyarrow().ipc.open_file(file)
            self.schema = self._arrow.schema

    @property
    def is_arrow(self) -> bool:
        return self._arrow is not None

    def batches(
        self, n_rows: int = 1 << 16, columns: Sequence[str] | None = None, begin: int = 0, end: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Validated record batches of up to `n_rows` in Parquet: reading an unchecked batch could crash. Row groups are
        read through a buffer: one may be larger than memory. Rows before `begin` are decoded and left out."""
        at = announced = 0
        if self._parquet is not None:
            groups = self.row_groups(())
            wanted = [i for i, g in enumerate(groups) if g.end > begin and (end is None or g.begin < end)]
            at = groups[wanted[0]].begin if wanted else 0
            announced = groups[wanted[-1]].end if wanted else 0
            if sum(g.end - g.begin for g in groups) != self._parquet.metadata.num_rows:
                raise pyarrow().ArrowInvalid("the row groups do not have as many rows as the file")
            found = self._parquet.iter_batches(batch_size=n_rows, row_groups=wanted, columns=columns)
        else:
            assert self._arrow is not None
            found = map(self._arrow.get_batch, range(self._arrow.num_record_batches))
        for batch in found:
            first, last = max(begin - at, 0), len(batch) if end is None else min(end - at, len(batch))
            at += len(batch)
            if first >= last and len(batch):
                if end is not None and at >= end:
                    return
                continue
            batch.validate(full=True)
            yield batch if (first, last) == (0, len(batch)) else batch.slice(first, last - first)
        if self._parquet is not None and at != announced:  # pyarrow ends early where a page is missing
            raise pyarrow().ArrowInvalid(f"row {at} is missing: there should be {announced}")

    def row_groups(self, columns: Sequence[str]) -> list[RowGroup]:
        """Of Parquet; other files have none."""
        found: list[RowGroup] = []
        if self._parquet is not None:
            about, at = self._parquet.metadata, 0
            for i in range(about.num_row_groups):
                group, n_bytes = about.row_group(i), 0
                for j in range(group.num_columns if columns else 0):
                    column = group.column(j)
                    n_bytes += column.total_uncompressed_size if column.path_in_schema in columns else 0
                found.append(RowGroup(at, at + group.num_rows, n_bytes))
                at += group.num_rows
        return found


@contextmanager
def open_table(path: str | os.PathLike[str]) -> Iterator[ArrowFile]:
    """A Parquet or Arrow file, or the URL of one. What is wrong with it is a CorpusError, also while it is read."""
    pa = pyarrow()
    try:
        with open_binary(path) as file:
            yield ArrowFile(file)
    except (CorpusError, FileNotFoundError):
        raise
    except (pa.ArrowException, UnicodeDecodeError, OSError, MemoryError) as error:
        raise CorpusError(f"{path}: not a complete Parquet or Arrow file: {error}") from error


@contextmanager
def open_batches(
    path: str | os.PathLike[str], n_rows: int = 1 << 16
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema, and an iterator of all rows in batches of up to `n_rows`."""
    with open_table(path) as table:
        yield table.schema, table.batches(n_rows)


def pyarrow() -> ModuleType:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Parquet and Arrow files need pyarrow: pip install 'topmix[parquet]'") from error
    return pyarrow
