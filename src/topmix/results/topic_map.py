"""A map of topics: positions in the plane, so that topics with the same words are near each other.

The distance of two topics is the Hellinger distance, from 0 (equal) to 1 (no common word). Classical scaling gives the
first positions, and stress majorisation (SMACOF) improves them. Among hundreds of topics most distances are nearly
equal, which no plane can show. Then t-SNE, which keeps only the nearest neighbours, computes the final positions.

`map_positions` is the map that pages and plots show: circles, with areas by the shares of topics, that do not overlap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from topmix.results.measures import hellinger

Floats = NDArray[np.float64]
TSNE_ABOVE = 100  # topics
SAME = 1e-6  # topics at most this far from each other are one on the map
PROJECTED_ABOVE = 1500  # topics; the map of more is a projection
WIDEST = 4000  # words that a projection looks at ...
MOST_NUMBERS = 10_000_000  # ... and their probabilities in all topics
STEPS = 60  # of stress majorisation
TINY = 0.2  # of the mean share: smaller topics find their place after the others, and pages can hide them
FILLED, PACKED = 0.4, 0.62  # areas of all circles: of the unit disc; of what most of them are pressed into first
SMALLEST, GAP = 0.004, 1.04
LISTED, FURTHER = 5, 1.1  # rounds for which pairs of circles are listed, and how much further apart these may be
OUTERMOST = 1.3  # times as far from the middle as nine tenths of the topics
MOST_PUSHES, MOST_PUSHED = 800, 800_000  # rounds, and circles in all of them


def map_radii(share: Floats) -> Floats:
    """[K] radii of the circles on a map: areas by share."""
    return np.maximum(np.sqrt(FILLED * share), SMALLEST)


def map_hues(positions: Floats) -> Floats:
    """[K] hues of topics in degrees, by their direction on the map: neighbours have similar colours."""
    return np.degrees(np.arctan2(positions[:, 1], positions[:, 0])) % 360.0


def map_positions(
    topic_word: Floats, share: Floats, before: Floats | None = None, *, distance: Floats | None = None
) -> Floats:
    """[K, 2] centres of circles that do not overlap, near each other if topics use the same words, and turned to lie as
    near as they can to those from before. Equal topics give equal positions: nothing is random. `distance` are the
    Hellinger distances, where they are known."""
    from scipy.linalg import orthogonal_procrustes

    K, radius = len(share), map_radii(share)
    is_large = share >= TINY / K
    large = np.flatnonzero(is_large) if is_large.any() else np.arange(K)
    if K > PROJECTED_ABOVE:
        from sklearn.decomposition import PCA  # here, because it takes a while to load

        # The two directions in which topics differ most, spread so that the crowd in the middle can be seen.
        phi, n = topic_word[large], min(WIDEST, max(MOST_NUMBERS // len(large), 100))
        widest = np.sort(np.argsort(-phi.mean(axis=0), kind="stable")[:n])  # words that topics have most of
        root = np.sqrt(phi[:, widest])
        X = PCA(2, whiten=True, svd_solver="randomized", random_state=0).fit_transform(root)
        away = np.sqrt((X**2).sum(axis=1))
        rank = np.argsort(np.argsort(away, kind="stable"), kind="stable")
        X = X / np.maximum(away, 1e-300)[:, None] * np.sqrt((rank + 0.5) / len(X))[:, None]
    else:
        X = plane_positions(hellinger(topic_word[large]) if distance is None else distance[np.ix_(large, large)])
    away = np.sqrt((X**2).sum(axis=1))
    most = float(np.quantile(away, 0.9))
    # One that is far off costs the others.
    X = X * np.minimum(1.0, OUTERMOST * most / np.maximum(away, 1e-300))[:, None]
    X = X * (np.sqrt((radius[large] ** 2).sum() / PACKED) / most if most > 0 else 1.0)
    if before is not None and len(before) == K:
        X = X @ orthogonal_procrustes(X, before[large])[0]
    found = np.full((K, 2), np.nan)
    found[large] = _pushed_apart(X, radius[large])
    return placed(found, topic_word, share)


def placed(positions: Floats, topic_word: Floats, share: Floats) -> Floats:
    """The same, where topics without a position (NaN) start at their nearest topic. The others stay where they are as
    far as there is room: tiny topics make way."""
    X, radius = positions.copy(), map_radii(share)
    is_new = np.isnan(X).any(axis=1)
    if is_new.any() and not is_new.all():
        there = np.flatnonzero(~is_new)
        distance = hellinger(topic_word[is_new].astype(np.float32), topic_word[there].astype(np.float32))
        X[is_new] = X[there[np.argmin(distance, axis=1)]]
    X = np.nan_to_num(X)
    is_tiny = (share < TINY / len(share)) if (share >= TINY / len(share)).any() else np.zeros(len(share), bool)
    X[~is_tiny] = _pushed_apart(X[~is_tiny], radius[~is_tiny])
    if is_tiny.any():  # into the gaps, and then gaps are made for those that found none
        X = _pushed_apart(_pushed_apart(X, radius, ~is_tiny), radius)
    return np.round(X, 4)


def _pushed_apart(X: Floats, radius: Floats, is_fixed: NDArray[np.bool_] | None = None) -> Floats:
    """Centres of circles, moved until none overlap by more than a few hundredths. Small circles make way for large."""
    X, n = X.copy(), len(X)
    is_fixed = np.zeros(n, bool) if is_fixed is None else is_fixed
    mass = np.where(is_fixed, 1e9, radius**2)
    turn = np.pi * (3 - np.sqrt(5)) * np.arange(n)  # for circles in one place: each goes another way
    rounds = 40 if is_fixed.any() else min(max(MOST_PUSHED // max(n, 1), 40), MOST_PUSHES)
    age = LISTED  # of the list of those that are near: circles move little in a few rounds
    for n_round in range(rounds):
        if age == LISTED or n_round > 0.9 * rounds:
            near, age = _near(X, FURTHER * radius), 0
        age += 1
        i, j = near
        apart = X[i] - X[j]
        distance = np.sqrt((apart**2).sum(axis=1))
        overlap = GAP * (radius[i] + radius[j]) - distance
        hit = (overlap > 0.03 * np.minimum(radius[i], radius[j])) & ~(is_fixed[i] & is_fixed[j])
        if not hit.any():
            if age == 1:
                break
            age = LISTED
            continue
        i, j, apart, distance, overlap = i[hit], j[hit], apart[hit], distance[hit], overlap[hit]
        same = distance < 1e-9
        apart[same], distance[same] = np.stack([np.cos(turn[j[same]]), np.sin(turn[j[same]])], axis=1), 1.0
        push = apart * (0.6 * overlap / distance / (mass[i] + mass[j]))[:, None]
        for axis, of_axis in enumerate(push.T):
            X[:, axis] += np.bincount(i, of_axis * mass[j], n) - np.bincount(j, of_axis * mass[i], n)
    return X


def _near(X: Floats, radius: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of circles, among them all that touch: the larger of two finds the smaller within twice its radius."""
    from scipy.spatial import cKDTree

    near = cKDTree(X).query_ball_point(X, 2 * GAP * radius)
    i = np.repeat(np.arange(len(X)), [len(each) for each in near])
    j = np.concatenate(near).astype(np.intp)
    is_first = (radius[j] < radius[i]) | ((radius[j] == radius[i]) & (j < i))
    return i[is_first], j[is_first]


