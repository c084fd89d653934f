"""`topmix demo`: learns topics of the installed documentation and prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from topmix.api import LDA
from topmix.cli.command import INTERRUPTED, AsJson, Seed, Threads, app_of, number, one_line_errors, print_json
from topmix.data import Corpus, demo_corpus
from topmix.data.demo import cache_path
from topmix.fitting.interrupt import StopOnInterrupt
from topmix.fitting.progress import FitProgress, in_short
from topmix.inference import Collapsed
from topmix.views.describe import Topic, summarise

SWEEPS = 20  # of 50: NPMI .294 instead of .298 (three seeds), in half the time

NEXT_STEPS = """\
from topmix import LDA
from topmix.data import from_texts

corpus = from_texts(texts, stop_words="english", min_df=5, max_df=0.5)
model = LDA(n_components=50, random_state=0).fit(corpus)
print(model.top_words(8))
model.save("topics.model")
"""


@dataclass(frozen=True)
class DemoResult:
    corpus: Corpus
    model: LDA
    topics: list[Topic]
    interrupted: bool  # by Ctrl-C; the last pass was completed

    def to_dict(self) -> dict[str, object]:
        return {
            "n_docs": self.corpus.n_docs,
            "n_words": self.corpus.n_words,
            "n_tokens": self.corpus.n_tokens,
            "estimator": type(self.model).__name__,
            "interrupted": self.interrupted,
            "converged": self.model.converged_,
            "history": [record.to_dict() for record in self.model.history_],
            "topics": [topic.to_dict() for topic in self.topics],
        }


def learn_demo(*, n_topics: int, n_passes: int, n_words: int, seed: int, threads: int | None) -> DemoResult:
    """Fits an LDA, with a progress bar if stderr is a terminal."""
    console = Console(stderr=True)
    first_time = "" if cache_path().exists() else " (the first time takes about ten seconds)"
    with console.status(f"Reading the documentation installed here{first_time} ..."):
        corpus = demo_corpus()
    with (
        StopOnInterrupt() as stop,
        FitProgress(
            n_passes, corpus.n_tokens, title="Learning", lines=False, words=corpus.vocabulary, console=console
        ) as progress,
    ):
        model = LDA(
            n_components=n_topics,
            inference=Collapsed(sweeps=SWEEPS),
            max_iter=n_passes,
            random_state=seed,
            n_jobs=threads,
            callbacks=[progress, stop],
        ).fit(corpus)
    return DemoResult(corpus, model, summarise(model, corpus, n_words=n_words), stop.stopped)


def show_demo(result: DemoResult, console: Console, *, n_shown: int) -> None:
    corpus, last = result.corpus, result.model.history_[-1]
    console.print(
        f"{corpus.n_docs:,} documents of {corpus.n_tokens:,} words ({corpus.n_words:,} different ones): the "
        "documentation of Python, NumPy, SciPy and scikit-learn on this machine.\n",
        highlight=False,
    )
    console.print(topic_table(result.topics[:n_shown], console.width))
    passes = f"{last.n_pass} pass{'es' if last.n_pass > 1 else ''}"
    speed = in_short(corpus.n_tokens * last.n_pass / max(last.seconds, 1e-9))
    ended = "stopped by Ctrl-C after" if result.interrupted else "learned in"
    rest = len(result.topics) - n_shown
    more = f" These are the largest {n_shown}; --show {len(result.topics)} prints all." if rest > 0 else ""
    console.print(
        f"\n{len(result.topics)} topics {ended} {last.seconds:.1f} s: {passes}, {speed} words/s.{more}\n\n"
        "Your own texts, a list of strings, work the same way:\n",
        highlight=False,
    )
    for line in NEXT_STEPS.splitlines():
        console.print(f"    {line}", style="cyan", highlight=False, markup=False, soft_wrap=True)


def topic_table(topics: list[Topic], width: int) -> Table:
    """One row per topic, at most 120 columns wide."""
    width = min(width, 120)
    name_width = max(16, (width - 12) * 2 // 5)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, width=width)
    table.add_column("topic", justify="right", style="dim")
    table.add_column("share", justify="right")
    table.add_column("words", ratio=1)
    table.add_column("documents most about it", width=name_width, style="green", no_wrap=True)
    for topic in topics:
        names = "\n".join(shorten(name, name_width) for name in topic.documents)
        table.add_row(str(topic.topic), f"{topic.share:.1%}", " ".join(topic.words), names)
    return table


def shorten(name: str, width: int) -> str:
    """A dotted name in at most `width` columns; parts in the middle go first."""
    if len(name) <= width:
        return name
    first, *rest = name.split(".")
    for begin in range(1, len(rest)):
        if len(short := f"{first}…{'.'.join(rest[begin:])}") <= width:
            return short
    last = rest[-1] if rest else first
    return f"…{last}" if rest and len(last) < width else f"{last[: width - 1]}…"


def demo(
    topics: Annotated[int, number(help="Number of topics to learn.", min=1)] = 40,
    show: Annotated[int, number(help="Topics to print, the largest first. JSON has all of them.", min=1)] = 20,
    passes: Annotated[int, number(help="Largest number of passes over the documents.", min=1)] = 40,
    words: Annotated[int, number(help="Words to show of each topic.", min=1)] = 8,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Learn topics from documents that are already on this machine.

    The documents are the installed documentation of Python, NumPy, SciPy and scikit-learn: thousands of texts, no
    download. Reading them takes about ten seconds the first time; learning takes a few seconds.
    """
    with one_line_errors():
        result = learn_demo(n_topics=topics, n_passes=passes, n_words=words, seed=seed, threads=threads)
        if as_json:
            print_json(result.to_dict())
        else:
            show_demo(result, Console(), n_shown=show)
        if result.interrupted:
            raise typer.Exit(INTERRUPTED)


app = app_of(demo)
