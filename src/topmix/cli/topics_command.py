"""`topmix topics`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from topmix.cli.manners import AsJson, ModelFile, Seed, Threads, app_of, load_model, manners, print_json
from topmix.views.summary import describe_model, model_table

SHOWN = 40


def topics(
    model: ModelFile,
    words: Annotated[int, typer.Option("-n", "--words", help="Words to show of each topic.", min=1, metavar="N")] = 10,
    relevance: Annotated[
        float,
        typer.Option(
            help="1 orders words by their probability in the topic; less prefers words that other topics do not have. "
            "0.6 is a good compromise.",
            min=0.0,
            max=1.0,
            metavar="X",
        ),
    ] = 1.0,
    show_all: Annotated[bool, typer.Option("--all", help=f"Print all topics, not the largest {SHOWN}.")] = False,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Show the topics of a model: their sizes and their words.

    Topics come largest first; their numbers are the rows of components_, in all commands. JSON has all of them.

    \b
    topmix topics model
    topmix topics model --relevance 0.6 -n 15 --all
    topmix topics model --json | jq -r '.topics[0].words[]'
    """  # fmt: skip
    with manners():
        found = load_model(model, threads)
        if as_json:
            print_json({"model": str(model), **describe_model(found, n_words=words, relevance=relevance)})
            return
        console = Console()
        shown = None if show_all else SHOWN
        console.print(model_table(found, console.width, n_words=words, n_shown=shown, relevance=relevance))
        K = describe_model(found, n_words=1)["n_components"]
        if not show_all and K > SHOWN:
            console.print(f"\nThese are the largest {SHOWN} of {K}; --all prints all.", highlight=False)


app = app_of(topics)
