"""What an edit would do, beside the scores: to the words of its topics, and to documents."""

from __future__ import annotations

import numpy as np

from topmix import edits
from topmix.edits import Edit
from topmix.pages.assets import Json
from topmix.pages.explorer.library import Library
from topmix.pages.explorer.snapshot import Snapshot
from topmix.pages.topics import words_of_topic
from topmix.views.model import Model, proportions, view_of

SHOWN_MOVED = 6  # documents


def changed_words(now: Snapshot, after: Model, edit: Edit) -> list[Json]:
    """The words of the topics of an edit, before and after it; null where there is no such topic."""
    if edit["do"] in ("rename", "freeze", "unfreeze"):
        return []
    view = view_of(after)
    before, ids = now.numbering.ids, edits.numbering(after).ids
    rows = edit["topics"] if "topics" in edit else [] if edit.get("topic") is None else [edit["topic"]]
    concerned = sorted({*(before[k] for k in rows), *set(ids).difference(before)})
    is_empty = view.is_empty()
    found: list[Json] = []
    for topic in concerned:
        k = ids.index(topic) if topic in ids else None
        words = None if k is None else [] if is_empty[k] else words_of_topic(view, k)
        found.append(
            {"id": topic, "before": now.labels[before.index(topic)] if topic in before else None, "after": words}
        )
    return found


def moved_documents(now: Snapshot, after: Model, library: Library) -> Json:
    """Documents of a sample whose largest topic is another one after an edit, and how many there are. A topic that was
    merged is the one that it became part of."""
    rows = np.arange(library.n_docs)
    if library.n_docs > edits.DOCUMENTS:
        rows = np.sort(np.random.default_rng(0).choice(library.n_docs, edits.DOCUMENTS, replace=False))
    rows = rows[library.is_known[rows]]
    sample, numbers = library.corpus[rows], edits.numbering(after)
    mixes = proportions(now.model, sample) if now.mixes is None else now.mixes.by_doc[rows].toarray()
    was = [now.numbering.ids[k] for k in np.argmax(mixes, axis=1).tolist()]
    is_now = [numbers.ids[k] for k in np.argmax(proportions(after, sample), axis=1).tolist()]
    moved = [
        i for i, (a, b) in enumerate(zip(was, is_now)) if (numbers.became.get(a) if a in numbers.became else a) != b
    ]
    shown = [[int(rows[i]), library.name(int(rows[i]))[:200], was[i], is_now[i]] for i in moved[:SHOWN_MOVED]]
    return {"n": len(moved), "of": len(rows), "documents": shown}
