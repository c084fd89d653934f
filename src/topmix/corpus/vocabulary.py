"""The terms that become columns: a given vocabulary, or the counted terms after pruning by min_df and max_df; and words
in the columns of others, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import compress, pairwise
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix import _core
from topmix.base.checks import CorpusError, is_auto, is_number
from topmix.base.component import is_whole, plain
from topmix.base.layout import MappedFile
from topmix.base.threads import threads

# Many strings in two arrays, so that a vocabulary can be mapped from a file.


class Strings(Sequence[str]):
    """A read-only list of strings: UTF-8 bytes, and where each string starts."""

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[np.int64], file: MappedFile | None = None) -> None:
        self.text = text  # [bytes]
        self.offsets = offsets  # [n + 1]: string i is text[offsets[i]:offsets[i + 1]]
        self.file = file  # that both are mapped from

    def __getstate__(self) -> dict[str, object]:
        self._ready(0, len(self.text))
        return self.__dict__ | {"file": None}

    @classmethod
    def pack(cls, strings: Iterable[str], what: str = "string") -> Strings:
        if isinstance(strings, Strings):
            return strings
        parts: Sequence[str | bytes] = list(strings)
        try:
            text = "".join(parts).encode()  # type: ignore[arg-type]
        except (TypeError, UnicodeEncodeError):
            for i, part in enumerate(parts):
                if not isinstance(part, str):
                    raise CorpusError(f"{what} {i} is not a str but {type(part).__name__}: {part!r}") from None
                try:
                    part.encode()
                except UnicodeEncodeError as error:
                    raise CorpusError(f"{what} {i} cannot be written as UTF-8: {part!r}") from error
            raise
        if not text.isascii():  # otherwise a character is a byte
            parts = [part.encode() for part in parts]  # type: ignore[union-attr]
        return cls(np.frombuffer(text, np.uint8), starts_of(np.fromiter(map(len, parts), np.int64, len(parts))))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Strings: ...
    def __getitem__(self, i: int | slice) -> str | Strings:
        if isinstance(i, slice):
            begin, end, step = i.indices(len(self))
            if step == 1:
                return Strings(self.text, self.offsets[begin : max(begin, end) + 1], self.file)
            return Strings.pack(self[j] for j in range(begin, end, step))
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"string {i} does not exist: there are {n}")
        return next(self._decoded(i % n, i % n + 1))

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), 4096):
            yield from self._decoded(begin, min(begin + 4096, len(self)))

    def _decoded(self, begin: int, end: int) -> Iterator[str]:
        """Strings begin to end, checked."""
        self._ready(0, 0)
        block = self.offsets[begin : end + 1]
        first, last = int(block[0]), int(block[-1])
        if first < 0 or last > len(self.text) or np.any(block[1:] < block[:-1]):
            raise CorpusError(f"the offsets of strings {begin} to {end - 1} do not rise within {len(self.text)} bytes")
        self._ready(first, last)
        text = self.text[first:last].tobytes()
        for i, (a, b) in enumerate(pairwise((block - first).tolist()), begin):
            try:
                yield text[a:b].decode()
            except UnicodeDecodeError as error:
                where = f"bytes {first + a} to {first + b} of the text"
                raise CorpusError(f"string {i} ({where}) is not UTF-8: {error.reason}") from error

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(s) for s in self[:5])
        return f"[{shown}, … {len(self):,} in all]" if len(self) > 5 else f"[{shown}]"

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The bytes of these strings alone, and offsets from 0: as a file has them."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        self._ready(first, last)
        return self.text[first:last], self.offsets - first if first else self.offsets

    def _ready(self, begin: int, end: int) -> None:
        """Before these bytes of the text are touched."""
        if self.file is not None:
            self.file.ready(self.text, begin, end)


def starts_of(lengths: ArrayLike) -> NDArray[np.int64]:
    """[n + 1] where things of these lengths begin, one after another, and where the last one ends."""
    starts = np.zeros(np.size(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def given_vocabulary(vocabulary: Iterable[str] | Mapping[str, int]) -> list[str]:
    """The terms in the order of their columns. A mapping gives the columns, a set is sorted, a list keeps its order."""
    if isinstance(vocabulary, str):
        raise ValueError("vocabulary is a single string: pass a list of words or a mapping of word to column")
    if isinstance(vocabulary, Mapping):
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        if [vocabulary[w] for w in words] != list(range(len(words))):
            raise ValueError("vocabulary must map its words to the columns 0, 1, ..., each column once")
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, AbstractSet) else list(vocabulary)
    if not words:
        raise ValueError("vocabulary is empty: pass at least one word, or None to learn the words")
    check_strings(words, "the vocabulary")
    if (twice := _first_twice(words)) is not None:
        raise ValueError(f"the vocabulary holds {twice!r} twice")
    return words


def check_strings(words: Iterable[object], what: str) -> None:
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{what} holds {word!r}, which is not a string")


def _first_twice(words: Iterable[str]) -> str | None:
    """The first word that was there before."""
    seen: set[str] = set()
    for word in words:
        if word in seen:
            return word
        seen.add(word)
    return None


def columns_of(words: Iterable[str | int], names: Iterable[str] | None, n_words: int) -> list[int]:
    """The columns of words that are given by name or as columns; -1 for those that do not exist."""
    column = {} if names is None else {str(name): v for v, name in enumerate(names)}
    columns = (int(word) if is_whole(word) else column.get(str(word), -1) for word in words)
    return [v if 0 <= v < n_words else -1 for v in columns]


def columns_of_all(
    words: Sequence[str], known: Sequence[str], *, keep_new: bool = False
) -> tuple[NDArray[np.int64], list[str]]:
    """The column of each word among the known words, and the names of all columns. A word that is not known has -1, or
    with `keep_new` a column after the others. Every name must stand for one column."""
    names = [str(word) for word in known]
    for columns in (words, names):
        if (twice := _first_twice(columns)) is not None:
            raise ValueError(f"{twice!r} is in the vocabulary twice, so documents cannot be matched by their words")
    column = {name: v for v, name in enumerate(names)}
    numbers = [column.setdefault(word, len(column)) if keep_new else column.get(word, -1) for word in words]
    return np.array(numbers, dtype=np.int64), list(column)


def check_cut(name: str, cut: object) -> None:
    """Raises unless this is a value of min_df or max_df: a number or a share of the documents, or "auto"."""
    number = plain(cut)
    if is_auto(cut):
        return
    if not is_number(number):
        raise TypeError(f"{name}={cut!r}: pass an int (a number of documents) or a float (a share of the documents)")
    if is_whole(number) and number < 1:
        raise ValueError(f"{name}={cut}: an int is a number of documents; pass at least 1")
    if not is_whole(number) and not 0.0 <= number <= 1.0:
        raise ValueError(f"{name}={cut}: a float is a share of the documents; pass 0.0 to 1.0")


def documents_of(cut: float, n_docs: int) -> float:
    """How many a value of min_df or max_df stands for."""
    return cut if isinstance(cut, int) else cut * n_docs


def cuts_for(n_docs: int, min_df: int | float | str, max_df: int | float | str) -> tuple[int | float, int | float]:
    """min_df and max_df, with a value for "auto". Very rare words tell little, and words of most documents end up in
    every topic; a few documents need all their words."""
    if isinstance(min_df, str):
        min_df = 5 if n_docs >= 1000 else 2 if n_docs >= 20 else 1
    if isinstance(max_df, str):
        max_df = 0.5 if n_docs >= 20 else 1.0
    return min_df, max_df


Junk = Callable[[Sequence[str], list[str]], set[str]]  # of the words, and of those that are too common; to leave out


def select_terms(
    counter: _core.TermCounter,
    min_df: int | float | str,
    max_df: int | float | str,
    max_features: int | None,
    stop_words: Sequence[str],
    phrases: float | None,
    junk: Junk,
) -> np.ndarray:
    """Ids of the terms to keep, sorted by their strings. Their order is the order of the columns. N-grams that have a
    word in them which `junk` leaves out are left out too."""
    n_docs = counter.n_rows
    min_df, max_df = cuts_for(n_docs, min_df, max_df)
    if n_docs == 0:
        raise ValueError("there are no documents: the iterable of texts is empty")
    if counter.n_terms == 0:
        also = ", or all words are stop words" if stop_words else ""
        raise ValueError(
            f"the {n_docs:,} documents hold no words: they are empty, or nothing in them matches the pattern{also}"
        )
    low, high = documents_of(min_df, n_docs), documents_of(max_df, n_docs)
    if high < low:
        raise ValueError(
            f"max_df={max_df} is {high:g} of {n_docs:,} documents, less than min_df={min_df}, which is {low:g}"
        )
    df = counter.document_frequency()
    wanted = (df >= low) & (df <= high)
    if phrases is not None:
        wanted &= _is_phrase(counter, phrases)
    kept = counter.sort(np.flatnonzero(wanted).astype(np.int32), threads())
    names, common = counter.terms(kept), np.flatnonzero(df > high).astype(np.int32)
    dropped = junk(names, counter.terms(common))
    if dropped:
        kept = kept[[dropped.isdisjoint(name.split(" ")) for name in names]]
    if len(kept) == 0:
        also = f"; {len(dropped):,} were numbers, symbols or stop words" if dropped else ""
        raise ValueError(
            f"no words are left of {counter.n_terms:,} in {n_docs:,} documents: min_df={min_df} removed "
            f"{int((df < low).sum()):,} and max_df={max_df} removed {len(common):,}{also}"
        )
    if max_features is not None and len(kept) > max_features:
        # The same expression as in scikit-learn, so that the same ones of equally frequent terms are kept.
        best = (-counter.term_frequency()[kept]).argsort()[:max_features]
        kept = kept[np.sort(best)]
    return kept


def _is_phrase(counter: _core.TermCounter, least: float) -> np.ndarray:
    """[terms] True for single words, and for n-grams whose normalised pointwise mutual information is at least `least`:

    log(p(w1 ... wn) / (p(w1) ... p(wn))) / (-(n - 1) log p(w1 ... wn))
    """
    terms = counter.terms(np.arange(counter.n_terms, dtype=np.int32))
    count = counter.term_frequency().astype(np.float64)
    keep = np.array([" " not in term for term in terms], dtype=bool)
    log_p = np.log(count / max(float(count[keep].sum()), 1.0)).tolist()
    of_word = dict(compress(zip(terms, log_p), keep.tolist()))
    for i in np.flatnonzero(~keep):
        parts = terms[i].split(" ")
        gain = log_p[i] - sum(of_word.get(part, 0.0) for part in parts)
        keep[i] = gain >= least * -log_p[i] * (len(parts) - 1)
    return keep
