"""What documents respond, given the shares of their topics: classes or numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.numerics.blas import one_thread

Array = NDArray[np.float64]

STRENGTH = 10.0  # of a logistic regression, scikit-learn's C; of numbers with variance one, over their noise
MOST_STEPS = 1000
MOST_CLASSES = 1 << 16


@dataclass(frozen=True)
class Response:
    classes: tuple[str | int, ...]  # empty: numbers
    coefficients: Array  # [outputs, K]; of two classes, one output
    intercept: Array  # [outputs]
    weight: float = 1.0  # of responses, while topics were learned

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

    def write(self, out: Writer) -> None:
        out.value("classes", list(self.classes))
        out.array("coefficients", self.coefficients)
        out.array("intercept", self.intercept)
        out.value("weight", self.weight)

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> Response:
        classes = file.listed("classes")
        if not all(type(c) is str for c in classes) and not all(type(c) is int for c in classes):
            raise ModelFileError(f"{file.prefix}classes are neither names nor whole numbers")
        if len(set(classes)) != len(classes) or len(classes) > MOST_CLASSES:
            raise ModelFileError(f"{file.prefix}classes are too many, or not different")
        n = len(classes) if len(classes) > 2 else 1
        coefficients, intercept = file.array("coefficients", n, K), file.array("intercept", n)
        return cls(tuple(classes), coefficients, intercept, file.number("weight", 0.0))
