"""Topics and mixtures, fast, with posteriors that keep the top few clusters of each observation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from topmix import _core as _core  # at once: without its native module the import fails, and says what to do
from topmix._version import __version__

if TYPE_CHECKING:
    from topmix.apps.explorer import explore
    from topmix.estimators import (
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
    from topmix.results.mixture import describe_clusters
    from topmix.selection.consensus import consensus
    from topmix.selection.stream import Stream
    from topmix.selection.sweep import sweep

__all__ = [
    "HDP", "LDA", "CombinatorialLDA", "GaussianAdmixture", "GaussianMixture", "GibbsLDA", "LabelledLDA",
    "MultinomialMixture", "Predictor", "Seeds", "Stream", "SupervisedLDA", "VonMisesFisherAdmixture",
    "VonMisesFisherMixture", "__version__", "consensus", "describe_clusters", "explore", "load", "load_predictor",
    "sweep",
]  # fmt: skip

_MODULES = (
    "chains", "data", "edits", "engines", "explorer", "export", "fitting", "inference", "learners", "metrics",
    "model_selection", "plot", "presets", "priors", "report", "sc", "search", "streaming",
)  # fmt: skip
_MODULE_OF = {
    "explore": "apps.explorer",
    "consensus": "selection.consensus",
    "sweep": "selection.sweep",
    "Stream": "selection.stream",
    "describe_clusters": "results.mixture",
}  # the others are in estimators


def __getattr__(name: str) -> Any:
    """Names are imported when they are asked for: `topmix --help` does without scikit-learn's second."""
    if name in _MODULES:
        return importlib.import_module(f"topmix.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'topmix' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"topmix.{_MODULE_OF.get(name, 'estimators')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
