"""A corpus: documents as bags of words, in three arrays.

Row d holds the words index[i] with the counts value[i], for indptr[d] <= i < indptr[d + 1]. In each row the words are
sorted and distinct, and the counts are positive. Rows may be empty. The arrays are in memory or in a mapped file.
Rows of a file are checked before anybody sees them (counts.py).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix import _core
from topmix.data.builder import RowBuilder, build_from_rows
from topmix.data.counts import MAX_WORDS, CountRows, StoredRows, as_rows, check_lengths, check_n_words, tidy
from topmix.data.design_rows import DesignRows
from topmix.data.errors import CorpusError
from topmix.data.matrices import rows_from_array
from topmix.data.paths import is_remote, path_of
from topmix.data.rows import Rows
from topmix.data.store import CorpusParts, open_store, verify_store, write_store
from topmix.data.strings import Strings
from topmix.data.vocabulary import columns_of_all
from topmix.numerics.threads import threads

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Corpus:
    """Documents as bags of words. Immutable.

    The constructor takes sorted rows, drops explicit zeros, and raises CorpusError for anything else that is wrong.
    `from_scipy`, `from_rows` and `topmix.data.read_corpus` also take rows that are not sorted.

    Parameters
    ----------
    indptr, index, value
        Sparse rows: offsets of the rows, word ids and counts, as in a CSR matrix.
    n_words : int
        Size of the vocabulary, V, including words that no document uses.
    vocabulary : sequence of str, optional
        The words, in the order of their ids.
    names : sequence of str, optional
        One name per document.
    meta : mapping, optional
        Information to keep with the corpus, for instance the settings of the tokenizer. Must fit in JSON.
    """

    n_words: int
    vocabulary: Sequence[str] | None
    names: Sequence[str] | None
    meta: Mapping[str, Any]
    path: Path | None  # the file that the rows are mapped from
    url: str | None  # where that file was fetched from
    design: DesignRows | None  # what the prior of each document depends on; a saved corpus has none
    version: NDArray[np.int32] | None  # [D] the version of topics that each document has, -1 for none of them
    vectors: Rows | None  # one for each document, where clusters of vectors are described by words; not saved either
    _rows: CountRows | StoredRows
    _n_tokens: float | None  # None: nobody has asked
    _unverified: Path | None  # the file that the rows were taken from, if nobody has compared its checksums

    def __init__(
        self,
        indptr: ArrayLike,
        index: ArrayLike,
        value: ArrayLike,
        n_words: int,
        vocabulary: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> None:
        n_words = check_n_words(n_words)
        rows = as_rows(indptr, index, value)
        problem, n_zeros, n_tokens = _core.check_rows(*rows, n_words)
        if problem:
            raise CorpusError(problem)
        if n_zeros:
            rows = tidy(*rows, n_words)
        check_lengths(len(rows[0]) - 1, n_words, vocabulary, names)
        self._fill(rows, n_words, vocabulary, names, meta, n_tokens)

    @classmethod
    def trusted(
        cls,
        indptr: NDArray[np.int64],
        index: NDArray[np.int32],
        value: NDArray[np.float32],
        n_words: int,
        vocabulary: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        *,
        meta: Mapping[str, object] | None = None,
        n_tokens: float | None = None,
        unverified: Path | None = None,
    ) -> Corpus:
        """A corpus from arrays that were checked before. The arrays are not read."""
        corpus = object.__new__(cls)
        corpus._fill((indptr, index, value), n_words, vocabulary, names, meta, n_tokens, unverified)
        return corpus

    @classmethod
    def of_parts(cls, parts: CorpusParts, url: str | None = None) -> Corpus:
        """A corpus of rows that were checked before, or of rows of a file, which are checked before their first use."""
        corpus = object.__new__(cls)
        corpus._fill(parts.rows, parts.n_words, parts.vocabulary, parts.names, parts.meta, url=url)
        return corpus

    def _fill(
        self,
        rows: CountRows | StoredRows,
        n_words: int,
        vocabulary: Sequence[str] | None,
        names: Sequence[str] | None,
        meta: Mapping[str, object] | None,
        n_tokens: float | None = None,
        unverified: Path | None = None,
        url: str | None = None,
    ) -> None:
        self.__dict__.update(
            n_words=n_words,
            vocabulary=_as_strings(vocabulary),
            names=_as_strings(names),
            meta=dict(meta or {}),
            path=rows.path if isinstance(rows, StoredRows) else None,
            url=url,
            design=None,
            version=None,
            vectors=None,
            _rows=rows if isinstance(rows, StoredRows) else tuple(_frozen(array) for array in rows),
            _n_tokens=n_tokens,
            _unverified=unverified,
        )

    def with_design(self, design: DesignRows) -> Corpus:
        """The same documents, with what their priors depend on."""
        return self._with(design=design)

    def without_names(self) -> Corpus:
        return self._with(names=None)

    def named(self, names: Sequence[str] | None) -> Corpus:
        """The same documents with these names."""
        check_lengths(self.n_docs, self.n_words, None, names)
        return self._with(names=_as_strings(names))

    def with_vectors(self, vectors: Rows) -> Corpus:
        """The same documents, with a vector beside each."""
        if len(vectors) != self.n_docs:
            raise ValueError(
                f"there are {len(vectors)} vectors and {self.n_docs} documents: each needs one of the other"
            )
        return self._with(vectors=vectors)

    def _with(self, **beside: object) -> Corpus:
        corpus = object.__new__(Corpus)
        corpus.__dict__.update(self.__dict__ | beside)
        return corpus

    def with_versions(self, version: NDArray[np.int32]) -> Corpus:
        """The same documents, with the versions of topics that they have."""
        return self._with(version=version)

    def __getstate__(self) -> dict[str, object]:
        """Somebody who gets a copy gets rows that were checked."""
        return self.__dict__ | {"_rows": self._all_rows(), "_n_tokens": self.n_tokens}

    @property
    def indptr(self) -> NDArray[np.int64]:
        """[D + 1] where each row begins. Whoever asks for an array of a saved corpus gets all rows, checked."""
        return self._all_rows()[0]

    @property
    def index(self) -> NDArray[np.int32]:
        """[nnz] word ids."""
        return self._all_rows()[1]

    @property
    def value(self) -> NDArray[np.float32]:
        """[nnz] counts."""
        return self._all_rows()[2]

    @classmethod
    def from_scipy(
        cls, X: object, vocabulary: Sequence[str] | None = None, names: Sequence[str] | None = None
    ) -> Corpus:
        """A corpus from a sparse or dense array of counts, or a DataFrame.

        The columns of a DataFrame become the vocabulary. Its index becomes the names, unless it is a RangeIndex. The
        corpus shares the memory of X if X is a CSR array of float32 with sorted rows: do not change X afterwards.
        """
        if isinstance(X, Corpus):
            rows, n_words, words, docs = X._all_rows(), X.n_words, X.vocabulary, X.names
        else:
            rows, n_words, words, docs = rows_from_array(X)
        if _core.check_rows(*rows, n_words)[:2] != ("", 0):
            rows = tidy(*rows, n_words)
        vocabulary = words if vocabulary is None else vocabulary
        names = docs if names is None else names
        check_lengths(len(rows[0]) - 1, n_words, vocabulary, names)
        return cls.trusted(*rows, n_words, vocabulary, names)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Mapping[int, float] | Iterable[tuple[int, float]]],
        vocabulary: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        *,
        n_words: int | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> Corpus:
        """A corpus from an iterable of documents, each a mapping {word id: count} or pairs (word id, count).

        With `out` the corpus is built in that file, in bounded memory, and mapped from it.
        """
        return cls.of_parts(build_from_rows(rows, vocabulary, names, n_words=n_words, out=out))

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Corpus:
        """A saved corpus, mapped from its file. The file must not change while the corpus is in use.

        Opening compares the checksums, for which it reads the file once. With `verify=False` it reads only the header,
        whatever the size of the file. Rows are checked before their first use in either case. Of a file behind a URL
        such as s3:// or gs:// (needs fsspec), documents are fetched when they are used, once, into the cache of this
        machine; their checksums are compared by `verify` alone.
        """
        return cls.of_parts(open_store(path_of(path), verify=verify), url=str(path) if is_remote(path) else None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `.topmix` file, atomically. `Corpus.open` maps it, and any safetensors library can read it.

        Rows that come from a file are saved only if that file matches its checksums.
        """
        source = self.path or self._unverified
        if source is not None and source.exists():
            verify_store(source)
        vocabulary = None if self.vocabulary is None else Strings.pack(self.vocabulary, "word")
        names = None if self.names is None else Strings.pack(self.names, "name")
        write_store(path_of(path), *self._all_rows(), self.n_words, vocabulary=vocabulary, names=names, meta=self.meta)

    def verify(self) -> Corpus:
        """Check all checksums and all rows; raise CorpusError at the first error. Returns the corpus."""
        where = "" if self.path is None else f"{self.path}: "
        if self.path is not None:
            verify_store(self.path)
        problem, _ = _core.check_saved_rows(*self._all_rows(), self.n_words, 0, threads())
        if problem:
            raise CorpusError(where + problem)
        for what, strings in (("vocabulary", self.vocabulary), ("names", self.names)):
            if isinstance(strings, Strings) and self.path is not None and (problem := strings.problem()):
                raise CorpusError(f"{where}{what}: {problem}")
        return self

    def when_gone(self, function: Callable[..., object], *arguments: object) -> None:
        """Call function(*arguments) when nobody uses the mapped file of this corpus any more."""
        if isinstance(self._rows, StoredRows):
            weakref.finalize(self._rows.file, function, *arguments)

    @property
    def n_docs(self) -> int:
        return len(self._unchecked_rows()[0]) - 1

    @property
    def nnz(self) -> int:
        """Number of entries: pairs of a document and one of its distinct words."""
        return len(self._unchecked_rows()[1])

    @property
    def n_tokens(self) -> int | float:
        """Sum of all counts. That of a saved corpus is compared with its rows."""
        if isinstance(self._rows, StoredRows):
            self._rows.all()
            return _whole(self._rows.n_tokens)
        if self._n_tokens is None:
            self.__dict__["_n_tokens"] = float(self.value.sum(dtype=np.float64))
        return _whole(cast(float, self._n_tokens))

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_docs, self.n_words

    def __len__(self) -> int:
        return self.n_docs

    def __getitem__(self, rows: object) -> Corpus:
        """The chosen documents, with the same vocabulary. A slice shares memory; a list, mask or array copies."""
        if isinstance(rows, tuple) and len(rows) == 2 and (rows[1] is Ellipsis or rows[1] == slice(None)):
            rows = rows[0]  # as scikit-learn chooses the rows of an array
        if isinstance(rows, int | np.integer):
            if not -self.n_docs <= rows < self.n_docs:
                raise IndexError(f"document {rows} does not exist: the corpus has {self.n_docs}")
            rows = slice(int(rows) % self.n_docs, int(rows) % self.n_docs + 1)
        if isinstance(rows, slice):
            begin, end, step = rows.indices(self.n_docs)
            if step == 1:
                return self._slice(begin, max(begin, end))
            rows = np.arange(begin, end, step)
        return self._take(np.asarray(rows))

    def __iter__(self) -> Iterator[Corpus]:
        return (self[d] for d in range(self.n_docs))

    def keep_words(self, words: Iterable[str] | ArrayLike) -> Corpus:
        """The same documents with some of the words: names, or a mask with one entry per word.

        Names that are not in the vocabulary are no error. `drop_words` is the opposite.
        """
        return self._with_words(self._word_mask(words))

    def drop_words(self, words: Iterable[str] | ArrayLike) -> Corpus:
        """The same documents without some of the words, for instance stop words."""
        return self._with_words(~self._word_mask(words))

    def in_words(self, words: Sequence[str], *, keep_new: bool = False) -> InWords:
        """The same documents in the columns of these words, matched by name, and the number of tokens dropped.

        Words of the corpus that are not among them are dropped; with `keep_new` they become columns after the others.
        A name that stands for two columns cannot be matched: ValueError.
        """
        if self.vocabulary is None:
            raise ValueError("the corpus has no vocabulary, so its words cannot be matched by name")
        if len(words) == self.n_words and all(a == b for a, b in zip(self.vocabulary, words)):
            return InWords(self, 0)
        column, names = columns_of_all(self.vocabulary, words, keep_new=keep_new)
        dropped = self.value[column[self.index] < 0].sum(dtype=np.float64)
        return InWords(self._renumbered(column, names, len(names)), _whole(float(dropped)))

    def to_scipy(self) -> sp.csr_array:
        """A csr_array that shares the memory of `index` and `value`."""
        import scipy.sparse as sp

        if self.nnz <= MAX_WORDS:
            X = sp.csr_array((self.value, self.index, self.indptr.astype(np.int32)), shape=self.shape, copy=False)
        else:  # the constructor of SciPy wants one integer type, and would copy the index to int64
            X = sp.csr_array(self.shape, dtype=np.float32)
            X.data, X.indices, X.indptr = self.value, self.index, self.indptr
        X.has_canonical_format = True
        return X

    def equals(self, other: Corpus) -> bool:
        """Whether the two have the same documents, vocabulary, names and meta."""
        return (
            self.shape == other.shape
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.index, other.index)
            and np.array_equal(self.value, other.value)
            and self.vocabulary == other.vocabulary
            and self.names == other.names
            and dict(self.meta) == dict(other.meta)
        )

    def __repr__(self) -> str:
        where = f", mapped from {self.path.name}" if self.path else ""
        words = "words" if self.vocabulary is not None else "words without a vocabulary"
        size = f"{self.n_docs:,} documents × {self.n_words:,} {words}"
        # Rows of a file are not read for this.
        tokens = _whole(self._rows.n_tokens) if isinstance(self._rows, StoredRows) else self.n_tokens
        return f"Corpus({size}, {self.nnz:,} entries, {tokens:,} tokens{where})"

    def _word_mask(self, words: Iterable[str] | ArrayLike) -> NDArray[np.bool_]:
        if isinstance(words, str):
            raise ValueError("words is a single string: pass a list of words, or a mask")
        if isinstance(words, np.ndarray) and words.dtype == bool:
            if words.shape != (self.n_words,):
                raise ValueError(f"the mask has shape {words.shape}, but the corpus has {self.n_words} words")
            return words
        if self.vocabulary is None:
            raise ValueError("the corpus has no vocabulary: pass a mask, one entry per word")
        wanted = set(cast(Iterable[str], words))
        return np.fromiter((word in wanted for word in self.vocabulary), bool, self.n_words)

    def _with_words(self, keep: NDArray[np.bool_]) -> Corpus:
        if not keep.any():
            raise ValueError("no words would be left")
        column = np.where(keep, np.cumsum(keep) - 1, -1)
        words = None if self.vocabulary is None else [word for word, kept in zip(self.vocabulary, keep) if kept]
        return self._renumbered(column, words, int(keep.sum()))

    def _renumbered(self, column: NDArray[np.int64], words: Sequence[str] | None, n_words: int) -> Corpus:
        """The same documents with word v in `column[v]`; -1 drops it."""
        rows = tidy(self.indptr, self.index, self.value, n_words, remap=column)
        return Corpus.trusted(*rows, n_words, words, self.names, meta=self.meta, unverified=self._source())

    def _all_rows(self) -> CountRows:
        """All rows, checked."""
        return self._rows.all() if isinstance(self._rows, StoredRows) else self._rows

    def _unchecked_rows(self) -> CountRows:
        return self._rows.arrays if isinstance(self._rows, StoredRows) else self._rows

    def offsets(self) -> NDArray[np.int64]:
        """`indptr`. Of a saved corpus it is checked by itself: the rows are not read."""
        return self._rows.offsets() if isinstance(self._rows, StoredRows) else self._rows[0]

    def _part(self, rows: CountRows, numbers: range | NDArray[np.int64], names: Sequence[str] | None) -> Corpus:
        """A corpus of rows of this one. Here rows of a file are checked."""
        if isinstance(self._rows, StoredRows):
            self._rows.check(rows, numbers)
        part = Corpus.trusted(*rows, self.n_words, self.vocabulary, names, meta=self.meta, unverified=self._source())
        chosen = slice(numbers.start, numbers.stop) if isinstance(numbers, range) else numbers
        if self.version is not None:
            part = part.with_versions(self.version[chosen])
        if self.design is not None:
            part = part.with_design(self.design[chosen])
        return part if self.vectors is None else part.with_vectors(self.vectors[chosen])

    def _source(self) -> Path | None:
        """The file that the rows come from, if nobody has compared its checksums."""
        if isinstance(self._rows, StoredRows):
            return None if self._rows.verified else self.path
        return self._unverified

    def _ready(self, begins: ArrayLike, ends: ArrayLike) -> None:
        if isinstance(self._rows, StoredRows):
            self._rows.ready(begins, ends)

    def _slice(self, begin: int, end: int) -> Corpus:
        offsets = self.offsets()
        _, index, value = self._unchecked_rows()
        first, last = int(offsets[begin]), int(offsets[end])
        self._ready(first, last)
        indptr = offsets[begin : end + 1]
        names = None if self.names is None else self.names[begin:end]
        rows = indptr - first if first else indptr, index[first:last], value[first:last]
        return self._part(rows, range(begin, end), names)

    def _take(self, rows: np.ndarray) -> Corpus:
        if rows.ndim != 1:
            raise IndexError("choose documents by a number, a slice, or a one-dimensional array or mask")
        if rows.dtype == bool:
            if len(rows) != self.n_docs:
                raise IndexError(f"the mask has {len(rows)} entries, but the corpus has {self.n_docs} documents")
            rows = np.flatnonzero(rows)
        if rows.size == 0:
            rows = rows.astype(np.int64)
        if rows.dtype.kind not in "iu":
            raise IndexError(f"document numbers must be integers, not {rows.dtype}")
        outside = rows[(rows < -self.n_docs) | (rows >= self.n_docs)]
        if outside.size:
            raise IndexError(f"document {outside[0]} does not exist: the corpus has {self.n_docs}")
        rows = rows.astype(np.int64) % max(self.n_docs, 1)
        offsets = self.offsets()
        _, index, value = self._unchecked_rows()
        starts, lengths = offsets[rows], offsets[rows + 1] - offsets[rows]
        self._ready(starts, starts + lengths)
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        entries = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
        names = None if self.names is None else [self.names[d] for d in rows.tolist()]
        return self._part((indptr, index[entries], value[entries]), rows, names)


