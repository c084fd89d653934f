"""File formats of counts, and the words that lie beside a file. `topmix.io.readers` lists the formats.

`.topmix` files of this library (corpus/store.py), sparse matrices of scipy.sparse.save_npz, and X of .h5ad files.

UCI bags of words, `docword.X.txt` or `.txt.gz`, with the words in `vocab.X.txt` in the same folder, have three header
lines (documents D, words W, entries NNZ), then NNZ lines "doc word count" with ids from 1, in any order. Entries in the
order of documents are read in bounded memory. Matrix Market coordinate files, `.mtx` or `.mtx.gz`, have one document
per row; MmCorpus of gensim writes them too. They are read by SciPy.
"""

from __future__ import annotations

import io
import math
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.base.atomic import atomic_write
from topmix.base.checks import CorpusError
from topmix.base.paths import is_damage, is_path, path_of
from topmix.base.remote_file import url_behind
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.counts import MAX_WORDS, check_sparse
from topmix.corpus.vocabulary import starts_of
from topmix.io.libraries import from_anndata, open_anndata
from topmix.io.textfile import CUT_SHORT, TextFile, plain_name, read_lines, write_lines, write_text

VocabularyLike = Sequence[str] | str | os.PathLike[str] | Literal[False] | None
LARGEST = 2**63 - 1  # number that is read as a whole one
LINES = 2048  # documents that are written as text at a time
SHORTEST_ENTRY = 4  # bytes of a line "doc word count"
Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]  # document, word, count
# What NumPy and zipfile raise for damaged archives.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, AttributeError,
           NotImplementedError, OSError, RuntimeError, MemoryError, OverflowError)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """The options of a reader. See `topmix.data.read_corpus` and `from_anndata`."""

    vocabulary: VocabularyLike = None
    out: Path | None = None
    verify: bool = True
    layer: str | None = None
    most_entries: int | None = None


@dataclass(frozen=True)
class Format:
    """A file format: how to recognise, read and write it."""

    name: str
    suffixes: tuple[str, ...]  # endings of file names, in lower case and without .gz
    signature: bytes  # pattern of the first bytes, decompressed
    read: Callable[[Path, Options], Corpus]
    write: Callable[[Corpus, Path], None]
    prefix: str = ""  # start of file names in this format, whatever their suffix


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
    words = read_lines(path_of(given)) if is_path(given) else given
    if n_words is None or len(words) == n_words:
        return words
    if not is_path(given):
        raise CorpusError(f"{path}: the file has {n_words} words, but the given vocabulary has {len(words)}")
    raise CorpusError(
        f"{given}: line {min(len(words), n_words) + 1}: expected {n_words} words, one per line, for {path.name}; "
        f"found {len(words)} (vocabulary=False reads without a vocabulary)"
    )


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


def _read_npz(path: Path, options: Options) -> Corpus:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    version = np.lib.format.read_magic(file)
                    read_1, read_2 = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
                    shape, _, dtype = read_1(file) if version == (1, 0) else read_2(file)
                # Nobody makes room for numbers that are not there.
                size = archive.getinfo(member).file_size
                if math.prod(shape) * dtype.itemsize > size:
                    raise EOFError(f"{member} has {size} bytes, too few for {dtype} of shape {shape}")
            if damaged := archive.testzip():
                raise CorpusError(f"{path}: member {damaged!r} does not match its checksum: the file is corrupt")
        X = sp.load_npz(path)
    except DAMAGED as error:
        if not is_damage(error):
            raise
        raise CorpusError(f"{path}: not a complete scipy .npz file: {error}") from error
    check_sparse(X)
    return _of_scipy(sp.csr_array(X), find_vocabulary(path, options, int(X.shape[1])), options)


def _of_scipy(rows: sp.csr_array, vocabulary: Sequence[str] | None, options: Options) -> Corpus:
    with CorpusBuilder(options.out) as builder:
        builder.append(rows.indptr, rows.indices, rows.data)
        return builder.finish(vocabulary, int(rows.shape[1]) if vocabulary is None else None)


def _write_npz(corpus: Corpus, path: Path) -> None:
    write_vocabulary(corpus, path)
    with atomic_write(path) as file:
        sp.save_npz(file, corpus.to_scipy())


def _read_saved(path: Path, options: Options) -> Corpus:
    if options.vocabulary:
        raise CorpusError(f"{path}: a saved corpus holds its words; leave out vocabulary")
    corpus = Corpus.open(url_behind(str(path)) or path, verify=options.verify)  # other machines see the URL alone
    if options.out is None:
        return corpus
    corpus.save(options.out)
    return Corpus.open(options.out, verify=False)  # its rows were checked a moment ago, and are checked again when used


