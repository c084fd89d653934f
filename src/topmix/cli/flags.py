"""Options made from signatures and docstrings, so that the command cannot say something else than the library.

The parameter `max_iter` becomes `--max-iter`. The setting `batch_size` of the component `learner` is
`learner__batch_size` in Python and `--learner.batch-size` on the command line. The help of an option is the first
sentence of its numpydoc description, with its default. An option that is not given is not passed on: the default of
the library applies.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from types import NoneType
from typing import Annotated, Any

import typer

from topmix.cli.command import HelpAll

Settings = dict[str, Any]  # options that were given, by the names of parameters, as the library takes them

SHORT = {"n_components": ["-k"], "n_active": ["-L"]}
CHOICES = re.compile(r"\{([^}]*)\}")


@dataclass(frozen=True)
class Flag:
    """One parameter as an option."""

    name: str  # as set_params takes it
    hint: object  # its annotation
    default: object
    text: str = ""  # what --help says of it
    choices: tuple[str, ...] = ()
    is_closed: bool = False  # whether a string must be one of the choices

    @property
    def option(self) -> str:
        return option_of(self.name)

    @property
    def metavar(self) -> str:
        kinds = set(typing.get_args(self.hint) or [self.hint]) - {NoneType}
        if self.choices:
            return "|".join([*self.choices, *(["none"] if NoneType in typing.get_args(self.hint) else [])])
        if typing.get_origin(self.hint) is tuple:
            return "N,N"
        return "N" if kinds == {int} else "X" if kinds <= {int, float} else "VALUE"

    @property
    def help(self) -> str:
        unset = self.default is None or self.default is inspect.Parameter.empty
        return self.text if unset else f"{self.text} [{shown(self.default)}]".strip()

    def parse(self, given: object) -> object:
        """The value that an argument of the command line stands for."""
        if not isinstance(given, str):
            return given
        kinds = typing.get_args(self.hint) or (self.hint,)
        if given.lower() == "none" and (NoneType in kinds or self.hint in (Any, object)):
            return None
        if self.is_closed and given not in self.choices:
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(self.choices)}", param_hint=self.option)
        for kind in (int, float) if typing.get_origin(self.hint) is not tuple else ():
            if kind in kinds or self.hint in (Any, object):
                try:
                    return kind(given)
                except ValueError:
                    pass
        if str in kinds or self.hint in (Any, object):
            return given
        if typing.get_origin(self.hint) is tuple and re.fullmatch(r"\d+,\d+", given):
            return tuple(int(part) for part in given.split(","))
        wanted = {"N": "a whole number", "N,N": "two whole numbers with a comma"}.get(self.metavar, "a number")
        or_none = " or none" if NoneType in kinds else ""
        raise typer.BadParameter(f"{given!r} is not {wanted}{or_none}", param_hint=self.option)


def option_of(name: str) -> str:
    """learner__batch_size -> --learner.batch-size"""
    return "--" + name.replace("__", ".").replace("_", "-")


def flags_of(function: Callable[..., object], leave_out: Iterable[str] = ()) -> dict[str, Flag]:
    """The parameters of a function or class, by name."""
    call = function.__init__ if inspect.isclass(function) else function
    hints = typing.get_type_hints(call)
    described = descriptions(inspect.getdoc(function) or "")
    flags = {}
    for name, p in inspect.signature(call).parameters.items():
        if name not in ("self", *leave_out) and p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            kind, text = described.get(name, ("", ""))
            flags[name] = Flag(name, hints.get(name, Any), p.default, gist(text), choices_in(kind))
    return flags


def merged(flags: Mapping[str, Flag], everyone: Collection[str], *, in_full: bool = True) -> Flag:
    """One option for a parameter that several models or components have; `flags` are theirs, by name.

    Its help is in full, or the first description alone. In full it names those that have the parameter, unless
    `everyone` has it, and gives every description that differs.
    """
    first = next((flag for flag in flags.values() if _is_described(flag)), next(iter(flags.values())))
    texts: dict[str, list[str]] = {}
    defaults: dict[str, list[str]] = {}
    for name, flag in flags.items():
        text = flag.text if in_full and _is_described(flag) else first.text
        texts.setdefault(text, []).append(name)
        defaults.setdefault(shown(flag.default), []).append(name)
    if in_full and (len(texts) > 1 or len(flags) < len(everyone)):
        text = " ".join(f"{', '.join(names)}: {text}" for text, names in texts.items())
    else:
        text = first.text
    default = first.default
    if len(defaults) > 1:
        usual, *others = defaults
        default = f"{usual}; " + ", ".join(f"{', '.join(defaults[value])} {value}" for value in others)
    choices = tuple(dict.fromkeys(choice for flag in flags.values() for choice in flag.choices))
    return replace(first, text=text, default=default, choices=choices)


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


def choices_in(kind: str) -> tuple[str, ...]:
    """{"a", "b"} or None -> a, b"""
    found = CHOICES.search(kind)
    return tuple(re.findall(r'"([^"]+)"', found[1])) if found else ()


def gist(text: str) -> str:
    """The first sentence of a description, and those that say what None means."""
    sentences = re.split(r"(?<=[^.]\.)\s(?![a-z])", text)
    return " ".join([sentences[0], *(s for s in sentences[1:] if re.match("None\\b", s))])


def shown(value: object) -> str:
    """A default as one would type it."""
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else "none" if value is None else str(value)


def with_flags(
    groups: Mapping[str, Iterable[Flag]], defaults: Mapping[str, str] | None = None, main: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command that takes **settings an option for each flag, under the heading of its group.

    `--help` shows the groups in `main`, and `--help-all` shows all of them. Settings arrive parsed, and only those
    that were given. `defaults` tells what the command does without an option where it is not the library's default.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        flags = {flag.name: flag for group in groups.values() for flag in group}

        @wraps(command)
        def run(**given: object) -> None:
            given.pop("help_all")
            settings = {n: flags[n].parse(given.pop(n)) for n in flags if given.get(n) is not None}
            command(**{n: v for n, v in given.items() if n not in flags}, **settings)

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
        parameters.append(
            inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll)
        )
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.more_headings = frozenset(groups) - frozenset(main)  # type: ignore[attr-defined]
        return run

    return decorate


def _is_described(flag: Flag) -> bool:
    return bool(flag.text) and not flag.text.startswith("As in ")


def _annotation(flag: Flag, heading: str, default: str | None) -> object:
    text = flag.help if default is None else f"{flag.text} [{default}]"
    settings: Settings = {"help": text, "rich_help_panel": heading, "show_default": False}
    if flag.hint is bool:
        family, dot, setting = flag.option[2:].rpartition(".")
        return Annotated[bool | None, typer.Option(f"{flag.option}/--{family}{dot}no-{setting}", **settings)]
    names = [flag.option, *SHORT.get(flag.name, [])]
    if flag.choices:
        settings["autocompletion"] = lambda: list(flag.choices)
    return Annotated[str | None, typer.Option(*names, metavar=flag.metavar, **settings)]
