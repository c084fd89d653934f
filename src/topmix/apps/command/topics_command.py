"""`topmix topics` and `topmix demo`; and a fitted model as commands print it: a dict for JSON, and a table of it."""

from __future__ import annotations

from textwrap import indent
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from topmix.apps.command import options
from topmix.apps.command.command import INTERRUPTED, app_of, print_json, tell
from topmix.apps.command.models import learn, load_model
from topmix.apps.command.options import Settings
from topmix.corpus.demo import demo_corpus
from topmix.estimators import LDA
from topmix.estimators.topics import TopicEstimator
from topmix.results.mixture import FittedMixture
from topmix.results.names import RELEVANCE, relevant_ids
from topmix.results.view import EMPTY, GOOD, best_first, quality
from topmix.selection.result import plain_table
from topmix.selection.views import Model, fitted_of
from topmix.steps.inference import Collapsed

MOST_COLUMNS = 120  # characters
SHOWN = 40
SWEEPS = 20  # of 50: NPMI .294 instead of .298 (three seeds), in half the time
NEXT_STEPS = """\
from topmix import LDA

model = LDA(n_components=50, random_state=0).fit(texts)
print(model.top_words(8))
model.save("topics.model")
"""


def describe_model(model: Model, *, n_words: int = 10, relevance: float = RELEVANCE) -> Settings:
    """A fitted model as a dict for JSON: its kind, its training, and its topics (or clusters), largest first."""
    f = fitted_of(model)
    about = {
        "estimator": type(model).__name__,
        "n_components": f.model.n_components,
        "n_features": f.reading.n_features,
        "converged": bool(f.converged),
        "n_iter": f.n_iter,
        "seconds": f.history[-1].seconds if f.history else None,
        "objective": f.history[-1].objective if f.history else None,
    }
    if isinstance(f, FittedMixture) and not f.has_words:
        weights, means, names = f.weights, f.model.likelihood.mean(), f.reading.words
        centre = weights @ means
        z = (means - centre) / np.sqrt(np.maximum(weights @ (means - centre) ** 2, 1e-300))
        clusters = []
        for k in np.argsort(-weights, kind="stable").tolist():
            # The features whose means are furthest from the mean of all clusters.
            best = np.argsort(-np.abs(z[k]), kind="stable")[:n_words].tolist()
            features = {str(v if names is None else names[v]): float(z[k, v]) for v in best}
            clusters.append({"cluster": k, "share": float(weights[k]), "features": features, "mean": means[k].tolist()})
        return about | {"clusters": clusters}
    view = f.view
    top, of_topics = relevant_ids(view, n_words, relevance), quality(view)
    topics = [
        {
            "topic": k,
            "share": float(view.share[k]),
            "words": [view.words[v] for v in top[k]],
            "probabilities": [float(view.topic_word[k, v]) for v in top[k]],
            "quality": of_topics[k],
        }
        for k in best_first(view, of_topics).tolist()
    ]
    return about | {"topics": topics}


def table_of(about: dict[str, Any], width: int, n_shown: int | None = None) -> Table:
    """One row per topic of a model that was described. Topics that are hardly worth reading come last, and say why;
    empty ones are left out where not all are asked for."""
    table = plain_table(width=min(width, MOST_COLUMNS))
    kind, heading = "topic", "words"
    if "clusters" in about:
        kind, heading = "cluster", "most distinctive features, in standard deviations"
    table.add_column(kind, justify="right", style="dim")
    table.add_column("share", justify="right")
    table.add_column(heading, ratio=1)
    rows = about[f"{kind}s"]
    if n_shown is not None:
        rows = [row for row in rows if row.get("quality") != EMPTY][:n_shown] or rows[:n_shown]
    for row in rows:
        features = row["words"] if kind == "topic" else [f"{name} {z:+.1f} " for name, z in row["features"].items()]
        said = escape(" ".join(features).rstrip())
        if (why := row.get("quality", GOOD)) != GOOD:
            said = f"{said} [dim]({escape(why)})[/dim]".strip()
        table.add_row(str(row[kind]), f"{row['share']:.1%}", said)
    return table


def topics(
    model: options.ModelFile,
    words: options.Words = 10,
    relevance: Annotated[
        float,
        options.fraction(help="1 sorts words by probability; less prefers words of few topics.", min=0.0, max=1.0),
    ] = RELEVANCE,
    show_all: Annotated[bool, typer.Option("--all", help=f"Print all topics, not only the largest {SHOWN}.")] = False,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the topics of a model: their sizes and their words.

    The largest topic comes first, and topics that are hardly worth reading come last and say why. The number of a topic
    is its row in components_. JSON has all topics.

    \b
    topmix topics model
    topmix topics model --relevance 1 -n 15 --all
    topmix topics model --json | jq -r '.topics[0].words[]'
    """
    found = load_model(model, threads)
    if isinstance(found, TopicEstimator) and fitted_of(found).reading.words is None:
        tell("the model was fitted on counts without names, so numbers of columns stand for words")
    about = describe_model(found, n_words=words, relevance=relevance)
    if as_json:
        print_json({"model": str(model), **about})
        return
    console = Console()
    table = table_of(about, console.width, None if show_all else SHOWN)
    console.print(table)
    if table.row_count < about["n_components"]:
        console.print(f"\nThese are {table.row_count} of {about['n_components']}; --all prints all.", highlight=False)


topics_app = app_of(topics)


def demo(
    topics: Annotated[int, options.number(help="Number of topics to learn.", min=1)] = 40,
    show: Annotated[int, options.number(help="Topics to print, the largest first. JSON has all of them.", min=1)] = 20,
    passes: Annotated[int, options.number(help="Largest number of passes over the documents.", min=1)] = 40,
    words: Annotated[int, options.number(help="Words to show of each topic.", min=1)] = 8,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
) -> None:
    """Learn topics from documents that are already on this machine.

    The documents are the installed documentation of Python, NumPy, SciPy and scikit-learn: thousands of texts, no
    download. Reading them takes about ten seconds the first time; learning takes a few seconds.
    """
    with Console(stderr=True).status("Reading the documentation on this machine (ten seconds the first time) ..."):
        corpus = demo_corpus()
    model = LDA(topics, inference=Collapsed(sweeps=SWEEPS), max_iter=passes, random_state=seed, n_jobs=threads)
    stopped = learn(model, corpus)
    about, size = describe_model(model, n_words=words), {"n_docs": corpus.n_docs, "n_tokens": corpus.n_tokens}
    if as_json:
        history = [record.to_dict() for record in model.history_]
        print_json({**size, "n_words": corpus.n_words, **about, "stopped": stopped, "history": history})
    else:
        console = Console()
        console.print(table_of(about, console.width, show))
        more = f" --show {topics} prints all." if show < topics else ""
        ended = "stopped by Ctrl-C after" if stopped else "learned in"
        console.print(
            f"\n{topics} topics {ended} {about['seconds']:.1f} s from {corpus.n_docs:,} documents of "
            f"{corpus.n_tokens:,} words, the documentation on this machine.{more}\n\n"
            "Your own texts, a list of strings, work the same way:\n",
            highlight=False,
        )
        console.print(indent(NEXT_STEPS, "    "), highlight=False, markup=False, soft_wrap=True)
    if stopped:
        raise typer.Exit(INTERRUPTED)


demo_app = app_of(demo)
