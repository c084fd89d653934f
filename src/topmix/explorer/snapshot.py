"""One state of the model, as the page sees it. It never changes: an edit or a pass makes another.

What is slow is made when it is first asked for, and kept: the topics of all documents, the tree, the order of words.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.explorer.library import Library
from topmix.explorer.mixes import Mixes, mixes_of
from topmix.explorer.positions import map_positions
from topmix.fitted.names import relevant_words
from topmix.report.contents import RELEVANCES, WORDS_PER_LABEL, about_model, settings_of
from topmix.report.documents import TopicMarker
from topmix.views.topics import proportions, tree_of, view_of
from topmix.web import NotFound, as_json

WORDS_SHOWN = 40  # per topic and relevance
NEAR, NEAR_WORDS = 6, 256
MOST_ROOTS = 100_000_000  # probabilities whose square roots are kept once more, word by word
TREE_TOPICS = 1500  # a larger tree can neither be made between two clicks nor be read
WORD_TOPICS = 12
TRANSPOSED = 64  # words at a time
HELD_SHOWN = 12  # words that are banned from a topic, or pinned to it
SHOWN_TOPICS, MARKED_TOPICS = 8, 40  # of a document: in its bar, and those that its words may have
LONGEST_TEXT = 200_000  # characters of a document that is read as a whole
EXCERPT = 1200


class Snapshot:
    def __init__(
        self, model: Any, library: Library | None, before: Snapshot | None = None, *, is_passing: bool = False
    ):
        self.model, self.library = model, library
        self.is_passing = is_passing  # a fit goes on: its documents are not visited for this snapshot
        self.view = view_of(model)
        self.labels = [[word[:200] for word in words] for words in relevant_words(self.view, WORDS_PER_LABEL)]
        self.positions: NDArray[np.float64] = map_positions(
            self.view.topic_word, None if before is None else before.positions
        )
        self._marker = TopicMarker(model, self.view)
        self._root: NDArray[np.float32] | None = None  # [V, K] square roots of probabilities: one word lies together
        self._mixes: Mixes | None = None
        self._tree: dict[str, Any] | None = None
        self._slow = threading.Lock()  # of what is made once

    @property
    def n_topics(self) -> int:
        return self.view.n_topics

    def checked(self, k: Any) -> int:
        try:
            number = int(k)
        except (TypeError, ValueError):
            number = -1
        if not 0 <= number < self.n_topics:
            raise NotFound(f"there is no topic {str(k)[:40]}: they are numbered from 0 to {self.n_topics - 1}")
        return number

    def overview(self) -> dict[str, Any]:
        """What the page knows of all topics: names, words, sizes and positions."""
        view, names = self.view, getattr(self.model, "names_", {})
        return {
            "about": about_model(self.model, view, None if self.library is None else self.library.corpus),
            "history": [[r.n_pass, round(r.seconds, 4), r.objective, r.phase] for r in _history(self.model)],
            "settings": settings_of(self.model),
            "labels": self.labels,
            "names": [names.get(k) for k in range(view.n_topics)],
            "frozen": list(getattr(self.model, "frozen_", [])),
            "share": [float(f"{s:.5g}") for s in view.share],
            "x": [round(float(x), 4) for x in self.positions[:, 0]],
            "y": [round(float(y), 4) for y in self.positions[:, 1]],
        }

    @cached_property
    def overview_json(self) -> str:
        return as_json(self.overview())

    def prepare(self) -> None:
        """Makes now, in the thread that made the snapshot, what every page will ask for."""
        _ = self.overview_json
        if self.view.topic_word.size <= MOST_ROOTS:
            roots = np.empty(self.view.topic_word.shape[::-1], np.float32)
            for at in range(0, len(roots), TRANSPOSED):  # a few words at a time, which stay in the cache
                part = self.view.topic_word[:, at : at + TRANSPOSED].T
                np.sqrt(part, out=roots[at : at + TRANSPOSED], casting="same_kind")
            self._root = roots

    def topic(self, k: int) -> dict[str, Any]:
        row, base = self.view.topic_word[k], self.view.frequency
        n = min(WORDS_SHOWN, len(row))
        likely = np.argpartition(-row, min(20 * n, len(row) - 1))[: 20 * n]
        logs, bases = np.log(np.maximum(row[likely], 1e-30)), np.log(np.maximum(base[likely], 1e-30))
        best = np.unique(np.concatenate([np.argsort(-(logs - (1 - r) * bases), kind="stable")[:n] for r in RELEVANCES]))
        best = best[np.argsort(-logs[best], kind="stable")]
        words = [
            [self.view.words[v][:1000], round(float(p), 4), round(float(f), 4)]
            for v, p, f in zip(likely[best].tolist(), logs[best], bases[best])
        ]
        return {"topic": k, "words": words, "near": self.near(k), "held": self._held(k), **self._documents_of(k)}

    def _held(self, k: int) -> dict[str, Any]:
        """Words that are banned from a topic or pinned to it: the most frequent, and how many there are. A pinned word
        is banned from all other topics, which say nothing of it."""
        banned: Any = getattr(self.model, "banned_", None)  # [K, V]
        if banned is None:
            return {kind: {"words": [], "n": 0} for kind in ("pinned", "banned")}
        n_banned = np.asarray(banned.sum(axis=0)).ravel()
        here, alone = banned[[k]].toarray()[0], (n_banned == self.n_topics - 1) & (self.n_topics > 2)
        found = {}
        for kind, of in (("pinned", alone & ~here), ("banned", here & ~alone)):
            ids = np.flatnonzero(of)
            best = ids[np.argsort(-self.view.frequency[ids], kind="stable")[:HELD_SHOWN]]
            found[kind] = {"words": [self.view.words[v][:60] for v in best.tolist()], "n": len(ids)}
        return found

    def near(self, k: int) -> list[list[float]]:
        """The nearest topics by Hellinger distance."""
        phi, root = self.view.topic_word, self._root
        n = min(NEAR_WORDS, phi.shape[1] - 1)
        top = np.argpartition(-phi[k], n)[: n + 1]  # of topic k: the other words together add little
        roots = np.sqrt(phi[:, top]).T if root is None else root[top]  # [words, K]
        likeness = np.asarray(roots[:, k] @ roots, np.float64)
        likeness[k] = -1.0
        best = np.argsort(-likeness, kind="stable")[: min(NEAR, self.n_topics - 1)]
        return [[int(j), round(float(np.sqrt(max(1.0 - likeness[j], 0.0))), 3)] for j in best]

    def _documents_of(self, k: int, n: int = 12) -> dict[str, Any]:
        if self.library is None:
            return {"documents": [], "hint": "To read documents here, start the explorer with them: --corpus DOCS."}
        if self._mixes is None:
            when = "known when the fit is over." if self.is_passing else "being computed ..."
            return {"documents": [], "hint": f"The topics of the documents are {when}"}
        return {"documents": self.excerpts(self._mixes.best(k, n)), "hint": None}

    def mixes(self) -> Mixes | None:
        """Topics of all documents; None where they are not there yet."""
        return self._mixes

    def compute_mixes(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Slow: visits all documents, as long as somebody wants it."""
        with self._slow:
            if self.library is not None and self._mixes is None:
                found = mixes_of(self.model, self.library.corpus, is_wanted)
                self._mixes = None if found is None else Mixes(found, self.library.lengths)

    def excerpts(self, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
        """The beginnings of documents, with their topics."""
        if self.library is None or not len(rows):
            return []
        if self._mixes is None:
            mixes = proportions(self.model, self.library.corpus[rows])
        else:
            mixes = np.asarray(self._mixes.by_doc[rows].toarray(), np.float64)
        return [self._marked(d, mix, EXCERPT, 60) for d, mix in zip(rows.tolist(), mixes)]

    def _marked(self, d: int, mix: NDArray[np.float64], characters: int, words: int) -> dict[str, Any]:
        library = self.library
        assert library is not None
        top = np.argsort(-mix, kind="stable")[: MARKED_TOPICS if library.lengths[d] else 0]
        text = library.text(d)
        if text is not None:
            pieces, cut = self._marker.mark_text(text, top, mix, characters)
        else:
            pieces, cut = self._marker.mark_counts(library.corpus[d], top, mix, words)
        return {
            "row": d,
            "name": library.name(d)[:1000],
            "topics": [[int(k), round(float(mix[k]), 3)] for k in top[:SHOWN_TOPICS] if mix[k] >= 0.02],
            "pieces": pieces,
            "cut": cut,
        }

    def document(self, d: int) -> dict[str, Any]:
        """A whole document, what is written beside it, and the documents most similar to it."""
        library = self.library
        if library is None or not 0 <= d < library.n_docs:
            raise NotFound(f"there is no document {d}")
        exact = proportions(self.model, library.corpus[d : d + 1])[0]
        found = self._marked(d, exact, LONGEST_TEXT, 5000)
        similar = [] if self._mixes is None else self._mixes.similar(d, 8)
        return {
            **found,
            "tokens": float(library.lengths[d]),
            "columns": [[c.name, c.value(d)[:1000]] for c in library.columns.values()],
            "similar": [[e, library.name(e)[:200], round(score, 3)] for e, score in similar],
        }

    def word(self, word: str) -> dict[str, Any] | None:
        """The topics of a word with p(k | w), p(w | k)."""
        v = self._id(word)
        if v is None:
            return None
        p = self.view.topic_word[:, v]
        joint = self.view.share * p
        best = np.argsort(-joint, kind="stable")[:WORD_TOPICS]
        total = max(float(joint.sum()), 1e-300)
        topics = [[int(k), round(float(joint[k] / total), 4)] for k in best if joint[k] / total >= 0.002]
        return {"word": self.view.words[v], "topics": topics}

    def _id(self, word: str) -> int | None:
        found = self._marker.id_of.get(word)
        return self._marker.id_of.get(word.lower()) if found is None else found

    def suggest(self, prefix: str, n: int = 8) -> list[str]:
        """The most frequent words that begin so."""
        ids = self._beginning(prefix.lower())
        best = ids[np.argsort(-self.view.frequency[ids], kind="stable")[:n]]
        return [self.view.words[v][:200] for v in best.tolist()]

    def _beginning(self, prefix: str) -> NDArray[np.intp]:
        if self.library is not None:
            return self.library.words_that_begin(prefix)
        return np.array([v for v, w in enumerate(self.view.words) if w.lower().startswith(prefix)], np.intp)

    def find(self, query: str) -> list[int]:
        """Topics with this number, name, or words that begin so and are more probable there than in the corpus."""
        query = query.lower()
        ids, view = self._beginning(query), self.view
        ids = ids[np.argsort(-view.frequency[ids], kind="stable")[:50]]
        has = np.zeros(self.n_topics, bool)
        for v in ids.tolist():
            p = view.topic_word[:, v] if self._root is None else self._root[v] ** 2
            has |= (p > view.frequency[v]) & (p > 2e-4)
        names = getattr(self.model, "names_", {})
        for k, label in enumerate(self.labels):
            if str(k) == query or query in names.get(k, "").lower() or any(w.lower().startswith(query) for w in label):
                has[k] = True
        return np.flatnonzero(has).tolist()

    def tree(self) -> dict[str, Any]:
        if self.n_topics > TREE_TOPICS:
            return {"order": list(range(self.n_topics)), "joins": []}
        with self._slow:
            if self._tree is None:
                tree = tree_of(self.view)
                joins = [
                    {"node": b.node, "left": b.left, "right": b.right, "distance": round(b.distance, 4),
                     "share": float(f"{b.share:.5g}"), "words": [w[:60] for w in b.words]}
                    for b in tree.branches
                ]  # fmt: skip
                self._tree = {"order": tree.branches[-1].topics if tree.branches else [], "joins": joins}
            return self._tree

    def compare(self, a: int, b: int, n: int = 25) -> dict[str, Any]:
        """Words that tell two topics apart, and words that they share."""
        p, q = self.view.topic_word[a], self.view.topic_word[b]
        gap = np.sqrt(p) - np.sqrt(q)  # what the Hellinger distance is made of
        both = np.minimum(p, q)

        def rows(score: NDArray[np.float64]) -> list[list[Any]]:
            best = np.argsort(-score, kind="stable")[: min(n, len(score))]
            return [
                [self.view.words[v][:200], float(f"{p[v]:.3g}"), float(f"{q[v]:.3g}")] for v in best if score[v] > 0
            ]

        distance = float(np.sqrt(max(0.5 * float((gap**2).sum()), 0.0)))
        return {
            "a": a,
            "b": b,
            "distance": round(distance, 3),
            "first": rows(gap),
            "second": rows(-gap),
            "both": rows(both),
        }


def _history(model: Any) -> list[Any]:
    return list(getattr(model, "history_", []))
