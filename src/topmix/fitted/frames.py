"""Tables for the user: DataFrames of pandas or polars."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from topmix.read import FRAMES


def frame(columns: Mapping[str, Any], wanted: str | None = None) -> Any:
    """A DataFrame of the wanted library, or of one that is installed."""
    for library in [wanted] if wanted else FRAMES:
        try:
            return importlib.import_module(library).DataFrame(dict(columns))
        except ImportError:
            continue
    raise ImportError(f"tables need {wanted or 'pandas or polars'}: pip install 'topmix[tables]'")
