"""Documents by word, by topic, and by what is written beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from topmix.explorer.snapshot import Snapshot
from topmix.web import NotFound

PAGE = 20
LEAST_SHARE = 0.05  # of a topic in a document that is found by it


def search_documents(
    snapshot: Snapshot,
    *,
    words: str = "",
    topic: int | None = None,
    column: str | None = None,
    value: str = "",
    offset: int = 0,
) -> dict[str, Any]:
    """Documents that have all words, the topic and the value; those with the most of what was asked for first."""
    library = snapshot.library
    if library is None:
        return {"n": 0, "documents": [], "unknown": []}
    asked = words.split()
    ids = {word: library.word_id(word) for word in asked}
    unknown = [word for word, v in ids.items() if v is None]
    rows, score = library.with_words([v for v in ids.values() if v is not None])
    if unknown:
        rows, score = rows[:0], score[:0]
    if topic is not None:
        mixes = snapshot.mixes()
        if mixes is None:
            return {"n": 0, "documents": [], "unknown": [], "pending": True}
        share = mixes.shares(rows, snapshot.checked(topic))
        kept = share >= LEAST_SHARE
        rows, score = rows[kept], (share[kept] if not asked else score[kept])
        if not asked:  # as among the examples of a topic
            score = score * library.lengths[rows] / (library.lengths[rows] + 20.0)
    if column:
        if column not in library.columns:
            raise NotFound(f"there is no column {column[:60]!r}")
        kept = np.isin(rows, library.columns[column].rows(value), assume_unique=True)
        rows, score = rows[kept], score[kept]
    n = len(rows)
    order = (
        np.lexsort((rows, -score))[offset : offset + PAGE]
        if (asked or topic is not None)
        else slice(offset, offset + PAGE)
    )
    return {
        "n": n,
        "offset": offset,
        "documents": snapshot.excerpts(rows[order]),
        "unknown": unknown,
    }
