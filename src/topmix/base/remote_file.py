"""Files behind URLs: copied once into this machine's cache, or read where they are, when only some of their bytes are
wanted. paths.py says how a URL is a path."""

from __future__ import annotations

import hashlib
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np
from numpy.typing import NDArray

from topmix.base.atomic import atomic_write, lock_file
from topmix.base.checks import CorpusError
from topmix.base.paths import copy_version, file_system, is_remote, remote_version, url_errors, version_of

BLOCK = 1 << 18  # bytes that are fetched at least, where some of a file are wanted
BLOCKS_AT_A_TIME = 1 << 8  # 64 MB in memory

_urls: dict[str, str] = {}  # of local copies


def cache_folder() -> Path:
    """$TOPMIX_CACHE, $XDG_CACHE_HOME/topmix or the usual cache folder of the platform."""
    if own := os.environ.get("TOPMIX_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "topmix"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "topmix"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "topmix"
    return Path.home() / ".cache" / "topmix"


def local_copy(path: str | os.PathLike[str]) -> Path:
    """The file behind a URL, in the cache. It is fetched again when the file behind the URL is another."""
    url = str(path)
    with url_errors(url, of_data=True):
        files, name = file_system(url)
        with _cached("files", url, remote_version(files, name)) as copy:
            if not copy.exists():
                with atomic_write(copy) as file:
                    copy_version(files, name, file)
    _urls[str(copy)] = url
    return copy


def url_behind(path: str) -> str | None:
    """The URL that `local_copy` made this file of, in this process."""
    return _urls.get(path)


def open_binary(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file, or one behind a URL, of which only the bytes that are read are fetched."""
    if not is_remote(path):
        return open(path, "rb")
    with url_errors(str(path), of_data=True):
        files, name = file_system(str(path))
        return files.open(name, "rb")


class SparseCopy:
    """A copy with holes of a file behind a URL, in the cache: bytes are fetched when somebody needs them, and kept.

    Processes of a machine share it. A second file has a byte for each block, which is written when the block is on the
    disk: what a killed process left is fetched again.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        with url_errors(url, of_data=True):
            files, name = file_system(url)
            about = files.info(name)
            self.version, self.size = version_of(about), int(about["size"])
            with _cached("parts", url, self.version) as self.path:
                marks, n_blocks = self.path.with_name(f"{self.path.name}.blocks"), -(-self.size // BLOCK)
                for path, size in ((self.path, self.size), (marks, n_blocks)):
                    with open(path, "ab") as file:  # which a killed process may have left too short
                        file.truncate(size)
            self._file = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            weakref.finalize(self, os.close, self._file)
            self._marks = np.memmap(marks, np.uint8, "r+", shape=n_blocks) if n_blocks else np.zeros(0, np.uint8)

    def need(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Fetches what is not here of these ranges of bytes, as whole blocks."""
        wanted = np.zeros(len(self._marks) + 1, np.int64)
        some = ends > begins
        np.add.at(wanted, begins[some] // BLOCK, 1)
        np.add.at(wanted, (ends[some] - 1) // BLOCK + 1, -1)
        missing = np.flatnonzero((np.cumsum(wanted[:-1]) > 0) & (self._marks == 0))
        for first in range(0, len(missing), BLOCKS_AT_A_TIME):
            blocks = missing[first : first + BLOCKS_AT_A_TIME]
            runs = np.split(blocks, np.flatnonzero(np.diff(blocks) > 1) + 1)
            starts = [int(run[0]) * BLOCK for run in runs]
            stops = [min(self.size, (int(run[-1]) + 1) * BLOCK) for run in runs]
            with url_errors(self.url, of_data=True):
                files, name = file_system(self.url)
                pieces = files.cat_ranges([name] * len(runs), starts, stops, on_error="raise")
                if remote_version(files, name) != self.version:
                    raise CorpusError(f"{self.url}: was replaced by another file since it was opened")
            for start, stop, data in zip(starts, stops, pieces, strict=True):
                if len(data) != stop - start:
                    raise CorpusError(f"{self.url}: {len(data)} bytes came where {stop - start} were asked for")
                os.lseek(self._file, start, os.SEEK_SET)
                os.write(self._file, data)
            os.fsync(self._file)
            self._marks[blocks] = 1


@contextmanager
def _cached(kind: str, url: str, version: str) -> Iterator[Path]:
    """Where this version of a file is kept. Several workers of a machine want the same file at the same moment: one
    fetches it, the others wait."""
    folder = cache_folder() / kind / hashlib.sha256(f"{url} {version}".encode()).hexdigest()[:24]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PurePosixPath(url).name[-200:]
    with open(path.with_name(f"{path.name}.lock"), "ab") as file:
        lock_file(file, wait=True)  # Windows has no such lock: there each fetches it, and the last copy stays
        yield path
