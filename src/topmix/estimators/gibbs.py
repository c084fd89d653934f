"""Topics of tokens: how they are fitted, where they start, and collapsed Gibbs sampling."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from sklearn.utils import Tags

from topmix.base.checks import LARGEST_COUNT, check_memory, count_of_components, whole_number, whole_number_or_none
from topmix.base.fields import CheckedReader, ModelFileError, Writer
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import row_sums
from topmix.engines.engine import Engine
from topmix.estimators.declared import CountOptions, FitOptions, takes
from topmix.estimators.estimator import Seeded, check_targets, learned
from topmix.estimators.odd_data import MOST_DRAWN, check_whole_counts, warn_of_many_tokens, warn_of_odd_data
from topmix.estimators.priors import CLONED, alpha_of, document_prior, eta_of, word_prior
from topmix.estimators.topics import TopicEstimator
from topmix.io.documents import read
from topmix.io.reading import Reading
from topmix.learn.chains import Chain, HardTopics
from topmix.learn.fit import First, Problem, run
from topmix.learn.history import Record
from topmix.learn.tokens import Parallel, Sampler, Sweeps, TokenPasses, TokenSchedule, no_step
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.statistics import PseudoCounts
from topmix.models.topic_words import HeldWords, TopicWords
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordTotal
from topmix.results.measures import Fits
from topmix.results.seeds import Seeds
from topmix.results.topics import AboutFit, FittedTopics

BYTES = 8  # of a token: its topic, the first one, and the one that a model keeps
NEW_DOCUMENTS = DocumentOptions(n_active=32, exclude=True, tol=0.05)  # how documents are solved that were not sampled


class TokenEstimator(TopicEstimator):
    """GibbsLDA and CombinatorialLDA: every token has one topic, so counts are whole.

    Attributes
    ----------
    token_topics_ : ndarray of shape (n_tokens,)
        The topic of each token after the last pass: row by row, columns sorted, repeated by count.
    """

    _most_tokens: ClassVar[int] = LARGEST_COUNT  # of a document

    token_topics_ = learned[np.ndarray](lambda f: f.token_topics)

    @takes(CountOptions)
    def fit(self, X: object, y: object = None, **how: Unpack[CountOptions]) -> Self:
        """Learns topics of the tokens of X: texts, or whole counts of shape (n_samples, n_features). `LDA.fit` says
        what X may be."""
        options = FitOptions.of(how)
        return self._learn(lambda: self._declared()._fit(X, y, options))

    def _fit(self, X: object, y: object, options: FitOptions) -> FittedTopics:
        owner, warm = type(self).__name__, self._before()
        known = None if warm is None else warm.reading
        corpus, reading = read(X, options.how, known, owner=owner, engine=self._engine())
        check_targets(y, corpus.n_docs)
        check_whole_counts(corpus, owner, self._most_tokens)
        n = f"{corpus.n_tokens:,.0f}"
        check_memory(BYTES * corpus.n_tokens, f"topics of {n} tokens, one for each,", "Divide the counts, or use LDA.")
        K = count_of_components(self.n_components)
        warn_of_odd_data(corpus, K)
        warn_of_many_tokens(corpus, owner)
        first, learner, least_gain = self._chain(corpus, reading, warm, K)
        max_iter, engine, threads = whole_number(self.max_iter, "max_iter"), self._engine(), self._threads()
        problem = Problem(corpus, first, no_step, learner, engine, threads, K, max_iter, least_gain, TokenSchedule)

        def fitted(chain: Chain | HardTopics, history: Sequence[Record]) -> FittedTopics:
            about: AboutFit = {
                "reading": reading,
                "history": tuple(history),
                "n_iter": len(history),
                "objective": history[-1].objective,
                "token_topics": chain.z.astype(np.int32),
                "names": {} if warm is None else warm.names,
            }
            return self._value(chain, about)

        result = run(problem, self._settings(corpus.n_tokens, corpus.n_words, fitted, options.clock), self._rng())
        converged = result.converged if least_gain > -np.inf else None
        return replace(fitted(result.model, result.history), converged=converged)

    @abstractmethod
    def _chain(
        self, corpus: Corpus, reading: Reading, warm: FittedTopics | None, K: int
    ) -> tuple[First, TokenPasses, float]:
        """How a chain starts, how it goes on, and the gain of a pass that is not the last."""

    @abstractmethod
    def _value(self, chain: Any, about: AboutFit) -> FittedTopics:
        """What there is after some passes; `about` are the fields that are the same for both."""

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        assert fitted.token_topics is not None
        out.array("token_topics", fitted.token_topics.astype(np.uint16))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # counts are whole: scikit-learn's checks then round theirs
        return tags


def checked_topics(topics: object, n_tokens: int, K: int) -> np.ndarray:
    z = np.asarray(topics)
    if z.shape != (n_tokens,):
        raise ValueError(f"init must have one topic for each of the {n_tokens} tokens, got an array of {z.shape}")
    if z.size and not (np.issubdtype(z.dtype, np.integer) and z.min() >= 0 and z.max() < K):
        raise ValueError(f"init must hold whole numbers from 0 to {K - 1}, one topic per token")
    return z


def read_token_topics(file: CheckedReader, K: int) -> np.ndarray:
    """[tokens] int32, from a model file."""
    topics = file.array("token_topics", None, dtype="U16").astype(np.int32)
    try:
        return checked_topics(topics, len(topics), K)
    except ValueError as error:
        raise ModelFileError(f"array 'token_topics': {error}") from error


def by_seeds(corpus: Corpus, seeds: PseudoCounts, topics: np.ndarray) -> np.ndarray:
    """The same topics of tokens, but a document with seed words has the topic of most of these in all tokens."""
    of_seeds = corpus.to_scipy() @ seeds.by_word().astype(bool).astype(np.float64)  # [D, K] seed words
    best = np.where(np.asarray(of_seeds.sum(axis=1)).ravel() > 0, np.asarray(of_seeds.argmax(axis=1)).ravel(), -1)
    of_token = np.repeat(best, row_sums(corpus.indptr, corpus.value).astype(np.int64))
    return np.where(of_token >= 0, of_token, topics).astype(topics.dtype)


def allowed(corpus: Corpus, held: HeldWords, topics: np.ndarray) -> np.ndarray:
    """The same topics of tokens, except where a word is banned: there the topics that it may have, in turn."""
    word, K = np.repeat(corpus.index, corpus.value.astype(np.int64)), held.banned.shape[1]
    banned_word, banned_topic = held.pairs()
    wrong = np.flatnonzero(np.isin(word * np.int64(K) + topics, banned_word * np.int64(K) + banned_topic))
    z = topics.copy()
    for v in np.unique(word[wrong]):
        of_word = wrong[word[wrong] == v]
        others = np.setdiff1d(np.arange(K), held.banned.indices[held.banned.indptr[v] : held.banned.indptr[v + 1]])
        z[of_word] = others[np.arange(len(of_word)) % len(others)]
    return z


def start_from(chain: Chain, model: Any) -> None:
    """The token topics of a model of the same tokens, or else draws from a topic model's responsibilities."""
    if not hasattr(model, "topic_word_"):
        name = type(model).__name__
        raise ValueError(f"init must be fitted before; this {name} has no topics yet{CLONED}")
    if model.topic_word_.shape != chain.word.T.shape:
        K, V = chain.word.T.shape
        raise ValueError(f"init has topics of shape {model.topic_word_.shape}, but ({K}, {V}) are needed")
    topics = getattr(model, "token_topics_", None)
    if topics is not None and len(topics) == chain.n_tokens:
        chain.start(checked_topics(topics, chain.n_tokens, chain.n_components))
        return
    prior = getattr(model, "doc_topic_prior_", None)
    alpha = np.broadcast_to(np.asarray(chain.prior.alpha if prior is None else prior, float), chain.total.shape)
    theta = model.transform(chain.corpus, normalize=False, sparse_output=True)
    counts = theta.data if prior is None else np.maximum(theta.data - alpha[theta.indices], 0.0)
    chain.draw(DocTopics(theta.indptr, theta.indices, counts), alpha, model.topic_word_)


