"""Formulas: columns beside documents become a design matrix.

Formulas are saved with models and read from files that nobody trusts, so nothing in them is evaluated as Python. The
grammar is small: columns, their interactions, and C(), log() and bs() of a column. Splines are scikit-learn's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from topmix.base.checks import are_texts, is_number
from topmix.base.fields import ModelFileError
from topmix.corpus.design import DesignRows
from topmix.io.columns import Values, values_of

Array = NDArray[np.float64]
INTERCEPT = "Intercept"
SMALLEST_SPLINE, LARGEST_SPLINE = 3, 100  # columns
MOST_LEVELS = 200  # of a category
MOST_FACTORS = 6  # joined by *: their terms double with each
LONGEST = 10_000  # characters of a formula

COLUMN = r"(?:`([^`]+)`|([^\W\d]\w*))"
FACTOR = re.compile(rf"{COLUMN}|(C|log|bs)\(\s*{COLUMN}\s*(?:,\s*(?:df\s*=\s*)?([0-9]{{1,3}})\s*)?\)")


class FormulaFactor(NamedTuple):
    """A factor of a formula: a column, or a function of one."""

    column: str
    function: str | None = None
    n_columns: int = 1  # of a spline


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
    pieces = [""]
    for token in re.findall(r"`[^`]*`|\([^()]*\)|.", text, re.DOTALL):
        if token == at:
            pieces.append("")
        else:
            pieces[-1] += token
    pieces = [piece.strip() for piece in pieces]
    if not all(pieces):
        raise ValueError(f"the formula has {at!r} with nothing on one side: {text.strip()!r}")
    return pieces


def factor_of(text: str) -> FormulaFactor:
    """What one factor of a formula says."""
    if found := FACTOR.fullmatch(text):
        alone_quoted, alone, function, quoted, name, given = found.groups()
        n_columns = 1 if given is None else int(given)
        if function == "bs" and given and not SMALLEST_SPLINE <= n_columns <= LARGEST_SPLINE:
            raise ValueError(f"the formula has {text!r}, and a spline has from {SMALLEST_SPLINE} to {LARGEST_SPLINE}")
        if (function == "bs") == (given is not None):
            return FormulaFactor(alone_quoted or alone or quoted or name, function, n_columns)
    raise ValueError(
        f"the formula has {text!r}, which is neither a column nor a function of one: write names joined by +, : and *, "
        "and C(name), log(name), bs(name, 4)"
    )


@dataclass(frozen=True)
class Factor:
    """A factor as the documents of a fit had it: levels of a category, or mean and scale of numbers."""

    text: str
    levels: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()  # of each column that it makes
    scale: tuple[float, ...] = ()
    knots: tuple[float, ...] = ()  # of a spline

    @classmethod
    def learned(cls, text: str, values: Values) -> Factor:
        call, other = factor_of(text), _no_number(values)
        if call.function == "C" or other is not None:
            if call.function not in ("C", None):
                raise ValueError(f"{text} is for numbers, and column {call.column!r} has {other!r}")
            levels = sorted({level_of(value) for value in coded(values)[0]})
            if len(levels) > MOST_LEVELS:
                raise ValueError(
                    f"column {call.column!r} has {len(levels)} different values, and a category has at most "
                    f"{MOST_LEVELS}: is it a name, or a date?"
                )
            return cls(text, tuple(levels))
        x, knots = _numbers(call, values), ()
        if call.function == "bs":
            places = np.quantile(x, np.linspace(0.0, 1.0, call.n_columns - 1), method="nearest")
            knots = tuple(np.unique(places).tolist())
            if len(knots) < 2:
                raise ValueError(f"{text} needs a column with different numbers")
        columns = _spline(x, knots)
        scale = columns.std(axis=0)
        scale[~(scale > 1e-12 * np.abs(columns).max(axis=0, initial=0.0))] = 1.0
        return cls(text, (), tuple(columns.mean(axis=0).tolist()), tuple(scale.tolist()), knots)

    def columns(self, values: Values) -> Array:
        """[values, columns], numbers from their mean and in units of their standard deviation."""
        call = factor_of(self.text)
        if self.levels:
            place = {level: i for i, level in enumerate(self.levels)}
            found = [level_of(value) for value in values]
            if unknown := sorted(set(found) - set(place)):
                known = ", ".join(map(repr, self.levels[:8])) + (", ..." if len(self.levels) > 8 else "")
                raise ValueError(f"column {call.column!r} has {unknown[0]!r}, and the fit knew {known}")
            return np.eye(len(self.levels))[[place[level] for level in found]][:, 1:]
        if (other := _no_number(values)) is not None:
            raise ValueError(f"column {call.column!r} has {other!r}, and had numbers in the fit")
        return (_spline(_numbers(call, values), self.knots) - np.array(self.mean)) / np.array(self.scale)


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
        parts: dict[str, list[tuple[str, tuple[str, int]]]] = {}
        for text, factor in self.factors.items():
            if factor.levels:
                labels = [f"{text}[T.{level}]" for level in factor.levels[1:]]
            else:
                n = len(factor.mean)
                labels = [text] if n == 1 else [f"{text}[{i}]" for i in range(1, n + 1)]
            parts[text] = [(label, (text, i)) for i, label in enumerate(labels)]
        made: list[tuple[tuple[str, tuple[str, int]], ...]] = [()]
        for term in self.terms:
            made += product(*(parts[text] for text in term))
        return made

    def rows(self, source: object, n_docs: int | None = None) -> DesignRows:
        """Of the documents that have these columns beside them."""
        return self.of_values({text: values_of(source, factor_of(text).column, n_docs) for text in self.factors})

    def of_values(self, values: Mapping[str, Values]) -> DesignRows:
        """Of the documents with these values of the factors. Documents with the same values share a row."""
        codes = {text: coded(values[text]) for text in self.factors}
        first, row = DesignRows.combinations([code for _, code in codes.values()])
        parts = {text: self.factors[text].columns(found)[code[first]] for text, (found, code) in codes.items()}
        made = self._columns()
        x = np.ones((len(first), len(made)))
        for to, column in zip(x.T, made):
            for _, (text, i) in column:
                to *= parts[text][:, i]
        return DesignRows(x, row)

    def units(self) -> Array:
        """[P, P] B: coefficients B lambda are per unit of a number and from its zero, where the formula has the terms
        that an interaction needs for that; else from its mean."""
        columns = self._columns()
        place = {frozenset(name for _, name in column): i for i, column in enumerate(columns)}
        B = np.zeros((len(columns), len(columns)))
        for j, column in enumerate(columns):
            about = []  # each part of the product, with its mean and scale
            for _, (text, i) in column:
                factor = self.factors[text]
                about.append(((text, i), *((0.0, 1.0) if factor.levels else (factor.mean[i], factor.scale[i]))))
            scale = math.prod(s for _, _, s in about)
            moved = [part for part in about if part[1] != 0.0]
            ways = [gone for n in range(len(moved) + 1) for gone in combinations(moved, n)]
            left = [frozenset(name for name, _, _ in about) - {name for name, _, _ in gone} for gone in ways]
            if not all(rest in place for rest in left):
                B[j, j] += 1.0 / scale
                continue
            for gone, rest in zip(ways, left):  # prod (x - m) / s, multiplied out
                B[place[rest], j] += math.prod(-m for _, m, _ in gone) / scale
        return B

    def about(self) -> dict[str, object]:
        """As JSON, for a file."""
        return {"terms": [list(term) for term in self.terms], "factors": [asdict(f) for f in self.factors.values()]}

    @classmethod
    def read(cls, about: Mapping[str, Any]) -> Self:
        """What `about` gave. ModelFileError for anything else."""
        factors = {}
        try:
            for saved in about["factors"]:
                text, levels = saved["text"], saved["levels"]
                mean, scale, knots = (tuple(float(x) for x in saved[name]) for name in ("mean", "scale", "knots"))
                factor_of(text)
                if not are_texts(levels) or len(mean) != len(scale):
                    raise ValueError("levels are strings, and means have scales")
                if not all(map(math.isfinite, mean + knots)) or not all(0 < s < math.inf for s in scale):
                    raise ValueError("means are numbers, and scales positive")
                if len(mean) != (0 if levels else len(knots) + 1 if knots else 1):
                    raise ValueError("a factor has levels, or a mean of each column")
                if len(knots) == 1 or any(a >= b for a, b in pairwise(knots)):
                    raise ValueError("a spline has knots that ascend")
                factors[text] = Factor(text, tuple(levels), mean, scale, knots)
            terms = tuple(tuple(term) for term in about["terms"])
            if not terms or not all(text in factors for term in terms for text in term):
                raise ValueError("terms are of factors")
            return cls(terms, factors)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFileError(f"the covariates of the model make no sense: {error}") from error


def coded(values: Values) -> tuple[Values, NDArray[np.int64]]:
    """Different values, and which of them each document has."""
    if isinstance(values, np.ndarray):
        distinct, code = np.unique(values, return_inverse=True)
        return distinct, code.ravel()
    place: dict[tuple[type, object], int] = {}  # 1 and True are two values
    plain = (value if isinstance(value, int | float) else level_of(value) for value in values)
    codes = [place.setdefault((value.__class__, value), len(place)) for value in plain]
    return [value for _, value in place], np.array(codes, np.int64)


def level_of(value: object) -> str:
    """A value of a category: 2012 and 2012.0 are one."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _no_number(values: Values) -> object:
    """The first value that is none; None where all are numbers."""
    return None if isinstance(values, np.ndarray) else next((x for x in values if not is_number(x)), None)


def _numbers(call: FormulaFactor, values: Values) -> Array:
    """[documents] of a factor of numbers."""
    x = np.array(values, np.float64)
    if not np.isfinite(x).all():
        raise ValueError(f"column {call.column!r} has a value that is infinite")
    if call.function == "log":
        if not (x > 0).all():
            raise ValueError(f"log({call.column}) needs positive numbers, and there is {x.min():g}")
        x = np.log(x)
    return x


def _spline(x: Array, knots: Sequence[float]) -> Array:
    """[documents, columns] of a cubic spline with these knots; the numbers themselves where there are none."""
    if not knots:
        return x[:, None]
    from sklearn.preprocessing import SplineTransformer

    places = np.array(knots)[:, None]
    spline = SplineTransformer(knots=places, extrapolation="continue", include_bias=False).fit(places)
    with np.errstate(over="ignore", invalid="ignore"):
        found: Array = spline.transform(x[:, None])
    if not np.isfinite(found).all():
        raise ValueError("a spline is infinite there")
    return found
