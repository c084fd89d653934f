"""What several test files share."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest

from topmix import _core


def _builds() -> list[str]:
    found = []
    for isa in _core.supported_isas():
        try:
            importlib.import_module(f"topmix._core_{isa}")
        except ModuleNotFoundError:
            continue
        found.append(isa)
    return found


@pytest.fixture(params=_builds())
def core(request: pytest.FixtureRequest) -> ModuleType:
    """The native module, once for each instruction set that this machine runs."""
    return importlib.import_module(f"topmix._core_{request.param}")


@pytest.fixture(scope="session")
def demo_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the real demo corpus is read once for all tests, and nothing of the user's is touched."""
    return {**os.environ, "TOPMIX_CACHE": str(tmp_path_factory.mktemp("demo-cache"))}
