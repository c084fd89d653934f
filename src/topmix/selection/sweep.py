"""`topmix.sweep`: fits of several numbers of topics, each with several seeds, scored on the same held-out documents.

It recommends the smallest number whose score is as good as the best.

The difference of two sizes is a mean over held-out documents and over seeds, and both make it uncertain:

    se² = se_documents² + s² / n_best + s² / n_other

se_documents is the standard error of the mean difference per token, over documents that both sizes predict; s is the
standard deviation between seeds, pooled over sizes. A size is as good as the best if its score is lower by at most one
standard error, or by at most `tolerance`: with many documents, differences that nobody would notice are significant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from topmix.base.checks import count_of_components, is_plural, number_from, whole_number
from topmix.base.component import is_whole
from topmix.estimators import LDA
from topmix.estimators.estimator import Estimator, output_kind
from topmix.estimators.topics import TopicEstimator
from topmix.estimators.vectors import VectorMixture
from topmix.io.reading import How
from topmix.results.measures import Floats
from topmix.selection.measure import MeasuredFit, Size, hold_out, measured, with_stability
from topmix.selection.result import SweepResult
from topmix.selection.runs import FitData, PlannedFit, SweepProgress, checked_estimator, runs

UNSTABLE = 0.5  # cosine of matched topics


def sweep(
    data: object,
    n_components: Iterable[int] = (20, 50, 100, 200),
    *,
    seeds: int | Iterable[int] = 3,
    estimator: Estimator | None = None,
    groups: object = None,
    texts: object = None,
    held_out: float | None = None,
    tolerance: float = 0.01,
    text: str | Sequence[str] | None = None,
    vectorizer: object = None,
    feature_names: Sequence[str] | None = None,
    layer: str | None = None,
    metadata: object = None,
    random_state: int = 0,
    verbose: int = 1,
) -> SweepResult:
    """Fits topic models of several sizes with several seeds, measures them, and recommends a size.

    Every fit learns from the same documents and is scored on the same held-out documents. Ctrl-C ends the sweep and
    returns what has been measured so far. The models are not kept: fit the size that you choose on all documents.

    Parameters
    ----------
    data
        Documents, as `LDA.fit` takes them: texts, a matrix, a table, a Corpus, a path. Or vectors, as the estimator
        takes them.
    n_components : list of int
        The numbers of topics to try.
    seeds : int or list of int
        How many fits to make of each size, or their random seeds. Stability needs two or more.
    estimator : topic model or None
        What to fit, with its parameters; n_components and random_state are set. None is `LDA()`. GaussianMixture and
        VonMisesFisherMixture work as well: their score is the mean log likelihood of a held-out row. So do
        GaussianAdmixture and VonMisesFisherAdmixture: groups are held out, and the score is the `completion_score` of
        their rows.
    groups
        The group of each row, as the admixture takes it.
    texts
        The texts beside vectors, for the coherence of the words of clusters: one for each row, or for each group.
    held_out : float, int or None
        The share or number of documents to score. None is a tenth of them, at least 50 (if that is no more than a
        third) and at most 2,000.
    tolerance : float
        Scores that differ by less count as equal, in nats per token (or row). 0.01 is one percent of perplexity.
    text, vectorizer, feature_names, layer, metadata
        How to read the data, and what its topics depend on, as in `LDA.fit`.
    random_state : int
        Chooses the documents that are held out.
    verbose : int
        1 shows progress on stderr: a bar on a terminal, a line per fit elsewhere. 0 shows nothing.

    Examples
    --------
    >>> import topmix
    >>> from topmix.data import sample_lda
    >>> corpus = sample_lda(300, 80, 4, doc_length=60, random_state=0).corpus
    >>> result = topmix.sweep(corpus, [2, 4, 8], seeds=2, verbose=0)
    >>> result.recommended
    4
    """
    sizes, chosen_seeds = _sizes(n_components), _seeds(seeds)
    estimator = checked_estimator(LDA() if estimator is None else estimator, TopicEstimator | VectorMixture)
    if estimator.get_params(deep=False).get("search") is not None:
        name = type(estimator).__name__
        raise ValueError(f"{name} searches the number of topics by itself: fit it alone, or with search=None")
    least = number_from(tolerance, "tolerance", 0.0)
    seed_of_split = whole_number(random_state, "random_state", least=0)
    how = How(text, vectorizer, feature_names, layer)
    everything = FitData.read(estimator, data, how, groups=groups, texts=texts, metadata=metadata)
    split = hold_out(everything.corpus, held_out, seed_of_split)
    columns = {name: values[split.rows] for name, values in everything.columns.items()}
    train = FitData(split.train, everything.reading, columns)
    if sizes[-1] > train.n_rows:
        what = "documents" if train.n_rows == split.train.n_docs else "rows"
        raise ValueError(
            f"n_components has {sizes[-1]}, but there are only {train.n_rows} {what} to learn from, besides "
            f"the {split.test.n_docs} that are held out: try fewer topics"
        )
    score = partial(measured, data=split)
    fits: list[MeasuredFit] = []
    of_size: list[tuple[MeasuredFit, Floats]] = []  # with the topics of the present size alone
    plan = [PlannedFit(f"{K} topics, seed {seed}", K, seed) for K in sizes for seed in chosen_seeds]
    try:
        with SweepProgress(plan, verbose) as progress:
            for found in runs(estimator, train, plan, score, progress):
                of_size.append(found)
                if len(of_size) == len(chosen_seeds):
                    fits += with_stability(of_size, split.frequency)
                    of_size = []
    except KeyboardInterrupt:
        fits += with_stability(of_size, split.frequency)
        if not fits:
            raise
    interrupted = len(fits) < len(plan)
    measured_sizes = [Size(K, tuple(group)) for K, group in groupby(fits, key=attrgetter("n_components"))]
    answer = recommend(measured_sizes, fits[0].n_scored, least)
    reason = answer.reason
    if interrupted:
        reason = f"Stopped by Ctrl-C after {len(fits)} of {len(plan)} fits; this is of what was measured. {reason}"
    return SweepResult(
        sizes=tuple(measured_sizes),
        recommended=answer.n_components,
        reason=reason,
        allowed=answer.allowed,
        interrupted=interrupted,
        estimator=type(estimator).__name__,
        n_docs=split.train.n_docs,
        n_held_out=split.test.n_docs,
        n_tokens=float(split.train.n_tokens),
        n_words=split.train.n_words,
        tolerance=least,
        between=answer.between,
        frame=output_kind(estimator) or everything.reading.frame,
    )


def _sizes(n_components: object) -> list[int]:
    given = [n_components] if is_whole(n_components) else n_components
    if not is_plural(given):
        raise ValueError(f"n_components must be a list of numbers of topics, such as [20, 50, 100], got {given!r}")
    sizes = {count_of_components(K) for K in given}
    if not sizes:
        raise ValueError("n_components is empty: pass the numbers of topics to try, such as [20, 50, 100]")
    return sorted(sizes)


def _seeds(seeds: object) -> list[int]:
    if not is_plural(seeds):
        return list(range(whole_number(seeds, "seeds")))
    chosen = [whole_number(seed, "a seed", least=0) for seed in seeds]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"seeds must be a number, or a list of different seeds, got {seeds!r}")
    return chosen


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
    # The variance of scores between seeds, pooled over sizes; 0 if every size has one seed.
    squares = sum((size.n_seeds - 1) * size.spread("score") ** 2 for size in finite if size.n_seeds > 1)
    between = float(squares / max(sum(size.n_seeds - 1 for size in finite), 1))
    error = {size.n_components: standard_error(best, size, n_tokens, between) for size in finite}
    gap = {size.n_components: best.mean("score") - size.mean("score") for size in finite}
    as_good = {n for n in gap if gap[n] <= max(tolerance, error[n])}
    chosen = next(size for size in finite if size.n_components in as_good)
    K, score, own_error = chosen.n_components, chosen.mean("score"), error[chosen.n_components]
    last, least = chosen, chosen.stability_interval()[0]
    for size in (size for size in finite if size.n_components > K):
        if size.n_components not in as_good or size.stability_interval()[1] < least:  # topics are clearly less stable
            break
        last = size
    if chosen is not best:
        limit = f"the tolerance is {tolerance:g}" if tolerance >= own_error else "that is within the standard error"
        said = [
            f"{K} is the smallest size that predicts as well as the best: its score, {score:.3f}, is {gap[K]:.3f} "
            f"below that of {best.n_components} topics ({limit}; the standard error of the difference is "
            f"{own_error:.3f})."
        ]
    else:
        said = [f"{K} topics have the best score, {score:.3f}."]
        if smaller := [size for size in finite if size.n_components < K]:
            second = max(smaller, key=lambda size: size.mean("score")).n_components
            said.append(
                f"The best smaller size, {second}, is {gap[second]:.3f} lower: more than the tolerance, {tolerance:g}, "
                f"and than the standard error, {error[second]:.3f}."
            )
    if last is not chosen:
        stable = ", and their topics are as stable" if np.isfinite(chosen.mean("stability")) else ""
        said.append(
            f"The data does not tell sizes between {K} and {last.n_components} apart: they predict as well{stable}."
        )
    said.append(_edges(chosen, best, sizes))
    if chosen.mean("stability") < UNSTABLE:
        said.append("Many topics differ from seed to seed: look at more than one fit, or take fewer topics.")
    if chosen.n_seeds == 1:
        said.append("Scores of one seed: how much they vary between seeds is unknown.")
    alike = None if last is chosen else (K, last.n_components)
    return Recommendation(K, " ".join(filter(None, said)), max(tolerance, own_error), alike)


def standard_error(best: Size, other: Size, n_tokens: Floats, between: float) -> float:
    """Of the difference of the scores of two sizes; 0 for a size and itself."""
    if best is other:
        return 0.0
    difference, total = best.log_likelihood() - other.log_likelihood(), n_tokens.sum()
    left = difference - difference.sum() / total * n_tokens
    n = int(np.count_nonzero(n_tokens))
    of_documents = n / max(n - 1, 1) * (left @ left) / total**2
    return float(np.sqrt(of_documents + between / best.n_seeds + between / other.n_seeds))


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
