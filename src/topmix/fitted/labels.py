"""Labels of documents: which topics belong to which, and what documents with some of them can have."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from topmix import _core
from topmix.data.columns import check_one_each, is_missing
from topmix.data.design_rows import DesignRows
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer


@dataclass(frozen=True)
class Labels:
    classes: tuple[str | int, ...]
    per_label: int  # topics of each label, one label after the other
    n_free: int  # topics of all documents, after them
    is_single: bool  # each document has one label
    threshold: float = 0.5  # share of a document's labelled tokens from which on it has a label

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
        kinds: dict[bytes, int] = {}
        row = np.empty(Y.shape[0], np.int32)
        firsts: list[int] = []
        for d in range(Y.shape[0]):
            key = Y.indices[Y.indptr[d] : Y.indptr[d + 1]].tobytes()
            row[d] = kinds.setdefault(key, len(kinds))
            if row[d] == len(firsts):
                firsts.append(d)
        x = weight * candidates[firsts].toarray()
        x[~labelled[firsts]] = mean
        return mean, DesignRows(x, row)

    def encoded(self, y: object, n_docs: int | None = None) -> sp.csr_array:
        """[documents, labels] which labels documents have, of those that are known."""
        found, _ = _sets(_as_given(y), n_docs, self.classes)
        return _indicator(found, self.classes)

    def write(self, out: Writer) -> None:
        out.value("classes", list(self.classes))
        out.value("per_label", self.per_label)
        out.value("n_free", self.n_free)
        out.value("is_single", self.is_single)
        out.value("threshold", self.threshold)

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> Labels:
        classes = file.listed("classes")
        if not classes or (not all(type(c) is str for c in classes) and not all(type(c) is int for c in classes)):
            raise ModelFileError(f"{file.prefix}classes are neither names nor whole numbers")
        per_label, n_free = file.integer("per_label", 1, _core.MAX_TOPICS), file.integer("n_free", 0, _core.MAX_TOPICS)
        made = cls(tuple(classes), per_label, n_free, file.flag("is_single"), file.number("threshold", 0.0, 1.0))
        if made.n_topics != K or len(set(classes)) != len(classes):
            raise ModelFileError(f"{file.prefix}classes do not belong to {K} topics")
        return made


def labels_of(y: object, n_docs: int, per_label: int, n_free: int) -> tuple[Labels, sp.csr_array]:
    """What labels there are, and [documents, labels] which of them each document has."""
    y = _as_given(y)
    found, is_single = _sets(y, n_docs)
    names = {label for labels in found for label in labels}
    if not names:
        raise ValueError("no document has a label")
    classes = tuple(range(_width(y))) if _is_indicator(y) else tuple(sorted(names, key=lambda c: (str(type(c)), c)))
    if not all(type(c) is str for c in classes) and not all(type(c) is int for c in classes):
        raise ValueError("labels must be strings, or whole numbers")
    labels = Labels(classes, per_label, n_free, is_single)
    if labels.n_topics > _core.MAX_TOPICS:
        raise ValueError(f"{len(classes)} labels make {labels.n_topics} topics, more than {_core.MAX_TOPICS}")
    return labels, _indicator(found, classes)


def best_threshold(shares: NDArray[np.float64], Y: sp.csr_array) -> float:
    """The share from which on labels are predicted, with the best micro-averaged F1 of these documents."""
    order = np.argsort(-shares, axis=None, kind="stable")
    hit = np.cumsum(Y.toarray().ravel()[order])
    f1 = 2 * hit / (np.arange(1, len(hit) + 1) + max(Y.nnz, 1))
    best = int(np.argmax(f1))
    cut = shares.ravel()[order]
    return float(np.clip((cut[best] + cut[min(best + 1, len(cut) - 1)]) / 2, 1e-6, 1.0 - 1e-6))


def _as_given(y: Any) -> Any:
    """A sparse matrix, an array, or a list of lists of labels."""
    if sp.issparse(y):
        return y
    if isinstance(y, list | tuple) and any(isinstance(value, list | tuple | set | frozenset) for value in y):
        rows = [list(value) for value in y if value is not None]
        is_matrix = len({len(row) for row in rows}) == 1 and len(rows) == len(y) and len(rows[0]) > 1
        return np.array(rows) if is_matrix and all(x in (0, 1) for row in rows for x in row) else y
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind != "b":
        warnings.warn("A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=2)
        return array.ravel()
    return array


def _is_indicator(y: object) -> bool:
    return sp.issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "biuf")


def _width(y: Any) -> int:
    return int(y.shape[1])


def _sets(y: Any, n_docs: int | None, known: Sequence[str | int] | None = None) -> tuple[list[list[str | int]], bool]:
    """The labels of each document, and whether each has one at most."""
    if _is_indicator(y):
        rows = sp.csr_array(y)
        if rows.nnz and not np.isin(rows.data, (0, 1)).all():
            raise ValueError("y is a matrix, which has 1 where a document has a label, and else 0")
        if known is not None and rows.shape[1] != len(known):
            raise ValueError(f"y has {rows.shape[1]} columns, and there are {len(known)} labels")
        rows.eliminate_zeros()
        names = list(range(rows.shape[1])) if known is None else list(known)
        found = [[names[k] for k in np.sort(part)] for part in np.split(rows.indices, rows.indptr[1:-1])]
        is_single = False
    else:
        values = [_plain(value) for value in y]
        is_single = not any(isinstance(value, list | tuple | set | frozenset | np.ndarray) for value in values)
        if is_single:
            if any(isinstance(value, float) and not is_missing(value) for value in values):
                raise ValueError("Unknown label type: continuous numbers. Labels are strings, or whole numbers")
            found = [[] if is_missing(value) else [value] for value in values]
        else:
            found = [sorted({_plain(label) for label in ([] if value is None else value)}) for value in values]
    if n_docs is not None:
        check_one_each(len(found), n_docs)
    return found, is_single


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _indicator(found: Sequence[Iterable[str | int]], classes: Sequence[str | int]) -> sp.csr_array:
    place = {label: i for i, label in enumerate(classes)}
    if unknown := next((label for labels in found for label in labels if label not in place), None):
        raise ValueError(f"the fit has not seen the label {unknown!r}")
    columns = [[place[label] for label in labels] for labels in found]
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
    index = np.array([i for c in columns for i in sorted(c)], np.int32)
    return sp.csr_array((np.ones(len(index)), index, indptr), shape=(len(columns), len(classes)))
