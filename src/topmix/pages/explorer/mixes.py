"""Topics of all documents, sparse both ways: the topics of a document, and the documents of a topic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.views.model import BLOCK, ModelView

LEAST = 0.01  # smaller shares of a topic in a document are not kept


def mixes_of(view: ModelView, corpus: Corpus, is_wanted: Callable[[], bool] = lambda: True) -> Mixes | None:
    """The topics that documents use; None once they are not wanted any more."""
    parts, weights = [], []
    for begin in range(0, corpus.n_docs, BLOCK):
        if not is_wanted():
            return None
        found, _, weight = view.visited(corpus[begin : begin + BLOCK])
        found.data[found.data < LEAST] = 0.0
        found.eliminate_zeros()
        parts.append(found.astype(np.float32))
        weights.append(weight)
    return Mixes(sp.csr_array(sp.vstack(parts, format="csr")), np.concatenate(weights))


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

    def by_group(self, k: int, of_doc: NDArray[np.int64], n_groups: int) -> tuple[list[int], list[float | None]]:
        """Documents of each group, and the mean share of a topic in them."""
        known = (of_doc >= 0) & (self.weight > 0)
        n = np.bincount(of_doc[known], minlength=n_groups)
        rows, share = self.of_topic(k)
        kept = known[rows]
        total = np.bincount(of_doc[rows[kept]], weights=share[kept], minlength=n_groups)
        return n.tolist(), [float(t / m) if m else None for t, m in zip(total, n)]
