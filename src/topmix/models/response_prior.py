"""Responses of documents, classes or numbers, which depend on the shares of their topics: supervised LDA.

Blei and McAuliffe (2007); classes after Wang, Blei and Fei-Fei (2009). docs/math.md, section 3.15.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from topmix import _core
from topmix.base.fields import CheckedReader
from topmix.base.threads import one_thread
from topmix.corpus.design import DesignRows
from topmix.models.document_prior import Array, DocTopics, DocumentPrior, Population
from topmix.models.model import SomeSums
from topmix.models.statistics import TopicStats

RIDGE = 0.01  # the precision of the Gaussian prior on coefficients
STEPS = 15  # of L-BFGS, after a pass
MOST_PER_TOKEN = 300.0  # of a coefficient
SMALLEST_VARIANCE = 1e-4  # of a number, whose variance over all documents is one


class Responded(NamedTuple):
    """Documents with tokens: their topics, and their responses."""

    doc: NDArray[np.int64]  # [entries]
    topic: NDArray[np.int64]  # [entries]
    share: Array  # [entries] of the document's tokens
    n: Array  # [documents] tokens
    y: Array  # [documents] classes, or numbers

    @classmethod
    def of(cls, docs: DocTopics, y: Array) -> Responded:
        used = np.diff(docs.indptr)
        some, count = used > 0, docs.count.astype(np.float64)
        n: Array = np.zeros(int(some.sum()))
        doc = np.repeat(np.arange(len(n)), used[some])
        np.add.at(n, doc, count)
        return cls(doc, docs.topic.astype(np.int64), count / n[doc], n, y[some])

    def mean(self, x: Array) -> Array:
        """[documents, columns] of values [entries, columns], weighed by shares."""
        n = len(self.n)
        return np.stack([np.bincount(self.doc, self.share * column, minlength=n) for column in x.T], axis=1)


@dataclass(frozen=True, kw_only=True)
class ResponsePrior(DocumentPrior):
    """How often documents have topics, and how their responses depend on that."""

    coefficients: Array  # [classes, K], or [1, K] of numbers with mean zero and variance one
    precision: float  # of a number; zero: responses are classes
    weight: float = 1.0  # how often a response counts
    y: Array | None = None  # [documents] of a shard

    @property
    def base(self) -> DocumentPrior:
        """Without responses."""
        return DocumentPrior(self.alpha, self.posterior, self.learned)

    def of(self, design: DesignRows | None) -> DocumentPrior:
        """The design of documents is their response."""
        return self.base if design is None else replace(self, y=design.x[design.row, 0])

    def responses(self) -> _core.Responses | None:
        if self.y is None:
            return None
        eta, y = self.coefficients.astype(np.float32), self.y.astype(np.float32)
        return _core.Responses(eta, y, self.precision, self.weight)

    def sizes(self, K: int) -> tuple[int, int]:
        """The log likelihood of responses is at the end of T."""
        return K + 1, K

    def summarise(
        self, words: SomeSums, docs: DocTopics, lengths: Array, H: float, present: Array | None = None
    ) -> TopicStats:
        stats = super().summarise(words, docs, lengths, H, present)
        assert self.y is not None
        said = self.weight * float(self.log_likelihood(Responded.of(docs, self.y)).sum())
        return replace(stats, T=np.append(stats.T, said))

    def bound(self, total: TopicStats) -> float:
        """And their responses, and the log density of the coefficients."""
        density = -0.5 * RIDGE * float(np.sum(self.coefficients**2))
        return super().bound(_without_responses(total)) + float(total.T[-1]) + self.weight * density

    def documents(self, stats: TopicStats) -> float:
        return self.base.documents(_without_responses(stats))

    def relearn(self, total: TopicStats, lengths: Array, population: Population | None = None) -> DocumentPrior:
        return super().relearn(_without_responses(total), lengths)

    def read_like(self, file: CheckedReader, K: int, posterior: str) -> DocumentPrior:
        return self.base.read_like(file, K, posterior)  # type: ignore[return-value]

    def log_likelihood(self, documents: Responded) -> Array:
        """[documents] a bound on E log p(y), from the shares of topics alone.  Eqs. (3.42), (3.44)"""
        if self.precision:
            eta = self.coefficients[0][documents.topic][:, None]
            m = documents.mean(eta)[:, 0]
            v = documents.mean((eta - m[documents.doc][:, None]) ** 2)[:, 0]
            return 0.5 * (
                np.log(self.precision / (2 * np.pi)) - self.precision * ((documents.y - m) ** 2 + v / documents.n)
            )
        return _of_classes(self.coefficients, documents)[0]

    def responding_to(self, documents: Responded) -> ResponsePrior:
        """With coefficients that make these responses more probable: of classes, by some steps of L-BFGS up a concave
        function; of numbers the best, Eq. (3.46), and then the best precision."""
        if not len(documents.y):
            return self
        if self.precision:
            K, n, y = self.coefficients.shape[1], documents.n, documents.y
            Z = np.zeros((len(n), K))
            Z[documents.doc, documents.topic] = documents.share
            with one_thread():
                gram = (Z.T * (1.0 - 1.0 / n)) @ Z + np.diag(Z.T @ (1.0 / n))
                best = np.linalg.solve(gram + RIDGE / self.precision * np.eye(K), Z.T @ y)
                left = float(np.sum(y**2) - 2 * best @ (Z.T @ y) + best @ gram @ best)
            variance = max(left / len(y), SMALLEST_VARIANCE)
            return replace(self, coefficients=np.asarray(best[None, :], np.float64), precision=1.0 / variance)
        from scipy.optimize import minimize  # here, because others do without it

        shape = self.coefficients.shape

        def loss(x: Array) -> tuple[float, Array]:
            eta = x.reshape(shape)
            f, gradient = _of_classes(eta, documents, want_gradient=True)
            return 0.5 * RIDGE * float(x @ x) - float(f.sum()), (RIDGE * eta - gradient).ravel()

        with one_thread():
            end = minimize(loss, self.coefficients.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        return replace(self, coefficients=end.x.reshape(shape))


def _without_responses(total: TopicStats) -> TopicStats:
    return replace(total, T=total.T[:-1])


def _of_classes(eta: Array, documents: Responded, *, want_gradient: bool = False) -> tuple[Array, Array]:
    """[documents] eta_y . zbar - log sum_c h_c^n, with h_c the mean of exp(eta_ck / n), and its gradient, summed."""
    K, n, y = eta.shape[1], documents.n, documents.y.astype(np.int64)
    x = eta.T[documents.topic]  # [entries, C]
    A = np.expm1(np.minimum(x / n[documents.doc][:, None], MOST_PER_TOKEN))
    h = np.maximum(documents.mean(A), 1e-12 - 1.0)  # less one
    logits = n[:, None] * np.log1p(h)
    norm = logsumexp(logits, axis=1)
    own = np.bincount(documents.doc, documents.share * x[np.arange(len(x)), y[documents.doc]], minlength=len(n))
    if not want_gradient:
        return own - norm, np.zeros(0)
    g = np.exp(logits - norm[:, None]) / (1.0 + h)
    by_entry = -g[documents.doc] * (1.0 + A) * (x < MOST_PER_TOKEN * n[documents.doc][:, None])
    by_entry[np.arange(len(x)), y[documents.doc]] += 1.0
    by_entry *= documents.share[:, None]
    gradient = [np.bincount(documents.topic, column, minlength=K) for column in by_entry.T]
    return own - norm, np.array(gradient, np.float64)
