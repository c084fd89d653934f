"""The documents that are most about each topic, with their words in the colours of topics."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.data.tokens import DEFAULT_PATTERN
from topmix.views.summary import EXAMPLE_SMOOTHING
from topmix.views.topics import TopicView, proportions

BLOCK = 4096
SHOWN = 2500  # documents on a page, about
CHARACTERS = 1500  # of a text
SHOWN_TOPICS = 6  # of a document

Pieces = list[list[Any]]  # [text, topic or -1]


def chosen_documents(
    model: Any, view: TopicView, corpus: Corpus | None, texts: Iterable[str] | None
) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """(documents, for each topic the places of its own in that list, best first)."""
    if corpus is None or corpus.n_docs == 0:
        return [], [[] for _ in range(view.n_topics)]
    best = _most_about(model, view, corpus, min(max(SHOWN // view.n_topics, 3), 12))
    rows = np.unique(best[best >= 0])
    theta = proportions(model, corpus[rows])
    kept = _texts_of(texts, rows)
    cutter = _Cutter(model, view)
    documents = []
    for row, mix in zip(rows.tolist(), theta):
        top = np.argsort(-mix, kind="stable")[:SHOWN_TOPICS]
        top = top[mix[top] >= 0.02]
        if row in kept:
            pieces, cut = cutter.pieces(kept[row], top, mix)
        else:
            pieces, cut = cutter.counts(corpus[row], top, mix)
        documents.append(
            {
                "name": str(row) if corpus.names is None else corpus.names[row],
                "topics": [[int(k), round(float(mix[k]), 3)] for k in top],
                "pieces": pieces,
                "cut": cut,
            }
        )
    position = {row: n for n, row in enumerate(rows.tolist())}
    return documents, [[position[row] for row in best[k].tolist() if row >= 0] for k in range(view.n_topics)]


def _most_about(model: Any, view: TopicView, corpus: Corpus, n: int) -> NDArray[np.int64]:
    """[K, n] rows, -1 where there are fewer. Long documents come before notes: see EXAMPLE_SMOOTHING."""
    K = view.n_topics
    rows, scores = np.full((K, n), -1, np.int64), np.zeros((K, n))
    for begin in range(0, corpus.n_docs, BLOCK):
        block = corpus[begin : begin + BLOCK]
        lengths = np.asarray(block.to_scipy().sum(axis=1)).ravel()
        score = proportions(model, block) * (lengths / (lengths + EXAMPLE_SMOOTHING))[:, None]  # [docs, K]
        score[score < 0.05] = 0.0
        both = np.concatenate([scores, score.T], axis=1)
        ids = np.concatenate([rows, np.broadcast_to(begin + np.arange(block.n_docs), (K, block.n_docs))], axis=1)
        top = np.argsort(-both, axis=1, kind="stable")[:, :n]
        scores, rows = np.take_along_axis(both, top, axis=1), np.take_along_axis(ids, top, axis=1)
    rows[scores <= 0] = -1
    return rows


def _texts_of(texts: Iterable[str] | None, rows: NDArray[np.int64]) -> dict[int, str]:
    if texts is None:
        return {}
    wanted = set(rows.tolist())
    return {row: text for row, text in enumerate(texts) if row in wanted}


class _Cutter:
    """Cuts a text where its words are known, and says which topic each of them most likely came from."""

    def __init__(self, model: Any, view: TopicView):
        settings = getattr(model, "tokenizer_", None) or {}
        self.view = view
        self.id_of = {word: v for v, word in enumerate(view.words)}
        self.lower = bool(settings.get("lowercase", True))
        self.pattern = re.compile(str(settings.get("token_pattern", DEFAULT_PATTERN)))

    def pieces(self, text: str, top: NDArray[np.intp], mix: NDArray[np.float64]) -> tuple[Pieces, bool]:
        found: Pieces = []
        end = 0
        for token in self.pattern.finditer(text[:CHARACTERS]):
            word = token[0].lower() if self.lower else token[0]
            if (v := self.id_of.get(word)) is None:
                continue
            if token.start() > end:
                found.append([text[end : token.start()], -1])
            found.append([token[0], self._topic(v, top, mix)])
            end = token.end()
        found.append([text[end:CHARACTERS], -1])
        return found, len(text) > CHARACTERS

    def counts(self, document: Corpus, top: NDArray[np.intp], mix: NDArray[np.float64]) -> tuple[Pieces, bool]:
        """Without the text: words by their counts."""
        order = np.argsort(-document.value, kind="stable")[:80].tolist()
        found: Pieces = []
        for i in order:
            v, count = int(document.index[i]), float(document.value[i])
            found += [[self.view.words[v], self._topic(v, top, mix)], [f" ×{count:g}  " if count != 1 else "  ", -1]]
        return found, document.nnz > 80

    def _topic(self, v: int, top: NDArray[np.intp], mix: NDArray[np.float64]) -> int:
        if not len(top):
            return -1
        return int(top[np.argmax(mix[top] * self.view.topic_word[top, v])])
