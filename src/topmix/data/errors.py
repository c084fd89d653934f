"""What is wrong with data that somebody handed us."""

from __future__ import annotations


class CorpusError(ValueError):
    """Data that is not a corpus: names the file and the line or byte, or the row and column."""
