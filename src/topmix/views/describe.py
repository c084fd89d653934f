"""Descriptions of models: the size of each topic, its words, and the documents with the most of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich import box
from rich.markup import escape
from rich.table import Table

from topmix.api.topics import TopicEstimator
from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.fitted.documents import example_weight
from topmix.fitted.mixture import FittedMixture
from topmix.fitted.names import RELEVANCE, relevant_ids
from topmix.fitted.quality import EMPTY, GOOD, best_first, quality
from topmix.fitted.view import TopicView
from topmix.views.model import Model, fitted_of


@dataclass(frozen=True)
class Topic:
    """Size, words and example documents of one topic."""

    topic: int  # its row in components_
    share: float  # of all tokens
    words: list[str]  # best first
    documents: list[str]  # names, or row numbers if the corpus has no names

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def summarise(model: TopicEstimator, corpus: Corpus, *, n_words: int = 8, n_documents: int = 2) -> list[Topic]:
    """The topics of a fitted topic model with their sizes and examples in the corpus, largest first."""
    shares = sp.csc_array(model.transform(corpus, sparse_output=True))  # [D, K]
    lengths = row_sums(corpus.indptr, corpus.value)
    sizes, words = lengths @ shares, model.top_words(n_words)
    topics = []
    for k in np.argsort(-sizes, kind="stable").tolist():
        entries = slice(shares.indptr[k], shares.indptr[k + 1])
        rows = shares.indices[entries]
        best = rows[np.argsort(-shares.data[entries] * example_weight(lengths[rows]), kind="stable")[:n_documents]]
        names = [str(d) if corpus.names is None else corpus.names[d] for d in best.tolist()]
        topics.append(Topic(k, float(sizes[k] / max(sizes.sum(), 1e-300)), words[k], names))
    return topics


def describe_model(model: Model, *, n_words: int = 10, relevance: float = RELEVANCE) -> dict[str, Any]:
    """A fitted model as a dict for JSON: its kind, its training, and its topics (or clusters), largest first."""
    f = fitted_of(model)
    about = {
        "estimator": type(model).__name__,
        "n_components": f.model.n_components,
        "n_features": f.reading.n_features,
        "converged": bool(f.converged),
        "n_iter": f.n_iter,
        "seconds": f.history[-1].seconds if f.history else None,
        "objective": f.history[-1].objective if f.history else None,
    }
    if isinstance(f, FittedMixture) and not f.has_words:
        return about | {"clusters": _clusters(f, n_words)}
    return about | {"topics": describe_topics(f.view, n_words, relevance)}


def describe_topics(view: TopicView, n_words: int = 10, relevance: float = RELEVANCE) -> list[dict[str, Any]]:
    """One dict per topic, the largest of those that are worth reading first: number, share, words, their
    probabilities, and quality."""
    top, of_topics = relevant_ids(view, n_words, relevance), quality(view)
    return [
        {
            "topic": k,
            "share": float(view.share[k]),
            "words": [view.words[v] for v in top[k]],
            "probabilities": [float(view.topic_word[k, v]) for v in top[k]],
            "quality": of_topics[k],
        }
        for k in best_first(view, of_topics).tolist()
    ]


def model_table(
    model: Model, width: int, *, n_words: int = 10, n_shown: int | None = None, relevance: float = RELEVANCE
) -> Table:
    """A table with one row per topic, largest first, and at most 120 characters wide. Topics that are hardly worth
    reading come last, and say why; empty ones are left out where not all are asked for."""
    about = describe_model(model, n_words=n_words, relevance=relevance)
    kind, heading = "topic", "words"
    if "clusters" in about:
        kind, heading = "cluster", "most distinctive features, in standard deviations"
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, width=min(width, 120))
    table.add_column(kind, justify="right", style="dim")
    table.add_column("share", justify="right")
    table.add_column(heading, ratio=1)
    rows = about[f"{kind}s"]
    if n_shown is not None:
        rows = [row for row in rows if row.get("quality") != EMPTY][:n_shown] or rows[:n_shown]
    for row in rows:
        features = row["words"] if kind == "topic" else [f"{name} {z:+.1f} " for name, z in row["features"].items()]
        said = escape(" ".join(features).rstrip())
        if (why := row.get("quality", GOOD)) != GOOD:
            said = f"{said} [dim]({escape(why)})[/dim]".strip()
        table.add_row(str(row[kind]), f"{row['share']:.1%}", said)
    return table


def _clusters(f: FittedMixture, n: int) -> list[dict[str, Any]]:
    """One dict per cluster of vectors, with the features whose means are furthest from the mean of all clusters."""
    weights, means = f.weights, f.model.likelihood.mean()
    centre = weights @ means
    spread = np.sqrt(np.maximum(weights @ (means - centre) ** 2, 1e-300))
    z = (means - centre) / spread
    names = f.reading.words
    rows = []
    for k in np.argsort(-weights, kind="stable").tolist():
        best = np.argsort(-np.abs(z[k]), kind="stable")[:n].tolist()
        features = {str(v if names is None else names[v]): float(z[k, v]) for v in best}
        rows.append({"cluster": k, "share": float(weights[k]), "features": features, "mean": means[k].tolist()})
    return rows
