"""The command `topmix`.

A command is a function with typed options and a docstring that teaches; its work lives elsewhere in the library.
Commands share their manners: `--json`, `--seed` and `--threads` mean the same everywhere, results go to stdout and
everything else to stderr, and the exit code is 0 (done), 1 (could not), 2 (asked wrongly) or 130 (Ctrl-C).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console

import topmix

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
HELP = """Topics and mixtures, fast.

\b
topmix demo                 topics of the documentation on this machine, in seconds
topmix demo --topics 10     fewer and broader topics
topmix demo --json          the same for programs
topmix COMMAND --help       what a command does, and its options

\b
From Python:
    from topmix import LDA
    from topmix.data import from_texts
    LDA(n_components=50).fit(from_texts(texts)).top_words()
"""

app = typer.Typer(
    name="topmix",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: it wraps paragraphs and can be read in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option(help="Random seed: the same seed gives the same result.", min=0, metavar="N")]
Threads = Annotated[
    int | None, typer.Option(help="Threads to use, all cores if not given. The result is the same.", min=1, metavar="N")
]


@app.callback(invoke_without_command=True)
def topmix_command(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        typer.echo(f"topmix {topmix.__version__}")
        raise typer.Exit


@app.command()
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
    from topmix.demo import learn_demo, show_demo

    with manners():
        result = learn_demo(n_topics=topics, n_passes=passes, n_words=words, seed=seed, threads=threads)
        if as_json:
            print_json(result.to_dict())
        else:
            show_demo(result, Console(), n_shown=show)
        if result.interrupted:
            raise typer.Exit(INTERRUPTED)


@contextmanager
def manners() -> Iterator[None]:
    """Faults that a user can mend are one line on stderr, not a traceback; Ctrl-C is a line too."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("topmix: stopped by Ctrl-C before there was anything to show", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        typer.echo(f"topmix: {error}", err=True)
        raise typer.Exit(1) from error


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def main() -> None:
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a letter shows another one
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()
