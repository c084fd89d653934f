"""Topics over time and by group, for the page: the mean share of each topic in the documents of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.data.columns import check_one_each
from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.report.columns import Column
from topmix.views.topics import proportions

BLOCK = 4096
LARGEST = 40  # groups that may be shown, where they are not periods
LONGEST_NAME = 200  # characters


def columns_of(columns: Mapping[str, Sequence[Any]] | Any, n_docs: int) -> list[Column]:
    """Columns of a table, or of a mapping from names to values."""
    found = [Column(str(name), list(columns[name])) for name in columns]
    for column in found:
        check_one_each(len(column.of_doc), n_docs)
    return found


def grouped(model: Any, corpus: Corpus, columns: Sequence[Column], n_topics: int) -> list[dict[str, Any]]:
    """Per column: its name, whether its groups are periods, [group, documents], and mean shares [groups, topics].

    A document without a known word is left out.
    """
    if not columns:
        return []
    total = [np.zeros((len(column.groups), n_topics)) for column in columns]
    n = [np.zeros(len(column.groups), np.int64) for column in columns]
    for begin in range(0, corpus.n_docs, BLOCK):
        block = corpus[begin : begin + BLOCK]
        theta, has_words = proportions(model, block), row_sums(block.indptr, block.value) > 0
        for column, sums, counts in zip(columns, total, n):
            of_doc = column.group_of_doc[begin : begin + BLOCK]
            known = (of_doc >= 0) & has_words
            np.add.at(sums, of_doc[known], theta[known])
            counts += np.bincount(of_doc[known], minlength=len(counts))
    return [_shown(*found) for found in zip(columns, n, total)]


def _shown(column: Column, n: NDArray[np.int64], total: NDArray[np.float64]) -> dict[str, Any]:
    chosen = np.flatnonzero(n) if not column.is_time else np.arange(len(n))
    if not column.is_time:
        chosen = chosen[np.argsort(-n[chosen], kind="stable")[:LARGEST]]
    return {
        "name": column.name,
        "is_time": column.is_time,
        "groups": [[column.groups[g][:LONGEST_NAME], int(n[g])] for g in chosen],
        "shares": [[float(f"{s:.4g}") for s in total[g] / max(n[g], 1)] for g in chosen],
    }
