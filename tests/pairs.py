"""Fewer cases than all combinations: any two values of any two parameters meet in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairs(*values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Cases for `pytest.mark.parametrize`, one value of each parameter. The same cases in every run.

    Greedy: of all combinations, the next one is the first that has the most pairs which have not met yet.
    """
    sizes = [range(len(v)) for v in values]
    missing = {(i, a, j, b) for i, j in combinations(range(len(values)), 2) for a in sizes[i] for b in sizes[j]}
    left, chosen = list(product(*sizes)), []
    while missing:
        met = [{(i, case[i], j, case[j]) for i, j in combinations(range(len(case)), 2)} & missing for case in left]
        best = max(range(len(left)), key=lambda n: len(met[n]))
        chosen.append(left.pop(best))
        missing -= met[best]
    return [tuple(v[i] for v, i in zip(values, case)) for case in chosen]
