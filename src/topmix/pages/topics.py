"""What the report and the explorer both show of all topics, as JSON holds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topmix import edits
from topmix._version import __version__
from topmix.data.corpus import Corpus
from topmix.fitted.names import RELEVANCE, relevant_words, relevant_words_of
from topmix.fitted.quality import GOOD, quality
from topmix.fitted.tree import tree_of
from topmix.fitted.view import TopicView
from topmix.fitting.history import passes_of
from topmix.models.admixture import Admixture
from topmix.pages.depends import depends
from topmix.views.model import ModelView

RELEVANCES = (1.0, RELEVANCE, 0.6, 0.4, 0.2, 0.0)  # candidates are the best words for each; the page sorts for others
WORDS_PER_LABEL = 10


def overview(
    view: ModelView,
    corpus: Corpus | None,
    positions: NDArray[np.float64],
    of_topics: list[str] | None = None,
    words: list[list[str]] | None = None,
) -> dict[str, object]:
    """The model, its parameters, [pass, seconds, objective, phase] of each pass; and per topic the number that stays
    with it through edits, its most relevant words, the name that somebody gave it or null, its share, why it is hardly
    worth reading or null, and its position on the map. `of_topics` is their quality, where more than the topics is
    known, and `words` are their labels, where they are known. Of a consensus also [share of the fits that have it, low,
    high, reliability] or null, and its words that come and go."""
    topics, history = view.topics, view.fitted.history
    ids, became, _ = numbering(view)
    rows = "rows" if isinstance(view.fitted.model, Admixture) else "documents"
    about: dict[str, object] = {
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
    return {
        "about": about,
        "history": [[r.n_pass, round(r.seconds, 4), r.objective, r.phase] for r in history],
        "settings": view.settings(),
        **depends(view.fitted),
        "ids": ids,
        "became": became,  # of topics that are gone
        "labels": labels(topics) if words is None else words,
        "names": view.name_of(),
        "share": [float(f"{s:.5g}") for s in topics.share],
        "quality": [None if why == GOOD else why for why in of_topics or quality(topics)],
        "x": [round(float(x), 4) for x in positions[:, 0]],
        "y": [round(float(y), 4) for y in positions[:, 1]],
        **_reproducibility(topics),
    }


def _reproducibility(topics: TopicView) -> dict[str, object]:
    r = topics.reproducibility
    if r is None:
        return {}
    numbers = np.round([r.found, r.low, r.high, r.reliability], 3).T.tolist()
    known = [None if np.isnan(of_topic[0]) else of_topic for of_topic in numbers]
    words = [[topics.words[v][:200] for v in r.sometimes(k)] for k in range(topics.n_topics)]
    return {"n_fits": r.n_fits, "reproducibility": known, "unsteady": words}


def numbering(view: ModelView) -> edits.Numbering:
    """Numbers that stay with topics through edits."""
    return edits.numbering(view.model)


def labels(topics: TopicView, n: int = WORDS_PER_LABEL) -> list[list[str]]:
    return [[word[:200] for word in words] for words in relevant_words(topics, n)]


def words_of_topic(topics: TopicView, k: int, n: int = WORDS_PER_LABEL) -> list[str]:
    """The label of one topic."""
    return [word[:200] for word in relevant_words_of(topics, k, n)]


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


def tree(topics: TopicView) -> dict[str, object]:
    """The order of topics, and joins of topics or earlier joins, nearest first."""
    found = tree_of(topics)
    joins = [
        {"node": b.node, "left": b.left, "right": b.right, "distance": round(b.distance, 4),
         "share": float(f"{b.share:.5g}"), "words": [word[:60] for word in b.words]}
        for b in found.branches
    ]  # fmt: skip
    return {"order": found.branches[-1].topics if found.branches else [], "joins": joins}