def plane_positions(distance: Floats) -> Floats:
    """[K, 2] positions in the unit disc. Equal distances give equal positions: nothing is random."""
    from sklearn.decomposition import KernelPCA
    from sklearn.manifold import TSNE, smacof

    K, X = len(distance), np.zeros((len(distance), 2))
    # SMACOF divides by the sum of the distances.
    if distance.max(initial=0.0) < SAME:
        return X
    with threadpool_limits(1):  # the same result for any number of cores
        if K > 2:
            X = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(-0.5 * distance**2)
            X = smacof(distance, init=X, n_init=1, max_iter=STEPS, random_state=0)[0]
        elif K == 2:
            X[1, 0] = distance[0, 1]
        if K > TSNE_ABOVE:
            start = 1e-2 * X / max(float(np.abs(X).max()), 1e-12)
            tsne = TSNE(
                metric="precomputed", init=start, perplexity=20, early_exaggeration=4, max_iter=300, random_state=0
            )
            X = np.asarray(tsne.fit_transform(distance), dtype=np.float64)
            X -= np.median(X, axis=0)
            # It puts topics without neighbours far outside, so large radii are compressed.
            away = np.sqrt((X**2).sum(axis=1, keepdims=True))
            ratio = away / np.quantile(away, 0.9)
            X *= np.where(ratio > 1, (1 + np.log(np.maximum(ratio, 1))) / np.maximum(ratio, 1e-12), 1.0)
    X = X - X.mean(axis=0)
    radius = np.sqrt((X**2).sum(axis=1))
    return X / radius.max() if radius.max() > 0 else X
