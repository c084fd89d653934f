"""Binary files of one corpus: the `.topmix` of this library (data/store.py), sparse matrices of scipy.sparse.save_npz,
of which CSR is read in blocks and other layouts are loaded into memory first, and X of .h5ad files of single cells."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp

from topmix.data.atomic import atomic_write
from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.counts import check_n_words
from topmix.data.errors import CorpusError
from topmix.data.formats.format import Format, Options, find_vocabulary, write_vocabulary
from topmix.data.libraries import from_anndata, open_anndata
from topmix.data.matrices import check_sparse
from topmix.data.remote_file import url_behind

BLOCK_ROWS = 1 << 14


def is_npz(head: bytes) -> bool:
    return head[:4] == b"PK\x03\x04"


def read_npz(path: Path, options: Options) -> Corpus:
    # Members that are not read to their end would keep a file of the archive's own open.
    with _errors(path), open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        if damaged := archive.testzip():
            raise CorpusError(f"{path}: member {damaged!r} does not match its checksum: the file is corrupt")
        layout = bytes(_Member(archive, "format").rest().item()).decode()
        shape = _Member(archive, "shape").rest()
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
            raise CorpusError(f"{path}: member 'shape.npy' is not a pair of sizes")
        n_docs, n_words = int(shape[0]), check_n_words(int(shape[1]))
        if options.n_words not in (None, n_words):
            raise CorpusError(f"{path}: has {n_words} words, but n_words is {options.n_words}")
        vocabulary = find_vocabulary(path, options, n_words)
        with CorpusBuilder(options.out) as builder:
            if layout == "csr":
                _stream_csr(path, archive, n_docs, builder)
            else:
                for name in archive.namelist():
                    _Member(archive, name.removesuffix(".npy"), 3)
                X = sp.load_npz(path)
                check_sparse(X)
                rows = sp.csr_array(X)
                builder.append(rows.indptr, rows.indices, rows.data)
            return builder.finish(vocabulary, n_words)


def write_npz(corpus: Corpus, path: Path) -> None:
    write_vocabulary(corpus, path)
    with atomic_write(path) as file:
        sp.save_npz(file, corpus.to_scipy())


def _stream_csr(path: Path, archive: zipfile.ZipFile, n_docs: int, builder: CorpusBuilder) -> None:
    indptr, index, value = (_Member(archive, name) for name in ("indptr", "indices", "data"))
    if len(indptr) != n_docs + 1 or len(index) != len(value):
        raise CorpusError(
            f"{path}: the lengths of the arrays do not agree: {n_docs} rows, {len(indptr)} in indptr, "
            f"{len(index)} ids, {len(value)} counts"
        )
    last = indptr.take(1).astype(np.int64)
    if last[0] != 0:
        raise CorpusError(f"{path}: indptr starts at {last[0]}, not 0")
    for begin in range(0, n_docs, BLOCK_ROWS):
        ends = np.concatenate([last, indptr.take(min(BLOCK_ROWS, n_docs - begin)).astype(np.int64)])
        if (np.diff(ends) < 0).any() or ends[-1] > len(index):
            raise CorpusError(
                f"{path}: rows {begin} to {begin + len(ends) - 2}: indptr decreases or exceeds {len(index)}"
            )
        n = int(ends[-1] - ends[0])
        builder.append(ends - ends[0], index.take(n), value.take(n))
        last = ends[-1:]
    if last[0] != len(index):
        raise CorpusError(f"{path}: indptr ends at {last[0]}, but there are {len(index)} entries")


class _Member:
    """One array of the archive, read from its start to its end."""

    def __init__(self, archive: zipfile.ZipFile, name: str, most_dimensions: int = 1) -> None:
        self._file: IO[bytes] = archive.open(f"{name}.npy")
        version = np.lib.format.read_magic(self._file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        self.shape, _, self.dtype = read_header(self._file)
        if self.dtype.hasobject or len(self.shape) > most_dimensions:
            raise ValueError(f"{name}.npy is {self.dtype} of shape {self.shape}, not an array of numbers")
        size = archive.getinfo(f"{name}.npy").file_size
        if math.prod(self.shape) * self.dtype.itemsize > size:  # nobody makes room for what is not there
            raise EOFError(f"{name}.npy has {size} bytes, too few for {self.dtype} of shape {self.shape}")

    def __len__(self) -> int:
        return int(self.shape[0]) if self.shape else 1

    def take(self, n: int) -> np.ndarray:
        data = self._file.read(n * self.dtype.itemsize)
        if len(data) != n * self.dtype.itemsize:
            raise EOFError("an array is shorter than its header says")
        return np.frombuffer(data, self.dtype)

    def rest(self) -> np.ndarray:
        return self.take(len(self)).reshape(self.shape)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turns the many errors of a damaged archive into a CorpusError that names the file."""
    try:
        yield
    except (CorpusError, FileNotFoundError):
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, NotImplementedError,
            OSError, RuntimeError, MemoryError, OverflowError) as error:  # fmt: skip
        raise CorpusError(f"{path}: not a complete scipy .npz file: {error}") from error


def is_saved(head: bytes) -> bool:
    return head[8:9] == b"{" and b"topmix-corpus" in head


def read_saved(path: Path, options: Options) -> Corpus:
    _refuse_options(path, "a saved corpus", options)
    corpus = Corpus.open(url_behind(str(path)) or path, verify=options.verify)  # other machines see the URL alone
    if options.out is None:
        return corpus
    corpus.save(options.out)
    return Corpus.open(options.out, verify=False)  # its rows were checked a moment ago, and are checked again when used


def is_h5ad(head: bytes) -> bool:
    return head[:8] == b"\x89HDF\r\n\x1a\n"


def read_h5ad(path: Path, options: Options) -> Corpus:
    _refuse_options(path, "an h5ad file", options)
    adata = open_anndata(path)
    try:
        return from_anndata(adata, out=options.out)
    finally:
        adata.file.close()


def write_h5ad(corpus: Corpus, path: Path) -> None:
    raise ValueError(f"{path}: topmix reads .h5ad files and does not write them: write Matrix Market (.mtx)")


def _refuse_options(path: Path, what: str, options: Options) -> None:
    if options.vocabulary or options.n_words is not None or options.first_id is not None:
        raise CorpusError(f"{path}: {what} holds its words; leave out vocabulary, n_words and first_id")


SAVED = Format("topmix", (".topmix",), is_saved, read_saved, Corpus.save)
NPZ = Format("npz", (".npz",), is_npz, read_npz, write_npz)
H5AD = Format("h5ad", (".h5ad",), is_h5ad, read_h5ad, write_h5ad)
