"""Documents on a page. Columns beside them have one value each: their groups, or their periods where all are dates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from topmix.base.checks import CorpusError
from topmix.corpus.corpus import Corpus
from topmix.corpus.tokens import AUTO_PATTERN, DEFAULT_PATTERN, PAIRS_PATTERN
from topmix.io.columns import is_missing, periods_of
from topmix.selection.views import ModelView

MOST_GROUPS = 60  # bars or points of a chart
LONGEST = 200  # characters of a name that is shown, or of a value that is offered
PERIODS = ("day", "week", "month", "quarter", "year")


class Column:
    """Values of documents, as numbers of different values. `groups` are what a chart shows: values, or periods."""

    def __init__(self, name: str, values: Sequence[object]):
        self.name, texts = name, ["" if is_missing(value) else shown(value) for value in values]
        self.values = sorted(set(texts) - {""})
        place = {value: n for n, value in enumerate(self.values)}
        self.of_doc = np.array([place.get(text, -1) for text in texts], np.int64)  # -1: it has none
        self.freq, self.groups, self.group_of_doc = _periods(values) or ("", self.values, self.of_doc)
        self.is_time = self.freq != ""

    def value(self, d: int) -> str:
        return "" if self.of_doc[d] < 0 else self.values[self.of_doc[d]]

    def about(self) -> dict[str, object]:
        offered = [value[:LONGEST] for value in self.values] if len(self.values) <= MOST_GROUPS else []
        return {"name": self.name, "is_time": self.is_time, "values": offered, "n_values": len(self.values)}

    def rows(self, value: str) -> NDArray[np.int64]:
        """Documents with this value, or whose value begins so: "2019" finds the days of that year. The first day of a
        week or quarter finds all of it, where a chart has those."""
        if self.freq in ("week", "quarter") and value in self.groups:
            return np.flatnonzero(self.group_of_doc == self.groups.index(value))
        wanted = [n for n, other in enumerate(self.values) if other == value]
        if not wanted and value:
            wanted = [n for n, other in enumerate(self.values) if other.lower().startswith(value.lower())]
        return np.flatnonzero(np.isin(self.of_doc, wanted))


def columns_of(table: Mapping[str, Sequence[object]] | None, n_docs: int) -> dict[str, Column]:
    """Columns of a DataFrame, or of a mapping from names to values."""
    if table is None:
        return {}
    names = list(getattr(table, "columns", table))  # of polars, columns iterate
    found = {shown(name)[:LONGEST]: list(table[name]) for name in names}
    if len(found) < len(names):
        raise ValueError(f"two columns have the same name, as far as a page shows it: {LONGEST} characters")
    for name, values in found.items():
        if len(values) != n_docs:
            raise ValueError(f"column {name!r} has {len(values)} values for {n_docs} documents: pass one each")
    return {name: Column(name, values) for name, values in found.items()}


def shown(value: object) -> str:
    """As a page has it, and asks for it: a half of a surrogate pair is "?" in every answer."""
    return str(value).encode(errors="replace").decode()


def _periods(values: Sequence[object]) -> tuple[str, list[str], NDArray[np.int64]] | None:
    """The finest periods of which there are not too many; None where some value is no date."""
    try:
        for freq in PERIODS:
            days = periods_of(values, freq)
            known = ~np.isnat(days)
            if not known.any():
                return None
            periods, number = np.unique(days[known], return_inverse=True)
            if len(periods) <= MOST_GROUPS or freq == "year":
                of_doc = np.full(len(values), -1, np.int64)
                of_doc[known] = number
                return freq, [str(day) for day in periods], of_doc
    except (CorpusError, ValueError, TypeError, OverflowError):
        return None
    return None


# A document on a page: its text, or its words, with the most likely topic of each word.

SHOWN_TOPICS = 8  # of a document
LEAST_SHOWN = 0.02  # share of a topic in a document that shows it

Pieces = list[list[object]]  # [text, topic, p(topic | word, document)]; [text, -1] between words and for unknown words


class TopicMarker:
    """Cuts documents into pieces and gives each word that the model knows its most likely topic."""

    def __init__(self, view: ModelView, id_of: Mapping[str, int] | None = None):
        self.topics = view.topics
        self.id_of = {word: v for v, word in enumerate(self.topics.words)} if id_of is None else id_of
        self.lower = bool(view.tokenizer.get("lowercase", True))
        pattern = str(view.tokenizer.get("token_pattern") or DEFAULT_PATTERN)  # None beside a tokenizer
        compiled = re.compile(PAIRS_PATTERN if pattern == AUTO_PATTERN else pattern)
        self.group = compiled.groups  # a token is what the only group matches, if there is one
        self.tokens = compiled.finditer

    def card(
        self, document: Corpus, text: str | None, mix: NDArray[np.float64], top: NDArray[np.intp], most: int
    ) -> dict[str, object]:
        """What a page shows of one document: topics, pieces, whether it is cut. `top` are the topics that words may
        have, best first. At most so many characters are shown, or words where there is no text."""
        if text is None:  # words, the most frequent first
            order = np.argsort(-document.value, kind="stable")[:most]
            words, pieces, cut = document.index[order].tolist(), Pieces(), document.nnz > most
            for v, count, topic in zip(words, document.value[order].tolist(), self._topics_of(words, top, mix)):
                pieces += [[self.topics.words[v], *topic], [f" ×{count:g}  " if count != 1 else "  ", -1]]
        else:
            pieces, cut = self._mark(text[:most], top, mix), len(text) > most
        shown = [[int(k), round(float(mix[k]), 3)] for k in top[:SHOWN_TOPICS] if mix[k] >= LEAST_SHOWN]
        return {"topics": shown, "pieces": pieces, "cut": cut}

    def _mark(self, text: str, top: NDArray[np.intp], mix: NDArray[np.float64]) -> Pieces:
        known = []
        for token in self.tokens(text):
            word = token[self.group].lower() if self.lower else token[self.group]
            if (v := self.id_of.get(word)) is not None:
                known.append((*token.span(self.group), v))
        pieces, end = Pieces(), 0
        for (start, stop, _), topic in zip(known, self._topics_of([v for *_, v in known], top, mix)):
            if start < end:  # pairs of characters overlap
                continue
            if start > end:
                pieces.append([text[end:start], -1])
            pieces.append([text[start:stop], *topic])
            end = stop
        return [*pieces, [text[end:], -1]]

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
