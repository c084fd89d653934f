"""Files that appear whole or not at all.

What is being written has a name that starts with a dot and ends in `.topmix-tmp`, in the folder of the final file. Only
a finished, synced file gets the final name. A crash can leave such a file behind; no reader takes it for data, and it
may be deleted at any time when nothing is writing.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

TEMPORARY_SUFFIX = ".topmix-tmp"


def temporary_path(path: Path, part: str = "whole") -> Path:
    """A fresh name beside `path` for a piece of it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{part}{TEMPORARY_SUFFIX}")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write and seek in; it becomes `path` when the block ends well, and vanishes when it does not."""
    final = Path(path)
    temporary = temporary_path(final)
    try:
        with open(temporary, "x+b", buffering=1 << 20) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(final.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut, where folders can be synced (not on Windows)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
