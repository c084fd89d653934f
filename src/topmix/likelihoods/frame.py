"""A frame of reference for rows: z = (x - origin) A, in which all of the data has mean zero and unit covariance.

Nothing of the model depends on it. It is where kernels compute: scores are sums of products z_i z_j, and float32 keeps
their digits only while no direction and no offset dwarfs the others.  docs/math.md, section G.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.likelihoods.covariance import Shape

LEAST = 1e-12  # of the largest variance: a direction with less, a constant column say, counts as having this much


@dataclass(frozen=True)
class Frame:
    origin: np.ndarray  # [D]
    A: np.ndarray  # [D, D], or [D] where axes must stay axes, or [1] where all must be scaled alike

    @classmethod
    def of(cls, origin: np.ndarray, covariance: np.ndarray, covariance_type: str) -> Frame:
        """The frame that whitens all of the data as far as this type of clusters allows.

        `covariance` is [D, D] for full and tied clusters, else the variances [D].
        """
        if covariance.ndim == 2:
            values, vectors = np.linalg.eigh(covariance)
            return cls(origin, vectors / np.sqrt(_floored(values)))
        if covariance_type == "diag":
            return cls(origin, 1.0 / np.sqrt(_floored(covariance)))
        return cls(origin, 1.0 / np.sqrt(_floored(covariance.mean(keepdims=True))))

    @property
    def scale(self) -> np.ndarray:
        """A as kernels take it: [D, D] or [D]."""
        return np.broadcast_to(self.A, self.origin.shape).copy() if self.A.ndim == 1 else self.A

    def log_det(self) -> float:
        """log |A|: what a density of z lacks to be one of x."""
        if self.A.ndim == 2:
            return float(np.linalg.slogdet(self.A)[1])
        return float(np.sum(np.log(self.scale)))

    def points(self, x: np.ndarray) -> np.ndarray:
        return (x - self.origin) @ self.A if self.A.ndim == 2 else (x - self.origin) * self.A

    def points_back(self, z: np.ndarray) -> np.ndarray:
        return (z @ np.linalg.inv(self.A) if self.A.ndim == 2 else z / self.A) + self.origin

    def covariances(self, C: np.ndarray) -> np.ndarray:
        """A' C A for matrices [..., D, D]; for variances [..., D] (or [...], scaled alike) the same of a diagonal."""
        if self.A.ndim == 2:
            return np.asarray(self.A.T @ C @ self.A)
        return C * np.square(self.A)

    def covariances_back(self, C: np.ndarray) -> np.ndarray:
        if self.A.ndim == 2:
            B = np.linalg.inv(self.A)
            return np.asarray(B.T @ C @ B)
        return C / np.square(self.A)

    def write(self, out: Writer) -> None:
        out.array("origin", self.origin)
        out.array("A", self.A)

    @classmethod
    def read(cls, file: CheckedReader, shape: Shape) -> Frame:
        return cls(file.array("origin", shape.D), file.array("A", *shape.one()))


def _floored(variances: np.ndarray) -> np.ndarray:
    largest = float(variances.max(initial=0.0))
    return np.maximum(variances, LEAST * largest) if largest > 0 else np.ones_like(variances)
