"""What the report and the explorer both show of all topics, as JSON holds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topmix._version import __version__
from topmix.apps.page import Json, rounded
from topmix.corpus.corpus import Corpus
from topmix.learn.history import passes_of
from topmix.results.covariates import effects, versions_of
from topmix.results.mixture import FittedMixture
from topmix.results.names import RELEVANCE, relevant_words
from topmix.results.tables import tree_of
from topmix.results.topics import FittedTopics
from topmix.results.view import GOOD, TopicView, quality
from topmix.selection import edits
from topmix.selection.views import ModelView

RELEVANCES = (1.0, RELEVANCE, 0.6, 0.4, 0.2, 0.0)  # candidates are the best words for each; the page sorts for others
WORDS_PER_LABEL, WORDS_PER_VERSION = 10, 7
MOST_TERMS, MOST_VERSIONS, MOST_CELLS = 40, 60, 60_000  # that a page shows


def overview(
    view: ModelView,
    corpus: Corpus | None,
    positions: NDArray[np.float64] | None,
    of_topics: list[str] | None = None,
    words: list[list[str]] | None = None,
) -> Json:
    """The model, its parameters, [pass, seconds, objective, phase] of each pass; and per topic the number that stays
    with it through edits, its most relevant words, the name that somebody gave it or null, its share, why it is hardly
    worth reading or null, and its position on the map, if there is one. `of_topics` is their quality, where more than
    the topics is known, and `words` are their labels, where they are known. Of a consensus also [share of the fits that
    have it, low, high, reliability] or null, and its words that come and go."""
    topics, history = view.topics, view.fitted.history
    ids, became, _ = edits.numbering(view.model)
    rows = "rows" if view.model._takes == "groups" else "documents"
    about: Json = {
        "estimator": view.kind,
        "n_topics": topics.n_topics,
        "n_words": len(topics.words),
        "tokens": round(topics.tokens),
        "unit": "tokens" if round(topics.tokens) else rows,
        "version": __version__,
        "passes": passes_of(history) if history else None,
        "seconds": round(history[-1].seconds, 2) if history else None,
        "converged": bool(view.fitted.converged),
    }
    if corpus is not None:
        about |= {"n_docs": corpus.n_docs, "corpus_tokens": float(corpus.n_tokens)}
    found: Json = {
        "about": about,
        "history": [[r.n_pass, round(r.seconds, 4), r.objective, r.phase] for r in history],
        "settings": view.settings(),
        **depends(view.fitted),
        "ids": ids,
        "became": became,  # of topics that are gone
        "labels": labels(topics) if words is None else words,
        "names": [view.names.get(k) for k in range(view.topics.n_topics)],
        "share": [float(f"{s:.5g}") for s in topics.share],
        "quality": [None if why == GOOD else why for why in of_topics or quality(topics)],
        "x": None if positions is None else np.round(positions[:, 0], 4).tolist(),
        "y": None if positions is None else np.round(positions[:, 1], 4).tolist(),
    }
    if (r := topics.reproducibility) is not None:
        numbers = np.round([r.found, r.low, r.high, r.reliability], 3).T.tolist()
        found["n_fits"] = r.n_fits
        found["reproducibility"] = [None if np.isnan(of_topic[0]) else of_topic for of_topic in numbers]
        found["unsteady"] = [shorter([topics.words[v] for v in r.sometimes(k)]) for k in range(topics.n_topics)]
    return found


def labels(topics: TopicView, n: int = WORDS_PER_LABEL) -> list[list[str]]:
    return [shorter(words) for words in relevant_words(topics, n)]


def shorter(words: list[str], most: int = 200) -> list[str]:
    """Words with at most so many letters."""
    return [word[:most] for word in words]


def candidates(topics: TopicView, k: int, n: int) -> NDArray[np.intp]:
    """Ids of the n best words of a topic for each relevance, most probable first.

    Only the 20 n most probable words can be candidates. So a rare word that is in the topic only by the prior is none.
    """
    row = topics.topic_word[k]
    n = min(n, len(row))
    likely = np.argpartition(-row, min(20 * n, len(row) - 1))[: 20 * n]
    logs, bases = (np.log(np.maximum(p[likely], 1e-300)) for p in (row, topics.frequency))
    best = [likely[np.argsort(-(logs - (1 - r) * bases), kind="stable")[:n]] for r in RELEVANCES]
    ids = np.unique(np.concatenate(best))
    return ids[np.argsort(-row[ids], kind="stable")]


def tree(topics: TopicView) -> Json:
    """The order of topics, and joins of topics or earlier joins, nearest first."""
    branches = tree_of(topics).branches
    joins = [
        {"node": b.node, "left": b.left, "right": b.right, "distance": round(b.distance, 4),
         "share": float(f"{b.share:.5g}"), "words": shorter(b.words, 60)}
        for b in branches
    ]  # fmt: skip
    return {"order": branches[-1].topics if branches else [], "joins": joins}


def depends(f: FittedTopics | FittedMixture) -> Json:
    """What topics depend on: {"depends": ...} with `effects` of covariates, terms and per topic and term [estimate,
    low, high], and `versions`, their names and per topic and version its share and words; nothing where topics depend
    on nothing."""
    if not isinstance(f, FittedTopics):
        return {}
    on_page: Json = {}
    if f.reading.design is not None:
        table = effects(f, 0.95)
        K, terms = f.n_topics, f.reading.design.names
        rows = np.stack([np.asarray(table[name], float).reshape(K, -1) for name in ("estimate", "low", "high")], axis=2)
        rounded_rows = [rounded(of_topic[:MOST_TERMS]) for of_topic in rows]
        on_page["effects"] = {"terms": shorter(terms[:MOST_TERMS]), "rows": rounded_rows}
    if f.versions is not None and f.reading.versions is not None:
        versions, column = versions_of(f)
        sizes = versions.sizes()
        most = int(np.clip(MOST_CELLS // max(f.n_topics, 1), 1, MOST_VERSIONS))
        largest = np.sort(np.argsort(-sizes.sum(axis=1), kind="stable")[:most]).tolist()
        share = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
        views = (TopicView(versions.mean(t), np.maximum(share[t], 1e-12), sizes[t].sum(), f.words) for t in largest)
        words = [relevant_words(view, WORDS_PER_VERSION) for view in views]
        on_page["versions"] = {
            "column": column.column[:200],
            "names": [column.names[t][:200] for t in largest],
            "share": rounded(share[largest].T),
            "words": [[shorter(of_version[k], 60) for of_version in words] for k in range(f.n_topics)],
        }
    return {"depends": on_page} if on_page else {}
