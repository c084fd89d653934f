"""A corpus: documents as bags of words, in three arrays.

Row d holds the words index[i] with the counts value[i], for indptr[d] <= i < indptr[d + 1]. In each row the words are
sorted and distinct, and the counts are positive. Rows may be empty. Rows of a file are checked first (counts.py).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix import _core
from topmix.base.checks import CorpusError
from topmix.base.component import is_whole
from topmix.base.paths import is_remote, path_of
from topmix.corpus.builder import Row, RowBuilder
from topmix.corpus.counts import MAX_WORDS, CorpusRows, as_rows, check_lengths, check_n_words, rows_from_array, tidy
from topmix.corpus.design import DesignRows
from topmix.corpus.rows import GroupedRows, Rows
from topmix.corpus.store import open_store, parts_of, write_store
from topmix.corpus.vocabulary import Strings, columns_of_all


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
    _rows: CorpusRows

    groups: ClassVar[GroupedRows | None] = None  # of rows of numbers
    is_sparse: ClassVar[bool] = True
    usual_batch: ClassVar[int] = 512  # documents of a stochastic step

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
        self.__dict__.update(vars(Corpus.of_rows(CorpusRows(rows, n_tokens), n_words, vocabulary, names, meta)))

    @classmethod
    def trusted(
        cls,
        indptr: NDArray[np.int64],
        index: NDArray[np.int32],
        value: NDArray[np.float32],
        n_words: int,
        vocabulary: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Corpus:
        """A corpus from arrays that were checked before. The arrays are not read."""
        return cls.of_rows(CorpusRows((indptr, index, value)), n_words, vocabulary, names, meta)

    @classmethod
    def of_rows(
        cls,
        rows: CorpusRows,
        n_words: int,
        vocabulary: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        meta: Mapping[str, object] | None = None,
        url: str | None = None,
    ) -> Corpus:
        """A corpus of rows that were checked before, or of rows of a file, which check themselves."""
        corpus = object.__new__(cls)
        corpus.__dict__.update(
            n_words=n_words,
            vocabulary=_as_strings(vocabulary),
            names=_as_strings(names),
            meta=dict(meta or {}),
            path=rows.path,
            url=url,
            design=None,
            version=None,
            vectors=None,
            _rows=rows,
        )
        return corpus

    def with_columns(
        self, *, design: DesignRows | None = None, version: NDArray[np.int32] | None = None, vectors: Rows | None = None
    ) -> Corpus:
        """The same documents, with what stands beside each of them. A column that is None stays what it was."""
        if vectors is not None and len(vectors) != self.n_docs:
            raise ValueError(f"there are {len(vectors)} vectors and {self.n_docs} documents: each needs one of both")
        columns = {"design": design, "version": version, "vectors": vectors}
        return self._with({name: column for name, column in columns.items() if column is not None})

    def named(self, names: Sequence[str] | None) -> Corpus:
        """The same documents with these names, or with none."""
        check_lengths(self.n_docs, self.n_words, None, names)
        return self._with({"names": _as_strings(names)})

    def _with(self, beside: Mapping[str, object]) -> Corpus:
        corpus = object.__new__(Corpus)
        corpus.__dict__.update(self.__dict__ | dict(beside))
        return corpus

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_rows": CorpusRows(self._rows.all(), self._rows.n_tokens, self._rows.source)}

    @property
    def indptr(self) -> NDArray[np.int64]:
        """[D + 1] where each row begins. Whoever asks for an array of a saved corpus gets all rows, checked."""
        return self._rows.all()[0]

    @property
    def index(self) -> NDArray[np.int32]:
        """[nnz] word ids."""
        return self._rows.all()[1]

    @property
    def value(self) -> NDArray[np.float32]:
        """[nnz] counts."""
        return self._rows.all()[2]

    @classmethod
    def from_scipy(
        cls, X: object, vocabulary: Sequence[str] | None = None, names: Sequence[str] | None = None
    ) -> Corpus:
        """A corpus from a sparse or dense array of counts, or a DataFrame: its columns become the vocabulary, and its
        index the names, unless it is a RangeIndex. The corpus shares the memory of a CSR array of float32 with sorted
        rows: do not change X afterwards."""
        if isinstance(X, Corpus):
            rows, n_words, words, docs = X._rows.all(), X.n_words, X.vocabulary, X.names
        else:
            rows, n_words, words, docs = rows_from_array(X)
        if _core.check_rows(*rows, n_words)[:2] != ("", 0):
            rows = tidy(*rows, n_words)
        vocabulary, names = words if vocabulary is None else vocabulary, docs if names is None else names
        check_lengths(len(rows[0]) - 1, n_words, vocabulary, names)
        return cls.trusted(*rows, n_words, vocabulary, names)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Row],
        vocabulary: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        *,
        n_words: int | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> Corpus:
        """A corpus from an iterable of documents, each a mapping {word id: count} or pairs (word id, count). With `out`
        the corpus is built in that file, in bounded memory, and mapped from it."""
        with CorpusBuilder(out) as builder:
            builder.append_documents(rows, names)
            return builder.finish(vocabulary, n_words)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Corpus:
        """A saved corpus, mapped from its file. The file must not change while the corpus is in use.

        Opening compares the checksums, for which it reads the file once; with `verify=False` it reads only the header.
        Rows are checked before their first use in either case. Of a file behind a URL such as s3:// or gs:// (needs
        fsspec), documents are fetched when they are used, once, into the cache of this machine; their checksums are
        compared by `verify` alone.
        """
        rows, vocabulary, names, meta = open_store(path_of(path), verify=verify)
        url = str(path) if is_remote(path) else None
        return cls.of_rows(rows, rows.n_words, vocabulary, names, meta, url)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `.topmix` file, atomically. `Corpus.open` maps it, and any safetensors library can read it.

        Rows that come from a file are saved only if that file matches its checksums.
        """
        if (source := self.path or self._rows.source) is not None and source.exists():
            open_store(source, verify=True, whole=True)
        vocabulary = None if self.vocabulary is None else Strings.pack(self.vocabulary, "word")
        names = None if self.names is None else Strings.pack(self.names, "name")
        parts = partial(parts_of, self._rows.all(), names)
        is_named = names is not None
        write_store(path_of(path), parts, self.n_words, is_named=is_named, vocabulary=vocabulary, meta=self.meta)

    def verify(self) -> Corpus:
        """Check all checksums and all rows; raise CorpusError at the first error. Returns the corpus."""
        if self.path is None:  # what is in memory was checked as it came
            return self
        open_store(self.path, verify=True, whole=True)
        self._rows.all()
        for what, strings in (("vocabulary", self.vocabulary), ("names", self.names)):
            try:
                deque(strings or (), 0)
            except CorpusError as error:
                raise CorpusError(f"{self.path}: {what}: {error}") from error
        return self

    @property
    def n_docs(self) -> int:
        return len(self._rows.arrays[0]) - 1

    @property
    def nnz(self) -> int:
        """Number of entries: pairs of a document and one of its distinct words."""
        return len(self._rows.arrays[1])

    @property
    def n_tokens(self) -> int | float:
        """Sum of all counts. That of a saved corpus is compared with its rows."""
        self._rows.all()
        return _whole(self._rows.n_tokens)

    @property
    def rows(self) -> Corpus:
        """The same: where rows of numbers are in groups (corpus/rows.py), these are the rows."""
        return self

    @property
    def vector_groups(self) -> GroupedRows | None:
        """The vectors beside documents, if each document has several."""
        return None if self.vectors is None else self.vectors.groups

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_docs, self.n_words

    def __len__(self) -> int:
        return self.n_docs

    def __getitem__(self, rows: object) -> Corpus:
        """The chosen documents, with the same vocabulary. A slice shares memory; a list, mask or array copies."""
        if isinstance(rows, tuple) and len(rows) == 2 and (rows[1] is Ellipsis or rows[1] == slice(None)):
            rows = rows[0]  # as scikit-learn chooses the rows of an array
        numbers: range | NDArray[np.int64]
        if isinstance(rows, slice):
            begin, end, step = rows.indices(self.n_docs)
            numbers = range(begin, max(begin, end)) if step == 1 else np.arange(begin, end, step)
        else:
            numbers = np.array([int(rows)]) if is_whole(rows) else np.asarray(rows)
            if numbers.ndim != 1:
                raise IndexError("choose documents by a number, a slice, or a one-dimensional array or mask")
            if numbers.dtype == bool:
                if len(numbers) != self.n_docs:
                    raise IndexError(f"the mask has {len(numbers)} entries, but the corpus has {self.n_docs} documents")
                numbers = np.flatnonzero(numbers)
            elif numbers.size and numbers.dtype.kind not in "iu":
                raise IndexError(f"document numbers must be integers, not {numbers.dtype}")
            outside = numbers[(numbers < -self.n_docs) | (numbers >= self.n_docs)]
            if outside.size:
                raise IndexError(f"document {outside[0]} does not exist: the corpus has {self.n_docs}")
            numbers = numbers.astype(np.int64) % max(self.n_docs, 1)
            numbers = range(int(numbers[0]), int(numbers[0]) + 1) if is_whole(rows) else numbers
        chosen = slice(numbers.start, numbers.stop) if isinstance(numbers, range) else numbers
        taken, names = CorpusRows(self._rows.some(numbers), source=self._rows.source), self.names
        if names is not None:
            names = names[chosen] if isinstance(chosen, slice) else [names[d] for d in chosen.tolist()]
        part = Corpus.of_rows(taken, self.n_words, self.vocabulary, names, self.meta)
        columns = {"design": self.design, "version": self.version, "vectors": self.vectors}
        return part._with({name: column[chosen] for name, column in columns.items() if column is not None})

    def __iter__(self) -> Iterator[Corpus]:
        return (self[d] for d in range(self.n_docs))

    def keep_words(self, words: Iterable[str] | ArrayLike) -> Corpus:
        """The same documents with some of the words: names, which need not be in the vocabulary, or a mask of all."""
        return self._with_words(words, kept=True)

    def drop_words(self, words: Iterable[str] | ArrayLike) -> Corpus:
        """The same documents without some of the words, for instance stop words."""
        return self._with_words(words, kept=False)

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
        dropped = float(self.value[column[self.index] < 0].sum(dtype=np.float64))
        return InWords(self._renumbered(column, names, len(names)), _whole(dropped))

    def to_scipy(self) -> sp.csr_array:
        """A csr_array that shares the memory of `index` and `value`."""
        if self.nnz <= MAX_WORDS:
            X = sp.csr_array((self.value, self.index, self.indptr.astype(np.int32)), shape=self.shape, copy=False)
        else:  # the constructor of SciPy wants one integer type, and would copy the index to int64
            X = sp.csr_array(self.shape, dtype=np.float32)
            X.data, X.indices, X.indptr = self.value, self.index, self.indptr
        X.has_canonical_format = True
        return X

    def equals(self, other: Corpus) -> bool:
        """Whether the two have the same documents, vocabulary, names and meta."""
        mine, its = ((c.shape, c.vocabulary, c.names, dict(c.meta)) for c in (self, other))
        is_same = np.array_equal(self.indptr, other.indptr) and np.array_equal(self.index, other.index)
        return mine == its and is_same and np.array_equal(self.value, other.value)

    def __repr__(self) -> str:
        where = f", mapped from {self.path.name}" if self.path else ""
        words = f"{self.n_words:,} words{'' if self.vocabulary is not None else ' without a vocabulary'}"
        tokens = _whole(self._rows.n_tokens)  # rows of a file are not read for this
        return f"Corpus({self.n_docs:,} documents × {words}, {self.nnz:,} entries, {tokens:,} tokens{where})"

    def _with_words(self, words: Iterable[str] | ArrayLike, *, kept: bool) -> Corpus:
        if isinstance(words, str):
            raise ValueError("words is a single string: pass a list of words, or a mask")
        if isinstance(words, np.ndarray) and words.dtype == bool:
            if words.shape != (self.n_words,):
                raise ValueError(f"the mask has shape {words.shape}, but the corpus has {self.n_words} words")
            keep = words == kept
        elif self.vocabulary is None:
            raise ValueError("the corpus has no vocabulary: pass a mask, one entry per word")
        else:
            named = set(cast(Iterable[str], words))
            keep = np.fromiter(((word in named) == kept for word in self.vocabulary), bool, self.n_words)
        if not keep.any():
            raise ValueError("no words would be left")
        left = None if self.vocabulary is None else list(compress(self.vocabulary, keep))
        return self._renumbered(np.where(keep, np.cumsum(keep) - 1, -1), left, int(keep.sum()))

    def _renumbered(self, column: NDArray[np.int64], words: Sequence[str] | None, n_words: int) -> Corpus:
        """The same documents with word v in `column[v]`; -1 drops it."""
        rows = tidy(self.indptr, self.index, self.value, n_words, remap=column)
        return Corpus.of_rows(CorpusRows(rows, source=self._rows.source), n_words, words, self.names, self.meta)

    def offsets(self) -> NDArray[np.int64]:
        """`indptr`. Of a saved corpus it is checked by itself: the rows are not read."""
        return self._rows.offsets()


class CorpusBuilder(RowBuilder[Corpus]):
    __doc__ = RowBuilder.__doc__
    made = staticmethod(Corpus.of_rows)


class InWords(NamedTuple):
    corpus: Corpus
    n_dropped: int | float  # tokens whose words are not among them


def _whole(n: float) -> int | float:
    return int(n) if n == int(n) else n


def _as_strings(strings: Sequence[str] | None) -> Sequence[str] | None:
    return strings if strings is None or isinstance(strings, Strings | tuple) else tuple(strings)
