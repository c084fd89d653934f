"""Where Gaussian clusters start: their prior and frame, from all of the data, and first clusters, from a sample of it.

k_means.py says which rows of the sample belong together. A cluster starts from their moments and a few rows more, with
the covariance that clusters have on average: a cluster of three rows in sixty dimensions has none of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from topmix.base.dirichlet import NEGLIGIBLE
from topmix.base.threads import one_thread
from topmix.corpus.rows import Rows
from topmix.models.frame import LEAST, ROUNDING, Frame, GaussianStats, Shape, everyone, moments
from topmix.models.gaussian import Gaussian, GaussianPrior
from topmix.models.k_means import lloyd, means, nearest, sample_of, spread_rows
from topmix.models.model import Assignment

POWER_STEPS = 16  # towards the longest axis of a cluster; it need not be exact
LARGEST_SQUARE = 1e90  # of anything that is squared or summed: files hold numbers up to 1e100
TOO_CLOSE = "the values of X differ by so little that their squares are lost: multiply X by a constant"
SAMPLE = 10_000  # rows, at least, and this many for each cluster:
SAMPLE_PER_CLUSTER = 40
DENSE_SAMPLE = 1 << 26  # numbers of sparse rows that are made dense
STARTS = ("auto", "split", "k-means++", "kmeans", "random", "random_from_data")  # of the user; two make passes
UNITS = 10  # times the standard deviation of the median column: one that has more is in units of its own


class KMeans(NamedTuple):
    """In the scales of columns, which are the user's, unless it says otherwise."""

    steps: int
    failed_swaps: int = 3  # of centres, after which it ends
    in_frame: bool = False  # in the scales of all of the data
    in_deviations: bool = False  # of columns


K_MEANS = {
    "kmeans": KMeans(100),
    "plain kmeans": KMeans(100, failed_swaps=0),
    "scaled kmeans": KMeans(100, in_deviations=True),
    "lloyd": KMeans(10),
    "lloyd in the frame": KMeans(10, in_frame=True),
}


def divided(model: Gaussian, z: np.ndarray, w: np.ndarray | None, label: np.ndarray, K: int) -> GaussianStats:
    """Moments of K clusters, at most twice as many as there are, from rows in the frame and the cluster of each: those
    that gain most are divided, and second halves come last."""
    k, (ways, gains) = len(model.total.N), _divisions(model, z, w, label)
    way, best = gains.argmax(axis=0), np.argsort(-gains.max(axis=0), kind="stable")[: K - k]
    number = np.zeros(k, np.int64)  # of the second half; 0 for none
    number[best] = np.arange(k, K)
    above = ways[way[label], np.arange(len(label))] & (number[label] > 0)
    return _moments(model, z, w, np.where(above, number[label], label), np.append(np.arange(k), best))


def differ_by_spread(prepared: Gaussian, x: np.ndarray, w: np.ndarray | None) -> bool:
    """Whether rows near the mean and rows far from it differ much more than rows on its two sides: clusters lie one
    within another, and k-means would not find them."""
    model = whole(prepared, x, w)
    z, label = model.frame.points(x.astype(np.float64)), np.zeros(len(x), np.int64)
    by_side, *by_distance = _divisions(model, z, w, label)[1].max(axis=1) / len(x)
    least = max(0.5 * model.shape.D, 3 * by_side)  # half a nat: one has 5 times the other's spread
    return bool(max(by_distance) > least)


