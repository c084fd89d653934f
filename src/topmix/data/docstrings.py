"""The docstrings installed on this machine as plain text: (name, text) per module, class, function and method.

Source files are parsed, not imported: some modules of the standard library open a browser or print when imported.
Built-in types and ufuncs have no Python source. Their docstrings come from the modules in COMPILED, which are imported.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

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
Document = tuple[str, str]


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
        if isinstance(getattr(value, "__doc__", None), str) and (callable(value) or isinstance(value, type)):
            yield f"{home}.{name}", value.__doc__
        if isinstance(value, type) and value.__module__.split(".")[0].lstrip("_") == home.split(".")[0]:
            for method, inner in sorted(vars(value).items()):
                doc = getattr(inner, "__doc__", None)
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
