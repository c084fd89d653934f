"""Topics with versions: phi_tk ~ Dir(rho_k psi_tk), the words of topic k in the documents of version t.

Versions shrink towards a parent psi_t, which is learned from what versions had to draw from theirs: the more versions
use a word, the more the parent has of it, however often one of them does. Groups share one parent; over time parents
forget versions by how far they are. docs/math.md, section 3.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from topmix.base.checks import SMALLEST
from topmix.base.fields import CheckedReader, Writer
from topmix.models.stored import Numbers, Stored, number
from topmix.models.topic_words import TopicWords
from topmix.models.words import WordStats, WordTotal

Array = NDArray[np.float64]

STRENGTHS = (1e5, 3e4, 1e4, 3e3, 1e3, 300.0, 100.0)  # tokens: rho is one of them
DISCOUNTS = (0.8, 0.5, 0.95)  # per period: gamma is one of them, and rho is chosen with the first
ROUNDS = 2  # of parents after a pass
LEAST_WEIGHT = 1e-3  # of a version in the parent of another


@dataclass(frozen=True)
class WordVersions(Stored):
    """Counts of each version, and what of them was drawn from parents. Both are sparse."""

    counts: tuple[WordStats, ...]  # n_t, one of each version
    drawn: tuple[WordStats, ...]  # m_t: expected tokens that came from the parent
    place: Annotated[Array, Numbers((0, "T"))]  # where each version is in time, in periods; empty: they are groups
    strength: Annotated[Array, Numbers("K", low=SMALLEST)]  # rho, in tokens
    discount: Annotated[float, number(SMALLEST, 1.0)]  # gamma, per period; 1 for groups
    eta: Annotated[float, number(SMALLEST)]  # prior count of each word in a parent
    n_words: int
    posterior: str  # "variational" | "collapsed"

    @classmethod
    def start(
        cls, counts: Sequence[WordStats], place: Array, strength: Array, discount: float, like: TopicWords, eta: float
    ) -> WordVersions:
        """Parents start from the counts themselves."""
        n, gamma = tuple(counts), discount if len(place) else 1.0
        return cls(n, n, place, strength, gamma, eta, like.shape[0], like.posterior).redrawn()

    def __len__(self) -> int:
        return len(self.counts)

    def with_counts(self, counts: Sequence[WordStats]) -> WordVersions:
        """The same parents, and what other counts then draw from them."""
        drawn = []
        for n, a in zip(counts, self._priors_at(counts)):
            # m = a [psi(a + n) - psi(a)], where a = rho psi_t; a count below one is the probability of one token, which
            # is drawn from the parent.  Eq. (3.38)
            m, many = n.value.copy(), n.value > 1
            a, value = a[many], n.value[many].astype(np.float64)
            m[many] = a * (digamma(a + value) - digamma(a))
            drawn.append(_with_values(n, m))
        return replace(self, counts=tuple(counts), drawn=tuple(drawn))

    def redrawn(self, rounds: int = ROUNDS) -> WordVersions:
        """Parents that fit the counts better.  Eq. (3.39)"""
        now = self
        for _ in range(rounds):
            now = now.with_counts(now.counts)
        return now

    @cached_property
    def _common(self) -> WordTotal:
        """What all versions drew, [V, K]."""
        return self._weighed(np.ones(len(self)))

    def _weighed(self, weights: Array) -> WordTotal:
        total = WordTotal.zeros(self.n_words, len(self.strength))
        for weight, drawn in zip(weights.tolist(), self.drawn):
            if weight >= LEAST_WEIGHT:
                total.add(drawn, weight)
        return total

    def _priors_at(self, counts: Sequence[WordStats]) -> list[Array]:
        """a = rho psi_t where the counts of each version have entries. Over time the parents are never there all at
        once: what earlier versions add is gathered going forwards, and what later ones add going backwards."""
        words = [words_of(n) for n in counts]
        if not len(self.place):
            scale, raw = self.strength / (self._common.totals + self.n_words * self.eta), self._common.raw
            return [(raw[word, n.topic] + self.eta) * scale[n.topic] for word, n in zip(words, counts)]
        priors, K = [np.full(len(n.topic), self.eta) for n in counts], len(self.strength)
        norm = np.full((len(self), K), self.n_words * self.eta)
        order = range(len(self))
        for chain, is_back in ((order, False), (order[::-1], True)):
            total, last = WordTotal.zeros(self.n_words, K), chain[0]
            for t in chain:
                total.scale(max(self.discount ** abs(self.place[t] - self.place[last]), LEAST_WEIGHT**4))
                if not is_back:
                    total.add(self.drawn[t])
                priors[t] += total.factor * total.raw[words[t], counts[t].topic]
                norm[t] += total.totals
                if is_back:
                    total.add(self.drawn[t])
                last = t
        return [a * (self.strength / of)[n.topic] for a, of, n in zip(priors, norm, counts)]

    def words(self, t: int | None) -> TopicWords:
        """Of version t, q(phi_tk) = Dir(rho psi_t + n_t), as any topics; None: one that nothing is known of."""
        is_placed = t is not None and len(self.place)
        parent = self._weighed(self.discount ** np.abs(self.place - self.place[t])) if is_placed else self._common
        scale = self.strength / (parent.totals + self.n_words * self.eta)
        total = WordTotal(parent.raw * scale, parent.totals * scale)
        if t is not None:
            total.add(self.counts[t])
        return TopicWords((self.eta * scale)[None, :], total, self.posterior)

    def mean(self, t: int | None) -> Array:
        """[K, V] probabilities of words."""
        return self.words(t).mean()

    def bound(self) -> float:
        """log p(counts | parents), and of groups log p(parent).  Eq. (3.37)"""
        rho, found = self.strength, 0.0
        for n, a in zip(self.counts, self._priors_at(self.counts)):
            found += float(np.sum(gammaln(rho) - gammaln(rho + n.totals)))
            value = n.value.astype(np.float64)
            many = value > 1
            found += float(np.sum(gammaln(a[many] + value[many]) - gammaln(a[many])))
            found += float(np.sum(value[~many] * np.log(a[~many])))
        if not len(self.place):
            common = self._common
            norm = common.totals + self.n_words * self.eta
            found += self.eta * float(np.log(common.raw + self.eta).sum() - self.n_words * np.log(norm).sum())
        return found

    def predicted(self, others: Sequence[WordStats]) -> Array:
        """[K] log probability of other tokens of the same versions."""
        found = np.zeros(len(self.strength))
        for t, n in enumerate(others):
            if len(n.value):
                words = self.words(t)
                log_p = np.log(words.total.raw[words_of(n), n.topic] + words.eta[0, n.topic])
                log_p -= np.log(words.norm())[n.topic]
                found += np.bincount(n.topic, n.value * log_p, minlength=len(found))
        return found

    def sizes(self) -> Array:
        """[T, K] tokens."""
        return np.array([n.totals for n in self.counts])

    def write(self, out: Writer, *, without: str = "") -> None:
        super().write(out, without=without)
        for t, (n, m) in enumerate(zip(self.counts, self.drawn)):
            n.write(out.at(f"v{t}"))
            out.array(f"v{t}.drawn", m.value)

    @classmethod
    def read(cls, file: CheckedReader, *, T: int, V: int, K: int, posterior: str) -> WordVersions:  # type: ignore[override]
        counts = tuple(WordStats.read(file.at(f"v{t}"), V=V, K=K) for t in range(T))
        values = [file.array(f"v{t}.drawn", len(n.value), dtype="F32", low=0.0) for t, n in enumerate(counts)]
        drawn = tuple(_with_values(n, value) for n, value in zip(counts, values))
        return super().read(file, counts=counts, drawn=drawn, n_words=V, posterior=posterior, T=T, K=K)

    def check_fields(self) -> None:
        if any(float(n.value.min(initial=0.0)) < 0 for n in self.counts):
            raise ValueError("versions of topics have negative counts")


def words_of(n: WordStats) -> NDArray[np.int32]:
    """The word of each entry."""
    return np.repeat(n.cols, np.diff(n.indptr))


def _with_values(n: WordStats, value: NDArray[np.float32]) -> WordStats:
    totals = np.bincount(n.topic, value, minlength=len(n.totals)).astype(np.float64)
    return WordStats(n.cols, n.indptr, n.topic, value, totals)


def chosen(
    some: Sequence[WordStats], others: Sequence[WordStats], place: Array, like: TopicWords, eta: float
) -> tuple[Array, float]:
    """(rho, gamma) with which one half of the documents of each version predicts the words of the other half best."""
    K = like.shape[1]
    now = WordVersions.start(some, place, np.full(K, STRENGTHS[0]), DISCOUNTS[0], like, eta)

    def judged(strength: Array, discount: float) -> Array:
        nonlocal now  # from parents that are nearly right
        now = replace(now, strength=strength, discount=discount).redrawn(2)
        return now.predicted(others)

    tried = np.array([judged(np.full(K, rho), DISCOUNTS[0]) for rho in STRENGTHS])
    strength = np.array(STRENGTHS)[tried.argmax(axis=0)]  # of equals the largest: there is less to say of a version
    if not len(place):
        return strength, 1.0
    scores = [tried.max(axis=0).sum(), *(judged(strength, discount).sum() for discount in DISCOUNTS[1:])]
    return strength, DISCOUNTS[int(np.argmax(scores))]
