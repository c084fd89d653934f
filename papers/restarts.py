"""Figure 3 of the HDP: one document's local step, from random starts and with restarts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from topmix import _core
from topmix.corpus.shard import Shard
from topmix.steps.documents import solve

MOST_ROUNDS = 50
GHOST = 1e-3  # tokens; a topic with fewer is gone, and a restart without it would gain nothing


class OneDocument:
    """Coordinate ascent on one document under fixed topics: r, then theta, as in their Eqs. (13) and (14)."""

    def __init__(self, counts: np.ndarray, log_phi: np.ndarray, prior: np.ndarray):
        self.c, self.log_phi, self.prior = counts, log_phi, prior  # [U], [U, K], [K + 1]

    def ascend(self, N: np.ndarray, n: int) -> tuple[np.ndarray, list[float]]:
        """n iterations from N [K]. Returns N, and the bound after each iteration. A zero stays zero."""
        trace = []
        for _ in range(n):
            with np.errstate(divide="ignore"):
                weight = np.where(N > 0, digamma(np.maximum(N + self.prior[:-1], 1e-300)), -np.inf)
            s = weight + self.log_phi
            top = s.max(axis=1, keepdims=True)
            r = np.exp(s - top)
            r /= r.sum(axis=1, keepdims=True)
            N = self.c @ r
            N[N < GHOST] = 0.0
            trace.append(self.bound(N, r))
        return N, trace

    def bound(self, N: np.ndarray, r: np.ndarray) -> float:
        """With q(pi) at its best, without terms that do not depend on r; docs/math.md Eq. (3.9)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            words = np.where(r > 0, r * (self.log_phi - np.log(r)), 0.0)
        a = self.prior[:-1]
        return float(self.c @ words.sum(axis=1) + np.sum(gammaln(N + a) - gammaln(a)))


def bounds_from_starts(fitted: Any, shard: Shard, starts: int, tries: int = 5, seed: int = 0) -> dict[str, Any]:
    """Documents solved by the kernel under the topics of a fitted HDP, from random starts, and with restarts.

    For each document: tokens, the bound per token of every start [documents, starts], that of the first start with one
    round of restarts and with rounds until none helps any document, and topics before and after. The kernel gives
    counts; their bound is computed in float64.
    """
    lam = fitted.components_.T
    expected = digamma(lam) - digamma(lam.sum(axis=0))
    prior = fitted.concentration_ * np.append(fitted.topic_shares_, 1.0 - fitted.topic_shares_.sum())
    K, rng = lam.shape[1], np.random.default_rng(seed)
    rows = [slice(*shard.indptr[d : d + 2]) for d in range(shard.n_rows)]
    columns = np.asarray(shard.cols)
    documents = [OneDocument(np.asarray(shard.value[r], float), expected[columns[shard.index[r]]], prior) for r in rows]
    tokens = np.array([document.c.sum() for document in documents])

    def solved(start: np.ndarray, restarts: int) -> tuple[np.ndarray, np.ndarray, tuple[int, int, int]]:
        options = replace(fitted.model_.document_options, n_active=None, restarts=restarts, eps=GHOST, tol=1e-3)
        tables = replace(fitted.model_, document_options=options).tables(shard.cols)
        found = solve(shard, tables, _core.TopicScratch(), start=start, want_words=False)
        N = np.zeros((shard.n_rows, K))
        N[np.repeat(np.arange(shard.n_rows), np.diff(found.docs.indptr)), found.docs.topic] = found.docs.count
        bounds = np.array([document.ascend(n, 1)[1][0] for document, n in zip(documents, N)])
        return N, bounds / tokens, found.effort

    first, bounds = None, []
    for _ in range(starts):
        start = tokens[:, None] * rng.dirichlet(np.ones(K), shard.n_rows)
        first = start if first is None else first
        bounds.append(solved(start, 0)[1])
    before = solved(first, 0)[0]
    after, once, effort = solved(first, tries)
    repeated, rounds, tried, kept = once, 1, effort[1], effort[2]
    while kept and rounds < MOST_ROUNDS:
        further, bound, effort = solved(after, tries)
        rounds, tried, better = rounds + 1, tried + effort[1], bound > repeated + 1e-9
        if not better.any():
            break
        kept += effort[2]
        after = np.where(better[:, None], further, after)
        repeated = np.maximum(repeated, bound)
    return {
        "tokens": tokens,
        "bounds": np.array(bounds).T,
        "once": once,
        "with_restarts": repeated,
        "rounds": rounds,
        "topics_before": (before > 0).sum(axis=1),
        "topics_after": (after > 0).sum(axis=1),
        "accepted": kept / max(tried, 1),
        "N_before": before[:1],
        "N_after": after[:1],
    }
