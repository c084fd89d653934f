"""Tables of fitted topics, as columns: of topics, of documents and of words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import xlogy

from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.fitted.documents import NO_TOPIC, Solver, main_topics, proportions, visited
from topmix.fitted.frames import Columns
from topmix.fitted.names import RELEVANCE, checked_name, relevant_words
from topmix.fitted.quality import PART, best_first, quality
from topmix.fitted.topics import Fitted, FittedTopics
from topmix.fitted.view import TopicView
from topmix.metrics.coherence import npmi_coherence

NEAREST = 3  # topics named as neighbours of a topic
EXAMPLES = 3  # documents of a topic in the table of topics

F = TypeVar("F", bound=Fitted)


def topic_info(f: Fitted, corpus: Corpus | None, solver: Solver, *, n_words: int, relevance: float) -> Columns:
    """Topics, the largest of those that are worth reading first. Coherence and examples need documents."""
    view, names = f.view, f.topic_names
    words = relevant_words(view, n_words, relevance)
    coherence = np.full(view.n_topics, np.nan)
    examples: list[list[object]] = [[] for _ in names]
    of_topics = quality(view)
    if corpus is not None:
        n = min(10, len(view.words))
        coherence = np.asarray(npmi_coherence(view.topic_word, corpus, top_n=n, per_topic=True))
        shown = _examples(f, [corpus], solver, EXAMPLES)
        examples = [[shown.name(row) for row in rows] for rows in shown.rows]
        of_topics = quality(view, coherence, shown.n_documents)
    order = best_first(view, of_topics)
    nearest = _nearest(view.topic_word)
    found = f.reproducibility
    return {
        "topic": order.tolist(),
        "name": [names[k] for k in order],
        "size": view.sizes[order],
        "share": view.share[order],
        "coherence": coherence[order],
        "words": [words[k] for k in order],
        "nearest": [nearest[k] for k in order],
        "documents": [examples[k] for k in order],
        "quality": [of_topics[k] for k in order],
    } | ({} if found is None else {"reproducibility": found.found[order], "reliability": found.reliability[order]})


class _Examples(NamedTuple):
    rows: list[list[int]]  # per topic, best first
    weights: list[list[float]]  # shares of the topic in them
    names: Sequence[str] | None
    n_documents: NDArray[np.int64]  # [K] with a tenth of the topic or more

    def name(self, row: int) -> object:
        return row if self.names is None else self.names[row]


def _examples(f: Fitted, parts: Iterable[Corpus], solver: Solver, n: int) -> _Examples:
    """The documents that are about each topic: the share of the topic decides, and bad examples count less."""
    K, n_docs, names, found = f.n_topics, 0, list[str](), list[tuple[np.ndarray, ...]]()
    n_documents = np.zeros(K, np.int64)
    for corpus in parts:
        shares, _, examples = visited(f, corpus, solver)
        row = np.repeat(np.arange(corpus.n_docs), np.diff(shares.indptr))
        n_documents += np.bincount(shares.indices[shares.data >= PART], minlength=K)
        entries = (shares.indices, row + n_docs, shares.data, shares.data * examples[row])
        found = [_best_of_topics([np.concatenate(columns) for columns in zip(*found, entries)], n)]
        n_docs += corpus.n_docs
        names += corpus.names or ()
    topic, row, weight, _ = found[0]
    cuts = np.searchsorted(topic, np.arange(K + 1)).tolist()
    rows = [row[a:b].tolist() for a, b in pairwise(cuts)]
    return _Examples(rows, [weight[a:b].tolist() for a, b in pairwise(cuts)], names or None, n_documents)


def _best_of_topics(entries: Sequence[np.ndarray], n: int) -> tuple[np.ndarray, ...]:
    """Of (topic, row, weight, score), the n entries with the largest score of each topic, by topic, best first."""
    topic, row, _, score = entries
    order = np.lexsort((row, -score, topic))
    sorted_topics = topic[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_topics, sorted_topics)
    return tuple(column[order[rank < n]] for column in entries)


def representative_documents(
    f: Fitted, parts: Iterable[Corpus], texts: Sequence[str] | None, solver: Solver, *, n: int
) -> Columns:
    """The documents that are most about each topic, in the order of `topic_info`."""
    found, names = _examples(f, parts, solver, n), f.topic_names
    rows = [(k, row, weight) for k in best_first(f.view, quality(f.view)).tolist()
            for row, weight in zip(found.rows[k], found.weights[k])]  # fmt: skip
    columns: dict[str, Sequence[object]] = {
        "topic": [k for k, _, _ in rows],
        "name": [names[k] for k, _, _ in rows],
        "document": [found.name(row) for _, row, _ in rows],
        "weight": [weight for *_, weight in rows],
    }
    return columns if texts is None else columns | {"text": [texts[row] for _, row, _ in rows]}


def document_info(
    f: Fitted,
    parts: Iterable[Corpus],
    solver: Solver,
    *,
    n_topics: int,
    min_weight: float = 0.0,
    kept: NDArray[np.bool_] | None = None,
) -> Columns:
    """Documents, which come in parts. Those that are not `kept`, or whose main topic weighs less, have none."""
    names = f.topic_names
    columns: dict[str, list[Sequence[object] | np.ndarray]] = {}  # of each part
    n_docs = 0
    for corpus in parts:
        shares, tokens, known = visited(f, corpus, solver)
        topics, weights = _best(shares, n_topics)
        main, weight = main_topics(shares)
        entropy = _entropy(shares, tokens, f.alpha)
        entropy[known == 0] = np.nan
        main[~(weight >= min_weight)] = NO_TOPIC
        if kept is not None:
            main[~kept[n_docs : n_docs + corpus.n_docs]] = NO_TOPIC
        part: Columns = {
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
    return {name: _joined(of_parts) for name, of_parts in columns.items()}


def word_info(f: Fitted, word: str | int, *, n_topics: int) -> Columns:
    """The topics that use a word, those that use it most first."""
    view, names = f.view, f.topic_names
    p = view.topic_word[:, _word_id(view, word, f.words_read.words is not None)]
    joint = view.share * p
    order = np.argsort(-joint, kind="stable")[:n_topics]
    return {
        "topic": order.tolist(),
        "name": [names[k] for k in order],
        "probability": p[order],
        "rank": [int((view.topic_word[k] > p[k]).sum()) + 1 for k in order],
        "share": joint[order] / max(float(joint.sum()), 1e-300),
    }


def named(f: F, names: Mapping[int, str] | Sequence[str] | Callable[[list[str]], str], *, n_words: int) -> F:
    """The same topics with other names: a table of some, a list of all, or a function of their words."""
    if callable(names):
        words = relevant_words(f.view, n_words, RELEVANCE)
        given = {k: names(of_topic) for k, of_topic in enumerate(words) if of_topic}
    elif isinstance(names, Mapping):
        given = dict(names)
    else:
        given = dict(enumerate([names] if isinstance(names, str) else names))
        if len(given) != f.n_topics:
            raise ValueError(f"{len(given)} names for {f.n_topics} topics: pass one each, or {{topic: name}}")
    checked = {checked_topic(f, k): checked_name(name) for k, name in given.items()}
    return replace(f, names={**f.names, **checked})


def checked_topic(f: Fitted, k: object) -> int:
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 0 <= k < f.n_topics:
        raise ValueError(f"{k!r} is not a topic: they are numbered from 0 to {f.n_topics - 1}")
    return int(k)


def annotate(f: FittedTopics, adata: Any, corpus: Corpus, solver: Solver, key: str, owner: str) -> None:
    """Writes topics of cells and genes into an AnnData."""
    shares = np.asarray(proportions(f, corpus, solver))
    adata.obsm[f"X_{key}"] = shares
    adata.varm[key] = np.ascontiguousarray(f.topic_word.T)
    adata.obs[key] = np.where(np.diff(corpus.indptr) > 0, shares.argmax(axis=1), NO_TOPIC)
    adata.uns[key] = {"names": f.topic_names, "shares": f.view.share, "estimator": owner}


def _nearest(topic_word: np.ndarray) -> list[list[int]]:
    """The nearest topics of each, by Hellinger distance; nearest first."""
    root = np.sqrt(topic_word)
    likeness = root @ root.T
    np.fill_diagonal(likeness, -np.inf)
    n = min(NEAREST, len(topic_word) - 1)
    nearest: list[list[int]] = np.argsort(-likeness, axis=1, kind="stable")[:, :n].tolist()
    return nearest


def _best(shares: sp.csr_array, n: int) -> tuple[list[list[int]], list[list[float]]]:
    """The n largest entries of each row: topics, and their shares."""
    row = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    order = np.lexsort((shares.indices, -shares.data, row))
    topic, share = shares.indices[order], shares.data[order]
    cuts = list(zip(shares.indptr[:-1].tolist(), np.minimum(shares.indptr[1:], shares.indptr[:-1] + n).tolist()))
    return [topic[a:b].tolist() for a, b in cuts], [share[a:b].tolist() for a, b in cuts]


def _joined(parts: list[Sequence[object] | np.ndarray]) -> Sequence[object] | np.ndarray:
    """A column, from those of the parts."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    return np.concatenate(arrays) if arrays else list(chain.from_iterable(parts))


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
