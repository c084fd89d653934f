"""`topmix eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table as Lines

from topmix.cli.flags import with_flags
from topmix.cli.manners import AsJson, Documents, ModelFile, Seed, Threads, app_of, load_model, manners, print_json
from topmix.cli.sources import READ_GROUPS, read_all_for, read_table, takes_counts
from topmix.views.evaluate import MEANINGS, evaluate_rows, evaluate_topics


@with_flags(READ_GROUPS)
def evaluate(
    model: ModelFile,
    source: Documents,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Documents to judge coherence by, such as those of training; DOCS if not given.", metavar="DOCS"
        ),
    ] = None,
    words: Annotated[int, typer.Option("-n", "--words", help="Words of each topic to judge.", min=2, metavar="N")] = 10,
    max_docs: Annotated[
        int, typer.Option(help="Documents for the completion score, a random choice of them.", min=1, metavar="N")
    ] = 2000,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
    **settings: Any,
) -> None:
    """Judge a model by documents, best by some that it was not fitted on.

    The completion score is the one to compare models by: how well words held out of a document are predicted from its
    other words. Coherence asks whether the words of a topic occur together, diversity whether topics differ.

    \b
    topmix eval model held_out/
    topmix eval model held_out/ --reference docs/ --json
    """
    with manners():
        found = load_model(model, threads)
        with Console(stderr=True).status(f"Judging {model} ..."):
            if takes_counts(found):
                read = read_all_for(found, source, dict(settings))
                judge = read.corpus if reference is None else read_all_for(found, reference, dict(settings)).corpus
                result = evaluate_topics(found, read.corpus, judge, top_n=words, max_docs=max_docs, seed=seed)
                result = {"n_unknown_tokens": read.n_unknown, **result}
            else:
                result = evaluate_rows(found, read_table(source, settings))
        if as_json:
            print_json({"model": str(model), "estimator": type(found).__name__, **result})
        else:
            Console().print(_table(result))


def _table(result: dict[str, Any]) -> Lines:
    table = Lines(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading, justify in (("measure", "left"), ("value", "right"), ("meaning", "left")):
        table.add_column(heading, justify=justify, style="dim" if heading == "meaning" else "")  # type: ignore[arg-type]
    for name, value in result.items():
        said = f"{value:,}" if isinstance(value, int) else f"{value:,.4f}" if value is not None else "-"
        table.add_row(name.replace("_", " "), said, MEANINGS.get(name, ""))
    return table


app = app_of(evaluate)
