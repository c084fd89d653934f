"""What an engine offers that computes measures: `topmix.engines.Cuda` does. Others leave it to the processor.

Metrics are below the engines and know no GPU: they take any object with these two methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np


class Words(NamedTuple):
    """Words of documents, as rows of a sparse matrix."""

    indptr: np.ndarray  # [documents + 1]
    word: np.ndarray  # [entries]
    tokens: np.ndarray  # [entries]


@runtime_checkable
class MeasuringEngine(Protocol):
    def held_out(
        self, table: np.ndarray, known: Words, held: Words, alpha: np.ndarray, max_iter: int, tol: float
    ) -> np.ndarray:
        """[documents] as `completion.predict`, under topics `table` [words, K]; NaN where it could not tell."""
        ...

    def together(
        self, topics: Sequence[np.ndarray], n_words: int, indptr: np.ndarray, index: np.ndarray
    ) -> list[np.ndarray]:
        """Per topic: [words, words] how many documents have both of two words."""
        ...


def checked(engine: MeasuringEngine | None) -> MeasuringEngine | None:
    if engine is not None and not isinstance(engine, MeasuringEngine):
        raise ValueError(f"engine must be None or one that computes measures, such as Cuda(), got {engine!r}")
    return engine
