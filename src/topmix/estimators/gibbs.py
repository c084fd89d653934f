"""Collapsed Gibbs sampling as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from topmix.allocations.document_prior import DocumentPrior
from topmix.chains.gibbs import SAMPLERS, Chain
from topmix.chains.gibbs_cuda import CudaChain
from topmix.data.corpus import Corpus
from topmix.engines import Engine
from topmix.estimators.all_or_nothing import all_or_nothing
from topmix.estimators.components import ComponentParameters, threads_of
from topmix.estimators.inputs import as_corpus
from topmix.estimators.odd_data import warn_of_odd_data
from topmix.estimators.priors import document_prior, document_prior_as_given, word_prior, word_prior_as_given
from topmix.estimators.reading import Reading
from topmix.estimators.saving import SaveMixin
from topmix.estimators.seeding import seed_prior
from topmix.estimators.token_topics import (
    allowed_topics,
    check_whole_counts,
    random_topics,
    read_token_topics,
    start_chain,
    topics_by_seeds,
)
from topmix.estimators.topic_output import TopicOutputMixin
from topmix.estimators.word_rules import WordRules, check_seeds_are_allowed, start_words, without_words
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitting.history import Callback, Clock, Record
from topmix.fitting.passes import Log, Stopping, run_passes
from topmix.fitting.progress import shown
from topmix.likelihoods.topic_words import TopicWords
from topmix.models.document_options import DocumentOptions
from topmix.models.topics import TopicModel
from topmix.numerics.threads import use_threads
from topmix.parameters.checks import count_of_components, one_of, whole_number, whole_number_or_none
from topmix.stats import WordTotal

ACTIVE = 32  # topics kept for a word of a new document
MOST_ANNEALING = 50  # sweeps


class GibbsLDA(TopicOutputMixin, SaveMixin, ComponentParameters, BaseEstimator):
    """Latent Dirichlet allocation by collapsed Gibbs sampling: every token has one topic, drawn given all the others.

    Parameters
    ----------
    n_components : int
        Number of topics, K.
    sampler : {"parallel", "sequential"}
        "sequential" is the textbook sampler, exactly, in one thread; a token takes time proportional to K. "parallel"
        draws the documents of a block at once, on all cores, with the counts of words from the beginning of the block;
        a token takes time proportional to the topics of its document. It approximates the same chain; see docs/math.md,
        section 3.7.
    doc_topic_prior : float, array of shape (n_components,), "auto" or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value a topic.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta. None is 0.03; "auto" learns one value.
    seeds : list of lists of words or None
        Words that topics 0, 1, ... should have, as a prior that stays while they are learned; None in the list is a
        topic without. A table {word: weight} in the place of a list of words weighs them; a word may be a column.
    seed_strength : float
        What the prior adds for a seed word, as a share of its tokens in the data; 1 is as much as the data has.
    word_rules : WordRules or None
        Words that are banned from topics, or pinned to them: WordRules(ban={0: ["boat"]}, pin={1: ["rook"]}).
    max_iter : int
        Sweeps over all tokens.
    burn_in : int or None
        Sweeps before samples count. None is half of max_iter.
    thin : int
        After these, every how many-th sweep is a sample. Topics are averages over the samples.
    annealing : int or None
        Sweeps at the beginning in which alpha falls to its value from one under which documents have many topics. They
        must be burn-in. From a random start the chain is then much sooner where it would end. None is 50, or half of
        the burn-in where that is fewer, for the parallel sampler from a random start, and else 0. history_ then has
        the objective under the alpha of the sweep.
    learn_every : int
        Sweeps between two updates of priors that are "auto".
    batch_size : int or None
        Documents of a block, for the parallel sampler. None makes up to 16 blocks a sweep, fewer where remaking their
        tables would take more than about a fifth of the time. On a GPU a block has at least 131,072 documents.
    init : None, "random", array of shape (n_tokens,) or a fitted estimator
        The first topics of the tokens: at random, as given (row by row, sorted columns, repeated by count), those in
        `token_topics_` of a model of the same documents, or drawn from the responsibilities of a fitted LDA.
    warm_start : bool
        Continue from the last `fit`: from its token topics if there are as many tokens, else from its topics.
    engine : {"threads", "serial", "cuda"} or an object of topmix.engines
        "cuda" keeps the chain on a GPU, for the parallel sampler. Its random numbers are others than the processor's.
    n_jobs : int or None
        Threads. None and -1 use all cores. The results are the same for any value.
    random_state : int, RandomState or None
    verbose : int
        1 shows progress on stderr.
    callbacks : list of callables or None
        Each is called as f(record, view) after a sweep; a true value ends the fit. See topmix.fitting.PassView.

    Attributes
    ----------
    token_topics_ : ndarray of shape (n_tokens,)
        The topic of each token after the last sweep: row by row, columns sorted, repeated by count.
    components_ : ndarray of shape (n_components, n_features)
        Tokens of each word in each topic, averaged over the samples, plus the prior.
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in topics: components_ over the sums of its rows, which is the samples' phi averaged with
        the size of the topic as weight.
    doc_topic_prior_, topic_word_prior_ : alpha and eta, as given or learned.
    n_samples_ : int
        Samples that were averaged; 0 where the fit ended before the first, and the last state is used.
    objective_ : float
        log p(words, topics of tokens) after the last sweep, which history_ has for each.
    history_, n_iter_, n_features_in_, feature_names_in_ : as for LDA.

    Examples
    --------
    >>> from topmix import GibbsLDA
    >>> from topmix.data import sample_lda
    >>> corpus = sample_lda(60, 40, 3, doc_length=30, random_state=0).corpus
    >>> model = GibbsLDA(3, max_iter=20, random_state=0).fit(corpus)
    >>> len(model.token_topics_) == corpus.n_tokens
    True
    """

    _saved_attributes = ("n_iter_", "n_samples_", "n_sweeps_", "objective_")

    def __init__(
        self,
        n_components: int = 100,
        *,
        sampler: str = "parallel",
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        seeds: Any = None,
        seed_strength: float = 0.3,
        word_rules: WordRules | None = None,
        max_iter: int = 200,
        burn_in: int | None = None,
        thin: int = 5,
        annealing: int | None = None,
        learn_every: int = 10,
        batch_size: int | None = None,
        init: Any = None,
        warm_start: bool = False,
        engine: str | Engine = "threads",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.sampler = sampler
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.seeds = seeds
        self.seed_strength = seed_strength
        self.word_rules = word_rules
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.annealing = annealing
        self.learn_every = learn_every
        self.batch_size = batch_size
        self.init = init
        self.warm_start = warm_start
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        text: str | Sequence[str] | None = None,
        vectorizer: Any = None,
        feature_names: Sequence[str] | None = None,
        layer: str | None = None,
    ) -> Self:
        """Samples topics of the tokens of X: texts, or whole counts of shape (n_samples, n_features).
        `LDA.fit` says what X may be, and what the other arguments mean."""
        clock = Clock()
        warm = self.warm_start and hasattr(self, "model_")
        reading = Reading(text, vectorizer, feature_names, layer)
        corpus = as_corpus(self, X, reset=not warm, reading=reading)
        check_whole_counts(corpus, type(self).__name__)
        warn_of_odd_data(corpus, count_of_components(self.n_components))
        max_iter, thin = whole_number(self.max_iter, "max_iter"), whole_number(self.thin, "thin")
        given = whole_number_or_none(self.burn_in, "burn_in", least=0)
        burn_in = max_iter // 2 if given is None else given
        learn_every = whole_number(self.learn_every, "learn_every")
        chain = self._start(corpus, warm, self._annealing(warm, burn_in))
        try:
            self._sample(chain, corpus, clock, max_iter, burn_in=burn_in, thin=thin, learn_every=learn_every)
        finally:
            chain.close()
        return self

    def _sample(self, chain: Chain, corpus: Corpus, clock: Clock, max_iter: int, **counts: int) -> None:
        history: list[Record] = []
        self.history_ = history  # now, so that an interrupted fit has it too
        with (
            use_threads(threads_of(self)),
            shown(self.verbose, max_iter, corpus.n_tokens, type(self).__name__) as display,
        ):
            log = Log(clock, self._fitted_copy, [*(self.callbacks or ()), *display], history)
            sweeps = chain.run(**counts)
            run_passes(sweeps, Stopping(max_iter, -np.inf), log)
            self.n_iter_, self.n_samples_, self.n_sweeps_ = len(history), chain.n_samples, chain.sweeps
            self.objective_ = history[-1].objective
            self.token_topics_ = chain.z.astype(np.int32)
            self._set_model(chain.model())

    def _fitted_copy(self, model: Any) -> Self:
        """A fitted copy with the topics of the chain, for callbacks."""
        if not isinstance(model, Chain):
            return super()._fitted_copy(model)
        now = super()._fitted_copy(model.model())
        now.token_topics_ = model.z.astype(np.int32)
        return now

    def _annealing(self, warm: bool, burn_in: int) -> int:
        given = self.annealing
        if given is None:
            random = not warm and (self.init is None or (isinstance(self.init, str) and self.init == "random"))
            return min(MOST_ANNEALING, burn_in // 2) if random and self.sampler == "parallel" else 0
        if isinstance(given, bool) or not 0 <= given <= burn_in:
            raise ValueError(f"annealing must be None or from 0 to the {burn_in} sweeps of burn-in, got {given!r}")
        return given

    def _start(self, corpus: Corpus, warm: bool, annealing: int) -> Chain:
        K, V = count_of_components(self.n_components), corpus.n_words
        threads = threads_of(self)
        sampler = one_of(self.sampler, SAMPLERS, "sampler")
        if warm and self.model_.n_components != K:
            raise ValueError(f"warm_start keeps {self.model_.n_components} topics, but n_components is now {K}")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        batch_size = whole_number_or_none(self.batch_size, "batch_size")
        at, held = None, None  # words that say where topics start, and what is banned
        if warm:
            prior, words = self.model_.prior, self.model_.words.update(WordTotal.zeros(V, K))
            assert isinstance(prior, DocumentPrior)
        else:
            alpha, learn_alpha = document_prior(self.doc_topic_prior, K)
            eta, learn_eta = word_prior(self.topic_word_prior, V, K)
            names = getattr(self, "feature_names_in_", None)
            if self.seeds is not None:  # the sampler takes all prior counts in one array
                at = seed_prior(self.seeds, self.seed_strength, corpus, names, K)
                eta, learn_eta = np.ascontiguousarray(eta + at.counts()), False
            if self.word_rules is not None:
                rules = self._component("word_rules")
                held = rules.held(names, V, K)
                check_seeds_are_allowed(at, held)
                at = start_words(at, rules.pinned(names, V, K))
                if held is not None:
                    eta, learn_eta = without_words(eta, held), False
            prior = DocumentPrior(alpha, "collapsed", learn_alpha)
            words = TopicWords(eta, WordTotal.zeros(V, K), "collapsed", learn_eta)
        engine = self._component("engine")
        settings: dict[str, Any] = {
            "seed": int(rng.integers(2**63)),
            "threads": engine.threads(threads),
            "batch_size": batch_size,
            "sweeps": getattr(self, "n_sweeps_", 0) if warm else 0,
            "annealing": annealing,
        }
        if engine.on_device and sampler != "parallel":
            raise ValueError(f"engine='cuda' has sampler='parallel' only, got {sampler!r}")
        chain: Chain
        if (device := engine.opened()) is None:
            chain = Chain(corpus, prior, words, sampler=sampler, **settings)
        else:
            chain = CudaChain(corpus, prior, words, device, **settings)
        init = self if warm else self.init
        if not warm and at is not None and (init is None or isinstance(init, str)):
            init = topics_by_seeds(corpus, at, random_topics(chain.n_tokens, K, rng))
        start_chain(chain, init, corpus, rng)
        if held is not None:
            chain.start(allowed_topics(corpus, held, chain.z))
        return chain

    def _documents(self) -> DocumentOptions:
        return DocumentOptions(n_active=ACTIVE, exclude=True, tol=0.05)

    def _set_model(self, model: TopicModel) -> None:
        self.model_ = model
        self.doc_topic_prior_ = document_prior_as_given(model.prior.alpha, model.prior.learned)
        self.topic_word_prior_ = word_prior_as_given(model.words.eta)
        self._forget_made()

    def _topic_word(self) -> np.ndarray:
        components = self.model_.words.pseudo_counts()
        components /= components.sum(axis=1, keepdims=True)
        return components

    def _write(self, out: Writer) -> None:
        out.value("n_components", self.model_.n_components)
        self.model_.write(out)
        out.array("token_topics", self.token_topics_.astype(np.uint16))

    def _read(self, file: CheckedReader, K: int) -> None:
        prior, words = (
            DocumentPrior(np.ones(K), "collapsed"),
            TopicWords(np.ones((1, 1)), WordTotal.zeros(file.n_features, K), "collapsed"),
        )
        model = TopicModel(prior, words).read(file, K)
        self.token_topics_ = read_token_topics(file, K)
        self._set_model(model)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # counts are whole: scikit-learn's checks then round theirs
        return tags
