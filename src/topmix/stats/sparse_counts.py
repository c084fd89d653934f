"""Counts of words in topics that are mostly zero: the form of large models in files, and in memory until they learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topmix.data.shard import row_sums
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer

BLOCK_CELLS = 1 << 20  # of a dense array that is made in passing

FEW_WORDS = 16


class Pairs(NamedTuple):
    """A row of (topic, count) for each word, topics ascending."""

    indptr: np.ndarray  # [V + 1] int64
    topic: np.ndarray  # [pairs] uint16
    value: np.ndarray  # [pairs] float32 or float64

    @property
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.topic.nbytes + self.value.nbytes

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
class SparseCounts:
    """Counts [V, K]. Those that are float32 numbers are kept as such and the others as doubles: nothing is rounded."""

    single: Pairs
    double: Pairs
    n_topics: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.single.indptr) - 1, self.n_topics

    @property
    def nbytes(self) -> int:
        return self.single.nbytes + self.double.nbytes

    @classmethod
    def if_smaller(cls, raw: np.ndarray) -> SparseCounts | None:
        """These counts, or None where the array itself takes less room."""
        V, K = raw.shape
        least = 2 * 8 * (V + 1) + 6 * sum(int(np.count_nonzero(raw[words])) for words in blocks(V, K))
        if least >= raw.nbytes:
            return None
        found = cls.of(raw)
        return found if found.nbytes < raw.nbytes else None

    @classmethod
    def of(cls, raw: np.ndarray) -> SparseCounts:
        V, K = raw.shape
        sizes = np.zeros((2, V), np.int64)
        topics: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        values: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        for words in blocks(V, K):
            block = np.ascontiguousarray(raw[words])
            word, topic = np.nonzero(block.view(np.int64))  # -0.0 is not 0.0: the bits come back
            value = block[word, topic]
            with np.errstate(over="ignore"):
                single = value.astype(np.float32)
            is_double = single != value
            for part, chosen in enumerate((~is_double, is_double)):
                sizes[part, words] = np.bincount(word[chosen], minlength=len(block))
                topics[part].append(topic[chosen].astype(np.uint16))
                values[part].append((value if part else single)[chosen])
        single_part, double_part = (
            Pairs(
                np.concatenate([[0], np.cumsum(sizes[part])]),
                np.concatenate([np.zeros(0, np.uint16), *topics[part]]),
                np.concatenate([np.zeros(0, (np.float32, np.float64)[part]), *values[part]]),
            )
            for part in (0, 1)
        )
        return cls(single_part, double_part, K)

    def rows(self, words: np.ndarray) -> np.ndarray:
        """[words, K] float64"""
        out = np.zeros((len(words), self.n_topics))
        words = np.asarray(words, np.int64)
        self.single.add_to(out, words)
        self.double.add_to(out, words)
        return out

    def by_word(self) -> np.ndarray:
        """[V] the sum of each row."""
        return row_sums(*self.single[::2]) + row_sums(*self.double[::2])

    def toarray(self) -> np.ndarray:  # [V, K]
        V, K = self.shape
        out = np.zeros((V, K))
        for words in blocks(V, K):
            out[words] = self.rows(np.arange(words.start, words.stop))
        return out

    def __deepcopy__(self, memo: dict[int, object]) -> SparseCounts:
        return self  # nobody writes to it

    def _write(self, out: Writer) -> None:
        for name, part in (("single", self.single), ("double", self.double)):
            for array in Pairs._fields:
                out.array(f"{name}.{array}", getattr(part, array))


DTYPES = {"single": "F32", "double": "F64"}


def blocks(V: int, K: int) -> Iterator[slice]:
    """Words a few at a time, so that [words, K] is small."""
    step = max(1, BLOCK_CELLS // max(K, 1))
    return (slice(begin, min(begin + step, V)) for begin in range(0, V, step))


def write_counts(out: Writer, counts: np.ndarray | SparseCounts) -> None:
    """In the form that is smaller: "raw", or "single" and "double"."""
    sparse = counts if isinstance(counts, SparseCounts) else SparseCounts.if_smaller(counts)
    if sparse is not None:
        sparse._write(out)
    else:
        out.array("raw", counts)  # type: ignore[arg-type]  # it is the array


def read_counts(file: CheckedReader, V: int, K: int) -> np.ndarray | SparseCounts:
    """What `write_counts` wrote."""
    if not file.has("single.indptr"):
        return file.array("raw", V, K)
    single, double = (_read_pairs(file.at(name), V, K, dtype) for name, dtype in DTYPES.items())
    return SparseCounts(single, double, K)


def _read_pairs(file: CheckedReader, V: int, K: int, dtype: str) -> Pairs:
    indptr, topic = file.rows_of_topics(V, K)
    rises = topic[1:] > topic[:-1]
    first = indptr[1:-1]
    rises[first[(first > 0) & (first < len(topic))] - 1] = True  # where the next word begins
    if not rises.all():
        raise ModelFileError(f"{file.prefix}topic does not ascend in each row")
    return Pairs(indptr, topic, file.vector("value", dtype, len(topic)))
