"""`topmix infer`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from sklearn.base import BaseEstimator

from topmix.apps.command import documents, options
from topmix.apps.command.command import app_of, check_output, note, print_json
from topmix.apps.command.models import load_model
from topmix.apps.export import SHARES, STANDARD_OUTPUT, Shares, write_shares
from topmix.corpus.documents import Document, NamedTexts
from topmix.io.readers import TextFormat, json_document
from topmix.io.reading import How
from topmix.learn.history import in_short
from topmix.selection.views import proportions

STANDARD_INPUT = Path("-")
BLOCK_ROWS = 1 << 14


def infer(
    model: options.ModelFile,
    source: options.Documents,
    groups: options.GroupOfRows = None,
    output: Annotated[
        Path, options.file("-o", "--output", help="The file to write; - is standard output.")
    ] = STANDARD_OUTPUT,
    to: Annotated[
        str | None, options.format(help=f"Format: {', '.join(SHARES)}. If not given, the name of the file decides.")
    ] = None,
    top: Annotated[int | None, options.number(help="Write only the N largest topics of a document.", min=1)] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
    **settings: object,
) -> None:
    """Write the share of each topic in documents.

    There is one row per document, in the order of the documents: its name, and shares that sum to one. Texts are
    tokenized as for the fit; words that the model does not know are left out. Documents are read and rows written in
    blocks, so there may be any number of them. --json prints a summary of what was written.

    \b
    topmix infer model docs/ -o theta.jsonl         {"id": "a.txt", "theta": [0.9, 0.1]}
    topmix infer model docs/ -o theta.csv           id,topic_0,topic_1
    topmix infer model docs.csv --top 3             {"id": "1", "topics": [[0, 0.9], ...]}
    cat texts.txt | topmix infer model - | head
    topmix infer model vectors.parquet --groups image    {"id": "a.png", "theta": [0.9, 0.1]}
    """
    found = load_model(model, threads)
    if output != STANDARD_OUTPUT:
        check_output(output)
    elif as_json:
        raise typer.BadParameter("the rows go to standard output too: give -o FILE as well", param_hint="--json")
    total, began = {"n_docs": 0, "n_unknown_tokens": 0.0, "n_empty": 0}, time.perf_counter()
    with Console(stderr=True, quiet=output == STANDARD_OUTPUT).status("Reading ...") as status:

        def counted() -> Iterator[Shares]:
            for block in _blocks(found, source, settings, groups):
                yield block
                total["n_docs"] += len(block.names)
                total["n_unknown_tokens"] += block.n_unknown
                total["n_empty"] += block.n_empty
                speed = in_short(total["n_docs"] / max(time.perf_counter() - began, 1e-9))
                status.update(f"{total['n_docs']:,} documents, {speed}/s")

        write_shares(counted(), output, to, top)
    if as_json:
        print_json({"output": str(output), **total})
        return
    known = f"{total['n_unknown_tokens']:,} tokens are not in the vocabulary of the model"
    note(f"{total['n_docs']:,} documents, {total['n_empty']:,} of them without a known word; {known}")


def _blocks(model: BaseEstimator, source: Path, settings: options.Settings, groups: str | None) -> Iterator[Shares]:
    """In the columns of the model, in parts. "-" is standard input."""
    n = 0
    if documents.takes_counts(model) and groups is None:
        if source == STANDARD_INPUT:
            how = TextFormat(**{name: value for name, value in settings.items() if name in documents.READING})
            parts = documents.parts_for(model, NamedTexts(_lines(how)), How())
        else:
            at = documents.DocumentsAt.at(source, settings)
            parts = documents.parts_for(model, at.source, at.how)
        for corpus, unknown in parts:
            for begin in range(0, corpus.n_docs, BLOCK_ROWS):
                part = corpus[begin : begin + BLOCK_ROWS]
                names = list(part.names or map(str, range(n, n + part.n_docs)))
                n_empty = int((part.indptr[1:] == part.indptr[:-1]).sum())
                yield Shares(names, proportions(model, part), unknown if begin == 0 else 0, n_empty)
                n += part.n_docs
        return
    rows = documents.read_data(model, source, settings, groups=groups).X
    if rows.groups is not None:
        yield Shares(list(map(str, np.asarray(rows.groups.names))), proportions(model, rows))
        return
    for begin in range(0, len(rows), BLOCK_ROWS):
        block = rows[begin : begin + BLOCK_ROWS]
        yield Shares([str(begin + d) for d in range(len(block))], proportions(model, block))


def _lines(how: TextFormat) -> Iterator[Document]:
    """Of standard input: one text or JSON object each."""
    for n, line in enumerate(sys.stdin, 1):
        if line.lstrip().startswith("{"):
            yield json_document(line, how, f"standard input, line {n}", n)
        else:
            yield str(n), line.rstrip("\n")


infer_app = app_of(infer, "stopped by Ctrl-C; nothing was written", documents.READ_GROUPS)
