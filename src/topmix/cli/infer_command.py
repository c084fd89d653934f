"""`topmix infer`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from topmix.cli.command import app_of
from topmix.cli.errors import one_line_errors
from topmix.cli.flags import with_flags
from topmix.cli.models import load_model
from topmix.cli.options import Documents, ModelFile, Seed, Threads, check_output
from topmix.cli.output import note, print_json
from topmix.cli.rows import WRITERS, open_writer
from topmix.cli.sources import READ_GROUPS, read_for, read_table, takes_counts
from topmix.fitting.progress import in_short
from topmix.views.model import proportions

BLOCK_ROWS = 1 << 14


@with_flags(READ_GROUPS)
def infer(
    model: ModelFile,
    source: Documents,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The file to write; - is standard output.", metavar="FILE")
    ] = Path("-"),
    to: Annotated[
        str | None,
        typer.Option(
            help=f"Format: {', '.join(WRITERS)}. If not given, the name of the file decides.", metavar="FORMAT"
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Write only the N largest topics of a document.", min=1, metavar="N")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary of what was written as JSON.")] = False,
    **settings: Any,
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
    """
    with one_line_errors("stopped by Ctrl-C; nothing was written"):
        found = load_model(model, threads)
        if str(output) != "-":
            check_output(output)
        elif as_json:
            raise typer.BadParameter(
                "the summary and the rows would both go to standard output: give -o FILE as well", param_hint="--json"
            )
        n_docs = n_unknown = n_empty = 0
        began, quiet = time.perf_counter(), str(output) == "-"  # the rows show the progress
        with open_writer(output, to, top) as write, Console(stderr=True, quiet=quiet).status("Reading ...") as status:
            for names, X, unknown, empty in _blocks(found, source, settings):
                write(names, proportions(found, X))
                n_docs, n_unknown, n_empty = n_docs + len(names), n_unknown + unknown, n_empty + empty
                speed = in_short(n_docs / max(time.perf_counter() - began, 1e-9))
                status.update(f"{n_docs:,} documents, {speed}/s")
        if as_json:
            print_json({"output": str(output), "n_docs": n_docs, "n_unknown_tokens": n_unknown, "n_empty": n_empty})
        else:
            note(
                f"{n_docs:,} documents; {n_unknown:,} tokens are not in the vocabulary of the model"
                + (f"; {n_empty:,} documents have no known word and get the prior" if n_empty else "")
            )


def _blocks(model: Any, source: Path, settings: dict[str, Any]) -> Any:
    if takes_counts(model):
        n = 0
        for corpus, unknown in read_for(model, source, settings):
            for begin in range(0, corpus.n_docs, BLOCK_ROWS):
                part = corpus[begin : begin + BLOCK_ROWS]
                names = [str(n + d) for d in range(part.n_docs)] if part.names is None else list(part.names)
                yield names, part, unknown if begin == 0 else 0, int((part.indptr[1:] == part.indptr[:-1]).sum())
                n += part.n_docs
    else:
        table = read_table(source, settings)
        for begin in range(0, len(table), BLOCK_ROWS):
            rows = table[begin : begin + BLOCK_ROWS]
            yield [str(begin + d) for d in range(len(rows))], rows, 0, 0


app = app_of(infer)
