"""Rows that lie in a file, as a message: where the file is and which rows, never the rows.

Whoever receives the message maps the file and reads for itself. A file is mapped once per process; one that was written
again since is mapped again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.remote_file import is_remote, local_copy

MAPPED_FILES = 8  # that a process keeps open


@dataclass(frozen=True)
class SavedRows:
    """Some documents of a saved corpus."""

    path: str  # or the URL that it came from
    rows: slice | np.ndarray
    n_docs: int
    nnz: int

    @classmethod
    def of(cls, corpus: Corpus, rows: slice | np.ndarray) -> SavedRows | None:
        """None where the corpus is in memory."""
        if corpus.path is None:
            return None
        where = corpus.url or os.path.abspath(corpus.path)
        return cls(where, rows, corpus.n_docs, corpus.nnz)

    def read(self) -> Corpus:
        """The documents, as they lie in the file on this machine."""
        path = local_copy(self.path) if is_remote(self.path) else self.path
        try:
            about = os.stat(path)
        except OSError as error:
            raise CorpusError(
                f"{path}: this machine cannot read the corpus: {error.strerror}. Every machine that computes needs the "
                "file under the same path: put it on storage that all of them see, or pass a URL such as s3://"
            ) from error
        corpus = _mapped_corpus(str(path), about.st_mtime_ns, about.st_size)
        if (corpus.n_docs, corpus.nnz) != (self.n_docs, self.nnz):
            raise CorpusError(
                f"{path}: has {corpus.n_docs} documents and {corpus.nnz} entries, expected {self.n_docs} and "
                f"{self.nnz}: it is another corpus than the one that the fit began with"
            )
        return corpus[self.rows]


@lru_cache(maxsize=MAPPED_FILES)
def _mapped_corpus(path: str, changed: int, size: int) -> Corpus:
    return Corpus.open(path, verify=False)  # the sender has, and rows are checked when they are taken out


def forget_mapped_files() -> None:
    """For those who have used what they mapped."""
    _mapped_corpus.cache_clear()
    _mapped_array.cache_clear()


@dataclass(frozen=True)
class MappedArray:
    """A whole array of a mapped file."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int  # bytes

    @classmethod
    def of(cls, array: Any) -> MappedArray | None:
        """None where the array is in memory, or not laid out as a file is."""
        root = array
        while root is not None and not (isinstance(root, np.memmap) and not isinstance(root.base, np.ndarray)):
            root = getattr(root, "base", None)
        if root is None or root.filename is None or not array.flags.c_contiguous:
            return None
        begin = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return cls(os.path.abspath(root.filename), array.dtype.str, array.shape, root.offset + begin)

    def open(self) -> NDArray[Any]:
        try:
            about = os.stat(self.path)
        except OSError as error:
            raise CorpusError(
                f"{self.path}: this machine cannot read the table: {error.strerror}. Every machine that computes needs "
                "the file under the same path"
            ) from error
        if about.st_size < self.offset + int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize:
            raise CorpusError(f"{self.path}: has {about.st_size} bytes, too few for rows of {self.shape}")
        return _mapped_array(self, about.st_mtime_ns)


@lru_cache(maxsize=MAPPED_FILES)
def _mapped_array(of: MappedArray, changed: int) -> NDArray[Any]:
    return np.memmap(of.path, of.dtype, "r", of.offset, of.shape).view(np.ndarray)
