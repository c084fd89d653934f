"""`topmix.consensus`: fits of many seeds and samples of documents, matched topic by topic, and one model of them all.

Fits come in pairs: the documents are cut in two at random, and each half is fitted, with a seed of its own. So the two
of a pair share no document, and what both find is in the data. Two halves vary as much as two bootstrap samples of all
documents, and take half the time. The model of the consensus is learned from all documents, in one pass that starts
from the mean of the matched topic proportions of each document.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from topmix.api import HDP, LDA, CombinatorialLDA, GibbsLDA, LabelledLDA, SupervisedLDA
from topmix.api.admixture import AdmixtureEstimator, Grouped, documents_of
from topmix.api.estimator import Estimator, output_kind
from topmix.api.mixture import MixtureEstimator
from topmix.api.topics import TopicEstimator
from topmix.api.vectors import without_words
from topmix.data.corpus import Corpus
from topmix.engines import Engine
from topmix.inference import Collapsed
from topmix.metrics.agreement import Rows, align, centred, compare, mean_shares, memberships
from topmix.metrics.counts import Floats, as_distributions
from topmix.model_selection.certificate import reproducibility_of
from topmix.model_selection.consensus_result import ConsensusResult
from topmix.model_selection.fits import Columns, check_topic_model, columns_beside, refuse_search, some_of
from topmix.model_selection.progress import SweepProgress
from topmix.parameters.checks import count_of_components, whole_number
from topmix.read import How, Reading, read, refuse_iterator
from topmix.views.model import fitted_of

SWEEPS = 30  # of the default fits: topics are found as well as with 150, docs/consensus.md
TOPICS = 50
POLISHING = 1  # passes over all documents, from the mean of the fits
FOR_PRIORS = 3  # where topics depend on columns, which is learned between passes
GIBBS_SHARE = 4  # the last chain, which begins at the consensus, has a quarter of the sweeps


class Member(NamedTuple):
    """What is kept of a fit."""

    topics: NDArray[np.float32] | None  # [K, V] probabilities of words; rows of empty topics are zero
    shares: sp.csr_array  # [rows of all data, K]


def consensus(
    data: object,
    k: int | None = None,
    *,
    fits: int | Iterable[object] = 20,
    estimator: BaseEstimator | None = None,
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
    fits : int, or a list of fitted models or arrays (topics, words)
        How many fits to make, two at least. Or topics that were learned before, by topmix or by another library, over
        the words of the data: none are fitted then, but the model that starts from them.
    estimator : topic model or mixture, or None
        What to fit, with its parameters; n_components and random_state are set. None is `LDA` with 30 sampling sweeps.
        Topic models of scikit-learn work as well; the model of the consensus is then an LDA.
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
    chosen = _estimator(estimator, k)
    seed = whole_number(random_state, "random_state", least=0)
    how = How(text, vectorizer, feature_names, layer)
    source = _source(chosen, data, groups, how)
    source.columns = columns_beside(chosen, data, metadata, source.n_rows)
    interrupted = False
    if isinstance(fits, int | np.integer):
        members, interrupted = _fitted(source, whole_number(fits, "fits", least=2), seed, verbose)
    else:
        members = [source.given(each) for each in fits]
        if len(members) < 2:
            raise ValueError(f"fits has {len(members)} models: a consensus needs two or more")
    rows = [source.rows(member) for member in members]
    aligned = align(rows)
    shares = mean_shares([member.shares for member in members], aligned.partner)
    model = source.polished(shares, seed)
    of_model = source.member(model)
    found = compare(source.rows(of_model), rows)
    reproducibility = reproducibility_of(found, of_model.topics, [member.topics for member in members])
    model._fitted = replace(fitted_of(model), reproducibility=reproducibility)
    return ConsensusResult(
        model=model,
        reproducibility=reproducibility,
        doc_topic=source.of_documents(shares),
        similarity=found.similarity,
        interrupted=interrupted,
        frame=output_kind(chosen) or source.reading.frame,
    )


@dataclass
class _Source:
    """The data, and how it is fitted."""

    estimator: BaseEstimator
    reading: Reading
    n_rows: int
    K: int
    columns: Columns = field(default_factory=dict)  # that topics depend on

    def sample(self, rows: NDArray[np.intp]) -> Any:
        """Some of the data."""
        raise NotImplementedError

    def of_documents(self, shares: sp.csr_array) -> sp.csr_array:
        """What members say of the data, by documents."""
        return shares

    def most_topics(self) -> int:
        """That half of the data can have."""
        return self.n_rows // 2

    def member(self, model: BaseEstimator) -> Member:
        """What a fitted model says of all data."""
        raise NotImplementedError

    def given(self, fit: object) -> Member:
        """The same of a model, or of topics, that a user has."""
        raise NotImplementedError

    def rows(self, member: Member) -> Rows:
        """The topics as they are compared."""
        raise NotImplementedError

    def polished(self, shares: sp.csr_array, seed: int) -> Any:
        """The model that is learned from all data, beginning with these proportions."""
        raise NotImplementedError


class _Topics(_Source):
    def __init__(self, estimator: BaseEstimator, data: object, how: How):
        ours = isinstance(estimator, TopicEstimator)
        self.corpus, reading = read(data, how, engine=estimator._engine() if ours else None)
        super().__init__(estimator, reading, self.corpus.n_docs, estimator.n_components)
        counts = np.bincount(self.corpus.index, self.corpus.value, minlength=self.corpus.n_words)
        self.frequency: Floats = counts / max(float(counts.sum()), 1e-300)

    def sample(self, rows: NDArray[np.intp]) -> Any:
        documents = self.corpus[rows]
        return documents if isinstance(self.estimator, TopicEstimator) else documents.to_scipy()

    def member(self, model: BaseEstimator) -> Member:
        if not isinstance(model, TopicEstimator):  # of scikit-learn
            return self.given(as_distributions(model.components_))
        view, shares = fitted_of(model).view, model.transform(self.corpus, sparse_output=True)
        topics = np.where(view.is_empty()[:, None], 0.0, view.topic_word).astype(np.float32)
        return Member(topics, sp.csr_array(shares, dtype=np.float32))

    def given(self, fit: object) -> Member:
        if isinstance(fit, TopicEstimator):
            if fit._found().reading.n_features == self.corpus.n_words:
                return self.member(fit)
            raise ValueError(f"a model of fits has {fit._found().reading.n_features} words, the data has "
                             f"{self.corpus.n_words}: they need the same vocabulary")  # fmt: skip
        topics = as_distributions(fit.components_ if isinstance(fit, BaseEstimator) else fit, "fits")
        if topics.shape[1] != self.corpus.n_words:
            raise ValueError(
                f"fits has topics of {topics.shape[1]} words, the data has {self.corpus.n_words}: they need the same "
                "vocabulary"
            )
        as_model = self._lda(len(topics), topics * (self.corpus.n_tokens / len(topics)), 0, 0)
        return Member(topics.astype(np.float32), self.member(as_model).shares)

    def rows(self, member: Member) -> Rows:
        assert member.topics is not None
        is_empty = ~member.topics.any(axis=1)
        found = centred(member.topics, self.frequency)
        found[is_empty] = 0.0
        return found

    def polished(self, shares: sp.csr_array, seed: int) -> TopicEstimator:
        counts = np.asarray((sp.csr_array(shares.T) @ self.corpus.to_scipy()).toarray(), np.float64)  # [K, V]
        K, e = len(counts), self.estimator
        began: dict[str, object]
        if isinstance(e, GibbsLDA):
            sweeps = max(whole_number(e.max_iter, "max_iter") // GIBBS_SHARE, 1)
            began = {"init": self._lda(K, counts, POLISHING, seed), "max_iter": sweeps}
        elif isinstance(e, CombinatorialLDA):
            start = self._lda(K, counts, POLISHING, seed)
            began = {"init": GibbsLDA(K, init=start, max_iter=2, random_state=seed, verbose=0).fit(self.corpus)}
        elif isinstance(e, LDA | HDP):
            began = {"init": counts, "max_iter": FOR_PRIORS if self.columns else POLISHING}
            if isinstance(e, HDP):
                began["search"] = None
        else:
            e, began = LDA(K), {"init": counts, "max_iter": POLISHING}
        own = {"n_components": K, "random_state": seed, "verbose": 0, "callbacks": None}
        columns = some_of(self.columns, np.arange(self.n_rows))
        fitted = clone(e).set_params(**own, **began).fit(self.corpus, **columns)._found()
        model = clone(e).set_params(n_components=K, random_state=seed)
        known = replace(self.reading, design=fitted.reading.design, versions=fitted.reading.versions)
        model._fitted = replace(fitted, reading=known)
        return model

    def _lda(self, K: int, counts: Floats, passes: int, seed: int) -> LDA:
        """The topics with these pseudo-counts, after so many passes."""
        e = self.estimator
        own = {name: value for name, value in e.get_params(deep=False).items() if name in ("n_jobs", "engine")}
        return LDA(K, init=counts, max_iter=passes, random_state=seed, verbose=0, **own).fit(self.corpus)


class _Mixture(_Source):
    def __init__(self, estimator: MixtureEstimator, data: object):
        known, reading = estimator._data(data, How(), None)
        self.data = known if isinstance(known, Corpus) else known.data
        super().__init__(estimator, reading, len(known), estimator.n_components)

    def sample(self, rows: NDArray[np.intp]) -> Any:
        return self.data[rows]

    def member(self, model: BaseEstimator) -> Member:
        assert isinstance(model, MixtureEstimator)
        shares = model.predict_proba(self.data, sparse_output=True)
        is_words = isinstance(self.data, Corpus) and self.data.vectors is None
        topics = fitted_of(model).view.topic_word if is_words else None
        return Member(
            None if topics is None else topics.astype(np.float32), sp.csr_array(shares, dtype=np.float32)
        )  # fmt: skip

    def given(self, fit: object) -> Member:
        if not isinstance(fit, MixtureEstimator):
            raise ValueError(f"fits of a {type(self.estimator).__name__} are fitted mixtures, got {type(fit).__name__}")
        return self.member(fit)

    def rows(self, member: Member) -> Rows:
        return memberships(member.shares)

    def polished(self, shares: sp.csr_array, seed: int) -> MixtureEstimator:
        where = "init" if "init" in self.estimator.get_params(deep=False) else "init_params"
        start = {where: shares.toarray(), "n_components": shares.shape[1], "n_init": 1, "callbacks": None}
        fitted = clone(self.estimator).set_params(**start, random_state=seed, verbose=0).fit(self.data)._found()
        model = clone(self.estimator).set_params(n_components=shares.shape[1], random_state=seed)
        model._fitted = replace(fitted, reading=self.reading)
        return model


class _Groups(_Mixture):
    """Each fit has half of the groups. Clusters are compared by the rows that belong to them."""

    data: Corpus

    def __init__(self, estimator: AdmixtureEstimator, data: object, groups: object):
        rows, reading = estimator._data(Grouped(data, groups), How(), None)
        self.data, self.grouped = documents_of(rows, without_words(len(rows), 1)), rows
        _Source.__init__(self, estimator, reading, len(rows), estimator.n_components)

    def of_documents(self, shares: sp.csr_array) -> sp.csr_array:
        lengths = np.maximum(self.grouped.lengths(), 1.0)
        return sp.csr_array(sp.diags_array(1.0 / lengths) @ self.grouped.summed(shares))

    def most_topics(self) -> int:
        return len(self.grouped.rows) // 2


def _source(estimator: BaseEstimator, data: object, groups: object, how: How) -> _Source:
    if isinstance(estimator, AdmixtureEstimator):
        refuse_search(estimator)
        return _Groups(estimator, data, groups)
    if groups is not None:
        raise ValueError(f"a {type(estimator).__name__} knows no groups: groups= is for admixtures")
    return _Mixture(estimator, data) if isinstance(estimator, MixtureEstimator) else _Topics(estimator, data, how)


def used_topics(member: Member) -> NDArray[np.bool_]:
    """[K] whether any document has some of the topic."""
    return np.bincount(member.shares.indices, minlength=member.shares.shape[1]) > 0


def halves(n: int, fit: int, seed: int) -> NDArray[np.intp]:
    """The rows of one fit: half of them, and the other half for the other fit of its pair."""
    order = np.random.default_rng([seed, fit // 2]).permutation(n)
    return np.sort(order[: n // 2] if fit % 2 == 0 else order[n // 2 :])


def _fitted(source: _Source, n_fits: int, seed: int, verbose: int) -> tuple[list[Member], bool]:
    """The fits in order, and whether Ctrl-C ended them early. It raises if there are not two."""
    K, engine = source.K, source.estimator._engine() if isinstance(source.estimator, Estimator) else None
    if source.most_topics() < max(K, 2) or source.n_rows < 2:
        raise ValueError(
            f"there are {source.n_rows} documents, and each fit has half of them: too few for {K} topics. Try fewer"
        )
    threads = source.estimator._threads() if isinstance(source.estimator, Estimator) else 1
    at_once = 1
    if engine is not None:
        at_once = min(engine.most_fits, n_fits, n_fits if engine.on_device else threads)
    stop, interrupted = Event(), False
    done: dict[int, Member] = {}
    with SweepProgress([K], n_fits, verbose, name="consensus") as progress, ThreadPoolExecutor(at_once) as pool:
        make = partial(_one_fit, source, seed, max(threads // at_once, 1), stop)
        lanes = _Lanes(engine, at_once)
        started = [pool.submit(lanes.run, make, f) for f in range(n_fits)]
        try:
            for f, future in enumerate(started):
                member, seconds = future.result()
                assert member is not None  # nobody has stopped it
                done[f] = member
                progress.ended(K, f"fit {f}", f"{int(used_topics(member).sum())} topics", seconds)
        except KeyboardInterrupt:
            interrupted = True
        finally:  # also where a fit has failed: the others end with their pass
            stop.set()
            for future in started:
                future.cancel()
    if interrupted and len(done) < 2:
        raise KeyboardInterrupt
    return [done[f] for f in sorted(done)], interrupted


class _Lanes:
    """Places for fits that run at once."""

    def __init__(self, engine: Engine | None, n: int):
        self.engine, self.n, self.free = engine, n, list(range(n))

    def run(self, make: Callable[[int], tuple[Member | None, float]], f: int) -> tuple[Member | None, float]:
        number = self.free.pop()  # one step for the interpreter: no two threads get the same
        try:
            with nullcontext() if self.engine is None else self.engine.lane(number, self.n):
                return make(f)
        finally:
            self.free.append(number)


def _one_fit(source: _Source, seed: int, threads: int, stop: Event, f: int) -> tuple[Member | None, float]:
    if stop.is_set():
        return None, 0.0
    begin, model = time.perf_counter(), clone(source.estimator)
    known = model.get_params(deep=False)
    own: dict[str, object] = {"n_components": source.K, "random_state": seed + f, "n_jobs": threads}
    if isinstance(model, Estimator):
        own |= {"verbose": 0, "callbacks": [*(model.callbacks or ()), lambda record, view: stop.is_set()]}
    model.set_params(**{name: value for name, value in own.items() if name in known})
    rows = halves(source.n_rows, f, seed)
    model.fit(source.sample(rows), **some_of(source.columns, rows))
    return None if stop.is_set() else source.member(model), time.perf_counter() - begin


def _estimator(estimator: BaseEstimator | None, k: int | None) -> BaseEstimator:
    """What to fit, with its number of topics."""
    if estimator is None:
        return LDA(count_of_components(TOPICS if k is None else k), inference=Collapsed(sweeps=SWEEPS))
    if isinstance(estimator, type):
        estimator = estimator()
    name = type(estimator).__name__
    if isinstance(estimator, LabelledLDA | SupervisedLDA):
        needs = "labels" if isinstance(estimator, LabelledLDA) else "y"
        raise ValueError(f"a consensus is of models that need documents alone, and {name} needs {needs}")
    if not isinstance(estimator, MixtureEstimator):
        check_topic_model(estimator)
    chosen = clone(estimator)
    return chosen if k is None else chosen.set_params(n_components=count_of_components(k))
