"""One state of the model, as the page sees it. An edit or a pass makes another.

What is slow is made when it is first asked for, and kept: the topics of all documents, the tree, the order of words.
The map of many topics comes later, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topmix.apps.explorer.library import Library, WordIndex
from topmix.apps.page import Json, as_json, pack, rounded
from topmix.apps.page.documents import Column, Floats, Ids, Mixes, TopicMarker
from topmix.apps.page.topics import candidates, labels, overview, shorter, tree
from topmix.apps.web import NotFound
from topmix.results.names import relevant_words_of
from topmix.results.topic_map import TSNE_ABOVE, map_positions, map_radii
from topmix.results.topics import Edit
from topmix.results.view import TopicView
from topmix.selection.edits import Numbering, Scores, numbering
from topmix.selection.views import Model, ModelView, fitted_of, proportions

WORDS_SHOWN = 40  # per topic and relevance
LABEL_WORDS = 10
NEAR, NEAR_WORDS = 6, 256
TREE_TOPICS = 1500  # a larger tree can neither be made between two clicks nor be read
WORD_TOPICS = 12
HELD_SHOWN = 12  # words that are banned from a topic, or pinned to it
MARKED_TOPICS = 40  # of a document: those that its words may have
LONGEST_TEXT, LONGEST_COUNTS = 200_000, 5000  # characters or words of a document that is read as a whole
EXCERPT, EXCERPT_WORDS = 1200, 60
PAGE = 20  # documents that are found at a time
CHART_GROUPS = 40  # of a chart, where they are not periods
TOPIC_GROUPS = 12  # of one topic
LEAST_SHARE = 0.05  # of a topic in a document that is found by it


class Snapshot:
    def __init__(
        self, model: Model, library: Library | None, before: Snapshot | None = None, *, is_passing: bool = False
    ):
        self.model, self.library = model, library
        self.is_passing = is_passing  # a fit goes on: its documents are not visited for this snapshot
        self.view = ModelView(model)
        self.topics, self.n_topics = self.view.topics, self.view.topics.n_topics
        self.labels = labels(self.topics)
        # Words stay while the model changes, so an index of them is made once.
        known: Library | Snapshot | None = library or before
        self.index: WordIndex = WordIndex(self.topics.words) if known is None else known.index
        # On the map: from pass to pass a topic moves a little. The map of many topics takes seconds: neither a page nor
        # a fit waits for it.
        self.positions: Floats | None = None
        is_small = self.n_topics <= TSNE_ABOVE
        if "places" in vars(self.topics) or self.topics.kept is not None or (is_small and not is_passing):
            self.positions = self.topics.places
        elif is_small:
            earlier = None if before is None else before.positions
            self.positions = map_positions(self.topics.topic_word, self.topics.share, earlier)
        self.mixes: Mixes | None = None  # topics of all documents, once they are there
        self._marker = TopicMarker(self.view, self.index.id_of)
        self._slow = threading.Lock()  # of what is made once

    @cached_property
    def numbering(self) -> Numbering:
        """Numbers that stay with topics through edits."""
        return numbering(self.model)

    @cached_property
    def scores(self) -> Scores:
        """Slow: what edits are compared with."""
        return (None, None) if self.library is None else self.library.scorer.scores(self.model)

    @cached_property
    def overview_json(self) -> str:
        """What every page will ask for, of all topics: names, words, sizes and positions."""
        corpus = None if self.library is None else self.library.corpus
        content = overview(self.view, corpus, self.positions, words=self.labels)
        return as_json(content | {"frozen": list(self.view.frozen)})

    def compute_mixes(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Slow: visits all documents, as long as somebody wants it."""
        with self._slow:
            if self.library is not None and self.mixes is None:
                self.mixes = Mixes.of(self.view, self.library.corpus, is_wanted)

    # Topics and words.

    def checked(self, k: object) -> int:
        if (number := whole(str(k))) >= self.n_topics:
            raise NotFound(f"there is no topic {number}: they are numbered from 0 to {self.n_topics - 1}")
        return number

    def topic(self, topic: object) -> Json:
        k = self.checked(topic)
        ids = candidates(self.topics, k, WORDS_SHOWN)
        logs = (np.log(np.maximum(p[ids], 1e-30)).tolist() for p in (self.topics.topic_word[k], self.topics.frequency))
        rows = zip(self.topics.words_of(ids), *logs)
        words = [[word[:1000], round(log_p, 4), round(log_frequency, 4)] for word, log_p, log_frequency in rows]
        documents, hint = [], None
        if self.library is None:
            hint = "To read documents here, start the explorer with them: --corpus DOCS."
        elif self.mixes is None:
            when = "known when the fit is over." if self.is_passing else "being computed ..."
            hint = f"The topics of the documents are {when}"
        else:
            documents = self._excerpts(self.mixes.best(k, 12))
        # Words that are banned from the topic or pinned to it: the most frequent, and how many there are. A pinned word
        # is banned from all other topics, which say nothing of it.
        pinned = banned = np.zeros(0, np.intp)
        if self.view.banned is not None:
            n_banned = np.asarray(self.view.banned.sum(axis=0)).ravel()
            here, alone = self.view.banned[[k]].toarray()[0], (n_banned == self.n_topics - 1) & (self.n_topics > 2)
            pinned, banned = np.flatnonzero(alone & ~here), np.flatnonzero(here & ~alone)
        held = {
            kind: {"words": shorter(self._frequent(of_kind, HELD_SHOWN), 60), "n": len(of_kind)}
            for kind, of_kind in (("pinned", pinned), ("banned", banned))
        }
        # The nearest topics by Hellinger distance on the top words of this one: the others together add little.
        phi = self.topics.topic_word
        n = min(NEAR_WORDS, phi.shape[1] - 1)
        roots = np.sqrt(phi[:, np.argpartition(-phi[k], n)[: n + 1]])
        likeness = roots @ roots[k]
        likeness[k] = -1.0
        best = np.argsort(-likeness, kind="stable")[: min(NEAR, self.n_topics - 1)]
        near = [[int(j), round(float(np.sqrt(max(1.0 - likeness[j], 0.0))), 3)] for j in best]
        return {"topic": k, "words": words, "near": near, "held": held, "documents": documents, "hint": hint}

    def word(self, word: str) -> Json | None:
        """The topics of a word with p(k | w), p(w | k)."""
        v = self.index.find(word)
        if v is None:
            return None
        joint = self.topics.share * self.topics.topic_word[:, v]
        best = np.argsort(-joint, kind="stable")[:WORD_TOPICS]
        share = joint[best] / max(float(joint.sum()), 1e-300)
        topics = [[k, round(s, 4)] for k, s in zip(best.tolist(), share.tolist()) if s >= 0.002]
        return {"word": self.topics.words[v], "topics": topics}

    def suggest(self, prefix: str, n: int = 8) -> list[str]:
        """The most frequent words that begin so."""
        return shorter(self._frequent(self.index.beginning(prefix.lower()), n))

    def _frequent(self, ids: NDArray[np.intp], n: int) -> list[str]:
        return self.topics.words_of(ids[np.argsort(-self.topics.frequency[ids], kind="stable")[:n]])

    def find(self, query: str) -> list[int]:
        """Topics with this number, name, or words that begin so and are more probable there than in the corpus."""
        query = query.lower()
        ids, topics = self.index.beginning(query), self.topics
        ids = ids[np.argsort(-topics.frequency[ids], kind="stable")[:50]]
        p = topics.topic_word[:, ids]
        has = np.any((p > topics.frequency[ids]) & (p > 2e-4), axis=1)
        for k, label in enumerate(self.labels):
            name = self.view.names.get(k, "").lower()
            if str(k) == query or query in name or any(w.lower().startswith(query) for w in label):
                has[k] = True
        return np.flatnonzero(has).tolist()

    @cached_property
    def tree(self) -> Json:
        return {"order": list(range(self.n_topics)), "joins": []} if self.n_topics > TREE_TOPICS else tree(self.topics)

    def compare(self, first: object, second: object, n: int = 25) -> Json:
        """Words that tell two topics apart, and words that they share."""
        a, b = self.checked(first), self.checked(second)
        p, q = self.topics.topic_word[a], self.topics.topic_word[b]
        gap = np.sqrt(p) - np.sqrt(q)  # what the Hellinger distance is made of

        def rows(score: Floats) -> list[list[object]]:
            best = [v for v in np.argsort(-score, kind="stable")[:n].tolist() if score[v] > 0]
            return [[self.topics.words[v][:200], float(f"{p[v]:.3g}"), float(f"{q[v]:.3g}")] for v in best]

        distance = round(float(np.sqrt(0.5 * (gap**2).sum())), 3)
        both = rows(np.minimum(p, q))
        return {"a": a, "b": b, "distance": distance, "first": rows(gap), "second": rows(-gap), "both": both}

    # Documents.

    def _documents(self, *rows: int) -> Library:
        """The documents, which have to have these rows."""
        if self.library is None or not all(0 <= d < self.library.n_docs for d in rows):
            raise NotFound(f"there is no document {', '.join(map(str, rows[:9]))}")
        return self.library

    def _excerpts(self, rows: Ids) -> list[Json]:
        """The beginnings of documents, with their topics."""
        if self.library is None or not len(rows):
            return []
        if self.mixes is None:
            mixes = proportions(self.model, self.library.corpus[rows])
        else:
            mixes = np.asarray(self.mixes.by_doc[rows].toarray(), np.float64)
        return [self._card(self.library, d, mix, EXCERPT, EXCERPT_WORDS) for d, mix in zip(rows.tolist(), mixes)]

    def _card(self, library: Library, d: int, mix: Floats, characters: int, words: int) -> Json:
        top = np.argsort(-mix, kind="stable")[: MARKED_TOPICS if library.is_known[d] else 0]
        text = library.text(d)
        card = self._marker.card(library.corpus[d : d + 1], text, mix, top, words if text is None else characters)
        return {"row": d, "name": library.name(d)[:1000], **card}

    def document(self, d: int) -> Json:
        """A whole document, what is written beside it, and the documents most similar to it."""
        library = self._documents(d)
        exact = proportions(self.model, library.corpus[d : d + 1])[0]
        similar = [] if self.mixes is None else library.nearest(d, 8) or self.mixes.similar(d, 8)
        return {
            **self._card(library, d, exact, LONGEST_TEXT, LONGEST_COUNTS),
            "tokens": float(library.lengths[d]),
            "columns": [
                [c.name, "" if c.of_doc[d] < 0 else c.values[c.of_doc[d]][:1000]] for c in library.columns.values()
            ],
            "similar": [[e, library.name(e)[:200], round(score, 3)] for e, score in similar],
        }

    def cards(self, rows: list[int]) -> Json:
        """The beginnings of some documents."""
        self._documents(*rows)
        return {"documents": self._excerpts(np.array(rows[:PAGE], np.int64))}

    def search(self, words: str = "", topic: object = None, column: str = "", value: str = "", offset: int = 0) -> Json:
        """Documents that have all words, the topic and the value; those with the most of what was asked for first."""
        library, mixes, k = self.library, self.mixes, None if topic is None else self.checked(topic)
        asked = dict.fromkeys(words.split())
        unknown = [word for word in asked if self.index.find(word) is None]
        if library is None or (k is not None and mixes is None):
            pending = {} if library is None else {"pending": True}
            return {"n": 0, "documents": [], "unknown": [], **pending}
        rows, score = library.with_words([v for word in asked if (v := self.index.find(word)) is not None])
        kept = np.full(len(rows), not unknown)
        if k is not None and mixes is not None:
            share = mixes.shares(rows, k)
            kept &= share >= LEAST_SHARE
            score = score if asked else share * mixes.weight[rows]  # as among the examples of a topic
        if column:
            kept &= np.isin(rows, self._column(column).rows(value), assume_unique=True)
        rows, score = rows[kept], score[kept]
        rows = rows[np.lexsort((rows, -score))] if asked or k is not None else rows
        documents = self._excerpts(rows[offset : offset + PAGE])
        return {"n": len(rows), "offset": offset, "documents": documents, "unknown": unknown}

    def _column(self, name: str) -> Column:
        if self.library is None or name not in self.library.columns:
            raise NotFound(f"there is no column {name[:60]!r}")
        return self.library.columns[name]

    def groups(self, name: str, topic: object) -> Json:
        """The mean share of a topic in the groups of a column."""
        k, column = self.checked(topic), self._column(name)
        if self.mixes is None:
            return {"pending": True}
        n, shares, _ = self.mixes.of_groups(column)
        shown = column.largest(n, CHART_GROUPS)
        rows = [(column.groups[g][:200], int(n[g]), float(shares[k, g]) if n[g] else None) for g in shown]
        if not column.is_time:
            rows = sorted(rows, key=lambda row: -(row[2] or 0.0))[:TOPIC_GROUPS]
        return {"column": name, "is_time": column.is_time, "groups": rows}

    def charts(self, name: str) -> Json:
        """Mean shares of all topics in the groups of a column, and half the width of their 95% intervals."""
        column = self._column(name)
        if self.mixes is None:
            return {"pending": True}
        n, share, error = self.mixes.of_groups(column)
        shown = column.largest(n, CHART_GROUPS)
        groups = [column.groups[g][:200] for g in shown]
        numbers = {name: rounded(values[:, shown]) for name, values in (("share", share), ("error", error))}
        return {"is_time": column.is_time, "groups": groups, "n": n[shown].tolist(), **numbers}

    def column(self, name: str) -> Json:
        """The group of each document in a column, by its number, and the names of the groups."""
        column = self._column(name)
        groups = pack(column.group_of_doc, "<i4")
        return {"is_time": column.is_time, "names": shorter(column.groups), "groups": groups}

    @cached_property
    def places_json(self) -> str:
        """Documents on a map: x, y, and the largest topic of each."""
        assert self.mixes is not None and self.positions is not None  # noqa: PT018
        at, topic = self.mixes.positions(self.positions, map_radii(self.topics.share))
        return as_json({"x": pack(at[:, 0], "<f4"), "y": pack(at[:, 1], "<f4"), "topic": pack(topic, "<i4")})

    # What an edit would do, beside the scores.

    def changed_words(self, after: Model, edit: Edit) -> list[Json]:
        """The words of the topics of an edit, before and after it; null where there is no such topic."""
        if edit["do"] in ("rename", "freeze", "unfreeze"):
            return []
        before, ids = self.numbering.ids, numbering(after).ids
        rows = edit["topics"] if "topics" in edit else [] if edit.get("topic") is None else [edit["topic"]]
        concerned = sorted({*(before[k] for k in rows), *set(ids).difference(before)})
        there = [topic for topic in concerned if topic in ids]
        view = some_topics(after, [ids.index(topic) for topic in there])
        is_empty = view.is_empty()
        words: dict[int, list[str]] = {
            topic: [] if is_empty[k] else shorter(relevant_words_of(view, view.topic_word[k], LABEL_WORDS))
            for k, topic in enumerate(there)
        }
        was = {topic: self.labels[before.index(topic)] for topic in concerned if topic in before}
        return [{"id": topic, "before": was.get(topic), "after": words.get(topic)} for topic in concerned]


def some_topics(model: Model, rows: list[int]) -> TopicView:
    """Some topics of a model, with the words of all."""
    view = fitted_of(model).view
    return replace(view, topic_word=view.topic_word[rows], share=view.share[rows], base=view.log_base)


def whole(text: str) -> int:
    """A number in an address."""
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise NotFound(f"{text[:40]!r} is not a number")
    return int(text)
