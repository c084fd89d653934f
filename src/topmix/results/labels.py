"""Labels of documents: which topics belong to which, and what documents with some of them can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import column_or_1d

from topmix import _core
from topmix.base.checks import as_list
from topmix.base.component import as_declared, plain as python_value
from topmix.base.fields import CheckedReader, ModelFileError
from topmix.base.threads import one_thread
from topmix.corpus.design import DesignRows
from topmix.corpus.documents import plain
from topmix.corpus.vocabulary import Strings
from topmix.io.columns import check_one_each, is_missing
from topmix.models.stored import Flag, Numbers, Stored, Value, integer, number

# What documents respond, given the shares of their topics: classes or numbers.

Array = NDArray[np.float64]

STRENGTH = 10.0  # of a logistic regression, scikit-learn's C; of numbers with variance one, over their noise
MOST_STEPS = 1000
MOST_CLASSES = 1 << 16
LARGEST_EXACT = 2.0**53  # of whole numbers that floats hold
SEVERAL = (list, tuple, set, frozenset)  # labels of one document


def _classes(file: CheckedReader, name: str) -> tuple[str | int, ...]:
    """Names, or whole numbers, that are all different."""
    classes = file.listed(name)
    if not all(type(c) is str for c in classes) and not all(type(c) is int for c in classes):
        raise ModelFileError(f"{file.prefix}{name} are neither names nor whole numbers")
    if len(set(classes)) != len(classes) or len(classes) > MOST_CLASSES:
        raise ModelFileError(f"{file.prefix}{name} are too many, or not different")
    return tuple(classes)


CLASSES = Value(_classes)


@dataclass(frozen=True)
class Response(Stored):
    classes: Annotated[tuple[str | int, ...], CLASSES]  # empty: numbers
    coefficients: Annotated[Array, Numbers("outputs", "K")]  # of two classes, one output
    intercept: Annotated[Array, Numbers("outputs")]
    weight: Annotated[float, number(0.0)] = 1.0  # of responses, while topics were learned

    @classmethod
    def of_classes(cls, theta: Array, y: NDArray[np.int64], classes: tuple[str | int, ...]) -> Response:
        """Logistic regression on the shares of topics."""
        from sklearn.linear_model import LogisticRegression  # here, because others do without it

        K = theta.shape[1]
        if len(classes) == 1:
            return cls(classes, np.zeros((1, K)), np.zeros(1))
        with one_thread():
            found = LogisticRegression(C=STRENGTH, max_iter=MOST_STEPS).fit(theta, y)
        return cls(classes, np.array(found.coef_), np.array(found.intercept_))

    @classmethod
    def of_numbers(cls, theta: Array, y: Array, centre: float, scale: float) -> Response:
        """Ridge regression on the shares of topics. `y` is standardised, and what is predicted is not."""
        from sklearn.linear_model import Ridge

        with one_thread():
            found = Ridge(alpha=1.0 / STRENGTH).fit(theta, y)
        return cls((), scale * np.atleast_2d(found.coef_), np.atleast_1d(centre + scale * found.intercept_))

    def outputs(self, theta: Array) -> Array:
        """[documents, outputs] linear in the shares."""
        with one_thread():
            return np.asarray(theta @ self.coefficients.T + self.intercept)

    def probabilities(self, theta: Array) -> Array:
        """[documents, classes]"""
        x = self.outputs(theta)
        if len(self.classes) == 1:
            return np.ones_like(x)
        if len(self.classes) == 2:
            x = np.column_stack([np.zeros(len(x)), x])
        return np.asarray(softmax(x, axis=1))

    def check_fields(self) -> None:
        n = len(self.classes) if len(self.classes) > 2 else 1
        if len(self.intercept) != n:
            raise ValueError(f"{len(self.intercept)} outputs are not those of {len(self.classes)} classes")


@dataclass(frozen=True)
class Labels(Stored):
    classes: Annotated[tuple[str | int, ...], CLASSES]
    per_label: Annotated[int, integer(1, _core.MAX_TOPICS)]  # topics of each label, one label after the other
    n_free: Annotated[int, integer(0, _core.MAX_TOPICS)]  # topics of all documents, after them
    is_single: Flag  # each document has one label
    # share of a document's labelled tokens from which on it has a label
    threshold: Annotated[float, number(0.0, 1.0)] = 0.5

    @property
    def n_topics(self) -> int:
        return len(self.classes) * self.per_label + self.n_free

    def of_topics(self) -> NDArray[np.int64]:
        """[K] the label of each topic, -1 for free ones."""
        own = np.repeat(np.arange(len(self.classes)), self.per_label)
        return np.concatenate([own, np.full(self.n_free, -1)])

    def shares(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """[documents, labels] of their tokens in topics of labels, from proportions of topics; rows sum to one."""
        n, m = len(theta), len(self.classes) * self.per_label
        share = theta[:, :m].reshape(n, len(self.classes), self.per_label).sum(axis=2)
        return np.asarray(share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300))

    def candidates(self, Y: sp.csr_array) -> sp.csr_array:
        """[documents, K] true for topics of a document's labels, and free ones where it has labels."""
        n = Y.shape[0]
        own = sp.csr_array(sp.kron(Y, np.ones((1, self.per_label))))
        labelled = sp.csr_array((np.diff(Y.indptr) > 0).astype(float)[:, None])
        free = sp.csr_array(sp.kron(labelled, np.ones((1, self.n_free)))) if self.n_free else sp.csr_array((n, 0))
        return sp.csr_array(sp.hstack([own, free], format="csr"))

    def priors(self, Y: sp.csr_array, weight: float | None) -> tuple[NDArray[np.float64], DesignRows]:
        """The mean prior [K] of documents with labels, and the priors of all: zero for topics of other labels, and the
        mean one where there are no labels. `weight` is that of a topic; None makes their sums 0.5 on average."""
        candidates = self.candidates(Y)
        labelled = np.diff(Y.indptr) > 0
        weight = 0.5 * labelled.sum() / candidates.nnz if weight is None else weight
        mean = weight * np.asarray(candidates.sum(axis=0)).ravel() / labelled.sum()
        mean = np.maximum(mean, 1e-3 * mean.sum() / len(mean))
        kinds: dict[bytes, int] = {}  # of sets of labels
        row = np.empty(Y.shape[0], np.int32)
        for d in range(Y.shape[0]):
            row[d] = kinds.setdefault(Y.indices[Y.indptr[d] : Y.indptr[d + 1]].tobytes(), len(kinds))
        _, firsts = np.unique(row, return_index=True)
        x = weight * candidates[firsts].toarray()
        x[~labelled[firsts]] = mean
        return mean, DesignRows(x, row)

    def encoded(self, y: object, n_docs: int) -> sp.csr_array:
        """[documents, labels] which labels documents have, of those that are known."""
        return _indicator(_sets_of(y, n_docs, self.classes)[0], self.classes)

    @classmethod
    def read(cls, file: CheckedReader, **given: object) -> Labels:
        labels = super().read(file)
        if not labels.classes or labels.n_topics != given["K"]:
            raise ModelFileError(f"{file.prefix}classes do not belong to {given['K']} topics")
        return labels


