"""The face of a learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from topmix.engines.local import Engine

Model = TypeVar("Model")
Learner = Callable[[Any, Engine], Iterator[tuple[Any, Any]]]
