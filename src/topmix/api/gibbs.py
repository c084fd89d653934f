"""Collapsed Gibbs sampling as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from topmix.allocations.document_prior import DocumentPrior
from topmix.api.estimator import learned
from topmix.api.odd_data import MOST_DRAWN
from topmix.api.priors import document_prior, document_prior_as_given, word_prior, word_prior_as_given
from topmix.api.token_topics import (
    ChainStart,
    TokenEstimator,
    allowed_topics,
    random_topics,
    read_token_topics,
    start_chain,
    topics_by_seeds,
)
from topmix.chains import Sampler
from topmix.chains.exchange import exchanged
from topmix.chains.gibbs import Chain
from topmix.chains.gibbs_cuda import CudaChain
from topmix.data.corpus import Corpus
from topmix.engines import Engine
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitted.seeds import Seeds, check_allowed
from topmix.fitted.topics import FittedTopics
from topmix.fitting.history import Callback, Clock, Record
from topmix.fitting.loop import Log
from topmix.likelihoods.held_words import HeldWords
from topmix.likelihoods.topic_words import TopicWords
from topmix.models.document_options import DocumentOptions
from topmix.models.topics import TopicModel
from topmix.parameters.checks import count_of_components, whole_number, whole_number_or_none
from topmix.read import How, Reading
from topmix.stats import PseudoCounts, WordTotal

NEW_DOCUMENTS = DocumentOptions(n_active=32, exclude=True, tol=0.05)  # how documents are solved that were not sampled


class GibbsLDA(TokenEstimator):
    """Latent Dirichlet allocation by collapsed Gibbs sampling: every token has one topic, drawn given all the others.

    Parameters
    ----------
    n_components : int
        Number of topics, K.
    sampler : {"parallel", "sequential"} or an object of topmix.chains
        "sequential" is the textbook sampler, exactly, in one thread. "parallel" draws the documents of a block at once,
        on all cores, and approximates the same chain. `topmix.chains.Parallel` has the settings: blocks, annealing, and
        how often priors are learned.
    doc_topic_prior : float, array of shape (n_components,), "auto" or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value a topic.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta. None is 0.03; "auto" learns one value.
    seeds : list of lists of words, Seeds or None
        As in LDA.
    max_iter : int
        Sweeps over all tokens.
    burn_in : int or None
        Sweeps before samples count. None is half of max_iter.
    thin : int
        After these, every how many-th sweep is a sample. Topics are averages over the samples.
    max_time : float or None
        Seconds for the whole fit, all starts together. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
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
    verbose : int or None
        1 shows progress on stderr. None shows a bar on a terminal or in a notebook if the fit takes longer than
        ten seconds. 0 is silent.
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
    chain_length_ : int
        Sweeps of the chain so far, with those of earlier fits where warm_start continued it.
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

    _saved_numbers = (*TokenEstimator._saved_numbers, "n_samples", "chain_length")

    n_samples_ = learned[int](lambda f: f.n_samples)
    chain_length_ = learned[int](lambda f: f.chain_length)
    doc_topic_prior_ = learned[Any](lambda f: document_prior_as_given(f.topics.prior.alpha, f.topics.prior.learned))
    topic_word_prior_ = learned[Any](lambda f: word_prior_as_given(f.topics.words.eta))

    def __init__(
        self,
        n_components: int = 100,
        *,
        sampler: str | Sampler = "parallel",
        doc_topic_prior: object = None,
        topic_word_prior: object = None,
        seeds: object = None,
        max_iter: int = 200,
        burn_in: int | None = None,
        thin: int = 5,
        max_time: float | None = None,
        n_init: int = 1,
        init: object = None,
        warm_start: bool = False,
        engine: str | Engine = "threads",
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int | None = None,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.sampler = sampler
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.seeds = seeds
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.max_time = max_time
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _fit(self, X: object, y: object, how: How, clock: Clock) -> FittedTopics:
        warm = self._fitted if self._is_warm() else None
        corpus, reading = self._read_whole(X, y, how, most=MOST_DRAWN)
        if warm is not None:
            self._check_warm(warm)
        max_iter, thin = whole_number(self.max_iter, "max_iter"), whole_number(self.thin, "thin")
        given = whole_number_or_none(self.burn_in, "burn_in", least=0)
        burn_in = max_iter // 2 if given is None else given
        sampler: Sampler = self._component("sampler")
        from_random = warm is None and (self.init is None or (isinstance(self.init, str) and self.init == "random"))
        annealing = sampler.annealed(burn_in, from_random=from_random)

        def begin(rng: np.random.Generator, log: Log) -> ChainStart[Chain]:
            chain = self._chain(corpus, reading, sampler, annealing, rng)
            exchange = partial(exchanged, corpus=corpus, rng=rng) if annealing and self.seeds is None else None
            sweeps = chain.run(burn_in=burn_in, thin=thin, learn_every=sampler.learn_every, exchange=exchange)
            return ChainStart(chain, sweeps, max_iter, chain.close)

        def fitted(chain: Chain, history: Sequence[Record]) -> FittedTopics:
            return FittedTopics(
                reading=reading,
                model=replace(chain.model(), document_options=NEW_DOCUMENTS),
                history=tuple(history),
                n_iter=len(history),
                objective=history[-1].objective,
                token_topics=chain.z.astype(np.int32),
                n_samples=chain.n_samples,
                chain_length=chain.sweeps,
                names={} if warm is None else warm.names,
            )

        found = self._course(corpus.n_tokens, corpus.n_words, max_iter, fitted, clock).run(begin, self._rng())
        return fitted(found.model, found.history)

    def _chain(
        self, corpus: Corpus, reading: Reading, sampler: Sampler, annealing: int, rng: np.random.Generator
    ) -> Chain:
        """The chain with every token at its first topic."""
        K, V, warm = count_of_components(self.n_components), corpus.n_words, self._fitted if self._is_warm() else None
        at: PseudoCounts | None = None  # words that say where topics start
        extra: PseudoCounts | None = None
        held: HeldWords | None = None
        if warm is not None:
            prior, words = warm.topics.prior, warm.topics.words.update(WordTotal.zeros(V, K))
            assert isinstance(prior, DocumentPrior)
        else:
            alpha, learn_alpha = document_prior(self.doc_topic_prior, K)
            eta, learn_eta = word_prior(self.topic_word_prior, V, K)
            seeds: Seeds | None = self._component("seeds")
            if seeds is not None:
                extra, held = seeds.prior(corpus, reading.words, K), seeds.held(reading.words, V, K)
                check_allowed(extra, held)
                learn_eta = learn_eta and extra is None and held is None
                at = seeds.start(extra, reading.words, V, K)
            prior = DocumentPrior(alpha, "collapsed", learn_alpha)
            words = TopicWords(eta, WordTotal.zeros(V, K), "collapsed", learn_eta, extra=extra, held=held)
            words = replace(words, eta=words.sampled_prior, extra=None, held=None)  # all prior counts in one array
        engine = self._engine()
        settings: dict[str, Any] = {
            "seed": int(rng.integers(2**63)),
            "threads": self._threads(),
            "batch_size": sampler.documents_per_block,
            "sweeps": 0 if warm is None else warm.chain_length,
            "annealing": annealing,
        }
        if engine.on_device and sampler.name != "parallel":
            raise ValueError(f"engine='cuda' has sampler='parallel' only, got {sampler.name!r}")
        chain: Chain
        if (device := engine.opened()) is None:
            chain = Chain(corpus, prior, words, sampler=sampler.name, **settings)
        else:
            chain = CudaChain(corpus, prior, words, device, **settings)
        init = self if warm is not None else self.init
        if warm is None and at is not None and (init is None or isinstance(init, str)):
            init = topics_by_seeds(corpus, at, random_topics(chain.n_tokens, K, rng))
        start_chain(chain, init, corpus, rng)
        if held is not None:
            chain.start(allowed_topics(corpus, held, chain.z))
        return chain

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        assert fitted.token_topics is not None
        fitted.topics.write(out)
        out.array("token_topics", fitted.token_topics.astype(np.uint16))

    def _read(self, about: dict[str, Any], file: CheckedReader, K: int) -> FittedTopics:
        prior = DocumentPrior(np.ones(K), "collapsed")
        words = TopicWords(np.ones((1, 1)), WordTotal.zeros(file.n_features, K), "collapsed")
        model = TopicModel(prior, words, NEW_DOCUMENTS).read(file, K)
        return FittedTopics(**about, model=model, token_topics=read_token_topics(file, K))
