"""How a Gaussian cluster is divided in two: at the middle of its longest axis, or into its inner and its outer rows.

Groups that stand apart are found along an axis. Where there are none, as in pictures and sound, rows of one cluster
differ by their spread: many are quiet and a few are loud. Its inner and its outer half then differ more than any two
halves along an axis; distance is the cluster's own, or that of all of the data. Each cluster is divided in the way that
makes its rows most likely under two Gaussians.
"""

from __future__ import annotations

import numpy as np

from topmix.likelihoods.gaussian import Gaussian, GaussianStats, moments
from topmix.numerics.blas import one_thread

POWER_STEPS = 16  # towards the longest axis of a cluster; it need not be exact


def divided(model: Gaussian, z: np.ndarray, w: np.ndarray | None, label: np.ndarray, K: int) -> GaussianStats:
    """Moments of K clusters, from rows in the frame and the cluster of each: those that gain most are divided.

    K is at most twice the clusters there are. The second half of a cluster comes after all that there were.
    """
    k, each = len(model.total.N), np.arange(len(model.total.N))
    ways = _ways(model, z, label)
    halves = [_moments(model, z, w, 2 * label + above, np.repeat(each, 2)) for above in ways]
    whole = _height(model, _moments(model, z, w, label, each))
    gains = np.array([_height(model, S).reshape(k, 2).sum(axis=1) - whole for S in halves])
    way, best = gains.argmax(axis=0), np.argsort(-gains.max(axis=0), kind="stable")[: K - k]
    number = np.zeros(k, np.int64)  # of the second half; 0 for none
    number[best] = np.arange(k, K)
    above = np.array(ways)[way[label], np.arange(len(label))] & (number[label] > 0)
    return _moments(model, z, w, np.where(above, number[label], label), np.concatenate([each, best]))


def _ways(model: Gaussian, z: np.ndarray, label: np.ndarray) -> list[np.ndarray]:
    """For each way, which rows are in the second half of their cluster."""
    q, k = model.posterior, len(model.total.N)
    P = q.P.astype(z.dtype)
    axes = _longest(model).astype(z.dtype)
    along, inside, outside = (np.zeros(len(z), bool) for _ in range(3))
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=k))
    with one_thread():
        for c, rows in enumerate(np.split(order, ends[:-1])):
            if len(rows) == 0:
                continue
            y = z[rows] - q.m[c].astype(z.dtype)
            square = np.square(y)
            own = np.einsum("nd,nd->n", y @ P[c], y) if P.ndim == 3 else (square * P[c]).sum(axis=1)
            common = square.sum(axis=1)
            along[rows] = y @ axes[c] > 0
            inside[rows], outside[rows] = own > np.median(own), common > np.median(common)
    return [inside, outside] if model.zero_mean else [along, inside, outside]


def _longest(model: Gaussian) -> np.ndarray:
    """[K, D]: what rows in the frame are multiplied by, to be measured along the longest axis of each cluster. It is
    the longest in the scales of the columns: in the frame all axes of all of the data are equally long."""
    B, A = model.frame.covariances_back(model.posterior.B), model.frame.A
    B = B / np.abs(B).max(axis=tuple(range(1, B.ndim)), keepdims=True)
    axes = np.ones((len(B), model.shape.D))
    with one_thread():
        for _ in range(POWER_STEPS):
            axes = model.shape.apply(B, axes)
            axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        axes = axes @ np.linalg.inv(A).T if A.ndim == 2 else axes / A
    return np.asarray(axes / np.linalg.norm(axes, axis=1, keepdims=True))


def _moments(
    model: Gaussian, z: np.ndarray, w: np.ndarray | None, label: np.ndarray, parent: np.ndarray
) -> GaussianStats:
    """Of the rows with each label, and of a few more as its parent has them: a few rows have no covariance."""
    own = np.ascontiguousarray(label, np.int32)[:, None]
    centre = model.posterior.m[parent].astype(z.dtype)
    S = moments(z, own, np.ones(own.shape, z.dtype), w, centre, model.shape)
    total = model.total
    share = (2.0 + (model.shape.D if model.shape.is_matrix else 0.0)) / np.maximum(total.N, 1e-300)[parent]
    n = S.N.sum()
    more = GaussianStats(
        share * total.N[parent], share[:, None] * total.first[parent], share[:, None] * total.second[parent]
    )
    S += more
    return S.scale(n / S.N.sum())


def _height(model: Gaussian, S: GaussianStats) -> np.ndarray:
    """[K]: the log likelihood of the rows of each cluster with its label, up to what is the same for all divisions."""
    shape, q = model.shape, model.update(S, S.N).posterior
    log_det = shape.repeat * q.log_det - shape.D * np.log(q.nu)  # of covariances
    return np.asarray(S.N * np.log(np.maximum(S.N, 1e-300)) - 0.5 * S.N * log_det)
