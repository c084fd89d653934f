"""What one fit is worth, and what the fits of one size are worth together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from topmix.metrics import completion_scores, match_topics, npmi_coherence, topic_diversity
from topmix.metrics.counts import Floats, as_distributions
from topmix.model_selection.split import HeldOut

TOP_WORDS = 10
MEASURES = {
    "score": "log probability of a held-out word, in nats per token; higher is better",
    "coherence": "NPMI of the ten most probable words of a topic, in the training documents; higher is better",
    "diversity": "share of distinct words among the ten most probable words of all topics",
    "stability": "mean cosine of topics that were matched between two seeds; 1 is equal",
    "seconds": "of one fit",
}


@dataclass(frozen=True)
class Fit:
    """One fit: a size and a seed."""

    n_components: int
    seed: int
    score: float
    coherence: float
    diversity: float
    seconds: float
    log_likelihood: Floats = field(repr=False, compare=False)  # [D] of the held-out words of each document
    stability: float = np.nan  # with the other seeds of its size

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("n_components", "seed", *MEASURES)}


@dataclass(frozen=True)
class Size:
    """All fits of one size: means over seeds, and spreads (standard deviations between seeds; NaN for one seed)."""

    n_components: int
    fits: tuple[Fit, ...]

    @property
    def n_seeds(self) -> int:
        return len(self.fits)

    def mean(self, measure: str) -> float:
        return float(np.mean([getattr(fit, measure) for fit in self.fits]))

    def spread(self, measure: str) -> float:
        values = [getattr(fit, measure) for fit in self.fits]
        return float(np.std(values, ddof=1)) if len(values) > 1 and np.all(np.isfinite(values)) else np.nan

    def log_likelihood(self) -> Floats:
        """[D] means over seeds."""
        return np.mean([fit.log_likelihood for fit in self.fits], axis=0)

    def to_dict(self) -> dict[str, Any]:
        each = {m: {"mean": self.mean(m), "spread": self.spread(m)} for m in MEASURES}
        return {"n_components": self.n_components, "seeds": self.n_seeds, **each}


def topics_of(model: Any) -> Floats:
    """[K, V] probabilities of words, of any fitted topic model."""
    topic_word = getattr(model, "topic_word_", None)
    return as_distributions(model.components_ if topic_word is None else topic_word)


def measured(topics: Floats, seed: int, data: HeldOut, seconds: float) -> Fit:
    scores = completion_scores(topics, data.test)
    n = min(TOP_WORDS, topics.shape[1])
    coherence = float(npmi_coherence(topics, data.train, top_n=n)) if n >= 2 else np.nan
    return Fit(
        len(topics), seed, scores.mean, coherence, topic_diversity(topics, n), seconds, scores.log_likelihood
    )  # fmt: skip


def with_stability(fits: Sequence[Fit], topics: Sequence[Floats]) -> list[Fit]:
    """The fits of one size, each with the mean similarity of its topics to those of the other seeds."""
    alike: list[list[float]] = [[] for _ in fits]
    for i, j in combinations(range(len(fits)), 2):
        similarity = 1.0 - float(match_topics(topics[i], topics[j], metric="cosine").distance.mean())
        alike[i].append(similarity)
        alike[j].append(similarity)
    return [replace(fit, stability=float(np.mean(s)) if s else np.nan) for fit, s in zip(fits, alike)]


def by_size(fits: Sequence[Fit]) -> list[Size]:
    """Sizes, smallest first."""
    sizes = sorted({fit.n_components for fit in fits})
    return [Size(K, tuple(fit for fit in fits if fit.n_components == K)) for K in sizes]