def _read_h5ad(path: Path, options: Options) -> Corpus:
    if options.vocabulary:
        raise CorpusError(f"{path}: an h5ad file holds its words; leave out vocabulary")
    with open_anndata(path) as adata:
        return from_anndata(adata, options.layer, out=options.out, most_entries=options.most_entries)


def _write_h5ad(corpus: Corpus, path: Path) -> None:
    raise ValueError(f"{path}: topmix reads .h5ad files and does not write them: write Matrix Market (.mtx)")


# Lines of numbers.


class Header(NamedTuple):
    n_docs: int
    n_words: int
    nnz: int

    @property
    def problem(self) -> str:
        for what, n in (("documents", self.n_docs), ("words", self.n_words)):
            if n > MAX_WORDS:
                return f"the header says {n} {what}; the limit is {MAX_WORDS}"
        if self.nnz > self.n_docs * self.n_words:
            return f"the header says {self.nnz} entries, more than {self.n_docs} × {self.n_words}"
        if self.n_docs > most_documents(self.nnz):
            return f"the header says {self.n_docs} documents, but only {self.nnz} entries"
        return ""


def most_documents(n_entries: int) -> int:
    """Documents that a file may have up to its n-th entry. Nearly all of more would be empty, and they would take the
    memory of a machine for a file of three lines."""
    return 1_000_000 + 100 * n_entries


def _read_uci(path: Path, options: Options, *, in_order: bool = True) -> Corpus:
    with TextFile(path) as file, CorpusBuilder(options.out) as builder:
        numbers = []
        for what in ("the number of documents", "the number of words", "the number of entries"):
            text = file.readline(what).strip()
            if not re.fullmatch(rb"\d{1,18}", text):
                raise file.error(f"expected {what}, found {text[:24].decode(errors='replace')!r}", file.line - 1)
            numbers.append(int(text))
        header = Header(*numbers)
        if header.problem:
            raise file.error(header.problem, file.line - 1)
        vocabulary = find_vocabulary(path, options, header.n_words)
        blocks = _entries(file, header)
        if not in_order:
            doc, word, value = (np.concatenate(arrays) for arrays in zip(*blocks))
            order = np.argsort(doc, kind="stable")
            blocks = iter([(doc[order], word[order], value[order])])
        none: Entries = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
        rest, done, seen = none, 0, 0  # entries of the last document so far, documents before it, entries
        for block in chain(blocks, [none]):
            doc, word, value = (np.concatenate([rest[i], block[i]]) for i in range(3))
            if (doc[1:] < doc[:-1]).any():
                break
            seen += len(block[0])
            end = int(doc[-1]) if len(block[0]) else header.n_docs
            if end > most_documents(seen):
                raise file.error(f"document {end + 1} after {seen} entries: nearly all documents before it are empty")
            cut = int(np.searchsorted(doc, end))
            builder.append(starts_of(np.bincount(doc[:cut] - done, minlength=end - done)), word[:cut], value[:cut])
            rest, done = (doc[cut:], word[cut:], value[cut:]), end
        else:
            return builder.finish(vocabulary, header.n_words)
    # Most files that are not in order show it early, so reading again costs little.
    return _read_uci(path, options, in_order=False)


def _entries(file: TextFile, header: Header) -> Iterator[Entries]:
    """Blocks of entries, with ids from 0. Checks the total of the header."""
    limits = (("a document id", header.n_docs), ("a word id", header.n_words), ("a count", LARGEST - 1))
    total = 0
    for text in file.blocks():
        letters = np.frombuffer(text, np.uint8)
        is_digit: NDArray[np.bool_] = (letters - np.uint8(ord("0"))) < 10
        other = np.flatnonzero(~(is_digit | np.isin(letters, np.frombuffer(b" \t\r\n", np.uint8))))
        if len(other):
            at = int(other[0])
            found = re.split(rb"[ \t\r\n]", text[at : at + 24])[0].decode(errors="replace")
            raise file.error(f"expected a whole number, found {found!r}", file.line + text.count(b"\n", 0, at))
        is_first = is_digit.copy()
        is_first[1:] &= ~is_digit[:-1]
        n_numbers = np.diff(np.cumsum(is_first)[letters == ord("\n")], prepend=0)  # of each line
        wrong = np.flatnonzero((n_numbers != 3) & (n_numbers != 0))
        if len(wrong):
            raise file.error("expected a line 'doc word count'", file.line + int(wrong[0]))
        entries = np.fromstring(text, np.int64, sep=" ").reshape(-1, 3).T
        for numbers, (what, most) in zip(entries, limits):
            wrong = np.flatnonzero((numbers < 1) | (numbers > most))
            if len(wrong):
                line = file.line + int(np.flatnonzero(n_numbers)[wrong[0]])
                raise file.error(f"expected {what} from 1 to {most}, found '{numbers[wrong[0]]}'", line)
        doc, word, value = entries
        file.line, total = file.line + len(n_numbers), total + len(doc)
        if total > header.nnz:
            raise file.error(f"{total} entries up to here, but the header says {header.nnz}", file.line - 1)
        if len(doc):
            yield doc - 1, (word - 1).astype(np.int32), value.astype(np.float32)
    if total != header.nnz:
        raise file.error(f"the file ends after {total} entries, but the header says {header.nnz}: it may be cut short")


