"""The command `topmix`.

Each command is one function with typed options, in a file `<name>_command.py` or beside a command like it; its
docstring is its help. The library does the work. `options.py` makes options from signatures, `models.py` and
`documents.py` make estimators and data of them, and `command.py` has help, errors and output.

The file of a command is imported when the command is used, so that `topmix --help` answers at once.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

HELP = """Topics and mixtures, fast.

\b
topmix fit docs/ -k 30 -o model     topics of a folder of text files, of a CSV, of JSON lines, of counts
topmix topics model                 the topics: their sizes and words
topmix infer model new/ -o theta.jsonl
                                    the share of each topic in new documents
topmix demo                         topics of the documentation on this machine, in seconds
topmix COMMAND --help               what a command does, and its usual options
topmix COMMAND --help-all           every option of a command

\b
From Python:
    from topmix import LDA
    LDA(n_components=50).fit(texts).top_words()
"""

# In the order of a first session. Each line is the first line of the command's docstring (tests/cli compares them).
COMMANDS = {
    "fit": "Learn topics (or clusters) and save them in a file.",
    "topics": "Show the topics of a model: their sizes and their words.",
    "infer": "Write the share of each topic in documents.",
    "eval": "Score a model on documents, preferably ones it was not fitted on.",
    "sweep": "Find out how many topics to learn.",
    "consensus": "Learn topics that can be relied on: one model of many fits.",
    "serve": "Answer over HTTP: the topics of texts, one at a time, with health and metrics.",
    "explore": "Look into a model in a browser, edit it, and learn on.",
    "report": "Write one HTML page that explains a model.",
    "convert": "Write a corpus in another format, or a model for another program.",
    "demo": "Learn topics from documents that are already on this machine.",
}

FILES = {"demo": "topics", "consensus": "sweep", "report": "explore"}  # of commands beside another one

SHORT = ("topics", "infer", "eval", "demo")
UNUSED = ("scipy.stats", "pandas")


class Deferring:
    """Inside of its block, modules of UNUSED are imported as ones that load themselves when something in them is used.
    scikit-learn imports them for a few functions that short commands never call: half of what these would load."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in UNUSED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)


class Commands(TyperGroup):
    """Lists commands without loading them."""

    def list_commands(self, ctx: object) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: object, name: str) -> Any:
        if name not in COMMANDS:
            return None
        if name not in self.commands:
            with Deferring() if name in SHORT else nullcontext():
                module = importlib.import_module(f"topmix.apps.command.{FILES.get(name, name)}_command")
            self.commands[name] = typer.main.get_command(vars(module)[f"{name}_app"])
            self.commands[name].name = name
        return self.commands[name]

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        names = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}
        self.commands = {**names, **self.commands}  # completion needs only names and first lines of commands
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: object, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=Commands,
    name="topmix",
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text wraps paragraphs and can be read in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def topmix_command(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        import topmix

        typer.echo(f"topmix {topmix.__version__}")
        raise typer.Exit


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a letter that the terminal cannot show becomes "?"
    app()
