"""`topmix sweep` and `topmix consensus`: commands that make many fits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import topmix
from topmix.apps.command import options
from topmix.apps.command.command import INTERRUPTED, app_of, check_output, print_json
from topmix.apps.command.documents import FIT_GROUPS, DocumentsAt, read_data
from topmix.apps.command.models import PREFERRED, configure, estimator_class, fit_flags, model_option
from topmix.apps.report import write_report
from topmix.selection.consensus import SWEEPS
from topmix.steps.inference import Collapsed

VECTORS = ("GaussianMixture", "VonMisesFisherMixture", "GaussianAdmixture", "VonMisesFisherAdmixture")
TOPIC_MODELS = ("LDA", "HDP", "GibbsLDA", "CombinatorialLDA", *VECTORS)
COUNTS = ("LDA", "HDP", "GibbsLDA", "CombinatorialLDA", "MultinomialMixture")
# --n-components is a list here, and --seeds a number of fits; the words that steer topics are --seed-words.
OTHERS = ("n_components", "seeds")
SHARE = options.Flag("held_out", int | float, None)
SIZE = options.Flag("n_components", int, None)


def sweep(
    source: options.Documents,
    *,
    n_components: Annotated[
        str, typer.Option("-k", "--n-components", help="The numbers of topics to try.", metavar="N,N,...")
    ] = "20,50,100,200",
    seeds: Annotated[int, options.number(help="Fits of each size; stability needs two or more.", min=1)] = 3,
    held_out: Annotated[str | None, options.fraction(help="The share or number of documents to score.")] = None,
    tolerance: Annotated[float, options.fraction(help="Scores that differ by less count as equal.", min=0)] = 0.01,
    page: Annotated[Path | None, options.file("--html", help="Write a page with the table and the curves.")] = None,
    model: Annotated[str, model_option(TOPIC_MODELS)] = PREFERRED,
    texts: options.Texts = None,
    groups: options.GroupOfRows = None,
    seed_words: Annotated[Path | None, options.file(help="Words of topics, as in `topmix fit --seeds`.")] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
    **settings: object,
) -> None:
    """Find out how many topics to learn.

    Fits each number of topics with several seeds, scores all fits on the same held-out documents, and recommends the
    smallest number that predicts as well as the best. Nothing is saved but the page: fit the number that you choose
    with `topmix fit`.

    \b
    topmix sweep docs/ -k 20,50,100,200 --seeds 3
    topmix sweep reviews.csv --field body -k 10,20,40 --html sweep.html
    topmix sweep vectors.npy --texts titles.csv --model vmf -k 20,50,100
    topmix sweep sentences.parquet --texts sentence --groups paper --model vmf-admixture -k 20,50,100

    Ctrl-C ends the sweep, and shows what has been measured so far.
    """
    sizes: Any = [SIZE.parse(part.strip()) for part in n_components.split(",") if part.strip()]
    share: Any = None if held_out is None else SHARE.parse(held_out)
    if page is not None:
        check_output(page)
    estimator = estimator_class(model, TOPIC_MODELS, "is not a topic model")()
    if seed_words is not None:
        settings["seeds"] = seed_words
    configure(estimator, settings, threads, "--seed-words")
    with Console(stderr=True).status(f"Reading {source} ..."):
        data = read_data(estimator, source, settings, texts, groups)
    result = topmix.sweep(
        data.X, sizes, texts=data.words, seeds=range(seed, seed + seeds), estimator=estimator, held_out=share,
        tolerance=tolerance, random_state=seed, verbose=int(sys.stderr.isatty() and not quiet),
    )  # fmt: skip
    if page is not None:
        write_report(result, page, title=f"How many topics? {source.name or source}")
    if as_json:
        print_json(result.to_dict())
    else:
        Console().print(result)
        if page is not None:
            Console().print(f"\nWrote {page}: open it in a browser.", highlight=False, markup=False)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


sweep_flags = fit_flags(OTHERS, one_start=True) | FIT_GROUPS
sweep_app = app_of(sweep, "stopped by Ctrl-C before the first fit ended", sweep_flags)


def consensus(
    source: options.Documents,
    *,
    output: options.Output,
    fits: Annotated[int, options.number(help="Fits to make, each of half of the documents.", min=2)] = 20,
    model: Annotated[str, model_option(COUNTS)] = PREFERRED,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
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
    check_output(output)
    estimator = estimator_class(model, COUNTS, "does not take documents")()
    if type(estimator).__name__ == PREFERRED:
        estimator.set_params(inference=Collapsed(sweeps=SWEEPS))
    configure(estimator, settings, threads)
    with Console(stderr=True).status(f"Reading {source} ..."):
        corpus = DocumentsAt.at(source, settings).to_fit(estimator)
    show = int(sys.stderr.isatty() and not quiet)
    result = topmix.consensus(corpus, fits=fits, estimator=estimator, random_state=seed, verbose=show)
    result.model.save(output)
    if as_json:
        print_json({"model": str(output), **result.to_dict()})
    elif not quiet:
        Console().print(result)
        Console().print(f"\nSaved in {output}.", highlight=False, markup=False)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


consensus_flags = fit_flags(one_start=True) | FIT_GROUPS  # the fits are many
consensus_app = app_of(consensus, "stopped by Ctrl-C before there were two fits; nothing was saved", consensus_flags)
