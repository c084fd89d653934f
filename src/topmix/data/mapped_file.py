"""A file that is mapped into memory, and may become shorter while it is."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

from topmix.data.errors import CorpusError


@dataclass(frozen=True)
class MappedFile:
    """The pages of a file. A page behind its end would end the process (SIGBUS), so ask before pages are touched."""

    path: Path
    pages: mmap.mmap

    def check_length(self) -> None:
        size = self.pages.size()  # of the file, which this mapping keeps open
        if size < len(self.pages):
            raise CorpusError(
                f"{self.path}: byte {size:,}: the file became shorter after it was opened; it had "
                f"{len(self.pages):,} bytes"
            )
