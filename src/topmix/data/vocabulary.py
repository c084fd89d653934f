"""Which terms become columns: a vocabulary that was given, or the counted terms that survive min_df and max_df."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from numbers import Integral, Real
from typing import Any

import numpy as np

from topmix import _core


def given_vocabulary(vocabulary: Iterable[str] | Mapping[str, int]) -> list[str]:
    """Terms by column. A mapping says the columns, a set is sorted, anything else is taken in its order."""
    if isinstance(vocabulary, str):
        raise ValueError("vocabulary is a single string; give a list of words or a mapping of word to column")
    words: list[str]
    if isinstance(vocabulary, Mapping):
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        if [vocabulary[w] for w in words] != list(range(len(words))):
            raise ValueError("the vocabulary must map its words to the columns 0, 1, ..., each once")
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, AbstractSet) else list(vocabulary)
    if not words:
        raise ValueError("the vocabulary given is empty")
    seen: set[str] = set()
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"the vocabulary holds {word!r}, which is not a string")
        if word in seen:
            raise ValueError(f"the vocabulary holds {word!r} twice")
        seen.add(word)
    return words


def check_cut(name: str, cut: Any) -> int | float:
    """min_df and max_df: a number of documents (int) or a share of them (float)."""
    if isinstance(cut, bool) or not isinstance(cut, Real):
        raise TypeError(f"{name}={cut!r}: give an int (documents) or a float (a share of the documents)")
    if isinstance(cut, Integral):
        if int(cut) < 1:
            raise ValueError(f"{name}={cut}: an int counts documents and is at least 1")
        return int(cut)
    share = float(cut)
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{name}={cut}: a float is a share of the documents, from 0.0 to 1.0")
    return share


def select_terms(
    counter: _core.TermCounter,
    min_df: int | float,
    max_df: int | float,
    max_features: int | None,
    has_stop_words: bool,
) -> np.ndarray:
    """Ids of the terms that stay, in the order of their strings: the columns of the corpus."""
    n_docs = counter.n_rows
    if n_docs == 0:
        raise ValueError("there are no documents: the iterable of texts was empty")
    if counter.n_terms == 0:
        also = " or only stop words" if has_stop_words else ""
        raise ValueError(
            f"the {n_docs:,} documents hold no words: they are empty, or hold nothing the pattern takes{also}"
        )
    low = min_df if isinstance(min_df, int) else min_df * n_docs
    high = max_df if isinstance(max_df, int) else max_df * n_docs
    if high < low:
        raise ValueError(
            f"max_df={max_df} is {high:g} of {n_docs:,} documents, fewer than min_df={min_df} asks for ({low:g})"
        )
    df = counter.document_frequency()
    kept = counter.sort(np.flatnonzero((df >= low) & (df <= high)).astype(np.int32))
    if len(kept) == 0:
        rare, common = int((df < low).sum()), int((df > high).sum())
        raise ValueError(
            f"no words are left of {counter.n_terms:,} in {n_docs:,} documents: min_df={min_df} removed {rare:,} "
            f"and max_df={max_df} removed {common:,}"
        )
    if max_features is not None and len(kept) > max_features:
        # scikit-learn's very expression: which of equally frequent terms stay follows from NumPy's sort alone.
        best = (-counter.term_frequency()[kept]).argsort()[:max_features]
        kept = kept[np.sort(best)]
    return kept
