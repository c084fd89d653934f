"""Options: those that mean the same in all commands, and those made from signatures and docstrings of the library.

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
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Annotated, Any

import typer

from topmix.estimators.declared import entries_of

Settings = dict[str, Any]  # options that were given, by the names of parameters, as the library takes them
Groups = Mapping[str, Iterable["Flag"]]  # of options, by their heading

# Options by what is typed after them.
number, fraction, file, docs, text, format, time = (
    partial(typer.Option, metavar=name) for name in ("N", "X", "FILE", "DOCS", "NAME", "FORMAT", "TIME")
)

EVERY_OPTION = "topmix.every_option"  # in the context of the command: whether help shows all headings
MODEL, FIT, MORE, PRIORS = "Model", "Fit", "More settings", "Priors"  # headings
ONLY_NAMED = inspect.Parameter.KEYWORD_ONLY
SHORT = {"n_components": ["-k"], "n_active": ["-L"]}


def _show_every_option(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[EVERY_OPTION] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool, typer.Option("--help-all", help="Show every option and exit.", is_eager=True, callback=_show_every_option)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, number(help="Random seed: the same seed gives the same result.", min=0)]
Threads = Annotated[
    int | None, number(help="Number of threads; all cores if not given. The result is the same.", min=1)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor results.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `topmix fit -o MODEL` writes it.")]
Output = Annotated[Path, file("-o", "--output", help="The model file to write.")]
Title = Annotated[str | None, text(help="Title of the page.")]
Words = Annotated[int, number("-n", "--words", help="Words of each topic.", min=1, rich_help_panel=MORE)]
Port = Annotated[
    int, number(help="Port of the explorer; 0 takes one that is free.", min=0, max=65535, rich_help_panel=MORE)
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.", rich_help_panel=MORE)]
Documents = Annotated[
    Path,
    typer.Argument(metavar="DOCS", help="A folder of texts, a CSV, TSV, JSON lines or text file, counts, or a URL."),
]
Shown = Annotated[Path | None, docs("--corpus", help="Documents to show and to learn on, such as those of the fit.")]
Columns = Annotated[
    list[str] | None, text("--column", help="A column of the documents; may be repeated.", rich_help_panel=MORE)
]
Texts = Annotated[
    Path | None, docs(help="The text of each row of vectors, to describe clusters: a file, or a column of the table.")
]
GroupOfRows = Annotated[
    str | None,
    text("--groups", help="The group of each row: a column of the table of vectors, or a file.", rich_help_panel=MORE),
]


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
    def kinds(self) -> Collection[object]:
        return typing.get_args(self.hint) or (self.hint,)

    @property
    def is_pair(self) -> bool:
        return typing.get_origin(self.hint) is tuple

    @property
    def metavar(self) -> str:
        if self.choices:
            return "|".join([*self.choices, *(["none"] if NoneType in self.kinds else [])])
        if self.is_pair:
            return "N,N"
        kinds = {*self.kinds} - {NoneType}
        return "N" if kinds == {int} else "X" if kinds <= {int, float} else "VALUE"

    @property
    def help(self) -> str:
        unset = self.default is None or self.default is inspect.Parameter.empty
        return self.text if unset else f"{self.text} [{shown(self.default)}]".strip()

    def parse(self, given: object) -> object:
        """The value that an argument of the command line stands for."""
        if not isinstance(given, str):
            return given
        takes_all = self.hint in (Any, object)
        if given.lower() == "none" and (takes_all or NoneType in self.kinds):
            return None
        if self.is_closed and given not in self.choices:
            raise typer.BadParameter(
                f"{given!r} is not one of {', '.join(self.choices)}", param_hint=option_of(self.name)
            )
        if self.is_pair and re.fullmatch(r"\d+,\d+", given):
            return tuple(map(int, given.split(",")))
        for kind in (int, float):
            if not self.is_pair and (takes_all or kind in self.kinds):
                with suppress(ValueError):
                    return kind(given)
        if takes_all or str in self.kinds:
            return given
        wanted = {"N": "a whole number", "N,N": "two whole numbers with a comma"}.get(self.metavar, "a number")
        or_none = " or none" if NoneType in self.kinds else ""
        raise typer.BadParameter(f"{given!r} is not {wanted}{or_none}", param_hint=option_of(self.name))


def option_of(name: str) -> str:
    """learner__batch_size -> --learner.batch-size"""
    return "--" + name.replace("__", ".").replace("_", "-")


def shown(value: object) -> str:
    """A default as one would type it."""
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else "none" if value is None else str(value)


def flags_of(function: Callable[..., object], leave_out: Iterable[str] = ()) -> dict[str, Flag]:
    """The parameters of a function or class, by name."""
    is_class = inspect.isclass(function)
    call = function.__init__ if is_class else function
    hints = (typing.get_type_hints(function) if is_class else {}) | typing.get_type_hints(call)  # fields have types too
    described = entries_of(inspect.getdoc(function), "Parameters")
    flags = {}
    for name, p in inspect.signature(call).parameters.items():
        if name not in ("self", *leave_out) and p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            head, _, text = described.get(name, "").partition("\n")
            braces = re.search(r"\{([^}]*)\}", head)  # {"a", "b"} or None
            choices = tuple(re.findall(r'"([^"]+)"', braces[1])) if braces else ()
            flags[name] = Flag(name, hints.get(name, object), p.default, gist(" ".join(text.split())), choices)
    return flags


def gist(text: str) -> str:
    """The first sentence of a description, and those that say what None means."""
    sentences = re.split(r"(?<=[^.]\.)\s(?![a-z])", text)
    return " ".join([sentences[0], *(s for s in sentences[1:] if re.match("None\\b", s))])


def merged(flags: Mapping[str, Flag], everyone: Collection[str], *, in_full: bool = True) -> Flag:
    """One option for a parameter that several models or components have; `flags` are theirs, by name. Its help has
    every description and default that differs, and names those that have it, unless `everyone` has it; or the first
    description alone."""
    own_text = {name: flag.text for name, flag in flags.items() if flag.text and not flag.text.startswith("As in ")}
    first = flags[next(iter(own_text), next(iter(flags)))]
    texts: dict[str, list[str]] = {}
    defaults: dict[str, list[str]] = {}
    for name, flag in flags.items():
        texts.setdefault(own_text.get(name, first.text), []).append(name)
        defaults.setdefault(shown(flag.default), []).append(name)
    description, default = first.text, first.default
    if in_full and (len(texts) > 1 or len(flags) < len(everyone)):
        description = " ".join(f"{', '.join(names)}: {said}" for said, names in texts.items())
    if len(defaults) > 1:
        usual, *others = defaults
        default = f"{usual}; " + ", ".join(f"{', '.join(defaults[value])} {value}" for value in others)
    choices = tuple(dict.fromkeys(choice for flag in flags.values() for choice in flag.choices))
    return replace(first, text=description, default=default, choices=choices)


def merged_flags(
    classes: Mapping[str, type], leave_out: Iterable[str] = (), in_short: Collection[str] = ()
) -> dict[str, Flag]:
    """The parameters of several classes, each once, `in_short` with one description for all."""
    of_class = {name: flags_of(cls, leave_out) for name, cls in classes.items()}
    merged_by_name = {}
    for name in dict.fromkeys(name for flags in of_class.values() for name in flags):
        holders = {owner: flags[name] for owner, flags in of_class.items() if name in flags}
        merged_by_name[name] = merged(holders, classes, in_full=name not in in_short)
    return merged_by_name


def with_flags(command: Callable[..., None], groups: Groups) -> Callable[..., None]:
    """Gives a command that takes **settings an option for each flag, under the heading of its group. Settings arrive
    parsed, and only those that were given."""
    flags = {flag.name: flag for group in groups.values() for flag in group}

    def run(help_all: bool, **given: object) -> None:
        settings = {n: flags[n].parse(given.pop(n)) for n in flags if given.get(n) is not None}
        command(**{n: v for n, v in given.items() if n not in flags}, **settings)

    own = typing.get_type_hints(command, include_extras=True)
    given = inspect.signature(command).parameters.values()
    parameters = [p.replace(annotation=own[p.name]) for p in given if p.kind != p.VAR_KEYWORD]
    for heading, group in groups.items():
        for flag in group:
            hint = _annotation(flag, heading)
            parameters.append(inspect.Parameter(flag.name, ONLY_NAMED, default=None, annotation=hint))
    parameters.append(inspect.Parameter("help_all", ONLY_NAMED, default=False, annotation=HelpAll))
    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _annotation(flag: Flag, heading: str) -> object:
    option = option_of(flag.name)
    settings: Settings = {"help": flag.help, "rich_help_panel": heading, "show_default": False}
    if flag.hint is bool:
        family, dot, setting = option[2:].rpartition(".")
        return Annotated[bool | None, typer.Option(f"{option}/--{family}{dot}no-{setting}", **settings)]
    if flag.choices:
        settings["autocompletion"] = lambda: list(flag.choices)
    return Annotated[str | None, typer.Option(option, *SHORT.get(flag.name, []), metavar=flag.metavar, **settings)]
