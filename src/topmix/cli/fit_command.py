"""`topmix fit`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from topmix.cli.flags import with_flags
from topmix.cli.manners import (
    INTERRUPTED,
    AsJson,
    Documents,
    Seed,
    Threads,
    app_of,
    check_output,
    load_model,
    manners,
    note,
    print_json,
    tell,
)
from topmix.cli.models import PREFERRED, can_checkpoint, estimator_class, model_flags, refuse_unknown
from topmix.cli.sources import (
    CLI_DEFAULTS,
    FIT_GROUPS,
    read_all_for,
    read_table,
    read_to_fit,
    takes_counts,
)
from topmix.data import Corpus, Table
from topmix.estimators import ESTIMATORS
from topmix.fitting.history import TimeLimit
from topmix.fitting.interrupt import StopOnInterrupt
from topmix.fitting.progress import FitProgress
from topmix.views.summary import describe_model, model_table

SMALL = 2_000_000  # tokens, over all starts that are tried unasked: a second or two
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
FIRST = ("n_components", "n_active", "learner", "posterior", "max_iter", "tol")  # the rest as the signatures have it


MODEL_FLAGS = dict(sorted(model_flags().items(), key=lambda item: FIRST.index(item[0]) if item[0] in FIRST else 99))


@with_flags(
    {"Settings of the model": MODEL_FLAGS.values(), **FIT_GROUPS},
    CLI_DEFAULTS | {"n_init": "10 for small data, 1 for large"},
)
def fit(
    source: Documents,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.", metavar="FILE")],
    model: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(ESTIMATORS)}.", metavar="NAME", autocompletion=lambda: list(ESTIMATORS)),
    ] = PREFERRED,
    seed: Seed = 0,
    threads: Threads = None,
    time_limit: Annotated[
        str | None,
        typer.Option(help="Stop after the last pass that fits in this time: 90, 90s, 15m, 2h.", metavar="TIME"),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Save the progress in this file after passes. Where it exists the fit goes on from it: run the "
            "same command again after a crash, and the result has the same bits.",
            metavar="FILE",
        ),
    ] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Passes between two checkpoints.", min=1, metavar="N")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on learning from the model that is in the output file.")
    ] = False,
    words: Annotated[int, typer.Option(help="Words to show of each topic.", min=1, metavar="N")] = 8,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor topics.")] = False,
    as_json: AsJson = False,
    **settings: Any,
) -> None:
    """Learn topics (or clusters) and save them in a file.

    DOCS is a folder of text files, a CSV or JSON lines file with a column "text" (--field says another), a saved
    corpus, or counts in any format that topmix reads. The model file holds the words and how texts were cut into them,
    so that `topmix infer` and `topmix eval` take plain text.

    \b
    topmix fit docs/ -k 30 -o model
    topmix fit reviews.csv --field body -k 100 -o model --time-limit 10m
    topmix fit docword.nips.txt.gz -k 200 -o model --checkpoint nips.checkpoint
    topmix fit docs/ -o model --resume

    Ctrl-C ends it after the pass it is in, and saves what there is.
    """
    with manners("stopped by Ctrl-C; no pass was over, so nothing was saved"):
        cls = estimator_class(model)
        check_output(output)
        limit = None if time_limit is None else seconds(time_limit)
        start = load_model(output, threads) if resume else None
        cls = type(start) if start is not None else cls
        chosen = {name: settings.pop(name) for name in list(settings) if name in MODEL_FLAGS}
        refuse_unknown(cls, chosen)  # before the reading, which may take long
        extra = _checkpoint(cls, checkpoint, checkpoint_every, resume)
        data = _read(cls, source, settings, start)
        estimator = cls() if start is None else start
        if "n_init" in estimator.get_params(deep=False):
            chosen = {"n_init": 1 if resume or checkpoint else starts(data), **chosen}
        estimator.set_params(random_state=seed, n_jobs=threads, **chosen)
        if resume:
            estimator.set_params(warm_start=True)
        stopped = learn(estimator, data, limit, quiet, extra)
        if resume:
            estimator.set_params(warm_start=False)  # who fits the loaded model again starts afresh, unless they ask
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
        if stopped == "Ctrl-C":
            tell(f"stopped by Ctrl-C after {_passes(estimator)}; saved in {output}. `--resume` goes on from there.")
            raise typer.Exit(INTERRUPTED)


def learn(estimator: Any, data: Any, limit: float | None, quiet: bool, extra: dict[str, Any]) -> str | None:
    """Fits, while the person watches; says what ended it before it was done, if anything did."""
    n_passes = int(estimator.get_params(deep=False).get("max_iter", 1)) * int(getattr(estimator, "n_init", 1))
    n_tokens = data.n_tokens if isinstance(data, Corpus) else len(data)
    vocabulary = data.vocabulary if isinstance(data, Corpus) else None
    console = Console(stderr=True, quiet=quiet)
    time_limit = TimeLimit(float("inf") if limit is None else limit)
    with (
        StopOnInterrupt() as stop,
        FitProgress(
            n_passes, n_tokens, title="Learning", lines=False, words=vocabulary, unit=_unit(data), console=console
        ) as progress,
    ):
        estimator.set_params(callbacks=[progress, time_limit, stop], verbose=0)
        estimator.fit(data, **extra)
    estimator.set_params(callbacks=None)
    return "Ctrl-C" if stop.stopped else "time limit" if time_limit.reached and not has_converged(estimator) else None


def starts(data: Corpus | Table) -> int:
    """How many starts to try. With few documents single starts often end badly, two topics in one, and cost little."""
    size = data.n_tokens if isinstance(data, Corpus) else data.data.size
    return int(min(max(SMALL // max(size, 1), 1), 10))


def has_converged(estimator: Any) -> bool:
    return bool(getattr(estimator, "converged_", False))  # samplers do not say


def describe_data(data: Corpus | Table) -> dict[str, Any]:
    if isinstance(data, Table):
        return {"n_rows": data.shape[0], "n_features": data.shape[1]}
    return {"n_docs": data.n_docs, "n_words": data.n_words, "n_tokens": data.n_tokens}


def seconds(text: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", text.lower())
    if not found or float(found[1]) <= 0:
        raise typer.BadParameter(f"{text!r} is not a time such as 90, 90s, 15m or 2h", param_hint="--time-limit")
    return float(found[1]) * UNITS[found[2]]


def _read(cls: Any, source: Path, settings: dict[str, Any], start: Any) -> Corpus | Table:
    with Console(stderr=True).status(f"Reading {source} ..."):
        if not takes_counts(cls()):
            return read_table(source, settings)
        if start is not None:
            return read_all_for(start, source, settings).corpus
        corpus = read_to_fit(source, settings)
    n_empty = int((corpus.indptr[1:] == corpus.indptr[:-1]).sum())
    note(
        f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens of {corpus.n_words:,} words"
        + (f"; {n_empty:,} documents are empty" if n_empty else "")
    )
    return corpus


def _checkpoint(cls: Any, path: Path | None, every: int, resume: bool) -> dict[str, Any]:
    if path is None:
        return {}
    if not can_checkpoint(cls):
        raise typer.BadParameter(f"the fit of a {cls.__name__} cannot be checkpointed", param_hint="--checkpoint")
    if resume:
        raise typer.BadParameter(
            "goes on by itself where the file exists: leave out --resume", param_hint="--checkpoint"
        )
    check_output(path)
    if path.exists():
        note(f"going on from {path}")
    return {"checkpoint": path, "checkpoint_every": every}


def _show(estimator: Any, result: dict[str, Any], n_words: int) -> None:
    console = Console()
    console.print(model_table(estimator, console.width, n_words=n_words, n_shown=20))
    ended = (
        f"stopped by the {result['stopped']}"
        if result["stopped"]
        else "converged"
        if has_converged(estimator)
        else "all passes made"
    )
    rest = len(result.get("topics", ())) - 20
    console.print(
        f"\n{_passes(estimator)} in {estimator.history_[-1].seconds:.1f} s ({ended}); saved in {result['model']}."
        + (f" {rest} more: topmix topics {result['model']} --all" if rest > 0 else ""),
        highlight=False, markup=False,
    )  # fmt: skip


def _passes(estimator: Any) -> str:
    return f"{estimator.n_iter_} pass{'es' if estimator.n_iter_ != 1 else ''}"


def _unit(data: Any) -> str:
    return "token" if isinstance(data, Corpus) else "row"


app = app_of(fit)
