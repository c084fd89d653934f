"""`topmix fit`."""

from __future__ import annotations

import inspect
import re
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from sklearn.base import BaseEstimator

from topmix.apps.command import documents, models, options
from topmix.apps.command.command import INTERRUPTED, app_of, check_output, note, print_json, tell
from topmix.apps.command.explore_command import serve
from topmix.apps.command.topics_command import describe_model, table_of
from topmix.corpus.corpus import Corpus
from topmix.estimators import ESTIMATORS, HDP
from topmix.learn.history import passes_of

if TYPE_CHECKING:
    from topmix.apps.explorer import Explorer

IN_FIT: options.Settings = {"rich_help_panel": options.FIT}
MORE: options.Settings = {"rich_help_panel": options.MORE}
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}


def fit(
    source: options.Documents,
    *,
    model: Annotated[str, models.model_option(ESTIMATORS)] = models.PREFERRED,
    texts: options.Texts = None,
    groups: options.GroupOfRows = None,
    max_time: Annotated[
        str | None, options.time(help="Stop after the last pass that ends in this time: 90s, 15m, 2h.", **IN_FIT)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        options.file(help="Save the progress here after each pass, and continue from it if it is there.", **IN_FIT),
    ] = None,
    checkpoint_every: Annotated[int, options.number(help="Passes between two checkpoints.", min=1, **MORE)] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Learn on from the model in the output.", **IN_FIT)] = False,
    explore: Annotated[bool, typer.Option("--explore", help="Watch the fit in a browser.", **IN_FIT)] = False,
    output: options.Output,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
    port: options.Port = 0,
    browser: options.Browser = True,
    column: options.Columns = None,
    words: options.Words = 8,
    **settings: object,
) -> None:
    """Learn topics (or clusters) and save them in a file.

    DOCS is a folder of text files, a CSV or JSON lines file with a column "text" (--field names another), a saved
    corpus, or counts in any format that topmix reads. The model file contains the vocabulary and the tokenizer's
    settings, so `topmix infer` and `topmix eval` take plain text.

    \b
    topmix fit docs/ -k 30 -o model
    topmix fit reviews.csv --field body -k 100 -o model --max-time 10m
    topmix fit docs/ -o model --learner stochastic --learner.batch-size 500
    topmix fit docs/ -o model --resume
    topmix fit docs/ -k 50 -o model --explore
    topmix fit vectors.npy --texts titles.csv --model vmf -k 50 -o model
    topmix fit sentences.parquet --texts sentence --groups paper --model vmf-admixture -k 50 -o model

    Ctrl-C ends the fit after the current pass, and saves the model.
    """
    cls, limit = models.estimator_class(model), None if max_time is None else seconds(max_time)
    check_output(output)
    estimator = models.load_model(output, threads) if resume else cls()
    is_size_given = "n_components" in settings or resume
    models.configure(estimator, settings, threads)  # before the documents are read, which may take long
    if limit is not None:
        estimator.set_params(max_time=None)
    more = _checkpoint(type(estimator), checkpoint, checkpoint_every, resume)
    if column and not explore:
        raise typer.BadParameter("columns are shown by --explore: pass it too", param_hint="--column")
    if explore:
        import topmix.apps.web  # noqa: F401 - first: it says which packages are missing

        if not documents.takes_counts(estimator) and texts is None:
            why = "there is nothing to explore in clusters of rows of numbers"
            raise typer.BadParameter(why, param_hint="--explore")
        if (session := output.with_name(output.name + ".session")).exists():
            raise ValueError(f"{session}: holds edits of the model that is there now; move it away first")
    with Console(stderr=True).status(f"Reading {source} ..."):
        data = documents.read_data(estimator, source, settings, texts, groups, column or ())
    if data.words is not None:
        more["texts"] = data.words
    if isinstance(data.X, Corpus) and not is_size_given:
        most = "at most " if cls is HDP else ""
        note(f"learning {most}{estimator.n_components} topics; -k N asks for N, and `topmix sweep` helps to choose")

    def opened() -> Explorer:
        from topmix.apps.explorer import waiting_explorer  # it needs starlette

        return waiting_explorer(*data.to_show(estimator, column or ()), title=output.stem, port=port)

    explorer = None
    if explore and isinstance(data.X, Corpus):  # of clusters, when the fit is over
        explorer = opened()
        tell(f"the explorer is at {explorer.url}")
        if browser:
            explorer.open_browser()
    with explorer or nullcontext():
        estimator.set_params(random_state=seed, n_jobs=threads, **({"warm_start": True} if resume else {}))
        stopped = models.learn(estimator, data.X, quiet=quiet, limit=limit, explorer=explorer, **more)
        if resume:
            estimator.set_params(warm_start=False)  # the next fit in Python starts from the data again
        estimator.save(output)
        result = describe_model(estimator, n_words=words)
        if as_json:
            print_json({"model": str(output), **data.size, **result, "stopped": stopped})
        elif not quiet:
            console = Console()
            console.print(table := table_of(result, console.width, 20))
            ended = "converged" if result["converged"] else "all passes made"
            if stopped is not None:
                ended = f"stopped by the {stopped.replace('stop', 'explorer')}"
            rest = len(result.get("topics", ())) - table.row_count
            more_topics = f" {rest} more: topmix topics {output} --all" if rest > 0 else ""
            took = f"{passes_of(estimator.history_)} in {result['seconds'] or 0.0:.1f} s"  # --max-iter 0 makes no pass
            console.print(f"\n{took} ({ended}); saved in {output}.{more_topics}", highlight=False, markup=False)
        if stopped == "Ctrl-C":
            made = passes_of(estimator.history_)
            tell(f"stopped by Ctrl-C after {made}; saved in {output}. `--resume` continues from there.")
            raise typer.Exit(INTERRUPTED)
        if explore:
            is_new = explorer is None
            explorer = explorer or opened()
            with explorer.until_interrupt():
                explorer.session.open(estimator, output)
                serve(explorer, browser and is_new)


def seconds(text: str) -> float:
    """15m -> 900.0"""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", text.lower())
    if not found or float(found[1]) <= 0:
        raise typer.BadParameter(f"{text!r} is not a time such as 90, 90s, 15m or 2h", param_hint="--max-time")
    return float(found[1]) * UNITS[found[2]]


def _checkpoint(cls: type[BaseEstimator], path: Path | None, every: int, resume: bool) -> options.Settings:
    """Options of `fit` that save the progress."""
    if path is None:
        return {}
    able = [name for name, other in ESTIMATORS.items() if "checkpoint" in inspect.signature(other.fit).parameters]
    if cls.__name__ not in able:
        why = f"{cls.__name__} has no checkpoints; {', '.join(able)} have"
        raise typer.BadParameter(why, param_hint="--checkpoint")
    if resume:
        why = "the fit continues from this file if it exists: leave out --resume"
        raise typer.BadParameter(why, param_hint="--checkpoint")
    check_output(path)
    if path.exists():
        note(f"continuing from {path}")
    return {"checkpoint": path, "checkpoint_every": every}


fit_flags = models.fit_flags() | documents.FIT_GROUPS
fit_app = app_of(fit, "stopped by Ctrl-C before the first pass ended; nothing was saved", fit_flags)
