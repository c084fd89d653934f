"""What fits are worth: documents that are held out, what one fit is worth on them, and what those of one size are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from topmix.api.admixture import AdmixtureEstimator
from topmix.api.vectors import VectorMixture
from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows
from topmix.metrics import completion_scores, match_topics, npmi_coherence, topic_diversity
from topmix.metrics.agreement import centred, compare
from topmix.metrics.counts import Floats, as_distributions
from topmix.model_selection.certificate import ALIKE, Z
from topmix.parameters.checks import whole_number
from topmix.views.model import is_topic_model, view_of

SHARE = 0.1  # of the documents are held out, by default
ENOUGH, MOST = 50, 2000  # documents: scores of fewer are noise, and more cost time and change little
FEWEST = 2
TOP_WORDS = 10
MEASURES = {
    "score": "log probability of a held-out word, in nats per token, or of a held-out vector; higher is better",
    "coherence": "NPMI of the ten most probable words of a topic, in the training documents; higher is better",
    "diversity": "share of distinct words among the ten most probable words of all topics",
    "stability": "mean cosine of topics that were matched between two seeds; 1 is equal. Clusters of vectors are "
    "compared by the held-out rows that they have",
    "seconds": "of one fit",
}


class HeldOut(NamedTuple):
    train: Corpus
    test: Corpus  # in the same words
    rows: np.ndarray  # of the documents to learn from


def hold_out(corpus: Corpus, wanted: float | None, seed: int) -> HeldOut:
    """Random documents with two different words or more are held out; the others are learned from.

    Words that only held-out documents have are left out: no topic could have learned them.
    """
    vectors, what = corpus.vectors, "documents with two different words"
    usable = np.flatnonzero(np.diff(corpus.indptr) >= (0 if vectors is not None else 2))
    if isinstance(vectors, GroupedRows):
        usable, what = np.flatnonzero(vectors.lengths() >= 2), "groups with two rows"
    if len(usable) < 2 * FEWEST:
        raise ValueError(
            f"the data has {len(usable)} {what} or more; to hold some of them out, a sweep needs at least {2 * FEWEST}"
        )
    is_test = np.zeros(corpus.n_docs, dtype=bool)
    is_test[np.random.default_rng(seed).choice(usable, _number(wanted, len(usable)), replace=False)] = True
    rows = np.flatnonzero(~is_test)
    train, test = (_alone(corpus[of]) for of in (rows, np.flatnonzero(is_test)))
    seen = np.bincount(train.index, minlength=corpus.n_words) > 0
    return (
        HeldOut(train, test, rows)
        if seen.all() or corpus.vectors is not None
        else HeldOut(train.keep_words(seen), test.keep_words(seen), rows)
    )


def _alone(corpus: Corpus) -> Corpus:
    """Without rows of other groups."""
    data = corpus.vectors
    return corpus.with_vectors(data.alone()) if isinstance(data, GroupedRows) else corpus


def _number(wanted: object, usable: int) -> int:
    if wanted is None:
        return int(min(max(round(SHARE * usable), min(ENOUGH, usable // 3), FEWEST), MOST))
    if isinstance(wanted, float | np.floating):
        if not 0 < wanted < 1:
            raise ValueError(f"held_out must be a share between 0 and 1, or a number of documents, got {wanted!r}")
        return min(max(round(wanted * usable), FEWEST), usable - FEWEST)
    n = whole_number(wanted, "held_out", least=FEWEST)
    if n > usable - FEWEST:
        raise ValueError(f"held_out={n}: only {usable} documents have two different words, and some must be left")
    return n


@dataclass(frozen=True)
class Fit:
    """One fit: a size and a seed."""

    n_components: int
    seed: int
    score: float
    coherence: float
    diversity: float
    seconds: float
    log_likelihood: Floats = field(repr=False, compare=False)  # [D] of the held-out words (or rows) of each document
    stability: float = np.nan  # with the other seeds of its size
    reproducibility: float = np.nan  # share of its topics that another seed has too; mean over the other seeds
    alike: Floats | None = field(default=None, repr=False, compare=False)  # [K] stability of each topic
    n_scored: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)  # [D] words, or rows

    def value(self, measure: str) -> float:
        return float(getattr(self, measure))

    def to_dict(self) -> dict[str, float]:
        measures = {m: self.value(m) for m in (*MEASURES, "reproducibility")}
        return {"n_components": self.n_components, "seed": self.seed, **measures}


@dataclass(frozen=True)
class Size:
    """All fits of one size: means over seeds, and spreads (standard deviations between seeds; NaN for one seed)."""

    n_components: int
    fits: tuple[Fit, ...]

    @property
    def n_seeds(self) -> int:
        return len(self.fits)

    def values(self, measure: str) -> list[float]:
        return [fit.value(measure) for fit in self.fits]

    def mean(self, measure: str) -> float:
        return float(np.mean(self.values(measure)))

    def spread(self, measure: str) -> float:
        values = self.values(measure)
        return float(np.std(values, ddof=1)) if len(values) > 1 and np.all(np.isfinite(values)) else np.nan

    def stability_interval(self) -> tuple[float, float]:
        """Where the mean stability of topics would be in other fits of this size, with probability 0.95. Seeds share
        the documents, so topics are what is counted."""
        alike = [fit.alike for fit in self.fits if fit.alike is not None]
        if not alike:
            return np.nan, np.nan
        half = Z * float(np.std(np.concatenate(alike))) / np.sqrt(self.n_components)
        return max(self.mean("stability") - half, 0.0), min(self.mean("stability") + half, 1.0)

    def log_likelihood(self) -> Floats:
        """[D] means over seeds."""
        return np.mean([fit.log_likelihood for fit in self.fits], axis=0)

    def to_dict(self) -> dict[str, object]:
        each = {m: {"mean": self.mean(m), "spread": self.spread(m)} for m in MEASURES}
        low, high = self.stability_interval()
        each["stability"] |= {"low": low, "high": high}
        each["reproducibility"] = {"mean": self.mean("reproducibility"), "spread": self.spread("reproducibility")}
        return {"n_components": self.n_components, "seeds": self.n_seeds, **each}


@dataclass(frozen=True, repr=False)
class Measured:
    """All sizes, the one that is recommended, and the data. `SweepResult` shows it."""

    sizes: tuple[Size, ...]
    recommended: int | None
    reason: str
    allowed: float  # below the best score by at most so much is as good, for the recommended size
    interrupted: bool
    estimator: str
    n_docs: int  # that were learned from
    n_held_out: int
    n_tokens: float
    n_words: int
    tolerance: float
    between: tuple[int, int] | None = None  # the smallest and the largest size that the data does not tell apart

    @property
    def fits(self) -> tuple[Fit, ...]:
        """One entry per fit, small sizes first."""
        return tuple(fit for size in self.sizes for fit in size.fits)


def topics_of(model: BaseEstimator) -> Floats:
    """[K, V] probabilities of words, of any fitted topic model."""
    return as_distributions(model.topic_word_ if is_topic_model(model) else model.components_)


def measured(topics: Floats, seed: int, data: HeldOut, seconds: float) -> Fit:
    scores, n = completion_scores(topics, data.test), min(TOP_WORDS, topics.shape[1])
    coherence = float(npmi_coherence(topics, data.train, top_n=n)) if n >= 2 else np.nan
    diversity = topic_diversity(topics, n)
    return Fit(
        len(topics), seed, scores.mean, coherence, diversity, seconds, scores.log_likelihood, n_scored=scores.n_tokens
    )


def measured_clusters(model: VectorMixture, seed: int, data: HeldOut, seconds: float) -> tuple[Fit, Floats]:
    """The same for clusters of vectors, and which of the held-out rows each cluster has, [K, rows]. Of groups the other
    rows are known when a fifth of their rows are scored."""
    rows = np.asarray(model.predict_proba(data.test)).T
    if isinstance(model, AdmixtureEstimator):
        likelihood, n_scored = model._completion(data.test)
    else:
        likelihood = model.score_samples(data.test)
        n_scored = np.ones(len(likelihood))
    coherence = diversity = np.nan
    if model._has_words():
        words = view_of(model).topic_word
        n = min(TOP_WORDS, words.shape[1])
        coherence, diversity = float(npmi_coherence(words, data.train, top_n=n)), topic_diversity(words, n)
    fit = Fit(
        len(rows),
        seed,
        float(likelihood.sum() / n_scored.sum()),
        coherence,
        diversity,
        seconds,
        likelihood,
        n_scored=n_scored,
    )
    return fit, as_distributions(rows + 1e-9)


def with_stability(fits: Sequence[Fit], topics: Sequence[Floats], frequency: Floats) -> list[Fit]:
    """The fits of one size, each with the mean similarity of its topics to those of the other seeds, and the share of
    them that the other seeds have too. `frequency` [V] is that of the words."""
    alike: list[list[Floats]] = [[] for _ in fits]
    shared: list[list[float]] = [[] for _ in fits]
    rows = [centred(each, frequency) for each in topics]
    for i, j in combinations(range(len(fits)), 2):
        pairs = match_topics(topics[i], topics[j], metric="cosine")
        found = compare(rows[i], [rows[j]]).similarity[0]
        alike[i].append(1.0 - pairs.distance)
        alike[j].append(1.0 - pairs.distance[np.argsort(pairs.b)])
        for of_fit in (shared[i], shared[j]):
            of_fit.append(float((found >= ALIKE).mean()))
    return [
        replace(
            fit, stability=float(np.mean(of_fit)), alike=np.mean(of_fit, axis=0), reproducibility=float(np.mean(both))
        )
        if of_fit
        else fit
        for fit, of_fit, both in zip(fits, alike, shared)
    ]


def by_size(fits: Sequence[Fit]) -> list[Size]:
    """Sizes, smallest first."""
    sizes = sorted({fit.n_components for fit in fits})
    return [Size(K, tuple(fit for fit in fits if fit.n_components == K)) for K in sizes]
