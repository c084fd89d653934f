"""Labelled LDA as a scikit-learn classifier."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from topmix.allocations.label_prior import LabelPrior
from topmix.api.estimator import learned
from topmix.api.lda import FiniteTopics
from topmix.api.sklearn_callbacks import with_sklearn_callbacks
from topmix.api.topics import M
from topmix.data.atomic import check_can_write
from topmix.data.corpus import Corpus
from topmix.engines import Engine
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitted import documents
from topmix.fitted.labels import Labels, best_threshold, labels_of
from topmix.fitted.topics import FittedTopics
from topmix.fitting.history import Callback, Clock, Record
from topmix.inference import CVB0, Inference
from topmix.learners import Learner
from topmix.models.topics import Prior, TopicModel
from topmix.parameters.checks import number_from, positive_number, whole_number
from topmix.priors import Design
from topmix.read import How, Reading, refuse_iterator

MOST_JUDGED = 3000  # documents that the threshold is chosen on


def not_available(method: M) -> M:
    """For a method of the base that makes no sense here: there is none."""
    checked: M = available_if(lambda self: False)(method)
    return checked


class LabelledLDA(ClassifierMixin, FiniteTopics):
    """Latent Dirichlet allocation with topics of labels: a document has the topics of its labels, and no others.

    Every label has topics of its own, and all documents share the free ones, which take what says nothing about labels.
    A classifier of scikit-learn: documents may have one label each or several, and some may have none, which then
    helps to find the words of topics (Ramage et al. 2009, 2011).

    Parameters
    ----------
    n_components_per_label : int
        Topics of each label.
    n_free : int
        Topics that all documents share.
    n_active : int or None
        Topics kept for each word of a document; None keeps all that the document can have.
    inference, learner, engine, topic_word_prior, max_iter, tol, n_jobs, random_state, verbose, callbacks
        As in LDA. There are no sampling sweeps, and learner="asynchronous" and engine="cuda" have no labels.
    doc_topic_prior : float or None
        Dirichlet prior of a document on each topic that it can have. None makes their sum 0.5 on average. New documents
        have the mean prior of documents with labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels; columns of a matrix y by their number.
    topic_labels_ : ndarray of shape (n_topics,)
        The place in classes_ of the label of each topic; -1 for free topics.
    threshold_ : float
        Several labels per document: the share of its labelled tokens from which on a document has a label, chosen for
        the best micro-averaged F1 of the documents of the fit, solved as new ones.
    components_, topic_word_, history_, elbo_, n_iter_, converged_, n_features_in_, feature_names_in_
        As in LDA.

    Examples
    --------
    >>> from topmix import LabelledLDA
    >>> texts = ["apples pears", "ships sails", "pears plums ships", "sails masts"] * 10
    >>> labels = [["fruit"], ["sea"], ["fruit", "sea"], ["sea"]] * 10
    >>> model = LabelledLDA(random_state=0).fit(texts, labels)
    >>> model.classes_.tolist(), model.predict(["apples plums pears apples"]).tolist()
    (['fruit', 'sea'], [[1, 0]])
    """

    doc_topic_prior_ = learned[np.ndarray](lambda f: f.topics.prior.alpha)
    classes_ = learned[np.ndarray](lambda f: np.array(f.labels.classes), keep=True)
    topic_labels_ = learned[np.ndarray](lambda f: f.labels.of_topics(), keep=True)
    threshold_ = learned[float](lambda f: f.labels.threshold)

    init: Any = "auto"
    _labels: Labels | None = None  # of the fit that is going on
    _mean_prior: np.ndarray | None = None

    def __init__(
        self,
        n_components_per_label: int = 1,
        *,
        n_free: int = 0,
        n_active: int | None = 16,
        inference: str | Inference = "collapsed",
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        doc_topic_prior: float | None = None,
        topic_word_prior: object = None,
        max_iter: int | None = None,
        tol: float = 3e-3,
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int | None = None,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components_per_label = n_components_per_label
        self.n_free = n_free
        self.n_active = n_active
        self.inference = inference
        self.learner = learner
        self.engine = engine
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @property
    def n_components(self) -> int:
        """Topics, of labels and free ones."""
        return self._scheme().n_topics

    @n_components.setter
    def n_components(self, n: int) -> None:
        """Labels decide."""

    def _scheme(self) -> Labels:
        labels = self._labels or self._found().labels
        assert labels is not None
        return labels

    @with_sklearn_callbacks
    def fit(
        self,
        X: object,
        y: object = None,
        *,
        text: str | Sequence[str] | None = None,
        vectorizer: object = None,
        feature_names: Sequence[str] | None = None,
        layer: str | None = None,
        metadata: object = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
    ) -> Self:
        """Learns the topics of the labels y of documents X, which is what `LDA.fit` takes.

        y is a matrix (n_samples, n_labels), sparse or not, with 1 where a document has a label; a list with a list of
        labels per document; or one label per document. A document without labels (a row of zeros, an empty list, None)
        can have all topics.
        """
        clock = Clock()
        if y is None:
            raise ValueError("LabelledLDA requires y to be passed, but the target y is None")
        if metadata is not None:
            raise ValueError("LabelledLDA has labels, and no metadata: pass them as y")
        if checkpoint is not None:
            check_can_write(checkpoint)
        every, how = whole_number(checkpoint_every, "checkpoint_every"), How(text, vectorizer, feature_names, layer)
        return self._learn(lambda: self._declared()._fit_labels(X, y, how, clock, checkpoint, every))

    def _fit_labels(
        self, X: object, y: object, how: How, clock: Clock, path: str | os.PathLike[str] | None, every: int
    ) -> FittedTopics:
        f = self._fit(X, None, how, y, clock, path, every)
        assert self._labels is not None
        return replace(f, labels=replace(self._labels, threshold=self._threshold(f)))

    def _with_covariates(
        self, corpus: Corpus, reading: Reading, source: object, is_given: bool
    ) -> tuple[Corpus, Reading]:
        """The documents with the priors that their labels give them; and topics start from the words of labels."""
        per_label, n_free = (
            whole_number(self.n_components_per_label, "n_components_per_label"),
            whole_number(self.n_free, "n_free", least=0),
        )
        self._labels, Y = labels_of(source, corpus.n_docs, per_label, n_free)
        given = self.doc_topic_prior
        weight = None if given is None else positive_number(given, "doc_topic_prior")
        self._mean_prior, design = self._labels.priors(Y, weight)
        self._judged, self._judged_labels = corpus, Y
        rng, candidates = self._rng(), self._labels.candidates(Y)
        candidates.data = rng.exponential(size=candidates.nnz)  # documents start with their topics in some proportion
        sums = np.asarray(candidates.sum(axis=1)).ravel()
        candidates = sp.csr_array(sp.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ candidates)
        self.init = np.asarray((candidates.T @ corpus.to_scipy().astype(np.float64)).toarray())
        return corpus.with_design(design), reading

    def _threshold(self, f: FittedTopics) -> float:
        """Some documents of the fit, as if they were new."""
        assert self._labels is not None
        labelled = np.flatnonzero(np.diff(self._judged_labels.indptr))
        chosen = np.sort(self._rng().permutation(labelled)[:MOST_JUDGED])
        theta = documents.proportions(f, self._judged[chosen], self._solver())
        return best_threshold(self._labels.shares(theta), self._judged_labels[chosen])

    def _document_prior(self, K: int, posterior: str, design: Design | None) -> Prior:
        return LabelPrior(np.full(K, 0.5 / K) if self._mean_prior is None else self._mean_prior, posterior)

    def _inference(self) -> Inference:
        inference = super()._inference()
        if isinstance(inference, CVB0):
            raise ValueError("inference='cvb0' starts from the words alone, whatever the labels: use 'collapsed'")
        return inference

    def _value(self, reading: Reading, model: TopicModel, history: Sequence[Record]) -> FittedTopics:
        return replace(super()._value(reading, model, history), labels=self._labels)

    @not_available
    def partial_fit(self, X: object, y: object = None, **reading: Any) -> Self:
        """Not available: labels are learned with `fit`."""
        raise AssertionError

    def fit_transform(
        self, X: object, y: object = None, *, normalize: bool = True, **reading: Any
    ) -> np.ndarray | sp.csr_array:
        """`fit`, which takes `reading`, then `transform`, as if labels were not known."""
        refuse_iterator(X)
        return self.fit(X, y, **reading).transform(X, normalize=normalize)

    def predict_proba(self, X: object) -> np.ndarray:
        """How probable each label is, shape (n_samples, n_labels).

        One label per document: its share of the document's labelled tokens, which sum to one. Several: s / (s + t),
        with s that share and t the threshold, so that a label with probability over 0.5 is predicted.
        """
        share, labels = self._shares(X)
        return share if labels.is_single else share / (share + labels.threshold)

    def predict(self, X: object, *, min_weight: float = 0.0) -> np.ndarray:
        """One label per document; or, where they have several, a matrix (n_samples, n_labels) of 0 and 1, with at least
        the most probable one in each row, if its share of the labelled tokens is `min_weight` or more."""
        least = number_from(min_weight, "min_weight", 0.0, 1.0)
        share, labels = self._shares(X)
        best = share.argmax(axis=1)
        if labels.is_single:
            if least:
                raise ValueError("min_weight is for documents with several labels: look at predict_proba")
            return np.asarray(self.classes_[best])
        found = (share > labels.threshold).astype(np.int64)
        found[np.arange(len(found)), best] = 1
        found[share < least] = 0
        return found

    def score(self, X: object, y: object = None, sample_weight: object = None, *, metadata: object = None) -> float:
        """Accuracy: the part of the documents whose labels are predicted, all of them and no others."""
        if y is None or metadata is not None:
            raise ValueError("score compares with labels: score(X, y)")
        share, labels = self._shares(X)
        Y = labels.encoded(y, len(share)).toarray()
        found = self.predict(X)
        if labels.is_single:
            found = np.asarray(found)[:, None] == self.classes_
        from sklearn.metrics import accuracy_score  # not for commands that have no use for it

        return float(accuracy_score(Y.astype(int), found.astype(int), sample_weight=sample_weight))

    def _shares(self, X: object) -> tuple[np.ndarray, Labels]:
        f = self._solved()
        assert f.labels is not None
        refuse_iterator(X)
        parts = [documents.proportions(f, corpus, self._solver()) for corpus in self._parts(X)]
        return f.labels.shares(np.concatenate(parts)), f.labels

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        super()._write(fitted, out)
        assert fitted.labels is not None
        fitted.labels.write(out.at("labels"))

    def _read(self, about: dict[str, Any], file: CheckedReader, K: int) -> FittedTopics:
        self._labels = Labels.read(file.at("labels"), K)
        return replace(super()._read(about, file, K), labels=self._labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on points in the plane, which are no counts
        tags.target_tags.required = True
        return tags
