"""`topmix report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from topmix.cli.command import (
    AsJson,
    Groups,
    ModelFile,
    Seed,
    Texts,
    Threads,
    app_of,
    check_output,
    file,
    one_line_errors,
    print_json,
)
from topmix.cli.flags import with_flags
from topmix.cli.models import load_model
from topmix.cli.sources import READ_GROUPS
from topmix.cli.vectors import read_to_show
from topmix.report import write_report


@with_flags(READ_GROUPS)
def report(
    model: ModelFile,
    output: Annotated[Path, file("-o", "--output", help="The HTML file to write.")],
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="Documents, such as the training documents: the page shows examples for each topic.", metavar="DOCS"
        ),
    ] = None,
    texts: Texts = None,
    groups: Groups = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="A column beside the texts, such as a date or an author. Repeat for more.", metavar="NAME"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.", metavar="TEXT")] = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
    **settings: object,
) -> None:
    """Write one HTML page that explains a model.

    The page has the topics with their words and sizes, a map of the topics, the top documents of each topic, the topics
    of each word, the training curve and the settings. It is one file that loads nothing else, so it can be mailed.

    \b
    topmix report model -o report.html
    topmix report model -o report.html --corpus docs/
    topmix report model -o report.html --corpus reviews.csv --field body --column date --column author
    topmix report model -o report.html --corpus vectors.npy --texts titles.csv
    topmix report model -o report.html --corpus sentences.parquet --texts sentence --groups paper
    """
    with one_line_errors("stopped by Ctrl-C; nothing was written"):
        check_output(output)
        found = load_model(model, threads, with_groups=True)
        with Console(stderr=True).status("Writing the report ..."):
            documents, their_texts, columns = read_to_show(found, corpus, column or (), settings, texts, groups)
            write_report(found, output, documents, texts=their_texts, columns=columns, title=title or model.stem)
        if as_json:
            print_json({"output": str(output), "bytes": output.stat().st_size})
        elif output.is_file():
            Console().print(
                f"Wrote {output} ({output.stat().st_size / 1e6:.1f} MB): open it in a browser.", highlight=False
            )


app = app_of(report)
