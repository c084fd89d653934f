"""What the commands share: help on two levels, errors in one line, and output.

`--help` shows the usual options, and `--help-all` shows every option. Results go to stdout, messages to stderr. The
exit code is 0 (done), 1 (an error), 2 (wrong options) or 130 (Ctrl-C).
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from topmix.apps.command.options import EVERY_OPTION, FIT, MODEL, Groups, with_flags
from topmix.base.atomic import check_can_write
from topmix.base.checks import THEIRS
from topmix.base.component import each_value, is_special
from topmix.base.paths import is_remote, path_of

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
PARAMETER = r"\b([a-z]+(?:_[a-z]+)*)="
OTHER_NAMES = {"text": "field"}  # of parameters of `fit` that the command has under the name that files have for them
NO_FLAGS: Groups = {}


class Command(TyperCommand):
    """Options stand under headings, as their `rich_help_panel` says, in plain text that can be read in a pipe."""

    more_headings: ClassVar[frozenset[str]] = frozenset()  # shown by --help-all only

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = vars(parameter).get("rich_help_panel") or default
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if heading not in self.more_headings or ctx.meta.get(EVERY_OPTION):
                with formatter.section(heading):
                    formatter.write_dl(records, 28)

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter.__base__ as error:  # type: ignore[misc]
            if "possibilities" in vars(error):  # there is no such option
                wrong, options = error.option_name, {option: p.name for p in self.params for option in p.opts}
                family, dot, _ = wrong.partition(".")
                if (ours := THEIRS.get(wrong.lstrip("-").replace("-", "_"))) is not None:  # another library's name
                    similar = [option for option, name in options.items() if name == ours]
                elif dot:  # --learner.size: every option of learners
                    similar = [option for option in options if option.startswith(family + dot)]
                else:  # --decay: those that end so, such as --learner.decay
                    similar = [option for option in options if option.endswith("." + wrong.lstrip("-"))]
                error.possibilities = similar or error.possibilities
            raise


def app_of(
    function: Callable[..., None],
    interrupted: str = "stopped by Ctrl-C before there was a result",
    flags: Groups = NO_FLAGS,
) -> typer.Typer:
    """An app with one command: see `with_flags`. `--help` shows the usual groups of flags, and `--help-all` shows all.
    Ctrl-C ends it with the message `interrupted`. Errors and warnings of the library become lines on stderr, without a
    traceback; other errors are bugs, and pass."""
    kind = type("Command", (Command,), {"more_headings": frozenset(flags) - {MODEL, FIT}})
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)

    @wraps(with_options := with_flags(function, flags))
    def run(**values: object) -> None:
        try:
            with warnings.catch_warnings():
                # The columns of a file are named, and those of a model may not be.
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                warnings.showwarning = lambda message, *_, **__: tell(f"warning: {message}")
                with_options(**{n: path_of(v) if isinstance(v, Path) else v for n, v in values.items()})
        except KeyboardInterrupt:
            tell(interrupted)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except (MemoryError, OSError, ImportError, ValueError) as error:
            if isinstance(error, MemoryError):
                tell(f"not enough memory: {error}")
            elif isinstance(error, OSError) and error.filename and error.strerror:
                tell(f"{error.filename}: {error.strerror}")
            else:
                tell(str(error))
            raise typer.Exit(1) from error

    app.command(cls=kind, context_settings={"help_option_names": ["-h", "--help"]})(run)
    return app


def check_output(path: Path) -> None:
    """Raises ValueError or OSError before the work begins if the file cannot be written."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file to write")
    if not is_remote(path) and not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: the folder {path.absolute().parent} does not exist; make it first")
    check_can_write(path)


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
    """JSON has no NaN and no infinity: they become null."""
    finite = each_value(value, lambda leaf: None if is_special(leaf) else leaf)
    typer.echo(json.dumps(finite, indent=2, ensure_ascii=False, allow_nan=False))
