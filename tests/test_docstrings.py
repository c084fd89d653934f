"""Docstrings: their examples run, and they name every parameter once."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable

import pytest

import topmix
from topmix import LDA
from topmix.chains import SAMPLERS
from topmix.engines import ENGINES
from topmix.estimators import ESTIMATORS
from topmix.inference import INFERENCES
from topmix.learners import LEARNERS
from topmix.results.seeds import Seeds
from topmix.search import SEARCHES


def modules_of(room: str) -> Iterable[pkgutil.ModuleInfo]:
    return pkgutil.iter_modules([f"{topmix.__path__[0]}/{room}"])


COMPONENTS = [cls for family in (LEARNERS, INFERENCES, ENGINES, SEARCHES, SAMPLERS) for cls in family.values()]
PUBLIC = [*ESTIMATORS.values(), *COMPONENTS, Seeds]
MODULES = sorted(
    {"topmix.learn.history", "topmix.selection.sweep", "topmix.results.mixture"}
    | {f"topmix.{room}.{module.name}" for room in ("estimators", "engines") for module in modules_of(room)}
    | {cls.__module__ for cls in PUBLIC}
)
public = pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, monkeypatch):
    """With few passes where an example does not say how many: it is about what to write."""
    monkeypatch.setattr(LDA, "max_iter", 12)
    module = importlib.import_module(name)
    failures, said = 0, []
    for example in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        failures += runner.run(example, out=said.append).failed
    assert not failures, "".join(said)


@public
def test_there_is_an_example(cls):
    assert ">>> " in section(cls, "Examples")


@public
def test_every_parameter_is_named_once(cls):
    own = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
    assert documented(section(cls, "Parameters")) == own  # in the order of the signature


@public
def test_lines_fit_and_sentences_end(cls):
    """A description is there, unless the type says it all, and ends with a full stop."""
    blocks = re.split(r"\n(?=\S)", section(cls, "Parameters")) if section(cls, "Parameters") else []
    for block in blocks:
        head, _, said = block.partition("\n")
        assert said.strip().endswith(".") or ("as in LDA" in head and not said) or "random_state" in head, block


def section(cls: type, title: str) -> str:
    """The text under a heading of a numpydoc docstring; "" where it has none."""
    text = inspect.getdoc(cls) or ""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n[A-Z]\w*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def documented(parameters: str) -> list[str]:
    heads = [line for line in parameters.splitlines() if line and not line.startswith(" ")]
    return [name.strip() for head in heads for name in head.partition(" : ")[0].split(",")]
