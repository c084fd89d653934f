"""Tables out: what a fitted topic model says of its topics, of documents and of words."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.utils.validation import check_is_fitted

from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.estimators.frames import frame
from topmix.estimators.groups import GroupsMixin
from topmix.estimators.inputs import as_corpus, corpora
from topmix.estimators.names import EMPTY, RELEVANCE, WORDS_PER_NAME, checked_name, relevant_words
from topmix.estimators.rich_display import RichDisplayMixin
from topmix.estimators.topic_view import TopicView, view_of
from topmix.estimators.tree import TreeMixin
from topmix.metrics.coherence import npmi_coherence
from topmix.parameters.checks import number_from, whole_number

NO_TOPIC = -1
NEAREST = 3  # topics named as neighbours of a topic


class TopicTablesMixin(RichDisplayMixin, GroupsMixin, TreeMixin):
    """`topic_info`, `document_info`, `word_info`, `predict` and names of topics, for estimators with topics."""

    names_: dict[int, str]

    @abstractmethod
    def _proportions(self, corpus: Corpus, normalize: bool, sparse_output: bool) -> np.ndarray | sp.csr_array: ...

    @abstractmethod
    def _prior_of_documents(self) -> np.ndarray:
        """[K] what a document has of each topic before its words are seen, in tokens."""

    def counts(self, X: Any) -> Corpus:
        """X as the model reads it: a Corpus in the words of the model."""
        check_is_fitted(self, "model_")
        return as_corpus(self, X, reset=False)

    def topic_info(self, X: Any = None, *, n_words: int = 10, relevance: float = RELEVANCE) -> Any:
        """A table of the topics, largest first: topic, name, size, share, coherence, words and nearest topics.

        `size` is in tokens of the training data. `words` are the most relevant words: probable in the topic and, the
        smaller `relevance`, rare in others; relevance=1 is probability alone. Other forms of a word are left out.
        `coherence` (NPMI of the most probable words) needs documents, X, and is NaN without. `nearest` are the nearest
        topics by Hellinger distance.
        """
        check_is_fitted(self, "model_")
        view = view_of(self)
        order, names = view.by_size(), self.topic_names_
        words = relevant_words(view, whole_number(n_words, "n_words"), number_from(relevance, "relevance", 0.0, 1.0))
        coherence = np.full(view.n_topics, np.nan)
        if X is not None:
            corpus, n = as_corpus(self, X, reset=False), min(10, len(view.words))
            coherence = np.asarray(npmi_coherence(view.topic_word, corpus, top_n=n, per_topic=True))
        nearest = _nearest(view.topic_word)
        columns = {
            "topic": order.tolist(),
            "name": [names[k] for k in order],
            "size": (view.share * view.tokens)[order],
            "share": view.share[order],
            "coherence": coherence[order],
            "words": [words[k] for k in order],
            "nearest": [nearest[k] for k in order],
        }
        return frame(self, columns)

    def document_info(self, X: Any, *, n_topics: int = 3) -> Any:
        """A table of documents: their name or number, main topic, its name and weight, entropy, the top topics and
        their weights, and how many tokens the model knows.

        `entropy` of the topic proportions is in nats: 0 for one topic, log K for all alike. A document without a known
        word has topic -1, and weight and entropy NaN.
        """
        check_is_fitted(self, "model_")
        n, alpha, names = whole_number(n_topics, "n_topics"), self._prior_of_documents(), self.topic_names_
        columns: dict[str, list[Any]] = {}  # of each part of the documents
        n_docs = 0
        for corpus in corpora(self, X):
            shares, tokens = self._sparse_shares(corpus)
            topics, weights = _best(shares, n)
            main, weight = _main(shares)
            entropy = _entropy(shares, tokens, alpha)
            entropy[tokens == 0] = np.nan
            part = {
                "document": range(n_docs, n_docs + corpus.n_docs) if corpus.names is None else corpus.names,
                "topic": main,
                "name": [None if k == NO_TOPIC else names[k] for k in main.tolist()],
                "weight": weight,
                "entropy": entropy,
                "topics": topics,
                "weights": weights,
                "tokens": tokens,
            }
            n_docs += corpus.n_docs
            for name, values in part.items():
                columns.setdefault(name, []).append(values)
        return frame(self, {name: _joined(parts) for name, parts in columns.items()})

    def word_info(self, word: str | int, *, n_topics: int = 10) -> Any:
        """A table of the topics that use a word, given by its name or column, those that use it most first.

        `probability` is p(word | topic), `rank` its place among the words of the topic, from 1, and `share` the part of
        the word's tokens that belongs to the topic, p(topic | word).
        """
        check_is_fitted(self, "model_")
        view, names = view_of(self), self.topic_names_
        v = _word_id(view, word, hasattr(self, "feature_names_in_"))
        p = view.topic_word[:, v]
        joint = view.share * p
        order = np.argsort(-joint, kind="stable")[: whole_number(n_topics, "n_topics")]
        columns = {
            "topic": order.tolist(),
            "name": [names[k] for k in order],
            "probability": p[order],
            "rank": [int((view.topic_word[k] > p[k]).sum()) + 1 for k in order],
            "share": joint[order] / max(float(joint.sum()), 1e-300),
        }
        return frame(self, columns)

    def predict(self, X: Any, *, min_weight: float = 0.0) -> np.ndarray:
        """The main topic of each document; -1 where it has no known word, or where the weight of its main topic is less
        than `min_weight`, from 0 to 1."""
        check_is_fitted(self, "model_")
        least = number_from(min_weight, "min_weight", 0.0, 1.0)
        parts = []
        for corpus in corpora(self, X):
            main, weight = _main(self._sparse_shares(corpus)[0])
            main[~(weight >= least)] = NO_TOPIC
            parts.append(main)
        return np.concatenate(parts)

    def annotate(self, adata: Any, *, key: str = "topics") -> Any:
        """Writes into an AnnData, and returns it: proportions of its cells into obsm["X_topics"], probabilities of its
        genes into varm["topics"], the main topic of each cell into obs["topics"], names into uns["topics"]."""
        check_is_fitted(self, "model_")
        corpus, view = as_corpus(self, adata, reset=False), view_of(self)
        shares = np.asarray(self._proportions(corpus, True, False))
        adata.obsm[f"X_{key}"] = shares
        adata.varm[key] = np.ascontiguousarray(view.topic_word.T)
        adata.obs[key] = np.where(np.diff(corpus.indptr) > 0, shares.argmax(axis=1), NO_TOPIC)
        adata.uns[key] = {"names": self.topic_names_, "shares": view.share, "estimator": type(self).__name__}
        return adata

    @property
    def topic_names_(self) -> list[str]:
        """One name per topic: that which `name_topics` gave, or else its most distinctive words."""
        check_is_fitted(self, "model_")
        made = relevant_words(view_of(self), WORDS_PER_NAME, RELEVANCE)
        given = getattr(self, "names_", {})
        return [given.get(k, ", ".join(words) if words else EMPTY) for k, words in enumerate(made)]

    def name_topics(
        self, names: Mapping[int, str] | Sequence[str] | Callable[[list[str]], str], *, n_words: int = 10
    ) -> Self:
        """Gives names to topics; they are saved with the model.

        A mapping {topic: name} names some topics and a list names all of them. A function, for instance one that asks a
        language model, is called with the `n_words` most relevant words of each topic that is not empty.
        """
        check_is_fitted(self, "model_")
        view = view_of(self)
        if callable(names):
            words = relevant_words(view, whole_number(n_words, "n_words"), RELEVANCE)
            named = {k: names(of_topic) for k, of_topic in enumerate(words) if of_topic}
        elif isinstance(names, Mapping):
            named = dict(names)
        else:
            named = dict(enumerate([names] if isinstance(names, str) else names))
            if len(named) != view.n_topics:
                raise ValueError(f"{len(named)} names for {view.n_topics} topics: pass one each, or {{topic: name}}")
        for k in named:
            if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 0 <= k < view.n_topics:
                raise ValueError(f"{k!r} is not a topic: they are numbered from 0 to {view.n_topics - 1}")
        self.names_ = {**getattr(self, "names_", {}), **{int(k): checked_name(name) for k, name in named.items()}}
        return self

    def _transformed(self, X: Any, normalize: bool, sparse_output: bool) -> np.ndarray | sp.csr_array:
        """Proportions of all documents of X, which are read some at a time."""
        return stacked(self._proportions(corpus, normalize, sparse_output) for corpus in corpora(self, X))

    def _sparse_shares(self, corpus: Corpus) -> tuple[sp.csr_array, np.ndarray]:
        """Shares of the topics that documents use, and known tokens of the documents."""
        tokens = row_sums(corpus.indptr, corpus.value)
        return sp.csr_array(self._proportions(corpus, True, True)), tokens

    def _shares_in_parts(self, X: Any) -> tuple[sp.csr_array, np.ndarray]:
        """The same of all documents of X, which are read some at a time."""
        parts = [self._sparse_shares(corpus) for corpus in corpora(self, X)]
        return sp.vstack([shares for shares, _ in parts], format="csr"), np.concatenate([n for _, n in parts])


def stacked(parts: Iterable[Any]) -> Any:
    """Rows below each other. A dense result grows in place, so that it is not in memory twice."""
    parts = iter(parts)
    whole = next(parts)
    if sp.issparse(whole):
        rest = list(parts)
        return sp.vstack([whole, *rest], format="csr") if rest else whole
    for part in parts:
        n = len(whole)
        if not whole.flags.owndata:
            whole = whole.copy()
        whole.resize((n + len(part), *whole.shape[1:]), refcheck=False)
        whole[n:] = part
    return whole


def _nearest(topic_word: np.ndarray) -> list[list[int]]:
    """The nearest topics of each, by Hellinger distance; nearest first."""
    root = np.sqrt(topic_word)
    likeness = root @ root.T
    np.fill_diagonal(likeness, -np.inf)
    n = min(NEAREST, len(topic_word) - 1)
    return np.argsort(-likeness, axis=1, kind="stable")[:, :n].tolist()


def _best(shares: sp.csr_array, n: int) -> tuple[list[list[int]], list[list[float]]]:
    """The n largest entries of each row: topics, and their shares."""
    row = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    order = np.lexsort((shares.indices, -shares.data, row))
    topic, share = shares.indices[order], shares.data[order]
    cuts = list(zip(shares.indptr[:-1].tolist(), np.minimum(shares.indptr[1:], shares.indptr[:-1] + n).tolist()))
    return [topic[a:b].tolist() for a, b in cuts], [share[a:b].tolist() for a, b in cuts]


def _joined(parts: list[Any]) -> Any:
    """A column, from those of the parts."""
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else list(chain.from_iterable(parts))


def _main(shares: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The topic with the largest entry of each row, the first of several, and that entry."""
    n, some = shares.shape[0], np.flatnonzero(np.diff(shares.indptr))
    main, weight = np.full(n, NO_TOPIC, dtype=np.int64), np.full(n, np.nan)
    if not len(some):
        return main, weight
    starts = shares.indptr[some]
    weight[some] = np.maximum.reduceat(shares.data, starts)
    is_best = shares.data == np.repeat(weight[some], np.diff(shares.indptr)[some])
    main[some] = np.minimum.reduceat(np.where(is_best, shares.indices, shares.shape[1]), starts)
    return main, weight


def _entropy(shares: sp.csr_array, tokens: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """[documents] in nats. Topics that a row does not store have their part of the prior, alpha_k / (N + sum alpha)."""
    scale = 1.0 / np.maximum(tokens + alpha.sum(), 1e-300)
    each = np.repeat(scale, np.diff(shares.indptr))
    of_prior = alpha[shares.indices] * each
    terms = xlogy(of_prior, of_prior) - xlogy(shares.data, shares.data)
    entropy = row_sums(shares.indptr, terms)
    rest = scale * (xlogy(alpha, alpha).sum() + alpha.sum() * np.log(scale))
    return np.maximum(entropy - rest, 0.0)


def _word_id(view: TopicView, word: str | int, is_named: bool) -> int:
    if isinstance(word, int | np.integer) and not isinstance(word, bool):
        if not 0 <= word < len(view.words):
            raise ValueError(f"there is no word {word}: columns are numbered from 0 to {len(view.words) - 1}")
        return int(word)
    if not is_named:
        raise ValueError(
            "the model was fitted without names of words: pass a column number, or fit with feature_names="
        )
    if word not in view.words:
        near = difflib.get_close_matches(str(word), view.words, 3)
        hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"the model has no word {word!r}{hint}")
    return view.words.index(str(word))
