"""What a format is: one of these per file in this folder, listed in formats/__init__.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.textfile import read_lines, write_lines

VocabularyLike = Sequence[str] | str | os.PathLike[str] | Literal[False] | None


@dataclass(frozen=True)
class Options:
    """What a reader may be told. See `topmix.data.read_corpus`."""

    vocabulary: VocabularyLike = None
    n_words: int | None = None
    first_id: int | None = None
    out: Path | None = None


@dataclass(frozen=True)
class Format:
    name: str
    suffixes: tuple[str, ...]  # of file names, lower case and without .gz
    matches: Callable[[bytes], bool]  # do the first bytes (unzipped) look like it?
    read: Callable[[Path, Options], Corpus]
    write: Callable[[Corpus, Path], None]
    prefix: str = ""  # of file names that have it whatever their suffix

    def is_named(self, path: Path) -> bool:
        name = plain_name(path)
        return Path(name).suffix.lower() in self.suffixes or bool(self.prefix and name.startswith(self.prefix))


def stem(path: Path) -> str:
    """The name without .gz and without its last suffix."""
    return Path(plain_name(path)).stem


def plain_name(path: Path) -> str:
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name


def find_vocabulary(path: Path, options: Options, n_words: int | None = None) -> Sequence[str] | None:
    """The words as given, or from a file beside `path`; as many as the data has columns, if that is known."""
    given = options.vocabulary
    if given is False:
        return None
    if given is None:
        base = stem(path)
        beside = [f"vocab.{base.removeprefix('docword.')}.txt", f"{base}.vocab.txt", f"{base}.vocab", f"{base}.tokens"]
        found = [path.with_name(name) for name in [*beside, "vocab.txt"] if path.with_name(name).is_file()]
        if not found:
            return None
        given = found[0]
    if not isinstance(given, str | os.PathLike):
        if n_words is not None and len(given) != n_words:
            raise CorpusError(f"{path}: has {n_words} words, but the vocabulary given has {len(given)}")
        return given
    words = read_lines(Path(given))
    if n_words is not None and len(words) != n_words:
        raise CorpusError(
            f"{given}: line {min(len(words), n_words) + 1}: expected {n_words} words, one a line, as {path.name} has; "
            f"found {len(words)} (vocabulary=False reads without one)"
        )
    return words


def write_vocabulary(corpus: Corpus, path: Path) -> None:
    """Write the words, if there are any, where `find_vocabulary` will look for them."""
    if corpus.vocabulary is not None:
        base = stem(path)
        name = f"vocab.{base.removeprefix('docword.')}.txt" if base.startswith("docword.") else f"{base}.vocab.txt"
        write_lines(corpus.vocabulary, path.with_name(name))


def whole_counts(corpus: Corpus, what: str) -> None:
    """Raise unless every count is an integer."""
    for begin in range(0, corpus.nnz, 1 << 20):
        block = corpus.value[begin : begin + (1 << 20)]
        if (block != block.round()).any():
            raise CorpusError(f"{what} holds integer counts, and this corpus has others; Matrix Market holds any")
