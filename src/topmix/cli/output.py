"""Where output goes: results to stdout, messages to stderr."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

import typer

PARAMETER = r"\b([a-z]+(?:_[a-z]+)*)="


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
        return "--" + found[1].replace("_", "-")

    text = re.sub(PARAMETER + r"""(['"])([\w+.-]+)\2""", lambda found: f"{option(found)} {found[3]}", text)
    text = re.sub(PARAMETER + r"None\b", lambda found: f"{option(found)} none", text)
    return re.sub(PARAMETER + r"(?=[\s,;.)]|$)", option, text)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value
