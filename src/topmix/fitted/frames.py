"""Tables for the user: DataFrames of pandas or polars."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from topmix.read import FRAMES

Columns: TypeAlias = Mapping[str, Sequence[object] | np.ndarray]
DataFrame: TypeAlias = Any  # of pandas or polars, whichever the user has


def frame(columns: Columns, wanted: str | None = None) -> DataFrame:
    """A DataFrame of the wanted library, or of one that is installed."""
    for library in [wanted] if wanted else FRAMES:
        try:
            return importlib.import_module(library).DataFrame(dict(columns))
        except ImportError:
            continue
    raise ImportError(f"tables need {wanted or 'pandas or polars'}: pip install 'topmix[tables]'")
