"""The error for bad data."""

from __future__ import annotations


class CorpusError(ValueError):
    """The data is not valid. The message names the file and the line or byte, or the row and column."""
