"""Tables for the user: DataFrames of pandas or polars, as set_output says, or of the kind of the training data."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from sklearn.utils._set_output import _get_output_config

FRAMES = ("pandas", "polars")


def kind_of_frame(X: Any) -> str | None:
    """The library of a DataFrame or a column of one; None for other data."""
    library = type(X).__module__.partition(".")[0]
    return library if library in FRAMES else None


def frame(estimator: Any, columns: Mapping[str, Any]) -> Any:
    """A DataFrame of the user's kind: that of `set_output`, else that of the training data, else what is installed."""
    wanted = _get_output_config("transform", estimator)["dense"]
    if wanted not in FRAMES:
        wanted = (getattr(estimator, "input_", None) or {}).get("frame")
    for library in [wanted] if wanted else FRAMES:
        try:
            return importlib.import_module(library).DataFrame(dict(columns))
        except ImportError:
            continue
    raise ImportError(f"tables need {wanted or 'pandas or polars'}: pip install 'topmix[tables]'")
