"""What topics depend on: priors that know more of a document than its words.

A formula becomes a design matrix here. Formulas are data: they can be saved with a model and read from a file that
nobody trusts, so nothing in them is ever evaluated as Python.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topmix.data.columns import FREQUENCIES, check_one_each, column_of, is_missing, numbers_of, periods_of
from topmix.data.design_rows import DesignRows
from topmix.files.reader import ModelFileError
from topmix.parameters.checks import one_of, positive_number
from topmix.parameters.component import Component

Array = NDArray[np.float64]
Values = Sequence[Any] | NDArray[Any]  # of documents: an array where all are numbers and came as one

INTERCEPT = "Intercept"
SPLINES = ("bs", "cr", "cc", "poly")  # functions of formulaic
MOST_LEVELS = 200  # of a category
MOST_FACTORS = 6  # joined by *: their terms double with each
LONGEST = 10_000  # characters of a formula
MOST_VERSIONS = 5000  # of topics
NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, repr=False)
class Covariates(Component):
    """How often topics are used depends on columns beside the documents: for `doc_topic_prior` of LDA.

    The prior of a document on topic k is exp(x . lambda_k), where x are the columns of its row and lambda_k is learned
    (Dirichlet-multinomial regression). `lda.effects()` has the lambda, with intervals.

    Parameters
    ----------
    formula : str
        Names of columns, joined by `+`. `a:b` is the interaction of two columns, and `a*b` is `a + b + a:b`. A column
        of strings or of true and false is a category, compared with its first value; one of numbers enters as it is.
        `C(year)` makes a category of numbers, `log(size)` takes logarithms; `bs(year, 4)` and `cr(year, 4)` are splines
        and `poly(year, 2)` polynomials, which need formulaic (pip install topmix[formula]). A name with other
        characters than letters, digits and _ stands in backquotes.
    sigma : float
        Standard deviation of the Gaussian prior on lambda, for numbers in units of their standard deviation.

    Examples
    --------
    >>> from topmix.priors import Covariates
    >>> Covariates("section * year")
    Covariates(formula='section * year')
    """

    formula: str
    sigma: float = 1.0

    def check(self) -> None:
        positive_number(self.sigma, "sigma")
        terms_of(self.formula)

    @property
    def columns(self) -> list[str]:
        """Those that the formula names."""
        return list(dict.fromkeys(factor_of(text).column for term in terms_of(self.formula) for text in term))

    def design(self, source: object, n_docs: int) -> tuple[Design, DesignRows]:
        """How columns become a design matrix, and the matrix of these documents."""
        terms = terms_of(self.formula)
        values = {text: _values(source, factor_of(text).column, n_docs) for term in terms for text in term}
        design = Design(tuple(terms), {text: Factor.learned(text, values[text]) for text in values})
        return design, design.of_values(values)


@dataclass(frozen=True, repr=False)
class OverTime(Component):
    """The words of topics change over time: for `topic_word_prior` of LDA.

    Documents of one period share the words of topics, which are drawn towards those of the periods around it: how
    strongly is learned for each topic. `lda.words_by()` has the words of each period, `lda.changed_words()` those that
    come and go, and `lda.topic_versions()` how much of each period belongs to a topic.

    Parameters
    ----------
    column : str
        Dates of the documents: ISO strings, dates of Python, pandas or NumPy, or years.
    freq : {"day", "week", "month", "quarter", "year"}
        The length of a period.

    Examples
    --------
    >>> from topmix.priors import OverTime
    >>> OverTime("published", freq="month")
    OverTime(column='published', freq='month')
    """

    column: str
    freq: str = "year"

    def check(self) -> None:
        one_of(self.freq, tuple(FREQUENCIES), "freq")

    def versions(self, source: object, n_docs: int) -> tuple[VersionColumn, NDArray[np.int32]]:
        """The periods, and the one that each document belongs to."""
        days = np.unique(_periods(source, self.column, self.freq, n_docs))
        found = VersionColumn(self.column, tuple(map(str, days)), self.freq)
        return found.checked(), found.of(source, n_docs)


@dataclass(frozen=True, repr=False)
class ByGroup(Component):
    """The words of topics differ between groups of documents: for `topic_word_prior` of LDA.

    Each group has its own words of each topic, drawn towards those that all groups share: how strongly is learned for
    each topic. `lda.words_by()` has the words of each group, and `lda.changed_words()` those that differ most.

    Parameters
    ----------
    column : str
        The group of each document.

    Examples
    --------
    >>> from topmix.priors import ByGroup
    >>> ByGroup("newspaper")
    ByGroup(column='newspaper')
    """

    column: str

    def versions(self, source: object, n_docs: int) -> tuple[VersionColumn, NDArray[np.int32]]:
        """The groups, and the one that each document belongs to."""
        names = {_level(value) for value in _coded(_values(source, self.column, n_docs))[0]}
        found = VersionColumn(self.column, tuple(sorted(names)))
        return found.checked(), found.of(source, n_docs)


@dataclass(frozen=True)
class VersionColumn:
    """Which version of the topics a document has. Part of what a model knows, and saved with it."""

    column: str
    names: tuple[str, ...]  # in order: groups, or the first days of periods
    freq: str | None = None  # None: groups

    def checked(self) -> Self:
        if len(self.names) > MOST_VERSIONS:
            raise ValueError(
                f"column {self.column!r} makes {len(self.names)} versions of topics, and at most {MOST_VERSIONS} are "
                "possible: is it a name, or should periods be longer?"
            )
        return self

    @property
    def place(self) -> Array:
        """[T] where periods are in time, in periods; empty for groups."""
        if self.freq is None:
            return np.zeros(0)
        unit, n = {"week": ("D", 7), "quarter": ("M", 3)}.get(self.freq, (FREQUENCIES[self.freq], 1))
        days = np.array(self.names, dtype="datetime64[D]")
        return (days.astype(f"datetime64[{unit}]").astype(np.int64) / n).astype(np.float64)

    def of(self, source: object, n_docs: int | None = None) -> NDArray[np.int32]:
        """[documents] the version of each: a period that the fit had none of is the nearest one; -1 is a group that it
        had none of."""
        if self.freq is None:
            place = {name: t for t, name in enumerate(self.names)}
            distinct, code = _coded(_values(source, self.column, n_docs))
            return np.array([place.get(_level(value), -1) for value in distinct], np.int32)[code]
        days = _periods(source, self.column, self.freq, n_docs).astype(np.int64)
        known = np.array(self.names, dtype="datetime64[D]").astype(np.int64)
        after = np.searchsorted(known, days).clip(1, max(len(known) - 1, 1))
        if len(known) == 1:
            return np.zeros(len(days), np.int32)
        return np.where(days - known[after - 1] <= known[after] - days, after - 1, after).astype(np.int32)

    def is_in(self, source: object) -> bool:
        """Whether the column is there."""
        try:
            column_of(source, self.column)
        except (ValueError, OSError):
            return False
        return True

    def number(self, name: object) -> int:
        """Of the version with this name: a group, or a date in the period."""
        if self.freq is None:
            t = int(self.of({self.column: [name]})[0])
            if t < 0:
                known = ", ".join(map(repr, self.names[:8])) + (", ..." if len(self.names) > 8 else "")
                raise ValueError(f"there is no version {name!r}; there are {known}")
            return t
        return int(self.of({self.column: [name]})[0])

    def about(self) -> dict[str, Any]:
        """As JSON, for a file."""
        return {"column": self.column, "names": list(self.names), "freq": self.freq}

    @classmethod
    def read(cls, about: Mapping[str, Any]) -> Self:
        """What `about` gave. ModelFileError for anything else."""
        column, names, freq = about.get("column"), about.get("names"), about.get("freq")
        if not isinstance(column, str) or not isinstance(names, list) or not (freq is None or freq in FREQUENCIES):
            raise ModelFileError("the versions of the model make no sense")
        if not names or len(names) > MOST_VERSIONS or not all(isinstance(name, str) for name in names):
            raise ModelFileError("the versions of the model have no names, or too many")
        made = cls(column, tuple(names), freq)
        try:
            is_ascending = freq is None or bool((np.diff(made.place) > 0).all())
        except ValueError as error:
            raise ModelFileError(f"the periods of the model are no dates: {error}") from error
        if len(set(names)) < len(names) or not is_ascending:
            raise ModelFileError("the versions of the model are not in order")
        return made


@dataclass(frozen=True)
class Call:
    """A factor of a formula: a column, or a function of one with constants."""

    column: str
    function: str | None = None
    arguments: tuple[float | int, ...] = ()
    options: tuple[tuple[str, float | int | bool], ...] = ()


def terms_of(formula: object) -> list[tuple[str, ...]]:
    """Terms, each the texts of its factors. ValueError for what is no formula."""
    if not isinstance(formula, str) or not formula.strip():
        raise ValueError(f"a formula is a string such as 'section + year', got {formula!r}")
    if len(formula) > LONGEST:
        raise ValueError(f"a formula has at most {LONGEST:,} characters, and this one has {len(formula):,}")
    terms: dict[frozenset[str], tuple[str, ...]] = {}
    for part in _cut(formula.partition("~")[2] if "~" in formula else formula, "+"):
        factors = [tuple(_cut(piece, ":")) for piece in _cut(part, "*")]
        if len(factors) > MOST_FACTORS:
            raise ValueError(
                f"a formula can join at most {MOST_FACTORS} columns by *, and {part!r:.200} has {len(factors)}"
            )
        for n in range(1, len(factors) + 1):
            for chosen in combinations(factors, n):
                term = tuple(dict.fromkeys(text for piece in chosen for text in piece))
                for text in term:
                    factor_of(text)
                terms.setdefault(frozenset(term), term)
    return sorted(terms.values(), key=len)


def _cut(text: str, at: str) -> list[str]:
    """Pieces between separators that are in no parentheses and no backquotes."""
    pieces, depth, quoted, piece = [], 0, False, ""
    for c in text:
        quoted ^= c == "`"
        depth += 0 if quoted else (c == "(") - (c == ")")
        if c == at and not depth and not quoted:
            pieces.append(piece)
            piece = ""
        else:
            piece += c
    pieces = [piece.strip() for piece in [*pieces, piece]]
    if not all(pieces):
        raise ValueError(f"the formula has {at!r} with nothing on one side: {text.strip()!r}")
    return pieces


def factor_of(text: str) -> Call:
    """What one factor of a formula says."""
    quoted = re.fullmatch(r"`([^`]+)`", text)
    if quoted or NAME.fullmatch(text):
        return Call(quoted[1] if quoted else text)
    names: list[str] = []

    def named(found: re.Match[str]) -> str:
        names.append(found[1])
        return f"_quoted_{len(names) - 1}"

    try:
        node = ast.parse(re.sub(r"`([^`]+)`", named, text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        node = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        first, rest = node.args[0], [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        is_known = node.func.id in ("C", "log", *SPLINES)
        numbers = all(isinstance(value, ast.Constant) and isinstance(value.value, int | float) for value in rest)
        if is_known and isinstance(first, ast.Name) and numbers and all(keyword.arg for keyword in node.keywords):
            place = re.fullmatch(r"_quoted_(\d+)", first.id)
            column = names[int(place[1])] if place and int(place[1]) < len(names) else first.id
            values = [value.value for value in rest if isinstance(value, ast.Constant)]
            n = len(node.args) - 1
            options = tuple((str(keyword.arg), value) for keyword, value in zip(node.keywords, values[n:]))
            if node.func.id in SPLINES or not rest:
                return Call(column, node.func.id, tuple(values[:n]), options)  # type: ignore[arg-type]
    raise ValueError(
        f"the formula has {text!r}, which is neither a column nor a function of one: write names joined by +, : and *, "
        f"and C(name), log(name), {', '.join(f'{name}(name, 4)' for name in SPLINES)}"
    )


@dataclass(frozen=True)
class Factor:
    """A factor as the documents of a fit had it: levels of a category, or mean and scale of numbers."""

    text: str
    levels: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()  # of each column that it makes
    scale: tuple[float, ...] = ()
    state: Mapping[str, object] | None = None  # of a spline

    @classmethod
    def learned(cls, text: str, values: Values) -> Factor:
        call = factor_of(text)
        if call.function == "C" or not _are_numbers(values):
            if call.function not in ("C", None):
                raise ValueError(f"{text} is for numbers, and column {call.column!r} has {_first_text(values)!r}")
            levels = sorted({_level(value) for value in _coded(values)[0]})
            if len(levels) > MOST_LEVELS:
                raise ValueError(
                    f"column {call.column!r} has {len(levels)} different values, and a category has at most "
                    f"{MOST_LEVELS}: is it a name, or a date?"
                )
            return cls(text, tuple(levels))
        state: dict[str, object] | None = {} if call.function in SPLINES else None
        columns = _numbers(call, values, state)
        scale = columns.std(axis=0)
        scale[~(scale > 1e-12 * np.abs(columns).max(axis=0, initial=0.0))] = 1.0
        kept = None if state is None else _plain(state, text)
        return cls(text, (), tuple(columns.mean(axis=0).tolist()), tuple(scale.tolist()), kept)

    @property
    def labels(self) -> list[str]:
        """Of the columns that it makes."""
        if self.levels:
            return [f"{self.text}[T.{level}]" for level in self.levels[1:]]
        return [self.text] if len(self.mean) == 1 else [f"{self.text}[{i}]" for i in range(1, len(self.mean) + 1)]

    def columns(self, values: Values) -> Array:
        """[values, columns], numbers from their mean and in units of their standard deviation."""
        call = factor_of(self.text)
        if self.levels:
            place = {level: i for i, level in enumerate(self.levels)}
            found = [_level(value) for value in values]
            if unknown := sorted(set(found) - set(place)):
                known = ", ".join(map(repr, self.levels[:8])) + (", ..." if len(self.levels) > 8 else "")
                raise ValueError(f"column {call.column!r} has {unknown[0]!r}, and the fit knew {known}")
            return np.eye(len(self.levels))[[place[level] for level in found]][:, 1:]
        if not _are_numbers(values):
            raise ValueError(f"column {call.column!r} has {_first_text(values)!r}, and had numbers in the fit")
        state = None if self.state is None else _restored(self.state)
        return (_numbers(call, values, state) - np.array(self.mean)) / np.array(self.scale)


@dataclass(frozen=True)
class Design:
    """How columns beside the documents become a design matrix. Part of what a model knows, and saved with it."""

    terms: tuple[tuple[str, ...], ...]
    factors: Mapping[str, Factor]

    @property
    def names(self) -> list[str]:
        """Of the columns of the matrix."""
        return [":".join(label for label, _ in column) or INTERCEPT for column in self._columns()]

    def _columns(self) -> list[tuple[tuple[str, tuple[str, int]], ...]]:
        """Each column is a product: labels, and which column of which factor."""
        made: list[tuple[tuple[str, tuple[str, int]], ...]] = [()]
        for term in self.terms:
            parts = [[(label, (text, i)) for i, label in enumerate(self.factors[text].labels)] for text in term]
            made += product(*parts)
        return made

    def rows(self, source: object, n_docs: int | None = None) -> DesignRows:
        """Of the documents that have these columns beside them."""
        return self.of_values({text: _values(source, factor_of(text).column, n_docs) for text in self.factors})

    def of_values(self, values: Mapping[str, Values]) -> DesignRows:
        """Of the documents with these values of the factors. Documents with the same values share a row."""
        coded = {text: _coded(values[text]) for text in self.factors}
        first, row = DesignRows.combinations([code for _, code in coded.values()])
        parts = {text: self.factors[text].columns(found)[code[first]] for text, (found, code) in coded.items()}
        made = self._columns()
        x = np.ones((len(first), len(made)))
        for to, column in zip(x.T, made):
            for _, (text, i) in column:
                to *= parts[text][:, i]
        return DesignRows(x, row)

    def is_in(self, source: object) -> bool:
        """Whether the columns are there."""
        try:
            for text in self.factors:
                column_of(source, factor_of(text).column)
        except (ValueError, OSError):
            return False
        return True

    def units(self) -> Array:
        """[P, P] B: coefficients B lambda are in the user's units, per unit of a number and from its zero, where the
        formula has the terms that an interaction needs for that; else from its mean."""
        columns = self._columns()
        place = {frozenset(name for _, name in column): i for i, column in enumerate(columns)}
        B = np.zeros((len(columns), len(columns)))
        for j, column in enumerate(columns):
            about = [(name, *self._centre(*name)) for _, name in column]
            scale = math.prod(s for _, _, s in about)
            moved = [factor for factor in about if factor[1] != 0.0]
            ways = [gone for n in range(len(moved) + 1) for gone in combinations(moved, n)]
            left = [frozenset(name for name, _, _ in about) - {name for name, _, _ in gone} for gone in ways]
            if not all(rest in place for rest in left):
                B[j, j] += 1.0 / scale
                continue
            for gone, rest in zip(ways, left):  # prod (x - m) / s, multiplied out
                B[place[rest], j] += math.prod(-m for _, m, _ in gone) / scale
        return B

    def _centre(self, text: str, i: int) -> tuple[float, float]:
        factor = self.factors[text]
        return (0.0, 1.0) if factor.levels else (factor.mean[i], factor.scale[i])

    def about(self) -> dict[str, Any]:
        """As JSON, for a file."""
        factors = [
            {"text": f.text, "levels": list(f.levels), "mean": list(f.mean), "scale": list(f.scale), "state": f.state}
            for f in self.factors.values()
        ]
        return {"terms": [list(term) for term in self.terms], "factors": factors}

    @classmethod
    def read(cls, about: Mapping[str, Any]) -> Self:
        """What `about` gave. ModelFileError for anything else."""
        try:
            factors = {}
            for kept in about["factors"]:
                text, levels, state = kept["text"], kept["levels"], kept["state"]
                mean, scale = ([float(x) for x in kept[name]] for name in ("mean", "scale"))
                factor_of(text)
                if not all(isinstance(level, str) for level in levels) or len(mean) != len(scale):
                    raise ValueError("levels are strings, and means have scales")
                if not all(map(math.isfinite, mean)) or not all(0 < s < math.inf for s in scale):
                    raise ValueError("means are numbers, and scales positive")
                if (len(levels) > 0) == (len(mean) > 0) or not isinstance(state, dict | None):
                    raise ValueError("a factor has levels or means")
                if state is not None:
                    _restored(state)
                factors[text] = Factor(text, tuple(levels), tuple(mean), tuple(scale), state)
            terms = tuple(tuple(term) for term in about["terms"])
            if not terms or not all(text in factors for term in terms for text in term):
                raise ValueError("terms are of factors")
            return cls(terms, factors)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFileError(f"the covariates of the model make no sense: {error}") from error


def beside(source: object, columns: Sequence[str], n_docs: int) -> dict[str, NDArray[Any]]:
    """Columns beside the documents, for a fit of some of them."""
    found: dict[str, NDArray[Any]] = {}
    for column in columns:
        values = _values(source, column, n_docs)
        if not isinstance(values, np.ndarray):
            listed, values = values, np.empty(n_docs, object)
            values[:] = listed
        found[column] = values
    return found


def _values(source: object, column: str, n_docs: int | None) -> Values:
    """One value per document."""
    if isinstance(source, Mapping) and column not in source:
        raise ValueError(f"metadata has no column {column!r}; the columns are {', '.join(map(repr, source))}")
    if (numbers := numbers_of(source, column)) is not None:
        if n_docs is not None:
            check_one_each(len(numbers), n_docs)
        values: Values = numbers
        missing = np.flatnonzero(np.isnan(numbers)).tolist()
    else:
        is_given = isinstance(source, Mapping)
        values = column_of(None if is_given else source, source[column] if is_given else column, n_docs)  # type: ignore[index]
        missing = [d for d, value in enumerate(values) if is_missing(value)]
    if missing:
        raise ValueError(
            f"column {column!r} has no value for {len(missing)} of {len(values)} documents, document {missing[0]} "
            "among them: fill it in, or leave those documents out"
        )
    if isinstance(source, str | os.PathLike):  # a file of texts has strings alone
        try:
            return [float(value) for value in values]
        except (TypeError, ValueError):
            return values
    return values


def _coded(values: Values) -> tuple[Values, NDArray[np.int64]]:
    """Different values, and which of them each document has."""
    if isinstance(values, np.ndarray):
        distinct, code = np.unique(values, return_inverse=True)
        return distinct, code.ravel()
    place: dict[tuple[type, object], int] = {}  # 1 and True are two values
    plain = (value if isinstance(value, int | float) else _level(value) for value in values)
    codes = [place.setdefault((value.__class__, value), len(place)) for value in plain]
    return [value for _, value in place], np.array(codes, np.int64)


def _periods(source: object, column: str, freq: str, n_docs: int | None) -> NDArray[np.datetime64]:
    """The first day of the period of each document. 2012.0 is the year 2012."""
    found = _values(source, column, n_docs)
    values = found.tolist() if isinstance(found, np.ndarray) else found
    return periods_of([int(v) if isinstance(v, float) and v.is_integer() else v for v in values], freq)


def _are_numbers(values: Values) -> bool:
    return isinstance(values, np.ndarray) or all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def _first_text(values: Values) -> object:
    return next(value for value in values if not _are_numbers([value]))


def _level(value: object) -> str:
    """A value of a category: 2012 and 2012.0 are one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _numbers(call: Call, values: Values, state: dict[str, object] | None) -> Array:
    """[documents, columns] of a factor of numbers. A spline keeps what it learned in `state`, or goes by it."""
    x = np.array(values, np.float64)
    if not np.isfinite(x).all():
        raise ValueError(f"column {call.column!r} has a value that is infinite")
    if call.function == "log":
        if not (x > 0).all():
            raise ValueError(f"log({call.column}) needs positive numbers, and there is {x.min():g}")
        x = np.log(x)
    if state is None:
        return x[:, None]
    transform = _transforms()[str(call.function)]
    options: dict[str, Any] = dict(call.options)
    if call.function == "bs":
        options.setdefault("extrapolation", "extend")
    try:
        made = transform(x, *call.arguments, **options, _state=state)
    except TypeError as error:
        raise ValueError(f"{call.function}({call.column}): {error}") from error
    if isinstance(made, Mapping):
        made = np.stack([np.asarray(made[key], np.float64) for key in made], axis=1)
    return np.asarray(made, np.float64).reshape(len(x), -1)


