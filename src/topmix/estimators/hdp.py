"""The hierarchical Dirichlet process as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from topmix import _core
from topmix.allocations.hdp import StickPrior
from topmix.allocations.topic_sticks import Sticks
from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.engines import Engine
from topmix.estimators.editing import EditMixin
from topmix.estimators.inputs import (
    chosen,
    count_of_active,
    count_of_batches,
    count_of_components,
    count_of_threads,
    positive_number,
)
from topmix.estimators.priors import FIRM_WORD_PRIOR_TOTAL, concentration, firm_word_prior, word_prior
from topmix.estimators.saving import words_from_arrays, words_to_arrays
from topmix.estimators.topic_estimator import TopicEstimator
from topmix.files.reader import LARGEST, SMALLEST, Parts
from topmix.fitting.history import Callback
from topmix.learners import State
from topmix.likelihoods.topic_words import TopicWords
from topmix.local import ExcludingStep, OnlineStep, TopicStep
from topmix.models.topic_start import blended, revived
from topmix.models.topics import TopicModel
from topmix.search import Adaptation, Course, Fit, Scouts, Sources, largest
from topmix.stats import WordTotal

WARMING = 4  # passes at the beginning of an adaptive fit, collapsed
POLISH = 9  # passes at the end of an adaptive fit
FINISH_WORD_PRIOR = 0.2  # eta in those, where they are collapsed; never more than FIRM_WORD_PRIOR_TOTAL over K
GHOST = 1e-6  # tokens; with fewer a topic has left a variational document, and would only cost time
FEWEST_A_BATCH = 30  # documents in memoized fits, unless batch_size says otherwise
CUT = 2.5  # tokens of a topic in a document at least, where it is collapsed


class HDP(EditMixin, TopicEstimator):
    """Topics under a hierarchical Dirichlet process: some are used by many documents, most by few.

    Variational inference with a surrogate bound (Hughes, Kim & Sudderth 2015). Where LDA has one prior for all topics,
    here each has its share of the corpus, learned with it, and a little is left over for topics that are not there yet.

    Parameters
    ----------
    n_components : int
        Number of topics, the truncation K; where it adapts, one of the numbers to start with.
    adapt : bool
        Whether a memoized fit finds the number itself: short fits of several sizes say with how many to begin (unless
        `init` or `warm_start` gives the topics), and then topics are merged, added, split and deleted while the bound
        of the whole corpus rises. Other learners keep n_components.
    posterior : {"collapsed", "variational"}
        "variational" climbs the surrogate bound at every step. "collapsed": the number of topics is found likewise, but
        a few collapsed passes come before, which lead to a higher bound, and a few at the end, for topics that predict
        better; elbo_ is then the bound where these ended, and lower. Without adapt all passes are collapsed.
    learner : {"memoized", "batch", "stochastic"}
        How the documents are visited.
    n_active : int or None
        Topics kept for each word of a document, L; None keeps all K.
    doc_topic_prior : float, "auto" or None
        Concentration of documents, alpha: topic k has the prior alpha E[beta_k]. Small: few topics a document. None is
        0.5; "auto" learns it.
    weight_concentration_prior : float, "auto" or None
        Concentration of the corpus, gamma. Large: many topics. None is 10; "auto" learns it.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta; rows of a matrix only with adapt=False. None is 0.03 in variational
        passes and while the number of topics is looked for, min(0.2, 16 / K) in the collapsed passes after that, and
        min(0.08, 16 / K) where all passes are collapsed. "auto" learns one value.
    smoothing : float or None
        What stands in for the prior in topic_word_. None is min(0.08, 16 / K) for collapsed topics whose prior was not
        given, and else the prior itself.
    max_iter : int
        Passes at most, those of trials that came to nothing included. An adaptive fit takes 100 to 200.
    tol, batch_size, total_samples, learning_scale, learning_offset, learning_decay : as in LDA
    max_doc_update_iter, doc_tol : as in LDA
    min_topic_mass : float or None
        A topic that holds no more than this many tokens leaves the document. None is 2.5 in collapsed passes and 1e-6
        in variational ones, where the bound rises but for that much.
    restarts : int
        In variational passes, the smallest topics of each document that are tried without; what raises the document's
        bound is kept. Where the number of topics adapts, only in the last passes: sooner it would end lower.
    cold_visits : int or None
        Visits to a document that start from its words alone; later ones start where the last left off.
    n_init, init, warm_start, engine, n_jobs, random_state, verbose, callbacks : as in LDA

    Attributes
    ----------
    components_, topic_word_, topic_word_prior_, n_iter_, n_batch_iter_ : as in LDA
    converged_ : bool
        Whether the bound stood still; where the number of topics adapts, whether no move raised it any more.
    topic_shares_ : ndarray of shape (n_components,)
        E[beta_k], shares of topics in the corpus; what is left over makes them sum to one.
    doc_topic_prior_ : ndarray of shape (n_components,)
        alpha E[beta_k], the prior of a document on each topic.
    concentration_, weight_concentration_ : float
        alpha and gamma, as given or learned.
    history_ : list of Record
        One record a pass; `moves` has what was done to the topics before it, and what that gained.
    elbo_, bound_ : float
        The surrogate bound at the end, a lower bound on the log evidence; and exp(-elbo_ / tokens).
    """

    local_step, exclude, own_discount = "fixed_point", False, 0.0
    selection, stopping = "last", "max"

    def __init__(
        self,
        n_components: int = 100,
        *,
        adapt: bool = True,
        posterior: str = "collapsed",
        learner: str = "memoized",
        n_active: int | None = 16,
        doc_topic_prior: Any = None,
        weight_concentration_prior: Any = None,
        topic_word_prior: Any = None,
        smoothing: float | None = None,
        max_iter: int = 400,
        tol: float = 1e-3,
        batch_size: int | None = None,
        total_samples: float | None = None,
        learning_scale: float = 1.0,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        max_doc_update_iter: int = 100,
        doc_tol: float = 0.1,
        min_topic_mass: float | None = None,
        restarts: int = 5,
        cold_visits: int | None = 2,
        n_init: int = 1,
        init: Any = "auto",
        warm_start: bool = False,
        engine: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.adapt = adapt
        self.posterior = posterior
        self.learner = learner
        self.n_active = n_active
        self.doc_topic_prior = doc_topic_prior
        self.weight_concentration_prior = weight_concentration_prior
        self.topic_word_prior = topic_word_prior
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.learning_scale = learning_scale
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.max_doc_update_iter = max_doc_update_iter
        self.doc_tol = doc_tol
        self.min_topic_mass = min_topic_mass
        self.restarts = restarts
        self.cold_visits = cold_visits
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _empty_model(self, V: int, threads: int) -> TopicModel:
        K = count_of_components(self.n_components)
        alpha, learns_alpha = concentration(self.doc_topic_prior, 0.5, "doc_topic_prior")
        gamma, learns_gamma = concentration(self.weight_concentration_prior, 10.0, "weight_concentration_prior")
        posterior, search = self._first_posterior(), self._adapts()
        eta, learns_eta = word_prior(self._default_eta(K, posterior, search), V, K)
        if eta.shape[1] > 1 and search:
            raise ValueError("topic_word_prior cannot be one a topic where their number adapts: use adapt=False")
        prior = StickPrior(Sticks.even(K, gamma), alpha, gamma, learns_alpha, learns_gamma)
        words = TopicWords(eta, WordTotal.zeros(V, K, threads), posterior, learns_eta, bounds_evidence=True)
        return TopicModel(prior, self._reported(words))

    def _default_eta(self, K: int, posterior: str, search: bool) -> Any:
        """The search has one eta for all K, so that their bounds can be compared. Where topics are there to predict, it
        is firm."""
        if search or not self._is_firm(posterior):
            return self.topic_word_prior
        return min(FINISH_WORD_PRIOR, FIRM_WORD_PRIOR_TOTAL / K) if self._adapts() else firm_word_prior(K)

    def _is_firm(self, posterior: str) -> bool:
        return self.topic_word_prior is None and posterior == "collapsed"

    def _reported(self, words: TopicWords) -> TopicWords:
        smoothing = None if self.smoothing is None else positive_number(self.smoothing, "smoothing")
        if smoothing is None and self._is_firm(words.posterior):
            smoothing = min(firm_word_prior(words.shape[1]), float(words.eta[0, 0]))
        return replace(words, smoothing=smoothing)

    def _set_model(self, model: TopicModel) -> None:
        super()._set_model(replace(model, words=self._reported(model.words)))  # `smoothing` may be another by now
        prior = self._prior()
        self.doc_topic_prior_ = prior.alpha
        self.topic_shares_ = prior.alpha / prior.concentration
        self.truncation_ = self.n_components
        self.concentration_, self.weight_concentration_ = prior.concentration, prior.stick_prior

    def _moves(
        self,
        corpus: Corpus,
        batches: list[slice | np.ndarray],
        engine: Engine,
        state: State,
        step: TopicStep | OnlineStep | ExcludingStep,
        rng: np.random.Generator,
        n_passes: int,
    ) -> Adaptation | None:
        if not self._adapts():
            return None
        assert isinstance(step, TopicStep)
        lengths = row_sums(corpus.indptr, corpus.value)
        X, numbers = sp.csr_array(corpus.to_scipy()), np.arange(corpus.n_docs)
        order = np.concatenate([numbers[rows] for rows in batches])

        def newborn(sizes: np.ndarray, n: int) -> np.ndarray:
            seed = revived(corpus, np.append(np.full(n, -1.0), sizes), rng)
            return np.zeros((corpus.n_words, n)) if seed is None else seed.counts()[:, :n]

        most = largest(min(max(1, corpus.n_docs // 2), _core.MAX_TOPICS))
        return Adaptation(
            Fit(engine, state, step, [lengths[rows] for rows in batches], self._options),
            Sources(newborn, lambda n: blended(corpus, n, rng).counts(), lambda docs: X[order[docs]], rng),
            Course(
                self.max_iter,
                self.tol * max(corpus.n_tokens, 1.0),
                self._warming(),
                min(POLISH, self.max_iter // 4),
                self._finishing,
                most,
            ),
            Scouts(most) if self._starts_anew() else None,
            n_passes,
        )

    def _finishing(self, model: TopicModel) -> TopicModel:
        """What the last passes of an adaptive fit start from."""
        return self._with_prior(model, self.posterior, search=False)

    def _with_prior(self, model: TopicModel, posterior: str, search: bool) -> TopicModel:
        """Its topics, under what `topic_word_prior` says of them there; a learned prior stays as it is."""
        words = replace(model.words, posterior=posterior)
        if self.topic_word_prior is None:
            eta = word_prior(self._default_eta(model.n_components, posterior, search), *words.shape)[0]
            words = replace(words, eta=eta)
        return replace(model, words=replace(words, smoothing=None) if search else self._reported(words))

    def _starts_anew(self) -> bool:
        """Whether nobody said which topics to start with."""
        return isinstance(self.init, str) and not (self.warm_start and hasattr(self, "model_"))

    def _adapts(self) -> bool:
        return self.adapt and self.learner == "memoized"

    def _step(self, K: int) -> TopicStep:
        """Moves need to know where documents were left, so an adaptive fit goes on from there."""
        posterior = self.model_.words.posterior if hasattr(self, "model_") else self.posterior
        return TopicStep(self._options(K, posterior), 1 if self._adapts() else self.cold_visits)

    def _start(self, corpus: Corpus, rng: np.random.Generator, threads: int, *, seed_apart: bool = False) -> TopicModel:
        model = super()._start(corpus, rng, threads, seed_apart=seed_apart and not self._adapts())
        return self._with_prior(model, self._first_posterior(), self._adapts())

    def _learning_step(self, K: int) -> TopicStep:
        """The number of topics is looked for under the variational posterior, whose bound judges it."""
        return replace(self._step(K), options=self._options(K, self._first_posterior(), self._adapts()))

    def _warming(self) -> int:
        return min(WARMING, self.max_iter // 4) if self.posterior == "collapsed" else 0

    def _first_posterior(self) -> str:
        return "variational" if self._adapts() and not self._warming() else self.posterior

    def _options(self, K: int, posterior: str, search: bool = False) -> _core.TopicOptions:
        collapsed = chosen({"variational": False, "collapsed": True}, posterior, "posterior")
        least = CUT if collapsed else GHOST
        return _core.TopicOptions(
            posterior=posterior,
            exclude=False,
            select_often=False,
            mean_change=False,
            L=count_of_active(self.n_active, K),
            eps=least if self.min_topic_mass is None else self.min_topic_mass,
            max_iter=self.max_doc_update_iter,
            tol=self.doc_tol,
            restarts=0 if collapsed or search else self.restarts,
            restart_iter=3,
        )

    def _may_revive(self) -> bool:
        return not self._adapts() and super()._may_revive()

    def _n_batches(self, corpus: Corpus) -> int:
        """Of few documents an update of the sticks takes longer than the documents do."""
        if self.learner != "memoized":
            return super()._n_batches(corpus)
        usual = min(10, max(1, corpus.n_docs // FEWEST_A_BATCH))
        return count_of_batches(self.batch_size, corpus, count_of_active(self.n_active, self.n_components), usual)

    def _n_components_kept(self) -> int:
        return getattr(self, "truncation_", self.model_.n_components)

    def _prior(self) -> StickPrior:
        assert isinstance(self.model_.prior, StickPrior)
        return self.model_.prior

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        prior, words = self._prior(), self.model_.words
        arrays, extra = words_to_arrays(words.eta, words.total)
        arrays |= {"sticks.rho": prior.sticks.rho, "sticks.omega": prior.sticks.omega, "sticks.T": prior.T}
        extra |= {"n_components": self.model_.n_components, "words.learned": words.learned, "sticks.D": prior.D}
        extra |= {"alpha": prior.concentration, "alpha.learned": prior.learns_concentration}
        extra |= {"posterior": words.posterior}
        extra |= {"gamma": prior.stick_prior, "gamma.learned": prior.learns_stick_prior}
        return arrays, extra

    def _from_arrays(self, parts: Parts) -> None:
        K, V = parts.integer("n_components", 1, _core.MAX_TOPICS), parts.n_features
        sticks = Sticks(parts.array("sticks.rho", K, positive=True), parts.array("sticks.omega", K, positive=True))
        if not np.all(sticks.rho < 1):
            raise ValueError("a stick is broken off past its end")
        D, T = parts.number("sticks.D", 0.0, LARGEST), parts.array("sticks.T", {0, K + 1})
        prior = StickPrior(
            sticks,
            parts.number("alpha", SMALLEST, LARGEST),
            parts.number("gamma", SMALLEST, LARGEST),
            parts.flag("alpha.learned"),
            parts.flag("gamma.learned"),
            D if len(T) else 0.0,
            T,
        )
        eta, total = words_from_arrays(parts, K, eta_shape=({1, V}, {1, K}), threads=count_of_threads(self.n_jobs))
        posterior = parts.choice("posterior", ("collapsed", "variational"), missing="variational")
        words = TopicWords(eta, total, posterior, parts.flag("words.learned"), bounds_evidence=True)
        self._set_model(TopicModel(prior, words))
