"""What is declared once: parameters of estimators, the components that they may be, and keywords of methods.

Parameters are fields with a type and a default. The constructor, its signature and the sections "Parameters" and
"Attributes" of the docstring are made from the class and those that it derives from.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Self, TypedDict, TypeVar, get_type_hints

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from topmix.base.atomic import check_can_write
from topmix.base.checks import number_from, one_of, refuse_unknown, whole_number
from topmix.base.component import Component, resolved
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.engines import ENGINES
from topmix.io.reading import How, Keywords
from topmix.learn import LEARNERS
from topmix.learn.history import Clock
from topmix.learn.tokens import SAMPLERS
from topmix.learn.topic_search import SEARCHES
from topmix.results.seeds import Seeds
from topmix.steps.inference import INFERENCES

Settings = dict[str, Any]  # of an estimator, by name
LARGEST_WEIGHT = 1e30  # of a row: its products with counts are summed in floats
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def declare(cls: type, root: type, order: Sequence[str], without: Iterable[str] = ()) -> None:
    """Gives a class that derives from `root` what follows from its fields: the public annotated names of classes below
    `root`, but for those `without`, and those that `root` describes. A constructor written by hand stays. The docstring
    has what the classes above say of parameters, in the order of the signature, and of attributes, and the nearest
    notes."""
    cls._without, cls._own_doc = tuple(without), cls.__doc__  # type: ignore[attr-defined]
    below = [base for base in cls.__mro__ if issubclass(base, root) and base is not root]
    of_all = entries_of(root.__doc__, "Parameters")
    fields: dict[str, str] = {name: hint for name, hint in inspect.get_annotations(root).items() if name in of_all}
    for base in reversed(below):
        for name, hint in inspect.get_annotations(base).items():
            if not (name.startswith("_") or str(hint).startswith(("ClassVar", "typing.ClassVar"))):
                fields[name] = hint
        for name in vars(base).get("_without", ()):
            del fields[name]
    names = sorted(fields, key=lambda name: order.index(name) if name in order else len(order))
    if not any("__init__" in vars(base) and "_is_declared" not in vars(base) for base in below):
        cls._is_declared = True  # type: ignore[attr-defined]
        cls.__init__ = _constructor(cls, {name: fields[name] for name in names})  # type: ignore[misc]
    if cls.__doc__:
        head, own = _sections(cls.__doc__)
        parameters: dict[str, str] = {}
        attributes: dict[str, str] = {}
        notes = ""
        for base in [*below, root]:
            said = vars(base).get("_own_doc", base.__doc__)
            parameters = entries_of(said, "Parameters") | parameters
            attributes = entries_of(said, "Attributes", known=attributes) | attributes
            notes = notes or _sections(said)[1].get("Notes", "")
        made = {
            "Parameters": "".join(parameters[name] for name in names if name in parameters),
            "Attributes": "".join(dict.fromkeys(attributes.values())),
            "Notes": notes,
        }
        text = [f"{title}\n{'-' * len(title)}\n{body.strip()}" for title, body in (made | own | made).items() if body]
        cls.__doc__ = "\n\n".join([head.strip(), *text])


def _constructor(cls: Any, fields: Mapping[str, str]) -> Callable[..., None]:
    """Sets every parameter as an attribute of its name, as it was given or as the class has it. For a name that is no
    parameter the error says where the setting is, or what it is called here."""
    known = list(fields)
    kinds = [inspect.Parameter.POSITIONAL_OR_KEYWORD] + [inspect.Parameter.KEYWORD_ONLY] * len(known)
    signature = inspect.Signature(
        [inspect.Parameter(n, kind, default=getattr(cls, n), annotation=fields[n]) for n, kind in zip(known, kinds)]
    )

    def __init__(self: object, *args: object, **parameters: object) -> None:
        if not parameters.keys() <= fields.keys():
            inside = {
                setting: f"{family}, as in {family}={kind.__name__}({setting}=...)"
                for family in sorted(known)
                for kind in reversed([*FAMILIES.get(family, {}).values()])  # of those that have it, the default one
                for setting in kind.__dataclass_fields__
            }
            refuse_unknown(cls.__name__, parameters, sorted(known), inside)
        given = signature.bind(*args, **parameters).arguments
        for name in known:
            setattr(self, name, given[name] if name in given else getattr(cls, name))

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    whole = signature.replace(parameters=[own, *signature.parameters.values()])
    __init__.__signature__ = whole  # type: ignore[attr-defined]
    __init__.__qualname__, __init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return __init__


def entries_of(doc: str | None, section: str, known: Collection[str] = ()) -> dict[str, str]:
    """The entries of a section of a docstring, "name, name : type" with a description, by names that are not known."""
    found: dict[str, str] = {}
    for block in filter(str.strip, ENTRY.split(_sections(doc)[1].get(section, ""))):
        head, _, text = block.rstrip().partition("\n")
        every, colon, kind = head.partition(" : ")
        names = [name for name in every.split(", ") if name not in known]
        lines = [f"{', '.join(names)}{colon}{kind}", *([text] if text else []), ""]
        found |= dict.fromkeys(names, "\n".join(lines))
    return found


def _sections(doc: str | None) -> tuple[str, dict[str, str]]:
    """What a docstring begins with, and its sections by their titles."""
    head, *parts = SECTION.split(inspect.cleandoc(doc or ""))
    return head, dict(zip(parts[::2], parts[1::2], strict=True))


# Components that estimators take as parameters, by the name of the parameter

FAMILIES: dict[str, Mapping[str, type[Component]]] = {
    "inference": INFERENCES,
    "learner": LEARNERS,
    "engine": ENGINES,
    "search": SEARCHES,
    "sampler": SAMPLERS,
    "seeds": {"none": Seeds},
}


def component_of(given: object, parameter: str) -> Any:
    """The component that a user's setting stands for; None where there is none."""
    if parameter == "seeds":
        return Seeds.of(given)
    if parameter == "search" and given is None:
        return None
    return resolved(given, FAMILIES[parameter], parameter)


