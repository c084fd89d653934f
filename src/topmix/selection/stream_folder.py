"""What a stream is between two batches, and its folder."""

from __future__ import annotations

import errno
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, TypeGuard

import numpy as np

from topmix.base.atomic import InUseError, WriteLock, write_lock
from topmix.base.checks import CorpusError
from topmix.base.fields import ModelFileError, open_file, write_file
from topmix.base.paths import TEMPORARY_SUFFIX, Version, file_version, open_version
from topmix.corpus.corpus import Corpus
from topmix.engines.engine import Engine
from topmix.estimators.files import load, save
from topmix.estimators.variational import VariationalTopics

BatchId = str | int


def is_id(id: object) -> TypeGuard[BatchId]:
    return isinstance(id, str) or type(id) is int


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """What one batch was like, and what it changed. Topics are numbers, which stay the same."""

    batch: int  # 1 is the first
    id: BatchId | None
    documents: int
    tokens: float
    unknown: float  # share of the tokens whose words the model does not have, before the batch was learned
    score: float  # nats per held-out token of the batch, before it was learned; NaN for the first
    drift: float = 0.0  # 0 to 1: how far its topics are from those of the past, half the sum of absolute differences
    grown: tuple[int, ...] = ()  # topics with more than twice their usual share
    shrunk: tuple[int, ...] = ()  # with less than half of it
    appeared: tuple[int, ...] = ()  # grown ones that had next to nothing before
    admitted: int = 0  # words that are new in the model
    retired: int = 0  # words that left it
    words: int = 0  # that the model has now

    def to_dict(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """What `to_dict` gave, read from JSON. Raises ValueError or TypeError."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        for name in ("grown", "shrunk", "appeared"):
            known[name] = tuple(int(k) for k in known.get(name, ()))
        if not all(isinstance(value, int | float | tuple) for name, value in known.items() if name != "id"):
            raise ValueError("a record has something else than numbers")
        return cls(**known)


# Which words a stream knows: they are admitted when enough documents had them, and the rarest retire.
#
# Counts are of documents, and fade with the half-life of the stream. Words that wait for admission are counted in
# bounded memory: where there are more than `most`, the count of the first one too many is subtracted from all, and
# those with nothing left are dropped (Misra and Gries 1982, in the form of Agarwal et al. 2012). A count is then too
# small by at most the entries seen / (most + 1).


@dataclass(frozen=True)
class Lexicon:
    names: list[str] = field(default_factory=list)  # of the model, in the order of its columns
    documents: np.ndarray = field(default_factory=lambda: np.zeros(0))  # [words] that had each, faded
    waiting: dict[str, float] = field(default_factory=dict)  # words that are not in the model -> documents, faded

    def unknown(self, corpus: Corpus) -> float:
        """The share of tokens whose words are not in the model."""
        known = set(self.names)
        is_new = np.array([word not in known for word in corpus.vocabulary or ()], dtype=bool)
        return float(corpus.value[is_new[corpus.index]].sum(dtype=np.float64)) / max(float(corpus.n_tokens), 1e-300)

    def seen(self, corpus: Corpus, fade: float, admit: float, most: int) -> tuple[Lexicon, np.ndarray, int]:
        """The words after a batch, which of those before stay [words] bool, and how many are new. `fade` is what is
        left of the counts of the past."""
        column = {word: v for v, word in enumerate(self.names)}
        had = np.bincount(corpus.index, minlength=corpus.n_words)
        documents = self.documents * fade
        waiting = {word: n * fade for word, n in self.waiting.items()}
        admitted, counts = [], []
        for word, n in zip(corpus.vocabulary or (), had.tolist()):
            if not n:
                continue
            if (v := column.get(word)) is not None:
                documents[v] += n
            elif (now := waiting.pop(word, 0.0) + n) >= admit:
                admitted.append(word)
                counts.append(now)
            else:
                waiting[word] = now
        every, kept = np.append(documents, counts), np.ones(len(self.names) + len(admitted), dtype=bool)
        if len(every) > most:
            kept[np.argsort(-every, kind="stable")[most:]] = False
        stay, enter = kept[: len(self.names)], kept[len(self.names) :]
        admitted = [word for word, enters in zip(admitted, enter.tolist()) if enters]
        names = [word for word, stays in zip(self.names, stay.tolist()) if stays] + admitted
        return Lexicon(names, every[kept], bounded(waiting, most)), stay, len(admitted)


def bounded(counts: dict[str, float], most: int) -> dict[str, float]:
    """At most so many of them, the largest, each less what the first one too many has."""
    if len(counts) <= most:
        return counts
    cut = float(np.partition(np.fromiter(counts.values(), float, len(counts)), -most - 1)[-most - 1])
    return {word: n - cut for word, n in counts.items() if n > cut}


# A stream on disk: one folder with the model and what else the stream knows, replaced together or not at all.
#
#     model-<batches>          the estimator as `save` writes it: `topmix.load` reads it, whoever serves it too
#     state                    words, ids and records, and which model they belong to; none before the first batch
#     lock                     held by the process that writes there; it says which, and since when
#
# A new model is written beside the old one. Then the state, which names it, is replaced in one step, and after that the
# old model is removed. A process that is killed at any moment leaves a state and the model that it names. A stream that
# finds another state than the one that it left writes nothing. Object storage has no locks, so let one process write.

STATE, LOCK, KIND = "state", "lock", "topmix-stream"


@dataclass(frozen=True)
class StreamState:
    """What a stream is after a batch."""

    model: VariationalTopics  # with what was learned
    n_batches: int = 0
    n_documents: int = 0
    words: Lexicon = field(default_factory=Lexicon)
    ids: list[BatchId] = field(default_factory=list)  # of the last batches, in order
    records: list[BatchRecord] = field(default_factory=list)


def model_path(folder: Path, n_batches: int) -> Path:
    return folder / f"model-{n_batches}"


class Folder:
    """The folder of one stream, to which no other process writes meanwhile, and no other stream of this one."""

    def __init__(self, path: Path):
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "a stream is kept in a folder, and this is a file", str(path))
        self.path = path
        self._lock: WriteLock | None = None
        self._seen: Version | None = None  # of the state that this stream continues

    def read(self, engine: str | Engine) -> StreamState | None:
        """What is there; None where no stream was begun. Another process may be writing meanwhile."""
        path = self.path / STATE
        while path.exists():
            try:
                opened, self._seen = open_version(path)
                with opened:
                    file = open_file(opened, path, KIND)
                    n_batches = file.count("n_batches")
                    if not n_batches:  # killed while it learned its first batch
                        return None
                    model = load(model_path(self.path, n_batches), engine=engine)
                    names = model._found().reading.words if isinstance(model, VariationalTopics) else None
                    if names is None or len(names) != file.n_features:
                        raise ModelFileError(f"{model_path(self.path, n_batches)} has other words than the stream")
                    counts = file.array("waiting", None)
                    waiting = dict(zip(file.strings("waiting", len(counts)) or (), counts.tolist()))
                    ids = file.about.get("ids")
                    if not isinstance(ids, list) or not all(map(is_id, ids)):
                        raise ModelFileError("'ids' is not a list of names and numbers")
                    words = Lexicon(list(map(str, names)), file.array("documents", len(names)), waiting)
                    records = [BatchRecord.from_dict(record) for record in file.items("records")]
                    return StreamState(model, n_batches, file.count("n_documents"), words, ids, records)
            except FileNotFoundError as error:
                if file_version(path) == self._seen:  # and there is no newer model
                    raise ModelFileError(f"{path} belongs to the model {error.filename!r}, which is gone") from error
            except (CorpusError, TypeError, ValueError, RecursionError) as error:
                raise ModelFileError(f"{path}: {error}") from error
        if any(self.path.glob("model-*")):
            raise ModelFileError(
                f"{self.path} has a model of a stream, and the file {STATE!r} that belongs to it is gone"
            )
        return None

    def claim(self) -> WriteLock:
        """The right to write, as long as somebody has this object. Raises InUseError where another process has it, or
        where another stream has written since this one read."""
        self.path.mkdir(parents=True, exist_ok=True)
        before, self._lock = self._lock, write_lock(self.path / LOCK)
        with self._lock.one_at_a_time:
            self._check_is_ours()
            if self._lock is not before:
                for unfinished in self.path.glob(f".*{TEMPORARY_SUFFIX}"):  # of a process that was killed
                    unfinished.unlink(missing_ok=True)
        return self._lock

    def write(self, kept: StreamState) -> None:
        """Replaces model and state."""
        with self.claim().one_at_a_time:
            self._check_is_ours()
            if self._seen is None:  # a state first: where a model is alone, its state was lost
                self._write_state(StreamState(kept.model))
            model = model_path(self.path, kept.n_batches)
            save(kept.model, model)
            self._write_state(kept)
            for other in self.path.glob("model-*"):
                if other != model:
                    other.unlink(missing_ok=True)

    def _check_is_ours(self) -> None:
        if file_version(self.path / STATE) != self._seen:
            raise InUseError(
                f"{self.path} has changed since this stream read it: another one has written there. Make the stream "
                "again, and send it the batches that it does not have."
            )

    def _write_state(self, kept: StreamState) -> None:
        waiting = kept.words.waiting
        about = {
            "n_features": max(len(kept.words.names), 1),
            "n_batches": kept.n_batches,
            "n_documents": kept.n_documents,
            "ids": kept.ids,
            "records": [record.to_dict() for record in kept.records],
            "waiting": list(waiting),
        }
        arrays = {"documents": kept.words.documents, "waiting": np.fromiter(waiting.values(), float, len(waiting))}
        write_file(self.path / STATE, KIND, arrays, about)
        self._seen = file_version(self.path / STATE)
