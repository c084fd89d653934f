"""A map of topics: positions in the plane, so that topics with the same words are near each other.

The distance of two topics is the Hellinger distance, from 0 (equal) to 1 (no common word). Classical scaling gives the
first positions. Stress majorisation (SMACOF) with weights 1 / distance^2 improves them; the weights favour small
distances. Among hundreds of topics most distances are nearly equal, which no plane can show. Then t-SNE, which keeps
only the nearest neighbours, computes the final positions.

`map_positions` is the map that pages and plots show: circles, with areas by the shares of topics, that do not overlap.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from topmix.data.rows import Rows
from topmix.metrics.matching import hellinger

__all__ = ["hellinger", "map_hues", "map_positions", "map_radii", "placed", "plane_positions", "row_positions"]

Floats = NDArray[np.float64]
TSNE_ABOVE = 100  # topics
SPREAD = 0.4  # of the rows of a cluster, by the distance to the nearest other one
FARTHEST = 2.5  # a row is at most so many spreads away from its place
QUICK_ABOVE, PROJECTED_ABOVE = 100, 1500  # topics; with more, a quick map or any is a projection
WIDEST, QUICK_WIDEST = 4000, 1000  # words that a projection looks at ...
MOST_NUMBERS = 10_000_000  # ... and their probabilities in all topics
SUBSPACE, ITERATIONS = 8, 12
TINY = 0.2  # of the mean share: smaller topics find their place after the others, and pages can hide them
FILLED, PACKED = 0.4, 0.62  # areas of all circles: of the unit disc; of what most of them are pressed into first
SMALLEST, GAP = 0.004, 1.04
LARGE = 2.0  # median radii
LISTED, FURTHER = 5, 1.1  # rounds for which pairs of circles are listed, and how much further apart these may be
OUTERMOST = 1.3  # times as far from the middle as nine tenths of the topics
MOST_PUSHES, MOST_PUSHED = 400, 400_000  # rounds, and circles in all of them
QUICK_PUSHES = 100


def map_radii(share: Floats) -> Floats:
    """[K] radii of the circles on a map: areas by share."""
    return np.maximum(np.sqrt(FILLED * share), SMALLEST)


def map_hues(positions: Floats) -> Floats:
    """[K] hues of topics in degrees, by their direction on the map: neighbours have similar colours."""
    return np.degrees(np.arctan2(positions[:, 1], positions[:, 0])) % 360.0


def map_positions(
    topic_word: Floats,
    share: Floats,
    before: Floats | None = None,
    *,
    distance: Floats | None = None,
    quick: bool = False,
) -> Floats:
    """[K, 2] centres of circles that do not overlap, near each other if topics use the same words, and turned to lie as
    near as they can to those from before. Equal topics give equal positions: nothing is random. `distance` are the
    Hellinger distances, where they are known. A quick map of many topics is a projection, turned like the map itself;
    its tiny topics, which pages can hide, lie on their nearest ones."""
    K, radius = len(share), map_radii(share)
    is_large = share >= TINY / K
    large = np.flatnonzero(is_large) if is_large.any() else np.arange(K)
    quick &= K > QUICK_ABOVE
    if quick:
        topic_word = topic_word[:, _widest(topic_word, QUICK_WIDEST)].astype(np.float32)
    if quick or K > PROJECTED_ABOVE:
        X = _projected(topic_word[large])
    else:
        X = plane_positions(hellinger(topic_word[large]) if distance is None else distance[np.ix_(large, large)])
    away = np.sqrt((X**2).sum(axis=1))
    most = float(np.quantile(away, 0.9))
    X = (
        X * np.minimum(1.0, OUTERMOST * most / np.maximum(away, 1e-300))[:, None]
    )  # one that is far off costs the others
    X = X * (np.sqrt((radius[large] ** 2).sum() / PACKED) / most if most > 0 else 1.0)
    if before is not None and len(before) == K:
        X = _aligned(X, before[large])
    found = np.full((K, 2), np.nan)
    found[large] = _pushed_apart(X, radius[large], most=QUICK_PUSHES if quick else MOST_PUSHES)
    return placed(found, topic_word, share, most=0 if quick else MOST_PUSHES)


def placed(positions: Floats, topic_word: Floats, share: Floats, *, most: int = MOST_PUSHES) -> Floats:
    """The same, where topics without a position (NaN) start at their nearest topic. The others stay where they are as
    far as there is room: tiny topics make way. Circles are pushed apart in at most so many rounds."""
    X, radius = positions.copy(), map_radii(share)
    is_new = np.isnan(X).any(axis=1)
    if is_new.any() and not is_new.all():
        there = np.flatnonzero(~is_new)
        distance = hellinger(topic_word[is_new].astype(np.float32), topic_word[there].astype(np.float32))
        X[is_new] = X[there[np.argmin(distance, axis=1)]]
    X = np.nan_to_num(X)
    is_tiny = (share < TINY / len(share)) if (share >= TINY / len(share)).any() else np.zeros(len(share), bool)
    X[~is_tiny] = _pushed_apart(X[~is_tiny], radius[~is_tiny], most=most)
    if is_tiny.any() and most:  # into the gaps, and then gaps are made for those that found none
        X = _pushed_apart(_pushed_apart(X, radius, ~is_tiny), radius)
    return np.round(X, 4)


def _pushed_apart(
    X: Floats, radius: Floats, is_fixed: NDArray[np.bool_] | None = None, *, most: int = MOST_PUSHES
) -> Floats:
    """Centres of circles, moved until none overlap by more than a few hundredths. Small circles make way for large."""
    X, n = X.copy(), len(X)
    mass = radius**2 if is_fixed is None else np.where(is_fixed, 1e9, radius**2)
    turn = np.pi * (3 - np.sqrt(5)) * np.arange(n)  # for circles in one place: each goes another way
    rounds = min(max(min(MOST_PUSHES, MOST_PUSHED // max(n, 1)), 40), most)
    listed = 0  # rounds since those that are near were looked for: circles move little in a few
    rounds = rounds if is_fixed is None else 40
    for n_round in range(rounds):
        if n_round > 0.9 * rounds:
            listed = 0
        if listed == 0:
            near = _near(X, FURTHER * radius)
        listed = (listed + 1) % LISTED
        i, j = near
        apart = X[i] - X[j]
        distance = np.sqrt((apart**2).sum(axis=1))
        overlap = GAP * (radius[i] + radius[j]) - distance
        hit = overlap > 0.03 * np.minimum(radius[i], radius[j])
        if is_fixed is not None:
            hit &= ~(is_fixed[i] & is_fixed[j])
        if not hit.any():
            if listed == 1 % LISTED:
                break
            listed = 0
            continue
        i, j, apart, distance, overlap = i[hit], j[hit], apart[hit], distance[hit], overlap[hit]
        same = distance < 1e-9
        apart[same], distance[same] = np.stack([np.cos(turn[j[same]]), np.sin(turn[j[same]])], axis=1), 1.0
        push = apart * (0.6 * overlap / distance / (mass[i] + mass[j]))[:, None]
        for axis, of_axis in enumerate(push.T):
            X[:, axis] += np.bincount(i, of_axis * mass[j], n) - np.bincount(j, of_axis * mass[i], n)
    return X


def _near(X: Floats, radius: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of circles, among them all that touch. Large ones look for the others by themselves: if all looked as far
    as they, every circle would be near every other."""
    from scipy.spatial import cKDTree

    usual = LARGE * float(np.median(radius))
    small, large = np.flatnonzero(radius <= usual), np.flatnonzero(radius > usual)
    tree = cKDTree(X[small])
    pairs = [small[tree.query_pairs(2 * GAP * usual, output_type="ndarray")]]
    if len(large):
        pairs.append(large[cKDTree(X[large]).query_pairs(2 * GAP * radius.max(), output_type="ndarray")])
        near = tree.query_ball_point(X[large], GAP * (radius[large] + usual))
        sizes = [len(each) for each in near]
        others = small[np.concatenate(near).astype(np.intp)]
        pairs.append(np.stack([np.repeat(large, sizes), others], axis=1))
    i, j = np.concatenate(pairs).reshape(-1, 2).T
    return i, j


