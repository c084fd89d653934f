"""The command `topmix`.

A command is a function with typed options and a docstring that teaches, in a file of its own here; its work lives
elsewhere in the library. Commands share their manners (manners.py). A command's file, and what it imports, is loaded
when the command is used: `topmix --help` answers at once.
"""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

HELP = """Topics and mixtures, fast.

\b
topmix fit docs/ -k 30 -o model     topics of a folder of text files, of a CSV, of JSON lines, of counts
topmix topics model                 what was found
topmix infer model new/ -o theta.jsonl
                                    how much of each topic new documents have
topmix eval model held_out/         how good it is
topmix report model -o report.html  a page to explore it
topmix demo                         topics of the documentation on this machine, in seconds
topmix COMMAND --help               what a command does, and its options

\b
From Python:
    from topmix import LDA
    from topmix.data import from_texts
    LDA(n_components=50).fit(from_texts(texts)).top_words()
"""

# In the order of a first session. The lines are those of the commands' own docstrings (tests/cli compares them).
COMMANDS = {
    "fit": "Learn topics (or clusters) and save them in a file.",
    "topics": "Show the topics of a model: their sizes and their words.",
    "infer": "Say how much of each topic documents have.",
    "eval": "Judge a model by documents, best by some that it was not fitted on.",
    "report": "Make one page that explains a model, to open in a browser.",
    "convert": "Write a corpus in another format, or a model for another program.",
    "demo": "Learn topics from documents that you already have.",
}


class Commands(TyperGroup):
    """Lists commands without loading them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        if name not in COMMANDS:
            return None
        if name not in self.commands:
            module = importlib.import_module(f"topmix.cli.{name}_command")
            self.commands[name] = typer.main.get_command(module.app)
            self.commands[name].name = name
        return self.commands[name]

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        stand_ins = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}
        self.commands = {
            **stand_ins,
            **self.commands,
        }  # of the commands, completion asks the names and first lines only
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=Commands,
    name="topmix",
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: it wraps paragraphs and can be read in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def topmix_command(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        import topmix

        typer.echo(f"topmix {topmix.__version__}")
        raise typer.Exit


def main() -> None:
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a letter shows another one
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()
