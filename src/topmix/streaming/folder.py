"""A stream on disk: one folder with the model and what else the stream knows, replaced together or not at all.

    model-<batches>          the estimator as `save` writes it: `topmix.load` reads it, whoever serves it too
    state                    words, ids and records, and which model they belong to; none before the first batch
    lock                     held by the process that writes there; it says which, and since when

A new model is written beside the old one. Then the state, which names it, is replaced in one step, and after that the
old model is removed. A process that is killed at any moment leaves a state and the model that it names. A stream that
finds another state than the one that it left writes nothing.

In object storage a file is replaced in one step, too, so the same holds there. It has no locks: of two processes that
write at the same moment neither may notice the other, so let one write.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topmix.api.files import load, save
from topmix.api.variational import VariationalTopics
from topmix.data.errors import CorpusError
from topmix.data.lock import InUseError, WriteLock, write_lock
from topmix.data.paths import TEMPORARY_SUFFIX, Version, file_version, open_version
from topmix.engines import Engine
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.store import open_file, write_file
from topmix.streaming.age import FIRST_DAY, LAST_DAY, Age
from topmix.streaming.record import BatchId, BatchRecord
from topmix.streaming.words import Words

STATE, LOCK, KIND = "state", "lock", "topmix-stream"
NEW = Age()


@dataclass(frozen=True)
class Kept:
    """What a stream is after a batch."""

    model: VariationalTopics  # with what was learned
    n_batches: int
    n_documents: int
    words: Words
    ids: list[BatchId]  # of the last batches, in order
    records: list[BatchRecord]
    age: Age = NEW  # where it forgets by days


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

    def read(self, engine: str | Engine) -> Kept | None:
        """What is there; None where no stream was begun. Another process may be writing meanwhile."""
        path = self.path / STATE
        while path.exists():
            try:
                opened, self._seen = open_version(path)
                with opened:
                    return _kept(self.path, open_file(opened, path, KIND), engine)
            except FileNotFoundError as error:
                if self._is_as_seen():  # and there is no newer model
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

    def write(self, kept: Kept) -> None:
        """Replaces model and state."""
        with self.claim().one_at_a_time:
            self._check_is_ours()
            if self._seen is None:  # a state first: where a model is alone, its state was lost
                self._write_state(replace(kept, n_batches=0, n_documents=0, words=Words(), ids=[], records=[], age=NEW))
            model = model_path(self.path, kept.n_batches)
            save(kept.model, model)
            self._write_state(kept)
            for other in self.path.glob("model-*"):
                if other != model:
                    other.unlink(missing_ok=True)

    def _check_is_ours(self) -> None:
        if not self._is_as_seen():
            raise InUseError(
                f"{self.path} has changed since this stream read it: another one has written there. Make the stream "
                "again, and send it the batches that it does not have."
            )

    def _is_as_seen(self) -> bool:
        return file_version(self.path / STATE) == self._seen

    def _write_state(self, kept: Kept) -> None:
        waiting = kept.words.waiting
        about = {
            "n_features": max(len(kept.words.names), 1),
            "n_batches": kept.n_batches,
            "n_documents": kept.n_documents,
            "ids": kept.ids,
            "records": [record.to_dict() for record in kept.records],
            "waiting": list(waiting),
            "day": kept.age.day,
            "remembered": kept.age.remembered,
        }
        arrays = {"documents": kept.words.documents, "waiting": np.fromiter(waiting.values(), float, len(waiting))}
        write_file(self.path / STATE, KIND, arrays, about)
        self._seen = file_version(self.path / STATE)


def _kept(folder: Path, file: CheckedReader, engine: str | Engine) -> Kept | None:
    n_batches = file.count("n_batches")
    if not n_batches:  # killed while it learned its first batch
        return None
    model = load(model_path(folder, n_batches), engine=engine)
    names = model._found().reading.words if isinstance(model, VariationalTopics) else None
    if names is None or len(names) != file.n_features:
        raise ModelFileError(f"{model_path(folder, n_batches)} has other words than the stream")
    counts = file.vector("waiting", "F64")
    waiting = file.strings("waiting", len(counts))
    ids = file.about.get("ids")
    if not isinstance(ids, list) or not all(isinstance(i, str | int) and not isinstance(i, bool) for i in ids):
        raise ModelFileError("'ids' is not a list of names and numbers")
    return Kept(
        model,
        n_batches,
        file.count("n_documents"),
        Words(list(map(str, names)), file.array("documents", len(names)), dict(zip(waiting or (), counts.tolist()))),
        ids,
        [BatchRecord.from_dict(record) for record in file.items("records")],
        _age(file.about.get("day"), file.about.get("remembered", 0.0)),
    )


def _age(day: Any, remembered: Any) -> Age:
    known = day is None or (type(day) is int and FIRST_DAY <= day <= LAST_DAY)
    if not known or type(remembered) is not float or not 0.0 <= remembered < np.inf:
        raise ModelFileError("'day' and 'remembered' are not the age of a stream")
    return Age(day, remembered)
