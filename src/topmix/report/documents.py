"""Example documents: for each topic those with the most of it, with the most likely topic of each word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.data.scripts import PAIRS_PATTERN
from topmix.data.tokens import AUTO_PATTERN, DEFAULT_PATTERN, in_time
from topmix.views.summary import EXAMPLE_SMOOTHING
from topmix.views.topics import TopicView, proportions

BLOCK = 4096
SHOWN = 2500  # documents on a page, approximately
CHARACTERS = 1500  # shown per text
SHOWN_TOPICS = 6  # shown per document
SHOWN_WORDS = 80  # shown per document without text

Pieces = list[list[Any]]  # [text, topic, p(topic | word, document)]; [text, -1] between words and for unknown words


def chosen_documents(
    model: Any, view: TopicView, corpus: Corpus | None, texts: Iterable[str] | None
) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """(documents, of_topic): of_topic[k] holds positions in the list of documents, best example of topic k first."""
    if corpus is None or corpus.n_docs == 0:
        return [], [[] for _ in range(view.n_topics)]
    best = _best_rows(model, view, corpus, min(max(SHOWN // view.n_topics, 3), 12))
    rows = np.unique(best[best >= 0])
    theta = proportions(model, corpus[rows])
    kept = _texts_of(texts, rows)
    marker = TopicMarker(model, view)
    documents = []
    for row, mix in zip(rows.tolist(), theta):
        top = np.argsort(-mix, kind="stable")[:SHOWN_TOPICS]
        top = top[mix[top] >= 0.02]
        if row in kept:
            pieces, cut = marker.mark_text(kept[row], top, mix)
        else:
            pieces, cut = marker.mark_counts(corpus[row], top, mix)
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


def _best_rows(model: Any, view: TopicView, corpus: Corpus, n: int) -> NDArray[np.int64]:
    """[K, n] rows with the most of each topic; -1 fills up. Scores are smoothed: see EXAMPLE_SMOOTHING."""
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


class TopicMarker:
    """Cuts a document into pieces and gives each word that the model knows its most likely topic."""

    def __init__(self, model: Any, view: TopicView):
        settings = getattr(model, "tokenizer_", None) or {}
        self.view = view
        self.id_of = {word: v for v, word in enumerate(view.words)}
        self.lower = bool(settings.get("lowercase", True))
        pattern = str(settings.get("token_pattern", DEFAULT_PATTERN))
        compiled = re.compile(PAIRS_PATTERN if pattern == AUTO_PATTERN else pattern)
        self.group = compiled.groups  # a token is what the only group matches, if there is one
        self.tokens = in_time(lambda text: list(compiled.finditer(text)), pattern)

    def mark_text(
        self, text: str, top: NDArray[np.intp], mix: NDArray[np.float64], most: int = CHARACTERS
    ) -> tuple[Pieces, bool]:
        """(pieces of the text, whether the text was cut)."""
        known = []
        for token in self.tokens(text[:most]):
            word = token[self.group].lower() if self.lower else token[self.group]
            if (v := self.id_of.get(word)) is not None:
                known.append((*token.span(self.group), v))
        found: Pieces = []
        end = 0
        for (start, stop, _), topic in zip(known, self._topics([v for *_, v in known], top, mix)):
            if start < end:  # pairs of characters overlap
                continue
            if start > end:
                found.append([text[end:start], -1])
            found.append([text[start:stop], *topic])
            end = stop
        found.append([text[end:most], -1])
        return found, len(text) > most

    def mark_counts(
        self, document: Corpus, top: NDArray[np.intp], mix: NDArray[np.float64], most: int = SHOWN_WORDS
    ) -> tuple[Pieces, bool]:
        """Pieces of a document without text: its words, the most frequent first."""
        order = np.argsort(-document.value, kind="stable")[:most]
        ids = document.index[order].tolist()
        found: Pieces = []
        for v, count, topic in zip(ids, document.value[order].tolist(), self._topics(ids, top, mix)):
            found += [[self.view.words[v], *topic], [f" ×{count:g}  " if count != 1 else "  ", -1]]
        return found, document.nnz > most

    def _topics(self, words: list[int], top: NDArray[np.intp], mix: NDArray[np.float64]) -> list[tuple[int, float]]:
        """The most likely topic of each word among those of its document, and its probability."""
        top = top[mix[top] > 0.0]
        if not len(top) or not words:
            return [(-1, 0.0)] * len(words)
        ids, place = np.unique(np.asarray(words), return_inverse=True)
        joint = mix[top][:, None] * self.view.topic_word[np.ix_(top, ids)]  # [topics, words]
        best, total = np.argmax(joint, axis=0), np.maximum(joint.sum(axis=0), 1e-300)
        share = np.round(joint[best, np.arange(len(ids))] / total, 2)
        return list(zip(top[best][place].tolist(), share[place].tolist()))
