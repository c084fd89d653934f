"""How strong the prior of Gaussian clusters is, where its user leaves that open.

With objective "map" the prior of a covariance is as good as n rows more, which have the covariance S that clusters
have on average:

    C_k = (n S + S_k) / (n + N_k),      S_k the scatter of the N_k rows of cluster k

A large cluster hardly notices. A cluster of few rows in many columns has no covariance of its own, and takes the
common one. The data says how many rows n: each row is scored by its cluster without it, for several n, as regularised
discriminant analysis does (Friedman 1989), or by the next best cluster where that is better. All n follow from one
decomposition of each cluster, because leaving a row out changes S_k by one outer product. No prior is taken unless it
gains: clusters may be thin for a reason, such as columns with few values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topmix.base.threads import one_thread
from topmix.models.frame import Shape, moments
from topmix.models.gaussian import Gaussian, GaussianPrior
from topmix.models.model import Assignment

STRENGTHS = (1e-9, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # rows; the first stands for none
LEAST_GAIN = 0.01  # the smallest n is taken that comes this near to the best, as a share of what clusters gain over one


def chosen_prior(
    model: Gaussian, weight: np.ndarray | None, two: Assignment, degrees: float | None, one: float = 1.0
) -> GaussianPrior:
    """From rows, whose weights are one on average, and the two best clusters of each. `degrees` are the user's, or
    None; `one` is what a row weighs in the fit."""
    shape, K, z, rows = model.shape, len(model.total.N), two.x, np.arange(len(two.x))
    w = np.ones(len(z)) if weight is None else np.asarray(weight, np.float64)
    best = two.r.argmax(axis=1)
    label = two.cluster[rows, best]
    S = moments(z, label[:, None], np.ones((len(z), 1), z.dtype), weight, np.zeros((K, shape.D), z.dtype), shape)
    n_rows = S.N.sum()
    mean = np.zeros_like(S.first) if model.zero_mean else S.first / np.maximum(S.N, 1e-300)[:, None]
    scatter = shape.unpacked(S.second) - shape.outer(S.N, mean, mean) + shape.spread(S.N, model.prior.reg)
    common = scatter.sum(axis=0) / n_rows
    if shape.is_matrix:  # of fewer rows than columns it would be singular
        common = (n_rows * common + shape.D * np.diag(np.diagonal(common))) / (n_rows + shape.D)
    if degrees is not None:
        return _as_rows(model, common, degrees / shape.repeat)
    if shape.name == "tied":  # all rows make it
        return model.prior
    in_frame = two.likelihood - model.frame.log_det()
    with np.errstate(divide="ignore"):
        other = in_frame + np.log(two.r[rows, 1 - best]) if two.r.shape[1] > 1 else np.full(len(z), -np.inf)
    scores = np.zeros(len(STRENGTHS))
    with one_thread():
        order = np.argsort(label, kind="stable")
        for k, own in enumerate(np.split(order, np.cumsum(np.bincount(label, minlength=K))[:-1])):
            own = own[w[own] > 0]
            if len(own) > 1:
                y = z[own].astype(np.float64) - mean[k]
                left_out = _left_out(shape, common, scatter[k], y, w[own], model.zero_mean) + np.log(S.N[k] / n_rows)
                scores += w[own] @ np.logaddexp(left_out, other[own, None])
    clusters = max(float(w @ two.likelihood) - n_rows * model.of_all_rows(), 0.0)
    at = int(np.argmax(scores))
    while at > 0 and scores[at - 1] >= scores.max() - LEAST_GAIN * clusters:
        at -= 1
    return model.prior if at == 0 else _as_rows(model, common, one * STRENGTHS[at])


def _as_rows(model: Gaussian, common: np.ndarray, n: float) -> GaussianPrior:
    return replace(model.prior, nu=model.shape.repeat * n, B=np.asarray(n * common))


def _left_out(
    shape: Shape, common: np.ndarray, scatter: np.ndarray, y: np.ndarray, w: np.ndarray, zero_mean: bool
) -> np.ndarray:
    """[rows, strengths]: the log density of rows y of one cluster, each without itself.

    Without row i of weight w the scatter is S_k - w c y y', and the row is at c y from the mean, c = N / (N - w). With
    M = n S + S_k and q = y' M^-1 y, the rest is |M - w c y y'| = |M| (1 - w c q), and q / (1 - w c q) for the quadratic
    form.
    """
    n, N = np.array(STRENGTHS), float(w.sum())
    c = np.ones_like(w) if zero_mean else N / (N - w)
    size = shape.size * shape.repeat  # dimensions that one determinant stands for
    if shape.is_matrix:  # the axes in which S is the identity and S_k is diagonal
        root = np.linalg.inv(np.linalg.cholesky(common)).T
        values, vectors = np.linalg.eigh(root.T @ scatter @ root)
        squares, values = np.square(y @ (root @ vectors)), np.maximum(values, 0.0)
        q = (squares @ (1.0 / (n + values[:, None])))[:, None]  # [rows, 1, strengths]
        log_det = np.log(n + values[:, None]).sum(axis=0)[None] - 2 * np.log(np.diagonal(root)).sum()
    else:
        squares = np.square(y) if shape.name == "diag" else np.square(y).sum(axis=1, keepdims=True)
        of_each, M = common.reshape(-1, 1), n + (scatter / common).reshape(-1, 1)  # [copies, strengths]
        q, log_det = (squares / of_each.T)[:, :, None] / M, size * np.log(M * of_each / shape.repeat)
    n_rows, left = n + (N - w)[:, None], (w * c)[:, None, None] * q
    np.maximum(np.subtract(1.0, left, out=left), 1e-12, out=left)
    distance = n_rows * np.square(c)[:, None] * np.divide(q, left, out=q).sum(axis=1)
    constant = log_det.sum(axis=0) - q.shape[1] * size * np.log(n_rows)
    value = constant + shape.repeat * (np.log(left, out=left).sum(axis=1) + distance)
    return np.asarray(-0.5 * (value + shape.D * np.log(2 * np.pi)))
