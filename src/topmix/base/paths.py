"""Paths of files on this machine, and of files behind URLs (s3://, gs://, az://, https://), which are paths too.

A RemotePath has the methods of pathlib.Path that this library calls. fsspec does the work, and its libraries repeat
requests that fail; it is imported when a URL is used.

Nobody reads half a file behind a URL. `open_whole` copies one version of it into a temporary file without a name, and
object storage shows what was sent (`uploaded`) when all of it has arrived.
"""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from topmix.base.checks import CorpusError, needed

if sys.platform == "win32":
    from pathlib import WindowsPath as ThisPath
else:
    from pathlib import PosixPath as ThisPath

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from typing_extensions import TypeIs

BLOCK = 1 << 24
TEMPORARY_SUFFIX = ".topmix-tmp"
LOCAL = ("file:", "local:")  # URLs that have no host
# Protocols of object storage: an object that is sent appears when it is complete, and not before. Elsewhere it is sent
# under another name, and renamed.
OBJECT_STORAGE = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "r2"})
PROTOCOL = re.compile(r"[A-Za-z][\w+.:-]+:[/\\]")  # of two letters or more: those of one are drives
VERSION = ("size", "ETag", "etag", "generation", "mtime", "LastModified", "last_modified", "created", "ino", "url")
REPLACED = (errno.EAGAIN, errno.EBUSY)  # while it was read, as we and s3fs say
ENDLESS = "this is no regular file, and may have no end: copy what you want of it into a file"
READS = 3  # of a file that is replaced while it is read

Version = tuple[int, int, int, int] | str
T = TypeVar("T")


class RemotePath(ThisPath):
    """A URL as a path. Errors are OSErrors that name the URL, and an ImportError where a package is missing."""

    __slots__ = ()

    def __str__(self) -> str:
        first, *rest = self.parts or ("",)
        if not first.endswith(":"):  # what `relative_to` left
            return "/".join((first, *rest))
        return f"{first}//{'/' if first in LOCAL else ''}{'/'.join(rest)}"

    def ask(self, question: Callable[[AbstractFileSystem, str], T]) -> T:
        """What the file system says of this name."""
        with url_errors(str(self)):
            return question(*file_system(str(self)))

    def exists(self, **_: object) -> bool:
        """Whether there is such a file or folder, or one that matches where there is a *."""
        return self.ask(lambda files, name: bool(files.glob(name) if "*" in name else files.exists(name)))

    def is_file(self, **_: object) -> bool:
        return self.ask(lambda files, name: bool(files.isfile(name)))

    def is_dir(self, **_: object) -> bool:
        return self.ask(lambda files, name: bool(files.isdir(name)))

    def stat(self, **_: object) -> os.stat_result:
        """Of the size alone."""
        size = self.ask(lambda files, name: int(files.info(name)["size"]))
        return os.stat_result((0, 0, 0, 0, 0, 0, size, 0, 0, 0))

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        with open_whole(self) as file, io.TextIOWrapper(file, encoding or "utf-8", errors, newline) as text:
            return text.read()

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Folders of object storage are there when there is a file in them; others are made."""
        if not _is_object_storage(self):
            self.ask(lambda files, name: files.makedirs(name, exist_ok=exist_ok))

    def unlink(self, missing_ok: bool = False) -> None:
        with suppress(*[FileNotFoundError] if missing_ok else []):
            self.ask(lambda files, name: files.rm_file(name))

    def glob(self, pattern: str, **_: object) -> Generator[ListedFile, None, None]:
        """Files of this folder, sorted."""
        yield from self._listed(lambda files, name: files.glob(f"{name.rstrip('/')}/{pattern}"))

    def rglob(self, pattern: str, **_: object) -> Generator[ListedFile, None, None]:
        """Files below this folder whose names match, sorted. No folders: object storage has none."""
        below = self._listed(lambda files, name: files.find(name.rstrip("/")))
        yield from (path for path in below if path.match(pattern))

    def _listed(self, listing: Callable[[AbstractFileSystem, str], list[str]]) -> list[ListedFile]:
        return self.ask(
            lambda files, name: [ListedFile(files.unstrip_protocol(n)) for n in sorted(listing(files, name))]
        )


class ListedFile(RemotePath):
    """One that a listing has: nobody needs to ask whether it is there."""

    __slots__ = ()

    def is_file(self, **_: object) -> bool:
        return True


def is_path(X: object) -> TypeIs[str | os.PathLike[str]]:
    """A string may be one."""
    return isinstance(X, str | os.PathLike)


def is_damage(error: Exception) -> bool:
    """Whether a file is to blame that could not be read, and not its name, its owner or the system around it."""
    return not isinstance(error, CorpusError) and getattr(error, "errno", None) in (None, errno.EINVAL)


def path_of(path: str | os.PathLike[str]) -> Path:
    """The path that a user gave, or the URL."""
    if not is_path(path):
        raise ValueError(f"a path is a string or a pathlib.Path, got {path!r:.80}")
    return RemotePath(path) if is_remote(path) else Path(path)


def check_there(path: str | os.PathLike[str], hint: str = "") -> None:
    """There is something at a path. A string may also be a text, too long for a name."""
    if not is_remote(path) and not os.path.exists(path):
        name = str(path) if len(str(path)) <= 200 else f"{str(path)[:80]}..."
        raise FileNotFoundError(f"there is no such file or folder: {name!r}{hint}")


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether it is a URL. `pathlib.Path` makes s3:/bucket of s3://bucket: that is one, too."""
    return "://" in path if isinstance(path, str) else PROTOCOL.match(os.fspath(path)) is not None


