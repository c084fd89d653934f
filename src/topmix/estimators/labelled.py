"""Labelled LDA as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Self, Unpack

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from topmix.base.checks import positive_number, whole_number
from topmix.base.fields import CheckedReader
from topmix.estimators.declared import ClusterOptions, FitOptions, fraction, takes
from topmix.estimators.described import where
from topmix.estimators.estimator import learned
from topmix.estimators.lda import LDA, FiniteTopics
from topmix.io.documents import refuse_iterator
from topmix.io.priors import ColumnPrior
from topmix.learn.fit import run
from topmix.models.covariate_prior import LabelPrior
from topmix.results.labels import Labels, best_threshold, labels_of
from topmix.results.topics import AboutFit, FittedTopics
from topmix.steps.inference import CVB0

MOST_JUDGED = 3000  # documents that the threshold is chosen on


class TargetTopics(FiniteTopics):
    """LabelledLDA and SupervisedLDA: topics that learn from more than words.

    Parameters
    ----------
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta; rows of a matrix seed topics. "auto" learns one value. None is 0.03 for
        variational inference, and 0.08, or 16 / K where that is less, for collapsed inference.
    """

    @takes(ClusterOptions)
    def fit(self, X: object, y: object = None, **how: Unpack[ClusterOptions]) -> Self:  # type: ignore[override]
        """Learns topics of documents X, which is what `LDA.fit` takes, and of what y says of each document. A
        checkpoint of SupervisedLDA holds the passes before responses are learned from."""
        options, name = FitOptions.of(how), type(self).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        for given in (self.doc_topic_prior, self.topic_word_prior):
            if isinstance(given, ColumnPrior):
                raise ValueError(f"{name} has no {type(given).__name__}: use LDA")
        return self._learn(lambda: self._declared()._fit(X, y, options))

    @where(lambda self: False)
    def partial_fit(self, X: object, y: object = None, **how: object) -> Self:
        """Not available: y is learned with `fit`."""
        raise AssertionError

    def _theta(self, X: object) -> np.ndarray:
        refuse_iterator(X)
        return np.asarray(self.transform(X))


class LabelledLDA(ClassifierMixin, TargetTopics, kw_only=False):
    """Latent Dirichlet allocation with topics of labels: a document has the topics of its labels, and no others.

    Every label has topics of its own, and all documents share the free ones, which take what says nothing about labels.
    A classifier of scikit-learn: documents may have one label each or several, and some may have none, which then
    helps to find the words of topics (Ramage et al. 2009, 2011). In `fit(X, y)`, y is a matrix (n_samples, n_labels),
    sparse or not, with 1 where a document has a label; a list with a list of labels per document; or one label per
    document. A document without labels (a row of zeros, an empty list, None) can have all topics.

    There are no sampling sweeps, and learner="asynchronous" and engine="cuda" have no labels.

    Parameters
    ----------
    n_components_per_label : int
        Topics of each label.
    n_free : int
        Topics that all documents share.
    n_active : int or None
        Topics kept for each word of a document; None keeps all that the document can have.
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

    n_components_per_label: int = 1
    n_free: int = 0
    doc_topic_prior: float | None = None

    @property
    def n_components(self) -> int:
        """Topics, of labels and free ones."""
        return self._found().n_topics

    @n_components.setter
    def n_components(self, n: int) -> None:
        """Labels decide."""

    def _fit(self, X: object, y: object, options: FitOptions) -> FittedTopics:
        if isinstance(self._inference(), CVB0):
            raise ValueError("inference='cvb0' starts from the words alone, whatever the labels: use 'collapsed'")
        corpus, reading = self._documents(X, options)
        per_label = whole_number(self.n_components_per_label, "n_components_per_label")
        labels, Y = labels_of(y, corpus.n_docs, per_label, whole_number(self.n_free, "n_free", least=0))
        weight = self.doc_topic_prior
        mean, design = labels.priors(Y, None if weight is None else positive_number(weight, "doc_topic_prior"))
        rng, candidates = self._rng(), labels.candidates(Y)
        candidates.data = rng.exponential(size=candidates.nnz)  # documents start with their topics in some proportion
        sums = np.asarray(candidates.sum(axis=1)).ravel()
        candidates = sp.csr_array(sp.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ candidates)
        init = np.asarray((candidates.T @ corpus.to_scipy().astype(np.float64)).toarray())

        lda, designed = self._lda(labels, mean, init), corpus.with_columns(design=design)
        problem, settings, rng = self._prepared(designed, reading, options, lda, labels)
        f = self._ended(reading, run(problem, settings, rng), corpus, labels)
        # The threshold is best for some documents of the fit, as if they were new.
        chosen = np.sort(self._rng().permutation(np.flatnonzero(np.diff(Y.indptr)))[:MOST_JUDGED])
        shares = labels.shares(f.proportions(corpus[chosen], self._solver()))
        return replace(f, labels=replace(labels, threshold=best_threshold(shares, Y[chosen])))

    def _lda(self, labels: Labels, mean_prior: np.ndarray, init: object = "auto") -> LDA:
        """Documents have priors of their own; all else is LDA."""
        shared = {name: value for name, value in self.get_params(deep=False).items() if name in LDA._get_param_names()}
        prior = LabelPrior(mean_prior, self._inference().posterior)
        return LDA(**shared | {"n_components": labels.n_topics, "doc_topic_prior": prior, "init": init})

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
        least = fraction(min_weight, "min_weight")
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
        labels = self._found().labels
        assert labels is not None
        return labels.shares(self._theta(X)), labels

    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> FittedTopics:
        labels = Labels.read(file.at("labels"), K=K)
        return replace(self._lda(labels, np.full(K, 0.5 / K))._read(about, file, K), labels=labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on points in the plane, which are no counts
        tags.target_tags.required = True
        return tags
