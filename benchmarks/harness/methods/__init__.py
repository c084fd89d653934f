"""The methods that benchmarks compare, by name, and their named settings. method.py says what a method is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness import machine
from benchmarks.harness.methods import gensim, sklearn, tomotopy, topmix

METHODS: dict[str, Callable[..., None]] = {
    "topmix": topmix.topics,
    "tomotopy": tomotopy.lda,
    "sklearn": sklearn.lda,
    "gensim": gensim.lda,
    "tomotopy_hdp": tomotopy.hdp,
    "gensim_hdp": gensim.hdp,
}
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "topmix": {"default": {}},
    "tomotopy": {
        "fixed": {"ours": True, "optim_interval": 0},
        "defaults": {"ours": False},
        "optimised": {"ours": True, "optim_interval": 10},
    },
    "sklearn": {"fixed": {}, "defaults": {"ours": False}},
    "gensim": {"fixed": {}, "defaults": {"ours": False}},
    "tomotopy_hdp": {"defaults": {}, "few": {"gamma": 1.0}},
    "gensim_hdp": {"defaults": {}},
}
PACKAGE = {"sklearn": "scikit-learn", "tomotopy_hdp": "tomotopy", "gensim_hdp": "gensim"}


def version_of(method: str) -> str:
    """Of the library; of ours, with a digest of its very code. "" where it is not installed."""
    package = PACKAGE.get(method, method)
    return machine.versions()["topmix"] if package == "topmix" else machine.version(package) or ""


def is_installed(method: str) -> bool:
    return bool(version_of(method))


def label(method: str, setting: str) -> str:
    """The method's name, with the setting if it has several or one of its own."""
    named = SETTINGS.get(method, {})
    return method if len(named) == 1 and setting in named else f"{method} ({setting})"