class CorpusBuilder(RowBuilder):
    """Collects blocks of rows; `finish` turns them into a corpus.

    With a path, memory stays bounded: the appended rows are kept in temporary files, and the finished corpus is mapped
    from the final file. The temporary files are removed when a `with` block ends or the builder is garbage-collected.
    """

    def finish(
        self,
        vocabulary: Sequence[str] | None,
        n_words: int | None = None,
        *,
        remap: np.ndarray | None = None,
        shift: int = 0,
        meta: Mapping[str, object] | None = None,
    ) -> Corpus:
        """The corpus of all appended rows.

        `remap[old id]` is the new id of a word, or -1 to drop the word; `shift` is subtracted from all ids instead.
        Without a vocabulary and without `n_words`, the number of words is the largest id that occurs plus one.
        """
        return Corpus.of_parts(self.finish_parts(vocabulary, n_words, remap=remap, shift=shift, meta=meta))


class InWords(NamedTuple):
    """Documents in the columns of other words."""

    corpus: Corpus
    n_dropped: int | float  # tokens whose words are not among them


def _whole(n: float) -> int | float:
    return int(n) if n == int(n) else n


def _frozen(a: np.ndarray) -> np.ndarray:
    a = a.view()
    a.flags.writeable = False
    return a


def _as_strings(strings: Sequence[str] | None) -> Sequence[str] | None:
    return strings if strings is None or isinstance(strings, Strings | tuple) else tuple(strings)