def file_system(url: str) -> tuple[AbstractFileSystem, str]:
    """What opens files behind such URLs, and the name that it knows this one by. It asks again what is there."""
    import fsspec

    files, name = fsspec.core.url_to_fs(url)
    files.invalidate_cache()
    return files, name


def open_whole(path: Path) -> IO[bytes]:
    """A file, to be read. Of one behind a URL it is a copy without a name, which is gone when it is closed."""
    return open_version(path)[0]


def open_version(path: Path) -> tuple[IO[bytes], Version]:
    """The same, and which version of the file it is."""
    if not isinstance(path, RemotePath):
        file = open(path, "rb")  # noqa: SIM115
        return file, _version(os.fstat(file.fileno()))
    copy: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        with url_errors(str(path)):
            version = copy_version(*file_system(str(path)), copy)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy, version


def file_version(path: Path) -> Version | None:
    """What changes when a file is replaced; None where there is none."""
    try:
        return path.ask(remote_version) if isinstance(path, RemotePath) else _version(os.stat(path))
    except FileNotFoundError:
        return None


def _version(found: os.stat_result) -> Version:
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def copy_version(files: AbstractFileSystem, name: str, copy: IO[bytes]) -> str:
    """Copies a file, and says which version of it. One that is replaced meanwhile is copied again: what was copied may
    be of two versions."""
    for n in range(1, READS + 1):
        copy.seek(0)
        copy.truncate()
        try:
            about = files.info(name)
            if about.get("type") == "other":  # of file:// and the like
                raise CorpusError(f"{files.unstrip_protocol(name)}: {ENDLESS}")
            size = about["size"]  # None: some web servers do not say it
            if size is not None and size <= BLOCK:
                copy.write(files.cat_file(name))
            else:
                with files.open(name, "rb") as source:
                    shutil.copyfileobj(source, copy, BLOCK)
            if size in (None, copy.tell()) and remote_version(files, name) == version_of(about):
                return version_of(about)
            raise OSError(errno.EAGAIN, "it was replaced while it was read")
        except OSError as error:
            if error.errno not in REPLACED or n == READS:
                raise
    raise AssertionError("the last of them returns or raises")


def remote_version(files: AbstractFileSystem, name: str) -> str:
    files.invalidate_cache()
    return version_of(files.info(name))


def version_of(about: Mapping[str, object]) -> str:
    """What changes when a file behind a URL is replaced, of what its storage says of it."""
    return repr([(key, str(about[key])) for key in VERSION if about.get(key) is not None])


@contextmanager
def uploaded(path: RemotePath) -> Iterator[IO[bytes]]:
    """A file on this machine to write and seek in, which is sent when the block ends, and not on an exception."""
    check_is_file_name(path)
    with tempfile.TemporaryDirectory(prefix="topmix-") as folder:
        local = os.path.join(folder, "whole")
        with open(local, "x+b", buffering=1 << 20) as file:
            yield file
        with url_errors(str(path), "cannot be written"):
            files, name = file_system(str(path))
            if _is_object_storage(path):
                files.put_file(local, name)
                return
            temporary = temporary_name(name)
            try:
                files.put_file(local, temporary)
                files.mv(temporary, name)
            except BaseException:
                with suppress(Exception):
                    files.rm_file(temporary)
                raise


def check_can_upload(path: RemotePath) -> None:
    """Raises OSError where `uploaded` could not: sends an empty file beside it, and removes that."""
    check_is_file_name(path)
    with url_errors(str(path), "cannot be written"):
        files, name = file_system(str(path))
        temporary = temporary_name(name)
        files.pipe_file(temporary, b"")
        with suppress(Exception):  # some may write, and not remove
            files.rm_file(temporary)


def check_is_file_name(path: RemotePath) -> None:
    if len(path.parts) < (2 if path.parts[0] in (*LOCAL, "memory:") else 3):
        raise IsADirectoryError(errno.EISDIR, "has no name of a file after the bucket", str(path))


def temporary_name(name: str) -> str:
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}.{last}.{secrets.token_hex(4)}.whole{TEMPORARY_SUFFIX}"


@contextmanager
def url_errors(url: str, what: str = "cannot be read", *, of_data: bool = False) -> Iterator[None]:
    """What libraries of protocols raise, as errors that Python has, or as a CorpusError. They have hundreds of their
    own."""
    try:
        with needed(url, "the package of its protocol", "cloud"):
            yield
    except CorpusError:
        raise
    except ImportError as missing:
        raise CorpusError(str(missing)) if of_data else missing from missing.__cause__
    except Exception as raised:
        # fsspec says of all trouble with a web server that there is no such file.
        cause = raised.__cause__ if isinstance(raised, FileNotFoundError) else None
        is_trouble = isinstance(cause, OSError) or getattr(cause, "status", 404) != 404
        error = cause if cause is not None and is_trouble else raised
        said = " ".join(str(error).split())[:300].removeprefix(f"{url}: ") or type(error).__name__
        is_missing = isinstance(error, FileNotFoundError)
        if is_missing:
            said = "there is no such file, folder or bucket"
        if of_data:
            raise CorpusError(f"{url}: cannot be fetched: {said}") from error
        if isinstance(error, OSError) and error.filename == url:  # ours already
            raise error from error.__cause__
        unknown = errno.EACCES if isinstance(error, PermissionError) else errno.EIO
        number = errno.ENOENT if is_missing else (error.errno if isinstance(error, OSError) else None) or unknown
        raise OSError(number, said if is_missing else f"{what}: {said}", url) from error  # of the class of this number


def _is_object_storage(path: RemotePath) -> bool:
    return path.parts[0].removesuffix(":").rpartition("::")[2] in OBJECT_STORAGE
