"""Names of topics: made from distinctive words, or given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from topmix.estimators.topic_view import TopicView
from topmix.files.reader import ModelFileError

RELEVANCE = 0.6  # the weight of a word's probability against its lift; Sievert and Shirley (2014) found it best
WORDS_PER_NAME = 3
LONGEST = 200  # characters of a name
EMPTY = "(empty)"
_ENDINGS = {
    "",
    "s",
    "es",
    "e",
    "ed",
    "d",
    "ing",
    "ings",
    "er",
    "ers",
    "r",
    "rs",
    "ly",
    "y",
    "ies",
    "ied",
    "n",
    "ns",
    "en",
}


def same_form(a: str, b: str) -> bool:
    """Whether two words are forms of one: "network" and "networks". They share four letters or more, and what is
    left of each is a common ending."""
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    return any(a[n:] in _ENDINGS and b[n:] in _ENDINGS for n in range(max(4, shared - 1), shared + 1))


def distinct(words: Iterable[str], n: int) -> list[str]:
    """The first n words, without other forms of those before."""
    kept: list[str] = []
    for word in words:
        if len(kept) == n:
            break
        if not any(same_form(word, other) for other in kept):
            kept.append(word)
    return kept


def relevant_words(view: TopicView, n: int, relevance: float = RELEVANCE) -> list[list[str]]:
    """The most relevant words of each topic, without other forms of the same word; none of an empty topic."""
    top = view.top(min(2 * n + 5, len(view.words)), relevance)
    return [[] if empty else distinct(view.words_of(ids), n) for ids, empty in zip(top, view.is_empty())]


def checked_name(name: Any) -> str:
    """A name on one line, not empty and not too long."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST:
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
