"""Slow twin of cpp/data/rows.hpp in plain Python, with the same results."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from topmix.corpus.counts import CountRows


def tidy_rows(rows: CountRows, n_words: int, remap: Mapping[int, int] | None = None) -> CountRows:
    """Renumber columns by `remap` (-1 drops), sort, sum duplicates, drop zeros."""
    indptr, index, value = [0], list[int](), list[float]()
    for begin, end in zip(rows[0][:-1].tolist(), rows[0][1:].tolist()):
        row: dict[int, float] = {}
        for v, x in zip(rows[1][begin:end].tolist(), rows[2][begin:end].tolist()):
            if not (math.isfinite(x) and x >= 0):
                raise ValueError(f"column {v}: {x} is not a count")
            new = v if remap is None else remap[v]
            if new != -1 and x != 0:
                if not 0 <= new < n_words:
                    raise ValueError(f"column {new} is outside")
                row[new] = row.get(new, 0.0) + x
        index += sorted(row)
        value += [row[v] for v in sorted(row)]
        indptr.append(len(index))
    return np.array(indptr, np.int64), np.array(index, np.int32), np.array(value, np.float32)
