"""A fit between two passes, in one file: whoever reads it goes on with the same bits.

The file is laid out like a model and is as little trusted: every id that a kernel will use as an index is
checked. Between two passes there is nothing but the model, what the learner carries (State), what workers remember of
their documents, and how the documents were dealt to shards; where the number of topics adapts, what its search knows.

    model.*           alpha or sticks, and eta; next.* the same, relearned, for the next pass
    total.*           statistics of all documents, the topics' counts among them
    memo.b.*, docs.b.*  statistics of shard b, and its documents' topics where the next visit starts from them
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topmix import _core
from topmix.allocations.hdp import StickPrior
from topmix.allocations.lda import DocTopics, DocumentPrior
from topmix.allocations.topic_sticks import Sticks
from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.engines import Engine
from topmix.files.model_file import open_parts, read_history, write_parts
from topmix.files.reader import LARGEST, SMALLEST, ModelFileError, Parts
from topmix.fitting.history import Record
from topmix.learners import State
from topmix.local import Visited
from topmix.models.topics import TopicModel
from topmix.search import Adaptation, Documents
from topmix.stats import TopicStats, WordStats, WordTotal

FORMAT = "topmix-checkpoint"
LARGEST_COUNT = 2**62
NUMBERS = ("D", "H", "G", "A")  # of TopicStats
# None of them changes a pass.
NOT_COMPARED = ("max_iter", "tol", "max_time", "verbose", "callbacks", "engine", "n_jobs", "warm_start")


class CheckpointError(ValueError):
    """A checkpoint of another fit, or one that cannot be read."""


@dataclass
class Progress:
    """A fit between two passes."""

    model: TopicModel
    following: TopicModel | None  # what the next pass starts from, where it is another
    state: State
    memory: dict[int, Visited]
    history: list[Record]
    random: Mapping[str, Any]  # state of the generator that dealt documents to shards
    search: dict[str, Any] | None = None  # where the number of topics adapts, what is known of that

    def deal(self, rng: np.random.Generator) -> None:
        """Has the generator deal as it did."""
        try:
            rng.bit_generator.state = self.random
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise CheckpointError(f"the checkpoint has no state of a random generator: {error}") from error

    def resume(self, engine: Engine) -> TopicModel:
        """Gives the engine its memory back; returns the model that the next pass starts from."""
        if len(self.memory) != engine.n_shards:
            raise CheckpointError(f"the checkpoint is of {len(self.memory)} shards, expected {engine.n_shards}")
        engine.memory = self.memory
        return self.following or self.model

    def resume_search(self, moves: Adaptation, lengths: list[np.ndarray]) -> TopicModel:
        """The same where the number of topics adapts: goes on from where nothing was on trial."""
        docs = [self.memory[b].docs for b in range(len(self.memory))]
        whole = [d for d, n in zip(docs, lengths) if d is not None and len(d.indptr) == len(n) + 1]
        if len(whole) != len(docs) or len(self.state.memo) != len(docs):
            raise CheckpointError("the checkpoint lacks documents")
        memo = [self.state.memo[b] for b in range(len(docs))]
        try:
            return moves.resumed(Documents(self.model, self.state.total, memo, whole, lengths), self.search or {})
        except ValueError as error:
            raise CheckpointError(f"the checkpoint cannot be gone on from: {error}") from error


@dataclass
class Checkpoint:
    """Where the progress of one fit is kept. `fit` says which: what the data is, and every parameter that matters."""

    path: Path
    fit: dict[str, Any]
    n_passes: int = 0  # of a search, when it was last written

    def write_search(self, moves: Adaptation, history: list[Record], random: Mapping[str, Any], every: int) -> None:
        """A search for topics is kept as it was when nothing was on trial, some passes ago. Whatever is on trial left
        that untouched; other passes do not, so there it is now or later."""
        rest = moves.rest
        if rest is None or not (rest.n_passes == len(history) or moves.trial):
            return
        if rest.n_passes // every == self.n_passes // every and not moves.polishing:
            return
        self.n_passes, here = rest.n_passes, rest.here
        state = State(here.total, dict(enumerate(here.memo)), rest.n_passes)
        memory = {b: Visited(rest.memory[b].times, docs) for b, docs in enumerate(here.docs)}
        self.write(Progress(here.model, None, state, memory, history[: rest.n_passes], random, rest.known))

    def write(self, p: Progress) -> None:
        """Atomic: the file is the last checkpoint or this one."""
        total, factor = p.state.total, p.state.total.S.factor
        arrays = {"total.raw": total.S.raw, "total.totals": total.S.totals, "total.T": total.T, "total.M": total.M}
        for name, model in (("model", p.model), ("next", p.following)):
            if model is not None:
                arrays |= {f"{name}.{a}": x for a, x in _prior_arrays(model.prior).items()}
                arrays[f"{name}.eta"] = model.words.eta
        for b, stats in p.state.memo.items():
            arrays |= {f"memo.{b}.{a}": getattr(stats.S, a) for a in ("cols", "indptr", "topic", "value", "totals")}
            arrays |= {f"memo.{b}.T": stats.T, f"memo.{b}.M": stats.M}
        for b, (_, docs) in p.memory.items():
            if docs is not None:
                arrays |= {f"docs.{b}.{a}": getattr(docs, a) for a in ("indptr", "topic", "count")}
        V, K = p.model.words.shape
        about = {
            "n_features": V,
            "fit": self.fit,
            "history": [record.to_dict() for record in p.history],
            "random": p.random,
            "memo": {str(b): _numbers(stats) for b, stats in p.state.memo.items()},
            "visits": {str(b): visited.times for b, visited in p.memory.items()},
            "total": _numbers(total),
            "search": p.search,
            "extra": {"n_components": K, "total.factor": factor, "t": p.state.t, "posterior": p.model.words.posterior},
        }
        write_parts(self.path, arrays, about, FORMAT)

    def read(self, model: TopicModel) -> Progress | None:
        """What `write` wrote, or None where there is no file. `model` says what is expected: sizes, and what is not
        learned."""
        try:
            with open(self.path, "rb") as file:
                parts = open_parts(file, self.path, FORMAT)
                self._compare(parts)
                return _progress(parts, model)
        except FileNotFoundError:
            return None
        except (ModelFileError, CorpusError) as error:
            raise CheckpointError(f"{self.path}: {error}") from error

    def _compare(self, parts: Parts) -> None:
        before = parts.table("fit") or {}
        differ = [k for k in {**before, **self.fit} if before.get(k) != self.fit.get(k)]
        if differ:
            said = "; ".join(
                f"{k} was {str(before.get(k))[:60]} and is {str(self.fit.get(k))[:60]}" for k in differ[:3]
            )
            raise ModelFileError(
                f"the checkpoint of another fit: {said}. Delete it to start anew, or use another path."
            )


def describe_fit(estimator: Any, corpus: Corpus) -> dict[str, Any]:
    """What has to be the same for a fit to go on."""
    parameters = estimator.get_params(deep=False)
    about = {name: _described(value) for name, value in parameters.items() if name not in NOT_COMPARED}
    about["the data"] = f"{corpus.n_docs} x {corpus.n_words}, {_crc(corpus.indptr, corpus.index, corpus.value)}"
    if corpus.vocabulary is not None:
        about["the vocabulary"] = f"crc32 {zlib.crc32(chr(0).join(corpus.vocabulary).encode()):08x}"
    if estimator.warm_start and hasattr(estimator, "model_"):
        about["the start"] = _crc(estimator.model_.words.pseudo_counts(), estimator.model_.prior.alpha)
    return about


def checkpoint_at(path: str | os.PathLike[str], estimator: Any, corpus: Corpus) -> Checkpoint:
    return Checkpoint(Path(path), describe_fit(estimator, corpus))


def _progress(parts: Parts, model: TopicModel) -> Progress:
    V, K = model.words.shape
    search, found = parts.table("search", missing=None), parts.integer("n_components", 1, _core.MAX_TOPICS)
    if parts.n_features != V or (found != K and search is None):
        raise ModelFileError(f"has {parts.n_features} words and {found} topics, expected {V} and {K}")
    K = found
    threads = model.words.total.threads
    factor = parts.number("total.factor", SMALLEST, LARGEST)
    counts = WordTotal(parts.array("total.raw", V, K), parts.array("total.totals", K), factor, threads)
    nothing = model.prior.nothing(counts)  # has T and M of the right kind
    sizes = (K + len(nothing.T) - model.n_components, K if len(nothing.M) else 0)
    total = _stats(parts, "total", counts, parts.table("total"), sizes)
    memo = {
        b: _stats(parts, f"memo.{b}", _word_stats(parts, f"memo.{b}", V, K), numbers, sizes)
        for b, numbers in _by_shard(parts, "memo").items()
    }
    memory = {
        b: Visited(_count(times), _docs(parts, f"docs.{b}", K) if f"docs.{b}.topic" in parts.left else None)
        for b, times in _by_shard(parts, "visits").items()
    }
    here = _model(parts, "model", model, counts)
    following = _model(parts, "next", model, counts) if "next.eta" in parts.left else None
    if len(memo) not in (0, len(memory)):
        raise ModelFileError(f"has statistics of {len(memo)} of {len(memory)} shards")
    if parts.left:
        raise ModelFileError(f"has arrays that no checkpoint has: {', '.join(sorted(parts.left))[:200]}")
    state = State(total, memo, parts.integer("t", 0, LARGEST_COUNT))
    history = read_history(parts)
    if not history:
        raise ModelFileError("has no history")
    return Progress(here, following, state, memory, history, parts.table("random") or {}, search)


def _model(parts: Parts, name: str, model: TopicModel, counts: WordTotal) -> TopicModel:
    eta = parts.array(f"{name}.eta", *model.words.eta.shape, positive=True)
    posterior = parts.choice("posterior", ("collapsed", "variational"), missing=model.words.posterior)
    prior = _prior(parts, name, model.prior, counts.raw.shape[1])
    return replace(model, prior=prior, words=replace(model.words, eta=eta, total=counts, posterior=posterior))


def _prior_arrays(prior: DocumentPrior | StickPrior) -> dict[str, np.ndarray]:
    if isinstance(prior, DocumentPrior):
        return {"alpha": prior.alpha}
    numbers = np.array([prior.concentration, prior.stick_prior, prior.D])
    return {"rho": prior.sticks.rho, "omega": prior.sticks.omega, "T": prior.T, "numbers": numbers}


def _prior(parts: Parts, name: str, prior: DocumentPrior | StickPrior, K: int) -> DocumentPrior | StickPrior:
    if isinstance(prior, DocumentPrior):
        return replace(prior, alpha=parts.array(f"{name}.alpha", K, positive=True))
    sticks = Sticks(*(parts.array(f"{name}.{a}", K, positive=True) for a in ("rho", "omega")))
    alpha, gamma, D = parts.array(f"{name}.numbers", 3)
    if not (np.all(sticks.rho < 1) and min(alpha, gamma) >= SMALLEST and D >= 0):
        raise ModelFileError(f"{name} has a stick broken off past its end, or a concentration that is not positive")
    T = parts.array(f"{name}.T", {0, K + 1})
    return replace(prior, sticks=sticks, concentration=float(alpha), stick_prior=float(gamma), D=float(D), T=T)


def _stats(parts: Parts, name: str, S: WordStats | WordTotal, numbers: Any, sizes: tuple[int, int]) -> TopicStats:
    if not isinstance(numbers, dict) or not all(isinstance(numbers.get(n), float) for n in NUMBERS):
        raise ModelFileError(f"{name} lacks a number of {', '.join(NUMBERS)}")
    D, H, G, A = (numbers[n] for n in NUMBERS)
    return TopicStats(S, D, H, G, A, *(parts.array(f"{name}.{a}", n) for a, n in zip("TM", sizes)))


def _word_stats(parts: Parts, name: str, V: int, K: int) -> WordStats:
    cols = parts.vector(f"{name}.cols", "I32")
    if len(cols) and not (cols[0] >= 0 and cols[-1] < V and np.all(np.diff(cols) > 0)):
        raise ModelFileError(f"{name} has words that are not from 0 to {V - 1}, ascending")
    indptr, topic = _rows(parts, name, len(cols), K)
    value = parts.vector(f"{name}.value", "F32", len(topic))
    return WordStats(cols, indptr, topic, value, parts.array(f"{name}.totals", K))


def _docs(parts: Parts, name: str, K: int) -> DocTopics:
    indptr, topic = _rows(parts, name, None, K)
    return DocTopics(indptr, topic, parts.vector(f"{name}.count", "F32", len(topic)))


def _rows(parts: Parts, name: str, n: int | None, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of topics, each where the next begins, and no topic past the last."""
    indptr = parts.vector(f"{name}.indptr", "I64", None if n is None else n + 1)
    topic = parts.vector(f"{name}.topic", "U16")
    if not (len(indptr) and indptr[0] == 0 and indptr[-1] == len(topic) and np.all(np.diff(indptr) >= 0)):
        raise ModelFileError(f"{name}.indptr is not where rows begin")
    if len(topic) and topic.max() >= K:
        raise ModelFileError(f"{name}.topic has topics that are not from 0 to {K - 1}")
    return indptr, topic


def _by_shard(parts: Parts, name: str) -> dict[int, Any]:
    table = parts.table(name) or {}
    if set(table) != {str(b) for b in range(len(table))}:
        raise ModelFileError(f"{name!r} is not of all shards")
    return {int(b): value for b, value in table.items()}


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST_COUNT:
        raise ModelFileError(f"a shard cannot have been visited {str(value)[:60]} times")
    return value


def _numbers(stats: TopicStats) -> dict[str, float]:
    return {name: float(getattr(stats, name)) for name in NUMBERS}


def _described(value: Any) -> Any:
    """A parameter as JSON holds it: long ones by a checksum, others that are not numbers or strings by their type."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value, dtype=np.float64)
        return f"array of {array.shape}, {_crc(array)}"
    return type(value).__name__


def _crc(*arrays: np.ndarray) -> str:
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
    return f"crc32 {crc:08x}"
