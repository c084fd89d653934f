"""A fit between two passes, in one file: whoever reads it continues with the same bits.

A checkpoint is trusted as little as a model file: every id that a kernel will use as an index is checked. Between two
passes there is nothing but the model, what the learner carries (State), what workers remember of their documents, and
how the documents were dealt to shards; and where the number of topics is searched for, what the search knows.

    model.*, next.*     priors of the model, and of the one that the next pass starts from where that is another
    total.*             statistics of all documents, the topics' counts among them
    memo.b.*, docs.b.*  statistics of shard b, and its documents' topics where the next visit starts from them
    tokens.b.topic      topics of its tokens, while they are sampled
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from topmix import _core
from topmix.allocations.covariate_prior import CovariatePrior
from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.label_prior import LabelPrior
from topmix.data.errors import CorpusError
from topmix.data.paths import open_whole
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.store import CHECKPOINT, open_file, write_file
from topmix.files.writer import Writer
from topmix.fitting.history import Record, read_history
from topmix.learners import State
from topmix.local.topics import Visit
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordStats, WordTotal
from topmix.stats.entries import EntryStats, TokenStats, topics

LARGEST_COUNT = 2**62

P = TypeVar("P")  # the progress of a fit: of a topic model, or of a mixture


class CheckpointError(ValueError):
    """A checkpoint of another fit, or one that cannot be read."""


@dataclass
class Progress:
    """A fit between two passes."""

    model: TopicModel
    following: TopicModel | None  # what the next pass starts from, where it is another
    state: State
    memory: dict[int, Visit]
    history: list[Record]
    random: Mapping[str, object]  # state of the generator that dealt documents to shards
    search: dict[str, Any] | None = None  # where the number of topics is searched for, what is known of that

    def restore_generator(self, rng: np.random.Generator) -> None:
        """The generator deals documents as it did."""
        restore_generator(rng, self.random)


def restore_generator(rng: np.random.Generator, state: Mapping[str, object]) -> None:
    try:
        rng.bit_generator.state = state
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ModelFileError(f"the checkpoint has no state of a random generator: {error}") from error


@dataclass
class Checkpoint:
    """Where the progress of one fit is kept. `fit` says which: what the data is, and every parameter that matters."""

    path: Path
    fit: dict[str, Any]
    every: int = 1  # passes
    n_passes: int = 0  # of a search, when it was last written

    def write(self, p: Progress) -> None:
        """Atomic: the file is the last checkpoint or this one."""
        out = Writer()
        p.model.write(out.at("model"), with_total=False)
        if p.following is not None:
            p.following.write(out.at("next"), with_total=False)
        p.state.total.write(out.at("total"))
        for b, stats in p.state.memo.items():
            stats.write(out.at(f"memo.{b}"))
        for b, visit in p.memory.items():
            if visit.docs is not None:
                visit.docs.write(out.at(f"docs.{b}"))
            if visit.z is not None:
                out.at(f"tokens.{b}").array("topic", visit.z)
        V, K = p.model.words.shape
        out.value("n_components", K)
        out.value("t", p.state.t)
        about = {
            "n_features": V,
            "n_memo": len(p.state.memo),
            "has_next": p.following is not None,
            "visits": {str(b): visit.times for b, visit in p.memory.items()},
        }
        self.save(out, about, p)

    def save(self, out: Writer, about: Mapping[str, object], p: Any) -> None:
        """With what every fit has."""
        history = [record.to_dict() for record in p.history]
        more = {"fit": self.fit, "history": history, "random": p.random, "search": p.search, "extra": out.values}
        write_file(self.path, CHECKPOINT, out.arrays, {**about, **more})

    def read(self, model: TopicModel) -> Progress | None:
        """What `write` wrote, or None where there is no file. `model` is an empty one of the kind that is expected."""
        return self.opened(lambda file: _progress(file, model))

    def opened(self, read: Callable[[CheckedReader], P]) -> P | None:
        """What `read` makes of the file of this fit; None where there is none."""
        try:
            with self.names_the_file(), open_whole(self.path) as opened:
                file = open_file(opened, self.path, CHECKPOINT)
                self._compare(file.table("fit") or {})
                found = read(file)
                if file.left:
                    names = ", ".join(sorted(file.left))[:200]
                    raise ModelFileError(f"has arrays that no checkpoint has: {names}")
                return found
        except FileNotFoundError:
            return None

    @contextmanager
    def names_the_file(self) -> Iterator[None]:
        """What is wrong with a checkpoint, now or when a fit continues from it, is an error that says which file."""
        try:
            yield
        except (ModelFileError, CorpusError) as error:
            raise CheckpointError(f"{self.path}: {error}") from error

    def _compare(self, before: dict[str, Any]) -> None:
        differ = [k for k in {**before, **self.fit} if before.get(k) != self.fit.get(k)]
        if differ:
            said = "; ".join(
                f"{k} was {str(before.get(k))[:60]} and is {str(self.fit.get(k))[:60]}" for k in differ[:3]
            )
            raise ModelFileError(
                f"the checkpoint of another fit: {said}. Delete it to start again, or use another path."
            )


def _progress(file: CheckedReader, empty: TopicModel) -> Progress:
    V, K = empty.words.shape
    search, found = file.table("search", missing=None), file.integer("n_components", 1, _core.MAX_TOPICS)
    if file.n_features != V or (found != K and search is None):
        raise ModelFileError(f"has {file.n_features} words and {found} topics, expected {V} and {K}")
    none = empty.no_stats()
    sizes = (found + len(none.T) - K, found if len(none.M) else 0)
    if isinstance(empty.prior, CovariatePrior | LabelPrior):
        sizes = len(none.T), len(none.M)
    counts = WordTotal.read(file.at("total"), V, found)
    total = TopicStats.read(file.at("total"), counts, *sizes)
    visits = _by_shard(file, "visits")
    n_memo = file.count("n_memo")
    if n_memo not in (0, len(visits)):
        raise ModelFileError(f"has statistics of {n_memo} of {len(visits)} shards")
    memo = {
        b: TopicStats.read(at, _words_of_shard(at, V, found), *sizes)
        for b, at in ((b, file.at(f"memo.{b}")) for b in range(n_memo))
    }
    memory = {}
    for b, times in visits.items():
        at, tokens = file.at(f"docs.{b}"), file.at(f"tokens.{b}")
        docs = DocTopics.read(at, found) if at.has("topic") else None
        memory[b] = Visit(_visits(times), docs, topics(tokens, "topic", found) if tokens.has("topic") else None)
    model = empty.read(file.at("model"), found, counts)
    following = empty.read(file.at("next"), found, counts) if file.about.get("has_next") is True else None
    state = State(total, memo, file.integer("t", 0, LARGEST_COUNT))
    return Progress(model, following, state, memory, past(file), file.table("random") or {}, search)


def past(file: CheckedReader) -> list[Record]:
    """The records of the passes that were made: one at least."""
    history = read_history(file)
    if not history:
        raise ModelFileError("has no history")
    return history


def _words_of_shard(file: CheckedReader, V: int, K: int) -> WordStats | EntryStats | TokenStats:
    """Statistics of a shard, summed by word, or as a GPU keeps them."""
    if file.has("share"):
        return EntryStats.read(file, K)
    return TokenStats.read(file, K) if file.has("z") else WordStats.read(file, V, K)


def _by_shard(file: CheckedReader, name: str) -> dict[int, Any]:
    table = file.table(name) or {}
    if set(table) != {str(b) for b in range(len(table))}:
        raise ModelFileError(f"{name!r} does not name all shards")
    return {int(b): value for b, value in table.items()}


def _visits(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST_COUNT:
        raise ModelFileError(f"a shard cannot have been visited {str(value)[:60]} times")
    return value