# What methods take beside the data, as keywords

OPTIONS = """
Parameters
----------
text : str, list of str or None
    The column with the texts, or several, which are joined.
vectorizer : topmix.data.Vectorizer, one of scikit-learn or None
    What counts words. None leaves out mark-up, numbers, stop words, and words of very few documents or of more than
    half of them.
feature_names : sequence of str or None
    Names of the columns of a matrix.
layer : str or None
    The layer of an AnnData with the counts; None is its X.
metadata : table or None
    One row per document, with the columns that `Covariates`, `OverTime` and `ByGroup` name; None where X has them.
texts : list, table, path or None
    One text, or title, for each row of X. They do not influence the clusters, and describe them in tables of topics.
checkpoint : path or None
    A file in which the fit is saved as it goes on, and at its end. Where it exists already, the fit continues from it,
    to the same result as if it had never stopped. Data and parameters must be those of the interrupted fit, except
    `max_iter` and `tol`, so a finished fit may be continued as well. Not with n_init > 1, nor with CVB0.
checkpoint_every : int
    Passes between two saves; ten times as many sampling sweeps.
"""
M = TypeVar("M", bound=Callable[..., object])
DESCRIBED = entries_of(OPTIONS, "Parameters")
DEFAULTS = {"checkpoint_every": 1}  # of those that are not None


class TextOptions(TypedDict, total=False):
    text: str | Sequence[str] | None
    vectorizer: object


class CountOptions(TextOptions, total=False):
    feature_names: Sequence[str] | None
    layer: str | None


class ClusterOptions(CountOptions, total=False):
    checkpoint: str | os.PathLike[str] | None
    checkpoint_every: int


class TopicOptions(ClusterOptions, total=False):
    metadata: object


