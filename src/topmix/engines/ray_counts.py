"""Texts that the workers of a Ray cluster read and count themselves (data/count_parts.py says how).

Counts go to a folder that all workers see, or behind a URL, and so does the corpus file; messages have words and
numbers of words.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import ray
from ray import ObjectRef

from topmix.data.atomic import atomic_write, check_plain_file
from topmix.data.corpus import Corpus
from topmix.data.count_parts import count_in_parts
from topmix.data.errors import CorpusError
from topmix.data.parquet_texts import ParquetTexts
from topmix.data.paths import RemotePath, is_remote, path_of
from topmix.data.vectorize import Vectorizer
from topmix.engines.ray_calls import Calls, LostData
from topmix.engines.ray_pool import LOG, Pool

LEAST_BYTES, MOST_BYTES = 1 << 20, 1 << 28  # of the texts of a part
PARTS_PER_WORKER = 4  # or more: the last ones to end are then short
PREFIX, NAME = ".topmix-counts-", "corpus.topmix"  # of the folder of counts; of a corpus there
CALLS_PER_WORKER = 2  # calls that a worker has at a time
WINDOW = 6  # calls per worker that may be over before an earlier one is: their results wait here
T = TypeVar("T")


def count_on_workers(
    pool: Pool,
    threads: int,
    folder: str | None,
    texts: ParquetTexts,
    vectorizer: Vectorizer,
    vocabulary: Sequence[str] | None,
    out: Path | None,
) -> Corpus | None:
    """The corpus of the texts, mapped from `out`, or from a temporary file that is removed with the last corpus of it.
    None where the texts cannot be cut, or no folder is seen by all workers: then the log says so."""
    parts = texts.cut(PARTS_PER_WORKER * len(pool.peers), LEAST_BYTES, MOST_BYTES)
    if not parts:
        return None
    if out is not None:
        check_plain_file(out)
    last, run, keep = out, PoolRun(pool, threads), False
    if folder is not None and is_remote(folder):
        home = path_of(folder) / f"{PREFIX}{secrets.token_hex(8)}"
        out = out if out is not None and is_remote(out) else home / NAME
    else:
        out = None if out is not None and is_remote(out) else out  # workers cannot write there: it is sent
        home = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder if out is None else out.resolve().parent))
        out = out or home / NAME
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not run.all_see(home):
            if folder is not None and (is_remote(folder) or out.parent == home):
                raise CorpusError(f"folder={folder!r}: some workers do not see this folder, or cannot write there")
            LOG.warning(
                "workers do not all see %s, so this process counts the texts alone; pass a folder that all machines "
                "see, such as Ray(folder='/shared')", home.parent,
            )  # fmt: skip
            return None
        (home / "parts").mkdir()
        corpus = count_in_parts(texts, parts, vectorizer, vocabulary, home / "parts", out, run)
        if last is not None and last != out:
            corpus.save(last)
            return Corpus.open(last, verify=False)
        if last is None:
            _remove(home / "parts")
            corpus.when_gone(_remove, home)
            keep = True
        return corpus
    finally:
        run.close()
        if not keep:
            _remove(home)


class PoolRun:
    """Runs calls on the workers of a pool. A call is made again when its worker is lost, or is late."""

    def __init__(self, pool: Pool, threads: int):
        self.pool, self.threads, self.calls = pool, threads, Calls(pool)
        pool.users.add(self)

    def __call__(self, function: Callable[..., T], job: object, calls: Iterable[tuple[object, ...]]) -> Iterator[T]:
        self.calls.forget_times()
        shared, todo = ray.put(job), enumerate(calls)
        asked = dict[int, tuple[object, ...]]()  # not answered yet
        found = dict[int, T]()
        n, is_more = 0, True
        while True:
            while is_more and self._has_room(len(asked), len(found)):
                i, arguments = next(todo, (-1, ()))
                is_more = i >= 0
                if is_more:
                    asked[i] = arguments
                    self._ask(i, function, shared, arguments)
            if not asked and not found:
                return
            try:
                answers = self.calls.answers()
            except LostData as lost:  # the result, with the node of its worker
                self._ask(lost.key[1], function, shared, asked[lost.key[1]])
                continue
            for answer in answers:
                result, seconds = answer.last
                self.calls.took(seconds)
                found[answer.key[1]] = result
                del asked[answer.key[1]]
            while n in found:
                yield found.pop(n)
                n += 1

    def _has_room(self, n_asked: int, n_found: int) -> bool:
        peers = len(self.pool.peers)
        return n_asked < CALLS_PER_WORKER * peers and n_asked + n_found < WINDOW * peers

    def _ask(self, i: int, function: Callable[..., object], shared: ObjectRef, arguments: tuple[object, ...]) -> None:
        self.calls.ask(("part", i), self.calls.best(), "apply", self.threads, function, shared, *arguments)

    def all_see(self, folder: Path) -> bool:
        """Whether each worker can read what this process writes there, and write there itself."""
        token = secrets.token_hex(16)
        _say(folder / "token", token)
        waiting = self.pool.wait_for_one()
        for peer in waiting:
            self.calls.ask(("sees", peer.number), peer, "apply", 1, sees, str(folder), token, peer.number)
        seen = dict[int, bool]()
        while len(seen) < len(waiting):
            seen |= {answer.key[1]: answer.last[0] for answer in self.calls.answers()}
        return all(seen.values())

    def close(self) -> None:
        self.pool.users.discard(self)
        self.calls.drop()


def sees(folder: str, token: str, number: int) -> bool:
    try:
        _say(path_of(folder) / f"seen-{number}", token)
        return (path_of(folder) / "token").read_text() == token
    except OSError:
        return False


def _say(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode())


def _remove(folder: Path) -> None:
    """Renamed first: a worker that still writes there by its name cannot add files while the others are removed."""
    if isinstance(folder, RemotePath):
        folder.remove_all()
        return
    gone = folder.with_name(f"{folder.name}-removed")
    try:
        os.rename(folder, gone)
    except OSError:
        gone = folder
    shutil.rmtree(gone, ignore_errors=True)