def _divisions(
    model: Gaussian, z: np.ndarray, w: np.ndarray | None, label: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """By their side of the mean along the longest axis (unless means are zero), by their distance from it in the own
    and in the common metric: which rows are in the second half of their cluster [ways, rows], and how much more likely
    the rows of a cluster get [ways, K]."""
    q, shape, k = model.posterior, model.shape, len(model.total.N)
    P, axes = q.P.astype(z.dtype), _longest(model).astype(z.dtype)
    ways = np.zeros((3, len(z)), bool)
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
            ways[:, rows] = y @ axes[c] > 0, own > np.median(own), common > np.median(common)
    ways, each = ways[1:] if model.zero_mean else ways, np.arange(k)

    def height(label: np.ndarray, parent: np.ndarray) -> np.ndarray:
        """[K]: the log likelihood of the rows of each cluster with its label, up to what is the same for all ways."""
        S = _moments(model, z, w, label, parent)
        of = model.update(S, S.N).posterior
        log_det = shape.repeat * of.log_det - shape.D * np.log(of.nu)  # of covariances
        return np.asarray(S.N * np.log(np.maximum(S.N, 1e-300)) - 0.5 * S.N * log_det)

    halves = [height(2 * label + above, np.repeat(each, 2)).reshape(-1, 2).sum(axis=1) for above in ways]
    return ways, np.array(halves) - height(label, each)


def _longest(model: Gaussian) -> np.ndarray:
    """[K, D]: what rows in the frame are multiplied by, to be measured along the longest axis of each cluster in the
    scales of the columns: in the frame all axes of all of the data are equally long."""
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
    share = (2.0 + (model.frame.n_axes if model.shape.is_matrix else 0.0)) / np.maximum(total.N, 1e-300)[parent]
    n = S.N.sum()
    S += GaussianStats(total.N[parent], total.first[parent], total.second[parent]).times(share)
    return S.scale(n / S.N.sum())


Summary = tuple[np.ndarray, np.ndarray]  # all of the data: its mean [D], and covariance [D, D] or variances [D]


def summary(table: Rows, weight: np.ndarray | None, covariance_type: str, zero_mean: bool) -> Summary:
    """Sums over blocks in double, about the first row, so that no digits are lost to an offset."""
    D, is_matrix = table.shape[1], covariance_type in ("full", "tied")
    about, begin, total = np.zeros(D), 0, 0.0
    first, second = np.zeros(D), np.zeros((D, D) if is_matrix else D)
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):  # what leaves the range is refused below
        if table.csr is not None and not is_matrix:  # by the entries alone, about zero
            csr, of_rows = table.csr.astype(np.float64), np.ones(len(table)) if weight is None else weight
            total, first, second = float(of_rows.sum()), of_rows @ csr, of_rows @ csr.power(2)
        else:
            about = about if zero_mean else np.asarray(table.data[:1], np.float64)[0]
            for block in table.blocks():
                x = np.ascontiguousarray(block) - about
                w = None if weight is None else weight[begin : begin + len(x), None]
                wx = x if w is None else w * x
                first += wx.sum(axis=0)
                second += wx.T @ x if is_matrix else np.einsum("nd,nd->d", wx, x)
                total += len(x) if w is None else float(w.sum())
                begin += len(x)
    mean = first / max(total, 1e-300)
    if not (np.abs(second).max(initial=0.0) < LARGEST_SQUARE and np.abs(about + mean).max() < LARGEST_SQUARE**0.5):
        raise ValueError("X has values of more than 1e45, whose squares do not add up: divide X by a constant")
    if np.any(first) and not np.any(second):
        raise ValueError(TOO_CLOSE)
    if zero_mean:
        return np.zeros(D), second / max(total, 1e-300)
    second -= total * (np.outer(mean, mean) if is_matrix else mean**2)
    return about + mean, second / max(total - 1.0, min(total, 1.0), 1e-300)


