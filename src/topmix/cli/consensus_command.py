"""`topmix consensus`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from topmix.cli.command import (
    INTERRUPTED,
    AsJson,
    Documents,
    Seed,
    Threads,
    app_of,
    check_output,
    file,
    note,
    number,
    one_line_errors,
    print_json,
)
from topmix.cli.fit_command import FIT, FLAGS, MODEL, grouped, model_option
from topmix.cli.flags import Flag, with_flags
from topmix.cli.models import PREFERRED, configure, estimator_class
from topmix.cli.seeds import read_seeds
from topmix.cli.sources import CLI_DEFAULTS, FIT_GROUPS, read_to_fit
from topmix.inference import Collapsed
from topmix.model_selection import consensus
from topmix.model_selection.consensus_fits import SWEEPS

COUNTS = ("LDA", "HDP", "GibbsLDA", "CombinatorialLDA", "MultinomialMixture")


def groups() -> dict[str, list[Flag]]:
    """Of `fit`. One start per fit: the fits are many."""
    return {
        heading: [replace(flag, default=1) if flag.name == "n_init" else flag for flag in flags]
        for heading, flags in grouped().items()
    }


@with_flags({**groups(), **FIT_GROUPS}, CLI_DEFAULTS, main=(MODEL, FIT))
def consensus_of_fits(
    source: Documents,
    *,
    output: Annotated[Path, file("-o", "--output", help="The model file to write.")],
    fits: Annotated[int, number(help="Fits to make, each of half of the documents.", min=2)] = 20,
    model: Annotated[str, model_option(COUNTS)] = PREFERRED,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor topics.")] = False,
    as_json: AsJson = False,
    **settings: object,
) -> None:
    """Learn topics that can be relied on: one model of many fits.

    Fits halves of the documents with different seeds, matches the topics of all fits, and writes one model. For each of
    its topics it says how many fits have it, and how probable it is that it is real.

    \b
    topmix consensus docs/ -k 30 -o model
    topmix consensus docs/ -k 30 --fits 40 -o model
    topmix report model -o report.html --corpus docs/

    Ctrl-C ends the fits, and the consensus is of those that were made.
    """
    with one_line_errors("stopped by Ctrl-C before there were two fits; nothing was saved"):
        check_output(output)
        estimator = estimator_class(model)()
        if type(estimator).__name__ not in COUNTS:
            raise typer.BadParameter(
                f"{type(estimator).__name__} does not take documents: choose one of {', '.join(COUNTS)}",
                param_hint="--model",
            )
        if type(estimator).__name__ == PREFERRED:
            estimator.set_params(inference=Collapsed(sweeps=SWEEPS))
        chosen = {name: settings.pop(name) for name in list(settings) if name in FLAGS}
        if chosen.get("seeds") is not None:
            chosen["seeds"] = read_seeds(chosen["seeds"])
        configure(estimator, chosen)
        estimator.set_params(n_jobs=threads)
        with Console(stderr=True).status(f"Reading {source} ..."):
            corpus = read_to_fit(source, settings, engine=estimator._engine())
        note(f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens of {corpus.n_words:,} words")
        show = int(sys.stderr.isatty() and not quiet)
        result = consensus(corpus, fits=fits, estimator=estimator, random_state=seed, verbose=show)
        result.model.save(output)
        if as_json:
            print_json({"model": str(output), **result.to_dict()})
        elif not quiet:
            Console().print(result)
            Console().print(f"\nSaved in {output}.", highlight=False, markup=False)
        if result.interrupted:
            raise typer.Exit(INTERRUPTED)


app = app_of(consensus_of_fits)
