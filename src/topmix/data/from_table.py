"""Corpora from tables: a column of texts, or one column per word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import scipy.sparse as sp

from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.errors import CorpusError
from topmix.data.tabular import Tabular

DEFAULT_TEXT_COLUMN = "text"


def text_columns(table: Tabular, text: str | Sequence[str] | None) -> list[str]:
    """The columns with the texts: those that are given; else the one called "text", or the only column if it holds
    strings. None: the columns are words, with numbers."""
    if text is not None:
        wanted = [text] if isinstance(text, str) else list(text)
        for column in wanted:
            if column not in table.names:
                raise CorpusError(f"no column {column!r} for text=; the columns are {_listed(table.names)}")
        return wanted
    found = table.texts()
    if not found:
        return []
    if DEFAULT_TEXT_COLUMN in found:
        return [DEFAULT_TEXT_COLUMN]
    if len(table.names) == 1:
        return found
    raise CorpusError(
        f"the columns {_listed(found)} hold strings: pass text={found[0]!r} to count the words of that column, or "
        "leave them out if the other columns are counts"
    )


def texts_of(table: Tabular, columns: Sequence[str]) -> Iterator[str]:
    """The texts of the rows; several columns are joined by a newline, and a missing value is an empty text."""
    for block in table.strings(columns):
        for row in block:
            for column, value in zip(columns, row):
                if value is not None and not isinstance(value, str):
                    raise CorpusError(f"the column {column!r} does not hold strings but {type(value).__name__}")
            yield "\n".join(value for value in row if value is not None)


def counts_of(table: Tabular, columns: Sequence[str], most_entries: int | None = None) -> Corpus:
    """One column per word."""
    with CorpusBuilder(most_entries=most_entries) as builder:
        for block in table.numbers(columns):
            rows = sp.csr_array(block)
            builder.append(rows.indptr, rows.indices, rows.data)
        return builder.finish(list(columns))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} others" if len(names) > 8 else "")
