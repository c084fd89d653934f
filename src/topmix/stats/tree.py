"""Sums in a tree whose shape depends on the number of parts alone: ((0 + 1) + (2 + 3)) + (4 + 5).

Floating-point sums depend on the order. With one tree for everybody, the statistics of a round have the same bits
wherever parts of them were added: in one process, or by workers on several machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def plus(a: Any, b: Any) -> Any:
    """A new value; numbers and arrays add, statistics know how."""
    return a.plus(b) if hasattr(a, "plus") else a + b


def tree_sum(parts: Iterable[T], plus: Callable[[T, T], T] = plus) -> T:
    """The sum of at least one part. A single part is returned as it is. Parts are taken as they come, and never more
    than log2(parts) sums wait for their partner."""
    waiting: list[tuple[int, T]] = []  # (leaves, their sum), ever smaller powers of two
    for part in parts:
        leaves, total = 1, part
        while waiting and waiting[-1][0] == leaves:
            leaves, total = 2 * leaves, plus(waiting.pop()[1], total)
        waiting.append((leaves, total))
    if not waiting:
        raise ValueError("a sum of nothing has no type")
    _, total = waiting.pop()
    while waiting:
        total = plus(waiting.pop()[1], total)
    return total
