"""A command with two levels of help: `--help` for the usual options, `--help-all` for every option."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

EVERY_OPTION = "topmix.every_option"  # in the context of the command: whether help shows all headings


class Command(TyperCommand):
    """Options stand under headings, as their `rich_help_panel` says, in plain text that can be read in a pipe."""

    more_headings: ClassVar[frozenset[str]] = frozenset()  # shown by --help-all only

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = getattr(parameter, "rich_help_panel", None) or default
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if heading not in self.more_headings or ctx.meta.get(EVERY_OPTION):
                with formatter.section(heading):
                    formatter.write_dl(records, col_max=28)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter.__base__ as error:  # type: ignore[misc]
            if hasattr(error, "possibilities"):  # there is no such option
                error.possibilities = self._similar(error.option_name) or error.possibilities
            raise

    def _similar(self, wrong: str) -> list[str]:
        """For --learner.size every option of learners, and for --decay those that end so, such as --learner.decay."""
        options = [option for parameter in self.params for option in parameter.opts]
        family, dot, _ = wrong.partition(".")
        if dot:
            return [option for option in options if option.startswith(family + dot)]
        return [option for option in options if option.endswith("." + wrong.lstrip("-"))]


def _show_every_option(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[EVERY_OPTION] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", help="Show every option and exit.", is_eager=True, callback=_show_every_option),
]


def app_of(function: Callable[..., Any]) -> typer.Typer:
    """An app with one command. `more_headings` of the function are those that only --help-all shows."""
    kind = type("Command", (Command,), {"more_headings": getattr(function, "more_headings", frozenset())})
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)
    app.command(cls=kind, context_settings={"help_option_names": ["-h", "--help"]})(function)
    return app
