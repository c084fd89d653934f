"""What an edit would do, beside the scores: to the words of its topics, and to documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topmix import edits
from topmix.edits import Edit
from topmix.fitted.topics import FittedTopics
from topmix.fitted.view import TopicView
from topmix.models.topics import TopicModel
from topmix.pages.assets import Json
from topmix.pages.explorer.library import Library
from topmix.pages.explorer.snapshot import Snapshot
from topmix.pages.topics import words_of_topic
from topmix.views.model import Model, fitted_of

SHOWN_MOVED = 6  # documents


def changed_words(now: Snapshot, after: Model, edit: Edit) -> list[Json]:
    """The words of the topics of an edit, before and after it; null where there is no such topic."""
    if edit["do"] in ("rename", "freeze", "unfreeze"):
        return []
    before, ids = now.numbering.ids, edits.numbering(after).ids
    rows = edit["topics"] if "topics" in edit else [] if edit.get("topic") is None else [edit["topic"]]
    concerned = sorted({*(before[k] for k in rows), *set(ids).difference(before)})
    there = [topic for topic in concerned if topic in ids]
    view = some_topics(after, [ids.index(topic) for topic in there], now.topics)
    is_empty = view.is_empty()
    found: list[Json] = []
    for topic in concerned:
        k = there.index(topic) if topic in there else None
        words = None if k is None else [] if is_empty[k] else words_of_topic(view, k)
        found.append(
            {"id": topic, "before": now.labels[before.index(topic)] if topic in before else None, "after": words}
        )
    return found


def some_topics(after: Model, rows: list[int], before: TopicView) -> TopicView:
    """Some topics of an edited model, without an array of all of them. Words are as frequent as they were before."""
    f = fitted_of(after)
    if not isinstance(f, FittedTopics) or not isinstance(f.model, TopicModel) or f.model.words.held is not None:
        view = f.view
        return replace(view, topic_word=view.topic_word[rows], share=view.share[rows], base=view.log_base)
    sizes = np.maximum(f.model.words.total.totals, 0.0)
    tokens = float(sizes.sum())
    return replace(
        before, topic_word=f.model.words.mean_in(rows), share=sizes[rows] / tokens, tokens=tokens, base=before.log_base
    )


def moved_documents(now: Snapshot, after: Model, library: Library, desk: edits.Desk) -> Json:
    """Documents of a sample whose largest topic is another one after an edit, and how many there are. A topic that was
    merged is the one that it became part of."""
    rows = np.arange(library.n_docs)
    if library.n_docs > edits.DOCUMENTS:
        rows = np.sort(np.random.default_rng(0).choice(library.n_docs, edits.DOCUMENTS, replace=False))
    rows = rows[library.is_known[rows]]
    sample, numbers = library.corpus[rows], edits.numbering(after)
    mixes = desk.shares(now.model, sample) if now.mixes is None else now.mixes.by_doc[rows].toarray()
    was = [now.numbering.ids[k] for k in np.argmax(mixes, axis=1).tolist()]
    is_now = [numbers.ids[k] for k in np.argmax(desk.shares(after, sample), axis=1).tolist()]
    moved = [
        i for i, (a, b) in enumerate(zip(was, is_now)) if (numbers.became.get(a) if a in numbers.became else a) != b
    ]
    shown = [[int(rows[i]), library.name(int(rows[i]))[:200], was[i], is_now[i]] for i in moved[:SHOWN_MOVED]]
    return {"n": len(moved), "of": len(rows), "documents": shown}
