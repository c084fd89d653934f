"""The demo corpus: the documentation installed on this machine, one document per module, class or function.

These are thousands of real documents without a download. The same versions of Python, NumPy, SciPy and scikit-learn
give the same corpus. It is cached, because finding the texts means parsing a few thousand source files.

Source files are parsed, not imported: some modules of the standard library open a browser or print when imported.
Built-in types and ufuncs have no Python source. Their docstrings come from the modules in COMPILED, which are imported.
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
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.languages import resolve_stop_words
from topmix.data.remote_file import cache_folder
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


PACKAGES = ("numpy", "scipy", "sklearn")
COMPILED = (
    "builtins", "sys", "time", "math", "cmath", "itertools", "array", "zlib", "binascii", "gc", "select", "signal",
    "unicodedata", "mmap", "_thread", "_socket", "_struct", "_io", "_collections", "_functools", "_datetime",
    "_decimal", "_random", "_sqlite3", "_csv", "_ssl", "_pickle", "_ctypes", "_asyncio", "pyexpat", "posix", "fcntl",
    "resource", "numpy", "numpy.linalg", "numpy.fft", "numpy.random", "scipy.special", "scipy.sparse", "scipy.spatial",
)  # fmt: skip
# Tests, vendored copies, generated tables, and the programs in the standard library.
SKIP = frozenset({
    "test", "tests", "testing", "conftest", "site-packages", "__pycache__", "idlelib", "lib2to3", "turtledemo", "venv",
    "ensurepip", "encodings", "pydoc_data", "externals", "_vendor", "_externals", "array_api_compat", "array_api_extra",
    "highspy", "f2py", "distutils", "estimator_checks", "antigravity", "this",
})  # fmt: skip
Document = tuple[str, str]  # (dotted name, docstring)


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


def installed_documentation(min_words: int) -> Iterator[Document]:
    """(dotted name, cleaned docstring) of public modules, classes, functions and methods. Names may repeat."""
    for name, doc in _all_docstrings():
        # Cleaning only removes words, so a docstring that is too short before need not be cleaned.
        if len(doc.split()) >= min_words and len((text := clean(doc)).split()) >= min_words:
            yield name, text


def _all_docstrings() -> Iterator[Document]:
    yield from _from_sources(Path(sysconfig.get_path("stdlib")), ())
    for package in PACKAGES:
        yield from _from_sources(Path(importlib.import_module(package).__path__[0]), (package,))
    for name in COMPILED:
        try:
            module = importlib.import_module(name)
        except ImportError:  # not on this platform
            continue
        yield from _from_module(module)
    from pydoc_data.topics import topics  # type: ignore[import-untyped, unused-ignore]

    yield from ((f"python.{topic}", text) for topic, text in topics.items())


def _from_sources(folder: Path, prefix: tuple[str, ...]) -> Iterator[Document]:
    for path in sorted(folder.iterdir()):
        if path.stem in SKIP or path.name.startswith(("test_", ".", "lib-")):
            continue
        if not prefix and path.name.startswith("_"):  # Python versions of the compiled modules
            continue
        if path.is_dir() and (path / "__init__.py").exists():
            yield from _from_sources(path, (*prefix, path.name))
        elif path.suffix == ".py":
            module = prefix if path.stem == "__init__" else (*prefix, path.stem)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # invalid escapes in the docstrings of other projects
                    tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError, OSError):
                continue
            yield from _from_tree(tree, module)


def _from_tree(tree: ast.Module | ast.ClassDef, name: tuple[str, ...]) -> Iterator[Document]:
    if (doc := ast.get_docstring(tree, clean=False)) and not name[-1].startswith("_"):
        yield _public_name(name), doc
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        inner = (*name, node.name)
        if isinstance(node, ast.ClassDef):
            yield from _from_tree(node, inner)
        elif doc := ast.get_docstring(node, clean=False):
            yield _public_name(inner), doc


def _from_module(module: ModuleType) -> Iterator[Document]:
    """Docstrings of a compiled module. Reads vars(), because getattr could run the code of a property."""
    home = module.__name__.lstrip("_")
    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or isinstance(value, ModuleType) or inspect.isfunction(value):
            continue
        if isinstance(value.__doc__, str) and (callable(value) or isinstance(value, type)):
            yield f"{home}.{name}", value.__doc__
        if isinstance(value, type) and value.__module__.split(".")[0].lstrip("_") == home.split(".")[0]:
            for method, inner in sorted(vars(value).items()):
                doc = inner.__doc__
                if not method.startswith("_") and isinstance(doc, str) and not inspect.isfunction(inner):
                    yield f"{home}.{name}.{method}", doc


def _public_name(parts: tuple[str, ...]) -> str:
    """The name without private modules: scipy.stats._continuous_distns.norm_gen becomes scipy.stats.norm_gen."""
    return ".".join(part for part in parts if not part.startswith("_"))


_UNDERLINE = re.compile(r"^\s*([-=~^\"*#+])\1{2,}\s*$")
_PARAMETER = re.compile(r"^\s*[`*]{0,3}\w+[`*]*(\s*,\s*[`*]{0,3}\w+[`*]*)*\s+:(\s|$)")  # x, y : array_like
_SIGNATURE = re.compile(r"^\s*[\w.]+\(.*\)?\s*(->.*|--)?$")  # f(x, /, out=None)
_DIRECTIVE = re.compile(r"^(\s*)\.\. ?(.*)$")
_DROPPED_SECTIONS = frozenset({"references", "see also"})
_SECTIONS = frozenset({
    "parameters", "returns", "yields", "raises", "warns", "notes", "examples", "attributes", "methods", "references",
    "warnings", "receives", "see also", "other parameters",
})  # fmt: skip
_INLINE = [
    (re.compile(r":math:`[^`]*`|\[[^\]\s]*\]_|https?://\S+|%\([^)]*\)s|``[^`]*``|\\\w+"), " "),
    (re.compile(r":[\w:]+:`([^`<]*)<[^`]*>`"), r" \1 "),  # :ref:`the words <the label>` becomes: the words
    (re.compile(r":[\w:]+:`~?[^`]*?([\w]+)`"), r" \1 "),  # :func:`~numpy.linalg.norm` becomes: norm
]


def clean(doc: str) -> str:
    """The prose of a docstring, without doctests, signatures, parameter lines, titles, directives and formulas."""
    lines = inspect.cleandoc(doc).splitlines()
    out: list[str] = []
    section, skip_deeper_than, in_doctest = "", -1, False
    for n, line in enumerate(lines):
        text = line.strip()
        if n + 1 < len(lines) and text and _UNDERLINE.match(lines[n + 1]):
            section, skip_deeper_than = text.lower(), -1
            if section not in _SECTIONS:
                out.append(text)  # a heading of prose
            continue
        if _UNDERLINE.match(line):
            continue
        if not text:
            in_doctest = False
            continue
        if text.startswith(">>>"):
            in_doctest = True
        if in_doctest or section in _DROPPED_SECTIONS:
            continue
        indent = len(line) - len(line.lstrip())
        if skip_deeper_than >= 0:
            if indent > skip_deeper_than:
                continue
            skip_deeper_than = -1
        if directive := _DIRECTIVE.match(line):
            if not directive[2].startswith(("note", "warning", "versionadded", "versionchanged", "deprecated")):
                skip_deeper_than = indent
            continue
        if _PARAMETER.match(line) or _SIGNATURE.match(line):
            continue
        out.append(text)
    prose = "\n".join(out)
    for pattern, to in _INLINE:
        prose = pattern.sub(to, prose)
    return prose