class GibbsLDA(Seeded, TokenEstimator):
    """Latent Dirichlet allocation by collapsed Gibbs sampling: every token has one topic, drawn given all the others.

    Parameters
    ----------
    sampler : {"parallel", "sequential"} or an object of topmix.chains
        "sequential" is the textbook sampler, in one thread. "parallel" draws the documents of a block at once, on all
        cores, and approximates the same chain.
    doc_topic_prior : float, array of shape (n_components,), "auto" or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value a topic.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta. None is 0.03; "auto" learns one value.
    max_iter : int
        Sweeps over all tokens.
    burn_in : int or None
        Sweeps before samples count. None is half of max_iter.
    thin : int
        After these, every how many-th sweep is a sample. Topics are averages over the samples.
    init : None, "random", array of shape (n_tokens,) or a fitted estimator
        The first topics of the tokens: at random, as given in the order of `token_topics_`, those of a model of the
        same documents, or drawn from the responsibilities of a fitted LDA.
    warm_start : bool
        Continue from the last `fit`: from its token topics if there are as many tokens, else from its topics.
    engine : {"threads", "serial", "cuda"} or an object of topmix.engines
        "cuda" keeps the chain on a GPU, for the parallel sampler, with random numbers of its own.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Tokens of each word in each topic, averaged over the samples, plus the prior.
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in topics: components_ over the sums of its rows.
    doc_topic_prior_, topic_word_prior_ : alpha and eta, as given or learned.
    n_samples_ : int
        Samples that were averaged; 0 where the fit ended before the first.
    chain_length_ : int
        Sweeps of the chain so far, with those before a warm start.
    objective_ : float
        log p(words, topics of tokens) after the last sweep, which history_ has for each.

    Examples
    --------
    >>> from topmix import GibbsLDA
    >>> from topmix.data import sample_lda
    >>> corpus = sample_lda(60, 40, 3, doc_length=30, random_state=0).corpus
    >>> model = GibbsLDA(3, max_iter=20, random_state=0).fit(corpus)
    >>> len(model.token_topics_) == corpus.n_tokens
    True
    """

    sampler: str | Sampler = "parallel"
    engine: str | Engine = "threads"
    doc_topic_prior: object = None
    topic_word_prior: object = None
    max_iter: int = 200
    burn_in: int | None = None
    thin: int = 5
    init: object = None

    _most_tokens = MOST_DRAWN
    _saved_numbers = (*TokenEstimator._saved_numbers, "n_samples", "chain_length")

    n_samples_ = learned[int](lambda f: f.n_samples)
    chain_length_ = learned[int](lambda f: f.chain_length)
    doc_topic_prior_ = learned(alpha_of)
    topic_word_prior_ = learned(eta_of)

    def _chain(
        self, corpus: Corpus, reading: Reading, warm: FittedTopics | None, K: int
    ) -> tuple[First, TokenPasses, float]:
        max_iter, thin = whole_number(self.max_iter, "max_iter"), whole_number(self.thin, "thin")
        given = whole_number_or_none(self.burn_in, "burn_in", least=0)
        burn_in = max_iter // 2 if given is None else given
        sampler: Sampler = self._component("sampler")
        from_random = warm is None and (self.init is None or (isinstance(self.init, str) and self.init == "random"))
        annealing = sampler.annealed(burn_in, from_random=from_random)
        V, engine, init = corpus.n_words, self._engine(), self.init
        if engine.on_device and sampler.name != "parallel":
            raise ValueError(f"engine='cuda' has sampler='parallel' only, got {sampler.name!r}")
        at, extra, held = None, None, None  # words that say where topics start, are in the prior, or are held
        if warm is None:
            new = {"doc_topic_prior", "topic_word_prior"}
        else:
            new, prior, words = self._check_warm(warm, K), warm.topics.prior, warm.topics.words
            words, init = words.update(WordTotal.zeros(V, K)), self
        if "doc_topic_prior" in new:
            alpha, learn_alpha = document_prior(self.doc_topic_prior, K)
            prior = DocumentPrior(alpha, "collapsed", learn_alpha)
        if "topic_word_prior" in new:
            eta, learn_eta = word_prior(self.topic_word_prior, V, K)
            seeds: Seeds | None = self._component("seeds")
            if seeds is not None:
                extra, held = seeds.told(corpus, reading.words, K)
                learn_eta = learn_eta and extra is None and held is None
                at = seeds.start(extra, reading.words, V, K)
            words = TopicWords(eta, WordTotal.zeros(V, K), "collapsed", learn_eta, extra=extra, held=held)
            words = replace(words, eta=words.sampled_prior, extra=None, held=None)  # all prior counts in one array
        threads, size = self._threads(), sampler.batch_size if isinstance(sampler, Parallel) else None

        def first(rng: np.random.Generator) -> tuple[Chain, None]:
            chain = Chain(
                corpus, prior, words, seed=int(rng.integers(2**63)), threads=threads, sampler=sampler.name,
                batch_size=size, sweeps=0 if warm is None else warm.chain_length, annealing=annealing,
                device=engine.opened(),
            )  # fmt: skip
            if isinstance(init, Fits):
                start_from(chain, init)
            elif init is None or isinstance(init, str):
                if init not in (None, "random"):
                    kinds = "None, 'random', an array of topics or a fitted estimator"
                    raise ValueError(f"init={init!r} is not one of {kinds}")
                topics = rng.integers(K, size=chain.n_tokens, dtype=np.uint16)
                chain.start(topics if at is None else by_seeds(corpus, at, topics))
            else:
                chain.start(checked_topics(init, chain.n_tokens, K))
            if held is not None:
                chain.start(allowed(corpus, held, chain.z))
            return chain, None

        sweeps = Sweeps(burn_in, thin, sampler.learn_every, annealing > 0 and self.seeds is None)
        return first, sweeps, -np.inf

    def _value(self, chain: Chain, about: AboutFit) -> FittedTopics:
        model = replace(chain.on_host(), document_options=NEW_DOCUMENTS)
        return FittedTopics(**about, model=model, n_samples=chain.n_samples, chain_length=chain.sweeps)

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        fitted.topics.write(out)
        super()._write(fitted, out)

    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> FittedTopics:
        prior = DocumentPrior(np.ones(K), "collapsed")
        words = TopicWords(np.ones((1, 1)), WordTotal.zeros(file.n_features, K), "collapsed")
        model = TopicModel(prior, words, NEW_DOCUMENTS).read(file, K)
        return FittedTopics(**about, model=model, token_topics=read_token_topics(file, K))
