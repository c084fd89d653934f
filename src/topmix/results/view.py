"""The topics of a fitted model in one form for all estimators. Tables, reports, exports and plots read this form."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topmix.base.checks import whole_number
from topmix.base.fields import ModelFileError
from topmix.results.measures import Floats, candidates, hellinger, top_ids
from topmix.results.topic_map import PROJECTED_ABOVE, map_positions, placed

# Tables for the user: DataFrames of pandas or polars, which are imported when a table is made.

Columns: TypeAlias = Mapping[str, Sequence[object] | np.ndarray]
DataFrame: TypeAlias = Any  # of pandas, or of polars where the user's data or `set_output` says so


def frame(columns: Columns, wanted: str | None = None) -> DataFrame:
    return importlib.import_module(wanted or "pandas").DataFrame(dict(columns))


def by_columns(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Columns:
    """The columns of a table that was made row by row."""
    listed = list(rows)
    return {name: [row[i] for row in listed] for i, name in enumerate(names)}


# How far the topics of a consensus model are the topics of other fits too: what is kept with the model, and saved.
#
# `topmix.consensus` measures it (selection/consensus.py); docs/consensus.md says what the numbers mean.

LEVEL = 0.95  # of the topics that are called real, at least so many are,
REAL = 0.55  # where that is from this mean similarity on: docs/consensus.md
ALWAYS = 0.9  # of the fits that have a topic: a word that so many have is always there
FOLLOWED_WORDS = 20  # that are followed of each topic
COLUMNS = ("found", "low", "high", "similarity", "sharpness", "reliability")
Pairs = tuple[tuple[int, float], ...]  # a word, and a share of fits


@dataclass(frozen=True)
class Reproducibility:
    """NaN, and nothing, for topics that were changed after the consensus."""

    n_fits: int
    found: Floats  # [K] share of the fits that have the topic
    low: Floats  # [K] and its interval
    high: Floats
    similarity: Floats  # [K] mean similarity to the topic's partners in the fits, from 0 to 1
    sharpness: Floats  # [K] by how much the partner is more similar than the next topic of its fit; mean over fits
    reliability: Floats  # [K] probability that the topic is real
    words: tuple[Pairs, ...]  # [K] the topic's most probable words, and how many of the fits with the topic have them

    @property
    def is_real(self) -> NDArray[np.bool_]:
        """[K] whether the topic is called real at LEVEL."""
        return np.nan_to_num(self.similarity) >= REAL

    def always(self, k: int) -> list[int]:
        """Words that nearly all fits with the topic have, most probable first."""
        k = whole_number(k, "k", least=0, most=len(self.words) - 1)
        return [v for v, share in self.words[k] if share >= ALWAYS]

    def sometimes(self, k: int) -> list[int]:
        """Words that come and go from fit to fit."""
        k = whole_number(k, "k", least=0, most=len(self.words) - 1)
        return [v for v, share in self.words[k] if share < ALWAYS]

    def after(self, kept: Sequence[int | None]) -> Reproducibility:
        """Of topics after an edit: where each was before it, or None where it was changed or is new."""
        place = np.array([-1 if k is None else k for k in kept], np.intp)
        columns: dict[str, Any] = {name: np.where(place >= 0, vars(self)[name][place], np.nan) for name in COLUMNS}
        return replace(self, words=tuple(() if k is None else self.words[k] for k in kept), **columns)

    def to_dict(self) -> dict[str, object]:
        """As JSON holds it."""
        columns = {name: [None if np.isnan(x) else float(x) for x in vars(self)[name]] for name in COLUMNS}
        return {"n_fits": self.n_fits, **columns, "words": self.words}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], K: int, V: int) -> Reproducibility:
        """From a file, which is not trusted."""
        try:
            found: dict[str, Any] = {"n_fits": whole_number(given["n_fits"], "n_fits")}
            for name in COLUMNS:
                found[name] = np.array([np.nan if x is None else x for x in given[name]], float)
                if found[name].shape != (K,) or np.any((found[name] < -1) | (found[name] > 1)):
                    raise ValueError(f"expected {K} numbers from -1 to 1")
            words = tuple(tuple((int(v), float(share)) for v, share in of_topic) for of_topic in given["words"])
            if len(words) != K or not all(0 <= v < V and 0 <= share <= 1 for v, share in chain.from_iterable(words)):
                raise ValueError(f"expected pairs for {K} topics, of words below {V} and shares")
            return cls(**found, words=words)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"'reproducibility' makes no sense: {error}") from error


ROUNDING = 1e-9  # by which two ways to compute a number may differ
LEAST_TOKENS = 1.0  # a topic with fewer is empty


@dataclass(frozen=True)
class TopicView:
    """The topics of a fitted model. Topic k is row k of the `components_` of the estimator."""

    topic_word: NDArray[np.float64]  # [K, V], rows sum to one
    share: NDArray[np.float64]  # [K] share of all tokens (for a mixture: of all rows); sums to one
    tokens: float  # number of training tokens; 0 if the model does not store it
    words: list[str]  # names of the words, or their numbers if the model has no names
    reproducibility: Reproducibility | None = None  # of a consensus
    n_rows: float = 0.0  # of a mixture: number of training rows
    base: NDArray[np.float64] | None = None  # [V] what relevance holds against a word; None: log p(w)
    kept: NDArray[np.float64] | None = None  # [K, 2] positions from before an edit; NaN where a topic is new

    @property
    def n_topics(self) -> int:
        return len(self.topic_word)

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        """[V] expected frequency of each word: p(w) = sum_k share_k p(w | k)."""
        return np.asarray(self.share @ self.topic_word)

    @cached_property
    def distance(self) -> NDArray[np.float64]:
        """[K, K] Hellinger distances between topics."""
        return hellinger(self.topic_word)

    @cached_property
    def places(self) -> NDArray[np.float64]:
        """[K, 2] positions on the map. They stay through edits, so that a topic keeps its place and its colour."""
        if self.kept is None:
            distance = self.distance if self.n_topics <= PROJECTED_ABOVE else None
            return map_positions(self.topic_word, self.share, distance=distance)
        return placed(self.kept, self.topic_word, self.share)

    def top(self, n: int = 10, relevance: float = 1.0) -> NDArray[np.intp]:
        """[K, n] word ids, best first; n is limited to V. `relevance` is the weight in `relevance`."""
        n = min(n, len(self.words))
        if relevance == 1.0:
            return top_ids(self.topic_word, n)
        lift = np.exp(-(1.0 - relevance) * self.log_base)  # p times this is as relevant, without a logarithm of each
        found = np.empty((self.n_topics, n), np.intp)
        for k, row in enumerate(self.topic_word):
            ids = candidates(row * lift, n, ROUNDING)
            found[k] = ids[np.argsort(-self.relevance(row[ids], relevance, ids), kind="stable")[:n]]
        return found

    def relevance(
        self, probability: NDArray[np.float64], weight: float, ids: slice | NDArray[np.intp] = slice(None)
    ) -> NDArray[np.float64]:
        """weight log p(w | k) + (1 - weight) log(p(w | k) / p(w)) for a distribution over the words, [V], or over those
        of `ids`. A small weight prefers words of few topics."""
        with np.errstate(divide="ignore"):
            log_p = np.log(probability)
        return np.maximum(log_p - (1.0 - weight) * self.log_base[ids], -1e9)

    @cached_property
    def log_base(self) -> NDArray[np.float64]:
        return np.log(np.maximum(self.frequency, 1e-300)) if self.base is None else self.base

    @property
    def sizes(self) -> NDArray[np.float64]:
        """[K] training tokens of each topic, or rows of each cluster."""
        return self.share * (self.tokens or self.n_rows)

    def is_empty(self) -> NDArray[np.bool_]:
        """[K] topics with less than one token or row, or no share where their number is not known."""
        return (self.sizes < LEAST_TOKENS) if self.tokens or self.n_rows else self.share <= 0

    def by_size(self) -> NDArray[np.intp]:
        """The numbers of the topics, largest topic first."""
        return np.argsort(-self.share, kind="stable")

    def words_of(self, ids: NDArray[np.intp]) -> list[str]:
        return [self.words[v] for v in ids.tolist()]


# Which topics are worth reading. A topic is judged beside the other topics of the model, so the limits are shares of a
# median and need no corpus of their own. `docs/evidence.md` has what they find in abstracts that somebody has read.

GOOD = "good"
EMPTY, FILLER = "empty", "filler: its most probable words belong to other topics"
SMALL, FEW = "small: {share:.1%} of all {unit}", "few documents: {documents} with a tenth or more of it"
INCOHERENT = "low coherence: its words are seldom in the same documents"
UNRELIABLE = "not to be relied on: {reproduced:.0%} of the fits have it"
WORDS = 10
LEAST_OWN = 0.25  # of the median: how much of its most probable words a topic has
LEAST_SHARE = 0.2  # of the mean share
LEAST_COHERENCE = 1 / 3  # of the median
LEAST_DOCUMENTS, PART = 3, 0.1  # documents with at least such a part of the topic


def quality(
    view: TopicView, coherence: NDArray[np.float64] | None = None, n_documents: NDArray[np.int64] | None = None
) -> list[str]:
    """Per topic "good", or why it is not worth reading. `coherence` is the NPMI of each topic, and `n_documents` how
    many documents have a tenth of it or more. A consensus has seen which topics are not real."""
    K, share, is_empty = view.n_topics, view.share, view.is_empty()
    top = view.top(min(WORDS, len(view.words)))
    joint = share[:, None] * np.take_along_axis(view.topic_word, top, axis=1)
    own = (joint / np.maximum(view.frequency[top], 1e-300)).mean(axis=1)  # p(k | w) of the most probable words
    used = ~is_empty
    if not used.any():
        return [EMPTY] * K
    is_incoherent = np.zeros(K, bool)
    if coherence is not None and (middle := float(np.median(coherence[used]))) > 0:
        is_incoherent = coherence < LEAST_COHERENCE * middle
    seen = view.reproducibility
    unit = "tokens" if view.tokens else "documents"
    is_bad = {  # the first reason counts
        EMPTY: is_empty,
        UNRELIABLE: np.zeros(K, bool) if seen is None else seen.similarity < REAL,  # not where it is unknown
        FEW: np.zeros(K, bool) if n_documents is None else n_documents < LEAST_DOCUMENTS,
        FILLER: own < LEAST_OWN * np.median(own[used]),
        INCOHERENT: is_incoherent,
        SMALL: share < LEAST_SHARE / used.sum(),
    }
    reproduced = np.zeros(K) if seen is None else seen.found
    documents = np.zeros(K, np.int64) if n_documents is None else n_documents
    reasons = [next((reason for reason, bad in is_bad.items() if bad[k]), GOOD) for k in range(K)]
    return [
        reason.format(reproduced=reproduced[k], documents=documents[k], share=share[k], unit=unit)
        for k, reason in enumerate(reasons)
    ]


def best_first(view: TopicView, of_topics: list[str]) -> NDArray[np.intp]:
    """The numbers of the topics: those that are worth reading, largest first, and then the others."""
    return np.lexsort((-view.share, np.array([said != GOOD for said in of_topics])))