def labels_of(y: object, n_docs: int, per_label: int, n_free: int) -> tuple[Labels, sp.csr_array]:
    """What labels there are, and [documents, labels] which of them each document has."""
    sets, is_single, n_columns = _sets_of(y, n_docs)
    names = set(chain.from_iterable(sets))
    if not names:
        raise ValueError("no document has a label")
    classes: tuple[str | int, ...] = tuple(sorted(names, key=lambda c: (str(type(c)), c)))
    if n_columns is not None:
        classes = tuple(range(n_columns))
    if not all(type(c) is str for c in classes) and not all(type(c) is int for c in classes):
        raise ValueError("labels must be strings, or whole numbers")
    Strings.pack(map(str, classes), "label")  # or its error
    labels = Labels(classes, per_label, n_free, is_single)
    if labels.n_topics > _core.MAX_TOPICS:
        raise ValueError(f"{len(classes)} labels make {labels.n_topics} topics, more than {_core.MAX_TOPICS}")
    return labels, _indicator(sets, classes)


def best_threshold(shares: NDArray[np.float64], Y: sp.csr_array) -> float:
    """The share from which on labels are predicted, with the best micro-averaged F1 of these documents."""
    order = np.argsort(-shares, axis=None, kind="stable")
    hit = np.cumsum(Y.toarray().ravel()[order])
    f1 = 2 * hit / (np.arange(1, len(hit) + 1) + max(Y.nnz, 1))
    best = int(np.argmax(f1))
    cut = shares.ravel()[order]
    return float(np.clip((cut[best] + cut[min(best + 1, len(cut) - 1)]) / 2, 1e-6, 1.0 - 1e-6))


