"""The data of the page, for JSON. Long arrays are packed as base64, so that a thousand topics stay small.

about, settings, history    the model, its parameters, and [pass, seconds, objective, phase] of each pass
labels, names               per topic: its most relevant words, and the name that somebody gave it or null
words, frequency            all words that the page shows, the most frequent first, and log p(w)
share, x, y, near           per topic: its share, its position on the map, and its nearest topics
sizes, candidates, probabilities    per topic: the number of candidates, their word ids, and log p(w | k), best first
tree                        the order of topics, and joins of topics or earlier joins, nearest first
lookup                      per word: its most likely topics and p(k | w)
columns                     groups of documents, and the mean share of each topic in them
documents, of_topic         example documents, and per topic the positions of its examples in that list
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix._version import __version__
from topmix.data.corpus import Corpus
from topmix.fitted.names import RELEVANCE, relevant_words
from topmix.metrics.topic_map import hellinger, plane_positions
from topmix.report.documents import chosen_documents
from topmix.report.groups import columns_of, grouped
from topmix.views.topics import TopicView, tree_of, view_of

RELEVANCES = (
    1.0,
    RELEVANCE,
    0.4,
    0.2,
    0.0,
)  # candidates are the best words for each; the page sorts for others
LOOKUP_WORDS, LOOKUP_TOPICS = 30_000, 6
NEIGHBOURS = 5
WORDS_PER_LABEL = 10


def contents(model: Any, corpus: Corpus | None, texts: Iterable[str] | None, columns: Any = None) -> dict[str, Any]:
    """The data of the page, as in the description of this module."""
    view = view_of(model)
    if columns is not None and corpus is None:
        raise ValueError("columns= are values of documents: pass the documents too")
    beside = [] if columns is None or corpus is None else columns_of(columns, corpus.n_docs)
    n_candidates = 40 if view.n_topics <= 300 else 25
    candidates = _candidates(view, n_candidates)
    common = np.argsort(-view.frequency, kind="stable")[:LOOKUP_WORDS]
    named = np.union1d(common, np.concatenate(candidates))
    order = named[np.argsort(-view.frequency[named], kind="stable")]
    place_of = np.full(len(view.words), -1, np.int64)
    place_of[order] = np.arange(len(order))
    distance = hellinger(view.topic_word)
    positions = plane_positions(distance)
    documents, of_topic = chosen_documents(model, view, corpus, texts)
    return {
        "about": about_model(model, view, corpus),
        "history": [[r.n_pass, round(r.seconds, 4), r.objective, r.phase] for r in getattr(model, "history_", [])],
        "settings": settings_of(model),
        "labels": relevant_words(view, WORDS_PER_LABEL),
        "names": [getattr(model, "names_", {}).get(k) for k in range(view.n_topics)],
        "words": [view.words[v] for v in order.tolist()],
        "frequency": pack(np.log(np.maximum(view.frequency[order], 1e-30)), "<f4"),
        "share": [float(f"{s:.5g}") for s in view.share],
        "x": [round(float(v), 4) for v in positions[:, 0]],
        "y": [round(float(v), 4) for v in positions[:, 1]],
        "sizes": pack(np.array([len(ids) for ids in candidates]), "<u2"),
        "candidates": pack(np.concatenate([place_of[ids] for ids in candidates]), "<i4"),
        "probabilities": pack(np.concatenate([_logs(view, k, ids) for k, ids in enumerate(candidates)]), "<f4"),
        "near": [
            [[int(j), round(float(distance[k, j]), 3)] for j in np.argsort(distance[k], kind="stable") if j != k][
                :NEIGHBOURS
            ]
            for k in range(view.n_topics)
        ],
        "tree": _tree(view),
        "lookup": _lookup(view, order),
        "columns": [] if corpus is None else grouped(model, corpus, beside, view.n_topics),
        "documents": documents,
        "of_topic": of_topic,
    }


def pack(numbers: NDArray[Any], dtype: str) -> str:
    """Little-endian bytes in base64, which the page decodes to a typed array."""
    return base64.b64encode(np.ascontiguousarray(numbers, np.dtype(dtype)).tobytes()).decode()


def _candidates(view: TopicView, n: int) -> list[NDArray[np.intp]]:
    """Per topic: ids of the n best words for each relevance, most probable first.

    Only the 20 n most probable words can be candidates. So a rare word that is in the topic only by the prior is none.
    """
    n = min(n, len(view.words))
    found = []
    for k in range(view.n_topics):
        row = view.topic_word[k]
        likely = np.argpartition(-row, min(20 * n, len(row) - 1))[: 20 * n]
        relevance = np.log(np.maximum(row[likely], 1e-300)), np.log(np.maximum(view.frequency[likely], 1e-300))
        best = [likely[np.argsort(-(relevance[0] - (1 - r) * relevance[1]), kind="stable")[:n]] for r in RELEVANCES]
        ids = np.unique(np.concatenate(best))
        found.append(ids[np.argsort(-row[ids], kind="stable")])
    return found


def _logs(view: TopicView, k: int, ids: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.log(np.maximum(view.topic_word[k, ids], 1e-30))


def _tree(view: TopicView) -> dict[str, Any]:
    tree = tree_of(view)
    joins = [
        {"node": b.node, "left": b.left, "right": b.right, "distance": round(b.distance, 4),
         "share": float(f"{b.share:.5g}"), "words": b.words}
        for b in tree.branches
    ]  # fmt: skip
    return {"order": tree.branches[-1].topics if tree.branches else tree.leaves, "joins": joins}


def _lookup(view: TopicView, order: NDArray[np.intp]) -> dict[str, Any]:
    """The most likely topics of each word, with p(k | w) as bytes: 255 means 1."""
    n = min(LOOKUP_TOPICS, view.n_topics)
    topics, weights = np.zeros((len(order), n), np.uint16), np.zeros((len(order), n), np.uint8)
    for begin in range(0, len(order), 2048):
        ids = order[begin : begin + 2048]
        joint = (view.topic_word[:, ids] * view.share[:, None]).T  # [words, K]
        best = np.argsort(-joint, axis=1, kind="stable")[:, :n]
        posterior = np.take_along_axis(joint, best, axis=1) / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        topics[begin : begin + 2048] = best
        weights[begin : begin + 2048] = np.round(255 * posterior)
    return {"n": n, "topics": pack(topics.ravel(), "<u2"), "weights": pack(weights.ravel(), "u1")}


def about_model(model: Any, view: TopicView, corpus: Corpus | None) -> dict[str, Any]:
    """Facts of a model for the head of a page."""
    history = getattr(model, "history_", [])
    about: dict[str, Any] = {
        "estimator": type(model).__name__,
        "n_topics": view.n_topics,
        "n_words": len(view.words),
        "tokens": round(view.tokens),
        "version": __version__,
        "passes": len(history),
        "seconds": round(history[-1].seconds, 2) if history else None,
        "converged": bool(getattr(model, "converged_", False)),
    }
    if corpus is not None:
        about |= {"n_docs": corpus.n_docs, "corpus_tokens": float(corpus.n_tokens)}
    return about


def settings_of(model: Any) -> list[list[str]]:
    """Parameters of a model and settings of its tokenizer: [name, value as text]."""
    rows = [[name, _as_text(value)] for name, value in model.get_params(deep=False).items() if name != "callbacks"]
    tokenizer = getattr(model, "tokenizer_", None)
    if isinstance(tokenizer, dict):
        rows += [[f"words: {name}", _as_text(value)] for name, value in tokenizer.items()]
    return rows


def _as_text(value: Any) -> str:
    """A short text for the value of a parameter."""
    if isinstance(value, np.ndarray):
        return f"array of {' × '.join(map(str, value.shape))}"
    if isinstance(value, list | tuple) and len(value) > 8:
        return f"{', '.join(map(str, value[:8]))}, … ({len(value)})"
    return str(value)
