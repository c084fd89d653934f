"""Modules that are loaded when something in them is first used.

scikit-learn imports scipy.stats and pandas for a few functions that short commands never call. Without them `topmix
demo` loads 1,100 modules instead of 1,800, in little more than half of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

UNUSED = ("scipy.stats", "pandas")


class _Deferring(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in UNUSED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def unused_modules_deferred() -> Iterator[None]:
    """What is imported in the block gets modules of UNUSED that load themselves later."""
    finder = _Deferring()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
