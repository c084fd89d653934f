"""`topmix explore` and `topmix report`: pages about a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from topmix.apps.command import options
from topmix.apps.command.command import app_of, check_output, print_json, tell
from topmix.apps.command.documents import READ_GROUPS, read_data, read_to_show
from topmix.apps.command.models import load_model
from topmix.apps.report import write_report

if TYPE_CHECKING:  # it needs starlette
    from topmix.apps.explorer import Explorer


def explore(
    model: options.ModelFile,
    corpus: options.Shown = None,
    texts: options.Texts = None,
    groups: options.GroupOfRows = None,
    column: options.Columns = None,
    held_out: Annotated[Path | None, options.docs(help="Documents that edits are scored by.")] = None,
    title: options.Title = None,
    port: options.Port = 0,
    browser: options.Browser = True,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
    **settings: object,
) -> None:
    """Look into a model in a browser, edit it, and learn on.

    The page is served on this machine alone, at an address with a secret in it. It has the topics, the documents with
    the topic of each word, edits with their effect, undo, and files to share. The model file stays as it is: edits are
    kept in MODEL.session, and the next `topmix explore` goes on from there.

    \b
    topmix explore model
    topmix explore model --corpus docs/
    topmix explore model --corpus reviews.csv --field body --column date --column author
    topmix explore model --corpus sentences.parquet --texts sentence --groups paper

    Ctrl-C ends it.
    """
    import topmix.apps.web  # noqa: F401 - first: it says which packages are missing
    from topmix.apps.explorer import explore as open_explorer

    found = load_model(model, threads)
    with Console(stderr=True).status("Reading the documents ..."):
        documents, their_texts, columns = read_to_show(found, corpus, column or (), settings, texts, groups)
        unseen = None if held_out is None else read_data(found, held_out, settings).X
        explorer = open_explorer(
            found, documents, texts=their_texts, columns=columns, held_out=unseen, path=model,
            title=title or model.stem, port=port, browser=False
        )  # fmt: skip
    explorer.session.seed = seed
    if as_json:
        print_json({"url": explorer.url, "port": explorer.server.port})
    with explorer.until_interrupt():
        serve(explorer, browser)


def serve(explorer: Explorer, browser: bool) -> None:
    """Says the address, and waits for Ctrl-C."""
    tell(f"the explorer is at {explorer.url} (Ctrl-C ends it)")
    if browser:
        explorer.open_browser()
    explorer.wait()


explore_app = app_of(explore, "stopped by Ctrl-C before the explorer was ready", READ_GROUPS)


def report(
    model: options.ModelFile,
    output: Annotated[Path, options.file("-o", "--output", help="The HTML file to write.")],
    corpus: options.Shown = None,
    texts: options.Texts = None,
    groups: options.GroupOfRows = None,
    column: options.Columns = None,
    title: options.Title = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
    **settings: object,
) -> None:
    """Write one HTML page that explains a model.

    The page has the topics with their words and sizes, a map of the topics, the top documents of each topic, the topics
    of each word, the training curve and the settings. It is one file that loads nothing else, so it can be mailed.

    \b
    topmix report model -o report.html
    topmix report model -o report.html --corpus reviews.csv --field body --column date --column author
    topmix report model -o report.html --corpus sentences.parquet --texts sentence --groups paper
    """
    check_output(output)
    found = load_model(model, threads)
    with Console(stderr=True).status("Writing the report ..."):
        documents, their_texts, columns = read_to_show(found, corpus, column or (), settings, texts, groups)
        write_report(found, output, documents, texts=their_texts, columns=columns, title=title or model.stem)
    if as_json:
        print_json({"output": str(output), "bytes": output.stat().st_size})
    elif output.is_file():
        size = output.stat().st_size / 1e6
        Console().print(f"Wrote {output} ({size:.1f} MB): open it in a browser.", highlight=False)


report_app = app_of(report, "stopped by Ctrl-C; nothing was written", READ_GROUPS)