@np.errstate(over="ignore", invalid="ignore")  # what leaves the range is refused
def empty(
    data: Summary,
    dtype: str,
    K: int,
    frame: Frame | None = None,
    *,
    covariance_type: str = "full",
    objective: str = "vb",
    zero_mean: bool = False,
    mean_prior: np.ndarray | None = None,
    mean_precision_prior: float | None = None,
    degrees_of_freedom_prior: float | None = None,
    covariance_prior: np.ndarray | None = None,
    reg_covar: float = 1e-6,
) -> Gaussian:
    """Clusters at their prior, by scikit-learn's names, with its defaults of "vb". With "map" and no covariance_prior
    the covariances have none yet: `chosen_prior` chooses one when there are clusters."""
    mean, covariance = data
    shape, D = Shape(covariance_type, len(mean)), len(mean)
    frame = Frame.of(mean, covariance, covariance_type) if frame is None else frame
    one = np.eye(D) if shape.is_matrix else np.ones(D)
    reg = frame.covariances(reg_covar * one)
    if covariance_type == "spherical":
        one, reg = np.array(one.sum()), np.array(reg.sum())
    # Of maximum likelihood: it keeps a cluster without rows finite, as the Gaussian of all the data.
    prior = GaussianPrior(NEGLIGIBLE, np.zeros(D), NEGLIGIBLE, NEGLIGIBLE * one, reg)
    if objective != "ml":
        beta = mean_precision_prior or (1.0 if objective == "vb" else prior.beta)
        m = frame.points(mean if mean_prior is None else np.asarray(mean_prior, np.float64))
        prior = replace(prior, beta=float(beta), m=m)
    if objective == "vb" and covariance_prior is None:
        covariance_prior = default_covariance_prior(covariance, covariance_type, reg_covar)
    if covariance_prior is not None and objective != "ml":
        B = np.asarray(frame.covariances(np.asarray(covariance_prior, np.float64))).reshape(reg.shape)
        nu = float(D if degrees_of_freedom_prior is None else degrees_of_freedom_prior)
        prior = replace(prior, nu=nu, B=B)
    sizes = (prior.reg, prior.B, np.square(prior.m), np.square(frame.A))
    if not all(np.abs(size).max() < LARGEST_SQUARE for size in sizes):
        raise ValueError(TOO_CLOSE)
    return Gaussian(covariance_type, objective, zero_mean, dtype, frame, prior, GaussianStats.zeros(shape, K))


