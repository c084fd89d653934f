"""Words that topics should have, must have, or may not have."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.base.checks import is_plural, positive_number
from topmix.base.component import Component, is_whole
from topmix.base.paths import path_of
from topmix.corpus.corpus import Corpus
from topmix.corpus.vocabulary import columns_of
from topmix.models.statistics import PseudoCounts
from topmix.models.topic_words import HeldWords

STRENGTH = 0.3
LEAST_COUNT = 1.0  # pseudo-counts of a seed word, in a corpus where it is rare
NO_NAMES = " (there are no names of words: give column numbers)"
MARKS = {"-": "ban", "=": "pin"}  # of a word in a file

Word = str | int  # a name, or a column number
Seed = Iterable[Word]
Names = NDArray[np.object_] | None


@dataclass(frozen=True, repr=False)
class Seeds(Component):
    """What words have to do with topics. A list of lists of words is short for `Seeds(words)`.

    A document whose topics all lack a word still has its tokens in one of them; the topic does not learn it.

    Parameters
    ----------
    words : list of lists of words, dict or None
        Words that topics 0, 1, ... should have, as a prior that stays while they are learned; None in the list is a
        topic without, and {topic: words} names the topics. A word is a name, or a column number.
    strength : float
        What the prior adds for a seed word, as a share of its tokens in the data; 1 is as much as the data has.
    ban : dict, list of lists of words or None
        Words that do not belong to a topic, as {topic: words} or as a list with the words of topics 0, 1, ...
    pin : dict, list of lists of words or None
        Words that belong to this topic and to no other; a word that is pinned to several belongs to those.

    Examples
    --------
    >>> from topmix import LDA, Seeds
    >>> texts = ["apples and pears", "pears and plums", "ships and sails", "sails and masts"] * 10
    >>> lda = LDA(2, seeds=Seeds(pin={1: ["sails"]}, ban={1: ["plums"]}), random_state=0).fit(texts)
    >>> lda.top_words(1)[1]
    ['sails']
    """

    words: Any = None
    strength: float = STRENGTH
    ban: Any = None
    pin: Any = None

    def check(self) -> None:
        positive_number(self.strength, "strength")
        for name in ("words", "ban", "pin"):
            object.__setattr__(self, name, _by_topic(vars(self)[name], name))

    @classmethod
    def of(cls, given: object) -> Seeds | None:
        """The object that a user's setting stands for."""
        if given is None or isinstance(given, Seeds):
            return given
        if not is_plural(given):
            raise ValueError("seeds is a list with a list of words for each seeded topic, such as [['boat', 'sail']]")
        seeds = cls(list(given))
        if seeds.words is None:
            raise ValueError("seeds has no words")
        return seeds

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Seeds:
        """What a file says. It has one line per topic with its words, separated by commas or else by spaces. A word
        after - is banned from the topic, and one after = is pinned to it. An empty line is a topic without words, and
        lines that start with # are comments.
        """
        kinds: dict[str, list[list[str] | None]] = {"seeds": [], "ban": [], "pin": []}
        text = path_of(path).read_text(encoding="utf-8-sig")
        for line in [line.strip() for line in text.rstrip().splitlines() if not line.startswith("#")]:
            of_topic: dict[str, list[str]] = {kind: [] for kind in kinds}
            for word in filter(None, map(str.strip, line.split("," if "," in line else None))):
                kind = MARKS.get(word[0], "seeds") if len(word) > 1 else "seeds"
                of_topic[kind].append(word if kind == "seeds" else word[1:].strip())
            for kind, words in of_topic.items():
                kinds[kind].append(words or None)
        has_seeds = any(kinds["seeds"]) or not (any(kinds["ban"]) or any(kinds["pin"]))
        return cls(kinds["seeds"] if has_seeds else None, ban=kinds["ban"], pin=kinds["pin"])

    def prior(self, corpus: Corpus, names: Names, K: int) -> PseudoCounts | None:
        """What the words add to the prior. Words that the data does not have are left out, with a warning."""
        if self.words is None:
            return None
        if len(self.words) > K:
            raise ValueError(f"{len(self.words)} seeds need as many topics, but n_components is {K}")
        frequency = np.bincount(corpus.index, weights=corpus.value, minlength=corpus.n_words)
        rows, cols, values, unknown = [], [], [], []
        for k, seed in enumerate(self.words):
            if seed is None:
                continue
            places = columns_of(seed, names, corpus.n_words)
            unknown += [word for word, v in zip(seed, places) if v < 0]
            known = [v for v in places if v >= 0]
            if not known:
                hint = NO_NAMES if names is None else ""
                raise ValueError(f"the data has none of the seed words of topic {k}: {str(seed)[:80]}{hint}")
            rows += known
            cols += [k] * len(known)
            values.append(np.maximum(self.strength * frequency[known], LEAST_COUNT))
        if unknown:
            warnings.warn(f"the data does not have the seed words {', '.join(map(repr, unknown[:5]))}", stacklevel=2)
        return PseudoCounts.sparse(sp.csr_array((np.concatenate(values), (rows, cols)), shape=(corpus.n_words, K)))

    def told(self, corpus: Corpus, names: Names, K: int) -> tuple[PseudoCounts | None, HeldWords | None]:
        """What the words add to the prior, and which words are banned from which topics: those that are, and those that
        are pinned to others. The two must not contradict each other."""
        extra, V = self.prior(corpus, names, K), corpus.n_words
        if self.ban is None and self.pin is None:
            return extra, None
        pinned = sp.lil_array(_pairs(self.pin, "pin", names, V, K))
        banned = sp.lil_array(_pairs(self.ban, "ban", names, V, K))
        if sp.csr_array(banned).multiply(pinned).nnz:
            raise ValueError("seeds both bans a word from a topic and pins it there")
        for v in np.unique(pinned.nonzero()[0]):
            banned[v, np.setdiff1d(np.arange(K), pinned.rows[v])] = True
        homeless = np.flatnonzero(np.diff(sp.csr_array(banned).indptr) == K)
        if len(homeless):
            word = homeless[0] if names is None else names[homeless[0]]
            raise ValueError(f"seeds leaves no topic for the word {word!r}")
        held = HeldWords.of(banned, {})
        if extra is not None and held is not None and held.banned.multiply(extra.by_word()).nnz:
            raise ValueError("seeds bans a seed word from its topic")
        return extra, held

    def start(self, extra: PseudoCounts | None, names: Names, V: int, K: int) -> PseudoCounts | None:
        """Words that say where topics start: those of `prior`, and pinned ones."""
        pinned = _pairs(self.pin, "pin", names, V, K)
        if not pinned.nnz:
            return extra
        own = pinned.astype(np.float64)
        return PseudoCounts.sparse(sp.csr_array(own if extra is None else own + extra.by_word()))


