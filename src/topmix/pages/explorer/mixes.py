"""Topics of all documents, sparse both ways: the topics of a document, and the documents of a topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.views.model import BLOCK, ModelView


class DocumentPlaces(NamedTuple):
    """Documents on a map."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    topic: NDArray[np.int32]  # the largest of each; -1 where it has none


Floats = NDArray[np.float64]
DEVICE_BLOCK = 1 << 18  # documents that a device visits together: the topics are copied there for each block
LEAST = 0.01  # smaller shares of a topic in a document are not kept


def mixes_of(view: ModelView, corpus: Corpus, is_wanted: Callable[[], bool] = lambda: True) -> Mixes | None:
    """The topics that documents use; None once they are not wanted any more."""
    parts, weights = [], []
    block = DEVICE_BLOCK if view.model._engine().on_device else BLOCK
    for begin in range(0, corpus.n_docs, block):
        if not is_wanted():
            return None
        found, _, weight = view.visited(corpus[begin : begin + block])
        found.data[found.data < LEAST] = 0.0
        found.eliminate_zeros()
        parts.append(found.astype(np.float32))
        weights.append(weight)
    return Mixes(sp.csr_array(sp.vstack(parts, format="csr")), np.concatenate(weights))


def document_places(by_doc: sp.csr_array, places: NDArray[np.float64], radii: NDArray[np.float64]) -> DocumentPlaces:
    """Each document between the places of its topics, by the squares of their shares, inside the circle of its largest
    topic: those with the most of it in the middle. Nothing is random."""
    weight = by_doc.astype(np.float64)
    weight.data **= 2
    total = np.asarray(weight.sum(axis=1)).ravel()
    found = np.asarray(weight @ places) / np.maximum(total, 1e-300)[:, None]
    of_row = np.repeat(np.arange(by_doc.shape[0]), np.diff(by_doc.indptr))
    order = np.lexsort((by_doc.indices, -by_doc.data, of_row))  # the largest topic of a document first
    first = order[np.unique(of_row[order], return_index=True)[1]]
    topic, share = np.full(len(found), -1, np.int32), np.zeros(len(found))
    topic[of_row[first]], share[of_row[first]] = by_doc.indices[first], by_doc.data[first]
    by_topic = np.lexsort((-share, topic))
    n = np.bincount(topic + 1, minlength=len(places) + 1)
    rank = np.empty(len(found))
    rank[by_topic] = np.arange(len(found)) - np.repeat(np.cumsum(n) - n, n)
    turn = np.pi * (3 - np.sqrt(5)) * rank  # a sunflower
    away = 0.9 * radii[np.maximum(topic, 0)] * np.sqrt((rank + 0.5) / np.maximum(n[topic + 1], 1))
    found += away[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return DocumentPlaces(found[:, 0], found[:, 1], topic)


class Mixes:
    def __init__(self, by_doc: sp.csr_array, weight: NDArray[np.float64]):
        self.by_doc, self.by_topic = by_doc, sp.csc_array(by_doc)  # [documents, K] shares of the topics that they use
        self.weight = weight  # [documents] how good an example each is; 0 of one without a known word

    def of_topic(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Documents that use a topic, and its share of each."""
        at = slice(self.by_topic.indptr[k], self.by_topic.indptr[k + 1])
        return self.by_topic.indices[at].astype(np.int64), self.by_topic.data[at].astype(np.float64)

    def best(self, k: int, n: int, least: float = 0.05) -> NDArray[np.int64]:
        """The documents with the most of a topic."""
        rows, share = self.of_topic(k)
        score = share * self.weight[rows]
        rows, score = rows[score >= least], score[score >= least]
        return rows[np.lexsort((rows, -score))[:n]]

    def shares(self, rows: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        """The share of one topic in these documents."""
        mine, share = self.of_topic(k)
        of_doc = np.zeros(len(self.weight))
        of_doc[mine] = share
        return of_doc[rows]

    def similar(self, d: int, n: int) -> list[tuple[int, float]]:
        """The documents with the most similar topics: Bhattacharyya coefficient sum_k sqrt(theta_dk theta_ek)."""
        at = slice(self.by_doc.indptr[d], self.by_doc.indptr[d + 1])
        score = np.zeros(self.by_doc.shape[0])
        for k, share in zip(self.by_doc.indices[at].tolist(), self.by_doc.data[at].tolist()):
            rows, other = self.of_topic(k)
            score[rows] += np.sqrt(share * other)
        score[d] = 0.0
        n = min(n, len(score) - 1)
        if n <= 0:
            return []
        best = np.argpartition(-score, n - 1)[:n]
        best = best[np.lexsort((best, -score[best]))]
        return [(int(e), float(min(score[e], 1.0))) for e in best if score[e] > 0]

    def charts(self, of_doc: NDArray[np.int64], n_groups: int) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Documents of each group, [G]; mean shares [K, G] of topics in them, and 1.96 standard errors of the means,
        NaN where a group has fewer than two documents."""
        known = (of_doc >= 0) & (self.weight > 0)
        n = np.bincount(of_doc[known], minlength=n_groups)
        rows = np.flatnonzero(known)
        member = sp.csr_array((np.ones(len(rows)), (of_doc[rows], rows)), (n_groups, len(of_doc)))
        shares = self.by_doc.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = (member @ shares).toarray() / n[:, None]
            variance = ((member @ shares.power(2)).toarray() / n[:, None] - mean**2) * (n / (n - 1))[:, None]
            error = 1.96 * np.sqrt(np.maximum(variance, 0.0) / n[:, None])
        error[n < 2] = np.nan
        return n, mean.T, error.T

    def by_group(self, k: int, of_doc: NDArray[np.int64], n_groups: int) -> tuple[list[int], list[float | None]]:
        """Documents of each group, and the mean share of a topic in them."""
        known = (of_doc >= 0) & (self.weight > 0)
        n = np.bincount(of_doc[known], minlength=n_groups)
        rows, share = self.of_topic(k)
        kept = known[rows]
        total = np.bincount(of_doc[rows[kept]], weights=share[kept], minlength=n_groups)
        return n.tolist(), [float(t / m) if m else None for t, m in zip(total, n)]
