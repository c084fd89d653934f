"""Admixtures as scikit-learn estimators: groups of rows mix clusters, as documents mix topics."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, TransformerTags

from topmix import _core
from topmix.allocations import WEIGHTS
from topmix.allocations.document_prior import DocumentPrior
from topmix.allocations.finite_dirichlet import FiniteDirichlet
from topmix.allocations.stick_prior import StickPrior, Sticks
from topmix.api.checkpoints import Keep
from topmix.api.described import where_words
from topmix.api.estimator import learned
from topmix.api.gaussian import GaussianMixture
from topmix.api.sklearn_callbacks import with_sklearn_callbacks
from topmix.api.vectors import VectorMixture, without_words
from topmix.api.von_mises_fisher import VonMisesFisherMixture
from topmix.data.columns import column_of
from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows, Rows, sums_between
from topmix.engines import Engine
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitted.documents import assigned_groups
from topmix.fitted.frames import DataFrame
from topmix.fitted.mixture import NO_WORDS, ClusterWords, FittedMixture
from topmix.fitted.names import RELEVANCE
from topmix.fitting.history import Callback, Clock
from topmix.fitting.loop import Interrupted
from topmix.fitting.mixture_checkpoint import MixtureCheckpoint
from topmix.learners import Learner
from topmix.likelihoods.covariance import SingularCovariance
from topmix.local import LocalStep, groups as group_steps
from topmix.local.assign import Assigned
from topmix.local.groups import AssignedGroups, GroupStep
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.numerics.dirichlet import NEGLIGIBLE
from topmix.numerics.threads import use_threads
from topmix.parameters.checks import count_of_active, number_from, one_of, positive_number
from topmix.read import How, Reading, in_groups, read_known, split_groups
from topmix.search import exchanges
from topmix.search.clusters import ClusterProblem, Knows

FIRST_PRIOR = 1.0  # alpha, summed over clusters, before it is learned
STICK_PRIOR = 10.0  # gamma: how many clusters there are expected to be, as in HDP


class Grouped(NamedTuple):
    """Rows as a user gives them, and the group of each: methods of mixtures take it for X."""

    X: Any
    groups: Any

    @classmethod
    def of(cls, X: object, groups: object) -> Grouped:
        return X if isinstance(X, Grouped) else cls(X, groups)


def documents_of(data: GroupedRows, corpus: Corpus) -> Corpus:
    """Groups as documents, with the words of a corpus that has a document for each row or for each group."""
    if corpus.n_docs != len(data):
        data = GroupedRows(data.rows, data.starts, data.order, data.names, corpus.to_scipy())
        corpus = Corpus.from_scipy(data.summed(corpus.to_scipy()), corpus.vocabulary)
    return corpus.with_vectors(data).named(None if data.names is None else [str(name) for name in data.names])


def _texts_of(corpus: Corpus) -> Corpus:
    """The words beside each row, where they are known, else beside each group."""
    data = corpus.vectors
    of_rows = data.texts if isinstance(data, GroupedRows) else None
    return corpus if of_rows is None else Corpus.from_scipy(of_rows, corpus.vocabulary)


def of_groups(X: object, column: str | Iterable[object], corpus: Corpus) -> list[Any]:
    """One value for each group, of values of groups or of rows."""
    values, data = column_of(X, column), corpus.vectors
    assert isinstance(data, GroupedRows)
    if len(values) == len(data) or len(values) != len(data.rows):
        return values  # whose number the callers check
    order = np.arange(len(values)) if data.order is None else data.order
    found = [values[order[a]] if b > a else None for a, b in pairwise(data.starts.tolist())]
    for g, (a, b) in enumerate(pairwise(data.starts.tolist())):
        if any(values[n] != found[g] and values[n] == values[n] for n in order[a:b]):
            name = g if corpus.names is None else repr(corpus.names[g])
            raise ValueError(f"the rows of group {name} have several values: pass one for each group")
    return found


class AdmixtureEstimator(VectorMixture):
    """A mixture whose weights differ from group to group; here is everything that does not depend on its clusters. A
    class that derives from this one and from a mixture is an admixture of its clusters."""

    weight_concentration_prior_ = learned[np.ndarray](lambda f: f.model.prior.alpha)

    @with_sklearn_callbacks
    def fit(
        self,
        X: object,
        groups: object = None,
        sample_weight: object = None,
        *,
        texts: object = None,
        text: str | Sequence[str] | None = None,
        vectorizer: object = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
    ) -> Self:
        """Learns clusters of the rows of X, of shape (n_samples, n_features), and how groups of rows mix them.

        `groups` has the group of each row: numbers or names, in any order, or the name of a column of a DataFrame or of
        the Parquet file at the path X. Or X is a list of arrays, one for each group. Without either each row is a group
        of its own. `texts` has one text for each row, or one for each group in the order of `transform`. Their words
        describe the clusters: see `VonMisesFisherMixture.fit`.

        With `checkpoint`, a path, the fit is saved there every `checkpoint_every` passes. Where the file exists, the
        fit continues from it, and ends with the same bits as if it had never stopped: see `LDA.fit`. The file holds the
        passes before clusters are exchanged. A fit of fewer than 20 passes continues with the same `max_iter` alone.
        """
        keep = Keep.of(checkpoint, checkpoint_every)
        if isinstance(X, Corpus) and isinstance(X.vectors, GroupedRows) and texts is None:  # texts were read before
            X = X.with_vectors(X.vectors.alone())
            read = (_texts_of(X), How()) if X.n_tokens else None
            return self._fit_as(Grouped(X, groups), None, How(), sample_weight, read, keep)
        of_groups = None if texts is None else (texts, How(text, vectorizer))
        return self._fit_as(Grouped(X, groups), None, How(), sample_weight, of_groups, keep)

    def partial_fit(self, X: object, groups: object = None, sample_weight: object = None) -> Self:
        """One stochastic step on these groups, as for a mixture. Streams do not learn the prior of groups: it stays."""
        return super().partial_fit(Grouped(X, groups), None, sample_weight)

    def fit_predict(self, X: object, groups: object = None, sample_weight: object = None) -> np.ndarray:
        """`fit`, then `predict`."""
        return self.fit(X, groups, sample_weight).predict(X, groups)

    def fit_transform(self, X: object, groups: object = None, sample_weight: object = None) -> np.ndarray:
        """`fit`, then `transform`."""
        return self.fit(X, groups, sample_weight).transform(X, groups)

    def transform(self, X: object, groups: object = None) -> NDArray[np.float64]:
        """Proportions of the clusters in each group, of shape (n_groups, n_components), under the fitted clusters. Rows
        are in the order of `numpy.unique(groups)`, or of the list."""
        parts = [a.N for a in self._by_groups(Grouped(X, groups), keep_clusters=False)]
        return self._admixture.prior.mean(np.concatenate(parts))

    def predict(
        self, X: object, groups: object = None, *, min_weight: float = 0.0, min_density: float | None = None
    ) -> np.ndarray:
        """The most probable cluster of each row, given the rows of its group; -1 where its probability or the log
        likelihood of the row is less than asked for."""
        return super().predict(Grouped.of(X, groups), min_weight=min_weight, min_density=min_density)

    def predict_proba(
        self, X: object, groups: object = None, *, sparse_output: bool = False
    ) -> np.ndarray | sp.csr_array:
        """Posterior probabilities of shape (n_samples, n_components), given the rows of the group; at most n_active of
        a row are not zero."""
        return super().predict_proba(Grouped.of(X, groups), sparse_output=sparse_output)

    def score_samples(self, X: object, groups: object = None) -> np.ndarray:
        """The log likelihood of each row under the fitted clusters, with the expected proportions of its group, which
        are inferred from all of its rows: see `completion_score` for rows that have no part in it."""
        return super().score_samples(Grouped.of(X, groups))

    def _labels(self, data: Corpus | Rows) -> np.ndarray:
        assert isinstance(data, GroupedRows)
        return self.predict(documents_of(data, without_words(len(data), 1)))

    def _shares(self, data: Corpus | Rows, n_texts: int) -> sp.csr_array:
        """Words belong to the cluster of their row, or to the clusters of their group."""
        assert isinstance(data, GroupedRows)
        read = documents_of(data, without_words(len(data), 1))
        if n_texts != len(data):
            return sp.csr_array(self.predict_proba(read, sparse_output=True))
        return sp.csr_array(self.transform(read))

    def _check_texts(self, n: int, data: Corpus | Rows) -> None:
        assert isinstance(data, GroupedRows)
        if n not in (len(data), len(data.rows)):
            raise ValueError(
                f"there are {n} texts for {len(data.rows)} rows in {len(data)} groups: pass one for each row or group"
            )

    def _rows(self, X: object) -> Corpus | Rows:
        raise ValueError(
            f"a {type(self).__name__} has no table of rows: groups of them have proportions, transform(X, groups)"
        )

    def score(self, X: object, groups: object = None) -> float:
        """The mean of score_samples."""
        return float(np.mean(self.score_samples(X, groups)))

    def completion_score(
        self, X: object, groups: object = None, *, held_out: float = 0.2, random_state: int = 0
    ) -> float:
        """The mean log likelihood of held-out rows, given the other rows of their groups. `held_out` is the part of the
        rows of each group, at least one of two or more. Groups of one row are left out."""
        scores, n = self._completion(X, groups, held_out=held_out, random_state=random_state)
        if not n.any():
            raise ValueError("no group of X has two rows, so that none can be predicted from the others")
        return float(scores.sum() / n.sum())

    def _completion(
        self, X: object, groups: object = None, *, held_out: float = 0.2, random_state: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same group by group: the log likelihood of the held-out rows of each, and how many there are."""
        part = number_from(held_out, "held_out", 0.0, 1.0)
        data = self._data(Grouped(X, groups), How(), self._found().reading)[0].alone()
        rng, held = np.random.default_rng(random_state), np.zeros(len(data.rows), bool)
        for a, b in pairwise(data.starts.tolist()):
            if b - a > 1:
                held[a + rng.permutation(b - a)[: min(max(1, round(part * (b - a))), b - a - 1)]] = True
        weight = np.empty(len(held))
        weight[slice(None) if data.order is None else data.order] = ~held
        visits = self._by_groups(data, want_likelihood=True, weight=weight)  # group by group
        scores = np.concatenate([a.likelihood for a in visits])
        return sums_between(np.where(held, scores, 0.0), data.starts), sums_between(held, data.starts)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def bic(self, X: object) -> float:
        """Refused: groups have proportions, and there is no count of parameters that rows determine."""
        raise ValueError(f"{type(self).__name__} has no information criterion: compare completion_score(X, groups)")

    aic = bic

    @property
    def _admixture(self) -> Admixture:
        model = self._found().model
        assert isinstance(model, Admixture)
        return model

    def _data(self, X: object, how: How, known: Reading | None) -> tuple[GroupedRows, Reading]:
        given, groups = X if isinstance(X, Grouped) else Grouped(X, None)
        was_read = isinstance(X, GroupedRows) or isinstance(given, Corpus)
        if isinstance(given, Corpus) and given.vectors is not None:
            given = given.vectors
        if was_read and known is not None and isinstance(given, GroupedRows):
            return given, known
        if isinstance(given, GroupedRows):
            rows, reading = self._read_data(given.rows, how, known)
            assert isinstance(rows, Rows)
            return GroupedRows(rows, given.starts, given.order, given.names, given.texts), reading
        given, groups, starts = split_groups(given, groups)
        rows, reading = self._read_data(given, how, known)
        assert isinstance(rows, Rows)
        return in_groups(rows, groups) if starts is None else GroupedRows(rows, starts), reading

    def _started(
        self, prepared: Any, data: Corpus | Rows, weight: np.ndarray | None, K: int, rng: np.random.Generator
    ) -> tuple[Admixture, Any]:
        """Clusters start as those of the mixture."""
        assert isinstance(data, GroupedRows)
        likelihood, N = self._first(prepared, data.rows, weight, K, rng)
        assert N is not None
        model = Admixture(self._prior(K), likelihood, N.copy(), self._objective(), data.shape[1])
        return model, model.as_stats()

    def _fit(
        self,
        X: object,
        y: object,
        how: How,
        sample_weight: object,
        clock: Clock,
        texts: tuple[object, How] | None = None,
        keep: Keep | None = None,
    ) -> FittedMixture:
        f = super()._fit(X, y, how, sample_weight, clock, texts, keep)
        remembers = self._component("learner").remembers_rows
        if self._is_warm() or self._is_process() or not (self._exchanges() and f.converged and remembers):
            return f
        now = self._exchanged(f, self._data(X, how, f.reading)[0], sample_weight, clock)
        if now is f or texts is None:
            return now
        return replace(now, texts=self._with(now)._words_of(*texts, X, how))

    def _checkpoint(self, *about: Any) -> MixtureCheckpoint:
        found = super()._checkpoint(*about)
        return replace(found, K=None) if self._is_process() else found

    def _exchanges(self) -> bool:
        """Whether a higher objective also means better clusters."""
        return True

    def _exchanged(self, f: FittedMixture, data: GroupedRows, sample_weight: object, clock: Clock) -> FittedMixture:
        """After exchanges of clusters, while they make the objective higher: which clusters are found is decided by the
        start otherwise, and that knows no groups."""
        rng, failed, given = self._rng().spawn(1)[0], False, f
        least, left = 1e-3 * len(data.rows), exchanges.MOST_PASSES * f.n_iter
        while not failed and f.n_topics >= 3:
            failed = True
            for trial in islice(self._trials(f, data, rng), exchanges.TRIALS):
                if left <= 0 or (self.max_time is not None and clock() > self.max_time):
                    break
                left -= exchanges.TRIAL_PASSES
                after = self._continued(f, trial, data, sample_weight, exchanges.TRIAL_PASSES)
                if after is not None and float(after.objective or 0.0) > float(f.objective or 0.0) + least:
                    f, failed = after, False
                    break
        if f is given:
            return f
        rest = max(int(self.max_iter or 0) - f.n_iter, exchanges.TRIAL_PASSES)
        return self._continued(f, f.model, data, sample_weight, rest, self.tol) or f

    def _trials(self, f: FittedMixture, data: GroupedRows, rng: np.random.Generator) -> Iterator[Admixture]:
        """Models with other clusters, the most promising first."""
        K, model, now = f.n_topics, f.model, self._with(f)
        assert isinstance(model, Admixture)
        enough = max(exchanges.SAMPLE, exchanges.EACH * K)
        order = rng.permutation(len(data))
        chosen = np.sort(order[: 1 + int(np.searchsorted(np.cumsum(data.lengths()[order]), enough))])
        rows, starts = data.of_groups(chosen)
        sample = GroupedRows(Rows(np.ascontiguousarray(data.data[rows]), check=False), starts)
        clusters = Mixture(
            self._allocation(K).update(np.maximum(model.sizes, 0.0)), model.likelihood, model.n_features, K
        )
        r, least = np.asarray(now.predict_proba(sample)), now._n_parameters() / K
        for trial in exchanges.trials(clusters, sample.rows, r, now._halves, least):
            yield replace(model, likelihood=trial.likelihood, sizes=trial.as_stats().N)

    def _continued(
        self, f: FittedMixture, model: Any, data: GroupedRows, sample_weight: object, passes: int, tol: float = -1.0
    ) -> FittedMixture | None:
        """After some passes more from a model; None where a cluster has too few rows for its covariance."""
        now = self._with(replace(f, model=model, objective=None))
        now.set_params(warm_start=True, max_iter=passes, tol=tol, n_init=1, callbacks=None, verbose=0, max_time=None)
        try:
            after = super(AdmixtureEstimator, now)._fit(data, None, How(), sample_weight, Clock())
        except SingularCovariance:
            return None
        except Interrupted:
            raise Interrupted(f, f.n_iter) from None
        seconds = f.history[-1].seconds if f.history else 0.0
        later = (replace(r, n_pass=f.n_iter + n, seconds=seconds + r.seconds) for n, r in enumerate(after.history, 1))
        converged = f.converged if tol < 0 else after.converged
        return replace(after, history=(*f.history, *later), n_iter=f.n_iter + after.n_iter, converged=converged)

    def _words_of(self, texts: object, how: How, X: object, of_rows: How) -> ClusterWords | None:
        """Of the clusters as they are now."""
        f = self._found()
        data, _ = self._data(X, of_rows, f.reading)
        corpus, reading = self._read_texts(texts, how, data, f)
        return ClusterWords.of(self._shares(data, corpus.n_docs), corpus, reading)

    # Tables of groups, which are documents

    def counts(self, X: object, groups: object = None, texts: object = None) -> Corpus:  # type: ignore[override]
        """Groups as documents: a Corpus in the words of the model, with the rows of each group, and their names.
        `texts` has one for each row, or for each group."""
        if isinstance(X, Corpus) and X.vectors is not None:
            return X
        f = self._found()
        with use_threads(self._threads()):
            data, _ = self._data(Grouped.of(X, groups), How(), f.reading)
            if texts is None:
                corpus = without_words(len(data), 1 if f.texts is None else f.texts.reading.n_features)
            elif f.texts is None:
                raise ValueError(NO_WORDS)
            else:
                corpus = read_known(texts, f.texts.reading, owner=type(self).__name__, engine=self._engine())
                self._check_texts(corpus.n_docs, data)
        return documents_of(data, corpus)

    def split_topic(
        self,
        X: object,
        topic: int,
        groups: object = None,
        *,
        texts: object = None,
        max_docs: int = 20_000,
        random_state: int = 0,
    ) -> Self:
        """Makes two clusters of one: a mixture of two is fitted to the rows of X that are in it, at most `max_docs` of
        them. The cluster keeps its place and its name, and the second is the last. They share its prior in groups, and
        its words as the `texts` of their rows or groups have these; without texts both have those of the whole."""
        corpus = self.counts(X, groups, texts)
        data = corpus.vectors
        assert isinstance(data, GroupedRows)
        corpus = corpus.with_vectors(data.alone())
        return super().split_topic(corpus, topic, max_docs=max_docs, random_state=random_state)

    def _in_two(self, rows: Rows, seed: int) -> np.ndarray:
        """All of them are one group: a mixture."""
        two = clone(self).set_params(weight_concentration_prior_type="dirichlet_distribution")
        return super(AdmixtureEstimator, two)._in_two(GroupedRows(rows, np.array([0, len(rows)])), seed)

    def _words_beside(self, corpus: Corpus, rows: np.ndarray, r: np.ndarray) -> np.ndarray:
        data = corpus.vectors
        assert isinstance(data, GroupedRows)
        if data.texts is not None:
            return np.asarray(r.T @ data.texts[rows])
        group = data.of_row()[rows]
        n = np.maximum(data.lengths(), 1.0)[group]
        of_groups = sp.csr_array((np.ones(len(rows)), group, np.arange(len(rows) + 1)), (len(rows), len(data)))
        return np.asarray((r / n[:, None]).T @ of_groups @ corpus.to_scipy())

    def suggest_merges(
        self,
        X: object,
        groups: object = None,
        *,
        n_pairs: int = 10,
        max_docs: int = 2000,
        random_state: int = 0,
    ) -> DataFrame:
        """The pairs of clusters with the nearest words, and what merging each alone would do to the log likelihood of
        the rows of a group: see `LDA.suggest_merges`."""
        corpus = self.counts(X, groups)
        return super().suggest_merges(corpus, n_pairs=n_pairs, max_docs=max_docs, random_state=random_state)

    @where_words
    def topic_info(
        self,
        X: object = None,
        groups: object = None,
        *,
        texts: object = None,
        n_words: int = 10,
        relevance: float = RELEVANCE,
    ) -> DataFrame:
        """A table of the clusters, as of a mixture of vectors. Documents are groups: the best ones of a cluster have
        most of it."""
        given = X if X is None else self.counts(X, groups, texts)
        return super().topic_info(given, n_words=n_words, relevance=relevance)

    def representative_documents(
        self, X: object, groups: object = None, *, texts: object = None, n: int = 5
    ) -> DataFrame:
        """A table of the groups that have most of each cluster, as `LDA.representative_documents`. Short groups come
        after long ones: a share counts as rows of the cluster over the rows of the group plus 20."""
        return super().representative_documents(Grouped.of(X, groups), texts=texts, n=n)

    def document_info(
        self,
        X: object,
        groups: object = None,
        *,
        n_topics: int = 3,
        min_weight: float = 0.0,
        min_density: float | None = None,
    ) -> DataFrame:
        """A table of groups: name, main cluster, its name and its share `weight`, the entropy of the shares, the
        largest ones, the rows of the group, and `density`, the mean log likelihood of its rows. The cluster is -1 where
        its share is less than `min_weight`, or the density less than `min_density`."""
        corpus = self.counts(X, groups)
        return super().document_info(corpus, n_topics=n_topics, min_weight=min_weight, min_density=min_density)

    def _density(self, corpus: Corpus) -> np.ndarray:
        data = corpus.vectors
        assert isinstance(data, GroupedRows)
        scores = np.concatenate([a.likelihood for a in self._by_groups(data, want_likelihood=True)])  # group by group
        return np.asarray(sums_between(scores, data.starts) / np.maximum(data.lengths(), 1.0))

    def topics_over_time(
        self,
        X: object,
        column: str | Iterable[object],
        groups: object = None,
        *,
        freq: str = "month",
        level: float = 0.95,
        random_state: int = 0,
    ) -> DataFrame:
        """As `LDA.topics_over_time`. `column` has a date for each row or for each group."""
        corpus = self.counts(X, groups)
        given = of_groups(X, column, corpus)
        return super().topics_over_time(corpus, given, freq=freq, level=level, random_state=random_state)

    def topics_by(
        self,
        X: object,
        column: str | Iterable[object],
        groups: object = None,
        *,
        level: float = 0.95,
        random_state: int = 0,
    ) -> DataFrame:
        """As `LDA.topics_by`. `column` has a value for each row or for each group."""
        corpus = self.counts(X, groups)
        return super().topics_by(corpus, of_groups(X, column, corpus), level=level, random_state=random_state)

    def words_by(
        self,
        X: object,
        column: str | Iterable[object],
        topic: int,
        groups: object = None,
        *,
        texts: object = None,
        n_words: int = 10,
    ) -> DataFrame:
        """As `LDA.words_by`. `column` has a value for each row or for each group."""
        corpus = self.counts(X, groups, texts)
        return super().words_by(corpus, of_groups(X, column, corpus), topic, n_words=n_words)

    def _is_process(self) -> bool:
        """Whether groups have a hierarchical Dirichlet process."""
        kind = one_of(self.weight_concentration_prior_type, WEIGHTS, "weight_concentration_prior_type")
        if kind == "dirichlet_process" and self._objective() == "ml":
            raise ValueError("a Dirichlet process is a prior, and objective='ml' has none: use 'vb' or 'map'")
        return kind == "dirichlet_process"

    def _search(self, reading: Reading, n_groups: int) -> ClusterProblem | None:
        if not (self._is_process() and self._component("learner").has_memo):
            return None

        def seen(model: Admixture) -> AdmixtureEstimator:
            return self._with(FittedMixture(reading=reading, model=model))

        knows = Knows(lambda model: seen(model)._halves, lambda model: seen(model)._n_parameters())
        return ClusterProblem(knows, max(n_groups, int(self.n_components)))

    def _warm(self, f: FittedMixture, K: int) -> tuple[Mixture | Admixture, Any]:
        return super()._warm(f, f.n_topics if self._is_process() else K)

    def _prior(self, K: int) -> DocumentPrior | StickPrior:
        """Of the proportions of groups."""
        given, objective = self.weight_concentration_prior, self._objective()
        if self._is_process():
            alpha = FIRST_PRIOR if given is None else positive_number(given, "weight_concentration_prior")
            return StickPrior(Sticks.even(K, STICK_PRIOR), alpha, STICK_PRIOR, learns_concentration=given is None)
        alpha = FIRST_PRIOR / K if given is None else positive_number(given, "weight_concentration_prior")
        alpha = NEGLIGIBLE if objective == "ml" else alpha
        posterior = "variational" if objective == "vb" else "collapsed"
        return DocumentPrior(np.full(K, alpha), posterior, learned=given is None and objective != "ml")

    def _allocation(self, K: int) -> FiniteDirichlet:
        """Of the mixtures that clusters start from."""
        return FiniteDirichlet.uniform(1.0 / K, K, self._objective())

    def _learner(self, data: Corpus | Rows) -> Learner:
        learner: Learner = self._component("learner")
        if learner.travels:
            raise ValueError(f"{type(self).__name__} cannot be learned with learner='asynchronous': use 'memoized'")
        return super()._learner(data)

    def _local_step(self, K: int) -> LocalStep:
        return self._step_of(K)

    def _step_of(self, K: int) -> LocalStep:
        n = _core.MAX_TOPICS if self._is_process() else K  # clusters that there may be
        return GroupStep(self._likelihood, count_of_active(self.n_active, n), self._warm_up())

    def _warm_up(self) -> int:
        return 0 if self._is_warm() else min(group_steps.WARM_UP, int(self.max_iter or 0) // 2)

    def _assigned(self, X: object, L: int, *, keep_clusters: bool = True) -> Iterator[Assigned]:
        """All rows in the order of X, given the rows of their groups: the likelihood of each, or its clusters."""
        data, _ = self._data(X, How(), self._found().reading)
        visits = self._by_groups(data, keep_clusters=keep_clusters, want_likelihood=not keep_clusters)
        found = Assigned(*(np.concatenate(field) for field in zip(*(a[:3] for a in visits))))
        if keep_clusters and found.r.shape[1] > L:
            best = np.argsort(-found.r, axis=1, kind="stable")[:, :L]
            found = found._replace(
                cluster=np.take_along_axis(found.cluster, best, axis=1), r=np.take_along_axis(found.r, best, axis=1)
            )
        if data.order is not None:
            order = np.argsort(data.order, kind="stable")
            found = Assigned(*(field[order] if len(field) else field for field in found))
        yield found

    def _by_groups(
        self,
        X: object,
        *,
        keep_clusters: bool = True,
        want_likelihood: bool = False,
        weight: np.ndarray | None = None,
    ) -> Iterator[AssignedGroups]:
        """Groups under the fitted clusters, a shard at a time."""
        solver = self._solver()
        with use_threads(solver.threads):
            data, _ = self._data(X, How(), self._found().reading)
        return assigned_groups(
            self._found(), data, solver, keep_clusters=keep_clusters, want_likelihood=want_likelihood, weight=weight
        )

    def _write_model(self, model: Any, out: Writer) -> None:
        model.prior.write(out.at("prior"))
        out.array("sizes", model.sizes)
        model.likelihood.write(out.at("clusters"))

    def _read_model(self, file: CheckedReader, K: int, objective: str) -> Admixture:
        prior: DocumentPrior | StickPrior
        if file.has("prior.rho"):
            prior = StickPrior.read(file.at("prior"), K)
        else:
            prior = DocumentPrior.read(file.at("prior"), K, "variational" if objective == "vb" else "collapsed")
        likelihood = self._read_likelihood(file.at("clusters"), K, objective)
        return Admixture(prior, likelihood, file.array("sizes", K), objective, file.n_features)


class GaussianAdmixture(AdmixtureEstimator, GaussianMixture):
    """Groups of vectors that mix clusters: images of patches, documents of word vectors, patients of cells.

    As LDA, with vectors in the place of words: each row of a group comes from one of K Gaussian clusters, which all
    groups share, and each group has proportions of its own. Rows whose cluster is in doubt are decided by their group.
    `transform` gives the proportions. Clusters, priors and starts are those of GaussianMixture.

    Parameters
    ----------
    n_components : int
        Number of clusters, K; with a Dirichlet process, the number to start with.
    covariance_type : {"full", "diag", "spherical", "tied"}
        The shape of covariances, as in GaussianMixture.
    zero_mean : bool
        Whether all means are zero, so that clusters differ by their covariances alone.
    objective : {"map", "vb", "ml"}
        What is climbed: the log posterior at a point, of clusters and of proportions; a bound on the evidence with full
        posteriors; or the likelihood alone.
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment; None keeps all K. A group may have all of them.
    learner : {"memoized", "batch", "stochastic"} or an object of topmix.learners
        How the data is visited. Memoized and batch climb the same objective, and memoized, which moves after each batch
        of groups, gets there sooner. Stochastic remembers nothing of a batch, and its bound is an estimate.
    engine : {"threads", "serial", "ray", "cuda"} or an object of topmix.engines
        Who runs the kernels. The results are the same for any engine; those of "cuda", a GPU, within rounding.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on the proportions of groups: a Dirichlet, or a hierarchical Dirichlet process, as in HDP. With the
        latter memoized fits find the number of clusters: they are merged, divided and deleted while the bound rises.
        Clusters at a point ("map") cost half of the log of their rows for each parameter.
    weight_concentration_prior : float or None
        Dirichlet prior on the proportion of each cluster in a group. None learns one for each cluster from the groups:
        how much groups have in common, and how many clusters one of them has. Or the concentration of the process, in
        all clusters together; None learns it.
    mean_prior : array of shape (n_features,) or None
        Where means are expected. None is the mean of the data.
    mean_precision_prior : float or None
        How many rows that expectation is worth, as in GaussianMixture.
    degrees_of_freedom_prior : float or None
        How many rows the expected covariance is worth, as in GaussianMixture.
    covariance_prior : array or None
        The expected covariance times degrees_of_freedom_prior, as in GaussianMixture.
    reg_covar : float
        Added to the variances of every cluster after each update.
    init_params : {"auto", "split", "k-means++", "kmeans", "random", "random_from_data"}, array or dict
        Where clusters start, as in GaussianMixture: groups have no part in it.
    max_iter : int
        Passes over the data, at most. 0 leaves the clusters where they start. A fit that has not converged by then
        warns with scikit-learn's ConvergenceWarning.
    tol : float
        Stop when a pass lifts the objective by less than this, per row.
    max_time : float or None
        Seconds for the whole fit, all starts together. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
    warm_start : bool
        Start `fit` from the clusters of the last one.
    n_jobs : int or None
        Threads. None and -1 use all cores. The results are the same for any value.
    random_state : int, RandomState or None
    verbose : int or None
        1 shows progress on stderr: a bar on a terminal, a line per pass elsewhere. None shows a bar on a terminal or in
        a notebook if the fit takes longer than ten seconds. 0 is silent.
    callbacks : list of callables or None
        Each is called as f(record, view) after a pass; a true value ends the fit. See topmix.fitting.PassView.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of all rows that each cluster has.
    means_ : ndarray of shape (n_components, n_features)
    covariances_, precisions_, precisions_cholesky_ : ndarray
        In scikit-learn's shapes.
    mean_precision_, degrees_of_freedom_ : ndarray
        As in GaussianMixture.
    weight_concentration_prior_ : ndarray of shape (n_components,)
        The prior of proportions, as given or learned.
    objective_, elbo_ : float
        The objective at the end, summed over rows.
    lower_bound_ : float
        The same; per row for "ml".
    lower_bounds_ : list of float
        lower_bound_ after each pass.
    history_ : list of Record
        One record per pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    A group is never divided, and its rows are in memory at once; data mapped from a file is read a few groups at a
    time. Asynchronous learning is for mixtures alone.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import GaussianAdmixture
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(-5, 1, (60, 2)), rng.normal(5, 1, (60, 2))
    >>> X = np.concatenate([left[:45], right[:15], left[45:], right[15:]])
    >>> groups = ["a"] * 60 + ["b"] * 60
    >>> gm = GaussianAdmixture(2, random_state=0).fit(X, groups)
    >>> np.sort(gm.transform(X, groups)).round(2)
    array([[0.26, 0.74],
           [0.26, 0.74]])
    """

    candidates = None

    def __init__(
        self,
        n_components: int = 8,
        *,
        covariance_type: str = "full",
        zero_mean: bool = False,
        objective: str = "map",
        n_active: int | None = 8,
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        weight_concentration_prior_type: str = "dirichlet_distribution",
        weight_concentration_prior: float | None = None,
        mean_prior: object = None,
        mean_precision_prior: float | None = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: object = None,
        reg_covar: float = 1e-6,
        init_params: object = "auto",
        max_iter: int = 100,
        tol: float = 1e-3,
        max_time: float | None = None,
        n_init: int = 1,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int | None = None,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.zero_mean = zero_mean
        self.objective = objective
        self.n_active = n_active
        self.learner = learner
        self.engine = engine
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.reg_covar = reg_covar
        self.init_params = init_params
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.n_init = n_init
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _exchanges(self) -> bool:
        return self.covariance_type == "full"  # clusters of digits by variances alone get a higher objective, no better


class VonMisesFisherAdmixture(AdmixtureEstimator, VonMisesFisherMixture):
    """Groups of directions that mix clusters: documents of sentence or word embeddings.

    As LDA, with unit vectors in the place of words: each row of a group comes from one of K von Mises-Fisher clusters,
    which all groups share, and each group has proportions of its own, which `transform` gives. Clusters and starts are
    those of VonMisesFisherMixture.

    Parameters
    ----------
    n_components : int
        Number of clusters, K; with a Dirichlet process, the number to start with.
    concentration_type : {"free", "tied"}
        Whether each cluster has a concentration of its own, or all have the same.
    objective : {"map", "ml"}
        What is maximised: the log likelihood and the log of weak priors, or the likelihood alone.
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment; None keeps all K. A group may have all of them.
    learner : {"memoized", "batch", "stochastic"} or an object of topmix.learners
        How the data is visited. Memoized and batch climb the same objective, and memoized, which moves after each batch
        of groups, gets there sooner. Stochastic remembers nothing of a batch, and its bound is an estimate.
    engine : {"threads", "serial", "ray", "cuda"} or an object of topmix.engines
        Who runs the kernels. The results are the same for any engine; those of "cuda", a GPU, within rounding.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on the proportions of groups: a Dirichlet, or a hierarchical Dirichlet process, as in HDP. With the
        latter memoized fits find the number of clusters: they are merged, divided and deleted while the bound rises.
        Clusters at a point ("map") cost half of the log of their rows for each parameter.
    weight_concentration_prior : float or None
        Dirichlet prior on the proportion of each cluster in a group. None learns one for each cluster from the groups:
        how much groups have in common, and how many clusters one of them has. Or the concentration of the process, in
        all clusters together; None learns it.
    prior_rows : float
        Pseudo-rows of each cluster under "map", as in VonMisesFisherMixture.
    max_concentration : float
        The largest concentration that a cluster may have.
    normalize : bool
        Whether rows are divided by their lengths. False refuses rows whose length is not one.
    max_iter : int
        Passes over the data, at most. 0 leaves the clusters where they start. A fit that has not converged by then
        warns with scikit-learn's ConvergenceWarning.
    tol : float
        Stop when a pass lifts the objective by less than this, per row.
    max_time : float or None
        Seconds for the whole fit, all starts together. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
    init : {"auto", "k-means++", "random_from_data"} or array
        Where clusters start, as in VonMisesFisherMixture: groups have no part in it.
    warm_start : bool
        Start `fit` from the clusters of the last one.
    n_jobs : int or None
        Threads. None and -1 use all cores. The results are the same for any value.
    random_state : int, RandomState or None
    verbose : int or None
        1 shows progress on stderr: a bar on a terminal, a line per pass elsewhere. None shows a bar on a terminal or in
        a notebook if the fit takes longer than ten seconds. 0 is silent.
    callbacks : list of callables or None
        Each is called as f(record, view) after a pass; a true value ends the fit. See topmix.fitting.PassView.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of all rows that each cluster has.
    mean_directions_ : ndarray of shape (n_components, n_features)
        mu, of unit length.
    concentrations_ : ndarray of shape (n_components,)
        kappa; 0 is uniform on the sphere.
    means_ : ndarray of shape (n_components, n_features)
        The expected row of each cluster, which is shorter than one.
    labels_ : ndarray of shape (n_samples,)
        The most probable cluster of each row of the last `fit`, given its group. Not part of a saved model.
    weight_concentration_prior_ : ndarray of shape (n_components,)
        The prior of proportions, as given or learned.
    objective_, elbo_ : float
        The objective at the end, summed over rows.
    lower_bound_ : float
        The same; per row for "ml".
    lower_bounds_ : list of float
        lower_bound_ after each pass.
    history_ : list of Record
        One record per pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    A group is never divided, and its rows are in memory at once; data mapped from a file is read a few groups at a
    time. Asynchronous learning is for mixtures alone.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import VonMisesFisherAdmixture
    >>> words = np.eye(3) + 0.1 * np.random.default_rng(0).normal(size=(40, 3, 3))
    >>> documents = [words[:20, 0], np.concatenate([words[:20, 1], words[20:, 2]]), words[20:, 0]]
    >>> vmf = VonMisesFisherAdmixture(3, random_state=0).fit(documents)
    >>> np.sort(vmf.transform(documents)).round(1)
    array([[0. , 0. , 1. ],
           [0. , 0.5, 0.5],
           [0. , 0. , 1. ]])
    """

    def __init__(
        self,
        n_components: int = 8,
        *,
        concentration_type: str = "free",
        objective: str = "map",
        n_active: int | None = 8,
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        weight_concentration_prior_type: str = "dirichlet_distribution",
        weight_concentration_prior: float | None = None,
        prior_rows: float = 1.0,
        max_concentration: float = 1e6,
        normalize: bool = True,
        max_iter: int = 100,
        tol: float = 1e-3,
        max_time: float | None = None,
        n_init: int = 1,
        init: object = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int | None = None,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.concentration_type = concentration_type
        self.objective = objective
        self.n_active = n_active
        self.learner = learner
        self.engine = engine
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.prior_rows = prior_rows
        self.max_concentration = max_concentration
        self.normalize = normalize
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
