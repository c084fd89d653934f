"""Supervised LDA as a classifier or a regressor of scikit-learn."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.validation import column_or_1d

from topmix.base.checks import number_from, one_of
from topmix.base.fields import CheckedReader, ModelFileError
from topmix.corpus.corpus import Corpus
from topmix.corpus.design import DesignRows
from topmix.engines.engine import Engine
from topmix.engines.local import Threads
from topmix.engines.ray_engine import Ray
from topmix.estimators.declared import FitOptions
from topmix.estimators.described import where
from topmix.estimators.estimator import Seeded, learned
from topmix.estimators.labelled import TargetTopics
from topmix.estimators.priors import document_prior_as_given
from topmix.io.columns import check_one_each
from topmix.io.reading import Reading
from topmix.learn.fit import run
from topmix.learn.learners import Batch, Memoized
from topmix.learn.problem import FitSettings, Given, Outcome, Problem
from topmix.learn.schedules import ResponsePasses, joined
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.response_prior import Responded, ResponsePrior
from topmix.models.topics import TopicModel
from topmix.results.labels import Response, labels_of
from topmix.results.topics import AboutFit, FittedTopics, Solver, fold_in
from topmix.steps.documents import TopicStep
from topmix.steps.inference import FixedPoint

Array = NDArray[np.float64]

MOST_PASSES = 10
CLASSES, _ = RESPONSES = ("categorical", "gaussian")
WEIGHTS = 0.0, 10.0, 100.0, 1000.0  # of responses, that are tried
HELD_OUT = 5  # every so many documents judge them
FEWEST_JUDGED = 100  # documents
ROUNDS = 5  # of coefficients and the variance of numbers, before topics learn from them


class SupervisedLDA(Seeded, TargetTopics):
    """Latent Dirichlet allocation whose topics also explain a response of each document: its class, or a number.

    Topics are first learned from words alone, as LDA learns them. In further passes they are pulled towards what
    separates the responses (Blei and McAuliffe 2007, Wang, Blei and Fei-Fei 2009). Responses of new documents are then
    predicted from their topics, by a logistic or a ridge regression on what `transform` returns. Passes that learn from
    responses are memoized, or those of learner="batch", and run on the processor where the engine is "cuda".

    Parameters
    ----------
    response : {"categorical", "gaussian"}
        What y is: classes, one per document, or numbers.
    response_weight : float or None
        How many responses each one counts as. At 1, the model of the papers, the one response of a document hardly
        moves the topics of its many words. None tries 0, 10, 100 and 1000, and takes what predicts the responses of a
        fifth of the documents best; at 0 the topics are those of LDA.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        response="categorical": the classes.
    coef_ : ndarray of shape (n_classes, n_components), or (1, n_components) of two classes and of numbers
        Coefficients of the shares of topics, as in scikit-learn's linear models.
    intercept_ : ndarray of shape (n_classes,) or (1,)
    response_weight_ : float
        The weight that was given or chosen.
    history_ : list of Record
        As in LDA. The last records have the phase "responding", and an objective with responses.

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

    doc_topic_prior_ = learned(lambda f: document_prior_as_given(f.topics.prior.alpha, f.topics.prior.learned))
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
        classes: tuple[str | int, ...] = ()
        centre, scale = 0.0, 1.0
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
            centre, scale = float(target.mean()), float(target.std()) or 1.0
            target = (target - centre) / scale
        corpus = corpus.with_columns(design=DesignRows.of(target[:, None]))

        problem, settings, rng = self._prepared(corpus, reading, options)
        weight, result = self._respond(problem, run(problem, settings, rng), settings, rng, len(classes))
        f = self._ended(reading, result, corpus)
        theta = f.proportions(corpus, self._solver())
        if classes:
            response = Response.of_classes(theta, target.astype(np.int64), classes)
        else:
            response = Response.of_numbers(theta, target, centre, scale)
        return replace(f, response=replace(response, weight=weight))

    def _respond(
        self,
        problem: Problem,
        result: Outcome,
        settings: FitSettings,
        rng: np.random.Generator,
        n_classes: int,
    ) -> tuple[float, Outcome]:
        """Passes in which the topics learn from responses too, and what these weigh."""
        corpus, solver = problem.data, Solver(problem.engine, problem.threads)
        assert isinstance(corpus, Corpus)
        model = replace(result.model, document_options=self._document_options(), partner=None)
        docs = joined([folded.docs for _, folded in fold_in(model, corpus, solver)])
        further = replace(
            problem,
            step=TopicStep(1),
            learner=problem.learner if isinstance(problem.learner, Batch | Memoized) else Memoized(),
            engine=_of_processors(problem.engine),
            max_iter=min(MOST_PASSES, problem.max_iter),
            is_warm=True,
            keep=None,
        )
        settings, weight = replace(settings, n_init=1), self.response_weight
        if weight is None:
            weight = self._best_weight(further, model, docs, settings, rng, n_classes)
        if not weight:
            return 0.0, result
        return float(weight), run(_responding(further, model, docs, weight, n_classes), settings, rng, result)

    def _best_weight(
        self,
        problem: Problem,
        model: TopicModel,
        docs: DocTopics,
        settings: FitSettings,
        rng: np.random.Generator,
        n_classes: int,
    ) -> float:
        """The weight whose topics predict the responses of documents best that they did not learn from."""
        corpus, solver = problem.data, Solver(problem.engine, problem.threads)
        assert isinstance(corpus, Corpus)
        rows = rng.permutation(corpus.n_docs)
        held, kept = np.sort(rows[: corpus.n_docs // HELD_OUT]), np.sort(rows[corpus.n_docs // HELD_OUT :])
        if corpus.n_docs < FEWEST_JUDGED:
            return 1.0
        part, quiet = replace(problem, data=corpus[kept]), replace(settings, callbacks=(), verbose=0, keeps_last=False)
        y, wanted, scores = _targets(corpus[kept]), _targets(corpus[held]), []
        codes, code = np.unique(y, return_inverse=True)
        for weight in WEIGHTS:
            tried = model
            if weight:
                tried = run(_responding(part, model, docs.of(kept), weight, n_classes), quiet, rng).model
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
        if min_weight:
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

        measure = accuracy_score if _response(self._found()).classes else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> FittedTopics:
        f, at = super()._read(about, file, K), file.at("response")
        if not at.has("coefficients"):
            return f
        found = Response.read(at, K=K)
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


def _targets(corpus: Corpus) -> Array:
    """The responses beside documents."""
    assert corpus.design is not None
    return corpus.design.x[corpus.design.row, 0]


def _responding(problem: Problem, model: TopicModel, docs: DocTopics, weight: float, n_classes: int) -> Problem:
    """Passes with responses of this weight. `docs` are the topics of documents before them."""
    base = model.prior
    assert isinstance(base, DocumentPrior)
    assert isinstance(problem.data, Corpus)
    assert problem.empty is not None
    prior = ResponsePrior(
        base.alpha,
        base.posterior,
        base.learned,
        coefficients=np.zeros((n_classes or 1, len(base.alpha))),
        precision=0.0 if n_classes else 1.0,
        weight=weight,
    )
    responded = Responded.of(docs, _targets(problem.data))
    for _ in range(ROUNDS):
        prior = prior.responding_to(responded)
    start = replace(copy.deepcopy(model), prior=prior)
    empty = replace(problem.empty, prior=prior)
    return replace(problem, first=Given(start, start.pseudo_counts()), plan=ResponsePasses, empty=empty)


def _of_processors(engine: Engine) -> Engine:
    """GPUs have no kernel for responses."""
    if isinstance(engine, Ray):
        return replace(engine, gpus_per_worker=0)
    return Threads() if engine.on_device else engine
