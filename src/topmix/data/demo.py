"""The demo corpus: the documentation installed on this machine, one document per module, class or function.

These are thousands of real documents without a download. The same versions of Python, NumPy, SciPy and scikit-learn
give the same corpus. It is cached, because finding the texts means parsing a few thousand source files.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from topmix.data.cache import cache_folder
from topmix.data.corpus import Corpus
from topmix.data.docstrings import PACKAGES, installed_documentation
from topmix.data.errors import CorpusError
from topmix.data.languages import resolve_stop_words
from topmix.data.vectorize import Vectorizer

RECIPE = 2  # raise it when a change here gives another corpus for the same versions
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
        Read the documentation again, even if the corpus of these versions is in the cache.
    """
    cached = None if refresh else _read_cache(cache_path())
    if cached is not None:
        return cached
    vectorizer = Vectorizer(
        token_pattern="[a-z]{3,}",
        stop_words=sorted({*resolve_stop_words("english"), *STOP_WORDS.split()}),
        min_df=5,
        max_df=0.15,
    )
    corpus = vectorizer._fit_documents(sorted(_documents()), None)
    _write_cache(cache_path(), corpus)
    return corpus


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
    return cache_folder() / f"demo-{digest}.topmix"


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


def _read_cache(path: Path) -> Corpus | None:
    """The cached corpus, in memory, where fits are faster. None if the file is missing or damaged."""
    try:
        saved = Corpus.open(path)
        rows = saved.indptr.copy(), saved.index.copy(), saved.value.copy()
    except (OSError, CorpusError):
        return None
    words, names = list(saved.vocabulary or ()), list(saved.names or ())
    return Corpus.trusted(*rows, saved.n_words, words, names, meta=saved.meta, n_tokens=saved.n_tokens)


def _write_cache(path: Path, corpus: Corpus) -> None:
    """A cache that cannot be written is no error: the next call reads the documentation again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        corpus.save(path)
    except OSError:
        return