def seed_words(seed: object, name: str = "seeds") -> list[Word]:
    """The different words of one topic, checked."""
    if not is_plural(seed):
        raise ValueError(f"{name} needs a list of words for each topic, got {str(seed)[:60]!r}")
    words: list[Word] = []
    for word in seed:
        if not isinstance(word, str) and not is_whole(word):
            raise ValueError(f"a word of {name} is a name or a column number, got {str(word)[:60]!r}")
        words.append(str(word) if isinstance(word, str) else int(word))
    if not words and name in ("seeds", "words"):
        raise ValueError("a seed needs at least one word")
    return list(dict.fromkeys(words))


def known_columns(words: Iterable[Word], names: Names, V: int, of: str) -> list[int]:
    """The columns of words, all of which there must be: a rule that holds for nothing is a mistake."""
    words = list(words)
    columns = columns_of(words, names, V)
    if unknown := [word for word, v in zip(words, columns) if v < 0]:
        listed = ", ".join(map(repr, unknown[:5])) + (" and others" if len(unknown) > 5 else "")
        raise ValueError(f"not among the {V} words of {of}: {listed}{NO_NAMES if names is None else ''}")
    return columns


def _by_topic(given: object, name: str) -> list[list[Word] | None] | None:
    """One list of words, or None, for each topic from the first."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        if not all(is_whole(k) and k >= 0 for k in given):
            raise ValueError(f"{name} has words by topic, such as {{0: ['boat', 'sail']}}, got {str(given)[:60]}")
        given = [given.get(k) for k in range(max(map(int, given), default=-1) + 1)]
    if not is_plural(given):
        raise ValueError(f"{name} is a table {{topic: words}} or a list of lists of words, got {str(given)[:60]!r}")
    by_topic = [None if words is None else seed_words(words, name) for words in given]
    while by_topic and not by_topic[-1]:
        by_topic.pop()
    return by_topic or None


def _pairs(by_topic: list[list[Word] | None] | None, name: str, names: Names, V: int, K: int) -> sp.csr_array:
    """[V, K] bool"""
    by_topic = by_topic or []
    if len(by_topic) > K:
        raise ValueError(f"{name} has words of topic {len(by_topic) - 1}, but there are {K} topics")
    rows, cols = list[int](), list[int]()
    for k, words in enumerate(by_topic):
        places = known_columns(words or [], names, V, f"the data, in {name}")
        rows += places
        cols += [k] * len(places)
    pairs = sp.csr_array((np.ones(len(rows), bool), (rows, cols)), shape=(V, K))
    pairs.sum_duplicates()
    return sp.csr_array(pairs, dtype=bool)
