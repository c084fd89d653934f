"""The reader of LDA-C and svmlight: lines "opening word:count word:count ...", one document per line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix.data.errors import CorpusError
from topmix.data.rows import MAX_WORDS
from topmix.data.textfile import TextFile
from topmix.numerics.threads import threads


@dataclass(frozen=True)
class PairRows:
    """A block of documents. The next block overwrites the arrays."""

    indptr: NDArray[np.int64]  # [rows + 1]
    label: NDArray[np.float64]  # [rows], zero in LDA-C
    word: NDArray[np.int32]  # [entries], the ids of the file
    value: NDArray[np.float32]


def read_pairs(file: TextFile, *, counted: bool, first_id: int, last_id: int | None) -> Iterator[PairRows]:
    """Blocks of documents. Ids must be from first_id to last_id.

    A line opens with the number of its pairs if `counted`, else with a label.
    """
    indptr, label = np.empty(1, np.int64), np.empty(0, np.float64)
    word, value = np.empty(0, np.int32), np.empty(0, np.float32)
    for text in file.blocks():
        n_rows, n_entries = len(text) // 2 + 1, len(text) // 4 + 1
        if n_rows > len(label):
            indptr, label = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.float64)
            word, value = np.empty(n_entries, np.int32), np.empty(n_entries, np.float32)
        try:
            file.line, n, i = _core.parse_pairs(
                text, file.line, counted, first_id, MAX_WORDS - 1 if last_id is None else last_id,
                indptr, label, word, value, threads())  # fmt: skip
        except ValueError as error:
            raise CorpusError(f"{file.path}: {error}") from None
        yield PairRows(indptr[: n + 1], label[:n], word[:i], value[:i])
