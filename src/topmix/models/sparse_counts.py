"""Counts of words in topics that are mostly zero: the form of large models in files, and in memory until they learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from topmix.base.fields import CheckedReader, Writer
from topmix.corpus.shard import row_sums
from topmix.models.stored import Ids, Numbers, Sizes, Starts, Stored

# Statistics of a shard as a GPU keeps them, in the form that files hold. An entry is a word of a document. Tokens are
# whole numbers of 1 / unit, so what was added can be taken out exactly; sums by word would not be enough for that.


@dataclass(slots=True)
class EntryStats(Stored):
    n: Annotated[np.ndarray, Numbers("entries", dtype="U8")]  # topics of each entry
    topic: Annotated[np.ndarray, Ids("pairs", below="K", dtype="U16")]
    share: Annotated[np.ndarray, Numbers("pairs", dtype="U32")]  # tokens of 1 / unit
    totals: Annotated[np.ndarray, Numbers("K")]  # tokens of each topic

    @property
    def n_entries(self) -> int:
        return len(self.n)

    def check_fields(self) -> None:
        if int(self.n.sum(dtype=np.int64)) != len(self.topic):
            raise ValueError(f"{len(self.topic)} topics are not those of the entries")


@dataclass(slots=True)
class TokenStats(Stored):
    """The same where every token has one topic."""

    z: Annotated[np.ndarray, Ids("tokens", below="K", dtype="U16")]
    totals: Annotated[np.ndarray, Numbers("K")]


@dataclass(slots=True)
class RowShares(Stored):
    """The same where a row of words is in few clusters: what each has of it."""

    cluster: Annotated[np.ndarray | None, Ids("n", "l", below="K")]  # [rows, L]; None: all clusters
    r: Annotated[np.ndarray, Numbers("n", "l", dtype="F32")]  # [rows, L]
    totals: Annotated[np.ndarray, Numbers("K")]  # tokens of each cluster

    def check_fields(self) -> None:
        L, K = self.r.shape[1], len(self.totals)
        if not (0 < L <= K if self.cluster is not None else L == K):
            raise ValueError(f"r has shares of {L} clusters, of {K}")


BLOCK_CELLS = 1 << 20  # of a dense array that is made in passing
FEW_WORDS = 16


@dataclass(frozen=True, slots=True)
class Pairs(Stored):
    """A row of (topic, count) for each word, topics ascending."""

    indptr: Annotated[np.ndarray, Starts("V", "pairs")]
    topic: Annotated[np.ndarray, Ids("pairs", below="K", dtype="U16")]
    value: np.ndarray  # [pairs] float32 or float64

    def check_fields(self) -> None:
        rises, first = self.topic[1:] > self.topic[:-1], self.indptr[1:-1]
        rises[first[(first > 0) & (first < len(self.topic))] - 1] = True  # where the next word begins
        if not rises.all():
            raise ValueError("topic does not ascend in each row")

    @classmethod
    def of(cls, blocks: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Self:
        """From blocks of words: how many topics each word has, these topics, and their counts."""
        sizes, topic, value = (np.concatenate(parts) for parts in zip(*blocks))
        return cls(np.concatenate([[0], np.cumsum(sizes)]), topic, value)

    def add_to(self, out: np.ndarray, words: np.ndarray) -> None:
        """Fills out [words, K] with the counts of these words."""
        begin, end = self.indptr[words], self.indptr[words + 1]
        if len(words) <= FEW_WORDS:  # those of one short text
            for row, a, b in zip(out, begin.tolist(), end.tolist()):
                row[self.topic[a:b]] = self.value[a:b]
            return
        size = end - begin
        before = np.cumsum(size) - size
        at = np.repeat(begin - before, size) + np.arange(int(size.sum()))
        place = np.repeat(np.arange(len(words)) * out.shape[1], size) + self.topic[at]
        out.reshape(-1)[place] = self.value[at]


@dataclass(frozen=True, slots=True)
class SinglePairs(Pairs):
    value: Annotated[np.ndarray, Numbers("pairs", dtype="F32")]


@dataclass(frozen=True, slots=True)
class DoublePairs(Pairs):
    value: Annotated[np.ndarray, Numbers("pairs")]


@dataclass(frozen=True, slots=True)
class SparseCounts(Stored):
    """Counts [V, K], to be read as an array. Those that are float32 numbers are kept as such and the others as doubles:
    nothing is rounded."""

    single: SinglePairs
    double: DoublePairs
    n_topics: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.single.indptr) - 1, self.n_topics

    @property
    def nbytes(self) -> int:
        return sum(p.indptr.nbytes + p.topic.nbytes + p.value.nbytes for p in (self.single, self.double))

    @classmethod
    def if_smaller(cls, raw: np.ndarray | SparseCounts) -> SparseCounts | None:
        """These counts, or None where the array itself takes less room."""
        if isinstance(raw, SparseCounts):
            return raw
        V, K = raw.shape
        least = 2 * 8 * (V + 1) + 6 * sum(int(np.count_nonzero(raw[words])) for words in blocks(V, K))
        if least >= raw.nbytes:
            return None
        sparse = cls.of(raw)
        return sparse if sparse.nbytes < raw.nbytes else None

    @classmethod
    def of(cls, raw: np.ndarray) -> SparseCounts:
        V, K = raw.shape
        singles: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        doubles: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for words in blocks(V, K):
            block = np.ascontiguousarray(raw[words])
            word, topic = np.nonzero(block.view(np.int64))  # -0.0 is not 0.0: the bits come back
            value = block[word, topic]
            with np.errstate(over="ignore"):
                single = value.astype(np.float32)
            is_double = single != value
            for parts, chosen, counts in ((singles, ~is_double, single), (doubles, is_double, value)):
                sizes = np.bincount(word[chosen], minlength=len(block))
                parts.append((sizes, topic[chosen].astype(np.uint16), counts[chosen]))
        return cls(SinglePairs.of(singles), DoublePairs.of(doubles), K)

    def __getitem__(self, words: np.ndarray) -> np.ndarray:
        """[words, K] float64"""
        out, words = np.zeros((len(words), self.n_topics)), np.asarray(words, np.int64)
        self.single.add_to(out, words)
        self.double.add_to(out, words)
        return out

    def sum(self, axis: Literal[1]) -> np.ndarray:
        """[V] the sum of each row."""
        return row_sums(self.single.indptr, self.single.value) + row_sums(self.double.indptr, self.double.value)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:  # [V, K]
        V, K = self.shape
        out = np.zeros((V, K), dtype)
        for words in blocks(V, K):
            out[words] = self[np.arange(words.start, words.stop)]
        return out

    def __deepcopy__(self, memo: dict[int, object]) -> SparseCounts:
        return self  # nobody writes to it


def blocks(V: int, K: int) -> Iterator[slice]:
    """Words a few at a time, so that [words, K] is small."""
    step = max(1, BLOCK_CELLS // max(K, 1))
    return (slice(begin, min(begin + step, V)) for begin in range(0, max(V, 1), step))


class Sparse(Numbers):
    """A sparse matrix, row by row. Its entries are numbers from zero, or true."""

    def __init__(self, rows: str, columns: str, *, index: str = "U16", of_flags: bool = False):
        super().__init__(rows, columns, low=0.0)
        self.columns, self.of_flags = columns, of_flags
        self.starts, self.index = Starts(rows, "pairs"), Ids("pairs", below=columns, dtype=index)

    def read(self, file: CheckedReader, name: str, sizes: Sizes) -> sp.csr_array:
        at, sizes = file.at(name), dict(sizes)
        indptr = self.starts.read(at, "indptr", sizes)
        index = np.asarray(self.index.read(at, "index", sizes), np.int32)
        value = np.ones(len(index), bool) if self.of_flags else at.array("value", len(index), low=0.0)
        found = sp.csr_array((value, index, indptr), shape=(len(indptr) - 1, sizes[self.columns]), copy=True)
        found.sum_duplicates()
        return found

    def write(self, out: Writer, name: str, value: sp.csr_array) -> None:
        at, value = out.at(name), value.sorted_indices()  # a copy: others may sort it meanwhile
        at.array("indptr", value.indptr.astype(np.int64))
        at.array("index", value.indices.astype(np.uint16 if self.index.dtype == "U16" else np.int32))
        if not self.of_flags:
            at.array("value", value.data)


class Counts(Numbers):
    """Counts [V, K] in the form that is smaller, an array or SparseCounts."""

    def read(self, file: CheckedReader, name: str, sizes: Sizes) -> np.ndarray | SparseCounts:  # type: ignore[override]
        if file.has(f"{name}.single"):
            return SparseCounts.read(file.at(name), V=sizes["V"], K=sizes["K"], n_topics=sizes["K"])
        return file.array(name, sizes["V"], sizes["K"])

    def write(self, out: Writer, name: str, value: np.ndarray | SparseCounts) -> None:
        sparse = SparseCounts.if_smaller(value)
        if sparse is not None:
            sparse.write(out.at(name))
        else:
            out.array(name, np.asarray(value))
