"""ESVI for LDA in NumPy, by one worker. Twin of cpp/asynchronous/topic_worker.hpp.

Here every phi is stored, in double and in log space.

docs/math.md, section 3.10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp, xlogy

Array = NDArray[np.float64]


def solve(u: Array, C: int, tail: str) -> Array:
    """phi from log weights u [K]: softmax, of which the C largest are kept and the others are all alike.  Eq. (3.28)"""
    K = len(u)
    if C >= K:
        return np.exp(u - logsumexp(u))
    others = np.argsort(-u, kind="stable")[C:]
    if tail == "mean":
        phi = np.exp(u - logsumexp(u))
        phi[others] = phi[others].mean()
        return phi
    u = u.copy()
    u[others] = u[others].mean()
    return np.exp(u - logsumexp(u))


@dataclass
class AsynchronousTopics:
    """Documents X [D, V], starting from topics with these counts [V, K]."""

    X: Array
    blocks: list[NDArray[np.int32]]  # words that travel together, in the order of their visits
    alpha: Array  # [K]
    eta: Array  # [V, K]
    C: int
    tail: str = "best"

    def begin(self, counts: Array, settle: int = 0) -> None:
        share = counts + self.eta
        share = np.log(share / share.sum(axis=1, keepdims=True))
        self.phi = np.zeros((*self.X.shape, len(self.alpha)))
        for d, v in zip(*np.nonzero(self.X)):
            self.phi[d, v] = solve(share[v], self.C, self.tail)
        for _ in range(settle):
            self.sweep(counts)
        self.S = self.word_counts()

    def word_counts(self) -> Array:
        return np.einsum("dv,dvk->vk", self.X, self.phi)

    def doc_counts(self) -> Array:
        return np.einsum("dv,dvk->dk", self.X, self.phi)

    def sweep(self, topics: Array | None = None, means: bool = False) -> None:
        """Every block once; under fixed topics if there are some."""
        psi = np.log if means else digamma
        for words in self.blocks:
            S = self.S if topics is None else topics
            lam = self.eta + S
            log_topic = psi(lam[words]) - psi(lam.sum(axis=0))
            for d in np.flatnonzero(self.X[:, words].sum(axis=1)):
                log_share = psi(self.alpha + self.X[d] @ self.phi[d])
                for i, v in enumerate(words):
                    if self.X[d, v] > 0:
                        self.phi[d, v] = solve(log_topic[i] + log_share, self.C, "mean" if means else self.tail)
            if topics is None:
                self.S[words] = np.einsum("dv,dvk->vk", self.X[:, words], self.phi[:, words])

    def sweep_by_token(self, means: bool = False) -> None:
        """Algorithm 5: words one by one, and the word's row and the sums follow each entry."""
        psi = np.log if means else digamma
        for v in np.concatenate(self.blocks):
            for d in np.flatnonzero(self.X[:, v]):
                lam = self.eta + self.S
                u = psi(lam[v]) - psi(lam.sum(axis=0)) + psi(self.alpha + self.X[d] @ self.phi[d])
                before = self.phi[d, v].copy()
                self.phi[d, v] = solve(u, self.C, "mean" if means else self.tail)
                self.S[v] += self.X[d, v] * (self.phi[d, v] - before)

    def passes(self, warm_up: int = 0, by_token: bool = False) -> Iterator[float]:
        """The bound after each pass."""
        n_pass = 0
        while True:
            (self.sweep_by_token if by_token else self.sweep)(means=n_pass < warm_up)
            n_pass += 1
            yield self.bound()

    def entropy(self) -> float:
        return float(-np.einsum("dv,dvk->", self.X, xlogy(self.phi, self.phi)))

    def bound(self) -> float:
        """E[log p(w, z, pi, phi)] - E[log q], written out, with gamma and lambda at their optimum."""
        gamma, lam = self.alpha + self.doc_counts(), self.eta + self.word_counts()
        log_pi = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
        log_beta = digamma(lam) - digamma(lam.sum(axis=0))
        tokens = np.einsum("dv,dvk,dk->", self.X, self.phi, log_pi) + np.einsum(
            "dv,dvk,vk->", self.X, self.phi, log_beta
        )
        kl_documents = _kl(gamma, np.broadcast_to(self.alpha, gamma.shape), log_pi)
        kl_topics = _kl(lam.T, self.eta.T, log_beta.T)
        return float(tokens + self.entropy() - kl_documents - kl_topics)


def _kl(q: Array, p: Array, expected_log: Array) -> float:
    """Sum over rows of KL(Dir(q) || Dir(p))."""
    normaliser = gammaln(q.sum(axis=1)) - gammaln(p.sum(axis=1)) - (gammaln(q) - gammaln(p)).sum(axis=1)
    return float((normaliser + ((q - p) * expected_log).sum(axis=1)).sum())
