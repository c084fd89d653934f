"""Other topics for the same documents, to be tried out: words to start from, sticks, and where documents start.

A proposal moves tokens by a matrix M [K, K'], what part of a topic's tokens goes to which of the new topics; so a
document that had no token of these topics is unchanged. In a birth, and where topics or documents start again,
documents start from their words alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.stick_prior import Sticks
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.search.split import splits
from topmix.stats import WordTotal

RECEIVERS = 4  # topics that a deleted topic's tokens start in


@dataclass(frozen=True)
class Proposal:
    what: str
    model: TopicModel
    docs: list[DocTopics] | None = None  # None: from the words alone


def births(here: Documents, n: int, new_topics: Callable[[np.ndarray, int], np.ndarray]) -> Proposal:
    """n more topics, each of one document; new_topics([K] sizes, n) gives their counts [V, n]."""
    K, shares = here.model.n_components, here.prior.sticks.shares()[:-1]
    counts = np.hstack([here.total.S.counts(), new_topics(here.total.S.totals, n)])
    shares = np.concatenate([shares, np.full(n, shares.sum() / K)]) * K / (K + n)
    return Proposal(f"birth {n}", _started(here, counts, shares))


def renewal(here: Documents, counts: np.ndarray) -> Proposal:
    """Other topics altogether, [V, n] counts."""
    n = counts.shape[1]
    return Proposal(f"renew {n}", _started(here, counts, np.full(n, 1.0 / (n + 1.0))))


def refreshment(here: Documents) -> Proposal:
    """The same topics; documents start from their words."""
    return Proposal("refresh", _started(here, here.total.S.counts(), here.prior.sticks.shares()[:-1]))


def split(
    here: Documents, topics: np.ndarray, rows: Callable[[np.ndarray], sp.csr_array], rng: np.random.Generator
) -> Proposal | None:
    """Each of these topics in two, where it holds two kinds of words; `rows` gives the words of documents."""
    found = splits(here, rows, topics, rng)
    if not found:
        return None
    K, n = here.model.n_components, len(found)
    counts, old = here.total.S.counts(), here.prior.sticks.shares()[:-1]
    born = np.stack([counts[:, s.topic] * s.share for s in found], axis=1)
    parent, weight = np.array([s.topic for s in found]), np.array([s.weight for s in found])
    counts[:, parent] -= born
    shares = np.concatenate([old, old[parent] * weight])
    shares[parent] -= shares[K:]
    stays = np.ones(K)
    stays[parent] -= weight
    goes = sp.csr_array((weight, (parent, np.arange(n))), shape=(K, n))
    moved = sp.hstack([sp.diags_array(stays), goes]).tocsr()
    return Proposal(f"split {n}", _started(here, np.hstack([counts, born.reshape(-1, n)]), shares), _moved(here, moved))


def deletion(here: Documents, gone: np.ndarray) -> Proposal:
    """Without these topics. Their tokens start in the topics that have most of their words."""
    K, counts = here.model.n_components, np.maximum(here.total.S.counts(), 0.0)
    kept = np.delete(np.arange(K), gone)
    shares = here.prior.sticks.shares()[kept]
    shares *= (1.0 - here.prior.sticks.shares()[-1]) / shares.sum()
    moved = sp.lil_array((K, len(kept)))
    moved[kept, np.arange(len(kept))] = 1.0
    rest = counts[:, kept] / np.maximum(counts[:, kept].sum(axis=1, keepdims=True), 1e-300)
    for k in gone:
        part = counts[:, k] @ rest
        receivers = np.argsort(-part, kind="stable")[:RECEIVERS]
        moved[k, receivers] = (part[receivers] + 1e-300) / (part[receivers] + 1e-300).sum()
    return Proposal(f"delete {len(gone)}", _started(here, counts[:, kept], shares), _moved(here, moved.tocsr()))


def _moved(here: Documents, M: sp.csr_array) -> list[DocTopics]:
    docs = []
    for d in here.docs:
        rows = sp.csr_array((d.count.astype(np.float64), d.topic, d.indptr), shape=(len(d.indptr) - 1, M.shape[0])) @ M
        rows.sort_indices()
        docs.append(
            DocTopics(rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data.astype(np.float32))
        )
    return docs


def _started(here: Documents, counts: np.ndarray, shares: np.ndarray) -> TopicModel:
    sticks = Sticks.of_shares(shares, here.total.D, here.prior.stick_prior)
    prior = replace(here.prior, sticks=sticks, D=0.0, T=np.zeros(0))
    raw = np.ascontiguousarray(np.maximum(counts, 0.0))
    total = WordTotal.of(raw)
    return replace(here.model, prior=prior, words=here.model.words.update(total))
