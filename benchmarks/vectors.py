"""Rows of numbers for benchmarks, one evaluator for every method, and clocks that stop while it works.

Data is looked for as in datasets.py: folders bsds400 (images.npz, test_images.npz) and covtype (X.npz).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as TheirMixture

from datasets import MissingData, folders
from topmix import GaussianMixture

SIDE = 8  # of a patch


def find(name: str, file: str) -> Path:
    for folder in folders():
        if (folder / name / file).exists():
            return folder / name / file
    raise MissingData(f"{name}/{file} is not in {' or '.join(map(str, folders()))}; set TOPMIX_DATA to its folder")


def basis() -> np.ndarray:
    """[64, 63]: patches without their mean have rank 63. The complement of the constant vector, by cosines."""
    k, n = np.arange(1, SIDE * SIDE)[None], np.arange(SIDE * SIDE)[:, None]
    return (np.sqrt(2 / SIDE**2) * np.cos(np.pi * (n + 0.5) * k / SIDE**2)).astype(np.float32)


def of_image(image: np.ndarray, stride: int) -> np.ndarray:
    """[patches, 63] float32."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (SIDE, SIDE))[::stride, ::stride]
    return np.asarray((windows.reshape(-1, SIDE * SIDE) / np.float32(255)) @ basis())


def training_images() -> np.ndarray:
    return np.asarray(np.load(find("bsds400", "images.npz"))["train400"])


def training_patches(stride: int) -> np.ndarray:
    return np.concatenate([of_image(image, stride) for image in training_images()])


def unseen_patches(n: int, seed: int = 0) -> np.ndarray:
    """n patches of the BSD68 images, which have nothing in common with the training images."""
    with np.load(find("bsds400", "test_images.npz")) as images:
        X = np.concatenate([of_image(images[name], SIDE) for name in images.files if name.startswith("bsd68")])
    return X[np.random.default_rng(seed).permutation(len(X))[:n]]


def covtype(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The ten continuous columns, standardised on the training rows; a tenth of the rows is held out."""
    X = np.load(find("covtype", "X.npz"))["X"][:, :10].astype(np.float32)
    X = X[np.random.default_rng(seed).permutation(len(X))]
    test, train = X[: len(X) // 10], X[len(X) // 10 :]
    mean, sd = train.mean(axis=0, dtype=np.float64), train.std(axis=0, dtype=np.float64)
    return ((train - mean) / sd).astype(np.float32), ((test - mean) / sd).astype(np.float32)


def held_out(X: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> float:
    """Mean log likelihood of rows, in double, by Cholesky factors: the same for every method."""
    X = X.astype(np.float64)
    scores = np.empty((len(X), len(weights)))
    for k, (m, C) in enumerate(zip(means, covariances)):
        if C.ndim == 1:
            scores[:, k] = -0.5 * (np.square(X - m) / C).sum(axis=1) - 0.5 * np.log(C).sum()
        else:
            root = np.linalg.inv(np.linalg.cholesky(C))
            scores[:, k] = -0.5 * np.square((X - m) @ root.T).sum(axis=1) + np.log(np.diagonal(root)).sum()
    with np.errstate(divide="ignore"):
        scores += np.log(weights)
    return float(np.mean(logsumexp(scores, axis=1)) - 0.5 * X.shape[1] * np.log(2 * np.pi))


class Stopwatch:
    """Seconds of training: it stands still while a score is taken."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.points: list[tuple[float, float]] = []  # (seconds, score)
        self.clock = clock
        self._since, self._spent = clock(), 0.0

    @property
    def seconds(self) -> float:
        return self._spent + self.clock() - self._since

    def take(self, score: Callable[[], float]) -> None:
        self._spent = self.seconds
        self.points.append((self._spent, score()))
        self._since = self.clock()

    def time_to(self, score: float) -> float:
        return min((t for t, s in self.points if s >= score), default=float("inf"))


def run_topmix(X: np.ndarray, test: np.ndarray, K: int, passes: int, **settings: Any) -> tuple[Stopwatch, list[float]]:
    """The held-out score after each pass, and the seconds of each pass after the first."""
    model = GaussianMixture(K, max_iter=passes, tol=-np.inf, **{"random_state": 0} | settings)

    def watch_pass(_: Any, m: Any) -> None:
        g = m.likelihood
        watch.take(lambda: held_out(test, m.allocation.weights(), g.mean(), g.covariances()))

    model.callbacks = [watch_pass]
    watch = Stopwatch()
    model.fit(X)
    return watch, list(np.diff([t for t, _ in watch.points]))


def run_sklearn(
    X: np.ndarray, test: np.ndarray, K: int, seconds: float, covariance_type: str, max_iter: int = 10_000
) -> Stopwatch:
    """Its EM, step by step, for so many seconds; its own start (k-means) is counted."""
    model = TheirMixture(n_components=K, covariance_type=covariance_type, max_iter=1, warm_start=True, random_state=0)
    watch = Stopwatch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        while watch.seconds < seconds and len(watch.points) < max_iter:
            model.fit(X)
            watch.take(lambda: held_out(test, model.weights_, model.means_, model.covariances_))
    return watch
