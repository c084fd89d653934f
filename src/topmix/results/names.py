"""Names of topics: made from distinctive words, or given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topmix.base.fields import ModelFileError
from topmix.models.sparse_counts import blocks
from topmix.models.topic_words import TopicWords
from topmix.results.measures import top_ids
from topmix.results.view import LEAST_TOKENS, TopicView

# The weight of a word's probability against its lift, wherever words are shown: docs/evidence.md has what was measured.
RELEVANCE = 0.8
WORDS_PER_NAME = 3
LONGEST = 200  # characters of a name
SURROGATES = re.compile("[\ud800-\udfff]")
EMPTY = "(empty)"
_ENDINGS = {
    "", "s", "es", "e", "ed", "d", "ing", "ings", "er", "ers", "r", "rs", "ly", "y", "ies", "ied", "n", "ns", "en",
}  # fmt: skip
LONGEST_ENDING = max(map(len, _ENDINGS))


def same_form(a: str, b: str) -> bool:
    """Whether two words are forms of one: "network" and "networks". They share four letters or more, and what is
    left of each is a common ending."""
    least = max(4, len(a) - LONGEST_ENDING, len(b) - LONGEST_ENDING)
    if min(len(a), len(b)) < least or a[:least] != b[:least]:
        return False
    shared = least
    while shared < min(len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    return any(a[n:] in _ENDINGS and b[n:] in _ENDINGS for n in range(max(4, shared - 1), shared + 1))


def distinct(words: Iterable[str], n: int) -> list[str]:
    """The first n words, without other forms of those before."""
    kept: list[str] = []
    beginnings: dict[str, list[str]] = {}  # four letters are shared by all forms of a word
    for word in words:
        if len(kept) == n:
            break
        alike = beginnings.setdefault(word[:4], [])
        if not any(same_form(word, other) for other in alike):
            kept.append(word)
            alike.append(word)
    return kept


def relevant_words(view: TopicView, n: int, relevance: float = RELEVANCE) -> list[list[str]]:
    """The most relevant words of each topic, without other forms of the same word; none of an empty topic."""
    return [[view.words[v] for v in ids] for ids in relevant_ids(view, n, relevance)]


def relevant_words_of(view: TopicView, topic: np.ndarray, n: int, relevance: float = RELEVANCE) -> list[str]:
    """The same of one distribution over the words [V]."""
    best = top_ids(view.relevance(topic, relevance)[None], candidates(n, len(view.words)))[0]
    return distinct(view.words_of(best), n)


def relevant_ids(view: TopicView, n: int, relevance: float = RELEVANCE) -> list[list[int]]:
    """The same as columns."""
    top = view.top(candidates(n, len(view.words)), relevance)
    places = [dict(zip(view.words_of(ids), ids.tolist())) for ids in top]
    return [
        [] if empty else [place[word] for word in distinct(place, n)] for place, empty in zip(places, view.is_empty())
    ]


def candidates(n: int, V: int) -> int:
    """How many of the best words are looked at for n words that are no forms of each other."""
    return min(2 * n + 5, V)


def best_words(words: TopicWords, names: Sequence[str], most: int, relevance: float = RELEVANCE) -> list[list[str]]:
    """The most relevant words of each topic; none of an empty one. The words that `relevant_words` begins with, without
    an array of topics times words: a few words at a time, each topic keeping its best."""
    V, K = words.shape
    sizes = np.maximum(words.total.totals, 0.0)
    share = sizes / sizes.sum() if sizes.sum() > 0 else np.full(K, 1.0 / K)
    smoothed = words if words.smoothing is None else replace(words, eta=np.full((1, 1), words.smoothing))
    norm = smoothed.norm()[:, None]
    best, ids = np.full((K, most), -np.inf), np.zeros((K, most), np.int64)  # best first
    for part in blocks(V, K):
        p = smoothed.of_words(np.arange(part.start, part.stop)).pseudo_counts() / norm  # [K, words]
        with np.errstate(divide="ignore"):
            found = np.log(p) - (1.0 - relevance) * np.log(np.maximum(share @ p, 1e-300))
        is_better = np.maximum(found, -1e9, out=found) > best[:, -1:]
        for k in np.flatnonzero(is_better.any(axis=1)).tolist():
            new = np.flatnonzero(is_better[k])
            values, of_values = np.append(best[k], found[k, new]), np.append(ids[k], part.start + new)
            order = np.argsort(-values, kind="stable")[:most]  # of equals, the first word
            best[k], ids[k] = values[order], of_values[order]
    is_empty = sizes < LEAST_TOKENS if sizes.sum() > 0 else share <= 0
    return [[] if is_empty[k] else [names[v] for v in ids[k].tolist()] for k in range(K)]


def checked_name(name: object) -> str:
    """A name on one line, not empty and not too long. Half of a surrogate pair is no character: no page shows it."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST or SURROGATES.search(name):
        raise ValueError(f"the name of a topic is a string of 1 to {LONGEST} characters, got {str(name)[:60]!r}")
    return re.sub(r"\s+", " ", name.strip())


def checked_topic_names(pairs: Any) -> dict[int, str]:
    """{topic: name} from a file."""
    try:
        names = {int(k): checked_name(name) for k, name in pairs}
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"'topic_names' is not a list of topics and their names: {error}") from error
    if any(k < 0 for k in names):
        raise ModelFileError("'topic_names' has a negative topic")
    return names
