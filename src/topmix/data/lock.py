"""One process at a time writes to a folder: a lock on a file in it.

The system ends a lock with the process that holds it, so that a kill leaves none behind. The file stays, and says who
held it last. Windows, some file systems and object storage have no such lock; there nobody is refused.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import weakref
from datetime import UTC, datetime
from pathlib import Path

from topmix.data.paths import is_remote


class InUseError(RuntimeError):
    """Somebody else writes there."""


class WriteLock:
    """Held as long as somebody has the object. `one_at_a_time` is for the threads of this process, which share it."""

    def __init__(self, path: Path):
        self.process, self.one_at_a_time = os.getpid(), threading.Lock()
        if is_remote(path):
            return
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._end = weakref.finalize(self, os.close, self._file)
        if sys.platform == "win32":
            return
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = (
                os.pread(self._file, 300, 0).decode(errors="replace").strip() or "a process that does not say which"
            )
            self._end()
            raise InUseError(f"{path.parent} is being written to by {holder}: one process at a time may") from None
        except OSError:  # a file system without locks
            return
        now = datetime.now(UTC).isoformat(" ", "seconds")
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"process {self.process} on {platform.node()}, since {now}\n".encode(), 0)

    def is_of(self, path: Path) -> bool:
        """Whether this is our lock of this file: not of the process that we were forked from, nor of a file that was
        deleted since."""
        if is_remote(path):
            return self.process == os.getpid()
        try:
            return self.process == os.getpid() and os.path.samestat(os.fstat(self._file), os.stat(path))
        except FileNotFoundError:
            return False


_held: weakref.WeakValueDictionary[str, WriteLock] = weakref.WeakValueDictionary()
_asking = threading.Lock()


def write_lock(path: Path) -> WriteLock:
    """The lock of this process on a file, which is made if it is not there. Raises InUseError."""
    with _asking:
        key = str(path) if is_remote(path) else os.path.realpath(path)
        lock = _held.get(key)
        if lock is None or not lock.is_of(path):
            lock = _held[key] = WriteLock(path)
        return lock
