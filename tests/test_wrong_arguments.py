"""Nonsense in the place of each argument of each public method: it is refused in the words of the library, or accepted,
and no error comes from inside."""

from __future__ import annotations

import copy
import inspect
import linecache
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import topmix
from topmix import LDA
from topmix.estimators import ESTIMATORS, SUPERVISED
from topmix.priors import ByGroup, Covariates

WRONG = {
    "none": None, "minus one": -1, "half": 2.5, "text": "x", "empty": [], "huge": 10**30, "nan": float("nan"),
    "object": object(),
}  # fmt: skip
KINDS = ESTIMATORS | SUPERVISED
TEXTS = ["apples pears plums", "ships sails masts", "pears plums ships", "sails masts apples"] * 3
N = len(TEXTS)
ROWS = np.random.default_rng(0).normal(size=(N, 3))
ROWS /= np.linalg.norm(ROWS, axis=1, keepdims=True)
GROUPS = np.arange(N) // 2
HALVES = ["u", "v"] * (N // 2)
METADATA = {"group": HALVES, "year": [float(2000 + n % 3) for n in range(N)]}
MONTHS = ["2024-01", "2024-02"] * (N // 2)
SMALL: dict[str, dict[str, Any]] = {
    "HDP": {"search": None},
    "GibbsLDA": {"burn_in": 0},
    "LabelledLDA": {"n_free": 1, "n_components": None},
    "with covariates": {"doc_topic_prior": Covariates("group + year")},
    "with versions": {"topic_word_prior": ByGroup("group")},
}
NAMES = [*KINDS, "with covariates", "with versions"]
OF_COLUMNS = (
    "changed_words", "effects", "expected_shares", "fit", "perplexity", "score", "topic_versions", "topic_word_of",
    "transform", "words_by",
)  # fmt: skip
# Not for users, and what needs a package that may be missing.
LEFT_OUT = ("most_passes", "annotate", "set_params")


def is_from_inside(error: BaseException) -> bool:
    """Whether somebody stumbled over an argument, instead of a check that refuses it. Checks are `raise` in a line of
    the library, and those of scikit-learn, whose words people know."""
    frames = list(traceback.extract_tb(error.__traceback__))
    while len(frames) > 1 and ("/numpy/" in frames[-1].filename or frames[-1].filename.startswith("numpy")):
        frames.pop()
    last = frames[-1]
    if "/sklearn/" in last.filename:
        return not isinstance(error, ValueError | TypeError)
    is_check = (
        "/topmix/" in last.filename and linecache.getline(last.filename, last.lineno or 0).strip()[:6] == "raise "
    )
    return not (is_check and isinstance(error, ValueError | OSError | ImportError | TypeError))


def inside(call: Callable[[], object]) -> str | None:
    """What comes from inside, if something does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:150] if is_from_inside(error) else None
    return None


def data_of(name: str) -> dict[str, Any]:
    """What `fit` needs."""
    if name == "LabelledLDA":
        return {"X": TEXTS, "y": [["a"], ["b"], ["a", "b"], ["b"]] * (N // 4)}
    if name == "SupervisedLDA":
        return {"X": TEXTS, "y": HALVES}
    if name in ("with covariates", "with versions"):
        return {"X": TEXTS, "metadata": METADATA}
    takes = KINDS[name]._takes
    if takes == "vectors":
        return {"X": ROWS, "texts": TEXTS}
    return {"X": TEXTS} if takes == "words" else {"X": ROWS, "groups": GROUPS, "texts": TEXTS}


@cache
def fitted(name: str) -> Any:
    settings = {"n_components": 3, "max_iter": 1, "random_state": 0, "n_jobs": 1} | SMALL.get(name, {})
    known = {key: value for key, value in settings.items() if value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KINDS.get(name, LDA)(**known).fit(**data_of(name))


def argument(name: str, method: str, parameter: inspect.Parameter) -> Any:
    """One that makes sense."""
    own = {
        ("merge_topics", "groups"): [(0, 1)],
        ("name_words", "names"): list("abcdef"),
        ("topics_over_time", "column"): MONTHS[: N // 2] if name.endswith("Admixture") else MONTHS,
    }
    known = {
        "topic": 0, "topics": [0], "words": ["apples"], "word": "apples", "document": 0, "seeds": [["apples"]],
        "names": {0: "fruit"}, "path": "model", "version": "u",
        "column": HALVES[: N // 2] if name.endswith("Admixture") else HALVES,
    }  # fmt: skip
    given = own.get((method, parameter.name), (data_of(name) | known).get(parameter.name, parameter.default))
    return None if parameter.name == "topics" and parameter.default is None else given


def calls(name: str, method: str) -> Iterator[dict[str, Any]]:
    """Arguments: all good ones, then each of them wrong in turn."""
    _, *parameters = inspect.signature(getattr(KINDS.get(name, LDA), method)).parameters.values()
    single = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    good = {p.name: argument(name, method, p) for p in single}
    if len(single) < len(parameters) and method not in ("fit_transform", "partial_fit"):
        good |= {key: value for key, value in data_of(name).items() if key in ("groups", "texts")}
    if "metadata" in good and not name.startswith("with"):
        good["metadata"] = None
    yield good
    flags = {p.name for p in single if p.annotation == "bool"}  # anything is true or false
    for parameter in good.keys() - flags:
        yield from (good | {parameter: wrong} for wrong in WRONG.values())


def methods_of(name: str, seen: set[object]) -> list[str]:
    """Public methods of an estimator. One that several have is called for one of those that take the same data."""
    found = []
    owner = KINDS.get(name, LDA)
    for method in dir(owner):
        function = inspect.getattr_static(owner, method)
        function = getattr(function, "fn", function)  # of scikit-learn's available_if
        is_own = isinstance(function, FunctionType) and function.__module__.startswith("topmix")
        key = function, owner._takes, name.startswith("with") and name
        if name.startswith("with"):
            is_own &= method in OF_COLUMNS
        if is_own and not method.startswith("_") and method not in LEFT_OUT and key not in seen:
            seen.add(key)
            found.append(method)
    return found


_seen: set[object] = set()
METHODS = {name: methods_of(name, _seen) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_methods_refuse_nonsense_in_their_own_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = []
    for method in METHODS[name]:
        if not hasattr(fitted(name), method):
            continue
        for given in calls(name, method):
            model = copy.copy(fitted(name))
            if (said := inside(partial(getattr(model, method), **given))) is not None:
                found.append(f"{method}({given}): {said}")
    assert not found, "\n".join(found)


def test_results_of_fits_side_by_side_refuse_nonsense_in_their_own_words():
    lda = LDA(max_iter=2, n_jobs=1)
    swept = topmix.sweep(TEXTS * 5, [2, 3], seeds=1, estimator=lda, verbose=0)
    agreed = topmix.consensus(TEXTS * 5, 2, fits=2, estimator=lda, verbose=0)
    r, size = agreed.reproducibility, swept.sizes[0]
    for method in (size.mean, size.spread, size.fits[0].value, r.always, r.sometimes):
        assert [inside(partial(method, wrong)) for wrong in WRONG.values()] == [None] * len(WRONG)
    for function in (topmix.sweep, topmix.consensus):
        good = {"data": TEXTS * 5, "estimator": lda, "verbose": 0}
        sizes = {"n_components": [2], "seeds": 1} if function is topmix.sweep else {"k": 2, "fits": 2}
        for name in inspect.signature(function).parameters.keys() - {"verbose"}:
            for label in WRONG.keys() - {"none"} - ({"huge"} if name == "fits" else set()):
                said = inside(partial(function, **good | sizes | {name: WRONG[label]}))
                assert said is None, f"{function.__name__}({name}={WRONG[label]!r}): {said}"
    with pytest.raises(ValueError, match="k must be at most 1, got 2"):
        r.always(2)
    with pytest.raises(ValueError, match="measure='speed' is not one of 'score', 'coherence'"):
        size.mean("speed")


@pytest.mark.parametrize("name", ["LDA", "GibbsLDA", "GaussianMixture", "SupervisedLDA"])
def test_a_function_alone_is_a_list_of_callbacks(name):
    passes = []
    model = copy.copy(fitted(name)).set_params(callbacks=lambda record, view: passes.append(record.n_pass))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(**data_of(name))
    assert passes == list(range(1, model.n_iter_ + 1))
    for wrong in (5, "x", [print, "x"], 2.5, object()):
        with pytest.raises(ValueError, match="callbacks must be a list of functions f"):
            model.set_params(callbacks=wrong).fit(**data_of(name))


def test_words_asked_for_are_a_whole_number():
    model = fitted("LDA")
    for wrong in (-1, 0, 2.5, "x", None):
        with pytest.raises(ValueError, match="n must be a positive integer, got"):
            model.top_words(wrong)
    assert model.top_words(2.0) == model.top_words(2)
