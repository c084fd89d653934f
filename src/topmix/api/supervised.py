"""Supervised LDA as a classifier or a regressor of scikit-learn."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.document_prior import DocumentPrior
from topmix.allocations.response_prior import Responded, ResponsePrior
from topmix.api.estimator import learned
from topmix.api.labelled import not_available
from topmix.api.lda import FiniteTopics
from topmix.api.priors import document_prior_as_given
from topmix.api.sklearn_callbacks import with_sklearn_callbacks
from topmix.api.topics import M
from topmix.data.atomic import check_can_write
from topmix.data.columns import check_one_each
from topmix.data.corpus import Corpus
from topmix.data.design_rows import DesignRows
from topmix.engines import Engine, Ray, Threads
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.fitted import documents
from topmix.fitted.documents import Solver
from topmix.fitted.labels import labels_of
from topmix.fitted.response import Response
from topmix.fitted.topics import FittedTopics
from topmix.fitting.history import Callback, Clock
from topmix.fitting.loop import Course, Outcome
from topmix.fitting.problem import TopicProblem
from topmix.fitting.responding import joined
from topmix.fitting.topics import TopicStart
from topmix.inference import Inference
from topmix.inference.fixed_point import FixedPoint
from topmix.learners import Batch, Learner, Memoized
from topmix.local.topics import TopicStep
from topmix.models.topics import TopicModel
from topmix.parameters.checks import number_from, one_of, whole_number
from topmix.priors import ByGroup, Covariates, OverTime
from topmix.read import How, Reading, refuse_iterator

Array = NDArray[np.float64]

MOST_PASSES = 10
CLASSES, NUMBERS = RESPONSES = ("categorical", "gaussian")
WEIGHTS = 0.0, 10.0, 100.0, 1000.0  # of responses, that are tried
HELD_OUT = 5  # every so many documents judge them
FEWEST_JUDGED = 100  # documents
ROUNDS = 5  # of coefficients and the variance of numbers, before topics learn from them


def of_classes(method: M) -> M:
    """For a method that there is only where responses are classes."""
    checked: M = available_if(lambda self: self.response == CLASSES)(method)
    return checked


class SupervisedLDA(FiniteTopics):
    """Latent Dirichlet allocation whose topics also explain a response of each document: its class, or a number.

    Topics are first learned from words alone, as LDA learns them. In further passes they are pulled towards what
    separates the responses (Blei and McAuliffe 2007, Wang, Blei and Fei-Fei 2009). Responses of new documents are then
    predicted from their topics, by a logistic or a ridge regression on what `transform` returns.

    Parameters
    ----------
    n_components : int
        Number of topics, K.
    response : {"categorical", "gaussian"}
        What y is: classes, one per document, or numbers.
    response_weight : float or None
        How many responses each one counts as. At 1, the model of the papers, the one response of a document hardly
        moves the topics of its many words. None tries 0, 10, 100 and 1000, and takes what predicts the responses of a
        fifth of the documents best; at 0 the topics are those of LDA.
    n_active, inference, learner, engine, doc_topic_prior, topic_word_prior, seeds, max_iter, tol, max_time, n_init,
    init, warm_start, n_jobs, random_state, verbose, callbacks
        As in LDA, without Covariates, OverTime and ByGroup, and with inference="collapsed" or "variational". Passes
        that learn from responses are memoized, or those of learner="batch", and run on the processor where the engine
        is "cuda".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        response="categorical": the classes.
    coef_ : ndarray of shape (n_classes, n_components), or (1, n_components) of two classes and of numbers
        Coefficients of the shares of topics, as in scikit-learn's linear models.
    intercept_ : ndarray of shape (n_classes,) or (1,)
    response_weight_ : float
        The weight that was given or chosen.
    components_, topic_word_, history_, elbo_, n_iter_, converged_, n_features_in_, feature_names_in_
        As in LDA. The last records of `history_` have the phase "responding", and an objective with responses.

    Examples
    --------
    >>> from topmix import SupervisedLDA
    >>> texts = ["apples pears", "ships sails", "pears plums apples", "sails masts"] * 10
    >>> model = SupervisedLDA(2, random_state=0).fit(texts, ["fruit", "sea", "fruit", "sea"] * 10)
    >>> model.predict(["apples plums pears", "masts ships sails"]).tolist()
    ['fruit', 'sea']
    """

    doc_topic_prior_ = learned[Any](lambda f: document_prior_as_given(f.topics.prior.alpha, f.topics.prior.learned))
    classes_ = learned[np.ndarray](lambda f: np.array(_response(f).classes) if _response(f).classes else None)
    coef_ = learned[np.ndarray](lambda f: _response(f).coefficients)
    intercept_ = learned[np.ndarray](lambda f: _response(f).intercept)

    response_weight_ = learned[float](lambda f: _response(f).weight)

    _classes: tuple[str | int, ...] = ()  # of the fit that is going on
    _scale: tuple[float, float] = (0.0, 1.0)  # mean and standard deviation of numbers
    _weight: float = 1.0  # of responses
    _responded: Corpus | None = None

    def __init__(
        self,
        n_components: int = 100,
        *,
        response: str = "categorical",
        response_weight: float | None = None,
        n_active: int | None = 16,
        inference: str | Inference = "collapsed",
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        doc_topic_prior: object = None,
        topic_word_prior: object = None,
        seeds: object = None,
        max_iter: int | None = None,
        tol: float = 3e-3,
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
        self.response = response
        self.response_weight = response_weight
        self.n_active = n_active
        self.inference = inference
        self.learner = learner
        self.engine = engine
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.seeds = seeds
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
        """Learns topics of documents X, which is what `LDA.fit` takes, and how the responses y depend on them: one
        class or one number per document. A checkpoint holds the passes before responses are learned from."""
        clock = Clock()
        if y is None:
            raise ValueError("SupervisedLDA requires y to be passed, but the target y is None")
        if metadata is not None:
            raise ValueError("SupervisedLDA has responses, and no metadata: pass them as y")
        if checkpoint is not None:
            check_can_write(checkpoint)
        every, how = whole_number(checkpoint_every, "checkpoint_every"), How(text, vectorizer, feature_names, layer)
        return self._learn(lambda: self._declared()._fit_responses(X, y, how, clock, checkpoint, every))

    def _fit_responses(
        self, X: object, y: object, how: How, clock: Clock, path: str | os.PathLike[str] | None, every: int
    ) -> FittedTopics:
        for given in (self.doc_topic_prior, self.topic_word_prior):
            if isinstance(given, Covariates | OverTime | ByGroup):
                raise ValueError(f"SupervisedLDA has no {type(given).__name__}: use LDA")
        f = self._fit(X, None, how, y, clock, path, every)
        corpus = self._responded
        assert corpus is not None
        assert corpus.design is not None
        theta = documents.proportions(f, corpus, self._solver())
        found = corpus.design.x[corpus.design.row, 0]
        if self.response == CLASSES:
            response = Response.of_classes(theta, found.astype(np.int64), self._classes)
        else:
            response = Response.of_numbers(theta, found, *self._scale)
        return replace(f, response=replace(response, weight=self._weight))

    def _inference(self) -> Inference:
        inference = super()._inference()
        if not isinstance(inference, FixedPoint):
            raise ValueError("SupervisedLDA needs inference='collapsed' or 'variational'")
        return inference

    def _with_covariates(
        self, corpus: Corpus, reading: Reading, source: object, is_given: bool
    ) -> tuple[Corpus, Reading]:
        """The documents with their responses: a class by its number, or a standardised number."""
        one_of(self.response, RESPONSES, "response")
        if self.response_weight is not None:
            number_from(self.response_weight, "response_weight", 0.0)
        if self.response == CLASSES:
            labels, Y = labels_of(source, corpus.n_docs, 1, 0)
            if not labels.is_single or np.any(np.diff(Y.indptr) != 1):
                raise ValueError("each document needs one class: LabelledLDA takes several, or none")
            self._classes, y = labels.classes, Y.indices.astype(np.float64)
        else:
            y = _numbers(source, corpus.n_docs)
            self._scale = float(y.mean()), float(y.std()) or 1.0
            y = (y - self._scale[0]) / self._scale[1]
        self._responded = corpus.with_design(DesignRows.of(y[:, None]))
        return self._responded, reading

    def _further(
        self, problem: TopicProblem, found: Outcome[TopicModel], course: Course[FittedTopics], rng: np.random.Generator
    ) -> Outcome[TopicModel]:
        """Passes in which the topics learn from responses too."""
        solver = Solver(problem.engine, problem.threads)
        model = replace(found.model, document_options=self._document_options(), partner=None)
        docs = joined([folded.docs for _, folded in documents.fold_in(model, problem.corpus, solver)])
        most = min(MOST_PASSES, problem.max_iter)
        problem = replace(
            problem,
            step=TopicStep(1),
            learner=problem.learner if isinstance(problem.learner, Batch | Memoized) else Memoized(),
            engine=_of_processors(problem.engine),
            max_iter=most,
            sweeps=0,
            is_warm=True,
            restarts_small_topics=False,
            checkpoint=None,
        )
        course = replace(course, max_iter=most, n_init=1)
        given = self.response_weight
        self._weight = self._best_weight(problem, model, docs, course, rng) if given is None else float(given)
        if not self._weight:
            return found
        again = self._bent(problem, model, docs, self._weight, course, rng)
        n = len(found.history)
        history = [*found.history, *(replace(record, n_pass=n + record.n_pass) for record in again.history)]
        return Outcome(again.model, history, again.converged, found.n_updates + again.n_updates)

    def _bent(
        self,
        problem: TopicProblem,
        model: TopicModel,
        docs: DocTopics,
        weight: float,
        course: Course[FittedTopics],
        rng: np.random.Generator,
    ) -> Outcome[TopicModel]:
        """The topics after passes with responses of this weight. `docs` are the topics of documents before them."""
        base, design = model.prior, problem.corpus.design
        assert isinstance(base, DocumentPrior)
        assert design is not None
        n_outputs = len(self._classes) if self.response == CLASSES else 1
        prior = ResponsePrior(
            base.alpha,
            base.posterior,
            base.learned,
            coefficients=np.zeros((n_outputs, len(base.alpha))),
            precision=0.0 if self.response == CLASSES else 1.0,
            weight=weight,
        )
        responded = Responded.of(docs, design.x[design.row, 0])
        for _ in range(ROUNDS):
            prior = prior.responding_to(responded)
        start = replace(copy.deepcopy(model), prior=prior)
        problem = replace(problem, empty=replace(problem.empty, prior=prior), start=lambda rng: start)
        return course.run(lambda rng, log: TopicStart(problem, rng, log), rng)

    def _best_weight(
        self,
        problem: TopicProblem,
        model: TopicModel,
        docs: DocTopics,
        course: Course[FittedTopics],
        rng: np.random.Generator,
    ) -> float:
        """The weight whose topics predict the responses of documents best that they were not bent towards."""
        corpus, solver = problem.corpus, Solver(problem.engine, problem.threads)
        rows = rng.permutation(corpus.n_docs)
        held, kept = np.sort(rows[: corpus.n_docs // HELD_OUT]), np.sort(rows[corpus.n_docs // HELD_OUT :])
        if corpus.n_docs < FEWEST_JUDGED:
            return 1.0
        part, quiet = replace(problem, corpus=corpus[kept]), replace(course, callbacks=(), verbose=0)
        scores = []
        for weight in WEIGHTS:
            bent = self._bent(part, model, docs.of(kept), weight, quiet, rng).model if weight else model
            f = FittedTopics(reading=Reading(n_features=corpus.n_words), model=self._reported(bent))
            theta, other = (documents.proportions(f, corpus[of], solver) for of in (kept, held))
            scores.append(self._held_out_score(theta, other, corpus[kept].design, corpus[held].design))
        return WEIGHTS[int(np.argmax(scores))]

    def _held_out_score(self, theta: Array, other: Array, design: DesignRows | None, held: DesignRows | None) -> float:
        """Of a regression on the shares of topics: accuracy, or minus the squared error."""
        assert design is not None
        assert held is not None
        y, wanted = design.x[design.row, 0], held.x[held.row, 0]
        if self.response == NUMBERS:
            return -float(np.mean((Response.of_numbers(theta, y, 0.0, 1.0).outputs(other)[:, 0] - wanted) ** 2))
        codes, y = np.unique(y, return_inverse=True)
        found = Response.of_classes(theta, y, tuple(range(len(codes)))).probabilities(other)
        return float(np.mean(codes[found.argmax(axis=1)] == wanted))

    def _reported(self, model: TopicModel) -> TopicModel:
        prior = model.prior
        return super()._reported(replace(model, prior=prior.base) if isinstance(prior, ResponsePrior) else model)

    @not_available
    def partial_fit(self, X: object, y: object = None, **reading: Any) -> Self:
        """Not available: responses are learned with `fit`."""
        raise AssertionError

    def fit_transform(
        self, X: object, y: object = None, *, normalize: bool = True, **reading: Any
    ) -> np.ndarray | sp.csr_array:
        """`fit`, which takes `reading`, then `transform`, as if responses were not known."""
        refuse_iterator(X)
        return self.fit(X, y, **reading).transform(X, normalize=normalize)

    @of_classes
    def predict_proba(self, X: object) -> np.ndarray:
        """How probable each class is, shape (n_samples, n_classes)."""
        return self._predicted().probabilities(self._shares(X))

    def predict(self, X: object, *, min_weight: float = 0.0) -> np.ndarray:
        """The most probable class of each document, or the number that is expected."""
        if min_weight:
            raise ValueError("min_weight is for topics: look at transform, or at predict_proba")
        found, theta = self._predicted(), self._shares(X)
        if found.classes:
            return np.asarray(np.array(found.classes)[found.probabilities(theta).argmax(axis=1)])
        return found.outputs(theta)[:, 0]

    def score(self, X: object, y: object = None, sample_weight: object = None, *, metadata: object = None) -> float:
        """Accuracy of the classes that are predicted, or R^2 of the numbers."""
        if y is None or metadata is not None:
            raise ValueError("score compares with responses: score(X, y)")
        from sklearn.metrics import accuracy_score, r2_score  # not for commands that have no use for it

        measure = accuracy_score if self._predicted().classes else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _predicted(self) -> Response:
        return _response(self._found())

    def _shares(self, X: object) -> np.ndarray:
        refuse_iterator(X)
        return np.asarray(self.transform(X))

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        super()._write(fitted, out)
        if fitted.response is not None:
            fitted.response.write(out.at("response"))

    def _read(self, about: dict[str, Any], file: CheckedReader, K: int) -> FittedTopics:
        f, at = super()._read(about, file, K), file.at("response")
        if not at.has("coefficients"):
            return f
        found = Response.read(at, K)
        if bool(found.classes) != (self.response == CLASSES):
            raise ModelFileError("the responses of the model are not those of its parameters")
        return replace(f, response=found)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.response == CLASSES:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(poor_score=True)
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags(poor_score=True)
        return tags


def _response(f: FittedTopics) -> Response:
    if f.response is None:
        raise ValueError("there are no responses of these topics: the fit was interrupted, or topics were edited")
    return f.response


def _numbers(y: object, n_docs: int) -> np.ndarray:
    values: np.ndarray = column_or_1d(y, dtype=np.float64, warn=True)
    check_one_each(len(values), n_docs)
    if not np.isfinite(values).all():
        raise ValueError("y contains NaN or infinity")
    return values


def _of_processors(engine: Engine) -> Engine:
    """GPUs have no kernel for responses."""
    if isinstance(engine, Ray):
        return replace(engine, gpus_per_worker=0)
    return Threads() if engine.on_device else engine
