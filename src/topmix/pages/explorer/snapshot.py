"""One state of the model, as the page sees it. An edit or a pass makes another; only a quick map becomes a better one.

What is slow is made when it is first asked for, and kept: the topics of all documents, the tree, the order of words.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.data.rows import GroupedRows
from topmix.edits import Numbering
from topmix.fitted.mixture import FittedMixture
from topmix.metrics.topic_map import QUICK_ABOVE, map_positions, map_radii, row_positions
from topmix.pages.assets import Json, as_json, pack
from topmix.pages.documents import TopicMarker
from topmix.pages.explorer.library import Library
from topmix.pages.explorer.mixes import Mixes, document_places, mixes_of
from topmix.pages.topics import candidates, labels, numbering, overview, tree
from topmix.pages.web import NotFound
from topmix.views.model import Model, ModelView

WORDS_SHOWN = 40  # per topic and relevance
NEAR, NEAR_WORDS = 6, 256
MOST_ROOTS = 100_000_000  # probabilities whose square roots are kept once more, word by word
TREE_TOPICS = 1500  # a larger tree can neither be made between two clicks nor be read
WORD_TOPICS = 12
TRANSPOSED = 64  # words at a time
HELD_SHOWN = 12  # words that are banned from a topic, or pinned to it
MARKED_TOPICS = 40  # of a document: those that its words may have
LONGEST_TEXT, LONGEST_COUNTS = 200_000, 5000  # characters or words of a document that is read as a whole
EXCERPT, EXCERPT_WORDS = 1200, 60
PAGE = 20  # documents that are found at a time
CHART_GROUPS = 40  # of a chart, where they are not periods
LEAST_SHARE = 0.05  # of a topic in a document that is found by it


class Snapshot:
    def __init__(
        self, model: Model, library: Library | None, before: Snapshot | None = None, *, is_passing: bool = False
    ):
        self.model, self.library = model, library
        self.is_passing = is_passing  # a fit goes on: its documents are not visited for this snapshot
        self.view = ModelView(model)
        self.topics = self.view.topics
        self.labels = labels(self.topics)
        self.is_rough = False  # the map is a quick one, until `refine`
        self.positions = self._positions(before)
        self.mixes: Mixes | None = None  # topics of all documents, once they are there
        self._marker = TopicMarker(self.view)
        self._root: NDArray[np.float32] | None = None  # [V, K] square roots of probabilities: one word lies together
        self._slow = threading.Lock()  # of what is made once

    @property
    def n_topics(self) -> int:
        return self.topics.n_topics

    def _positions(self, before: Snapshot | None) -> NDArray[np.float64]:
        """On the map: from pass to pass a topic moves a little. The map of a model that nobody has looked at yet takes
        seconds where topics are many, and a page does not wait for it."""
        is_known = "places" in vars(self.topics) or self.topics.kept is not None
        if is_known or not (self.is_passing or self.n_topics > QUICK_ABOVE):
            return self.topics.places
        self.is_rough = not self.is_passing
        last = None if before is None else before.positions
        return map_positions(self.topics.topic_word, self.topics.share, last, quick=True)

    def refine(self) -> None:
        """The places that topics have everywhere, where the map is a quick one."""
        self.positions = self.topics.places
        self.overview_json = as_json(self.overview())
        self.is_rough = False

    @cached_property
    def numbering(self) -> Numbering:
        return numbering(self.view)

    def checked(self, k: object) -> int:
        try:
            number = int(str(k))
        except ValueError:
            number = -1
        if not 0 <= number < self.n_topics:
            raise NotFound(f"there is no topic {str(k)[:40]}: they are numbered from 0 to {self.n_topics - 1}")
        return number

    def overview(self) -> Json:
        """What the page knows of all topics: names, words, sizes and positions."""
        corpus = None if self.library is None else self.library.corpus
        return overview(self.view, corpus, self.positions, words=self.labels) | {"frozen": list(self.view.frozen)}

    @cached_property
    def overview_json(self) -> str:
        return as_json(self.overview())

    def prepare(self) -> None:
        """Makes now, in the thread that made the snapshot, what every page will ask for."""
        _ = self.overview_json

    def prepare_words(self) -> None:
        """Slow where topics are many: lets `near` and `find` answer at once."""
        if self._root is None and self.topics.topic_word.size <= MOST_ROOTS:
            roots = np.empty(self.topics.topic_word.shape[::-1], np.float32)
            for at in range(0, len(roots), TRANSPOSED):  # a few words at a time, which stay in the cache
                part = self.topics.topic_word[:, at : at + TRANSPOSED].T
                np.sqrt(part, out=roots[at : at + TRANSPOSED], casting="same_kind")
            self._root = roots

    def topic(self, k: int) -> Json:
        ids = candidates(self.topics, k, WORDS_SHOWN)
        logs = [np.log(np.maximum(p[ids], 1e-30)) for p in (self.topics.topic_word[k], self.topics.frequency)]
        words = [
            [self.topics.words[v][:1000], round(float(p), 4), round(float(f), 4)]
            for v, p, f in zip(ids.tolist(), *logs)
        ]
        documents, hint = [], None
        if self.library is None:
            hint = "To read documents here, start the explorer with them: --corpus DOCS."
        elif self.mixes is None:
            when = "known when the fit is over." if self.is_passing else "being computed ..."
            hint = f"The topics of the documents are {when}"
        else:
            documents = self.excerpts(self.mixes.best(k, 12))
        held = self._held(k)
        return {"topic": k, "words": words, "near": self.near(k), "held": held, "documents": documents, "hint": hint}

    def _held(self, k: int) -> Json:
        """Words that are banned from a topic or pinned to it: the most frequent, and how many there are. A pinned word
        is banned from all other topics, which say nothing of it."""
        if self.view.banned is None:
            return {kind: {"words": [], "n": 0} for kind in ("pinned", "banned")}
        n_banned = np.asarray(self.view.banned.sum(axis=0)).ravel()
        here, alone = self.view.banned[[k]].toarray()[0], (n_banned == self.n_topics - 1) & (self.n_topics > 2)
        found: Json = {}
        for kind, of in (("pinned", alone & ~here), ("banned", here & ~alone)):
            ids = np.flatnonzero(of)
            found[kind] = {"words": [word[:60] for word in self._frequent(ids, HELD_SHOWN)], "n": len(ids)}
        return found

    def near(self, k: int) -> list[list[float]]:
        """The nearest topics by Hellinger distance."""
        phi, root = self.topics.topic_word, self._root
        n = min(NEAR_WORDS, phi.shape[1] - 1)
        top = np.argpartition(-phi[k], n)[: n + 1]  # of topic k: the other words together add little
        roots = np.sqrt(phi[:, top]).T if root is None else root[top]  # [words, K]
        likeness = np.asarray(roots[:, k] @ roots, np.float64)
        likeness[k] = -1.0
        best = np.argsort(-likeness, kind="stable")[: min(NEAR, self.n_topics - 1)]
        return [[int(j), round(float(np.sqrt(max(1.0 - likeness[j], 0.0))), 3)] for j in best]

    def compute_mixes(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Slow: visits all documents, as long as somebody wants it."""
        with self._slow:
            if self.library is not None and self.mixes is None:
                self.mixes = mixes_of(self.view, self.library.corpus, is_wanted)

    def excerpts(self, rows: NDArray[np.int64]) -> list[Json]:
        """The beginnings of documents, with their topics."""
        if self.library is None or not len(rows):
            return []
        if self.mixes is None:
            mixes = self.view.proportions(self.library.corpus[rows])
        else:
            mixes = np.asarray(self.mixes.by_doc[rows].toarray(), np.float64)
        return [self._card(self.library, d, mix, EXCERPT, EXCERPT_WORDS) for d, mix in zip(rows.tolist(), mixes)]

    def _card(self, library: Library, d: int, mix: NDArray[np.float64], characters: int, words: int) -> Json:
        top = np.argsort(-mix, kind="stable")[: MARKED_TOPICS if library.is_known[d] else 0]
        text = library.text(d)
        most = words if text is None else characters
        at = slice(*library.corpus.indptr[d : d + 2].tolist())
        card = self._marker.card(
            library.corpus.index[at], library.corpus.value[at], text, mix, top, most=most
        )  # fmt: skip
        return {"row": d, "name": library.name(d)[:1000], **card}

    def document(self, d: int) -> Json:
        """A whole document, what is written beside it, and the documents most similar to it."""
        library = self.library
        if library is None or not 0 <= d < library.n_docs:
            raise NotFound(f"there is no document {d}")
        exact = self.view.proportions(library.corpus[d : d + 1])[0]
        similar = [] if self.mixes is None else library.nearest(d, 8) or self.mixes.similar(d, 8)
        return {
            **self._card(library, d, exact, LONGEST_TEXT, LONGEST_COUNTS),
            "tokens": float(library.lengths[d]),
            "columns": [[c.name, c.value(d)[:1000]] for c in library.columns.values()],
            "similar": [[e, library.name(e)[:200], round(score, 3)] for e, score in similar],
        }

    def search(
        self, words: str = "", topic: int | None = None, column: str = "", value: str = "", offset: int = 0
    ) -> Json:
        """Documents that have all words, the topic and the value; those with the most of what was asked for first."""
        if self.library is None or (topic is not None and self.mixes is None):
            nothing: Json = {"n": 0, "documents": [], "unknown": []}
            return nothing if self.library is None else nothing | {"pending": True}
        unknown = [word for word in dict.fromkeys(words.split()) if self.library.word_id(word) is None]
        found = self.found(words, topic, column, value)
        documents = self.excerpts(found[offset : offset + PAGE])
        return {"n": len(found), "offset": offset, "documents": documents, "unknown": unknown}

    def found(self, words: str = "", topic: int | None = None, column: str = "", value: str = "") -> NDArray[np.int64]:
        """All documents of a search, in its order."""
        library = self.library
        if library is None:
            return np.empty(0, np.int64)
        ids = {word: library.word_id(word) for word in words.split()}
        rows, score = library.with_words([v for v in ids.values() if v is not None])
        if None in ids.values():
            rows, score = rows[:0], score[:0]
        if topic is not None:
            if self.mixes is None:
                return rows[:0]
            share = self.mixes.shares(rows, topic)
            score = score if ids else share * self.mixes.weight[rows]  # as among the examples of a topic
            rows, score = rows[share >= LEAST_SHARE], score[share >= LEAST_SHARE]
        if column:
            if column not in library.columns:
                raise NotFound(f"there is no column {column[:60]!r}")
            kept = np.isin(rows, library.columns[column].rows(value), assume_unique=True)
            rows, score = rows[kept], score[kept]
        return rows[np.lexsort((rows, -score))] if ids or topic is not None else rows

    def row_of(self, topic: int) -> int | None:
        """The row of a topic that the page names by its number, or of the one that it became part of; None if it is
        gone."""
        now: int | None = topic
        while now in self.numbering.became:
            now = self.numbering.became[now]
        return self.numbering.ids.index(now) if now in self.numbering.ids else None

    def table(self, rows: NDArray[np.int64]) -> dict[str, list[object]]:
        """Documents with their main topic (-1 where it is not known yet), its share, and their columns."""
        library = self.library
        if library is None:
            return {}
        shares = None if self.mixes is None else self.mixes.by_doc[rows].toarray()
        made: dict[str, list[object]] = {
            "document": rows.tolist(),
            "name": [library.name(d) for d in rows.tolist()],
            "topic": [-1] * len(rows) if shares is None else shares.argmax(axis=1).tolist(),
            "share": [None] * len(rows) if shares is None else shares.max(axis=1, initial=0.0).tolist(),
        }
        for name, column in library.columns.items():
            made.setdefault(name, [column.value(d) for d in rows.tolist()])
        return made

    def groups(self, name: str, k: int) -> Json:
        """The mean share of a topic in the groups of a column."""
        if self.library is None or name not in self.library.columns:
            raise NotFound(f"there is no column {name[:60]!r}")
        if self.mixes is None:
            return {"pending": True}
        column = self.library.columns[name]
        n, share = self.mixes.by_group(k, column.group_of_doc, len(column.groups))
        rows = [(group[:200], m, s) for group, m, s in zip(column.groups, n, share)]
        if not column.is_time:  # the largest groups, where there are too many to show
            rows = sorted(sorted(rows, key=lambda row: -row[1])[:40], key=lambda row: -(row[2] or 0.0))[:12]
        return {"column": name, "is_time": column.is_time, "groups": rows}

    def charts(self, name: str) -> Json:
        """Mean shares of all topics in the groups of a column, and half the width of their 95% intervals."""
        if self.library is None or name not in self.library.columns:
            raise NotFound(f"there is no column {name[:60]!r}")
        if self.mixes is None:
            return {"pending": True}
        column = self.library.columns[name]
        n, share, error = self.mixes.charts(column.group_of_doc, len(column.groups))
        shown = np.arange(len(n))
        if not column.is_time:
            shown = np.argsort(-n, kind="stable")[:CHART_GROUPS]
        groups = [column.groups[g][:200] for g in shown.tolist()]
        numbers = {name: _rounded(values[:, shown]) for name, values in (("share", share), ("error", error))}
        return {"is_time": column.is_time, "groups": groups, "n": n[shown].tolist(), **numbers}

    def cards(self, rows: list[int]) -> Json:
        """The beginnings of some documents."""
        if self.library is None or not all(0 <= d < self.library.n_docs for d in rows):
            raise NotFound("there are no such documents")
        return {"documents": self.excerpts(np.array(rows[:PAGE], np.int64))}

    @cached_property
    def places_json(self) -> str:
        """Documents on a map: x, y, and the largest topic of each."""
        assert self.mixes is not None
        at = document_places(self.mixes.by_doc, self.positions, map_radii(self.topics.share))
        vectors = None if self.library is None else self.library.corpus.vectors
        is_one_each = not isinstance(vectors, GroupedRows)
        if vectors is not None and is_one_each and isinstance(self.view.fitted, FittedMixture):
            means = self.view.fitted.model.likelihood.mean()
            x, y = row_positions(vectors, sp.csr_array(self.mixes.by_doc, dtype=np.float64), means, self.positions).T
            at = at._replace(x=x, y=y)
        return as_json({"x": pack(at.x, "<f4"), "y": pack(at.y, "<f4"), "topic": pack(at.topic, "<i4")})

    def column(self, name: str) -> Json:
        """The group of each document in a column, by its number, and the names of the groups."""
        if self.library is None or name not in self.library.columns:
            raise NotFound(f"there is no column {name[:60]!r}")
        column = self.library.columns[name]
        names = [group[:200] for group in column.groups]
        return {"is_time": column.is_time, "names": names, "groups": pack(column.group_of_doc, "<i4")}

    def word(self, word: str) -> Json | None:
        """The topics of a word with p(k | w), p(w | k)."""
        id_of = self._marker.id_of
        v = id_of.get(word, id_of.get(word.lower()))
        if v is None:
            return None
        joint = self.topics.share * self.topics.topic_word[:, v]
        best = np.argsort(-joint, kind="stable")[:WORD_TOPICS]
        total = max(float(joint.sum()), 1e-300)
        topics = [[int(k), round(float(joint[k] / total), 4)] for k in best if joint[k] / total >= 0.002]
        return {"word": self.topics.words[v], "topics": topics}

    def suggest(self, prefix: str, n: int = 8) -> list[str]:
        """The most frequent words that begin so."""
        return [word[:200] for word in self._frequent(self._beginning(prefix.lower()), n)]

    def _frequent(self, ids: NDArray[np.intp], n: int) -> list[str]:
        return self.topics.words_of(ids[np.argsort(-self.topics.frequency[ids], kind="stable")[:n]])

    def _beginning(self, prefix: str) -> NDArray[np.intp]:
        if self.library is not None:
            return self.library.words_that_begin(prefix)
        return np.array([v for v, w in enumerate(self.topics.words) if w.lower().startswith(prefix)], np.intp)

    def find(self, query: str) -> list[int]:
        """Topics with this number, name, or words that begin so and are more probable there than in the corpus."""
        query = query.lower()
        ids, topics = self._beginning(query), self.topics
        ids = ids[np.argsort(-topics.frequency[ids], kind="stable")[:50]]
        has = np.zeros(self.n_topics, bool)
        for v in ids.tolist():
            p = topics.topic_word[:, v] if self._root is None else self._root[v] ** 2
            has |= (p > topics.frequency[v]) & (p > 2e-4)
        for k, (label, name) in enumerate(zip(self.labels, self.view.name_of())):
            if str(k) == query or query in (name or "").lower() or any(w.lower().startswith(query) for w in label):
                has[k] = True
        return np.flatnonzero(has).tolist()

    def tree(self) -> Json:
        if self.n_topics > TREE_TOPICS:
            return {"order": list(range(self.n_topics)), "joins": []}
        with self._slow:
            return self._tree

    @cached_property
    def _tree(self) -> Json:
        return tree(self.topics)

    def compare(self, a: int, b: int, n: int = 25) -> Json:
        """Words that tell two topics apart, and words that they share."""
        p, q = self.topics.topic_word[a], self.topics.topic_word[b]
        gap = np.sqrt(p) - np.sqrt(q)  # what the Hellinger distance is made of

        def rows(score: NDArray[np.float64]) -> list[list[object]]:
            best = [v for v in np.argsort(-score, kind="stable")[:n].tolist() if score[v] > 0]
            return [[self.topics.words[v][:200], float(f"{p[v]:.3g}"), float(f"{q[v]:.3g}")] for v in best]

        distance = round(float(np.sqrt(0.5 * (gap**2).sum())), 3)
        both = rows(np.minimum(p, q))
        return {"a": a, "b": b, "distance": distance, "first": rows(gap), "second": rows(-gap), "both": both}


def _rounded(rows: NDArray[np.float64]) -> list[list[float | None]]:
    return [[None if np.isnan(x) else float(f"{x:.4g}") for x in row] for row in rows.tolist()]
