"""Files behind URLs (s3://, gs://, https://): copied once into this machine's cache, then used as local files; or
read where they are, when only some of their bytes are wanted.

fsspec knows the protocols; it is imported when a URL is opened, and asks for the package that a protocol needs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeGuard

from topmix.data.atomic import atomic_write
from topmix.data.errors import CorpusError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

BLOCK = 1 << 24


def cache_folder() -> Path:
    """Where files are kept that could be made or fetched again: $TOPMIX_CACHE, $XDG_CACHE_HOME/topmix or the usual
    cache folder of the platform."""
    if own := os.environ.get("TOPMIX_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "topmix"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "topmix"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "topmix"
    return Path.home() / ".cache" / "topmix"


def is_remote(path: str | os.PathLike[str]) -> TypeGuard[str]:
    return isinstance(path, str) and "://" in path


def local_copy(url: str) -> Path:
    """The file behind a URL, in the cache. It is fetched again when the file behind the URL is another."""
    with _explained(url):
        files, name = file_system(url)
        version = f"{url} {files.ukey(name)}"
        folder = cache_folder() / "files"
        path = folder / f"{hashlib.sha256(version.encode()).hexdigest()[:24]}-{Path(name).name}"
        folder.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(path):
            if not path.exists():
                with files.open(name, "rb") as source, atomic_write(path) as copy:
                    shutil.copyfileobj(source, copy, BLOCK)
    return path


def open_binary(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file, or one behind a URL, of which only the bytes that are read are fetched."""
    if not is_remote(path):
        return open(path, "rb")
    with _explained(path):
        files, name = file_system(path)
        opened: IO[bytes] = files.open(name, "rb")
        return opened


def files_below(url: str, suffix: str) -> list[str]:
    """URLs of all files in a folder behind a URL whose names end like this, sorted, without hidden ones. A URL of a
    file has none."""
    with _explained(url):
        files, folder = file_system(url)
        folder = folder.rstrip("/")
        if not files.isdir(folder):
            return []
        parts = sorted((path[len(folder) :].strip("/").split("/"), path) for path in files.find(folder))
        shown = (path for names, path in parts if not any(name.startswith(".") for name in names))
        return [files.unstrip_protocol(path) for path in shown if path.lower().endswith(suffix)]


def file_system(url: str) -> tuple[AbstractFileSystem, str]:
    """What opens files behind such URLs, and the name that it knows this one by."""
    try:
        import fsspec
    except ImportError as error:
        raise CorpusError(f"{url}: URLs are read with fsspec: pip install fsspec, or topmix[ray]") from error
    return fsspec.core.url_to_fs(url)


@contextmanager
def _explained(url: str) -> Iterator[None]:
    try:
        yield
    except CorpusError:
        raise
    except (OSError, ImportError, ValueError) as error:
        raise CorpusError(f"{url}: cannot be fetched: {error}") from error


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Several workers of a machine want the same file at the same moment: one fetches it, the others wait."""
    if sys.platform == "win32":  # which has no flock: each fetches it, and the last copy stays
        yield
    else:
        import fcntl

        with open(path.with_name(f"{path.name}.lock"), "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
