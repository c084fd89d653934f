"""Which rows belong together, for first clusters: K rows far from each other, and Lloyd's steps from there.

k-means++ draws rows far from each other under the Bregman divergence of the likelihood; every row then goes to the
nearest of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from topmix import _core
from topmix.base.threads import one_thread, threads

BLOCK = 4096  # rows of distances at a time


def sample_of(n: int, weight: np.ndarray | None, size: int, rng: np.random.Generator) -> np.ndarray:
    """At most `size` of n rows that have a weight, ascending."""
    usable = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    return np.sort(rng.choice(usable, min(len(usable), size), replace=False))


def divergences(z: np.ndarray, seeds: np.ndarray, zero_mean: bool, norm: np.ndarray | None = None) -> np.ndarray:
    """[K, N]: the Bregman divergence of the likelihood from rows to seeds. `norm` is ||z||^2, if known.

    Under fixed covariances that of a Gaussian is the squared distance. With zero means it is that of two covariances
    (Burg's, or LogDet), tr(S_n S_k^-1) - log |S_n S_k^-1| - D with S_n proportional to b I + z_n z_n', where b stands
    for the prior: a single row has no covariance.
    """
    norm = np.einsum("nd,nd->n", z, z) if norm is None else norm
    # A product of blocks may raise the flag of invalid numbers for what lies beyond the end of a matrix.
    with one_thread(), np.errstate(invalid="ignore"):
        dot = seeds @ z.T
    of_seed = np.einsum("kd,kd->k", seeds, seeds)[:, None]
    if not zero_mean:
        dot *= -2
        dot += norm
        dot += of_seed
        return np.maximum(dot, 0.0, out=dot)
    b = float(z.shape[1])
    trace = (norm - (b * of_seed + dot**2) / (b + of_seed)) / b
    return np.maximum(trace - np.log1p(norm / b) + np.log1p(of_seed / b), 0.0)


Distances = Callable[[np.ndarray], np.ndarray]  # of all rows from some, [some, rows]


def far_apart(
    distances: Distances, weight: np.ndarray, K: int, rng: np.random.Generator, *, several: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """K rows far from each other by k-means++, and for each row which of them is nearest. Rows repeat where there are
    fewer than clusters.

    As in scikit-learn each seed is the best of a few that were drawn: a row that is far from all is drawn often, and
    where it is an outlier it brings little. With `several` it is so for the first few alone; once there are dozens, an
    eighth as many again are drawn at once, so that the work is products of matrices.
    """
    n, n_tries = len(weight), 2 + int(np.log(K))
    chosen = [int(rng.choice(n, p=weight / weight.sum()))]
    nearest, label = distances(np.array(chosen))[0], np.zeros(n, np.int32)
    while len(chosen) < K:
        nearest[chosen] = 0.0
        mass = np.cumsum(nearest * weight, dtype=np.float64)
        if not mass[-1] > 0:  # no other rows are left
            chosen += rng.integers(n, size=K - len(chosen)).tolist()
            break
        together = min(max(1, len(chosen) // 8), K - len(chosen)) if several else 1
        at = np.searchsorted(mass, rng.random(n_tries if together == 1 else together) * mass[-1], side="right")
        at = at.clip(0, n - 1) if together == 1 else np.unique(at.clip(0, n - 1))
        new = distances(at)
        if together == 1:
            best = int(np.argmin(np.minimum(new, nearest) @ weight))
            at, new = at[[best]], new[[best]]
        which, least = new.argmin(axis=0), new.min(axis=0)
        is_nearer = least < nearest
        label[is_nearer] = len(chosen) + which[is_nearer]
        chosen += at.tolist()
        np.minimum(nearest, least, out=nearest)
    return np.array(chosen), label


def spread_rows(
    z: np.ndarray, weight: np.ndarray, K: int, rng: np.random.Generator, zero_mean: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The same under the Bregman divergence of a Gaussian."""
    norm = np.einsum("nd,nd->n", z, z)
    return far_apart(lambda rows: divergences(z, z[rows], zero_mean, norm), weight, K, rng)


def lloyd(
    x: np.ndarray, weight: np.ndarray, K: int, rng: np.random.Generator, steps: int, left: int = 0, least: float = 1e-6
) -> np.ndarray:
    """The group of each row: k-means++, then Lloyd's steps, in which a group that lost its rows stays where it was.

    Lloyd's steps end where two true groups share a centre and another has two. So a centre that is hardly missed is
    moved into the widest group, as long as rows get nearer to their centres, until that has failed `left` times. A
    move that takes less than `least` of the summed squared distances is a failure, though it is kept.
    """
    labels = spread_rows(x, weight, K, rng)[1]
    centres, best = _lloyd(x, weight, means(x, weight, K, labels), steps)
    left = left if K > 2 else 0
    while left:
        # The centre that rows would miss least goes to a row of the group with the largest spread.
        distances = divergences(x, centres.astype(x.dtype), zero_mean=False)
        labels = distances.argmin(axis=0)
        near, next_near = np.partition(distances, 1, axis=0)[:2]
        missed, wide = (np.bincount(labels, weight * d, K) for d in (next_near - near, near))
        lost = int(np.argmin(missed))
        wide[lost] = -1.0
        mass = np.cumsum(np.where(labels == np.argmax(wide), weight * near, 0.0))
        moved = centres.copy()
        moved[lost] = x[min(np.searchsorted(mass, rng.random() * mass[-1], side="right"), len(x) - 1)]
        others, spread = _lloyd(x, weight, moved, steps)
        left -= not spread < best * (1 - least)
        if spread < best * (1 - 1e-6):
            centres, best = others, spread
    return nearest(x, centres.astype(x.dtype))


def _lloyd(x: np.ndarray, weight: np.ndarray, centres: np.ndarray, steps: int) -> tuple[np.ndarray, float]:
    """Centres after these steps, or when they stay, and the summed squared distances of rows from them."""
    (K, D), squares = centres.shape, float(weight @ np.einsum("nd,nd->n", x, x, dtype=np.float64))
    spread = np.inf
    for _ in range(steps):
        W = centres.astype(x.dtype)
        constant = -0.5 * np.einsum("kd,kd->k", W, W)  # the nearest centre has the largest x c - c c / 2
        N, first = np.zeros(K), np.zeros((K, D))
        scores = (None, None, W, constant, "none", True, None)
        _core.visit_rows(x, None, *scores, weight, 1, 0.0, threads(), N, first, np.zeros((K, 0)))
        before, used = spread, N > 0
        centres = np.where(used[:, None], first / np.where(used, N, 1.0)[:, None], centres)
        spread = max(squares - float(N @ np.square(centres).sum(axis=1)), 0.0)  # not less by rounding
        if not spread < before:
            break
    return centres, spread


def nearest(x: np.ndarray, centres: np.ndarray, zero_mean: bool = False) -> np.ndarray:
    """For each row which centre is the nearest."""
    blocks = (divergences(x[a : a + BLOCK], centres, zero_mean) for a in range(0, len(x), BLOCK))
    return np.concatenate([block.argmin(axis=0) for block in blocks]).astype(np.int32)


def means(x: np.ndarray, weight: np.ndarray, K: int, labels: np.ndarray) -> np.ndarray:
    """[K, D], of the rows of each group; zero where it has none."""
    if K * len(x) < 1 << 20:  # a product of small matrices is quicker than to make a sparse one
        of_group = np.where(labels == np.arange(K)[:, None], weight, 0.0)
    else:
        of_group = sparse.csr_array((weight, (labels, np.arange(len(x)))), (K, len(x)))
    total = of_group @ x.astype(np.float64, copy=False)
    return total / np.maximum(np.bincount(labels, weight, K), 1e-300)[:, None]
