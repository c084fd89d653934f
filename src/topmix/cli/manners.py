"""What commands share: options that mean the same everywhere, where output goes, and how faults are told.

Results go to stdout and everything else to stderr. The exit code is 0 (done), 1 (could not), 2 (asked wrongly) or 130
(Ctrl-C).
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

INTERRUPTED = 130  # 128 + SIGINT, as shells have it

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option(help="Random seed: the same seed gives the same result.", min=0, metavar="N")]
Threads = Annotated[
    int | None, typer.Option(help="Threads to use, all cores if not given. The result is the same.", min=1, metavar="N")
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `topmix fit -o MODEL` writes it.")]
Documents = Annotated[
    Path,
    typer.Argument(
        metavar="DOCS",
        help="A folder of text files; a CSV, TSV, JSON lines or text file; a saved corpus; any format of counts.",
    ),
]


class Sections(TyperCommand):
    """Help with options under headings, as their `rich_help_panel` says, in a list that can be read in a pipe."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = getattr(parameter, "rich_help_panel", None) or default
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=28)


def app_of(function: Callable[..., Any]) -> typer.Typer:
    """A command of one function; its faults are told as `manners` does."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)
    app.command(cls=Sections, context_settings={"help_option_names": ["-h", "--help"]})(function)
    return app


@contextmanager
def manners(on_interrupt: str = "stopped by Ctrl-C before there was anything to show") -> Iterator[None]:
    """Faults that a user can mend are one line on stderr, not a traceback; Ctrl-C is a line too."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # rows of a file have their order
            yield
    except KeyboardInterrupt:
        tell(on_interrupt)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise
    except MemoryError as error:
        tell(f"there is not enough memory for this: {error}")
        raise typer.Exit(1) from error
    except OSError as error:
        tell(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
        raise typer.Exit(1) from error
    except (ImportError, ValueError) as error:
        tell(str(error))
        raise typer.Exit(1) from error


def tell(text: str) -> None:
    """A line for the person, not for the program that reads stdout. The library's `pattern=` is `--pattern` here."""
    text = re.sub(r"\b([a-z]+(?:_[a-z]+)*)=(?=[\s,;.)]|$)", lambda name: "--" + name[1].replace("_", "-"), text)
    typer.echo(f"topmix: {text}", err=True)


def note(text: str) -> None:
    """The same, where a person watches."""
    if sys.stderr.isatty():
        tell(text)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: null stands for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value


def load_model(path: Path, threads: int | None = None) -> Any:
    """The model, which will use so many threads."""
    import topmix

    if path.is_dir():
        raise ValueError(f"{path} is a folder; a model is one file, as `topmix fit ... -o FILE` writes it")
    if not path.exists():
        raise ValueError(f"{path}: there is no such model file; `topmix fit ... -o {path}` would write one")
    model = topmix.load(path)
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=threads)
    return model


def check_output(path: Path) -> None:
    """Says now, not after an hour's work, that nothing can be written there."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file to write")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: the folder {path.absolute().parent} does not exist")
