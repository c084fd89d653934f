"""`topmix topics`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from topmix.cli.command import (
    AsJson,
    ModelFile,
    Seed,
    Threads,
    app_of,
    fraction,
    number,
    one_line_errors,
    print_json,
    tell,
)
from topmix.cli.models import load_model
from topmix.fitted.names import RELEVANCE
from topmix.views.describe import describe_model, model_table
from topmix.views.model import is_topic_model

SHOWN = 40


def topics(
    model: ModelFile,
    words: Annotated[int, number("-n", "--words", help="Words to show of each topic.", min=1)] = 10,
    relevance: Annotated[
        float,
        fraction(
            help="1 sorts words by their probability in the topic; a smaller value prefers words that are rare in "
            "other topics.",
            min=0.0,
            max=1.0,
        ),
    ] = RELEVANCE,
    show_all: Annotated[bool, typer.Option("--all", help=f"Print all topics, not only the largest {SHOWN}.")] = False,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Show the topics of a model: their sizes and their words.

    The largest topic comes first, and topics that are hardly worth reading come last and say why. The number of a topic
    is its row in components_. JSON has all topics.

    \b
    topmix topics model
    topmix topics model --relevance 1 -n 15 --all
    topmix topics model --json | jq -r '.topics[0].words[]'
    """  # fmt: skip
    with one_line_errors():
        found = load_model(model, threads, with_groups=True)
        if is_topic_model(found) and found._found().reading.words is None:
            tell("the model was fitted on counts without names, so numbers of columns stand for words")
        if as_json:
            print_json({"model": str(model), **describe_model(found, n_words=words, relevance=relevance)})
            return
        console = Console()
        shown = None if show_all else SHOWN
        table = model_table(found, console.width, n_words=words, n_shown=shown, relevance=relevance)
        console.print(table)
        K = describe_model(found, n_words=1)["n_components"]
        if table.row_count < K:
            console.print(f"\nThese are {table.row_count} of {K}; --all prints all.", highlight=False)


app = app_of(topics)
