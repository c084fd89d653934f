"""Options made from signatures and docstrings, so that the command cannot say something else than the library.

A parameter becomes `--its-name`; its help is the first sentence of its numpydoc description, with its default. An
option that is not given is not passed on, and so has the library's default, whatever that is.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import NoneType
from typing import Annotated, Any

import typer

SHORT = {"n_components": ["-k"], "n_active": ["-L"]}
CHOICES = re.compile(r"\{([^}]*)\}")


@dataclass(frozen=True)
class Flag:
    """One parameter as an option."""

    name: str
    hint: Any  # its annotation
    default: Any
    kind: str  # what the docstring has after the colon
    text: str  # its description

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def choices(self) -> list[str]:
        found = CHOICES.search(self.kind)
        return re.findall(r'"([^"]+)"', found[1]) if found else []

    @property
    def metavar(self) -> str:
        kinds = set(typing.get_args(self.hint) or [self.hint]) - {NoneType}
        if self.choices:
            return "|".join(self.choices)
        if typing.get_origin(self.hint) is tuple:
            return "N,N"
        return "N" if kinds == {int} else "X" if kinds <= {int, float} else "VALUE"

    @property
    def help(self) -> str:
        unset = self.default is None or self.default is inspect.Parameter.empty
        default = "" if unset else f"[{said(self.default)}]"
        return f"{gist(self.text)} {default}".strip()

    def parse(self, given: Any) -> Any:
        """The value that an argument of the command line stands for."""
        if not isinstance(given, str):
            return given
        kinds = typing.get_args(self.hint) or (self.hint,)
        if given.lower() == "none" and (NoneType in kinds or self.hint is Any):
            return None
        for kind in (int, float) if typing.get_origin(self.hint) is not tuple else ():
            if kind in kinds or self.hint is Any:
                try:
                    return kind(given)
                except ValueError:
                    pass
        if str in kinds or self.hint is Any:
            return given
        if typing.get_origin(self.hint) is tuple and re.fullmatch(r"\d+,\d+", given):
            return tuple(int(part) for part in given.split(","))
        wanted = {"N": "a whole number", "N,N": "two whole numbers with a comma"}.get(self.metavar, "a number")
        or_none = " or none" if NoneType in kinds else ""
        raise typer.BadParameter(f"{given!r} is not {wanted}{or_none}", param_hint=self.option)


def flags_of(function: Callable[..., Any], doc: str | None = None, leave_out: Iterable[str] = ()) -> dict[str, Flag]:
    """The parameters of a function or class that can be said in a word, by name."""
    call = function.__init__ if inspect.isclass(function) else function
    hints = typing.get_type_hints(call)
    described = descriptions(doc or inspect.getdoc(function) or "")
    return {
        name: Flag(name, hints.get(name, Any), p.default, *described.get(name, ("", "")))
        for name, p in inspect.signature(call).parameters.items()
        if name not in ("self", *leave_out) and p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    }


def descriptions(doc: str) -> dict[str, tuple[str, str]]:
    """{parameter: (type, description)} from the Parameters section of a numpydoc docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", doc, re.MULTILINE | re.DOTALL)
    found: dict[str, tuple[str, str]] = {}
    for entry in re.finditer(
        r"^(\w[\w, ]*?)(?: : ([^\n]*))?\n((?:[ \t]+[^\n]*\n?|\n)*)", section[1] if section else "", re.MULTILINE
    ):
        for name in entry[1].split(","):
            found[name.strip()] = (entry[2] or "", " ".join(entry[3].split()))
    return found


def gist(text: str) -> str:
    """The first sentence of a description, and what it says of None."""
    sentences = re.split(r"(?<=[^.]\.)\s", text)
    return " ".join([sentences[0], *(s for s in sentences[1:] if re.match("None\\b", s))])


def said(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def with_flags(groups: Mapping[str, Iterable[Flag]], defaults: Mapping[str, str] | None = None) -> Callable[..., Any]:
    """Gives a command that takes **settings an option for each flag, under the heading of its group.

    Settings arrive parsed, and only those that were given. `defaults` says what the command itself does without an
    option, where that is not the library's default.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        flags = {flag.name: flag for group in groups.values() for flag in group}

        @wraps(command)
        def run(**given: Any) -> Any:
            settings = {n: flags[n].parse(given.pop(n)) for n in flags if given.get(n) is not None}
            return command(**{n: v for n, v in given.items() if n not in flags}, **settings)

        own = typing.get_type_hints(command, include_extras=True)
        parameters = [
            p.replace(annotation=own[name])
            for name, p in inspect.signature(command).parameters.items()
            if p.kind != p.VAR_KEYWORD
        ]
        for heading, group in groups.items():
            for flag in group:
                hint = _annotation(flag, heading, (defaults or {}).get(flag.name))
                parameters.append(
                    inspect.Parameter(flag.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
                )
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _annotation(flag: Flag, heading: str, default: str | None) -> Any:
    text = flag.help if default is None else f"{gist(flag.text)} [{default}]"
    settings: dict[str, Any] = {"help": text, "rich_help_panel": heading, "show_default": False}
    if flag.hint is bool:
        names = [f"{flag.option}/--no-{flag.option[2:]}"]
        return Annotated[bool | None, typer.Option(*names, **settings)]
    names = [flag.option, *SHORT.get(flag.name, [])]
    if flag.choices:
        settings["autocompletion"] = lambda: flag.choices
    return Annotated[str | None, typer.Option(*names, metavar=flag.metavar, **settings)]
