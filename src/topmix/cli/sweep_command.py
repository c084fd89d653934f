"""`topmix sweep`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from topmix.api.admixture import AdmixtureEstimator
from topmix.cli.command import (
    INTERRUPTED,
    AsJson,
    Documents,
    Groups,
    Seed,
    Texts,
    Threads,
    app_of,
    check_output,
    file,
    fraction,
    note,
    number,
    one_line_errors,
    print_json,
)
from topmix.cli.fit_command import FIT, FLAGS, MODEL, grouped, model_option
from topmix.cli.flags import Flag, with_flags
from topmix.cli.models import PREFERRED, configure, estimator_class
from topmix.cli.seeds import read_seeds
from topmix.cli.sources import CLI_DEFAULTS, FIT_GROUPS, read_to_fit, takes_counts
from topmix.cli.vectors import vectors_at
from topmix.data import Corpus, Rows
from topmix.model_selection import sweep

# --n-components is a list here, and --seeds a number of fits; the words that steer topics are --seed-words.
OTHERS = ("n_components", "seeds")
TOPIC_MODELS = (
    "LDA",
    "HDP",
    "GibbsLDA",
    "CombinatorialLDA",
    "GaussianMixture",
    "VonMisesFisherMixture",
    "GaussianAdmixture",
    "VonMisesFisherAdmixture",
)
NUMBER = Flag("held_out", int | float, None)


def fit_groups() -> dict[str, list[Flag]]:
    kept = {heading: [flag for flag in flags if flag.name not in OTHERS] for heading, flags in grouped().items()}
    return {
        heading: [replace(flag, default=1) if flag.name == "n_init" else flag for flag in flags]
        for heading, flags in kept.items()
    }


@with_flags({**fit_groups(), **FIT_GROUPS}, CLI_DEFAULTS, main=(MODEL, FIT))
def sweep_sizes(
    source: Documents,
    *,
    n_components: Annotated[
        str, typer.Option("-k", "--n-components", help="The numbers of topics to try.", metavar="N,N,...")
    ] = "20,50,100,200",
    seeds: Annotated[
        int, number(help="Fits of each size, with different seeds. Stability needs two or more.", min=1)
    ] = 3,
    held_out: Annotated[
        str | None,
        typer.Option(
            help="The share (0.1) or number (500) of documents to score; a tenth, between 50 and 2000, if not given.",
            metavar="X",
        ),
    ] = None,
    tolerance: Annotated[
        float, fraction(help="Scores that differ by less, in nats per token, count as equal.", min=0)
    ] = 0.01,
    page: Annotated[
        Path | None, file("--html", help="Write a page with the table, the curves and the recommendation.")
    ] = None,
    model: Annotated[str, model_option(TOPIC_MODELS)] = PREFERRED,
    texts: Texts = None,
    groups: Groups = None,
    seed_words: Annotated[
        Path | None,
        file(
            help="A file with words that topics should have, as `topmix fit --seeds` takes it.", rich_help_panel=MODEL
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: AsJson = False,
    **settings: object,
) -> None:
    """Find out how many topics to learn.

    Fits each number of topics with several seeds, scores all fits on the same held-out documents, and recommends the
    smallest number that predicts as well as the best. Nothing is saved but the page: fit the number that you choose
    with `topmix fit`.

    \b
    topmix sweep docs/ -k 20,50,100,200 --seeds 3
    topmix sweep docs/ -k 10,20,40 --html sweep.html
    topmix sweep reviews.csv --field body -k 50,100 --inference.sweeps 0
    topmix sweep vectors.npy --texts titles.csv --model vmf -k 20,50,100
    topmix sweep sentences.parquet --texts sentence --groups paper --model vmf-admixture -k 20,50,100

    Ctrl-C ends the sweep, and shows what has been measured so far.
    """
    with one_line_errors("stopped by Ctrl-C before the first fit ended"):
        sizes = [_size(part) for part in n_components.split(",") if part.strip()]
        share: Any = None if held_out is None else NUMBER.parse(held_out)
        if page is not None:
            check_output(page)
        estimator = estimator_class(model, with_groups=True)()
        if type(estimator).__name__ not in TOPIC_MODELS:
            raise typer.BadParameter(
                f"{type(estimator).__name__} is not a topic model: choose one of {', '.join(TOPIC_MODELS)}",
                param_hint="--model",
            )
        if groups is not None and not isinstance(estimator, AdmixtureEstimator):
            raise typer.BadParameter(f"{type(estimator).__name__} knows no groups", param_hint="--groups")
        if texts is not None and takes_counts(estimator):
            raise typer.BadParameter("texts stand beside vectors: --model vmf or gmm takes these", param_hint="--texts")
        chosen = {name: settings.pop(name) for name in list(settings) if name in FLAGS}
        configure(estimator, chosen | ({} if seed_words is None else {"seeds": read_seeds(seed_words, "--seed-words")}))
        if "n_jobs" in estimator.get_params(deep=False):
            estimator.set_params(n_jobs=threads)
        with Console(stderr=True).status(f"Reading {source} ..."):
            data: Corpus | Rows
            beside = None
            if takes_counts(estimator):
                data = read_to_fit(source, settings, engine=estimator._engine())
            else:
                vectors = vectors_at(source, settings, texts=texts, groups=groups)
                data, beside = vectors.rows(estimator), vectors.words(estimator)
        if isinstance(data, Corpus):
            note(f"{data.n_docs:,} documents, {data.n_tokens:,} tokens of {data.n_words:,} words")
        result = sweep(
            data,
            sizes,
            texts=beside,
            seeds=range(seed, seed + seeds),
            estimator=estimator,
            held_out=share,
            tolerance=tolerance,
            random_state=seed,
            verbose=int(sys.stderr.isatty() and not quiet),
        )
        if page is not None:
            result.write_html(page, f"How many topics? {source.name or source}")
        if as_json:
            print_json(result.to_dict())
        else:
            Console().print(result)
            if page is not None:
                Console().print(f"\nWrote {page}: open it in a browser.", highlight=False, markup=False)
        if result.interrupted:
            raise typer.Exit(INTERRUPTED)


def _size(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text.strip()!r} is not a whole number; give sizes as 20,50,100", param_hint="--n-components"
        ) from None


app = app_of(sweep_sizes)
