"""Topics and mixtures, fast, with posteriors that keep the top few clusters of each observation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from topmix import _core as _core  # at once: without its native module the import fails, and says what to do

if TYPE_CHECKING:
    from topmix.estimators import (
        HDP,
        LDA,
        CombinatorialLDA,
        GaussianMixture,
        GibbsLDA,
        MultinomialMixture,
        VonMisesFisherMixture,
    )
    from topmix.files.model_file import load

__version__ = "0.1.0"
__all__ = [
    "HDP",
    "LDA",
    "CombinatorialLDA",
    "GaussianMixture",
    "GibbsLDA",
    "MultinomialMixture",
    "VonMisesFisherMixture",
    "__version__",
    "load",
]

_HOME = {"load": "topmix.files.model_file"}  # other public names are estimators
_MODULES = ("data", "export", "metrics", "plot", "report")


def __getattr__(name: str) -> Any:
    """Names are imported when they are asked for: `topmix --help` does without scikit-learn's second."""
    if name in _MODULES:
        return importlib.import_module(f"topmix.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'topmix' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME.get(name, "topmix.estimators")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
