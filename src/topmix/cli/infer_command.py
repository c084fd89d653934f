"""`topmix infer`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.console import Console
from sklearn.base import BaseEstimator

from topmix.api.admixture import AdmixtureEstimator
from topmix.cli.command import (
    Documents,
    Groups,
    ModelFile,
    Seed,
    Threads,
    app_of,
    check_output,
    file,
    note,
    number,
    one_line_errors,
    print_json,
)
from topmix.cli.flags import Settings, with_flags
from topmix.cli.models import load_model
from topmix.cli.sources import READ_GROUPS, read_for, takes_counts
from topmix.cli.vectors import vectors_at
from topmix.data.atomic import atomic_write
from topmix.data.rows import GroupedRows
from topmix.export.tables import Columns, write_csv_table, write_parquet_table
from topmix.fitting.progress import in_short
from topmix.views.model import proportions

BLOCK_ROWS = 1 << 14
STANDARD_OUTPUT = Path("-")
FORMATS = ("jsonl", "csv", "tsv", "parquet")
SUFFIXES = {f".{name}": name for name in FORMATS} | {".ndjson": "jsonl", ".json": "jsonl"}


class Shares(NamedTuple):
    """Topic shares of some documents."""

    names: list[str]
    shares: np.ndarray  # [documents, K]
    n_unknown: float = 0  # tokens
    n_empty: int = 0  # documents


@with_flags(READ_GROUPS)
def infer(
    model: ModelFile,
    source: Documents,
    groups: Groups = None,
    output: Annotated[Path, file("-o", "--output", help="The file to write; - is standard output.")] = STANDARD_OUTPUT,
    to: Annotated[
        str | None,
        typer.Option(
            help=f"Format: {', '.join(FORMATS)}. If not given, the name of the file decides.", metavar="FORMAT"
        ),
    ] = None,
    top: Annotated[int | None, number(help="Write only the N largest topics of a document.", min=1)] = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary of what was written as JSON.")] = False,
    **settings: object,
) -> None:
    """Write the share of each topic in documents.

    There is one row per document, in the order of the documents: its name, and shares that sum to one. Texts are
    tokenized as for the fit; words that the model does not know are left out. Documents are read and rows written in
    blocks, so there may be any number of them.

    \b
    topmix infer model docs/ -o theta.jsonl         {"id": "a.txt", "theta": [0.9, 0.1]}
    topmix infer model docs/ -o theta.csv           id,topic_0,topic_1
    topmix infer model docs.csv --top 3             {"id": "1", "topics": [[0, 0.9], ...]}
    cat texts.txt | topmix infer model - | head
    topmix infer model vectors.parquet --groups image    {"id": "a.png", "theta": [0.9, 0.1]}
    """
    with one_line_errors("stopped by Ctrl-C; nothing was written"):
        found = load_model(model, threads, with_groups=True)
        if output != STANDARD_OUTPUT:
            check_output(output)
        elif as_json:
            raise typer.BadParameter(
                "the summary and the rows would both go to standard output: give -o FILE as well", param_hint="--json"
            )
        n_docs = n_empty = 0
        n_unknown: float = 0
        began, quiet = time.perf_counter(), output == STANDARD_OUTPUT  # the rows show the progress
        with Console(stderr=True, quiet=quiet).status("Reading ...") as status:

            def counted() -> Iterator[Shares]:
                nonlocal n_docs, n_unknown, n_empty
                for block in _blocks(found, source, settings, groups):
                    yield block
                    n_docs += len(block.names)
                    n_unknown += block.n_unknown
                    n_empty += block.n_empty
                    speed = in_short(n_docs / max(time.perf_counter() - began, 1e-9))
                    status.update(f"{n_docs:,} documents, {speed}/s")

            write_shares(counted(), output, to, top)
        if as_json:
            print_json({"output": str(output), "n_docs": n_docs, "n_unknown_tokens": n_unknown, "n_empty": n_empty})
        else:
            note(
                f"{n_docs:,} documents; {n_unknown:,} tokens are not in the vocabulary of the model"
                + (f"; {n_empty:,} documents have no known word and get the prior" if n_empty else "")
            )


def _blocks(model: BaseEstimator, source: Path, settings: Settings, groups: str | None) -> Iterator[Shares]:
    if isinstance(model, AdmixtureEstimator):
        grouped = vectors_at(source, settings, groups=groups).rows(model)
        assert isinstance(grouped, GroupedRows)
        yield Shares([str(name) for name in np.asarray(grouped.names)], model.transform(grouped))
        return
    if not takes_counts(model):
        table = vectors_at(source, settings).rows(model)
        for begin in range(0, len(table), BLOCK_ROWS):
            rows = table[begin : begin + BLOCK_ROWS]
            yield Shares([str(begin + d) for d in range(len(rows))], proportions(model, rows))
        return
    n = 0
    for corpus, unknown in read_for(model, source, settings):
        for begin in range(0, corpus.n_docs, BLOCK_ROWS):
            part = corpus[begin : begin + BLOCK_ROWS]
            names = [str(n + d) for d in range(part.n_docs)] if part.names is None else list(part.names)
            n_empty = int((part.indptr[1:] == part.indptr[:-1]).sum())
            yield Shares(names, proportions(model, part), unknown if begin == 0 else 0, n_empty)
            n += part.n_docs


def write_shares(blocks: Iterable[Shares], path: Path, format: str | None, top: int | None) -> None:
    """Writes blocks one below the other. The file appears when all blocks are written, or not at all."""
    kind = format or (SUFFIXES.get(path.suffix.lower()) if path != STANDARD_OUTPUT else "jsonl")
    if kind not in FORMATS:
        raise ValueError(f"{path}: choose a format with --to: {', '.join(FORMATS)}")
    if kind == "parquet" and path == STANDARD_OUTPUT:
        raise ValueError("Parquet cannot go to standard output: give -o FILE")
    with nullcontext(sys.stdout.buffer) if path == STANDARD_OUTPUT else atomic_write(path) as file:
        if kind == "jsonl":
            for block in blocks:
                file.writelines(_json_lines(block, top))
        elif kind == "parquet":
            write_parquet_table(file, (_lists(block, top) for block in blocks))
        else:
            write_csv_table(file, (_cells(block, top) for block in blocks), "\t" if kind == "tsv" else ",")
        file.flush()


def _json_lines(block: Shares, top: int | None) -> Iterator[bytes]:
    for name, row in zip(block.names, block.shares):
        if top is None:
            cells = '"theta": [' + ", ".join(map("%.6g".__mod__, row.tolist())) + "]"
        else:
            cells = '"topics": [' + ", ".join(f"[{k}, {row[k]:.6g}]" for k in _largest(row[None], top)[0]) + "]"
        yield f'{{"id": {json.dumps(name, ensure_ascii=False)}, {cells}}}\n'.encode(errors="replace")


def _cells(block: Shares, top: int | None) -> Columns:
    """For CSV: id, topic_0, topic_1, ...; with `top`, id, best_1, share_1, best_2, ..."""
    if top is None:
        return {"id": block.names} | {f"topic_{k}": shares for k, shares in enumerate(block.shares.T.tolist())}
    best = _largest(block.shares, top)
    shares = np.take_along_axis(block.shares, best, axis=1)
    pairs = enumerate(zip(best.T.tolist(), shares.T.tolist()), 1)
    columns = {f"{what}_{n}": column for n, pair in pairs for what, column in zip(("best", "share"), pair)}
    return {"id": block.names, **columns}


def _lists(block: Shares, top: int | None) -> Columns:
    """For Parquet: id, and theta, a list of K shares; with `top`, lists of topics and of their shares."""
    shares = block.shares.astype(np.float32)
    if top is None:
        return {"id": block.names, "theta": list(shares)}
    best = _largest(block.shares, top).astype(np.int32)
    return {"id": block.names, "topics": list(best), "shares": list(np.take_along_axis(shares, best, axis=1))}


def _largest(shares: np.ndarray, top: int) -> np.ndarray:
    """[documents, top] topics, the largest first."""
    return np.argsort(-shares, axis=1, kind="stable")[:, :top]


app = app_of(infer)
