"""Lines of CSV that read back as they were, whatever the cells hold."""

from __future__ import annotations

import csv
from typing import Any, TextIO


def csv_writer(file: TextIO, delimiter: str = ",") -> Any:
    """A csv.writer whose lines end with a newline. Cells with a carriage return are quoted, too: the module does that
    only where lines end with one."""
    return csv.writer(_Lines(file), delimiter=delimiter, lineterminator="\r\n")


class _Lines:
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")