def _read_matrix_market(path: Path, options: Options) -> Corpus:
    with TextFile(path) as file:
        text = file.read()
        if text and not text.endswith(b"\n"):
            raise file.error(CUT_SHORT, text.count(b"\n") + 1)
    try:
        *sizes, layout, kind, symmetry = scipy.io.mminfo(io.BytesIO(text))
        header = Header(*sizes)
        if (layout, symmetry) != ("coordinate", "general") or kind not in ("real", "integer", "pattern"):
            found = f"{layout} {kind} {symmetry}"
            raise CorpusError(f"{path}: expected a general coordinate matrix of real numbers, found {found}")
        most = len(text) // SHORTEST_ENTRY  # nobody makes room for entries that are not there
        if header.problem or header.nnz > most:
            lacking = f"the header says {header.nnz} entries, and the file has room for {most}"
            raise CorpusError(f"{path}: {header.problem or lacking}")
        vocabulary = find_vocabulary(path, options, header.n_words)
        with warnings.catch_warnings():
            # SciPy 1.18 warns that a later version will return an array, which is what is made here anyway.
            warnings.simplefilter("ignore", DeprecationWarning)
            rows = sp.csr_array(scipy.io.mmread(io.BytesIO(text)))
    except (ValueError, OverflowError, MemoryError) as error:
        raise CorpusError(f"{path}: not a Matrix Market file: {error}") from error
    return _of_scipy(rows, vocabulary, options)


def _write_uci(corpus: Corpus, path: Path) -> None:
    for begin in range(0, corpus.nnz, 1 << 20):
        block = corpus.value[begin : begin + (1 << 20)]
        if (block != block.round()).any() or block.max(initial=0.0) >= LARGEST:
            raise CorpusError("UCI docword holds integers below 2**63 only: write Matrix Market (.mtx)")
    _write_entries(corpus, path, f"{corpus.n_docs}\n{corpus.n_words}\n{corpus.nnz}\n")


def _write_matrix_market(corpus: Corpus, path: Path) -> None:
    sizes = f"{corpus.n_docs} {corpus.n_words} {corpus.nnz}\n"
    _write_entries(corpus, path, f"%%MatrixMarket matrix coordinate real general\n{sizes}")


def _write_entries(corpus: Corpus, path: Path, header: str) -> None:
    """Lines "doc word count" with ids from 1."""
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        file.write(header.encode())
        for begin in range(0, corpus.n_docs, LINES):
            block = corpus[begin : begin + LINES]
            doc = np.repeat(np.arange(begin + 1, begin + 1 + block.n_docs), np.diff(block.indptr)).tolist()
            words, value = (block.index + np.int64(1)).tolist(), block.value
            # The shortest texts that read back as the same float32 numbers: that of the largest one is above it when it
            # is read as a double.
            if (value == value.round()).all() and (value < LARGEST).all():
                numbers = list(map(str, value.astype(np.int64).tolist()))
            else:
                numbers = [str(x) if x < np.finfo(np.float32).max else "3.4028234e+38" for x in value]
            file.write("".join(f"{d} {w} {x}\n" for d, w, x in zip(doc, words, numbers)).encode())


SAVED = Format("topmix", (".topmix",), rb".{8}\{.*topmix-corpus", _read_saved, Corpus.save)
NPZ = Format("npz", (".npz",), rb"PK\x03\x04", _read_npz, _write_npz)
H5AD = Format("h5ad", (".h5ad",), rb"\x89HDF\r\n\x1a\n", _read_h5ad, _write_h5ad)
UCI = Format("uci", (), rb"\s*\d+\s*\n\s*\d+\s*\n\s*\d+\s*\n", _read_uci, _write_uci, prefix="docword.")
MATRIX_MARKET = Format("mtx", (".mtx", ".mm"), rb"%%MatrixMarket", _read_matrix_market, _write_matrix_market)
