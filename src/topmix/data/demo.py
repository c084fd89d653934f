"""The demo corpus: the documentation installed on this machine, one document per module, class or function.

These are thousands of real documents without a download. The same versions of Python, NumPy, SciPy and scikit-learn
give the same corpus. The texts are cached, because finding them means parsing a few thousand source files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import sys
import tempfile
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from topmix.data.cache import cache_folder
from topmix.data.corpus import Corpus
from topmix.data.docstrings import PACKAGES, installed_documentation
from topmix.data.languages import resolve_stop_words
from topmix.data.vectorize import Vectorizer

RECIPE = 1  # raise it when a change here gives other texts for the same versions
MIN_WORDS = 30
# Words of the form of documentation, not of its subject. max_df removes more of them.
STOP_WORDS = (
    "arg args kwarg kwargs param params parameter parameters optional default defaults return returns returned "
    "returning true false none self cls int float bool str ndarray array_like arraylike dtype note notes example "
    "examples use used uses using given set sets otherwise specified specify specifies instead must may will also "
    "like method methods function functions class classes value values object objects type types argument "
    "arguments new version see ignored raise raises raised called call calls contains number following does don "
    "doesn result results defined case non instance passed ref numpy scipy single user guide provided details "
    "information corresponding containing different possible available means support supported based "
)


def demo_corpus(*, refresh: bool = False) -> Corpus:
    """The documentation installed on this machine as a corpus of thousands of documents.

    The names of the documents are dotted names such as "scipy.stats.norm".

    Parameters
    ----------
    refresh : bool
        Read the documentation again, even if the texts of these versions are in the cache.
    """
    documents = None if refresh else _read_cache(cache_path())
    if documents is None:
        documents = sorted(_documents())
        _write_cache(cache_path(), documents)
    vectorizer = Vectorizer(
        token_pattern="[a-z]{3,}",
        stop_words=sorted({*resolve_stop_words("english"), *STOP_WORDS.split()}),
        min_df=5,
        max_df=0.15,
    )
    return vectorizer._fit_documents(documents, None)


def cache_path() -> Path:
    """The cache file for the installed versions.

    The folder is $TOPMIX_CACHE, $XDG_CACHE_HOME/topmix or the usual cache folder of the platform.
    """
    versions = [f"{name}-{version('scikit-learn' if name == 'sklearn' else name)}" for name in PACKAGES]
    key = "_".join(
        [f"recipe-{RECIPE}", f"topmix-{version('topmix')}", f"python-{platform.python_version()}", *versions]
    )
    where = f"{sys.implementation.name} {sys.platform} {platform.machine()}"
    digest = hashlib.sha256(f"{key} {where}".encode()).hexdigest()[:16]
    return cache_folder() / f"demo-{digest}.jsonl.gz"


def _documents() -> Iterator[tuple[str, str]]:
    """(name, text) of the documents with at least MIN_WORDS words. A text occurs once, under its first name."""
    longest: dict[str, str] = {}
    for name, text in installed_documentation(MIN_WORDS):
        if len(text) > len(longest.get(name, "")):
            longest[name] = text
    seen: set[str] = set()
    for name, text in sorted(longest.items()):
        if text not in seen:
            seen.add(text)
            yield name, text


def _read_cache(path: Path) -> list[tuple[str, str]] | None:
    """The cached documents, or None if the file is missing or damaged: then the texts are collected again."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as f:
            documents = [(str(d["id"]), str(d["text"])) for d in map(json.loads, f)]
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return None
    return documents or None


def _write_cache(path: Path, documents: list[tuple[str, str]]) -> None:
    """Write the cache atomically. A cache that cannot be written is no error: the next call collects again."""
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", compresslevel=6, mtime=0) as f:
        f.writelines((json.dumps({"id": name, "text": text}) + "\n").encode() for name, text in documents)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data.getbuffer())
            os.replace(scratch, path)
        except BaseException:
            os.unlink(scratch)
            raise
    except OSError:
        return
