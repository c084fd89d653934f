"""Errors caused by the user's input, and Ctrl-C: one line on stderr and an exit code.

The exit code is 0 (done), 1 (an error), 2 (wrong options) or 130 (Ctrl-C).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from topmix.cli.output import tell

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def _tell_warning(message: Warning | str, *_: object, **__: object) -> None:
    tell(f"warning: {message}")


@contextmanager
def one_line_errors(on_interrupt: str = "stopped by Ctrl-C before there was a result") -> Iterator[None]:
    """Turns errors and warnings of the library into lines on stderr, without a traceback. Other errors are bugs, and
    pass."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # the columns of a file are named
            warnings.showwarning = _tell_warning
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
