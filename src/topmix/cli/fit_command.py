"""`topmix fit`."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from sklearn.base import BaseEstimator

from topmix.api import HDP
from topmix.api.admixture import AdmixtureEstimator
from topmix.api.components import FAMILIES
from topmix.api.mixture import rows_of
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
    current_arguments,
    file,
    note,
    number,
    one_line_errors,
    print_json,
    tell,
)
from topmix.cli.explore_command import open_session, serve, until_interrupt
from topmix.cli.flags import Flag, Settings, with_flags
from topmix.cli.jobs import run_there, takes_jobs
from topmix.cli.models import (
    MODELS,
    PREFERRED,
    can_checkpoint,
    component_flags,
    configure,
    estimator_class,
    load_model,
    model_flags,
)
from topmix.cli.seeds import read_seeds
from topmix.cli.sources import (
    CLI_DEFAULTS,
    FIT_GROUPS,
    read_all_for,
    read_to_fit,
    takes_counts,
    texts_at,
)
from topmix.cli.vectors import Vectors, vectors_at
from topmix.data import Corpus, Rows
from topmix.data.columns import column_of
from topmix.data.rows import GroupedRows
from topmix.fitting.history import Callback, TimeLimit, passes_of
from topmix.fitting.interrupt import StopOnInterrupt
from topmix.fitting.progress import FitProgress
from topmix.views.describe import describe_model, model_table

if TYPE_CHECKING:  # they need starlette
    from topmix.explorer import Explorer
    from topmix.pages.explorer.live import Watch

IN_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # is set where this is a job of a Ray cluster: its log is read elsewhere
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}

MODEL, FIT, MORE, PRIORS = "Model", "Fit", "More settings", "Priors"  # headings
USUAL = {"n_components": MODEL, "n_active": MODEL, "inference": MODEL, "learner": MODEL, "max_iter": FIT}
MODEL_FLAGS = model_flags(in_short=tuple(USUAL))
COMPONENT_FLAGS = {family: component_flags(family) for family in FAMILIES}
FLAGS = {**MODEL_FLAGS, **{name: flag for flags in COMPONENT_FLAGS.values() for name, flag in flags.items()}}


def grouped() -> dict[str, list[Flag]]:
    """The options of estimators and components, by heading."""
    groups: dict[str, list[Flag]] = {MODEL: [], FIT: [], MORE: [], PRIORS: []}
    for name, flag in MODEL_FLAGS.items():
        is_prior = "prior" in name or name == "smoothing"
        groups[USUAL.get(name, PRIORS if is_prior else MORE)].append(flag)
    for family, flags in COMPONENT_FLAGS.items():
        if flags:
            groups[f"Options of --{family}"] = list(flags.values())
    return groups


def model_option(names: Collection[str]) -> object:
    """--model NAME, with these names in its help and for a shell to complete."""
    return typer.Option(
        help=f"One of {', '.join(names)}.",
        metavar="NAME",
        autocompletion=lambda: list(names),
        rich_help_panel=MODEL,
    )


@with_flags(
    {**grouped(), **FIT_GROUPS},
    CLI_DEFAULTS,
    main=(MODEL, FIT),
)
def fit(
    source: Documents,
    *,
    model: Annotated[str, model_option(MODELS)] = PREFERRED,
    texts: Texts = None,
    groups: Groups = None,
    max_time: Annotated[
        str | None,
        typer.Option(
            help="Stop after the last pass that ends within this time: 90s, 15m, 2h.",
            metavar="TIME",
            rich_help_panel=FIT,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        file(
            help="Save the progress in this file after each pass. If the file exists, the fit continues from it: run "
            "the same command again after a crash, and the result has the same bits.",
            rich_help_panel=FIT,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue to learn from the model in the output file.", rich_help_panel=FIT),
    ] = False,
    explore: Annotated[
        bool,
        typer.Option(
            "--explore", help="Watch the fit in a browser, and go on from there; Ctrl-C ends it.", rich_help_panel=FIT
        ),
    ] = False,
    output: Annotated[Path, file("-o", "--output", help="The model file to write.")],
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor topics.")] = False,
    as_json: AsJson = False,
    port: Annotated[
        int, number(help="Port of --explore; 0 takes one that is free.", min=0, max=65535, rich_help_panel=MORE)
    ] = 0,
    browser: Annotated[
        bool,
        typer.Option("--browser/--no-browser", help="Whether --explore opens a browser.", rich_help_panel=MORE),
    ] = True,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A column beside the texts, such as a date or an author, for --explore. May be repeated.",
            rich_help_panel=MORE,
        ),
    ] = None,
    checkpoint_every: Annotated[int, number(help="Passes between two checkpoints.", min=1, rich_help_panel=MORE)] = 1,
    words: Annotated[int, number(help="Words to show of each topic.", min=1, rich_help_panel=MORE)] = 8,
    **settings: object,
) -> None:
    """Learn topics (or clusters) and save them in a file.

    DOCS is a folder of text files, a CSV or JSON lines file with a column "text" (--field names another), a saved
    corpus, or counts in any format that topmix reads. The model file contains the vocabulary and the tokenizer's
    settings, so `topmix infer` and `topmix eval` take plain text.

    \b
    topmix fit docs/ -k 30 -o model
    topmix fit reviews.csv --field body -k 100 -o model --max-time 10m
    topmix fit docword.nips.txt.gz -k 200 -o model --checkpoint nips.checkpoint
    topmix fit docs/ -o model --learner stochastic --learner.batch-size 500
    topmix fit docs/ -o model --seeds words.txt
    topmix fit docs/ -o model --resume
    topmix fit docs/ -k 50 -o model --explore
    topmix fit vectors.npy --texts titles.csv --model vmf -k 50 -o model
    topmix fit vectors.npy --groups images.csv --model gaussian-admixture -k 20 -o model
    topmix fit sentences.parquet --texts sentence --groups paper --model vmf-admixture -k 50 -o model

    Ctrl-C ends the fit after the current pass, and saves the model.
    """
    with one_line_errors("stopped by Ctrl-C before the first pass ended; nothing was saved"):
        if takes_jobs(address := settings.get("engine__address")):
            raise typer.Exit(run_there(str(address), "fit", current_arguments()))
        cls = estimator_class(model, with_groups=True)
        if column and not explore:
            raise typer.BadParameter("columns are shown by --explore: pass it too", param_hint="--column")
        check_output(output)
        limit = None if max_time is None else seconds(max_time)
        start = load_model(output, threads, with_groups=True) if resume else None
        estimator = cls() if start is None else start
        chosen = {name: settings.pop(name) for name in list(settings) if name in FLAGS}
        if chosen.get("seeds") is not None:
            chosen["seeds"] = read_seeds(chosen["seeds"])
        configure(estimator, chosen)  # before the documents are read, which may take long
        if limit is not None:
            estimator.set_params(max_time=None)
        extra = _checkpoint(type(estimator), checkpoint, checkpoint_every, resume)
        reading = dict(settings)
        if groups is not None and not isinstance(estimator, AdmixtureEstimator):
            raise typer.BadParameter(f"{type(estimator).__name__} knows no groups", param_hint="--groups")
        vectors = None
        if not takes_counts(estimator):
            vectors = vectors_at(source, settings, texts=texts, groups=groups, columns=column or ())
        elif texts is not None:
            raise typer.BadParameter("texts stand beside vectors: --model vmf or gmm takes these", param_hint="--texts")
        data = _read(estimator, source, settings, start, vectors)
        if "n_components" not in chosen and not resume and takes_counts(estimator):
            most = "at most " if cls is HDP else ""
            note(f"learning {most}{estimator.n_components} topics; -k N asks for N, and `topmix sweep` helps to choose")
        if explore:
            _check_explored(data, output)

        def explored() -> Explorer:
            assert isinstance(data, Corpus)
            if vectors is None:
                beside = {name: column_of(source, name, data.n_docs) for name in column or ()}
                return _explorer(data, texts_at(source, reading), beside, output, port, browser)
            read = data.with_vectors(estimator.counts(data.vectors).vectors)  # directions have unit length
            beside = vectors.columns(column or (), data)
            return _explorer(read, vectors.their_texts(data), beside, output, port, browser)

        explorer = explored() if explore and vectors is None else None  # of clusters, when the fit is over
        estimator.set_params(random_state=seed, n_jobs=threads)
        if resume:
            estimator.set_params(warm_start=True)
        try:
            stopped = learn(estimator, data, limit, quiet, extra, explorer)
        except Stopped as interrupt:
            if explorer is not None:
                explorer.close()
            tell(_what_was_lost(interrupt.n_passes, checkpoint))
            raise typer.Exit(INTERRUPTED) from None
        if resume:
            estimator.set_params(warm_start=False)  # the next fit in Python starts from the data again
        estimator.save(output)
        result = {
            "model": str(output),
            **describe_data(data),
            **describe_model(estimator, n_words=words),
            "stopped": stopped,
        }
        if as_json:
            print_json(result)
        elif not quiet:
            _show(estimator, result, words)
        if explore and vectors is not None and stopped != "Ctrl-C":
            explorer = explored()
        if explorer is not None:
            if stopped != "Ctrl-C":
                with until_interrupt(explorer):
                    explorer.session.open(estimator, output)
                    serve(explorer, browser=False)
            else:
                explorer.close()
        if stopped == "Ctrl-C":
            made = passes_of(estimator.history_)
            tell(f"stopped by Ctrl-C after {made}; saved in {output}. `--resume` continues from there.")
            raise typer.Exit(INTERRUPTED)


class Stopped(Exception):
    """A second Ctrl-C, in the middle of a pass: nothing is left of those that were made before it."""

    def __init__(self, n_passes: int):
        self.n_passes = n_passes


def learn(
    estimator: BaseEstimator,
    data: Corpus | Rows,
    limit: float | None,
    quiet: bool,
    extra: Settings,
    explorer: Explorer | None = None,
) -> str | None:
    """Fits with a progress bar. Returns what ended the fit early: "Ctrl-C", "time limit", "stop" or None. Raises
    Stopped. An `explorer` shows the passes, and has a say about the time."""
    most = estimator.max_iter
    if most is None:
        _, most = estimator._sweeps(data, estimator._learner(), estimator._inference())
    is_words = isinstance(data, Corpus) and data.vectors is None
    unit = "token" if is_words else "row"
    n_rows = len(rows_of(data.vectors if isinstance(data, Corpus) and not is_words else data))
    size, words = (data.n_tokens, data.vocabulary) if isinstance(data, Corpus) and is_words else (n_rows, None)
    console = Console(stderr=True, quiet=quiet)
    time_limit: TimeLimit | Watch | None = None if limit is None else TimeLimit(limit)
    lost: int | None = None
    with (
        StopOnInterrupt() as stop,
        FitProgress(
            most * estimator.n_init,
            size,
            title="Learning",
            lines=IN_JOB in os.environ,
            words=words,
            unit=unit,
            console=console,
        ) as progress,
    ):
        if explorer is not None:
            time_limit = explorer.session.watching(limit=limit, is_interrupted=lambda: stop.stopped)
        callbacks: list[Callback] = [progress, stop, *([time_limit] if time_limit else [])]
        estimator.set_params(callbacks=callbacks, verbose=0)
        before = estimator._fitted
        try:
            with warnings.catch_warnings():  # the command says itself what was saved
                warnings.filterwarnings("ignore", "the fit was interrupted")
                estimator.fit(data, **extra)
        except KeyboardInterrupt:  # the second one: the topics of this moment or of the last pass are saved too
            if estimator._fitted is before:
                lost = stop.n_passes
    estimator.set_params(callbacks=None)
    if lost is not None:
        raise Stopped(lost)
    if stop.stopped:
        return "Ctrl-C"
    if explorer is not None and explorer.session.watch is not None and explorer.session.watch.stopped:
        return "stop"
    return "time limit" if time_limit and time_limit.reached and not has_converged(estimator) else None


def has_converged(estimator: BaseEstimator) -> bool:
    return estimator._fitted is not None and bool(estimator._fitted.converged)


def describe_data(data: Corpus | Rows) -> dict[str, float]:
    if isinstance(data, GroupedRows):
        return {**describe_data(data.rows), "n_groups": len(data)}
    if isinstance(data, Rows):
        return {"n_rows": data.shape[0], "n_features": data.shape[1]}
    if data.vectors is not None:
        return {**describe_data(data.vectors), "n_words": data.n_words, "n_tokens": data.n_tokens}
    return {"n_docs": data.n_docs, "n_words": data.n_words, "n_tokens": data.n_tokens}


def seconds(text: str) -> float:
    """15m -> 900.0"""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", text.lower())
    if not found or float(found[1]) <= 0:
        raise typer.BadParameter(f"{text!r} is not a time such as 90, 90s, 15m or 2h", param_hint="--max-time")
    return float(found[1]) * UNITS[found[2]]


def _read(
    estimator: BaseEstimator, source: Path, settings: Settings, start: BaseEstimator | None, vectors: Vectors | None
) -> Corpus | Rows:
    with Console(stderr=True).status(f"Reading {source} ..."):
        if vectors is not None and vectors.texts is not None and start is not None:
            return vectors.known_to(start)
        if vectors is not None:
            return vectors.to_fit(estimator)
        if start is not None:
            return read_all_for(start, source, settings).corpus
        corpus = read_to_fit(source, settings, engine=estimator._engine())
    n_empty = int((np.diff(corpus.offsets()) == 0).sum())
    note(
        f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens of {corpus.n_words:,} words"
        + (f"; {n_empty:,} documents are empty" if n_empty else "")
    )
    return corpus


def _check_explored(data: Corpus | Rows, output: Path) -> None:
    """Before the fit, and not after it."""
    if not isinstance(data, Corpus):
        raise typer.BadParameter("there is nothing to explore in clusters of rows of numbers", param_hint="--explore")
    if (session := output.with_name(output.name + ".session")).exists():
        raise ValueError(f"{session}: holds edits of the model that is there now; move it away first")


def _explorer(
    data: Corpus,
    texts: Iterable[str] | None,
    beside: Mapping[str, Sequence[object]],
    output: Path,
    port: int,
    browser: bool,
) -> Explorer:
    """An explorer that waits for the first pass, or for the end of the fit."""
    explorer = open_session(data, texts, output.stem, port, beside)
    tell(f"the explorer is at {explorer.url}")
    if browser:
        explorer.open_browser()
    return explorer


def _checkpoint(cls: type[BaseEstimator], path: Path | None, every: int, resume: bool) -> Settings:
    if path is None:
        return {}
    if not can_checkpoint(cls):
        models = ", ".join(name for name, other in MODELS.items() if can_checkpoint(other))
        raise typer.BadParameter(f"{cls.__name__} has no checkpoints; {models} have", param_hint="--checkpoint")
    if resume:
        raise typer.BadParameter(
            "the fit continues from this file if it exists: leave out --resume", param_hint="--checkpoint"
        )
    check_output(path)
    if path.exists():
        note(f"continuing from {path}")
    return {"checkpoint": path, "checkpoint_every": every}


def _show(estimator: BaseEstimator, result: Settings, n_words: int) -> None:
    console = Console()
    table = model_table(estimator, console.width, n_words=n_words, n_shown=20)
    console.print(table)
    ended = (
        f"stopped by the {result['stopped'].replace('stop', 'explorer')}"
        if result["stopped"]
        else "converged"
        if has_converged(estimator)
        else "all passes made"
    )
    rest = len(result.get("topics", ())) - table.row_count
    seconds = estimator.history_[-1].seconds if estimator.history_ else 0.0  # --max-iter 0 makes no pass
    console.print(
        f"\n{passes_of(estimator.history_)} in {seconds:.1f} s ({ended}); saved in {result['model']}."
        + (f" {rest} more: topmix topics {result['model']} --all" if rest > 0 else ""),
        highlight=False, markup=False,
    )  # fmt: skip


def _what_was_lost(n_passes: int, checkpoint: Path | None) -> str:
    if n_passes == 0:
        return "stopped by Ctrl-C before the first pass ended; nothing was saved"
    made = f"stopped by a second Ctrl-C in the pass after {_count(n_passes)}"
    if checkpoint is not None and checkpoint.exists():
        return f"{made}; no model was saved. Run the same command again: it continues from {checkpoint}."
    return f"{made}; no model was saved. The first Ctrl-C alone saves the model when its pass ends."


def _count(n_passes: int) -> str:
    return f"{n_passes} pass{'es' if n_passes != 1 else ''}"


app = app_of(fit)
