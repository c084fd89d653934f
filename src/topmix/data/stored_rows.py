"""The rows of a saved corpus, behind a door: nobody gets rows out of a file that were not checked.

A file may be damaged, or written by somebody else, and a kernel that follows a bad word id reads or writes whatever
lies there. So rows are checked natively when they are taken out: some of them each time, or all of them once. Offsets
of rows are checked as a whole before the first row is taken: they are few, and every row needs them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix.data.errors import CorpusError
from topmix.data.mapped_file import MappedFile
from topmix.data.rows import Rows
from topmix.numerics.threads import threads

SUM_TOLERANCE = 1e-6  # of n_tokens in the header, which is a sum in another order


@dataclass
class StoredRows:
    """Rows that are mapped from a file."""

    file: MappedFile
    indptr: NDArray[np.int64]
    index: NDArray[np.int32]
    value: NDArray[np.float32]
    n_words: int
    n_tokens: float
    verified: bool  # whether the checksums were compared when the file was opened
    checked: bool = field(default=False, init=False)  # all rows
    _offsets_checked: bool = field(default=False, init=False)

    def offsets(self) -> NDArray[np.int64]:
        """indptr, checked."""
        self.file.check_length()
        if not self._offsets_checked:
            falls = np.flatnonzero(self.indptr[1:] < self.indptr[:-1])
            if len(falls):
                d = int(falls[0])
                self._refuse(f"row {d}: indptr goes from {self.indptr[d]} to {self.indptr[d + 1]}, but must not fall")
            self._offsets_checked = True  # the ends were compared with the header
        return self.indptr

    def all(self) -> Rows:
        """All rows, checked once."""
        self.file.check_length()
        if not self.checked:
            rows = self.indptr, self.index, self.value
            problem, n_tokens = _core.check_saved_rows(*rows, self.n_words, 0, threads())
            if problem:
                self._refuse(problem)
            if not math.isclose(n_tokens, self.n_tokens, rel_tol=SUM_TOLERANCE):
                self._refuse(f"the header says {self.n_tokens:g} tokens, but the counts sum to {n_tokens:g}")
            self.checked = self._offsets_checked = True
        return self.indptr, self.index, self.value

    def check(self, rows: Rows, numbers: Iterable[int]) -> None:
        """Check rows that were taken out: `numbers` says which they are."""
        if self.checked:
            return
        problem, _ = _core.check_saved_rows(*rows, self.n_words, 0, threads())
        if problem:
            for n, d in enumerate(numbers):
                a, b = rows[0][n], rows[0][n + 1]
                one = np.array([0, b - a]), rows[1][a:b], rows[2][a:b]
                problem, _ = _core.check_saved_rows(*one, self.n_words, int(d), 1)
                if problem:
                    self._refuse(problem)
            self._refuse(problem)

    @property
    def path(self) -> Path:
        return self.file.path

    def _refuse(self, problem: str) -> NoReturn:
        raise CorpusError(f"{self.path}: {problem}")
