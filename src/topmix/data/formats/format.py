"""The interface of a file format. Each file in this folder defines one `Format`; formats/__init__.py lists them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.paths import path_of
from topmix.data.textfile import read_lines, write_lines

# Endings of files of counts whose words lie beside them.
COUNTS = (".mtx", ".mm", ".ldac", ".dat", ".npz", ".svmlight", ".svm", ".libsvm")

LINES = 2048  # documents that are written as text at a time
UCI = "vocab.{}.txt"  # the words of docword.{}.txt

VocabularyLike = Sequence[str] | str | os.PathLike[str] | Literal[False] | None


@dataclass(frozen=True)
class Options:
    """The options of a reader. See `topmix.data.read_corpus`."""

    vocabulary: VocabularyLike = None
    n_words: int | None = None
    first_id: int | None = None
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


def stem(path: Path) -> str:
    """The file name without .gz and without the last suffix."""
    return Path(plain_name(path)).stem


def plain_name(path: Path) -> str:
    """The file name without .gz."""
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name


def find_vocabulary(path: Path, options: Options, n_words: int | None = None) -> Sequence[str] | None:
    """The given words, or the words of a file in the folder of `path`; n_words of them, if n_words is known."""
    given = options.vocabulary
    if given is False:
        return None
    if given is None:
        given = _file_beside(path)
        if given is None:
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


def _own_file(path: Path) -> Path:
    """The file with the words of this file of counts and no other."""
    base = stem(path)
    if base.startswith("docword."):
        return path.with_name(UCI.format(base.removeprefix("docword.")))
    return path.with_name(f"{path.name}.vocab.txt")


def _shared_files(path: Path) -> list[Path]:
    """Files with the words of every X.*, where `path` is X.mtx."""
    base = stem(path)
    return [path.with_name(name) for name in (f"{base}.vocab.txt", f"{base}.vocab", f"{base}.tokens", UCI.format(base))]


def _sharing(path: Path, words: Path) -> list[str]:
    """Other files of counts that one of the `_shared_files` may belong to: X.ldac for X.mtx."""
    names = [stem(path) + ending for ending in COUNTS]
    if words.name == UCI.format(stem(path)):
        names.append(f"docword.{stem(path)}.txt")
    beside = (path.with_name(name + gz) for name in names for gz in ("", ".gz"))
    return [other.name for other in beside if other != path and other.is_file()]


def _file_beside(path: Path) -> Path | None:
    own = [_own_file(path), path.with_name(f"{plain_name(path)}.vocab.txt")]
    for file in own:
        if file.is_file():
            return file
    for file in _shared_files(path):
        if file.is_file():
            if others := _sharing(path, file):
                raise CorpusError(
                    f"{path}: {file.name} may hold the words of {path.name} or of {', '.join(others)}: rename it to "
                    f"{own[0].name}, pass it as vocabulary=, or pass vocabulary=False"
                )
            return file
    everyone = path.with_name("vocab.txt")
    return everyone if everyone.is_file() else None


def write_vocabulary(corpus: Corpus, path: Path) -> None:
    """Write the vocabulary to the file in which `find_vocabulary` looks first. A corpus without one leaves no such
    file: its words would be those of the corpus that was here before. Nothing lies beside a device or a pipe."""
    if path.exists() and not path.is_file():
        return
    if corpus.vocabulary is not None:
        write_lines(corpus.vocabulary, _own_file(path))
        return
    _own_file(path).unlink(missing_ok=True)
    shared = _shared_files(path)[0]  # where words were written before each file had a file of its own
    if path.exists() and not _sharing(path, shared):
        shared.unlink(missing_ok=True)


def check_whole_counts(corpus: Corpus, what: str) -> None:
    """Raise unless every count is an integer."""
    for begin in range(0, corpus.nnz, 1 << 20):
        block = corpus.value[begin : begin + (1 << 20)]
        if (block != block.round()).any():
            raise CorpusError(
                f"{what} holds integer counts only, but this corpus has fractions: write Matrix Market (.mtx)"
            )


def number_texts(value: NDArray[np.float32]) -> list[str]:
    """The shortest texts that read back as the same float32 numbers."""
    if (value == value.round()).all() and (value < 2**53).all():
        return [str(x) for x in value.astype(np.int64).tolist()]
    return [_number_text(x) for x in value]


def _number_text(x: np.float32) -> str:
    if x == np.finfo(np.float32).max:
        return "3.4028234e+38"  # the shortest text, 3.4028235e+38, is above the maximum when it is read as a double
    return np.format_float_scientific(x, trim="-") if x >= 1e16 else np.format_float_positional(x, trim="-")
