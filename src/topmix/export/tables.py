"""Tables as files, CSV or Parquet, written some rows at a time."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import IO

import numpy as np

from topmix.data.textfile import csv_writer

Columns = Mapping[str, Sequence[object] | np.ndarray]  # by name, all of one length


def write_csv_table(file: IO[bytes], blocks: Iterable[Columns], delimiter: str = ",") -> None:
    """Writes blocks of the same columns, one below the other."""
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    out = csv_writer(text, delimiter)
    for n, block in enumerate(blocks):
        if n == 0:
            out.writerow(block)
        out.writerows([_cell(value) for value in row] for row in zip(*block.values()))
    text.flush()
    text.detach()


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def write_parquet_table(file: IO[bytes], blocks: Iterable[Columns]) -> None:
    """The same as Parquet."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'topmix[parquet]'") from error
    tables = (pa.table({name: _whole(values) for name, values in block.items()}) for block in blocks)
    first = next(tables)
    with pq.ParquetWriter(file, first.schema) as writer:
        for table in itertools.chain([first], tables):
            writer.write_table(table)


def _whole(values: Sequence[object] | np.ndarray) -> Sequence[object] | np.ndarray:
    """Texts without halves of letters, which Parquet cannot hold."""
    if isinstance(values, np.ndarray):
        return values
    return [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values]
