"""Rows of numbers for benchmarks of mixtures, in three disjoint parts, and one evaluator for every method.

Data is looked for as in datasets.py: the folders bsds400 (images.npz, test_images.npz) and covtype (X.npz).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from benchmarks.harness.datasets import find, parts
from benchmarks.harness.machine import digest

SIDE = 8  # pixels of a patch


class Vectors(NamedTuple):
    name: str
    train: np.ndarray  # [N, D] float32
    validation: np.ndarray
    test: np.ndarray

    @property
    def about(self) -> dict[str, Any]:
        """For a result row."""
        return {"name": self.name, "sha256": digest([self.train, self.test]), "rows": len(self.train)}

    def some(self, n: int | None, n_test: int | None = None, seed: int = 0) -> Vectors:
        """n training rows and n_test others of each kind, at random; None is all, in random order."""

        def draw(X: np.ndarray, n: int | None) -> np.ndarray:
            return np.ascontiguousarray(X[np.random.default_rng(seed).permutation(len(X))[:n]])

        return Vectors(self.name, draw(self.train, n), draw(self.validation, n_test), draw(self.test, n_test))


def patches(stride: int) -> Vectors:
    """8x8 patches of natural images without their mean.

    The three parts are of different images: train400, of which training patches are `stride` pixels apart, Set12 for
    validation and BSD68 for testing.
    """
    train = np.concatenate([of_image(image, stride) for image in training_images()])
    with np.load(find("bsds400", "test_images.npz")) as images:
        validation, test = (
            np.concatenate([of_image(images[name], SIDE) for name in images.files if name.startswith(kind)])
            for kind in ("set12", "bsd68")
        )
    return Vectors(f"patches, stride {stride}", train, validation, test)


def training_images() -> np.ndarray:
    """[400, height, width]."""
    return np.asarray(np.load(find("bsds400", "images.npz"))["train400"])


def of_image(image: np.ndarray, stride: int) -> np.ndarray:
    """[patches, 63] float32."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (SIDE, SIDE))[::stride, ::stride]
    return np.asarray((windows.reshape(-1, SIDE * SIDE) / np.float32(255)) @ basis())


def basis() -> np.ndarray:
    """[64, 63]: patches without their mean have rank 63. The complement of the constant vector, by cosines."""
    k, n = np.arange(1, SIDE * SIDE)[None], np.arange(SIDE * SIDE)[:, None]
    return (np.sqrt(2 / SIDE**2) * np.cos(np.pi * (n + 0.5) * k / SIDE**2)).astype(np.float32)


def covtype(split: int = 0, columns: int = 10) -> Vectors:
    """The ten continuous columns of forest cover, or all 54, of which 44 are 0 or 1, standardised on the training rows.
    A tenth is for testing."""
    X = np.load(find("covtype"))["X"][:, :columns].astype(np.float32)
    train, validation, test = (X[rows] for rows in parts(np.arange(len(X)), split, most=len(X)))
    mean, sd = train.mean(axis=0, dtype=np.float64), train.std(axis=0, dtype=np.float64)
    return Vectors(
        "covtype", *(((x - mean) / np.where(sd > 0, sd, 1.0)).astype(np.float32) for x in (train, validation, test))
    )


def held_out(X: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> float:
    """Mean log likelihood of rows, in float64, by Cholesky factors: the same for every method. Weights are [K], or
    [rows, K]."""
    X = X.astype(np.float64)
    scores = np.empty((len(X), len(means)))
    for k, (m, C) in enumerate(zip(means, covariances)):
        if C.ndim == 1:
            scores[:, k] = -0.5 * (np.square(X - m) / C).sum(axis=1) - 0.5 * np.log(C).sum()
        else:
            root = np.linalg.inv(np.linalg.cholesky(C))
            scores[:, k] = -0.5 * np.square((X - m) @ root.T).sum(axis=1) + np.log(np.diagonal(root)).sum()
    with np.errstate(divide="ignore"):
        scores += np.log(weights)
    return float(np.mean(logsumexp(scores, axis=1)) - 0.5 * X.shape[1] * np.log(2 * np.pi))
