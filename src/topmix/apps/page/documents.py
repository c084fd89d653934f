"""Documents on a page: what their columns hold, their topics, and one of them with the topic of each word."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.apps.page import Json
from topmix.base.checks import CorpusError
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import row_sums
from topmix.corpus.tokens import AUTO_PATTERN, DEFAULT_PATTERN, PAIRS_PATTERN
from topmix.io.columns import is_missing, periods_of
from topmix.results.topics import main_topics
from topmix.selection.views import BLOCK, ModelView

MOST_GROUPS = 60  # bars or points of a chart
LONGEST = 200  # characters of a name that is shown, or of a value that is offered
LEAST = 0.01  # smaller shares of a topic in a document are not kept
Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
PERIODS = ("day", "week", "month", "quarter", "year")


class Column:
    """One value for each document, as numbers of different values. `groups` are what a chart shows: values, or periods
    where all values are dates."""

    def __init__(self, name: str, values: Sequence[object]):
        self.name, texts = name, ["" if is_missing(value) else shown(value) for value in values]
        self.values = sorted(set(texts) - {""})
        place = {value: n for n, value in enumerate(self.values)}
        self.of_doc = np.array([place.get(text, -1) for text in texts], np.int64)  # -1: it has none
        self.freq, self.groups, self.group_of_doc = _periods(values) or ("", self.values, self.of_doc)
        self.is_time = self.freq != ""

    def about(self) -> Json:
        offered = [value[:LONGEST] for value in self.values] if len(self.values) <= MOST_GROUPS else []
        return {"name": self.name, "is_time": self.is_time, "values": offered, "n_values": len(self.values)}

    def largest(self, n: Ids, most: int) -> list[int]:
        """The groups that a chart shows, where n documents are in each: all periods, or the largest groups."""
        groups = np.arange(len(n)) if self.is_time else np.argsort(-n, kind="stable")[: min(most, (n > 0).sum())]
        return groups.tolist()

    def rows(self, value: str) -> Ids:
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
    columns = {shown(name)[:LONGEST]: list(table[name]) for name in names}
    if len(columns) < len(names):
        raise ValueError(f"two columns have the same name, as far as a page shows it: {LONGEST} characters")
    for name, values in columns.items():
        if len(values) != n_docs:
            raise ValueError(f"column {name!r} has {len(values)} values for {n_docs} documents: pass one each")
    return {name: Column(name, values) for name, values in columns.items()}


def shown(value: object) -> str:
    """As a page has it, and asks for it: a half of a surrogate pair is "?" in every answer."""
    return str(value).encode(errors="replace").decode()


def _periods(values: Sequence[object]) -> tuple[str, list[str], Ids] | None:
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


class Mixes:
    """Topics of all documents, sparse both ways: the topics of a document, and the documents of a topic."""

    def __init__(self, by_doc: sp.csr_array, weight: Floats):
        self.by_doc, self.by_topic = by_doc, sp.csc_array(by_doc)  # [documents, K] shares of the topics that they use
        self.weight = weight  # [documents] how good an example each is; 0 of one without a known word
        self._of_groups: dict[str, tuple[Ids, Floats, Floats]] = {}  # by the name of a column

    @classmethod
    def of(cls, view: ModelView, corpus: Corpus, is_wanted: Callable[[], bool] = lambda: True) -> Mixes | None:
        """Visits all documents; None once they are not wanted any more."""
        parts, weights = [], []
        for begin in range(0, corpus.n_docs, BLOCK):
            if not is_wanted():
                return None
            shares, _, weight, _ = view.visited(corpus[begin : begin + BLOCK])
            shares.data[shares.data < LEAST] = 0.0
            shares.eliminate_zeros()
            total = row_sums(shares.indptr, shares.data)
            shares.data /= np.repeat(total, np.diff(shares.indptr))  # they still sum to one
            parts.append(shares.astype(np.float32))
            weights.append(weight)
        return cls(sp.csr_array(sp.vstack(parts, format="csr")), np.concatenate(weights))

    def best(self, k: int, n: int, least: float = 0.05) -> Ids:
        """The documents with the most of a topic."""
        rows, share = _entries(self.by_topic, k)
        score = share * self.weight[rows]
        rows, score = rows[score >= least], score[score >= least]
        return rows[np.lexsort((rows, -score))[:n]]

    def shares(self, rows: Ids, k: int) -> Floats:
        """The share of one topic in these documents."""
        of_topic, share = _entries(self.by_topic, k)
        of_doc = np.zeros(len(self.weight))
        of_doc[of_topic] = share
        return of_doc[rows]

    def similar(self, d: int, n: int) -> list[tuple[int, float]]:
        """The documents with the most similar topics: Bhattacharyya coefficient sum_k sqrt(theta_dk theta_ek)."""
        score = np.zeros(self.by_doc.shape[0])
        for k, share in zip(*(part.tolist() for part in _entries(self.by_doc, d))):
            rows, other = _entries(self.by_topic, k)
            score[rows] += np.sqrt(share * other)
        score[d] = 0.0
        best = np.argsort(-score, kind="stable")[:n]
        return [(int(e), float(min(score[e], 1.0))) for e in best if score[e] > 0]

    def of_groups(self, column: Column) -> tuple[Ids, Floats, Floats]:
        """Documents of each group of a column, [G]; mean shares [K, G] of topics in them, and 1.96 standard errors of
        the means, NaN where a group has fewer than two documents."""
        if column.name not in self._of_groups:
            n_groups, of_doc = len(column.groups), column.group_of_doc
            rows = np.flatnonzero((of_doc >= 0) & (self.weight > 0))
            n = np.bincount(of_doc[rows], minlength=n_groups)
            member = sp.csr_array((np.ones(len(rows)), (of_doc[rows], rows)), (n_groups, len(of_doc)))
            shares = self.by_doc.astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = (member @ shares).toarray() / n[:, None]
                variance = ((member @ shares.power(2)).toarray() / n[:, None] - mean**2) * (n / (n - 1))[:, None]
                error = 1.96 * np.sqrt(np.maximum(variance, 0.0) / n[:, None])
            error[n < 2] = np.nan
            self._of_groups[column.name] = n, mean.T, error.T
        return self._of_groups[column.name]

    def positions(self, places: Floats, radii: Floats) -> tuple[Floats, Ids]:
        """Documents on the map [documents, 2], and the largest topic of each, -1 where it has none. A document lies
        between the places of its topics, by the squares of their shares, inside the circle of its largest topic: those
        with the most of it in the middle. Nothing is random."""
        weight = self.by_doc.astype(np.float64).power(2)
        total = np.asarray(weight.sum(axis=1)).ravel()
        at = np.asarray(weight @ places) / np.maximum(total, 1e-300)[:, None]
        topic, share = main_topics(self.by_doc)
        by_topic = np.lexsort((-np.nan_to_num(share), topic))
        n = np.bincount(topic + 1, minlength=len(places) + 1)
        rank = np.empty(len(at))
        rank[by_topic] = np.arange(len(at)) - np.repeat(np.cumsum(n) - n, n)
        turn = np.pi * (3 - np.sqrt(5)) * rank  # a sunflower
        away = 0.9 * radii[np.maximum(topic, 0)] * np.sqrt((rank + 0.5) / np.maximum(n[topic + 1], 1))
        return at + away[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1), topic


def _entries(matrix: sp.csr_array | sp.csc_array, j: int) -> tuple[Ids, Floats]:
    """What one row of a CSR matrix, or one column of a CSC matrix, holds: positions and values."""
    at = slice(matrix.indptr[j], matrix.indptr[j + 1])
    return matrix.indices[at].astype(np.int64), matrix.data[at].astype(np.float64)


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
        self.tokens, self.group = compiled.finditer, compiled.groups  # a token is what the only group matches, if any

    def card(self, document: Corpus, text: str | None, mix: Floats, top: NDArray[np.intp], most: int) -> Json:
        """What a page shows of one document: topics, pieces, whether it is cut. `top` are the topics that words may
        have, best first. At most so many characters are shown, or words where there is no text."""
        if text is None:  # words, the most frequent first
            order = np.argsort(-document.value, kind="stable")[:most]
            words, pieces, cut = document.index[order].tolist(), Pieces(), document.nnz > most
            for v, count, topic in zip(words, document.value[order].tolist(), self._topics_of(words, top, mix)):
                pieces += [[self.topics.words[v], *topic], [f" ×{count:g}  " if count != 1 else "  ", -1]]
        else:
            text, cut = text[:most], len(text) > most
            spans, words = [], []
            for token in self.tokens(text):
                word = token[self.group].lower() if self.lower else token[self.group]
                if (v := self.id_of.get(word)) is not None:
                    spans.append(token.span(self.group))
                    words.append(v)
            pieces, end = Pieces(), 0
            for (start, stop), topic in zip(spans, self._topics_of(words, top, mix)):
                if start < end:  # pairs of characters overlap
                    continue
                if start > end:
                    pieces.append([text[end:start], -1])
                pieces.append([text[start:stop], *topic])
                end = stop
            pieces.append([text[end:], -1])
        shown = [[int(k), round(float(mix[k]), 3)] for k in top[:SHOWN_TOPICS] if mix[k] >= LEAST_SHOWN]
        return {"topics": shown, "pieces": pieces, "cut": cut}

    def _topics_of(self, words: list[int], top: NDArray[np.intp], mix: Floats) -> list[tuple[int, float]]:
        """The most likely topic of each word among those of its document, and its probability."""
        top = top[mix[top] > 0.0]
        if not len(top) or not words:
            return [(-1, 0.0)] * len(words)
        ids, place = np.unique(np.asarray(words), return_inverse=True)
        joint = mix[top][:, None] * self.topics.topic_word[np.ix_(top, ids)]  # [topics, words]
        best, total = np.argmax(joint, axis=0), np.maximum(joint.sum(axis=0), 1e-300)
        share = np.round(joint[best, np.arange(len(ids))] / total, 2)
        return list(zip(top[best][place].tolist(), share[place].tolist()))
