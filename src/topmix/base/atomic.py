"""Atomic writing: a file appears complete or not at all.

Data goes to a temporary file in the folder of the final file, which is renamed when it is complete and synced to disk.
A kill can leave a temporary file behind. Readers refuse it, and the next writer of the same file removes it, unless
somebody holds its lock.

A link stays, and the file that it leads to is replaced. A device or a pipe cannot be replaced: what is complete is
copied into it. A file behind a URL is written on this machine, and sent when it is complete.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from topmix.base.paths import TEMPORARY_SUFFIX, RemotePath, check_can_upload, is_remote, path_of, uploaded

UNFINISHED_SECONDS = 60.0  # after the last byte: a writer that has just begun may not have its lock yet
OPEN_FILES = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")  # what is open already, perhaps to be appended to


def temporary_path(path: Path, part: str = "whole") -> Path:
    """A new temporary name in the folder of `path`, for one part of that file; for a URL in the system's folder for
    temporary files. It has the first letters of the name."""
    folder = tempfile.gettempdir() if is_remote(path) else path.parent
    return Path(folder, f".{path.name[:25]}.{secrets.token_hex(4)}.{part}{TEMPORARY_SUFFIX}")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write and seek in. It is renamed to `path` when the block ends, and removed on an exception."""
    if isinstance(remote := path_of(path), RemotePath):
        with uploaded(remote) as file:
            yield file
        return
    final, before, is_stream = _target(path)
    if is_stream:
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with _named_after(path), open(path, "ab") as out:
                shutil.copyfileobj(file, out, 1 << 20)
        return
    remove_unfinished(final)
    temporary = temporary_path(final)
    try:
        with _named_after(path), open(temporary, "x+b", buffering=1 << 20) as file:
            with suppress(OSError):  # some file systems have no locks
                lock_file(file)
            yield file
            file.flush()
            if before is not None and os.name == "posix":  # the owner and permissions of the file that it replaces
                with suppress(OSError):
                    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            os.fsync(file.fileno())
        os.replace(temporary, final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # so that the rename survives a power cut
        with suppress(PermissionError):  # a folder that may be written and not read
            folder = os.open(final.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def remove_unfinished(final: Path) -> None:
    """Removes what killed writers of this file left: temporary files that are a while old and that nobody holds."""
    own = re.compile(rf"\.{re.escape(final.name[:25])}\.[0-9a-f]{{8}}\.whole{re.escape(TEMPORARY_SUFFIX)}")
    with suppress(OSError), os.scandir(final.parent) as entries:
        for entry in entries:
            if own.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > UNFINISHED_SECONDS:
                with suppress(OSError), open(entry.path, "rb") as file:
                    lock_file(file)
                    os.unlink(entry.path)


def check_can_write(path: str | os.PathLike[str]) -> None:
    """Raises OSError where `atomic_write` could not: no such folder, no permission, a name that is too long. For those
    who work long before they write."""
    if isinstance(remote := path_of(path), RemotePath):
        check_can_upload(remote)
        return
    final, _, is_stream = _target(path)
    if is_stream:
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    temporary = temporary_path(final)
    with _named_after(path):
        open(temporary, "xb").close()
    temporary.unlink()


def check_plain_file(path: str | os.PathLike[str]) -> None:
    """The same, for those who also read what they wrote: no device and no pipe."""
    if not is_remote(path) and _target(path)[2]:
        raise OSError(errno.EINVAL, "is not a plain file, so it cannot be read again", str(path))
    check_can_write(path)


def lock_file(file: IO[bytes] | int, *, wait: bool = False) -> None:
    """Waits where another has the lock, or raises BlockingIOError. Windows has no such lock, and does not remove open
    files."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _target(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None, bool]:
    """The file that is to be written, with links followed; what is there now; and whether that is a device or a pipe,
    which no file replaces. Raises OSError for a folder."""
    final = Path(os.path.realpath(path))
    try:
        before = os.stat(path)
    except FileNotFoundError:
        if not final.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "the folder does not exist; make it first", str(path)) from None
        with suppress(FileNotFoundError):
            os.lstat(final)  # a name that is too long is an error now
        return final, None, False
    if stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder; give the name of a file to write", str(path))
    # A file that is open already is as a pipe: whoever opened it will go on writing.
    return final, before, not stat.S_ISREG(before.st_mode) or str(path).startswith(OPEN_FILES)


@contextmanager
def _named_after(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors name the file that the user knows, not its temporary twin, nor none when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and str(error.filename or TEMPORARY_SUFFIX).endswith(TEMPORARY_SUFFIX):
            error.filename = str(path)
        raise


# One process at a time writes to a folder: a lock on a file in it.


class InUseError(RuntimeError):
    """Somebody else writes there."""


class WriteLock:
    """Held as long as somebody has the object. `one_at_a_time` is for the threads of this process, which share it.

    The system ends a lock with the process that holds it. The file stays, and says who held it last. Windows, some file
    systems and object storage have no such lock; there nobody is refused.
    """

    def __init__(self, path: Path):
        self.process, self.one_at_a_time = os.getpid(), threading.Lock()
        if is_remote(path):
            return
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        close = weakref.finalize(self, os.close, self.file)
        if sys.platform == "win32":
            return
        try:
            lock_file(self.file)
        except BlockingIOError:
            said = os.pread(self.file, 300, 0).decode(errors="replace").strip()
            holder = said or "a process that does not say which"
            close()
            raise InUseError(f"{path.parent} is being written to by {holder}: one process at a time may") from None
        except OSError:  # a file system without locks
            return
        now = datetime.now(UTC).isoformat(" ", "seconds")
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, f"process {self.process} on {platform.node()}, since {now}\n".encode(), 0)


_locks: weakref.WeakValueDictionary[str, WriteLock] = weakref.WeakValueDictionary()
_asking = threading.Lock()


def write_lock(path: Path) -> WriteLock:
    """The lock of this process on a file, which is made if it is not there. Raises InUseError."""
    with _asking:
        key = str(path) if is_remote(path) else os.path.realpath(path)
        lock = _locks.get(key)
        if lock is not None and lock.process == os.getpid():  # not of the process that we were forked from
            with suppress(FileNotFoundError):  # it was deleted since
                if is_remote(path) or os.path.samestat(os.fstat(lock.file), os.stat(path)):
                    return lock
        lock = _locks[key] = WriteLock(path)
        return lock
