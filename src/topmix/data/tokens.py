r"""Tokenization: the settings that cut a text into words, and the patterns that the native counter supports.

`Tokenization.documents` leaves a text as it is if the text is ASCII and `TermCounter` supports the pattern. Otherwise
it makes the tokens that Python's `lower()` and `re` give. Both ways give the result of CountVectorizer.

A native pattern is one character class C, repeated as `C+`, `CC+`, `C{m,}` and so on. C is `\w`, or a bracket without
escapes except \w \W \d \D \s \S. `(?u)` may come first. Two `\b` may surround C if C holds only word characters:

    (?u)\b\w\w+\b    \w{3,}    [a-z]{3,}    \b[a-zA-Z]+\b    [^\W\d_]{2,}    [a-z_-]+
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Tokenizer = Callable[[str], Iterable[str]]

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"  # as in scikit-learn: two or more letters, digits or underscores
_ASCII = [chr(c) for c in range(128)]
_NATIVE = re.compile(
    r"""(?:\(\?u\))? (?P<left>\\b)?
        (?P<char> \\w | \[ (?: [^\[\]\\&|~] | \\[wWdDsS] )+ \] ) (?P<more> (?:(?P=char))* )
        (?: \+ | \{ (?P<least>\d+) ,\} ) (?P<right>\\b)?""",
    re.VERBOSE,
)


class NativeRule(NamedTuple):
    """A token pattern in the form that the native counter takes."""

    chars: bytes  # [128] 1 for each ASCII character that a token may hold
    min_length: int
    whole_words: bool  # the pattern has \b on both sides


def native_rule(pattern: str) -> NativeRule | None:
    """The rule with which the native counter cuts ASCII text as the pattern does, or None if there is none."""
    parts = _NATIVE.fullmatch(pattern)
    if parts is None:
        return None
    char = parts["char"]
    # `re` decides which characters the class holds, so that no parser of brackets is needed here.
    chars = bytes(re.fullmatch(char, c) is not None for c in _ASCII)
    min_length = len(parts["more"]) // len(char) + int(parts["least"] or 1)
    word = bytes(re.fullmatch(r"\w", c) is not None for c in _ASCII)
    if chars[0] or min_length < 1:
        return None
    if chars == word:  # the longest run of word characters always ends at \b
        return NativeRule(chars, min_length, False)
    bounds = (parts["left"] is not None) + (parts["right"] is not None)
    if bounds == 0:
        return NativeRule(chars, min_length, False)
    within_words = all(w for c, w in zip(chars, word) if c)  # otherwise \b lets `re` backtrack into the run
    return NativeRule(chars, min_length, True) if bounds == 2 and within_words else None


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> list[str]:
    """The stop words, sorted. "english" is the list of scikit-learn."""
    if stop_words is None:
        return []
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ValueError(f'stop_words={stop_words!r}: pass "english", a list of words or None')
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)
    words = list(stop_words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words holds {word!r}, which is not a string")
    return sorted(set(words))


class Tokenization:
    """Cuts texts into tokens, by a pattern or by the tokenizer of the user."""

    def __init__(self, token_pattern: str, lowercase: bool, strip_accents: str | None, tokenizer: Tokenizer | None):
        self.lowercase = lowercase
        self.accents = _accent_stripper(strip_accents)
        self.cut: Tokenizer
        self.rule = None
        if tokenizer is not None:
            self.cut = tokenizer
            return
        try:
            pattern = re.compile(token_pattern)
        except re.error as error:
            raise ValueError(f"token_pattern={token_pattern!r} is not a regular expression: {error}") from error
        if pattern.groups > 1:  # findall would return tuples
            raise ValueError(
                f"token_pattern={token_pattern!r} has more than one capturing group; write (?:...) instead of (...)"
            )
        self.cut = pattern.findall
        self.rule = native_rule(token_pattern)

    def documents(self, texts: list[str]) -> Sequence[str | list[str]]:
        """The argument of TermCounter.count for these texts. The counter removes stop words and makes n-grams."""
        if self.rule is None:
            return [self.tokens(text) for text in texts]
        if all(map(str.isascii, texts)):
            return texts
        return [text if text.isascii() else self.tokens(text) for text in texts]

    def tokens(self, text: str) -> list[str]:
        if self.lowercase:
            text = text.lower()
        if self.accents is not None:
            text = self.accents(text)
        return list(self.cut(text))


def _accent_stripper(strip_accents: str | None) -> Callable[[str], str] | None:
    if strip_accents is None:
        return None
    from sklearn.feature_extraction.text import strip_accents_ascii, strip_accents_unicode

    known: dict[str, Callable[[str], str]] = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}
    if strip_accents not in known:
        raise ValueError(f'strip_accents={strip_accents!r}: pass "ascii", "unicode" or None')
    return known[strip_accents]
