"""`topmix demo`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from topmix.cli.command import app_of
from topmix.cli.demo import learn_demo, show_demo
from topmix.cli.errors import INTERRUPTED, one_line_errors
from topmix.cli.options import AsJson, Seed, Threads
from topmix.cli.output import print_json


def demo(
    topics: Annotated[int, typer.Option(help="Number of topics to learn.", min=1, metavar="N")] = 40,
    show: Annotated[
        int, typer.Option(help="Topics to print, the largest first. JSON has all of them.", min=1, metavar="N")
    ] = 20,
    passes: Annotated[int, typer.Option(help="Largest number of passes over the documents.", min=1, metavar="N")] = 20,
    words: Annotated[int, typer.Option(help="Words to show of each topic.", min=1, metavar="N")] = 8,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Learn topics from documents that are already on this machine.

    The documents are the installed documentation of Python, NumPy, SciPy and scikit-learn: thousands of texts, no
    download. Reading them takes about ten seconds the first time; learning takes a few seconds.
    """
    with one_line_errors():
        result = learn_demo(n_topics=topics, n_passes=passes, n_words=words, seed=seed, threads=threads)
        if as_json:
            print_json(result.to_dict())
        else:
            show_demo(result, Console(), n_shown=show)
        if result.interrupted:
            raise typer.Exit(INTERRUPTED)


app = app_of(demo)
