"""What a corpus consists of, before it is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topmix.data.rows import Rows
from topmix.data.stored_rows import StoredRows
from topmix.data.strings import Strings


@dataclass(frozen=True)
class CorpusParts:
    """Rows in memory that were checked, or rows of a file, which check themselves. `Corpus.of_parts` makes a corpus."""

    rows: Rows | StoredRows
    n_words: int
    vocabulary: Strings | None = None
    names: Strings | None = None
    meta: Mapping[str, Any] | None = None
