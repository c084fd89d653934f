"""What topics depend on: priors that know more of a document than its words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from topmix.base.checks import are_texts, one_of, positive_number
from topmix.base.component import Component
from topmix.base.fields import ModelFileError
from topmix.corpus.corpus import Corpus
from topmix.corpus.design import DesignRows
from topmix.io.columns import FREQUENCIES, periods_of, values_of
from topmix.io.formulas import Array, Design, Factor, coded, factor_of, level_of, terms_of

if TYPE_CHECKING:
    from topmix.io.reading import Reading

MOST_VERSIONS = 5000  # of topics


class ColumnPrior(Component):
    """A prior that depends on columns beside the documents."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Their names."""

    @abstractmethod
    def read(self, corpus: Corpus, reading: Reading, source: object) -> tuple[Corpus, Reading]:
        """The documents of a fit with these columns, and how they were read."""


@dataclass(frozen=True, repr=False)
class Covariates(ColumnPrior):
    """How often topics are used depends on columns beside the documents: for `doc_topic_prior` of LDA.

    The prior of a document on topic k is exp(x . lambda_k), where x are the columns of its row and lambda_k is learned
    (Dirichlet-multinomial regression). `lda.effects()` has the lambda, with intervals.

    Parameters
    ----------
    formula : str
        Names of columns, joined by `+`. `a:b` is the interaction of two columns, and `a*b` is `a + b + a:b`. A column
        of strings or of true and false is a category, compared with its first value; one of numbers enters as it is.
        `C(year)` makes a category of numbers, `log(size)` takes logarithms, and `bs(year, 4)` is a cubic spline with 4
        columns. A name with other characters than letters, digits and _ stands in backquotes.
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
        return list(dict.fromkeys(factor_of(text).column for term in terms_of(self.formula) for text in term))

    def read(self, corpus: Corpus, reading: Reading, source: object) -> tuple[Corpus, Reading]:
        if (design := reading.design) is None:
            design, rows = self.design(source, corpus.n_docs)
        else:  # a warm start
            rows = design.rows(source, corpus.n_docs)
        return corpus.with_columns(design=rows), replace(reading, design=design)

    def design(self, source: object, n_docs: int) -> tuple[Design, DesignRows]:
        """How columns become a design matrix, and the matrix of these documents."""
        terms = terms_of(self.formula)
        values = {text: values_of(source, factor_of(text).column, n_docs) for term in terms for text in term}
        design = Design(tuple(terms), {text: Factor.learned(text, values[text]) for text in values})
        return design, design.of_values(values)


@dataclass(frozen=True, repr=False)
class VersionPrior(ColumnPrior):
    """Topics have versions, and each document has one of them."""

    column: str

    @property
    def columns(self) -> list[str]:
        return [self.column]

    def versions(self, source: object, n_docs: int) -> tuple[VersionColumn, NDArray[np.int32]]:
        """What versions there are, and the one of each document."""
        freq = self.freq if isinstance(self, OverTime) else None
        if freq is None:
            names = sorted({level_of(value) for value in coded(values_of(source, self.column, n_docs))[0]})
        else:
            names = np.unique(_periods(source, self.column, freq, n_docs)).astype(str).tolist()
        column = VersionColumn(self.column, tuple(names), freq)
        return column, column.of(source, n_docs)

    def read(self, corpus: Corpus, reading: Reading, source: object) -> tuple[Corpus, Reading]:
        column, version = self.versions(source, corpus.n_docs)
        return corpus.with_columns(version=version), replace(reading, versions=column)


@dataclass(frozen=True, repr=False)
class OverTime(VersionPrior):
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

    freq: str = "year"

    def check(self) -> None:
        one_of(self.freq, tuple(FREQUENCIES), "freq")


@dataclass(frozen=True, repr=False)
class ByGroup(VersionPrior):
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


@dataclass(frozen=True)
class VersionColumn:
    """Which version of the topics a document has. Part of what a model knows, and saved with it."""

    column: str
    names: tuple[str, ...]  # in order: groups, or the first days of periods
    freq: str | None = None  # None: groups

    def __post_init__(self) -> None:
        if len(self.names) > MOST_VERSIONS:
            raise ValueError(
                f"column {self.column!r} makes {len(self.names)} versions of topics, and at most {MOST_VERSIONS} are "
                "possible: is it a name, or should periods be longer?"
            )

    @property
    def place(self) -> Array:
        """[T] where periods are in time, in periods; empty for groups."""
        if self.freq is None:
            return np.zeros(0)
        unit, n = {"week": ("D", 7), "quarter": ("M", 3)}.get(self.freq, (FREQUENCIES[self.freq], 1))
        days = np.array(self.names, dtype="datetime64[D]")
        return (days.astype(f"datetime64[{unit}]").astype(np.int64) / n).astype(np.float64)

    def of(self, source: object, n_docs: int | None = None) -> NDArray[np.int32]:
        """[documents] the version of each: for a period that the fit had none of the nearest one, and -1 for such a
        group."""
        if self.freq is None:
            place = {name: t for t, name in enumerate(self.names)}
            distinct, code = coded(values_of(source, self.column, n_docs))
            return np.array([place.get(level_of(value), -1) for value in distinct], np.int32)[code]
        days = _periods(source, self.column, self.freq, n_docs).astype(np.int64)
        known = np.array(self.names, dtype="datetime64[D]").astype(np.int64)
        after = np.searchsorted(known, days).clip(1, max(len(known) - 1, 1))
        if len(known) == 1:
            return np.zeros(len(days), np.int32)
        return np.where(days - known[after - 1] <= known[after] - days, after - 1, after).astype(np.int32)

    def number(self, name: object) -> int:
        """Of the version with this name: a group, or a date in the period."""
        t = int(self.of({self.column: [name]})[0])
        if t < 0:
            known = ", ".join(map(repr, self.names[:8])) + (", ..." if len(self.names) > 8 else "")
            raise ValueError(f"there is no version {name!r}; there are {known}")
        return t

    @classmethod
    def read(cls, about: Mapping[str, object]) -> Self:
        """Of its fields in a file. ModelFileError for anything else."""
        column, names, freq = about.get("column"), about.get("names"), about.get("freq")
        if not isinstance(column, str) or not (freq is None or freq in FREQUENCIES):
            raise ModelFileError("the versions of the model make no sense")
        if not names or not are_texts(names):
            raise ModelFileError("the versions of the model have no names")
        try:
            made = cls(column, tuple(names), freq)
            is_ascending = freq is None or bool((np.diff(made.place) > 0).all())
        except ValueError as error:  # too many, or no dates
            raise ModelFileError(f"the versions of the model make no sense: {error}") from error
        if len(set(names)) < len(names) or not is_ascending:
            raise ModelFileError("the versions of the model are not in order")
        return made


def beside(source: object, columns: Sequence[str], n_docs: int) -> dict[str, np.ndarray]:
    """Columns beside the documents, for a fit of some of them."""
    found = {column: values_of(source, column, n_docs) for column in columns}
    return {name: v if isinstance(v, np.ndarray) else np.fromiter(v, object, n_docs) for name, v in found.items()}


def _periods(source: object, column: str, freq: str, n_docs: int | None) -> NDArray[np.datetime64]:
    """The first day of the period of each document. 2012.0 is the year 2012."""
    found = values_of(source, column, n_docs)
    values = found.tolist() if isinstance(found, np.ndarray) else found
    return periods_of([int(v) if isinstance(v, float) and v.is_integer() else v for v in values], freq)