def _transforms() -> Mapping[str, Callable[..., Any]]:
    try:
        from formulaic.transforms import TRANSFORMS
    except ImportError as error:
        raise ImportError("splines and polynomials of formulas need formulaic: pip install topmix[formula]") from error
    found: Mapping[str, Callable[..., Any]] = TRANSFORMS
    return found


def _plain(state: Mapping[Any, object], text: str) -> dict[str, object]:
    """What a spline learned, as JSON holds it."""
    made: dict[str, object] = {}
    for key, value in state.items():
        name = f"#{key}" if isinstance(key, int) else str(key)
        if isinstance(value, Mapping):
            made[name] = _plain(value, text)
        elif isinstance(value, np.floating):
            made[name] = float(value)
        elif value is None or isinstance(value, bool | int | float | str):
            made[name] = value
        elif isinstance(value, list | tuple | np.ndarray | np.generic):
            made[name] = np.asarray(value, np.float64).tolist()
        else:
            raise ValueError(f"{text} keeps a {type(value).__name__}, which no file holds: use another function")
    return made


def _restored(state: Mapping[str, object]) -> dict[Any, object]:
    """What `_plain` was given."""
    made: dict[Any, object] = {}
    for name, value in state.items():
        if not isinstance(value, dict | list | bool | int | float | str | None):
            raise ValueError(f"{name} is {value!r}")
        if isinstance(value, list) and not all(isinstance(x, int | float | list) for x in value):
            raise ValueError(f"{name} has what is no number")
        made[int(name[1:]) if name.startswith("#") else name] = _restored(value) if isinstance(value, dict) else value
    return made
