"""What the commands share: help on two levels, options that mean the same everywhere, errors in one line, and output.

`--help` shows the usual options, and `--help-all` shows every option. Results go to stdout, messages to stderr. The
exit code is 0 (done), 1 (an error), 2 (wrong options) or 130 (Ctrl-C).
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, ClassVar, Protocol

import typer
from typer.core import TyperCommand

from topmix.data.atomic import check_can_write
from topmix.data.paths import is_remote, path_of
from topmix.parameters.other_names import THEIRS

EVERY_OPTION = "topmix.every_option"  # in the context of the command: whether help shows all headings
_arguments: ContextVar[tuple[str, ...]] = ContextVar("_arguments", default=())
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
PARAMETER = r"\b([a-z]+(?:_[a-z]+)*)="
OTHER_NAMES = {"text": "field"}  # of parameters of `fit` that the command has under the name that files have for them

number, fraction, file = (partial(typer.Option, metavar=name) for name in ("N", "X", "FILE"))  # options by their kind

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, number(help="Random seed: the same seed gives the same result.", min=0)]
Threads = Annotated[
    int | None,
    number(help="Number of threads; all cores if not given. The result is the same.", min=1),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `topmix fit -o MODEL` writes it.")]
Texts = Annotated[
    Path | None,
    typer.Option(
        help="The texts beside vectors, one for each row, that describe clusters: a file, or a column of the table.",
        metavar="DOCS",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        help="The group of each row, for models of groups: a column of the table, or a file with one for each row.",
        metavar="NAME",
        rich_help_panel="More settings",
    ),
]
Documents = Annotated[
    Path,
    typer.Argument(
        metavar="DOCS",
        help="A folder of text files; a CSV, TSV, JSON lines or text file; a saved corpus; any format of counts; or "
        "the URL of one, such as s3://.",
    ),
]


class Formatter(Protocol):
    """Typer's, of which it has no public name."""

    def section(self, name: str, /) -> AbstractContextManager[None]: ...
    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, /) -> None: ...


class Command(TyperCommand):
    """Options stand under headings, as their `rich_help_panel` says, in plain text that can be read in a pipe."""

    more_headings: ClassVar[frozenset[str]] = frozenset()  # shown by --help-all only

    def format_options(self, ctx: typer.Context, formatter: Formatter) -> None:  # type: ignore[override]
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = getattr(parameter, "rich_help_panel", None) or default
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if heading not in self.more_headings or ctx.meta.get(EVERY_OPTION):
                with formatter.section(heading):
                    formatter.write_dl(records, 28)

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        _arguments.set(tuple(args))
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter.__base__ as error:  # type: ignore[misc]
            if hasattr(error, "possibilities"):  # there is no such option
                error.possibilities = self._similar(error.option_name) or error.possibilities
            raise

    def _similar(self, wrong: str) -> list[str]:
        """For --learner.size every option of learners, and for --decay those that end so, such as --learner.decay."""
        options = [option for parameter in self.params for option in parameter.opts]
        theirs = wrong.lstrip("-").replace("-", "_")
        if (ours := THEIRS.get(theirs)) is not None:  # what another library calls it
            return [option for p in self.params if p.name == ours for option in p.opts]
        family, dot, _ = wrong.partition(".")
        if dot:
            return [option for option in options if option.startswith(family + dot)]
        return [option for option in options if option.endswith("." + wrong.lstrip("-"))]


def current_arguments() -> list[str]:
    """Those of the command that runs now, as they were given."""
    return list(_arguments.get())


def _show_every_option(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[EVERY_OPTION] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", help="Show every option and exit.", is_eager=True, callback=_show_every_option),
]


def app_of(function: Callable[..., None]) -> typer.Typer:
    """An app with one command. `more_headings` of the function are those that only --help-all shows."""
    kind = type("Command", (Command,), {"more_headings": getattr(function, "more_headings", frozenset())})
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)

    @wraps(function)
    def with_urls(**given: object) -> None:
        function(**{name: path_of(value) if isinstance(value, Path) else value for name, value in given.items()})

    app.command(cls=kind, context_settings={"help_option_names": ["-h", "--help"]})(with_urls)
    return app


def check_output(path: Path) -> None:
    """Raises ValueError or OSError before the work begins if the file cannot be written."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file to write")
    if not is_remote(path) and not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: the folder {path.absolute().parent} does not exist; make it first")
    check_can_write(path)


def check_output_folder(path: Path) -> None:
    """The same for a folder, which may have to be made."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file; give the name of a folder to write")
    if is_remote(path):
        check_can_write(path / "topmix")
        return
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.is_dir())
    check_can_write(there / "topmix")


@contextmanager
def one_line_errors(on_interrupt: str = "stopped by Ctrl-C before there was a result") -> Iterator[None]:
    """Turns errors and warnings of the library into lines on stderr, without a traceback. Other errors are bugs, and
    pass."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # the columns of a file are named
            warnings.showwarning = lambda message, *_, **__: tell(f"warning: {message}")
            yield
    except KeyboardInterrupt:
        tell(on_interrupt)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise
    except MemoryError as error:
        tell(f"not enough memory: {error}")
        raise typer.Exit(1) from error
    except OSError as error:
        tell(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
        raise typer.Exit(1) from error
    except (ImportError, ValueError) as error:
        tell(str(error))
        raise typer.Exit(1) from error


def tell(text: str) -> None:
    """Prints a message for the person. Parameters that the library names in it become options."""
    typer.echo(f"topmix: {as_options(text)}", err=True)


def note(text: str) -> None:
    """The same, but only on a terminal."""
    if sys.stderr.isatty():
        tell(text)


def as_options(text: str) -> str:
    """learner='batch' -> --learner batch, search=None -> --search none, and pattern= -> --pattern"""

    def option(found: re.Match[str]) -> str:
        return "--" + OTHER_NAMES.get(found[1], found[1]).replace("_", "-")

    text = re.sub(PARAMETER + r"""(['"])([\w+.-]+)\2""", lambda found: f"{option(found)} {found[3]}", text)
    text = re.sub(PARAMETER + r"None\b", lambda found: f"{option(found)} none", text)
    return re.sub(PARAMETER + r"(?=[\s,;.)]|$)", option, text)


def print_json(value: object) -> None:
    typer.echo(json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def finite(value: object) -> object:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value
