"""`topmix.consensus`: fits of many seeds and samples of documents, matched topic by topic, and one model of them all.

Fits come in pairs: the documents are cut in two at random, and each half is fitted, with a seed of its own. So the two
of a pair share no document, and what both find is in the data. The model of the consensus is learned from all
documents, in one pass that starts from the mean of the matched topic proportions of each document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from topmix.base.checks import count_of_components, is_plural, whole_number
from topmix.estimators import HDP, LDA, CombinatorialLDA, GibbsLDA
from topmix.estimators.estimator import Estimator, output_kind
from topmix.estimators.mixture import MixtureEstimator
from topmix.estimators.topics import TopicEstimator
from topmix.io.documents import refuse_iterator
from topmix.io.reading import How
from topmix.results.measures import (
    Comparison,
    Floats,
    UnitRows,
    align,
    centred,
    compare,
    mean_shares,
    memberships,
    top_ids,
)
from topmix.results.view import FOLLOWED_WORDS, Pairs, Reproducibility
from topmix.selection.measure import ALIKE, Z
from topmix.selection.result import ConsensusResult
from topmix.selection.runs import FitData, PlannedFit, SweepProgress, checked_estimator, runs
from topmix.selection.views import fitted_of, view_of
from topmix.steps.inference import Collapsed

SWEEPS = 30  # of the default fits: topics are found as well as with 150, docs/consensus.md
TOPICS = 50
POLISHING = 1  # passes over all documents, from the mean of the fits
FOR_PRIORS = 3  # where topics depend on columns, which is learned between passes
GIBBS_SHARE = 4  # the last chain, which begins at the consensus, has a quarter of the sweeps


def consensus(
    data: object,
    k: int | None = None,
    *,
    fits: int | Iterable[object] = 20,
    estimator: Estimator | None = None,
    groups: object = None,
    text: str | Sequence[str] | None = None,
    vectorizer: object = None,
    feature_names: Sequence[str] | None = None,
    layer: str | None = None,
    metadata: object = None,
    random_state: int = 0,
    verbose: int = 1,
) -> ConsensusResult:
    """One model of many fits, and for each of its topics how many fits have it.

    Each fit has a seed of its own and half of the documents; two fits together have all of them. Topics of the fits are
    matched one to one, and the model starts from the mean of what they say of each document. Fits run side by side on
    the cores that `n_jobs` of the estimator allows, or on a GPU. The result is the same for any number of them. Ctrl-C
    ends the fits, and the consensus is of those that were made.

    Parameters
    ----------
    data
        Documents, as `LDA.fit` takes them: texts, a matrix, a table, a Corpus, a path. Rows of numbers for mixtures.
    k : int or None
        The number of topics. None takes that of the estimator, and 50 without one.
    fits : int or list of fitted models
        How many fits to make, two at least. Or models that were fitted before, over the words of the data: none are
        fitted then, but the model that starts from them.
    estimator : topic model or mixture, or None
        What to fit, with its parameters; n_components and random_state are set. None is `LDA` with 30 sampling sweeps.
    groups
        The group of each row, as an admixture takes it. Each fit has half of the groups, and `doc_topic` is of groups.
    text, vectorizer, feature_names, layer, metadata
        How to read the data, and what its topics depend on, as in `LDA.fit`. Not for mixtures.
    random_state : int
        Chooses the halves, and the seeds of the fits: random_state, random_state + 1, ...
    verbose : int
        1 shows progress on stderr: a bar on a terminal, a line per fit elsewhere. 0 shows nothing.

    Examples
    --------
    >>> import topmix
    >>> from topmix.data import sample_lda
    >>> corpus = sample_lda(300, 80, 4, doc_length=60, random_state=0).corpus
    >>> result = topmix.consensus(corpus, 4, fits=6, verbose=0)
    >>> result.model.transform(corpus).shape
    (300, 4)
    >>> int(result.is_real.sum())
    4
    """
    refuse_iterator(data)
    estimator = LDA(TOPICS, inference=Collapsed(sweeps=SWEEPS)) if estimator is None else estimator
    chosen = clone(checked_estimator(estimator, TopicEstimator | MixtureEstimator))
    if k is not None:
        chosen.set_params(n_components=count_of_components(k))
    seed = whole_number(random_state, "random_state", least=0)
    how = How(text, vectorizer, feature_names, layer)
    everything = FitData.read(chosen, data, how, groups=groups, metadata=metadata)
    if is_plural(fits):
        members = [member_of(each, chosen, everything) for each in fits]
        n_fits = len(members)
        if n_fits < 2:
            raise ValueError(f"fits has {n_fits} models: a consensus needs two or more")
    else:
        n_fits = whole_number(fits, "fits", least=2)
        members = _fitted(chosen, everything, n_fits, seed, verbose)
    rows = [member.rows for member in members]
    shares = mean_shares([member.shares for member in members], align(rows))
    model = polished(chosen, everything, shares, seed)
    of_model = member_of(model, chosen, everything)
    found = compare(of_model.rows, rows)
    reproducibility = reproducibility_of(found, of_model.topics, [member.topics for member in members])
    model._fitted = replace(fitted_of(model), reproducibility=reproducibility)
    groups_of_rows, doc_topic = everything.corpus.vector_groups, shares
    if groups_of_rows is not None:
        lengths = np.maximum(groups_of_rows.lengths(), 1.0)
        doc_topic = sp.csr_array(sp.diags_array(1.0 / lengths) @ groups_of_rows.summed(shares))
    return ConsensusResult(
        model=model,
        reproducibility=reproducibility,
        doc_topic=doc_topic,
        similarity=found.similarity,
        interrupted=len(members) < n_fits,
        frame=output_kind(chosen) or everything.reading.frame,
    )


class Member(NamedTuple):
    """What is kept of a fit."""

    rows: UnitRows  # [K, n] the topics as they are compared
    topics: NDArray[np.float32] | None  # [K, V] probabilities of words; rows of empty topics are zero
    shares: sp.csr_array  # [rows of all data, K]


def member_of(fit: object, estimator: Estimator, data: FitData) -> Member:
    """What a fitted model says of all data. Clusters are compared by the rows that belong to them."""
    corpus, vectors, wanted = data.corpus, data.corpus.vectors, f"fits of a {type(estimator).__name__} are"
    if isinstance(estimator, MixtureEstimator):
        if not isinstance(fit, MixtureEstimator):
            raise ValueError(f"{wanted} fitted mixtures, got {type(fit).__name__}")
        X = corpus if vectors is None or corpus.vector_groups is not None else vectors.data
        shares = sp.csr_array(fit.predict_proba(X, sparse_output=True), dtype=np.float32)
        topics = None if vectors is not None else view_of(fit).topic_word.astype(np.float32)
        return Member(memberships(shares), topics, shares)
    if not isinstance(fit, TopicEstimator):
        raise ValueError(f"{wanted} topic models, got {type(fit).__name__}")
    view, V = fit._found().view, corpus.n_words
    if len(view.words) != V:
        raise ValueError(f"a model has {len(view.words)} words, the data {V}: both need the same vocabulary")
    shares = sp.csr_array(fit.transform(corpus, sparse_output=True), dtype=np.float32)
    counts = np.bincount(corpus.index, corpus.value, minlength=V)
    topics = np.where(view.is_empty()[:, None], 0.0, view.topic_word).astype(np.float32)
    rows = centred(topics, counts / max(float(counts.sum()), 1e-300))
    rows[~topics.any(axis=1)] = 0.0
    return Member(rows, topics, shares)


def polished(e: Estimator, data: FitData, shares: sp.csr_array, seed: int) -> Any:
    """The model that is learned from all data, beginning with these proportions. It remembers what was asked for, not
    what it was learned with."""
    K, began = shares.shape[1], dict[str, object]()
    if isinstance(e, MixtureEstimator):
        where = "init" if "init" in e.get_params(deep=False) else "init_params"
        began |= {where: shares.toarray(), "n_init": 1}
    else:
        counts = np.asarray((sp.csr_array(shares.T) @ data.corpus.to_scipy()).toarray(), np.float64)  # [K, V]
        began |= {"init": counts, "max_iter": FOR_PRIORS if data.columns else POLISHING}
        if isinstance(e, GibbsLDA | CombinatorialLDA):
            own = {name: value for name, value in e.get_params(deep=False).items() if name in ("n_jobs", "engine")}
            start = LDA(K, init=counts, max_iter=POLISHING, random_state=seed, verbose=0, **own).fit(data.corpus)
            if isinstance(e, GibbsLDA):
                began = {"init": start, "max_iter": max(whole_number(e.max_iter, "max_iter") // GIBBS_SHARE, 1)}
            else:
                began = {"init": GibbsLDA(K, init=start, max_iter=2, random_state=seed, verbose=0).fit(data.corpus)}
        elif isinstance(e, HDP):
            began["search"] = None
    learner = clone(e).set_params(n_components=K, random_state=seed, verbose=0, callbacks=None, **began)
    data.fitted(learner)
    fitted = learner._found()
    model = clone(e).set_params(n_components=K, random_state=seed)
    known = replace(data.reading, design=fitted.reading.design, versions=fitted.reading.versions)
    model._fitted = replace(fitted, reading=known)
    return model


def halves(n: int, fit: int, seed: int) -> NDArray[np.intp]:
    """The rows of one fit: half of them, and the other half for the other fit of its pair."""
    order = np.random.default_rng([seed, fit // 2]).permutation(n)
    return np.sort(order[: n // 2] if fit % 2 == 0 else order[n // 2 :])


def _fitted(estimator: Estimator, data: FitData, n_fits: int, seed: int, verbose: int) -> list[Member]:
    """The fits in order: fewer where Ctrl-C ended them early. It raises if there are not two."""
    K, n, members = estimator.n_components, data.corpus.n_docs, list[Member]()
    if data.n_rows // 2 < max(K, 2) or n < 2:
        raise ValueError(f"there are {n} documents, and each fit has half of them: too few for {K} topics. Try fewer")

    def kept(model: object, run: PlannedFit, seconds: float) -> tuple[Member, str]:
        member = member_of(model, estimator, data)
        return member, f"{len(np.unique(member.shares.indices))} topics"

    plan = [PlannedFit(f"fit {f}", K, seed + f, halves(n, f, seed)) for f in range(n_fits)]
    try:
        with SweepProgress(plan, verbose, "consensus") as progress:
            for member in runs(estimator, data, plan, kept, progress, side_by_side=True):
                members.append(member)
    except KeyboardInterrupt:
        if len(members) < 2:
            raise
    return members


# What fits say of the topics of a model: how many have each, how clearly, and how probable it is that it is real.
#
# The probability is a function of one number per topic, the mean similarity to its partners in the fits. It was chosen
# on planted corpora, as was the similarity from which on a topic is called real, and checked on others: `python -m
# benchmarks.consensus planted`, and docs/consensus.md.

AMONG = 2  # a word of the n best is there in another fit if it is among the best AMONG n
LEAST_WEIGHT = 1e-3  # of the most probable word: others are there by the prior
# Mean similarity, and how often a topic with it matched a planted topic. Between them it is linear.
CALIBRATION: tuple[tuple[float, float], ...] = (
    (0.3, 0.0), (0.4, 0.05), (0.45, 0.16), (0.5, 0.45), (0.55, 0.61), (0.6, 0.75), (0.65, 0.82), (0.7, 0.93),
    (0.8, 0.98), (0.9, 1.0),
)  # fmt: skip


def interval(share: Floats, n: int) -> tuple[Floats, Floats]:
    """Wilson's interval of a share of n."""
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + (Z / (2 * n)) ** 2)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def reproducibility_of(
    found: Comparison, topics: NDArray[np.float32] | None, fits: Sequence[NDArray[np.float32] | None]
) -> Reproducibility:
    """`topics` and `fits` are probabilities of words, where there are words: how many of the fits with a topic have its
    best words, too, is then known."""
    n, K = found.similarity.shape
    is_there = found.similarity >= ALIKE
    share, similarity = is_there.mean(axis=0), found.similarity.mean(axis=0)
    low, high = interval(share, n)
    at, probability = zip(*CALIBRATION)
    words: tuple[Pairs, ...] = ((),) * K
    if topics is not None:
        n_words = min(FOLLOWED_WORDS, topics.shape[1])
        times = np.zeros(topics.shape)
        for of_fit, partner, has in zip(fits, found.partner, is_there):
            theirs = top_ids(np.asarray(of_fit, np.float64), min(AMONG * n_words, topics.shape[1]))
            for k in np.flatnonzero(has).tolist():
                times[k, theirs[partner[k]]] += 1
        times /= np.maximum(is_there.sum(axis=0), 1)[:, None]
        best = top_ids(np.asarray(topics, np.float64), n_words)  # [K, n_words]
        # No word of an empty topic says anything.
        says = [ids[of_topic[ids] > LEAST_WEIGHT * of_topic[ids[0]]] for ids, of_topic in zip(best, topics)]
        words = tuple(tuple((int(v), round(float(often[v]), 4)) for v in ids) for ids, often in zip(says, times))
    return Reproducibility(
        n_fits=n,
        found=share,
        low=low,
        high=high,
        similarity=similarity,
        sharpness=(found.similarity - found.other).mean(axis=0),
        reliability=np.interp(similarity, at, probability),
        words=words,
    )