def default_covariance_prior(covariance: np.ndarray, covariance_type: str, reg_covar: float) -> np.ndarray:
    """The covariance of the data. Where it is singular, as with constant columns, a floor of reg_covar holds it up."""
    if covariance.ndim == 1:
        floor = max(reg_covar, LEAST * float(covariance.max())) or 1.0
        return np.maximum(covariance if covariance_type == "diag" else covariance.mean(), floor)
    values, vectors = np.linalg.eigh(covariance)
    floor = max(reg_covar, LEAST * float(values[-1])) or 1.0
    if values[0] >= floor:
        return covariance
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def start(model: Gaussian, table: Rows, weight: np.ndarray | None, way: str, rng: np.random.Generator) -> Gaussian:
    """First clusters, by one of K_MEANS, "k-means++", "random" or "random_from_data", from statistics that come to as
    many rows as there are. k-means++ finds the tails where no groups stand apart; Lloyd's steps find round groups."""
    K = len(model.total.N)
    size = max(SAMPLE, SAMPLE_PER_CLUSTER * K)
    if table.is_sparse:  # and the sample is dense
        size = min(size, max(2 * K, DENSE_SAMPLE // table.shape[1]))
    rows = sample_of(len(table), weight, size, rng)
    w = np.ones(len(rows)) if weight is None else weight[rows] / weight[rows].mean()  # what is added to them is rows
    z = model.frame.points(np.ascontiguousarray(table.data[rows], np.float64))
    S = sample_moments(model, z, w, way, rng)
    S.scale((float(len(table)) if weight is None else float(weight.sum())) / S.N.sum())
    return model.update(S, S.N)


def in_many_units(model: Gaussian) -> bool:
    """Whether distances between rows are those of few columns, whose units are small."""
    variances = model.frame.covariances_back(np.eye(model.shape.D) if model.shape.is_matrix else np.ones(model.shape.D))
    sd = np.sqrt(np.diagonal(variances) if variances.ndim == 2 else variances)
    return bool(sd.max() > UNITS * np.median(sd))


def sample_moments(model: Gaussian, z: np.ndarray, w: np.ndarray, way: str, rng: np.random.Generator) -> GaussianStats:
    """Moments of first clusters, from a sample of rows in the frame."""
    K, D = model.total.first.shape
    origin = np.zeros((K, D))
    if way == "random":
        r = rng.random((len(z), K))
        r /= r.sum(axis=1, keepdims=True)
        return moments(z, *everyone(r), w, origin, model.shape)
    if how := K_MEANS.get(way):
        x = z if how.in_frame else model.frame.points_back(z)
        x = x - x.mean(axis=0)
        if how.in_deviations:
            x /= np.maximum(x.std(axis=0), LEAST**0.5 * np.abs(x).max() or 1.0)
        x = (x / (np.abs(x).max() or 1.0)).astype(np.float32)
        is_one_of_many = how.steps < 100 or len(z) >= SAMPLE  # then a swap that gains little is not worth the next one
        failures, least = min(how.failed_swaps, K - 2), 0.5 / K if is_one_of_many else 1e-6
        labels = lloyd(x, w, K, rng, how.steps, failures, least)
        seeds = means(z, w, K, labels)
    elif way == "k-means++":
        chosen, labels = spread_rows(z.astype(np.float32), w, K, rng, model.zero_mean)
        seeds = z[chosen]
    else:
        seeds = z[rng.choice(len(z), K, replace=np.count_nonzero(w) < K, p=w / w.sum())]
        labels = nearest(z, seeds, model.zero_mean)
    every = np.concatenate([z, seeds])  # a seed belongs to its own cluster, also where two are equal
    own = np.concatenate([labels, np.arange(K, dtype=np.int32)])[:, None]
    share = np.concatenate([w, np.full(K, 1e-3 * w.sum() / len(w))])
    S, shape = moments(every, own, np.ones(own.shape), share, origin, model.shape), model.shape
    # A few more rows for each cluster, at its mean, with the average covariance. As many rows in all as before.
    N, m = S.N.sum(), origin if model.zero_mean else S.first / np.maximum(S.N, 1e-300)[:, None]
    within = (shape.unpacked(S.second) - shape.outer(S.N, m, m)).sum(axis=0) / N
    more = np.full(K, 2.0 + (model.frame.n_axes if shape.name == "full" else 0.0))
    second = shape.unpacked(S.second) + shape.spread(more, within) + shape.outer(more, m, m)
    S = GaussianStats(S.N + more, S.first + more[:, None] * m, shape.packed(second))
    return S.scale(N / S.N.sum())


def given(model: Gaussian, r: np.ndarray, table: Rows, weight: np.ndarray | None) -> Gaussian:
    """Clusters as the update of responsibilities [N, K], which scikit-learn starts from too."""
    total = model.of_rows(table, r, weight)
    return model.update(total, total.N)


def at(model: Gaussian, N: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> Gaussian:
    """Clusters with these parameters, as if N_k rows had said so; the inverse of the update."""
    shape, p = model.shape, model.prior
    m = np.zeros_like(means) if model.zero_mean else model.frame.points(means)
    beta, nu = p.beta + N, p.nu + shape.degrees(N)
    C = model.frame.covariances(covariances)
    C = C[None] if shape.name == "tied" else C
    B = nu.reshape(-1, *[1] * (C.ndim - 1)) * C - p.B - shape.spread(N, p.reg)
    if not model.zero_mean:
        B = B - shape.prior_outer(len(N), p.beta, p.m) + shape.outer(beta, m, m)
    first = beta[:, None] * m - (0.0 if model.zero_mean else p.beta * p.m)
    return model.update(GaussianStats(N.copy(), first, shape.packed(B)), N)


def whole(model: Gaussian, x: np.ndarray, w: np.ndarray | None) -> Gaussian:
    """One cluster that has all of these rows."""
    z = model.frame.points(x.astype(np.float64))
    S = moments(z, *everyone(np.ones((len(z), 1))), w, np.zeros((1, z.shape[1])), model.shape)
    return model.update(S, S.N)


# How strong the prior is, where its user leaves that open.
#
# With objective "map" the prior of a covariance is as good as n rows more, which have the covariance S that clusters
# have on average: C_k = (n S + S_k) / (n + N_k), with S_k the scatter of the N_k rows of cluster k. The data says how
# many rows n: each row is scored by its cluster without it, for several n, as regularised discriminant analysis does
# (Friedman 1989), or by the next best cluster where that is better. All n follow from one decomposition of each
# cluster, because leaving a row out changes S_k by one outer product. No prior is taken unless it gains: clusters may
# be thin for a reason, such as columns with few values.

STRENGTHS = (1e-9, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # rows; the first stands for none
LEAST_GAIN = 0.01  # the smallest n is taken that comes this near to the best, as a share of what clusters gain over one


def chosen_prior(
    model: Gaussian, weight: np.ndarray | None, two: Assignment, of_one: float, degrees: float | None, unit: float = 1.0
) -> GaussianPrior:
    """From rows, whose weights are one on average, the two best clusters of each, and the log likelihood of a row in
    one cluster for all. `degrees` are the user's, or None; `unit` is what a row weighs in the fit: weights times a
    constant choose the same clusters, and a row is left out whole, whatever it weighs."""
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
        n_axes = model.frame.n_axes
        common = (n_rows * common + n_axes * np.diag(np.diagonal(common))) / (n_rows + n_axes)

    def as_rows(n: float) -> GaussianPrior:
        return replace(model.prior, nu=shape.repeat * n, B=np.asarray(n * common))

    if degrees is not None:
        return as_rows(degrees / shape.repeat)
    if shape.name == "tied" or (np.diagonal(common) if shape.is_matrix else common).min() < ROUNDING:
        return model.prior  # all rows make it, or no digits are left of it beside a row that is far away
    in_frame = two.likelihood - model.frame.log_det()
    with np.errstate(divide="ignore"):
        other = in_frame + np.log(two.r[rows, 1 - best]) if two.r.shape[1] > 1 else np.full(len(z), -np.inf)
    scores = np.zeros(len(STRENGTHS))
    with one_thread():
        order = np.argsort(label, kind="stable")
        for k, own in enumerate(np.split(order, np.cumsum(np.bincount(label, minlength=K))[:-1])):
            own = own[w[own] > 0]
            if len(own) > 1:
                y, of_others = z[own].astype(np.float64) - mean[k], scatter[k] - w[own].mean() * model.prior.reg
                left_out = _left_out(shape, common, of_others, y, w[own], model.zero_mean) + np.log(S.N[k] / n_rows)
                scores += w[own] @ np.logaddexp(left_out, other[own, None])
    clusters = max(float(w @ two.likelihood) - n_rows * of_one, 0.0)
    at = int(np.argmax(scores))
    while at > 0 and scores[at - 1] >= scores.max() - LEAST_GAIN * clusters:
        at -= 1
    return model.prior if at == 0 else as_rows(unit * STRENGTHS[at])


def _left_out(
    shape: Shape, common: np.ndarray, scatter: np.ndarray, y: np.ndarray, w: np.ndarray, zero_mean: bool
) -> np.ndarray:
    """[rows, strengths]: the log density of rows y of one cluster, each without itself.

    Without row i of weight w the scatter is S_k - w c y y', and the row is at c y from the mean, c = N / (N - w). With
    M = n S + S_k and q = y' M^-1 y, its determinant is |M| (1 - w c q), and the quadratic form is q / (1 - w c q).
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
        of_each, M = common.reshape(-1, 1), n + np.maximum(scatter / common, 0.0).reshape(-1, 1)  # [copies, strengths]
        q, log_det = (squares / of_each.T)[:, :, None] / M, size * np.log(M * of_each / shape.repeat)
    n_rows, left = n + (N - w)[:, None], (w * c)[:, None, None] * q
    np.maximum(np.subtract(1.0, left, out=left), 1e-12, out=left)
    distance = n_rows * np.square(c)[:, None] * np.divide(q, left, out=q).sum(axis=1)
    constant = log_det.sum(axis=0) - q.shape[1] * size * np.log(n_rows)
    value = constant + shape.repeat * (np.log(left, out=left).sum(axis=1) + distance)
    return np.asarray(-0.5 * (value + shape.D * np.log(2 * np.pi)))
