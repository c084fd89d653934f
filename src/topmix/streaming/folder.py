"""A stream on disk: one folder with the model and what else the stream knows, replaced together or not at all.

    model-<batches>          the estimator as `save` writes it: `topmix.load` reads it, whoever serves it too
    state                    words, ids and records, and which model they belong to

A new model is written beside the old one. Then the state, which names it, is replaced in one step, and after that the
old model is removed. A process that is killed at any moment leaves a state and the model that it names.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topmix.api.files import load, save
from topmix.api.variational import VariationalTopics
from topmix.data.atomic import TEMPORARY_SUFFIX
from topmix.data.errors import CorpusError
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.store import open_file, write_file
from topmix.streaming.age import Age
from topmix.streaming.record import BatchId, BatchRecord
from topmix.streaming.words import Words

STATE, KIND = "state", "topmix-stream"
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


def write(folder: Path, kept: Kept) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model = model_path(folder, kept.n_batches)
    save(kept.model, model)
    waiting = kept.words.waiting
    about = {
        "n_features": len(kept.words.names),
        "n_batches": kept.n_batches,
        "n_documents": kept.n_documents,
        "ids": kept.ids,
        "records": [record.to_dict() for record in kept.records],
        "waiting": list(waiting),
        "day": kept.age.day,
        "remembered": kept.age.remembered,
    }
    arrays = {"documents": kept.words.documents, "waiting": np.fromiter(waiting.values(), float, len(waiting))}
    write_file(folder / STATE, KIND, arrays, about)
    for other in folder.glob("model-*"):
        if other != model:
            other.unlink(missing_ok=True)


def read(folder: Path) -> Kept | None:
    """None where no stream was begun."""
    path = folder / STATE
    if not path.exists():
        return None
    try:
        with open(path, "rb") as opened:
            file = open_file(opened, path, KIND)
            return _kept(folder, file)
    except (CorpusError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: {error}") from error


def _kept(folder: Path, file: CheckedReader) -> Kept:
    n_batches = file.count("n_batches")
    model = load(model_path(folder, n_batches))
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
    if not (day is None or type(day) is int) or type(remembered) is not float or not 0.0 <= remembered < np.inf:
        raise ModelFileError("'day' and 'remembered' are not the age of a stream")
    return Age(day, remembered)


def opened(folder: Path) -> Kept | None:
    """What is there, after what a killed process left half-written is removed. One process writes to a folder."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "a stream is kept in a folder, and this is a file", str(folder))
    for unfinished in folder.glob(f".*{TEMPORARY_SUFFIX}"):
        unfinished.unlink(missing_ok=True)
    return read(folder)
