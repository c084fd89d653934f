"""File formats of counts: the interface of a format, the words that lie beside a file, and the binary formats: the
`.topmix` of this library (corpus/store.py), sparse matrices of scipy.sparse.save_npz, and X of .h5ad files of single
cells. `topmix.io.readers` lists the formats."""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from topmix.base.atomic import atomic_write
from topmix.base.checks import CorpusError
from topmix.base.paths import path_of
from topmix.base.remote_file import url_behind
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.counts import check_sparse
from topmix.io.libraries import from_anndata, open_anndata
from topmix.io.textfile import plain_name, read_lines, write_lines

VocabularyLike = Sequence[str] | str | os.PathLike[str] | Literal[False] | None
# What NumPy and zipfile raise for damaged archives.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, AttributeError,
           NotImplementedError, OSError, RuntimeError, MemoryError, OverflowError)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """The options of a reader. See `topmix.data.read_corpus`."""

    vocabulary: VocabularyLike = None
    out: Path | None = None
    verify: bool = True


@dataclass(frozen=True)
class Format:
    """A file format: how to recognise, read and write it."""

    name: str
    suffixes: tuple[str, ...]  # endings of file names, in lower case and without .gz
    matches: Callable[[bytes], bool]  # whether the first bytes (decompressed) have this format
    read: Callable[[Path, Options], Corpus]
    write: Callable[[Corpus, Path], None]
    prefix: str = ""  # start of file names in this format, whatever their suffix

    def is_named(self, path: Path) -> bool:
        name = plain_name(path)
        return Path(name).suffix.lower() in self.suffixes or bool(self.prefix and name.startswith(self.prefix))


def find_vocabulary(path: Path, options: Options, n_words: int | None = None) -> Sequence[str] | None:
    """The given words, or the words of a file in the folder of `path`; n_words of them, if n_words is known."""
    given = options.vocabulary
    if given is None:
        name = Path(plain_name(path)).stem
        names = (f"{plain_name(path)}.vocab.txt", f"{name}.vocab.txt", f"{name}.vocab", f"{name}.tokens",
                 f"vocab.{name}.txt", "vocab.txt")  # fmt: skip
        beside = [_words_of(path), *map(path.with_name, names)]
        given = next((file for file in beside if file.is_file()), None)
    if given is None or given is False:
        return None
    if not isinstance(given, str | os.PathLike):
        if n_words is not None and len(given) != n_words:
            raise CorpusError(f"{path}: the file has {n_words} words, but the given vocabulary has {len(given)}")
        return given
    words = read_lines(path_of(given))
    if n_words is not None and len(words) != n_words:
        raise CorpusError(
            f"{given}: line {min(len(words), n_words) + 1}: expected {n_words} words, one per line, for {path.name}; "
            f"found {len(words)} (vocabulary=False reads without a vocabulary)"
        )
    return words


def write_vocabulary(corpus: Corpus, path: Path) -> None:
    """Write the vocabulary to the file in which `find_vocabulary` looks first. A corpus without one leaves no such
    file: its words would be those of the corpus that was here before. Nothing lies beside a device or a pipe."""
    if path.exists() and not path.is_file():
        return
    if corpus.vocabulary is None:
        _words_of(path).unlink(missing_ok=True)
    else:
        write_lines(corpus.vocabulary, _words_of(path))


def _words_of(path: Path) -> Path:
    """The file with the words of this file of counts and no other."""
    name = Path(plain_name(path)).stem
    own = f"vocab.{name.removeprefix('docword.')}.txt" if name.startswith("docword.") else f"{path.name}.vocab.txt"
    return path.with_name(own)


def _is_npz(head: bytes) -> bool:
    return head[:4] == b"PK\x03\x04"


def _read_npz(path: Path, options: Options) -> Corpus:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                _check_size(archive, member)
            if damaged := archive.testzip():
                raise CorpusError(f"{path}: member {damaged!r} does not match its checksum: the file is corrupt")
        X = sp.load_npz(path)
    except (CorpusError, FileNotFoundError):
        raise
    except DAMAGED as error:
        raise CorpusError(f"{path}: not a complete scipy .npz file: {error}") from error
    check_sparse(X)
    return built(sp.csr_array(X), find_vocabulary(path, options, int(X.shape[1])), options)


def built(
    rows: sp.csr_array, vocabulary: Sequence[str] | None, options: Options, names: Sequence[str] | None = None
) -> Corpus:
    """The corpus of a matrix that another library has read."""
    with CorpusBuilder(options.out) as builder:
        builder.append(rows.indptr, rows.indices, rows.data, names)
        return builder.finish(vocabulary, int(rows.shape[1]) if vocabulary is None else None)


def _check_size(archive: zipfile.ZipFile, name: str) -> None:
    """Nobody makes room for numbers that are not there."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
    size = archive.getinfo(name).file_size
    if math.prod(shape) * dtype.itemsize > size:
        raise EOFError(f"{name} has {size} bytes, too few for {dtype} of shape {shape}")


def _write_npz(corpus: Corpus, path: Path) -> None:
    write_vocabulary(corpus, path)
    with atomic_write(path) as file:
        sp.save_npz(file, corpus.to_scipy())


def _is_saved(head: bytes) -> bool:
    return head[8:9] == b"{" and b"topmix-corpus" in head


def _read_saved(path: Path, options: Options) -> Corpus:
    _refuse_options(path, "a saved corpus", options)
    corpus = Corpus.open(url_behind(str(path)) or path, verify=options.verify)  # other machines see the URL alone
    if options.out is None:
        return corpus
    corpus.save(options.out)
    return Corpus.open(options.out, verify=False)  # its rows were checked a moment ago, and are checked again when used


def _is_h5ad(head: bytes) -> bool:
    return head[:8] == b"\x89HDF\r\n\x1a\n"


def _read_h5ad(path: Path, options: Options) -> Corpus:
    _refuse_options(path, "an h5ad file", options)
    with open_anndata(path) as adata:
        return from_anndata(adata, out=options.out)


def _write_h5ad(corpus: Corpus, path: Path) -> None:
    raise ValueError(f"{path}: topmix reads .h5ad files and does not write them: write Matrix Market (.mtx)")


def _refuse_options(path: Path, what: str, options: Options) -> None:
    if options.vocabulary:
        raise CorpusError(f"{path}: {what} holds its words; leave out vocabulary")


SAVED = Format("topmix", (".topmix",), _is_saved, _read_saved, Corpus.save)
NPZ = Format("npz", (".npz",), _is_npz, _read_npz, _write_npz)
H5AD = Format("h5ad", (".h5ad",), _is_h5ad, _read_h5ad, _write_h5ad)
