"""The documents, in arrays that answer questions without looking at every document: words by document, documents by
word, texts, and columns beside them. They know nothing of topics, so they stay while the model changes. `Mixes` are
the topics of all documents under one model."""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from mmap import ACCESS_READ, mmap

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.apps.page.documents import Column, columns_of
from topmix.apps.web import NotFound
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import row_sums
from topmix.results.topics import main_topics
from topmix.selection.edits import EditScorer
from topmix.selection.views import BLOCK, ModelView

LEAST = 0.01  # smaller shares of a topic in a document are not kept
Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


class TextStore:
    """Texts by number in a temporary file, to be read one at a time: a million of them need no memory."""

    def __init__(self, texts: Iterable[str]):
        with tempfile.TemporaryFile() as file:
            ends = accumulate((file.write(text.encode("utf-8", "surrogatepass")) for text in texts), initial=0)
            self._ends = np.array([*ends], np.int64)
            file.flush()
            self._bytes = mmap(file.fileno(), 0, access=ACCESS_READ) if self._ends[-1] else b""

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, d: int) -> str:
        return self._bytes[self._ends[d] : self._ends[d + 1]].decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))


class WordIndex:
    """Ids of words, by the whole word and by its beginning."""

    def __init__(self, words: Sequence[str]):
        self.words = words

    @cached_property
    def id_of(self) -> dict[str, int]:
        return {word: v for v, word in enumerate(self.words)}

    @cached_property
    def _sorted(self) -> list[tuple[str, int]]:
        """Words in lower case in the order of the alphabet, and their ids."""
        return sorted((word.lower(), v) for v, word in enumerate(self.words))

    def prepare(self) -> None:
        """Makes what the first search would wait for."""
        _ = self.id_of, self._sorted

    def find(self, word: str) -> int | None:
        return self.id_of.get(word, self.id_of.get(word.lower()))

    def beginning(self, prefix: str) -> NDArray[np.intp]:
        begin = bisect_left(self._sorted, (prefix,))
        end = bisect_left(self._sorted, True, begin, key=lambda pair: not pair[0].startswith(prefix))  # one run
        return np.array([v for _, v in self._sorted[begin:end]], np.intp)


class Library:
    """Documents for an explorer: a corpus with the words of its columns, and optionally texts, columns beside the
    documents, and held-out documents that edits are scored by."""

    def __init__(
        self,
        corpus: Corpus,
        words: Sequence[str],
        texts: Iterable[str] | None = None,
        columns: Mapping[str, Sequence[object]] | None = None,
        held_out: Corpus | None = None,
    ):
        self.corpus, self.index, self.held_out = corpus, WordIndex(words), held_out
        self.scorer = EditScorer(corpus, held_out)  # of models before and after an edit
        self.n_docs = corpus.n_docs
        self.texts = None if texts is None else TextStore(texts)
        if self.texts is not None and len(self.texts) != corpus.n_docs:
            raise ValueError(f"there are {len(self.texts)} texts for {corpus.n_docs} documents: pass one each")
        self.columns = columns_of(columns, corpus.n_docs)
        self.lengths: Floats = row_sums(corpus.indptr, corpus.value)
        self.is_known = (self.lengths > 0) | (corpus.vectors is not None)  # documents that have topics

    @cached_property
    def by_word(self) -> sp.csc_array:
        """Documents of each word."""
        return self.corpus.to_scipy().tocsc()

    def name(self, d: int) -> str:
        return str(d) if self.corpus.names is None else self.corpus.names[d]

    def text(self, d: int) -> str | None:
        return None if self.texts is None else self.texts[d]

    def column(self, name: str) -> Column:
        if name not in self.columns:
            raise NotFound(f"there is no column {name[:60]!r}")
        return self.columns[name]

    def with_words(self, ids: Sequence[int]) -> tuple[Ids, Floats]:
        """Documents that have all of these words, and how many tokens of them."""
        some = self.by_word[:, ids]
        rows = np.flatnonzero(np.bincount(some.indices, minlength=self.n_docs) == len(ids))
        return rows, np.asarray(some.sum(axis=1), np.float64).ravel()[rows]


class Mixes:
    """Topics of all documents, sparse both ways: the topics of a document, and the documents of a topic."""

    def __init__(self, by_doc: sp.csr_array, weight: Floats):
        self.by_doc, self.by_topic = by_doc, sp.csc_array(by_doc)  # [documents, K] shares of the topics that they use
        self.weight = weight  # [documents] how good an example each is; 0 of one without a known word
        self._of_groups: dict[str, tuple[Ids, Floats, Floats]] = {}  # by the name of a column

    @classmethod
    def of(cls, view: ModelView, corpus: Corpus, is_wanted: Callable[[], bool]) -> Mixes | None:
        """Visits all documents; None once they are not wanted any more."""
        parts, weights = [], []
        for begin in range(0, corpus.n_docs, BLOCK):
            if not is_wanted():
                return None
            shares, _, weight, _ = view.visited(corpus[begin : begin + BLOCK])
            shares.data[shares.data < LEAST] = 0.0
            shares.eliminate_zeros()
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
