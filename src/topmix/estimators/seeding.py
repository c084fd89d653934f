"""Seed words of topics: a prior that pulls words into the topics that the user wants them in."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from topmix.data.corpus import Corpus
from topmix.parameters.checks import positive_number
from topmix.stats import PseudoCounts

Seed = Iterable[str | int] | Mapping[str | int, float]


def seed_weights(seed: Any) -> dict[str | int, float]:
    """The words of one seed and their weights, checked."""
    if isinstance(seed, str) or not isinstance(seed, Iterable):
        raise ValueError(f"a seed is a list of words or a table of their weights, got {str(seed)[:60]!r}")
    weights = dict(seed) if isinstance(seed, Mapping) else dict.fromkeys(seed, 1.0)
    if not weights:
        raise ValueError(f"a seed needs at least one word, and positive weights, got {str(seed)[:60]}")
    return {word: positive_number(w, f"the weight of seed word {word!r}") for word, w in weights.items()}


def word_places(words: Sequence[str | int], names: Any, n_words: int) -> list[int]:
    """The columns of words, which are given by name or as columns; -1 for those that there are not."""
    place: dict[Any, int] = {} if names is None else {str(word): v for v, word in enumerate(names)}
    ids = [int(word) if isinstance(word, int | np.integer) else place.get(word, -1) for word in words]
    return [v if 0 <= v < n_words else -1 for v in ids]


def seed_counts(weights: Iterable[float], tokens: np.ndarray, strength: float) -> np.ndarray:
    """Pseudo-counts of seed words with so many tokens: at least one each."""
    return np.maximum(strength * np.fromiter(weights, np.float64) * tokens, 1.0)


def seed_prior(seeds: Any, strength: Any, corpus: Corpus, names: Any, K: int) -> PseudoCounts:
    """What the seeds of topics 0, 1, ... add to the prior on words. Words that the data does not have are left out,
    with a warning."""
    strength = positive_number(strength, "seed_strength")
    if isinstance(seeds, str | Mapping) or not isinstance(seeds, Iterable):
        raise ValueError("seeds is a list with a list of words for each seeded topic, such as [['boat', 'sail']]")
    given = list(seeds)
    if len(given) > K:
        raise ValueError(f"{len(given)} seeds need as many topics, but n_components is {K}")
    frequency = np.bincount(corpus.index, weights=corpus.value, minlength=corpus.n_words)
    rows, cols, values, unknown = [], [], [], []
    for k, seed in enumerate(given):
        if seed is None:
            continue
        weights = seed_weights(seed)
        places = word_places(list(weights), names, corpus.n_words)
        known = [(v, weight) for v, weight in zip(places, weights.values()) if v >= 0]
        unknown += [word for word, v in zip(weights, places) if v < 0]
        if not known:
            hint = " (the data has no names of words: give column numbers)" if names is None else ""
            raise ValueError(f"the data has none of the seed words of topic {k}: {str(list(weights))[:80]}{hint}")
        ids = [v for v, _ in known]
        rows += ids
        cols += [k] * len(ids)
        values.append(seed_counts([weight for _, weight in known], frequency[ids], strength))
    if unknown:
        warnings.warn(f"the data does not have the seed words {', '.join(map(repr, unknown[:5]))}", stacklevel=2)
    if not rows:
        raise ValueError("seeds has no words")
    by_word = sp.csr_array((np.concatenate(values), (rows, cols)), shape=(corpus.n_words, K))
    return PseudoCounts.sparse(by_word)
