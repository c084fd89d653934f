"""How estimators go to a file and come back (topmix.files.model_file).

An estimator offers two methods. `_to_arrays` returns what it learned as named arrays of doubles and a small dict for
JSON; `_from_arrays` takes the same from `Parts`, which checks each type, shape and range. Parameters, feature names,
history and the attributes named in `_saved_attributes` are saved for it.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from topmix.files import model_file as io
from topmix.files.reader import LARGEST, SMALLEST, Parts
from topmix.stats import WordTotal


class SaveMixin:
    """`save`, for estimators that offer `_to_arrays` and `_from_arrays`."""

    _saved_attributes: ClassVar[tuple[str, ...]] = ("n_iter_", "converged_", "elbo_")  # numbers, where they are set

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, at once or not at all; `topmix.load` reads it."""
        io.save(self, path)

    @abstractmethod
    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]: ...

    @abstractmethod
    def _from_arrays(self, parts: Parts) -> None: ...


def words_to_arrays(eta: np.ndarray, total: WordTotal) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The counts as they are kept, factor aside, so that the loaded model has the same bits."""
    arrays = {"words.eta": eta, "words.raw": total.raw, "words.totals": total.totals}
    return arrays, {"words.factor": total.factor}


def words_from_arrays(
    parts: Parts, K: int, *, eta_shape: tuple[int | set[int], int | set[int]], threads: int
) -> tuple[np.ndarray, WordTotal]:
    eta = parts.array("words.eta", *eta_shape, positive=True)
    raw, totals = parts.array("words.raw", parts.n_features, K), parts.array("words.totals", K)
    return eta, WordTotal(raw, totals, parts.number("words.factor", SMALLEST, LARGEST), threads)
