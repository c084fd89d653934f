"""`topmix explore`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    number,
    one_line_errors,
    print_json,
    tell,
)
from topmix.cli.flags import with_flags
from topmix.cli.models import load_model
from topmix.cli.sources import READ_GROUPS, read_all_for
from topmix.cli.vectors import read_to_show
from topmix.data import Corpus

if TYPE_CHECKING:  # it needs starlette
    from topmix.explorer import Explorer

Port = Annotated[int, number(help="Port to listen at; 0 takes one that is free.", min=0, max=65535)]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")]


@with_flags(READ_GROUPS)
def explore(
    model: ModelFile,
    corpus: Annotated[
        Path | None,
        typer.Option(help="Documents, such as the training documents: to read, and to learn on.", metavar="DOCS"),
    ] = None,
    texts: Texts = None,
    groups: Groups = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of the documents, such as a date or an author, to search and to group by. May be repeated.",
            metavar="NAME",
        ),
    ] = None,
    held_out: Annotated[Path | None, typer.Option(help="Documents that edits are scored by.", metavar="DOCS")] = None,
    other: Annotated[
        Path | None,
        typer.Option(help="Another model file, to show corresponding topics side by side.", metavar="MODEL"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.", metavar="TEXT")] = None,
    port: Port = 0,
    browser: Browser = True,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
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
    topmix explore model --corpus vectors.npy --texts titles.csv
    topmix explore model --corpus sentences.parquet --texts sentence --groups paper

    Ctrl-C ends it.
    """
    with one_line_errors("stopped by Ctrl-C before the explorer was ready"):
        from topmix.explorer import explore as open_explorer

        found = load_model(model, threads, with_groups=True)
        with Console(stderr=True).status("Reading the documents ..."):
            documents, their_texts, columns = read_to_show(found, corpus, column or (), settings, texts, groups)
            unseen = None if held_out is None else read_all_for(found, held_out, dict(settings)).corpus
            explorer = open_explorer(
                found, documents, texts=their_texts, columns=columns, held_out=unseen, other=other, path=model,
                title=title or model.stem, port=port, browser=False,
            )  # fmt: skip
        explorer.session.seed = seed
        if as_json:
            print_json({"url": explorer.url, "port": explorer.server.port})
    with until_interrupt(explorer):
        serve(explorer, browser)


def serve(explorer: Explorer, browser: bool) -> None:
    """Says the address, and waits for Ctrl-C."""
    tell(f"the explorer is at {explorer.url} (Ctrl-C ends it)")
    if browser:
        explorer.open_browser()
    explorer.wait()


@contextmanager
def until_interrupt(explorer: Explorer) -> Iterator[None]:
    """Ctrl-C is the ordinary end of what is done inside, at any moment of it. Then the explorer is closed."""
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        explorer.close()


def open_session(
    corpus: Corpus,
    texts: Iterable[str] | None,
    title: str,
    port: int,
    columns: Mapping[str, Sequence[object]] | None = None,
) -> Explorer:
    """An explorer for a fit that is about to begin."""
    from topmix.explorer import Explorer, Library, Session

    words = corpus.vocabulary or [str(v) for v in range(corpus.n_words)]
    session = Session(Library(corpus, [str(word) for word in words], texts, columns), title)
    session.busy = "fit"  # before anybody asks: a page that comes before the first pass waits for it
    return Explorer(session, port=port).start()


app = app_of(explore)
