"""Columns beside the documents, one value each: their groups, or their periods where all values are dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from topmix.data.columns import is_missing, periods_of
from topmix.data.errors import CorpusError

MOST_GROUPS = 60  # bars or points of a chart
LONGEST = 200  # characters of a name that is shown, or of a value that is offered
PERIODS = ("day", "week", "month", "quarter", "year")


class Column:
    """Values of documents, as numbers of different values. `groups` are what a chart shows: values, or periods."""

    def __init__(self, name: str, values: Sequence[object]):
        self.name = name
        self.values, self.of_doc = _numbered(["" if is_missing(value) else shown(value) for value in values])
        self.is_time, self.groups, self.group_of_doc = False, self.values, self.of_doc
        self.freq = ""  # of the periods
        if (periods := _periods(values)) is not None:
            self.is_time, (self.freq, self.groups, self.group_of_doc) = True, periods

    def value(self, d: int) -> str:
        return "" if self.of_doc[d] < 0 else self.values[self.of_doc[d]]

    def texts(self) -> list[str]:
        """The value of each document."""
        return [self.value(d) for d in range(len(self.of_doc))]

    def about(self) -> dict[str, object]:
        offered = [value[:LONGEST] for value in self.values] if len(self.values) <= MOST_GROUPS else []
        return {"name": self.name, "is_time": self.is_time, "values": offered, "n_values": len(self.values)}

    def rows(self, value: str) -> NDArray[np.int64]:
        """Documents with this value, or whose value begins so: "2019" finds the days of that year. The first day of a
        week or quarter finds all of it, where a chart has those."""
        if self.freq in ("week", "quarter") and value in self.groups:
            return np.flatnonzero(self.group_of_doc == self.groups.index(value))
        wanted = [n for n, other in enumerate(self.values) if other == value]
        if not wanted and value:
            wanted = [n for n, other in enumerate(self.values) if other.lower().startswith(value.lower())]
        return np.flatnonzero(np.isin(self.of_doc, wanted))


def columns_of(table: Mapping[str, Sequence[object]] | None, n_docs: int) -> dict[str, Column]:
    """Columns of a DataFrame, or of a mapping from names to values."""
    if table is None:
        return {}
    names = list(getattr(table, "columns", table))  # of polars, columns iterate
    found = {shown(name)[:LONGEST]: list(table[name]) for name in names}
    if len(found) < len(names):
        raise ValueError(f"two columns have the same name, as far as a page shows it: {LONGEST} characters")
    for name, values in found.items():
        if len(values) != n_docs:
            raise ValueError(f"column {name!r} has {len(values)} values for {n_docs} documents: pass one each")
    return {name: Column(name, values) for name, values in found.items()}


def shown(value: object) -> str:
    """As a page has it, and asks for it: a half of a surrogate pair is "?" in every answer."""
    return str(value).encode(errors="replace").decode()


def _numbered(text: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The different values, sorted, and the number of each document's; -1 for a missing one."""
    values = sorted(set(text) - {""})
    place = {value: n for n, value in enumerate(values)}
    return values, np.array([place.get(value, -1) for value in text], np.int64)


def _periods(values: Sequence[object]) -> tuple[str, list[str], NDArray[np.int64]] | None:
    """The finest periods of which there are not too many; None where some value is no date."""
    try:
        for freq in PERIODS:
            days = periods_of(values, freq)
            known = ~np.isnat(days)
            if not known.any():
                return None
            periods, number = np.unique(days[known], return_inverse=True)
            if len(periods) <= MOST_GROUPS or freq == "year":
                of_doc = np.full(len(values), -1, np.int64)
                of_doc[known] = number
                return freq, [str(day) for day in periods], of_doc
    except (CorpusError, ValueError, TypeError, OverflowError):
        return None
    return None
