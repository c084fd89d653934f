"""Writers for rows of topic shares: JSON lines, CSV, TSV or Parquet, block by block."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from topmix.data.atomic import atomic_write
from topmix.data.textfile import csv_writer

Rows = np.ndarray  # [documents, K]
Write = Callable[[Sequence[str], Rows], None]
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}


@contextmanager
def open_writer(path: Path, format: str | None, top: int | None) -> Iterator[Write]:
    """A function that writes a block of rows. The file appears when all blocks are written, or not at all."""
    kind = format or (SUFFIXES.get(path.suffix.lower()) if str(path) != "-" else "jsonl")
    if kind not in WRITERS:
        raise ValueError(f"{path}: choose a format with --to: {', '.join(WRITERS)}")
    if str(path) != "-":
        with atomic_write(path) as file, WRITERS[kind](file, top) as write:
            yield write
    elif kind == "parquet":
        raise ValueError("Parquet cannot go to standard output: give -o FILE")
    else:
        with WRITERS[kind](sys.stdout.buffer, top) as write:
            yield write
        sys.stdout.buffer.flush()


@contextmanager
def _jsonl(file: IO[bytes], top: int | None) -> Iterator[Write]:
    def write(names: Sequence[str], rows: Rows) -> None:
        for name, row in zip(names, rows):
            if top is None:
                cells = '"theta": [' + ", ".join(map("%.6g".__mod__, row.tolist())) + "]"
            else:
                cells = '"topics": [' + ", ".join(f"[{k}, {row[k]:.6g}]" for k in _largest(row, top)) + "]"
            file.write(f'{{"id": {json.dumps(name, ensure_ascii=False)}, {cells}}}\n'.encode(errors="replace"))

    yield write


@contextmanager
def _csv(file: IO[bytes], top: int | None, delimiter: str = ",") -> Iterator[Write]:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="", write_through=True)
    out = csv_writer(text, delimiter)
    state = {"header": False}

    def write(names: Sequence[str], rows: Rows) -> None:
        if not state["header"]:
            K = rows.shape[1]
            pairs = [f"{what}_{n + 1}" for n in range(min(top or 0, K)) for what in ("best", "share")]
            out.writerow(["id", *([f"topic_{k}" for k in range(K)] if top is None else pairs)])
            state["header"] = True
        for name, row in zip(names, rows):
            if top is None:
                out.writerow([name, *map("%.6g".__mod__, row.tolist())])
            else:
                out.writerow([name, *(cell for k in _largest(row, top) for cell in (k, f"{row[k]:.6g}"))])

    yield write
    text.detach()


@contextmanager
def _tsv(file: IO[bytes], top: int | None) -> Iterator[Write]:
    with _csv(file, top, "\t") as write:
        yield write


@contextmanager
def _parquet(file: IO[bytes], top: int | None) -> Iterator[Write]:
    """Columns id and theta, a list of K shares; with `top`, columns id, topics and shares."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'topmix[parquet]'") from error
    columns: dict[str, Any] = {"id": pa.string(), "theta": pa.list_(pa.float32())}
    if top is not None:
        columns = {"id": pa.string(), "topics": pa.list_(pa.int32()), "shares": pa.list_(pa.float32())}
    schema = pa.schema(columns.items())
    with pq.ParquetWriter(file, schema) as writer:

        def write(names: Sequence[str], rows: Rows) -> None:
            if top is None:
                data: list[Any] = [list(names), list(rows.astype(np.float32))]
            else:
                best = [_largest(row, top) for row in rows]
                data = [list(names), best, [row[ids].astype(np.float32) for row, ids in zip(rows, best)]]
            arrays = [pa.array(a, field.type) for a, field in zip(data, schema)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))

        yield write


def _largest(row: np.ndarray, top: int) -> list[int]:
    return np.argsort(-row, kind="stable")[:top].tolist()


WRITERS: dict[str, Any] = {"jsonl": _jsonl, "csv": _csv, "tsv": _tsv, "parquet": _parquet}
