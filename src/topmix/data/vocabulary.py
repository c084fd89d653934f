"""The terms that become columns: a given vocabulary, or the counted terms after pruning by min_df and max_df; and words
in the columns of others, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from numbers import Integral, Real
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from topmix.data.strings import Strings
from topmix.numerics.threads import threads


def given_vocabulary(vocabulary: Iterable[str] | Mapping[str, int]) -> list[str]:
    """The terms in the order of their columns. A mapping gives the columns, a set is sorted, a list keeps its order."""
    if isinstance(vocabulary, str):
        raise ValueError("vocabulary is a single string: pass a list of words or a mapping of word to column")
    words: list[str]
    if isinstance(vocabulary, Mapping):
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        if [vocabulary[w] for w in words] != list(range(len(words))):
            raise ValueError("vocabulary must map its words to the columns 0, 1, ..., each column once")
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, AbstractSet) else list(vocabulary)
    if not words:
        raise ValueError("vocabulary is empty: pass at least one word, or None to learn the words")
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"the vocabulary holds {word!r}, which is not a string")
    if (twice := _first_twice(words)) is not None:
        raise ValueError(f"the vocabulary holds {twice!r} twice")
    return words


def _first_twice(words: Iterable[str]) -> str | None:
    """The first word that was there before."""
    seen: set[str] = set()
    for word in words:
        if word in seen:
            return word
        seen.add(word)
    return None


def columns_of(words: Iterable[str | int], names: Iterable[str] | None, n_words: int) -> list[int]:
    """The columns of words that are given by name or as columns; -1 for those that do not exist."""
    column = {} if names is None else {str(name): v for v, name in enumerate(names)}
    found = (int(word) if isinstance(word, int | np.integer) else column.get(word, -1) for word in words)
    return [v if 0 <= v < n_words else -1 for v in found]


def columns_of_all(
    words: Sequence[str], known: Sequence[str], *, keep_new: bool = False
) -> tuple[NDArray[np.int64], list[str]]:
    """The column of each word among the known words, and the names of all columns. A word that is not known has -1, or
    with `keep_new` a column after the others. Every name must stand for one column."""
    names = [str(word) for word in known]
    for columns in (words, names):
        if (twice := _first_twice(columns)) is not None:
            raise ValueError(f"{twice!r} is in the vocabulary twice, so documents cannot be matched by their words")
    column = {name: v for v, name in enumerate(names)}
    if keep_new:
        found = [column.setdefault(word, len(column)) for word in words]
    else:
        found = [column.get(word, -1) for word in words]
    return np.array(found, dtype=np.int64), list(column)


def check_cut(name: str, cut: object) -> int | float | str:
    """The value of min_df or max_df: a number of documents (int), a share of the documents (float), or "auto"."""
    if isinstance(cut, str) and cut == "auto":
        return cut
    if isinstance(cut, bool) or not isinstance(cut, Real):
        raise TypeError(f"{name}={cut!r}: pass an int (a number of documents) or a float (a share of the documents)")
    if isinstance(cut, Integral):
        if int(cut) < 1:
            raise ValueError(f"{name}={cut}: an int is a number of documents; pass at least 1")
        return int(cut)
    share = float(cut)
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{name}={cut}: a float is a share of the documents; pass 0.0 to 1.0")
    return share


def cuts_for(n_docs: int, min_df: int | float | str, max_df: int | float | str) -> tuple[int | float, int | float]:
    """min_df and max_df, with a value for "auto". Very rare words tell little, and words of most documents end up in
    every topic; a few documents need all their words."""
    if isinstance(min_df, str):
        min_df = 5 if n_docs >= 1000 else 2 if n_docs >= 20 else 1
    if isinstance(max_df, str):
        max_df = 0.5 if n_docs >= 20 else 1.0
    return min_df, max_df


Junk = Callable[[Sequence[str], list[str]], set[str]]  # of the words, and of those that are too common; to leave out


class Terms(Protocol):
    """Terms with the documents and the tokens that they were found in: a native TermCounter, or MergedTerms."""

    @property
    def n_terms(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    def document_frequency(self) -> np.ndarray: ...
    def term_frequency(self) -> np.ndarray: ...
    def sort(self, ids: np.ndarray, threads: int = 1) -> np.ndarray: ...
    def packed(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
    def terms(self, ids: np.ndarray) -> list[str]: ...


def packed_terms(counter: Terms, ids: np.ndarray) -> Strings:
    """These terms, without a Python string for each of them."""
    text, offsets = counter.packed(ids)
    try:
        text.tobytes().decode()
    except UnicodeDecodeError:
        return Strings.pack(counter.terms(ids), "word")  # which says what is wrong with which term
    return Strings(text, offsets)


def select_terms(
    counter: Terms,
    min_df: int | float | str,
    max_df: int | float | str,
    max_features: int | None,
    stop_words: Sequence[str],
    phrases: float | None,
    junk: Junk,
) -> np.ndarray:
    """Ids of the terms to keep, sorted by their strings. Their order is the order of the columns. N-grams that have a
    word in them which `junk` leaves out are left out too."""
    n_docs = counter.n_rows
    min_df, max_df = cuts_for(n_docs, min_df, max_df)
    if n_docs == 0:
        raise ValueError("there are no documents: the iterable of texts is empty")
    if counter.n_terms == 0:
        also = ", or all words are stop words" if stop_words else ""
        raise ValueError(
            f"the {n_docs:,} documents hold no words: they are empty, or nothing in them matches the pattern{also}"
        )
    low = min_df if isinstance(min_df, int) else min_df * n_docs
    high = max_df if isinstance(max_df, int) else max_df * n_docs
    if high < low:
        raise ValueError(
            f"max_df={max_df} is {high:g} of {n_docs:,} documents, less than min_df={min_df}, which is {low:g}"
        )
    df = counter.document_frequency()
    wanted = (df >= low) & (df <= high)
    if phrases is not None:
        wanted &= _is_phrase(counter, phrases)
    kept = counter.sort(np.flatnonzero(wanted).astype(np.int32), threads())
    names, common = counter.terms(kept), np.flatnonzero(df > high).astype(np.int32)
    dropped = junk(names, counter.terms(common))
    if dropped:
        kept = kept[[dropped.isdisjoint(name.split(" ")) for name in names]]
    if len(kept) == 0:
        also = f"; {len(dropped):,} were numbers, symbols or stop words" if dropped else ""
        raise ValueError(
            f"no words are left of {counter.n_terms:,} in {n_docs:,} documents: min_df={min_df} removed "
            f"{int((df < low).sum()):,} and max_df={max_df} removed {len(common):,}{also}"
        )
    if max_features is not None and len(kept) > max_features:
        # The same expression as in scikit-learn, so that the same ones of equally frequent terms are kept.
        best = (-counter.term_frequency()[kept]).argsort()[:max_features]
        kept = kept[np.sort(best)]
    return kept


def _is_phrase(counter: Terms, least: float) -> np.ndarray:
    """[terms] True for single words, and for n-grams whose normalised pointwise mutual information is at least `least`:

    log(p(w1 ... wn) / (p(w1) ... p(wn))) / (-(n - 1) log p(w1 ... wn))
    """
    terms = counter.terms(np.arange(counter.n_terms, dtype=np.int32))
    count = counter.term_frequency().astype(np.float64)
    is_word = np.array([" " not in term for term in terms], dtype=bool)
    total = max(float(count[is_word].sum()), 1.0)
    log_p = {term: float(np.log(n / total)) for term, n, single in zip(terms, count, is_word) if single}
    keep = is_word.copy()
    for i in np.flatnonzero(~is_word):
        parts = terms[i].split(" ")
        joint = float(np.log(count[i] / total))
        gain = joint - sum(log_p.get(part, 0.0) for part in parts)
        keep[i] = gain >= least * -joint * (len(parts) - 1)
    return keep
