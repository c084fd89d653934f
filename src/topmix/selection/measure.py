"""What fits are worth: documents that are held out, what one fit is worth on them, and what those of one size are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from topmix.base.checks import one_of, whole_number
from topmix.corpus.corpus import Corpus
from topmix.results.coherence import npmi_coherence
from topmix.results.completion import completion_scores
from topmix.results.measures import Floats, as_distributions, centred, compare, match_topics, topic_diversity
from topmix.selection.runs import PlannedFit
from topmix.selection.views import view_of

ALIKE = 0.7  # cosine of centred topics from which on they are the same topic
Z = 1.959963984540054  # of an interval that holds with probability 0.95
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
    frequency: Floats  # [V] of the words; of clusters of vectors, which are compared by their rows, of those


def hold_out(corpus: Corpus, wanted: object, seed: int) -> HeldOut:
    """Random documents with two different words or more are held out; the others are learned from.

    Words that only held-out documents have are left out: no topic could have learned them.
    """
    vectors, what = corpus.vectors, "documents with two different words"
    usable = np.flatnonzero(np.diff(corpus.indptr) >= (0 if vectors is not None else 2))
    if corpus.vector_groups is not None:
        usable, what = np.flatnonzero(corpus.vector_groups.lengths() >= 2), "groups with two rows"
    if len(usable) < 2 * FEWEST:
        raise ValueError(
            f"the data has {len(usable)} {what} or more; to hold some of them out, a sweep needs at least {2 * FEWEST}"
        )
    if wanted is None:
        n = int(min(max(round(SHARE * len(usable)), min(ENOUGH, len(usable) // 3), FEWEST), MOST))
    elif isinstance(wanted, float | np.floating):
        if not 0 < wanted < 1:
            raise ValueError(f"held_out must be a share between 0 and 1, or a number of documents, got {wanted!r}")
        n = min(max(round(wanted * len(usable)), FEWEST), len(usable) - FEWEST)
    else:
        n = whole_number(wanted, "held_out", least=FEWEST)
        if n > len(usable) - FEWEST:
            raise ValueError(f"held_out={n}: only {len(usable)} {what}, and some must be left")
    is_test = np.zeros(corpus.n_docs, dtype=bool)
    is_test[np.random.default_rng(seed).choice(usable, n, replace=False)] = True
    rows = np.flatnonzero(~is_test)
    train, test = corpus[rows], corpus[np.flatnonzero(is_test)]
    if train.vectors is not None and test.vectors is not None:
        train, test = train.with_columns(vectors=train.vectors.alone()), test.with_columns(vectors=test.vectors.alone())
    seen = np.bincount(train.index, minlength=corpus.n_words) > 0
    if test.vectors is not None:
        n_rows = len(test.vectors.rows)
        return HeldOut(train, test, rows, np.full(n_rows, 1.0 / n_rows))
    if not seen.all():
        train, test = train.keep_words(seen), test.keep_words(seen)
    counts = np.bincount(train.index, train.value, minlength=train.n_words)
    return HeldOut(train, test, rows, counts / counts.sum())


@dataclass(frozen=True)
class MeasuredFit:
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
        return float(vars(self)[one_of(measure, (*MEASURES, "reproducibility"), "measure")])

    def to_dict(self) -> dict[str, float]:
        measures = {m: self.value(m) for m in (*MEASURES, "reproducibility")}
        return {"n_components": self.n_components, "seed": self.seed, **measures}


@dataclass(frozen=True)
class Size:
    """All fits of one size: means over seeds, and spreads (standard deviations between seeds; NaN for one seed)."""

    n_components: int
    fits: tuple[MeasuredFit, ...]

    @property
    def n_seeds(self) -> int:
        return len(self.fits)

    def mean(self, measure: str) -> float:
        return float(np.mean([fit.value(measure) for fit in self.fits]))

    def spread(self, measure: str) -> float:
        values = [fit.value(measure) for fit in self.fits]
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


def measured(model: Any, run: PlannedFit, seconds: float, data: HeldOut) -> tuple[tuple[MeasuredFit, Floats], str]:
    """What a fit is worth, and its topics [K, V]: of clusters of vectors, which of the held-out rows each has, [K,
    rows]. Of groups the other rows are known when a fifth of their rows are scored."""
    if model._takes != "words":
        topics = as_distributions(np.asarray(model.predict_proba(data.test)).T + 1e-9)
        words = view_of(model).topic_word if model._has_words() else None
        likelihood, n_scored = model._completion(data.test)
        score = float(likelihood.sum() / n_scored.sum())
    else:
        topics = words = as_distributions(model.topic_word_)
        scores = completion_scores(topics, data.test)
        likelihood, n_scored, score = scores.log_likelihood, scores.n_tokens, scores.mean
    coherence = diversity = np.nan
    if words is not None:
        n = min(TOP_WORDS, words.shape[1])
        coherence = float(npmi_coherence(words, data.train, top_n=n)) if n >= 2 else np.nan
        diversity = topic_diversity(words, n)
    fit = MeasuredFit(len(topics), run.seed, score, coherence, diversity, seconds, likelihood, n_scored=n_scored)
    return (fit, topics), f"score {score:.4f}, coherence {coherence:.3f}"


def with_stability(measured: Sequence[tuple[MeasuredFit, Floats]], frequency: Floats) -> list[MeasuredFit]:
    """The fits of one size, each with the mean similarity of its topics to those of the other seeds, and the share of
    them that the other seeds have too. `frequency` [V] is that of the words."""
    fits, topics = [fit for fit, _ in measured], [found for _, found in measured]
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
    if len(fits) < 2:
        return fits
    return [
        replace(fit, stability=float(np.mean(own)), alike=np.mean(own, axis=0), reproducibility=float(np.mean(both)))
        for fit, own, both in zip(fits, alike, shared)
    ]
