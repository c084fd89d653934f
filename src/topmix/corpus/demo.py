"""The demo corpus: the documentation installed on this machine, one document per module, class or function.

These are thousands of real documents without a download. The same versions of Python, NumPy, SciPy and scikit-learn
give the same corpus. It is cached, because finding the texts means parsing a few thousand source files. They are parsed
and not imported: some modules of the standard library open a browser or print when they are imported.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import platform
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import numpy as np

from topmix.base.checks import CorpusError
from topmix.base.remote_file import cache_folder
from topmix.corpus.corpus import Corpus
from topmix.corpus.documents import document_blocks
from topmix.corpus.languages import resolve_stop_words
from topmix.corpus.vectorize import Vectorizer

RECIPE = 4  # raise it when a change here gives another corpus for the same versions
MIN_WORDS = 30
# Words of the form of documentation, not of its subject. max_df removes more of them.
STOP_WORDS = (
    "arg args kwarg kwargs param params parameter parameters optional default defaults return returns returned "
    "returning true false none self cls int float bool str ndarray array_like arraylike dtype note notes example "
    "examples use used uses using given set sets otherwise specified specify specifies instead must may will also "
    "like method methods function functions class classes value values object objects type types argument "
    "arguments new version see ignored raise raises raised call called calls contains number following does don "
    "doesn result results defined case non instance passed ref numpy scipy single user guide provided details "
    "information corresponding containing different possible available means support supported based "
)
PACKAGES = ("numpy", "scipy", "sklearn")
# Tests, vendored copies, generated tables, and the programs in the standard library.
SKIP = frozenset({
    "test", "tests", "testing", "conftest", "site-packages", "__pycache__", "idlelib", "lib2to3", "turtledemo", "venv",
    "ensurepip", "encodings", "pydoc_data", "externals", "_vendor", "_externals", "array_api_compat", "array_api_extra",
    "highspy", "f2py", "distutils", "estimator_checks", "antigravity", "this",
})  # fmt: skip

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def demo_corpus(*, refresh: bool = False) -> Corpus:
    """The documentation installed on this machine as a corpus of thousands of documents.

    The names of the documents are dotted names such as "scipy.stats.norm".

    Parameters
    ----------
    refresh : bool
        Read the documentation again, even if the corpus of these versions is in the cache.
    """
    path = cache_path()
    with suppress(OSError, CorpusError):  # it is missing or damaged
        if not refresh:
            saved = Corpus.open(path)
            return saved[np.arange(len(saved))]  # in memory, where fits are faster
    stop_words = sorted({*resolve_stop_words("english"), *STOP_WORDS.split()})
    vectorizer = Vectorizer(token_pattern="[a-z]{3,}", stop_words=stop_words, min_df=5, max_df=0.17)
    corpus = vectorizer._fit_blocks(document_blocks(sorted(installed_documentation(MIN_WORDS).items())))
    with suppress(OSError):  # the next call reads the documentation again
        path.parent.mkdir(parents=True, exist_ok=True)
        corpus.save(path)
    return corpus


def cache_path() -> Path:
    """The file in the cache for the installed versions."""
    versions = [version("scikit-learn" if name == "sklearn" else name) for name in (*PACKAGES, "topmix")]
    where = f"{sys.implementation.name} {platform.python_version()} {sys.platform} {platform.machine()}"
    digest = hashlib.sha256(f"{RECIPE} {versions} {where}".encode()).hexdigest()[:16]
    return cache_folder() / f"demo-{digest}.topmix"


def installed_documentation(min_words: int) -> dict[str, str]:
    """{dotted name: the prose of its docstring} of public modules, classes, functions and methods. A text occurs once,
    and a name has its longest text."""
    folders = [(Path(importlib.import_module(name).__path__[0]), (name,)) for name in PACKAGES]
    longest: dict[str, str] = {}
    for folder, prefix in [(Path(sysconfig.get_path("stdlib")), ()), *folders]:
        for name, doc in _docstrings(folder, prefix):
            # Cleaning only removes words, so a docstring that is too short before need not be cleaned.
            text = clean(doc) if len(doc.split()) >= min_words else ""
            if len(text.split()) >= min_words and len(text) > len(longest.get(name, "")):
                longest[name] = text
    first = {text: name for name, text in sorted(longest.items(), reverse=True)}
    return {name: text for text, name in first.items()}


def _docstrings(folder: Path, prefix: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Dotted names, and their docstrings."""
    for path in sorted(folder.iterdir()):
        # Without packages around them, private modules are the Python versions of compiled ones.
        if path.stem in SKIP or path.name.startswith(("test_", ".", "lib-") if prefix else ("test_", ".", "lib-", "_")):
            continue
        if path.is_dir() and (path / "__init__.py").exists():
            yield from _docstrings(path, (*prefix, path.name))
        elif path.suffix == ".py":
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # invalid escapes in the docstrings of other projects
                    tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError, OSError):
                continue
            yield from _of_tree(tree, prefix if path.stem == "__init__" else (*prefix, path.stem))


def _of_tree(tree: Documented, name: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Without private modules: scipy.stats._continuous_distns.norm_gen is scipy.stats.norm_gen."""
    if (doc := ast.get_docstring(tree, clean=False)) and not name[-1].startswith("_"):
        yield ".".join(part for part in name if not part.startswith("_")), doc
    for node in tree.body if isinstance(tree, ast.Module | ast.ClassDef) else ():
        if isinstance(node, Documented) and not node.name.startswith("_"):
            yield from _of_tree(node, (*name, node.name))


# What is no prose, in the order in which it is removed.
REMOVED = [
    (r"(?msi)^(references|see also) *\n-+\n.*?(?=^\w[^\n]*\n-{3,}|\Z)", "\n"),  # sections
    (r"(?m)^ *>>>.*\n?(?:^.*\S.*\n?)*", "\n"),  # doctests
    (r"(?m)^( *)\.\. (?!note|warning|version|deprecated).*\n?(?:^(?:\1 +\S.*| *)(?:\n|\Z))*", "\n"),  # directives
    (r"(?m)^ *([-=~^\"*#+])\1{2,} *$", ""),  # underlines
    (r"(?mi)^((other )?parameters|returns|yields|raises|warns|notes|examples|attributes|methods|receives) *$", ""),
    (r"(?m)^ *[`*]{0,3}\w+[`*]*(?: *, *[`*]{0,3}\w+[`*]*)* +:(?: .*)?$", ""),  # x, y : array_like
    (r"(?m)^ *[\w.]+\(.*\)? *(?:->.*|--)?$", ""),  # f(x, /, out=None)
    (r"\.\. \w+::|:math:`[^`]*`|\[[^\]\s]*\]_|https?://\S+|%\([^)]*\)s|``[^`]*``|\\\w+", " "),
    (r":[\w:]+:`([^`<]*)<[^`]*>`", r" \1 "),  # :ref:`the words <the label>` becomes: the words
    (r":[\w:]+:`~?[^`]*?(\w+)`", r" \1 "),  # :func:`~numpy.linalg.norm` becomes: norm
]


def clean(doc: str) -> str:
    """The prose of a docstring, without doctests, signatures, parameter lines, titles, directives and formulas."""
    prose = inspect.cleandoc(doc)
    for pattern, to in REMOVED:
        prose = re.sub(pattern, to, prose)
    return prose
