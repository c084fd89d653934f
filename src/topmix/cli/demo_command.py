"""`topmix demo`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from topmix.cli.demo import learn_demo, show_demo
from topmix.cli.manners import INTERRUPTED, AsJson, Seed, Threads, app_of, manners, print_json


def demo(
    topics: Annotated[int, typer.Option(help="Topics to learn.", min=1, metavar="N")] = 40,
    show: Annotated[int, typer.Option(help="Topics to print, largest first. JSON has all.", min=1, metavar="N")] = 20,
    passes: Annotated[int, typer.Option(help="Passes over the documents, at most.", min=1, metavar="N")] = 20,
    words: Annotated[int, typer.Option(help="Words to show of each topic.", min=1, metavar="N")] = 8,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Learn topics from documents that you already have.

    They are the documentation of Python, NumPy, SciPy and scikit-learn as installed on this machine: thousands of
    texts, no download. Finding them takes some ten seconds the first time; learning takes a few.
    """
    with manners():
        result = learn_demo(n_topics=topics, n_passes=passes, n_words=words, seed=seed, threads=threads)
        if as_json:
            print_json(result.to_dict())
        else:
            show_demo(result, Console(), n_shown=show)
        if result.interrupted:
            raise typer.Exit(INTERRUPTED)


app = app_of(demo)
