"""`topmix eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table as Lines

from topmix.api.admixture import AdmixtureEstimator
from topmix.cli.command import (
    AsJson,
    Documents,
    Groups,
    ModelFile,
    Seed,
    Threads,
    app_of,
    number,
    one_line_errors,
    print_json,
    tell,
)
from topmix.cli.flags import with_flags
from topmix.cli.models import load_model
from topmix.cli.sources import READ_GROUPS, read_all_for, takes_counts
from topmix.cli.vectors import vectors_at
from topmix.views.evaluate import MEANINGS, Scores, are_training_documents, evaluate_rows, evaluate_topics


@with_flags(READ_GROUPS)
def evaluate(
    model: ModelFile,
    source: Documents,
    groups: Groups = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Documents for coherence, such as the training documents; DOCS if not given.", metavar="DOCS"
        ),
    ] = None,
    words: Annotated[int, number("-n", "--words", help="Words per topic, for coherence and diversity.", min=2)] = 10,
    max_docs: Annotated[
        int, number(help="Largest number of documents for the completion score; they are chosen at random.", min=1)
    ] = 2000,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
    **settings: object,
) -> None:
    """Score a model on documents, preferably ones it was not fitted on.

    Compare models by the completion score: the log probability of a document's held-out words, given its other words.
    Coherence measures whether the words of a topic occur together, and diversity whether topics differ.

    \b
    topmix eval model held_out/
    topmix eval model held_out/ --reference docs/ --json
    """
    with one_line_errors():
        found = load_model(model, threads, with_groups=True)
        with Console(stderr=True).status(f"Scoring {model} ..."):
            if takes_counts(found):
                read = read_all_for(found, source, dict(settings))
                other = read.corpus if reference is None else read_all_for(found, reference, dict(settings)).corpus
                result = evaluate_topics(found, read.corpus, other, top_n=words, max_docs=max_docs, seed=seed)
                trained = are_training_documents(found, read.corpus)
                if trained is None:
                    tell(
                        "warning: the model was perhaps fitted on these documents, read in another way; then its "
                        "scores are better than on new ones"
                    )
                result = {"training_documents": trained, "n_unknown_tokens": read.n_unknown, **result}
            elif isinstance(found, AdmixtureEstimator):
                rows = vectors_at(source, settings, groups=groups).rows(found)
                result = {**evaluate_rows(found, rows), "completion_score": found.completion_score(rows)}
            else:
                result = evaluate_rows(found, vectors_at(source, settings).rows(found))
        if result.get("training_documents"):
            tell("warning: the model was fitted on these documents, so its scores are better than on new ones")
        if as_json:
            print_json({"model": str(model), "estimator": type(found).__name__, **result})
        else:
            Console().print(_table(result))


def _table(result: Scores) -> Lines:
    table = Lines(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading, justify in (("measure", "left"), ("value", "right"), ("meaning", "left")):
        table.add_column(heading, justify=justify, style="dim" if heading == "meaning" else "")  # type: ignore[arg-type]
    for name, value in result.items():
        table.add_row(name.replace("_", " "), _shown(value), MEANINGS.get(name, ""))
    return table


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


app = app_of(evaluate)
