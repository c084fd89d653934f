"""A document on a page: its text, or its words, with the most likely topic of each word."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from topmix.data.tokens import AUTO_PATTERN, DEFAULT_PATTERN, PAIRS_PATTERN, in_time
from topmix.views.model import ModelView

SHOWN_TOPICS = 8  # of a document
LEAST_SHOWN = 0.02  # share of a topic in a document that shows it

Pieces = list[list[object]]  # [text, topic, p(topic | word, document)]; [text, -1] between words and for unknown words


class TopicMarker:
    """Cuts documents into pieces and gives each word that the model knows its most likely topic."""

    def __init__(self, view: ModelView):
        self.topics = view.topics
        self.id_of = {word: v for v, word in enumerate(self.topics.words)}
        self.lower = bool(view.tokenizer.get("lowercase", True))
        pattern = str(view.tokenizer.get("token_pattern") or DEFAULT_PATTERN)  # None beside a tokenizer
        compiled = re.compile(PAIRS_PATTERN if pattern == AUTO_PATTERN else pattern)
        self.group = compiled.groups  # a token is what the only group matches, if there is one
        self.tokens = in_time(lambda text: list(compiled.finditer(text)), pattern)

    def card(
        self,
        ids: NDArray[np.int32],
        counts: NDArray[np.float32],
        text: str | None,
        mix: NDArray[np.float64],
        top: NDArray[np.intp],
        *,
        most: int,
    ) -> dict[str, object]:
        """What a page shows of one document, of which there are words and counts: topics, pieces, whether it is cut.

        `top` are the topics that words may have, best first. At most so many characters are shown, or words where there
        is no text.
        """
        if text is None:
            pieces, cut = self._mark_counts(ids, counts, top, mix, most)
        else:
            pieces, cut = self._mark_text(text, top, mix, most)
        shown = [[int(k), round(float(mix[k]), 3)] for k in top[:SHOWN_TOPICS] if mix[k] >= LEAST_SHOWN]
        return {"topics": shown, "pieces": pieces, "cut": cut}

    def _mark_text(
        self, text: str, top: NDArray[np.intp], mix: NDArray[np.float64], most: int
    ) -> tuple[Pieces, bool]:  # fmt: skip
        known = []
        for token in self.tokens(text[:most]):
            word = token[self.group].lower() if self.lower else token[self.group]
            if (v := self.id_of.get(word)) is not None:
                known.append((*token.span(self.group), v))
        found: Pieces = []
        end = 0
        for (start, stop, _), topic in zip(known, self._topics_of([v for *_, v in known], top, mix)):
            if start < end:  # pairs of characters overlap
                continue
            if start > end:
                found.append([text[end:start], -1])
            found.append([text[start:stop], *topic])
            end = stop
        found.append([text[end:most], -1])
        return found, len(text) > most

    def _mark_counts(
        self,
        ids: NDArray[np.int32],
        counts: NDArray[np.float32],
        top: NDArray[np.intp],
        mix: NDArray[np.float64],
        most: int,
    ) -> tuple[Pieces, bool]:
        """Words, the most frequent first."""
        order = np.argsort(-counts, kind="stable")[:most]
        words, found = ids[order].tolist(), Pieces()
        for v, count, topic in zip(words, counts[order].tolist(), self._topics_of(words, top, mix)):
            found += [[self.topics.words[v], *topic], [f" ×{count:g}  " if count != 1 else "  ", -1]]
        return found, len(ids) > most

    def _topics_of(self, words: list[int], top: NDArray[np.intp], mix: NDArray[np.float64]) -> list[tuple[int, float]]:
        """The most likely topic of each word among those of its document, and its probability."""
        top = top[mix[top] > 0.0]
        if not len(top) or not words:
            return [(-1, 0.0)] * len(words)
        ids, place = np.unique(np.asarray(words), return_inverse=True)
        joint = mix[top][:, None] * self.topics.topic_word[np.ix_(top, ids)]  # [topics, words]
        best, total = np.argmax(joint, axis=0), np.maximum(joint.sum(axis=0), 1e-300)
        share = np.round(joint[best, np.arange(len(ids))] / total, 2)
        return list(zip(top[best][place].tolist(), share[place].tolist()))
