"""How long does an edit of topics take until its effect is known, and until it is accepted?

    python -m benchmarks.edits --documents 20000 --K 200
    python -m benchmarks.edits --documents 1000000 --K 1000 --engine cuda

A generated corpus is fitted for --passes passes and shown by an explorer. Each kind of edit is previewed as the page
does it (the edit, the held-out score of a sample of documents, the words of its topics before and after, documents
that move), accepted at once, and undone. `preview` and `accept` are seconds that a person waits; `ready` is how long
after the preview an accept would not wait at all. The first preview of a process is reported apart. With --phases the
calls below are timed as well, which are inside of one another.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.results import Results
from topmix import LDA
from topmix.apps.explorer import session, snapshot
from topmix.apps.explorer.library import Library
from topmix.apps.explorer.session import Session
from topmix.data import Corpus, sample_lda
from topmix.inference import Collapsed
from topmix.results.completion import DocumentParts
from topmix.selection import edits

PHASES: list[tuple[Any, str]] = [
    (edits, "apply"),
    (edits.EditScorer, "scores"),
    (DocumentParts, "scores"),
    (snapshot.Snapshot, "changed_words"),
    (snapshot.Snapshot, "moved_documents"),
    (snapshot.Snapshot, "__init__"),
    (snapshot.Snapshot, "prepare"),
    (session.Session, "_move"),
]


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few topics and documents")
    p.add_argument("--documents", type=int, default=20_000)
    p.add_argument("--tokens", type=int, default=40, help="of a document")
    p.add_argument("--words", type=int, default=50_000)
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--passes", type=int, default=8, help="of the fit before the edits")
    p.add_argument("--engine", default="threads")
    p.add_argument("--times", type=int, default=3, help="that each edit is made")
    p.add_argument("--phases", action="store_true", help="where the time goes")
    a = p.parse_args(argv)
    if a.quick:
        a.documents, a.words, a.K, a.times = 300, 200, 8, 1
    settings = {
        name: getattr(a, name) for name in ("documents", "tokens", "words", "K", "passes", "engine", "times", "threads")
    }
    out = Results(a.out, "edits")
    corpus = generated(a.documents, a.words, a.K, a.tokens)
    print(f"{corpus.n_docs:,} documents, {corpus.nnz:,} entries, {corpus.n_tokens:,.0f} tokens")
    began = time.perf_counter()
    model = LDA(
        a.K, max_iter=a.passes, engine=a.engine, n_jobs=a.threads, random_state=0, inference=Collapsed(sweeps=0)
    ).fit(corpus)
    print(f"fitted in {time.perf_counter() - began:.2f} s, the last pass in {last_pass(model):.3f} s")
    with phases(PHASES if a.phases else []) as spent:
        look = opened(model, corpus)
        report("open", spent)
        for edit in some_edits(look):
            found = [tried(look, edit) for _ in range(a.times + 1)]
            first, *later = found
            row = {"edit": edit["do"], "first": first["preview"]}
            row |= {name: statistics.median(each[name] for each in later) for name in first}
            out.add(row, settings)
            said = ", ".join(f"{name} {value:.3f}" for name, value in row.items() if isinstance(value, float))
            print(f"{edit['do']}: {said}")
            report(edit["do"], spent)
    look.close()
    return 0


def generated(documents: int, words: int, K: int, tokens: int) -> Corpus:
    """Documents of a few topics each, in which words are as unequal as in a language; some thousands are drawn, and
    each is there several times with other words left out."""
    made = sample_lda(min(documents, 20_000), words, K, doc_length=tokens * 5 // 4, random_state=0).corpus
    if documents <= made.n_docs:
        return made
    rng, rows = np.random.default_rng(1), np.arange(documents) % made.n_docs
    sizes = np.diff(made.indptr)[rows]
    at = np.repeat(made.indptr[rows] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    kept = rng.random(len(at)) < 0.8
    indptr = np.concatenate(
        [[0], np.cumsum(np.bincount(np.repeat(np.arange(documents), sizes)[kept], minlength=documents))]
    )
    return Corpus(indptr, made.index[at[kept]], made.value[at[kept]], made.shape[1], vocabulary=made.vocabulary)


def last_pass(model: LDA) -> float:
    seconds = [record.seconds for record in model.history_]
    return seconds[-1] - seconds[-2] if len(seconds) > 1 else seconds[-1]


def opened(model: LDA, corpus: Corpus) -> Session:
    began = time.perf_counter()
    look = Session(Library(corpus, model.feature_names_in_.tolist()))
    look.open(model)
    print(f"explorer opened in {time.perf_counter() - began:.2f} s", flush=True)
    wait(look)
    print(f"documents visited after {time.perf_counter() - began:.2f} s", flush=True)
    return look


def wait(look: Session) -> None:
    for visit in list(look._visits):
        visit.join()


def some_edits(look: Session) -> list[dict[str, Any]]:
    """Of topics of about the mean size; the one that is split is what most documents are about."""
    now = look.snapshot
    assert now is not None
    assert now.mixes is not None
    share, shares, words = now.topics.share, now.mixes.by_doc, now.topics.words
    a, b, c = np.argsort(np.abs(share - share.mean()), kind="stable")[:3].tolist()
    main = int(np.argmax(np.bincount(shares.indices[shares.data > 0.1], minlength=len(share))))
    return [
        {"do": "merge", "topics": sorted([a, b])},
        {"do": "delete", "topic": c},
        {"do": "split", "topic": main, "seed": 0},
        {"do": "seed", "words": words[1:3], "topic": None, "strength": 1.0},
        {"do": "move", "document": 5, "topic": a},
    ]


def tried(look: Session, edit: dict[str, Any]) -> dict[str, float]:
    began = time.perf_counter()
    look.preview(edit, look.version)
    previewed = time.perf_counter()
    look.apply(edit, look.version)
    accepted = time.perf_counter()
    wait(look)
    while look.journal.edits:
        look.undo(look.version)
    wait(look)
    look.preview(edit, look.version)
    again = time.perf_counter()
    wait(look)
    ready = time.perf_counter() - again
    return {"preview": previewed - began, "accept": accepted - previewed, "ready": ready}


@contextmanager
def phases(calls: list[tuple[Any, str]]) -> Iterator[dict[str, list[float]]]:
    """Seconds of these functions, by name."""
    spent: dict[str, list[float]] = defaultdict(list)
    before = [(owner, name, getattr(owner, name)) for owner, name in calls]

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def wrapped(*given: Any, **settings: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*given, **settings)
            finally:
                spent[name].append(time.perf_counter() - began)

        return wrapped

    for owner, name, call in before:
        setattr(owner, name, timed(f"{getattr(owner, '__name__', owner)}.{name}", call))
    try:
        yield spent
    finally:
        for owner, name, call in before:
            setattr(owner, name, call)


def report(title: str, spent: dict[str, list[float]]) -> None:
    for name, seconds in spent.items():
        middle = statistics.median(seconds)
        print(f"    {title}: {name} {len(seconds)} times, median {middle:.4f} s, last {seconds[-1]:.4f} s")
    spent.clear()


if __name__ == "__main__":
    arguments.command(main)
