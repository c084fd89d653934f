"""What several test files share."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from hypothesis import settings

from topmix import _core
from topmix.data import Corpus, Table
from topmix.data.shard import Shards

# The same examples each time, so that a failure is of the change at hand; HYPOTHESIS_PROFILE=explore looks further.
settings.register_profile("repeat", derandomize=True)
settings.register_profile("explore", max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


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


@pytest.fixture
def cut() -> Callable[..., Shards]:
    """cut(corpus, 3) is three shards of consecutive rows; cut(corpus, [0, 5, 9]) has its bounds there."""

    def shards(corpus: Corpus | Table, bounds: int | Sequence[int], weight: np.ndarray | None = None) -> Shards:
        if isinstance(bounds, int):
            bounds = [n * len(corpus) // bounds for n in range(bounds + 1)]
        return Shards(corpus, [slice(a, b) for a, b in pairwise(bounds)], weight)

    return shards


@pytest.fixture(scope="session")
def demo_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the real demo corpus is read once for all tests, and nothing of the user's is touched."""
    return {**os.environ, "TOPMIX_CACHE": str(tmp_path_factory.mktemp("demo-cache"))}