class VectorOptions(TextOptions, total=False):
    texts: object
    checkpoint: str | os.PathLike[str] | None
    checkpoint_every: int


@dataclass(frozen=True)
class FitOptions:
    """What `fit` takes beside the data, and when it was called."""

    how: How
    checkpoint: str | os.PathLike[str] | None
    every: int  # passes between two saves
    metadata: object
    texts: object
    clock: Clock

    @classmethod
    def of(cls, given: Keywords) -> Self:
        clock, how, path = Clock(), How.of(given), given.get("checkpoint")
        if path is not None:
            check_can_write(path)  # errors of the path come before the work
        every = whole_number(given.get("checkpoint_every", 1), "checkpoint_every")
        return cls(how, path, every, given.get("metadata"), given.get("texts"), clock)


def takes(options: type) -> Callable[[M], M]:
    """For a method with **keywords of this declaration: its signature and documentation have them, and another name is
    refused."""
    names = get_type_hints(options)

    def decorate(method: Callable[..., object]) -> Any:
        signature = inspect.signature(method)
        *own, _ = signature.parameters.values()
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=hint)
            for name, hint in names.items()
        ]
        known = [p.name for p in [*own, *added]]

        @wraps(method)
        def run(self: object, *args: object, **given: object) -> object:
            refuse_unknown(f"{type(self).__name__}.{method.__name__}", given, known, {})
            return method(self, *args, **given)

        run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        described = "".join(DESCRIBED.get(name, "") for name in names)
        run.__doc__ = f"{inspect.cleandoc(method.__doc__ or '')}\n\nParameters\n----------\n{described}"
        return run

    return decorate


# What users give beside parameters and options, in the form that models take


def fraction(value: object, parameter: str) -> float:
    """From 0 to 1."""
    return number_from(value, parameter, 0.0, 1.0)


def checked_weights(sample_weight: object, data: Corpus | Rows) -> np.ndarray | None:
    if sample_weight is None:
        return None
    if np.asarray(sample_weight).dtype.kind == "c":
        raise ValueError("sample_weight must be real numbers")
    rows = data.to_scipy() if isinstance(data, Corpus) else data.data
    # Private, and public nowhere: scikit-learn's own checks and errors of weights.
    weight = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True))
    largest = float(weight.max(initial=0.0))
    if largest != 0 and not 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:  # NaN is not
        raise ValueError(
            f"the largest sample_weight is {largest:.3g}; it must be from {1 / LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
        )
    return weight


def responsibilities(init: object, n_rows: int, K: int, starts: Iterable[str], parameter: str) -> np.ndarray | None:
    """[N, K] where init is an array; None where it is the name of a start."""
    if isinstance(init, str):
        one_of(init, starts, parameter)
        return None
    r = np.asarray(init)
    if r.ndim == 1 and len(r) == n_rows and r.dtype.kind in "iu" and r.min() >= 0 and r.max() < K:
        return np.eye(K)[r]
    r = array(r, (n_rows, K), parameter)
    if r.min() < 0 or not np.allclose(r.sum(axis=1), 1):
        raise ValueError(f"{parameter} must be responsibilities: rows that are not negative and sum to one")
    return r


def array(value: object, shape: tuple[int, ...], parameter: str, where: str = "") -> np.ndarray:
    """Finite numbers of this shape. Errors are in scikit-learn's words, which people match on."""
    try:
        given = np.asarray(value)
        a = given.astype(np.float64, casting="same_kind" if given.dtype.kind == "c" else "unsafe")
    except (TypeError, ValueError):
        raise ValueError(f"{where}The parameter '{parameter}' should be numbers of the shape {shape}") from None
    if a.shape != shape:
        raise ValueError(f"{where}The parameter '{parameter}' should have the shape of {shape}, but got {a.shape}")
    if not np.all(np.isfinite(a)):
        raise ValueError(f"{where}The parameter '{parameter}' has entries that are not finite")
    return a
