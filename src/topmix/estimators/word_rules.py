"""Words that may not belong to topics, and words that belong to some topics alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from topmix.estimators.seeding import word_places
from topmix.likelihoods.held_words import HeldWords
from topmix.parameters.component import Component
from topmix.stats import PseudoCounts

NEVER = 1e-25  # share of the prior that a sampler leaves a banned word: no token is ever drawn there


@dataclass(frozen=True, repr=False)
class WordRules(Component):
    """What words have to do with topics, whatever documents say.

    Parameters
    ----------
    ban : dict, list of lists of words or None
        Words that do not belong to a topic, as {topic: words} or as a list with the words of topics 0, 1, ..., where
        None is a topic without. A word is a name, or a column number.
    pin : dict, list of lists of words or None
        Words that belong to this topic and to no other; a word that is pinned to several belongs to those.

    A document whose topics all lack a word still has its tokens in one of them; the topic does not learn it.

    Examples
    --------
    >>> from topmix import LDA, WordRules
    >>> texts = ["apples and pears", "pears and plums", "ships and sails", "sails and masts"] * 10
    >>> lda = LDA(2, word_rules=WordRules(pin={1: ["sails"]}, ban={1: ["plums"]}), random_state=0).fit(texts)
    >>> lda.top_words(1)[1]
    ['sails']
    """

    ban: Any = None
    pin: Any = None

    def check(self) -> None:
        for name in ("ban", "pin"):
            object.__setattr__(self, name, _by_topic(getattr(self, name), name))

    def pinned(self, names: Any, V: int, K: int) -> sp.csr_array:
        """[V, K] bool: words and the topics that they are pinned to."""
        return _pairs(self.pin, "pin", names, V, K)

    def held(self, names: Any, V: int, K: int) -> HeldWords | None:
        """The rules for these words and topics."""
        pinned = sp.lil_array(self.pinned(names, V, K))
        banned = sp.lil_array(_pairs(self.ban, "ban", names, V, K))
        if sp.csr_array(banned).multiply(pinned).nnz:
            raise ValueError("word_rules both bans a word from a topic and pins it there")
        for v in np.unique(pinned.nonzero()[0]):
            banned[v, np.setdiff1d(np.arange(K), pinned.rows[v])] = True
        homeless = np.flatnonzero(np.diff(sp.csr_array(banned).indptr) == K)
        if len(homeless):
            word = homeless[0] if names is None else names[homeless[0]]
            raise ValueError(f"word_rules leaves no topic for the word {word!r}")
        return HeldWords.of(banned, {})


def start_words(extra: PseudoCounts | None, pinned: sp.csr_array) -> PseudoCounts | None:
    """Words that say where topics start: seeds and pinned words."""
    if not pinned.nnz:
        return extra
    own = pinned.astype(np.float64)
    return PseudoCounts.sparse(sp.csr_array(own if extra is None else own + extra.by_word()))


def check_seeds_are_allowed(seeds: PseudoCounts | None, held: HeldWords | None) -> None:
    if seeds is not None and held is not None and held.banned.multiply(seeds.by_word()).nnz:
        raise ValueError("word_rules bans a seed word from its topic")


def without_words(eta: np.ndarray, held: HeldWords) -> np.ndarray:
    """[V, K] prior counts for samplers, which take them in one array: next to nothing where a word is banned."""
    prior = np.array(np.broadcast_to(eta, held.banned.shape))
    prior[held.pairs()] *= NEVER
    return prior


def _by_topic(given: Any, name: str) -> list[list[str | int] | None] | None:
    """One list of words, or None, for each topic from the first."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        if not all(isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 0 for k in given):
            raise ValueError(f"{name} has words by topic, such as {{0: ['boat', 'sail']}}, got {str(given)[:60]}")
        given = [given.get(k) for k in range(max(map(int, given), default=-1) + 1)]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{name} is a table {{topic: words}} or a list of lists of words, got {str(given)[:60]!r}")
    found: list[list[str | int] | None] = []
    for words in given:
        if words is not None and (isinstance(words, str) or not isinstance(words, Iterable)):
            raise ValueError(f"{name} needs a list of words for each topic, got {str(words)[:60]!r}")
        found.append(None if words is None else [_word(word, name) for word in words])
    while found and not found[-1]:
        found.pop()
    return found or None


def _word(word: Any, name: str) -> str | int:
    if isinstance(word, str):
        return str(word)
    if isinstance(word, int | np.integer) and not isinstance(word, bool):
        return int(word)
    raise ValueError(f"a word of {name} is a name or a column number, got {str(word)[:60]!r}")


def _pairs(by_topic: Any, name: str, names: Any, V: int, K: int) -> sp.csr_array:
    """[V, K] bool. A word that the data does not have is an error: a rule that holds for nothing is a mistake."""
    rows: list[int] = []
    cols: list[int] = []
    if len(by_topic or ()) > K:
        raise ValueError(f"{name} has words of topic {len(by_topic) - 1}, but there are {K} topics")
    for k, words in enumerate(by_topic or ()):
        places = word_places(words or [], names, V)
        unknown = [word for word, v in zip(words or [], places) if v < 0]
        if unknown:
            hint = " (the data has no names of words: give column numbers)" if names is None else ""
            raise ValueError(f"the data does not have {', '.join(map(repr, unknown[:5]))} of {name}{hint}")
        rows += places
        cols += [k] * len(places)
    pairs = sp.csr_array((np.ones(len(rows), bool), (rows, cols)), shape=(V, K))
    pairs.sum_duplicates()
    return sp.csr_array(pairs, dtype=bool)
