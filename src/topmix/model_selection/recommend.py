"""The recommended number of topics: the smallest whose score is as good as the best.

The difference of two sizes is a mean over held-out documents and over seeds, and both make it uncertain:

    se² = se_documents² + s² / n_best + s² / n_other

se_documents is the standard error of the mean difference per token, over documents that both sizes predict; s is the
standard deviation between seeds, pooled over sizes. A size is as good as the best if its score is lower by at most one
standard error, or by at most `tolerance`: with many documents, differences that nobody would notice are significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topmix.metrics.counts import Floats
from topmix.model_selection.measure import Size

UNSTABLE = 0.5  # cosine of matched topics


class Recommendation(NamedTuple):
    n_components: int | None  # None if no size has a finite score
    reason: str
    allowed: float  # how far below the best score is as good as the best, for the size that was chosen
    between: tuple[int, int] | None = None  # sizes that the data does not tell apart


def recommend(sizes: Sequence[Size], n_tokens: Floats, tolerance: float) -> Recommendation:
    """sizes: smallest first. n_tokens [D]: held-out words of each document."""
    finite = [size for size in sizes if np.isfinite(size.mean("score"))]
    if not finite:
        return Recommendation(None, "No size has a finite score: a held-out word has probability 0 in all topics.", 0.0)
    best = max(finite, key=lambda size: size.mean("score"))
    between = _variance_between_seeds(finite)
    for chosen in finite:
        error = standard_error(best, chosen, n_tokens, between)
        if best.mean("score") - chosen.mean("score") <= max(tolerance, error):
            break
    last = _largest_as_good(chosen, best, finite, n_tokens, between, tolerance)
    smaller = [size for size in finite if size.n_components < chosen.n_components]
    said = [
        _because_of_score(chosen, best, smaller, n_tokens, between, tolerance),
        _as_good(chosen, last),
        _edges(chosen, best, sizes),
        _other_measures(chosen, finite),
        "Scores of one seed: how much they vary between seeds is unknown." if chosen.n_seeds == 1 else "",
    ]
    sizes_as_good = None if last is chosen else (chosen.n_components, last.n_components)
    return Recommendation(chosen.n_components, " ".join(filter(None, said)), max(tolerance, error), sizes_as_good)


def _largest_as_good(
    chosen: Size, best: Size, sizes: Sequence[Size], n_tokens: Floats, between: float, tolerance: float
) -> Size:
    """Of the sizes after the chosen one, one by one, the last whose score is as good as the best and whose topics are
    not clearly less stable."""
    last, least = chosen, chosen.stability_interval()[0]
    for size in (size for size in sizes if size.n_components > chosen.n_components):
        gap, error = best.mean("score") - size.mean("score"), standard_error(best, size, n_tokens, between)
        if gap > max(tolerance, error) or size.stability_interval()[1] < least:
            break
        last = size
    return last


def _as_good(chosen: Size, last: Size) -> str:
    if last is chosen:
        return ""
    return (
        f"The data does not tell sizes between {chosen.n_components} and {last.n_components} apart: they predict as "
        "well, and their topics are as stable."
        if np.isfinite(chosen.mean("stability"))
        else f"Sizes between {chosen.n_components} and {last.n_components} predict as well."
    )


def standard_error(best: Size, other: Size, n_tokens: Floats, between: float) -> float:
    """Of the difference of the scores of two sizes; 0 for a size and itself."""
    if best is other:
        return 0.0
    difference, total = best.log_likelihood() - other.log_likelihood(), n_tokens.sum()
    left = difference - difference.sum() / total * n_tokens
    n = int(np.count_nonzero(n_tokens))
    of_documents = n / max(n - 1, 1) * (left @ left) / total**2
    return float(np.sqrt(of_documents + between / best.n_seeds + between / other.n_seeds))


def _variance_between_seeds(sizes: Sequence[Size]) -> float:
    """Of scores, pooled over sizes; 0 if every size has one seed."""
    squares = sum((size.n_seeds - 1) * size.spread("score") ** 2 for size in sizes if size.n_seeds > 1)
    return float(squares / max(sum(size.n_seeds - 1 for size in sizes), 1))


def _because_of_score(
    chosen: Size, best: Size, smaller: Sequence[Size], n_tokens: Floats, between: float, tolerance: float
) -> str:
    K, score = chosen.n_components, chosen.mean("score")
    if chosen is not best:
        gap, error = best.mean("score") - score, standard_error(best, chosen, n_tokens, between)
        limit = f"the tolerance is {tolerance:g}" if tolerance >= error else "that is within the standard error"
        return (
            f"{K} is the smallest size that predicts as well as the best: its score, {score:.3f}, is {gap:.3f} below "
            f"that of {best.n_components} topics ({limit}; the standard error of the difference is {error:.3f})."
        )
    text = f"{K} topics have the best score, {score:.3f}."
    if smaller:
        next_best = max(smaller, key=lambda size: size.mean("score"))
        gap, error = score - next_best.mean("score"), standard_error(best, next_best, n_tokens, between)
        text += (
            f" The best smaller size, {next_best.n_components}, is {gap:.3f} lower: more than the tolerance, "
            f"{tolerance:g}, and than the standard error, {error:.3f}."
        )
    return text


def _edges(chosen: Size, best: Size, sizes: Sequence[Size]) -> str:
    """What to try if the answer may lie outside of the sizes that were tried."""
    if len(sizes) == 1:
        return "It is the only size that was tried."
    K = chosen.n_components
    if chosen is sizes[-1]:
        return f"It is the largest size that was tried, and more topics may be better: try {2 * K} and {4 * K} as well."
    if chosen is sizes[0] and K > 2:
        fewer = "be better" if chosen is best else "predict as well"
        return f"It is the smallest size that was tried, and fewer topics may {fewer}: try {max(K // 2, 2)} as well."
    if best is sizes[-1]:
        return "The score still rises at the largest size, but by too little to matter."
    return ""


def _other_measures(chosen: Size, sizes: Sequence[Size]) -> str:
    text = []
    for measure in ("coherence", "stability"):
        value = chosen.mean(measure)
        if not np.isfinite(value):
            continue
        others = [size for size in sizes if np.isfinite(size.mean(measure))]
        top = max(others, key=lambda size: size.mean(measure))
        where = (
            "the highest of all sizes" if top is chosen else f"{top.n_components} topics have {top.mean(measure):.3f}"
        )
        text.append(f"{measure.capitalize()} is {value:.3f}" + (f" ({where})." if len(others) > 1 else "."))
    if chosen.mean("stability") < UNSTABLE:
        text.append("Many topics differ from seed to seed: look at more than one fit, or take fewer topics.")
    return " ".join(text)
