"""Topics and mixtures, fast, with posteriors that keep the top few clusters of each observation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from topmix import _core as _core  # at once: without its native module the import fails, and says what to do
from topmix._version import __version__

if TYPE_CHECKING:
    from topmix.api import (
        HDP,
        LDA,
        CombinatorialLDA,
        GaussianAdmixture,
        GaussianMixture,
        GibbsLDA,
        LabelledLDA,
        MultinomialMixture,
        Predictor,
        Seeds,
        SupervisedLDA,
        VonMisesFisherAdmixture,
        VonMisesFisherMixture,
        load,
        load_predictor,
    )
    from topmix.explorer import explore
    from topmix.fitted.clusters import describe_clusters
    from topmix.model_selection import consensus, sweep
    from topmix.streaming import Stream

__all__ = [
    "HDP",
    "LDA",
    "CombinatorialLDA",
    "GaussianAdmixture",
    "GaussianMixture",
    "GibbsLDA",
    "LabelledLDA",
    "MultinomialMixture",
    "Predictor",
    "Seeds",
    "Stream",
    "SupervisedLDA",
    "VonMisesFisherAdmixture",
    "VonMisesFisherMixture",
    "__version__",
    "consensus",
    "describe_clusters",
    "explore",
    "load",
    "load_predictor",
    "sweep",
]

_MODULES = (
    "chains",
    "data",
    "edits",
    "engines",
    "explorer",
    "export",
    "fitting",
    "inference",
    "learners",
    "metrics",
    "model_selection",
    "plot",
    "presets",
    "priors",
    "report",
    "sc",
    "search",
    "streaming",
)
_ROOM_OF = {
    "explore": "pages.explorer",
    "consensus": "model_selection",
    "sweep": "model_selection",
    "Stream": "streaming",
    "describe_clusters": "fitted.clusters",
}  # the others are in api


def __getattr__(name: str) -> Any:
    """Names are imported when they are asked for: `topmix --help` does without scikit-learn's second."""
    if name in _MODULES:
        return importlib.import_module(f"topmix.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'topmix' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"topmix.{_ROOM_OF.get(name, 'api')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