def _sets_of(
    y: Any, n_docs: int, known: Sequence[str | int] | None = None
) -> tuple[list[list[str | int]], bool, int | None]:
    """The labels of each document, from a sparse matrix, an array, or a list of lists of labels; whether each has one
    at most; and the columns of the matrix that said so, None where y is no matrix."""
    if isinstance(y, list | tuple) and any(isinstance(value, SEVERAL) for value in y):
        rows = [as_list(value) for value in y if value is not None]
        is_matrix = len({len(row) for row in rows}) == 1 and len(rows) == len(y) and len(rows[0]) > 1
        y = np.array(rows) if is_matrix and all(x in (0, 1) for row in rows for x in row) else y
    elif not sp.issparse(y):
        given, y = y, np.asarray(y)
        if y.ndim == 0:  # an iterator too
            raise ValueError(f"y must be a list with the label, or the labels, of each document, got {given!r:.80}")
        if y.ndim == 2 and y.shape[1] == 1 and y.dtype.kind != "b":
            y = column_or_1d(y, warn=True)
    is_single, n_columns = False, None
    if sp.issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "biuf"):
        matrix = sp.csr_array(y)
        if matrix.nnz and not np.isin(matrix.data, (0, 1)).all():
            raise ValueError("y is a matrix, which has 1 where a document has a label, and else 0")
        n_columns = matrix.shape[1]
        if known is not None and n_columns != len(known):
            raise ValueError(f"y has {n_columns} columns, and there are {len(known)} labels")
        matrix.eliminate_zeros()
        names = range(n_columns) if known is None else known
        sets = [[names[k] for k in np.sort(part).tolist()] for part in np.split(matrix.indices, matrix.indptr[1:-1])]
    else:
        values: list[Any] = [_value(value) for value in plain(y)]
        if any(isinstance(value, (*SEVERAL, np.ndarray)) for value in values):
            sets = [list(dict.fromkeys(map(_label, [] if value is None else as_list(value)))) for value in values]
        elif any(isinstance(value, float) and not is_missing(value) for value in values):
            raise ValueError("Unknown label type: continuous numbers. Labels are strings, or whole numbers up to 2^53")
        else:
            is_single, sets = True, [[] if is_missing(value) else [_label(value)] for value in values]
    check_one_each(len(sets), n_docs)
    return sets, is_single, n_columns


def _value(value: object) -> Any:
    """A float that is whole counts as the whole number, up to where floats skip some."""
    value = python_value(value)
    return as_declared(value, int) if not isinstance(value, float) or abs(value) <= LARGEST_EXACT else value


def _label(value: object) -> str | int:
    label = _value(value)
    if not isinstance(label, str | int):
        raise ValueError(f"labels must be strings, or whole numbers up to 2^53, got {label!r:.80}")
    return label


def _indicator(sets: Sequence[list[str | int]], classes: Sequence[str | int]) -> sp.csr_array:
    place = {label: i for i, label in enumerate(classes)}
    if unknown := next((label for label in chain.from_iterable(sets) if label not in place), None):
        raise ValueError(f"the fit has not seen the label {unknown!r}")
    columns = [sorted(place[label] for label in labels) for labels in sets]
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
    index = np.array(list(chain.from_iterable(columns)), np.int32)
    return sp.csr_array((np.ones(len(index)), index, indptr), shape=(len(columns), len(classes)))