def _widest(topic_word: Floats, n: int) -> NDArray[np.intp]:
    """The columns of the n words that topics have most of."""
    return np.sort(np.argsort(-topic_word.mean(axis=0), kind="stable")[:n])


def _projected(topic_word: Floats) -> Floats:
    """The two directions in which topics differ most, spread so that the crowd in the middle can be seen."""
    root = np.sqrt(topic_word[:, _widest(topic_word, min(WIDEST, max(MOST_NUMBERS // len(topic_word), 100)))])
    root -= root.mean(axis=0)
    X = np.random.default_rng(0).normal(size=(len(root), SUBSPACE)).astype(root.dtype)
    for _ in range(ITERATIONS):  # subspace iteration: only two directions are wanted
        X = np.linalg.qr(root @ (root.T @ X))[0]
    X = X @ np.linalg.svd(X.T @ root, full_matrices=False)[0][:, :2]
    X = X * np.where(X[np.argmax(np.abs(X), axis=0), [0, 1]] < 0, -1.0, 1.0)  # the sign of a vector is arbitrary
    radius = np.sqrt((X**2).sum(axis=1))
    rank = np.argsort(np.argsort(radius, kind="stable"), kind="stable")
    return X / np.maximum(radius, 1e-300)[:, None] * np.sqrt((rank + 0.5) / len(X))[:, None]


def _aligned(X: Floats, before: Floats) -> Floats:
    """Procrustes: the rotation or reflection of X that is nearest to `before`."""
    U, _, Vt = np.linalg.svd(X.T @ before)
    return np.asarray(X @ (U @ Vt))


def plane_positions(distance: Floats) -> Floats:
    """[K, 2] positions in the unit disc. Equal distances give equal positions: nothing is random."""
    K = len(distance)
    with threadpool_limits(1):  # the same result for any number of cores
        X = _classical_scaling(distance)
        if K > 2:
            X = _majorise_stress(X, np.maximum(distance, 1e-3), 60 if K <= TSNE_ABOVE else 10)
        if K > TSNE_ABOVE:
            X = _tsne(X, distance)
    X = X - X.mean(axis=0)
    radius = np.sqrt((X**2).sum(axis=1))
    return X / radius.max() if radius.max() > 0 else X


def row_positions(rows: Rows, shares: sp.csr_array, means: Floats, places: Floats) -> NDArray[np.float32]:
    """[N, 2] where rows lie on a map of their clusters: around the place of their cluster, between places where they
    belong to several.

    What is left of a row without its cluster moves it towards the clusters that lie in that direction: by the linear
    map that takes the means [K, D] of clusters to their places [K, 2]. Nothing is random, and a row costs 2 D products.
    """
    with threadpool_limits(1):  # the same result for any number of cores
        centred, of_places = means - means.mean(axis=0), places - places.mean(axis=0)
        gram = centred @ centred.T
        gram[np.diag_indices(len(gram))] += 1e-3 * max(float(np.trace(gram)) / len(gram), 1e-300)
        W = centred.T @ np.linalg.solve(gram, of_places)  # [D, 2]
        along = means @ W
        left = np.empty((len(rows), 2))
        begin = 0
        for block in rows.blocks():
            part = slice(begin, begin + len(block))
            left[part] = np.asarray(block @ W.astype(block.dtype), np.float64) - shares[part] @ along
            begin += len(block)
        values, vectors = np.linalg.eigh(left.T @ left / max(len(left), 1))
        left = (left @ vectors) / np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300))) @ vectors.T
        main = shares.argmax(axis=1).ravel()
    n = np.maximum(np.bincount(main, minlength=len(places)), 1)
    size = np.sqrt(np.bincount(main, weights=(left**2).sum(axis=1), minlength=len(places)) / n)
    left *= (_room(places) / np.maximum(size, 1e-12))[main, None]
    length = np.sqrt((left**2).sum(axis=1)) / np.maximum(_room(places)[main], 1e-12)
    left /= np.maximum(length / FARTHEST, 1.0)[:, None]
    return np.asarray(shares @ places + left, np.float32)


def _room(places: Floats) -> Floats:
    """[K] how far the rows of a cluster spread: by the distance to the nearest other place."""
    distance = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    nearest = distance.min(axis=1, initial=np.inf)
    usual = float(np.median(nearest)) if np.isfinite(nearest).all() else 1.0
    return SPREAD * np.clip(nearest, 0.3 * usual, usual) if len(places) > 1 else np.full(1, SPREAD)


def _tsne(X: Floats, distance: Floats) -> Floats:
    """t-SNE, started from X. It puts topics without neighbours far outside, so large radii are compressed."""
    from sklearn.manifold import TSNE

    start = 1e-2 * X / max(float(np.abs(X).max()), 1e-12)
    tsne = TSNE(
        metric="precomputed", init=start, perplexity=20, early_exaggeration=4, max_iter=300, random_state=0
    )  # fmt: skip
    X = np.asarray(tsne.fit_transform(distance), dtype=np.float64)
    X -= np.median(X, axis=0)
    radius = np.sqrt((X**2).sum(axis=1, keepdims=True)) / np.quantile(np.sqrt((X**2).sum(axis=1)), 0.9)
    return X * np.where(radius > 1, (1 + np.log(np.maximum(radius, 1))) / np.maximum(radius, 1e-12), 1.0)


def _classical_scaling(distance: Floats) -> Floats:
    K = len(distance)
    square = distance**2
    centred = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean())
    values, vectors = np.linalg.eigh(centred)
    X = np.zeros((K, 2))
    for axis in range(min(2, K)):
        vector = vectors[:, -1 - axis]
        sign = 1.0 if vector[np.argmax(np.abs(vector))] > 0 else -1.0  # the sign of an eigenvector is arbitrary
        X[:, axis] = sign * vector * np.sqrt(max(values[-1 - axis], 0.0))
    return X


def _majorise_stress(X: Floats, distance: Floats, n_steps: int) -> Floats:
    """Reduces sum_ij w_ij (d_ij - |x_i - x_j|)^2 with w = 1 / d^2. A step solves the Laplacian system V X' = B(X) X."""
    K = len(X)
    X = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)  # equal points would never separate
    weight = distance**-2.0
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.inv(laplacian + 1.0 / K) - 1.0 / K  # pseudo-inverse: positions have mean 0
    for _ in range(n_steps):
        gap = np.sqrt(np.maximum(((X[:, None] - X[None]) ** 2).sum(axis=2), 1e-18))
        ratio = weight * distance / gap
        np.fill_diagonal(ratio, 0.0)
        X = inverse @ (ratio.sum(axis=1)[:, None] * X - ratio @ X)
    return X
