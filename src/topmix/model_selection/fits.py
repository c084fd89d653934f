"""`topmix.sweep`: fits of several numbers of topics, each with several seeds, scored on the same held-out documents."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone

from topmix.api import LDA
from topmix.api.admixture import AdmixtureEstimator, Grouped, documents_of
from topmix.api.estimator import output_kind
from topmix.api.mixture import rows_of
from topmix.api.variational import VariationalTopics
from topmix.api.vectors import VectorMixture, without_words
from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows, Rows
from topmix.metrics.counts import Floats
from topmix.model_selection.measure import (
    Fit,
    HeldOut,
    by_size,
    hold_out,
    measured,
    measured_clusters,
    topics_of,
    with_stability,
)
from topmix.model_selection.progress import SweepProgress
from topmix.model_selection.recommend import recommend
from topmix.model_selection.result import SweepResult
from topmix.parameters.checks import count_of_components, number_from, whole_number
from topmix.read import How, Reading, read
from topmix.views.model import is_topic_model

Columns = dict[str, NDArray[Any]]


def sweep(
    data: object,
    n_components: Iterable[int] = (20, 50, 100, 200),
    *,
    seeds: int | Iterable[int] = 3,
    estimator: BaseEstimator | None = None,
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
        What to fit, with its parameters; n_components and random_state are set. None is `LDA()`. Topic models of
        scikit-learn work as well, and so do GaussianMixture and VonMisesFisherMixture: their score is the mean log
        likelihood of a held-out row. So do GaussianAdmixture and VonMisesFisherAdmixture: groups are held out, and the
        score is the `completion_score` of their rows.
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
    estimator = _checked(LDA() if estimator is None else estimator)
    least = number_from(tolerance, "tolerance", 0.0)
    seed_of_split = whole_number(random_state, "random_state", least=0)
    corpus, reading = _read(data, groups, estimator, texts, How(text, vectorizer, feature_names, layer))
    columns = columns_beside(estimator, data, metadata, corpus.n_docs)
    split = hold_out(corpus, held_out, seed_of_split)
    rows = split.train.vectors
    n, what = (len(rows.rows), "rows") if isinstance(rows, GroupedRows) else (split.train.n_docs, "documents")
    if sizes[-1] > n:
        raise ValueError(
            f"n_components has {sizes[-1]}, but there are only {n} {what} to learn from, besides "
            f"the {split.test.n_docs} that are held out: try fewer topics"
        )
    fits, interrupted = _all_fits(estimator, split, columns, sizes, chosen_seeds, verbose)
    found = by_size(fits)
    answer = recommend(found, fits[0].n_scored, least)
    planned, reason = len(sizes) * len(chosen_seeds), answer.reason
    if interrupted:
        reason = f"Stopped by Ctrl-C after {len(fits)} of {planned} fits; this is of what was measured. {reason}"
    return SweepResult(
        sizes=tuple(found),
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
        frame=output_kind(estimator) or reading.frame,
    )


def columns_beside(estimator: BaseEstimator, data: object, metadata: object, n_docs: int) -> Columns:
    """What topics depend on: columns of the data, or of a table beside it."""
    source = data if metadata is None else metadata
    found = estimator._declared()._beside(source, n_docs) if isinstance(estimator, VariationalTopics) else {}
    if metadata is not None and not found:
        raise ValueError(f"metadata= has what topics depend on, and those of {estimator!r} depend on nothing")
    return found


def some_of(columns: Columns, rows: NDArray[np.intp]) -> dict[str, Columns]:
    """The columns of some documents, for `fit`."""
    return {"metadata": {name: values[rows] for name, values in columns.items()}} if columns else {}


def _frequency(estimator: BaseEstimator, data: HeldOut) -> Floats:
    """[V] of the words; of clusters of vectors, which are compared by the rows that they have, of those."""
    if isinstance(estimator, VectorMixture):
        n = len(rows_of(data.test.vectors))
        return np.full(n, 1.0 / n)
    counts = np.bincount(data.train.index, data.train.value, minlength=data.train.n_words)
    return np.asarray(counts / counts.sum())


def _all_fits(
    estimator: BaseEstimator,
    data: HeldOut,
    columns: Columns,
    sizes: list[int],
    seeds: list[int],
    verbose: int,
) -> tuple[list[Fit], bool]:
    """The fits, small sizes first, and whether Ctrl-C ended them early. It raises if there is no fit yet."""
    is_ours = is_topic_model(estimator) or isinstance(estimator, VectorMixture)
    X = data.train if is_ours else data.train.to_scipy()  # of scikit-learn
    frequency = _frequency(estimator, data)
    fits: list[Fit] = []
    of_size: list[Fit] = []
    topics: list[Floats] = []  # of the present size alone
    interrupted = False
    try:
        with SweepProgress(sizes, len(seeds), verbose) as progress:
            for K in sizes:
                of_size, topics = [], []
                for seed in seeds:
                    model = clone(estimator).set_params(n_components=K, random_state=seed)
                    if model.get_params(deep=False).get("verbose", 0) is None:
                        model.set_params(verbose=0)  # the sweep shows where it is
                    progress.begin(model, K, seed)
                    begin = time.perf_counter()
                    model.fit(X, **some_of(columns, data.rows))
                    seconds = time.perf_counter() - begin
                    if isinstance(model, VectorMixture):
                        fit, found = measured_clusters(model, seed, data, seconds)
                    else:
                        found = topics_of(model)
                        fit = measured(found, seed, data, seconds)
                    topics.append(found)
                    of_size.append(fit)
                    progress.end(fit)
                fits += with_stability(of_size, topics, frequency)
                of_size = []
    except KeyboardInterrupt:
        interrupted = True
        fits += with_stability(of_size, topics, frequency)
        if not fits:
            raise
    return fits, interrupted


def _read(data: object, groups: object, estimator: BaseEstimator, texts: object, how: How) -> tuple[Corpus, Reading]:
    """Documents; of clusters of vectors, with these beside them."""
    if groups is not None and not isinstance(estimator, AdmixtureEstimator):
        raise ValueError(f"a {type(estimator).__name__} knows no groups: groups= is for admixtures")
    if not isinstance(estimator, VectorMixture):
        if texts is not None:
            raise ValueError("texts= stand beside vectors, and the estimator is a topic model: pass them as data")
        return read(data, how)
    given = Grouped(data, groups) if isinstance(estimator, AdmixtureEstimator) else data
    rows, reading = estimator._declared()._data(given, How(), None)
    assert isinstance(rows, Rows)
    corpus = without_words(len(rows), 1) if texts is None else read(texts, how)[0]
    if texts is not None:
        estimator._check_texts(corpus.n_docs, rows)
    return documents_of(rows, corpus) if isinstance(rows, GroupedRows) else corpus.with_vectors(rows), reading


def _sizes(n_components: object) -> list[int]:
    given = [n_components] if isinstance(n_components, int | np.integer) else n_components
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ValueError(f"n_components must be a list of numbers of topics, such as [20, 50, 100], got {given!r}")
    sizes = {count_of_components(K) for K in given}
    if not sizes:
        raise ValueError("n_components is empty: pass the numbers of topics to try, such as [20, 50, 100]")
    return sorted(sizes)


def _seeds(seeds: object) -> list[int]:
    if not isinstance(seeds, Iterable) or isinstance(seeds, str):
        return list(range(whole_number(seeds, "seeds")))
    chosen = [whole_number(seed, "a seed", least=0) for seed in seeds]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"seeds must be a number, or a list of different seeds, got {seeds!r}")
    return chosen


def check_topic_model(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator, if it is a topic model of counts whose number of topics and seed can be set."""
    if isinstance(estimator, type):
        estimator = estimator()
    name = type(estimator).__name__
    parameters = estimator.get_params(deep=False) if isinstance(estimator, BaseEstimator) else {}
    missing = [p for p in ("n_components", "random_state") if p not in parameters]
    if missing:
        raise ValueError(
            f"estimator must be a topic model with the parameters n_components and random_state, such as LDA(); "
            f"{name} has no {' and no '.join(missing)}"
        )
    if isinstance(estimator, VectorMixture):
        return estimator
    if not (isinstance(estimator, TransformerMixin) and estimator.__sklearn_tags__().input_tags.positive_only):
        raise ValueError(f"estimator must be a topic model of counts, such as LDA() or GibbsLDA(); {name} is none")
    return estimator


def refuse_search(estimator: AdmixtureEstimator) -> None:
    if estimator._is_process() and estimator._component("learner").has_memo:
        raise ValueError(
            f"{type(estimator).__name__} finds the number of clusters by itself under a Dirichlet process: fit it "
            "alone, or with weight_concentration_prior_type='dirichlet_distribution'"
        )


def _checked(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator, if it is a topic model whose number of topics can be chosen."""
    estimator = check_topic_model(estimator)
    name = type(estimator).__name__
    if isinstance(estimator, AdmixtureEstimator):
        refuse_search(estimator)
    if estimator.get_params(deep=False).get("search") is not None:
        raise ValueError(f"{name} searches the number of topics by itself: fit it alone, or with search=None")
    return estimator
