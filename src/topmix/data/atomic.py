"""Atomic writing: a file appears complete or not at all.

Data goes to a temporary file in the folder of the final file. Its name starts with a dot and ends in `.topmix-tmp`.
When the temporary file is complete and synced to disk, it is renamed to the final name. A crash can leave a temporary
file behind. All readers refuse such a file, and it can be deleted when no program is writing.
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
    """A new temporary name in the folder of `path`, for one part of that file."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{part}{TEMPORARY_SUFFIX}")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write and seek in. It is renamed to `path` when the block ends, and removed on an exception."""
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
    """Sync the folder, so that the rename survives a power cut. Windows cannot sync folders."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
