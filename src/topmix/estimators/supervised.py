"""LDA that learns from more than words: labels, classes and numbers, as classifiers and regressors of scikit-learn."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.validation import column_or_1d

from topmix.base.checks import number_from, one_of, positive_number, whole_number
from topmix.base.fields import CheckedReader, ModelFileError
from topmix.corpus.corpus import Corpus
from topmix.corpus.design import DesignRows
from topmix.estimators.declared import FitOptions, fraction
from topmix.estimators.described import where
from topmix.estimators.estimator import Seeded, learned
from topmix.estimators.lda import LDA, TargetTopics
from topmix.estimators.priors import alpha_of
from topmix.io.columns import check_one_each
from topmix.io.reading import Reading
from topmix.learn.fit import FitSettings, Problem, run, starting_from
from topmix.learn.learners import Batch, Memoized
from topmix.learn.schedules import ResponsePasses, joined
from topmix.models.covariate_prior import LabelPrior
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.response_prior import Responded, ResponsePrior
from topmix.models.topics import TopicModel
from topmix.results.labels import Labels, Response, best_threshold, labels_of
from topmix.results.topics import AboutFit, FittedTopics, Solver
from topmix.steps.documents import FoldIn, TopicStep
from topmix.steps.inference import CVB0, FixedPoint

MOST_JUDGED = 3000  # documents that the threshold is chosen on
MOST_PASSES = 10
CLASSES, _ = RESPONSES = ("categorical", "gaussian")
WEIGHTS = 0.0, 10.0, 100.0, 1000.0  # of responses, that are tried
LARGEST_NUMBER = 1e90  # of a response: squares are summed, and files hold numbers up to 1e100
HELD_OUT = 5  # every so many documents judge them
FEWEST_JUDGED = 100  # documents
ROUNDS = 5  # of coefficients and the variance of numbers, before topics learn from them


class LabelledLDA(ClassifierMixin, TargetTopics, kw_only=False):
    """Latent Dirichlet allocation with topics of labels: a document has the topics of its labels, and no others.

    Every label has topics of its own, and all documents share the free ones (Ramage et al. 2009, 2011). In `fit(X, y)`,
    y is a matrix (n_samples, n_labels), sparse or not, with 1 where a document has a label; a list with a list of
    labels per document; or one label per document. A document without labels (a row of zeros, an empty list, None) can
    have all topics. There are no sampling sweeps, and learner="asynchronous" and engine="cuda" have no labels.

    Parameters
    ----------
    n_components_per_label : int
        Topics of each label.
    n_free : int
        Topics that all documents share.
    doc_topic_prior : float or None
        Dirichlet prior of a document on each topic that it can have. None makes their sum 0.5 on average.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels; columns of a matrix y by their number.
    topic_labels_ : ndarray of shape (n_topics,)
        The place in classes_ of the label of each topic; -1 for free topics.
    threshold_ : float
        Several labels per document: the share of its labelled tokens from which on a document has a label, chosen for
        the best micro-averaged F1 of documents of the fit.

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
        """How probable each label is, shape (n_samples, n_labels): its share s of the document's labelled tokens; where
        documents have several labels s / (s + threshold_), so that over 0.5 it is predicted."""
        share, labels = self._shares(X)
        return share if labels.is_single else share / (share + labels.threshold)

    def predict(self, X: object, *, min_weight: float = 0.0) -> np.ndarray:
        """One label per document; or, where they have several, a matrix (n_samples, n_labels) of 0 and 1, with at least
        the most probable one in each row. Labels have a share of `min_weight` or more."""
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
        """Accuracy: the part of the documents of which exactly the right labels are predicted."""
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
        return tags


