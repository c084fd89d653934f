"""Topics of tokens: where they start (at random, as given, or from another model), and how they are checked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np
from sklearn.utils import Tags

from topmix.allocations.doc_topics import DocTopics
from topmix.api.estimator import learned
from topmix.api.odd_data import check_targets, check_whole_counts, warn_of_many_tokens, warn_of_odd_data
from topmix.api.sklearn_callbacks import with_sklearn_callbacks
from topmix.api.starts import CLONED, Fits
from topmix.api.topics import TopicEstimator
from topmix.chains.gibbs import Chain
from topmix.chains.hard_topics import HardTopics
from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.fitted.topics import FittedTopics
from topmix.fitting.history import Clock
from topmix.fitting.loop import Schedule, Stopping
from topmix.learners import Passes
from topmix.likelihoods.held_words import HeldWords
from topmix.parameters.checks import LARGEST_COUNT, count_of_components
from topmix.read import How, Reading, read
from topmix.stats import PseudoCounts


class TokenEstimator(TopicEstimator):
    """GibbsLDA and CombinatorialLDA: every token has one topic, so counts are whole."""

    token_topics_ = learned[np.ndarray](lambda f: f.token_topics)

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
    ) -> Self:
        """Learns topics of the tokens of X: texts, or whole counts of shape (n_samples, n_features). `LDA.fit` says
        what X may be, and what the other arguments mean."""
        clock, how = Clock(), How(text, vectorizer, feature_names, layer)
        return self._learn(lambda: self._declared()._fit(X, y, how, clock))

    @abstractmethod
    def _fit(self, X: object, y: object, how: How, clock: Clock) -> FittedTopics: ...

    def _read_whole(self, X: object, y: object, how: How, most: int = LARGEST_COUNT) -> tuple[Corpus, Reading]:
        corpus, reading = read(X, how, self._known(), owner=type(self).__name__, engine=self._engine())
        check_targets(y, corpus.n_docs)
        check_whole_counts(corpus, type(self).__name__, most)
        warn_of_odd_data(corpus, count_of_components(self.n_components))
        warn_of_many_tokens(corpus, type(self).__name__)
        return corpus, reading

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # counts are whole: scikit-learn's checks then round theirs
        return tags


C = TypeVar("C", Chain, HardTopics)


class ChainStart(Generic[C]):
    """A start of a fit whose tokens have one topic each."""

    workers = None
    updates_per_pass = 1

    def __init__(
        self,
        chain: C,
        passes: Passes,
        max_iter: int,
        close: Callable[[], None],
        *,
        least_gain: float = -np.inf,
        direction: str = "rises",
    ) -> None:
        self.chain: C = chain
        self.passes, self.schedule, self._close = passes, Schedule(), close
        self.stopping = Stopping(max_iter, least_gain, direction)

    def interrupted(self) -> None:
        return None

    def ended(self, model: C | None) -> C:
        return self.chain

    def close(self) -> None:
        self._close()


def start_chain(chain: Chain, init: Any, corpus: Corpus, rng: np.random.Generator) -> None:
    """Gives every token its first topic, as `init` says."""
    K = chain.n_components
    if init is None or (isinstance(init, str) and init == "random"):
        chain.start(random_topics(chain.n_tokens, K, rng))
    elif isinstance(init, str):
        raise ValueError(f"init={init!r} is not one of None, 'random', an array of topics or a fitted estimator")
    elif isinstance(init, Fits):
        _start_from_model(chain, init, corpus)
    else:
        chain.start(checked_topics(init, chain.n_tokens, K))


def random_topics(n_tokens: int, K: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(K, size=n_tokens, dtype=np.uint16)


def topics_by_seeds(corpus: Corpus, seeds: PseudoCounts, topics: np.ndarray) -> np.ndarray:
    """The same topics of tokens, except in documents with seed words: there all tokens have the topic whose seed words
    the document has most of."""
    of_seeds = corpus.to_scipy() @ seeds.by_word().astype(bool).astype(np.float64)  # [D, K] tokens of seed words
    best = np.where(np.asarray(of_seeds.sum(axis=1)).ravel() > 0, np.asarray(of_seeds.argmax(axis=1)).ravel(), -1)
    of_token = np.repeat(best, row_sums(corpus.indptr, corpus.value).astype(np.int64))
    return np.where(of_token >= 0, of_token, topics).astype(topics.dtype)


def allowed_topics(corpus: Corpus, held: HeldWords, topics: np.ndarray) -> np.ndarray:
    """The same topics of tokens, except where a word is banned: there the topics that it may have, in turn."""
    word, K = np.repeat(corpus.index, corpus.value.astype(np.int64)), held.banned.shape[1]
    banned_word, banned_topic = held.pairs()
    wrong = np.flatnonzero(np.isin(word * np.int64(K) + topics, banned_word * np.int64(K) + banned_topic))
    z = topics.copy()
    for v in np.unique(word[wrong]):
        of_word = wrong[word[wrong] == v]
        allowed = np.setdiff1d(np.arange(K), held.banned.indices[held.banned.indptr[v] : held.banned.indptr[v + 1]])
        z[of_word] = allowed[np.arange(len(of_word)) % len(allowed)]
    return z


def checked_topics(topics: object, n_tokens: int, K: int) -> np.ndarray:
    z = np.asarray(topics)
    if z.shape != (n_tokens,):
        raise ValueError(f"init must have one topic for each of the {n_tokens} tokens, got an array of {z.shape}")
    if z.size and not (np.issubdtype(z.dtype, np.integer) and z.min() >= 0 and z.max() < K):
        raise ValueError(f"init must hold whole numbers from 0 to {K - 1}, one topic per token")
    return z


def _start_from_model(chain: Chain, model: Any, corpus: Corpus) -> None:
    """The token topics of a model of the same tokens, or else draws from a topic model's responsibilities."""
    name = type(model).__name__
    if not hasattr(model, "topic_word_"):
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
    theta = model.transform(corpus, normalize=False, sparse_output=True)
    counts = theta.data if prior is None else np.maximum(theta.data - alpha[theta.indices], 0.0)
    chain.draw(DocTopics(theta.indptr, theta.indices, counts), alpha, model.topic_word_)


def read_token_topics(file: CheckedReader, K: int) -> np.ndarray:
    """[tokens] int32, from a model file."""
    topics = file.vector("token_topics", "U16").astype(np.int32)
    try:
        return checked_topics(topics, len(topics), K)
    except ValueError as error:
        raise ModelFileError(f"array 'token_topics': {error}") from error
