"""Topics of one text after another, for services: what a fitted topic model needs for that, and nothing else.

It does for one text what `transform` does for many, with the same counter, tables and solver, in the calling thread.
From a file it maps the model as `save` wrote it: there is no second format.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from topmix import _core
from topmix.base.checks import whole_number
from topmix.base.threads import use_threads
from topmix.corpus.documents import Text, as_text, is_text
from topmix.corpus.shard import Shard
from topmix.corpus.vectorize import Vectorizer
from topmix.models.topic_words import TopicWords, WordTables
from topmix.models.topics import TopicModel, TopicTables
from topmix.results.names import EMPTY, WORDS_PER_NAME, best_words, candidates, distinct
from topmix.results.topics import FittedTopics
from topmix.steps.documents import solve

NO_SCALE = np.zeros(0)  # it is for bounds, which nobody asks for here
N_WORDS = 10  # of each topic, for people
KEPT_BYTES = 1 << 25  # of weights of words, which are made when a text first has them


class TopicShare(NamedTuple):
    """A topic of a document."""

    topic: int
    weight: float  # its share of the document, from 0 to 1
    name: str


class WordWeights:
    """Weights of words in topics, as the solver wants them. Those of the most frequent words are kept when made.

    Threads share it without a lock: a row is marked as made when it is whole, and two that make it write the same.
    """

    def __init__(self, words: TopicWords) -> None:
        V, K = words.shape
        self.words, self.norm = words, words.norm()
        kept = np.argsort(-words.total.by_word(), kind="stable")[: KEPT_BYTES // (4 * K)]
        self.place = np.full(V, -1, np.int32)  # -1: the last row, which is never made
        self.place[kept] = np.arange(len(kept))
        self.rows, self.is_made = np.empty((len(kept) + 1, K), np.float32), np.zeros(len(kept) + 1, bool)

    def of(self, cols: np.ndarray) -> np.ndarray:  # [words, K] float32
        place = self.place[cols]
        missing = np.flatnonzero(~self.is_made[place])  # first: another thread may make a row before the next line
        table = self.rows[place]
        if len(missing):
            table[missing], _ = self.words.weights(cols[missing], self.norm)
            missing = missing[place[missing] >= 0]
            self.rows[place[missing]] = table[missing]
            self.is_made[place[missing]] = True
        return table


class Predictor:
    """Topics of texts under a fitted model, one text at a time. `model.predictor()` and `load_predictor` make it.

    It never changes: any number of threads may ask it, and it can be pickled. It gives the numbers of `transform` of
    the model, bit for bit. Words that the model does not know are left out.

    Examples
    --------
    >>> from topmix import LDA
    >>> texts = ["cat and dog", "the dog found a bone", "stars and planets", "the planet circled its star"] * 5
    >>> predictor = LDA(2, random_state=0).fit(texts).predictor()
    >>> predictor("cat and dog")[0].topic == predictor("dog and bone")[0].topic
    True
    """

    def __init__(
        self, model: TopicModel, vectorizer: Vectorizer | None, names: Sequence[str], words: Sequence[Sequence[str]]
    ) -> None:
        self._model, self._vectorizer, self._names, self._words = model, vectorizer, list(names), words
        self.n_words, self.n_topics = model.words.shape
        self._weights = WordWeights(model.words)
        self._own = threading.local()  # buffers of each thread
        self._counter = None if vectorizer is None else vectorizer._ready()[1]

    def __reduce__(self) -> tuple[type[Predictor], tuple[object, ...]]:
        return Predictor, (self._model, self._vectorizer, self._names, self._words)

    def __repr__(self) -> str:
        return f"<topmix.Predictor with {self.n_topics:,} topics of {self.n_words:,} words>"

    @property
    def topic_names(self) -> list[str]:
        return list(self._names)

    @property
    def topic_words(self) -> list[list[str]]:
        """The most relevant words of each topic, best first, as in `topic_info` of the model."""
        return [list(words) for words in self._words]

    @property
    def topic_shares(self) -> np.ndarray:
        """[K] the share of all tokens of the training data that each topic has."""
        return self._model.weights()

    def __call__(self, text: Text, top: int = 5) -> list[TopicShare]:
        return self.topics(text, top)

    def topics(self, text: Text, top: int = 5) -> list[TopicShare]:
        """The largest topics of a text (a string, or its words as a list), largest first: (topic, weight, name).

        Topics that the text does not use are left out. A text without a known word has none.
        """
        most = whole_number(top, "top")
        weights, used = self._shares(text)
        order = used[np.argsort(-weights[used], kind="stable")[:most]]
        return [TopicShare(k, float(weights[k]), self._names[k]) for k in order.tolist()]

    def transform(self, X: Iterable[Text]) -> np.ndarray:
        """[texts, K] topic proportions, as `transform` of the model. Texts are solved one after another, in the calling
        thread; for many of them, the model itself uses all cores."""
        if isinstance(X, str | bytes):
            raise ValueError("X is a single string: pass a list of texts, such as [text]")
        rows = [self._shares(text)[0] for text in X]
        return np.stack(rows) if rows else np.zeros((0, self.n_topics))

    def _shares(self, text: Text) -> tuple[np.ndarray, np.ndarray]:
        """[K] proportions of one document, and the topics that it uses."""
        if not is_text(text):
            raise TypeError(f"a text is a string or a list of words, not {type(text).__name__}")
        if self._vectorizer is None or self._counter is None:
            raise ValueError("the model was fitted on counts without a vocabulary, so it cannot read text")
        own = vars(self._own)
        if not own:  # of each thread: stemmers have a state
            own |= {"tokenization": self._vectorizer._ready()[0], "scratch": _core.TopicScratch()}
        _, cols, counts = self._counter.count(own["tokenization"].documents([as_text(text)]), 1)
        order = np.argsort(cols)
        cols, counts = cols[order], counts[order]
        n, model = len(cols), self._model
        each, local = np.arange(n + 1), np.arange(n, dtype=np.int32)
        shard = Shard(cols, np.array([0, n]), local, counts, each, local)
        with use_threads(1):
            words = WordTables(self._weights.of(cols), NO_SCALE, self._weights.norm, 0.0)
            tables = TopicTables(words, model.prior, model.words.posterior, model.document_options, None)
            docs = solve(shard, tables, own["scratch"], want_words=False).docs
        theta = np.zeros((1, self.n_topics))
        theta[0, docs.topic] = docs.count
        theta += model.prior.alpha
        return (theta / theta.sum(axis=1, keepdims=True))[0], docs.topic.astype(np.int64)


def predictor_of(f: FittedTopics) -> Predictor:
    model = f.topics
    words = replace(model.words, total=model.words.total.slim())
    vectorizer = None if f.reading.words is None else f.reading.counter()  # its counter is not that of the model
    V = words.shape[0]
    best = best_words(words, f.words, candidates(N_WORDS, V))
    made = [", ".join(distinct(found[: candidates(WORDS_PER_NAME, V)], WORDS_PER_NAME)) or EMPTY for found in best]
    names = [f.names.get(k, name) for k, name in enumerate(made)]
    shown = [distinct(found, N_WORDS) for found in best]
    return Predictor(replace(model, words=words, partner=None), vectorizer, names, shown)