class SupervisedLDA(Seeded, TargetTopics):
    """Latent Dirichlet allocation whose topics also explain a response of each document: its class, or a number.

    Topics are first learned from words alone, as LDA learns them. In further passes, which are memoized, they are
    pulled towards what separates the responses (Blei and McAuliffe 2007, Wang, Blei and Fei-Fei 2009). Responses of new
    documents are predicted by a logistic or a ridge regression on what `transform` returns.

    Parameters
    ----------
    response : {"categorical", "gaussian"}
        What y is: classes, one per document, or numbers.
    response_weight : float or None
        How many responses each one counts as: 1 is the model of the papers, and at 0 topics are those of LDA. None
        tries 0, 10, 100 and 1000, and takes what predicts the responses of a fifth of the documents best.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        response="categorical": the classes.
    coef_ : ndarray of shape (n_classes, n_components), or (1, n_components) of two classes and of numbers
        Coefficients of the shares of topics, as in scikit-learn's linear models.
    intercept_ : ndarray of shape (n_classes,) or (1,)
    response_weight_ : float
        The weight that was given or chosen.

    Examples
    --------
    >>> from topmix import SupervisedLDA
    >>> texts = ["apples pears", "ships sails", "pears plums apples", "sails masts"] * 10
    >>> model = SupervisedLDA(2, random_state=0).fit(texts, ["fruit", "sea", "fruit", "sea"] * 10)
    >>> model.predict(["apples plums pears", "masts ships sails"]).tolist()
    ['fruit', 'sea']
    """

    response: str = "categorical"
    response_weight: float | None = None

    doc_topic_prior_ = learned(alpha_of)
    classes_ = learned[np.ndarray](lambda f: np.array(_response(f).classes) if _response(f).classes else None)
    coef_ = learned[np.ndarray](lambda f: _response(f).coefficients)
    intercept_ = learned[np.ndarray](lambda f: _response(f).intercept)
    response_weight_ = learned[float](lambda f: _response(f).weight)

    def _fit(self, X: object, y: object, options: FitOptions) -> FittedTopics:
        one_of(self.response, RESPONSES, "response")
        if self.response_weight is not None:
            number_from(self.response_weight, "response_weight", 0.0)
        if not isinstance(self._inference(), FixedPoint):
            raise ValueError("SupervisedLDA needs inference='collapsed' or 'variational'")
        corpus, reading = self._documents(X, options)
        classes, centre, scale = tuple[str | int, ...](), 0.0, 1.0
        if self.response == CLASSES:
            labels, Y = labels_of(y, corpus.n_docs, 1, 0)
            if not labels.is_single or np.any(np.diff(Y.indptr) != 1):
                raise ValueError("each document needs one class: LabelledLDA takes several, or none")
            classes, target = labels.classes, Y.indices.astype(np.float64)
        else:
            target = column_or_1d(y, dtype=np.float64, warn=True)
            check_one_each(len(target), corpus.n_docs)
            if not np.isfinite(target).all():
                raise ValueError("y contains NaN or infinity")
            if abs(largest := target[np.abs(target).argmax()]) > LARGEST_NUMBER:
                limits = f"from {-LARGEST_NUMBER:g} to {LARGEST_NUMBER:g}"
                raise ValueError(f"y has a value of {largest:.3g}; it must be {limits}. Divide y by a constant.")
            # The squares of numbers below 1e-162 are zero, and so is their deviation.
            centre, scale = float(target.mean()), float(target.std()) or float(np.ptp(target)) or 1.0
            target = (target - centre) / scale
        corpus = corpus.with_columns(design=DesignRows.of(target[:, None]))

        problem, settings, rng = self._prepared(corpus, reading, options)
        result = run(problem, settings, rng)
        # The fit goes on: topics learn from responses too.
        model = replace(result.model, document_options=self._document_options(), partner=None)
        solver = Solver(problem.engine, problem.threads)
        docs = joined([folded.docs for _, folded in solver.run(FoldIn(), model, corpus)])
        further = replace(
            problem,
            step=TopicStep(1),
            learner=problem.learner if isinstance(problem.learner, Batch | Memoized) else Memoized(),
            engine=problem.engine.of_processors(),  # GPUs have no kernel for responses
            max_iter=min(MOST_PASSES, problem.max_iter),
            is_warm=True,
            keep=None,
        )
        settings, weight = replace(settings, n_init=1), self.response_weight
        if weight is None:
            weight = self._best_weight(further, model, docs, settings, rng, len(classes))
        if weight:
            result = run(_responding(further, model, docs, weight, len(classes)), settings, rng, result)
        f = self._ended(reading, result, corpus)
        theta = f.proportions(corpus, self._solver())
        if classes:
            response = Response.of_classes(theta, target.astype(np.int64), classes)
        else:
            response = Response.of_numbers(theta, target, centre, scale)
        return replace(f, response=replace(response, weight=float(weight)))

    def _best_weight(
        self, problem: Problem, model: TopicModel, docs: DocTopics, settings: FitSettings,
        rng: np.random.Generator, n_classes: int,
    ) -> float:  # fmt: skip
        """The weight whose topics predict the responses of documents best that they did not learn from."""
        corpus, solver = problem.corpus, Solver(problem.engine, problem.threads)
        rows = rng.permutation(corpus.n_docs)
        held, kept = np.sort(rows[: corpus.n_docs // HELD_OUT]), np.sort(rows[corpus.n_docs // HELD_OUT :])
        if corpus.n_docs < FEWEST_JUDGED:
            return 1.0
        part, quiet = replace(problem, data=corpus[kept]), replace(settings, callbacks=(), verbose=0, keeps_last=False)
        y, wanted, scores = _targets(corpus[kept]), _targets(corpus[held]), []
        codes, code = np.unique(y, return_inverse=True)
        for weight in WEIGHTS:
            tried = (
                run(_responding(part, model, docs.of(kept), weight, n_classes), quiet, rng).model if weight else model
            )
            f = FittedTopics(reading=Reading(n_features=corpus.n_words), model=self._reported(tried))
            theta, other = (f.proportions(corpus[of], solver) for of in (kept, held))
            if n_classes:
                response = Response.of_classes(theta, code, tuple(range(len(codes))))
                scores.append(np.mean(codes[response.probabilities(other).argmax(axis=1)] == wanted))
            else:
                outputs = Response.of_numbers(theta, y, 0.0, 1.0).outputs(other)[:, 0]
                scores.append(-np.mean((outputs - wanted) ** 2))
        return WEIGHTS[int(np.argmax(scores))]

    def _reported(self, model: TopicModel) -> TopicModel:
        prior = model.prior
        return super()._reported(replace(model, prior=prior.base) if isinstance(prior, ResponsePrior) else model)

    @where(lambda self: self.response == CLASSES)
    def predict_proba(self, X: object) -> np.ndarray:
        """How probable each class is, shape (n_samples, n_classes)."""
        return _response(self._found()).probabilities(self._theta(X))

    def predict(self, X: object, *, min_weight: float = 0.0) -> np.ndarray:
        """The most probable class of each document, or the number that is expected."""
        if fraction(min_weight, "min_weight"):
            raise ValueError("min_weight is for topics: look at transform, or at predict_proba")
        found, theta = _response(self._found()), self._theta(X)
        if found.classes:
            return np.asarray(np.array(found.classes)[found.probabilities(theta).argmax(axis=1)])
        return found.outputs(theta)[:, 0]

    def score(self, X: object, y: object = None, sample_weight: object = None, *, metadata: object = None) -> float:
        """Accuracy of the classes that are predicted, or R^2 of the numbers."""
        if y is None or metadata is not None:
            raise ValueError("score compares with responses: score(X, y)")
        from sklearn.metrics import accuracy_score, r2_score  # not for commands that have no use for it

        measure = accuracy_score if self.response == CLASSES else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> FittedTopics:
        f, at = super()._read(about, file, K), file.at("response")
        found = Response.read(at, K=K) if at.has("coefficients") else None
        if found is not None and bool(found.classes) != (self.response == CLASSES):
            raise ModelFileError("the responses of the model are not those of its parameters")
        return replace(f, response=found)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.response == CLASSES:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(poor_score=True)
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags(poor_score=True)
        return tags


def _response(f: FittedTopics) -> Response:
    if f.response is None:
        raise NotFittedError("there are no responses of these topics: the fit was interrupted, or topics were edited")
    return f.response


def _targets(corpus: Corpus) -> np.ndarray:
    assert corpus.design is not None
    return corpus.design.x[corpus.design.row, 0]


def _responding(problem: Problem, model: TopicModel, docs: DocTopics, weight: float, n_classes: int) -> Problem:
    """Passes with responses of this weight. `docs` are the topics of documents before them."""
    base = model.prior
    assert isinstance(base, DocumentPrior)
    assert problem.empty is not None
    prior = ResponsePrior(
        base.alpha,
        base.posterior,
        base.learned,
        coefficients=np.zeros((n_classes or 1, len(base.alpha))),
        precision=0.0 if n_classes else 1.0,
        weight=weight,
    )
    responded = Responded.of(docs, _targets(problem.corpus))
    for _ in range(ROUNDS):
        prior = prior.responding_to(responded)
    start = replace(copy.deepcopy(model), prior=prior)
    empty = replace(problem.empty, prior=prior)
    return replace(problem, first=starting_from(start, start.pseudo_counts()), plan=ResponsePasses, empty=empty)
