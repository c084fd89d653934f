"""Tokenization: the settings that cut a text into words, and the patterns that the native counter supports.

`Tokenization.documents` leaves a text as it is if the text is ASCII and `TermCounter` supports the pattern. Otherwise
it makes the tokens that Python's `lower()` and `re` give. Both ways give the result of CountVectorizer.

A native pattern is one character class C, repeated as `C+`, `CC+`, `C{m,}` and so on. C is `\\w`, or a bracket without
escapes except \\w \\W \\d \\D \\s \\S. `(?u)` may come first. Two `\\b` may surround C if C holds only word characters:

    (?u)\\b\\w\\w+\\b    \\w{3,}    [a-z]{3,}    \\b[a-zA-Z]+\\b    [^\\W\\d_]{2,}    [a-z_-]+

The pattern "auto" is the default one, and pairs of characters in scripts that write no spaces between words: Chinese,
Japanese, Thai, Lao, Khmer, Burmese. A run of their characters is cut into pairs of neighbours, as search engines do
without a dictionary: "国际象棋" is 国际, 际象, 象棋. In ASCII text the two patterns are the same.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

# What is written for machines and not for readers: HTML, LaTeX, addresses, numbers, symbols. `Vectorizer(clean=True)`
# leaves it out, and so do fits of texts by default.
#
# Every pattern takes time that is linear in the text, for texts come from anywhere.

_COMBINING = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307"}
_COMBINING |= {"v": "\u030c", "c": "\u0327", "H": "\u030b", "u": "\u0306", "k": "\u0328", "r": "\u030a"}
_TAG = re.compile(r"<[a-zA-Z][\w:-]*\s*/?>|<[a-zA-Z][\w:-]*\s[^<>=]*=[^<>]*>|</[a-zA-Z][\w:-]*\s*>|<![^<>]*>")
_SCRIPT = re.compile(r"<(script|style)\b[^<>]*>", re.IGNORECASE)
_URL = re.compile(r"\b(?:[a-z][a-z0-9+.-]{0,20}://|www\.)[^\s<>\"{}|\\^`]+", re.IGNORECASE)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
# An accent stands after a letter or a brace: \" after a space begins a quotation, and \'s is no accent.
_ACCENT = re.compile(
    r"""(?: (?<=[a-zA-Z]) | \{ ) \\(?:
        (["`^~=.]) \{? \\? ([a-zA-Z]) \}? | (') \{? \\? ([aeiouyzcnAEIOUYZCN]) \}?
        | ([vcHukr]) \{ ([a-zA-Z]) \} ) \}?""",
    re.VERBOSE,
)
_COMMAND = re.compile(
    r"\\(?:begin|end|label|ref|eqref|cite[a-z]*|bibliography|includegraphics|usepackage|documentclass)"
    r"(?:\[[^\[\]{}]*\])?\{[^{}]*\} | \\[a-zA-Z]+",
    re.VERBOSE,
)
_ET_AL = re.compile(r"\bet\s{1,9}al\b", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")


def without_markup(text: str) -> str:
    r"""The text without tags and entities of HTML, URLs, e-mail addresses, LaTeX commands, and "et al.".

    Words between tags and the arguments of most commands stay: `<b>sea</b>` and `\emph{sea}` are "sea". Accents become
    letters: `Schr\"odinger` is "Schrödinger".
    """
    if "<" in text:
        kept, at = [], 0
        while (begin := _SCRIPT.search(text, at)) is not None:  # scripts and style sheets, which no reader sees
            end = re.compile(rf"</{begin[1]}\s{{0,9}}>", re.IGNORECASE).search(text, begin.end())
            if end is None:
                break
            kept.append(text[at : begin.start()])
            at = end.end()
        text = _TAG.sub(" ", " ".join([*kept, text[at:]]))
    if "&" in text:
        text = html.unescape(text)
    if "://" in text or "www." in text or "WWW." in text:
        text = _URL.sub(" ", text)
    if "@" in text:
        text = _EMAIL.sub(" ", text)
    if "\\" in text:

        def letter(match: re.Match[str]) -> str:
            accent, base = (group for group in match.groups() if group is not None)
            return unicodedata.normalize("NFC", base + _COMBINING[accent])

        text = _COMMAND.sub(" ", _ACCENT.sub(letter, text))
    return _ET_AL.sub(" ", text) if "et al" in text else text


def is_number(token: str) -> bool:
    """Whether a token has no letter: digits and underscores alone."""
    return _LETTER.search(token) is None


def is_symbol(token: str) -> bool:
    """Whether a token has an underscore at an end or beside a single character, as in formulas: `l_`, `_g`, `k_eff`.
    `new_york` and `max_iter` are words."""
    return "_" in token and any(len(part) < 2 for part in token.split("_"))


Tokenizer = Callable[[str], Iterable[str]]

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"  # as in scikit-learn: two or more letters, digits or underscores
AUTO_PATTERN = "auto"  # the same, and pairs of characters in scripts without spaces
MOST_STEMS = 1 << 20
_ASCII = [chr(c) for c in range(128)]
_NATIVE = re.compile(
    r"""(?:\(\?u\))? (?P<left>\\b)?
        (?P<char> \\w | \[ (?: [^\[\]\\&|~] | \\[wWdDsS] )+ \] ) (?P<more> (?:(?P=char))* )
        (?: \+ | \{ (?P<least>\d+) ,\} ) (?P<right>\\b)?""",
    re.VERBOSE,
)
UNSPACED = (
    "\u3005\u3041-\u3096\u3099\u309a\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3"  # Burmese, Khmer
)
_WORD = rf"[^\W{UNSPACED}]"
# A look-ahead finds pairs that overlap, and a word where no letter of it stands before.
PAIRS_PATTERN = rf"(?=([{UNSPACED}]{{2}}|(?<!{_WORD}){_WORD}{{2,}}))"
has_unspaced = re.compile(f"[{UNSPACED}]").search
find_pairs = re.compile(PAIRS_PATTERN).findall
_find_words = re.compile(DEFAULT_PATTERN).findall
_runs = re.compile(f"[{UNSPACED}]+").findall


class NativeRule(NamedTuple):
    """A token pattern in the form that the native counter takes."""

    chars: bytes  # [128] 1 for each ASCII character that a token may hold
    min_length: int
    whole_words: bool  # the pattern has \b on both sides


NO_RULE = NativeRule(bytes(128), 1, False)  # finds no token in a text: tokens are given


@lru_cache(maxsize=64)
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
    bounds = (parts["left"] is not None) + (parts["right"] is not None)
    if bounds == 0 or chars == word:  # the longest run of word characters always ends at \b
        return NativeRule(chars, min_length, False)
    within_words = all(w for c, w in zip(chars, word) if c)  # otherwise \b lets `re` backtrack into the run
    return NativeRule(chars, min_length, True) if bounds == 2 and within_words else None


class Tokenization:
    """Cuts texts into tokens, by a pattern or by the tokenizer of the user."""

    def __init__(
        self,
        token_pattern: str,
        lowercase: bool,
        strip_accents: str | None,
        tokenizer: Tokenizer | None,
        stem: Callable[[str], str] | None = None,
        stop_words: Iterable[str] = (),
        clean: bool = False,
    ):
        """With `stem`, words become stems here, after the stop words are dropped. `clean` leaves out mark-up."""
        self.lowercase, self.clean = lowercase, clean
        self.accents: Callable[[str], str] | None = None
        if strip_accents is not None:
            from sklearn.feature_extraction import text

            if strip_accents not in ("ascii", "unicode"):
                raise ValueError(f'strip_accents={strip_accents!r}: pass "ascii", "unicode" or None')
            self.accents = text.strip_accents_ascii if strip_accents == "ascii" else text.strip_accents_unicode
        # Stems of many words are kept, and not of all, for a service may meet new words for ever.
        self.stem, self.stopped = stem and lru_cache(MOST_STEMS)(stem), frozenset(stop_words)
        self.cut: Tokenizer
        if tokenizer is not None:
            self.cut, rule = tokenizer, None
        elif token_pattern == AUTO_PATTERN:
            self.cut, rule = words_or_pairs, native_rule(DEFAULT_PATTERN)
        else:
            try:
                pattern = re.compile(token_pattern)
            except (re.error, RecursionError, OverflowError) as error:
                raise ValueError(f"token_pattern={token_pattern!r} is not a regular expression: {error}") from error
            if pattern.groups > 1:  # findall would return tuples
                raise ValueError(f"token_pattern={token_pattern!r} has more than one capturing group; write (?:...)")
            self.cut, rule = pattern.findall, native_rule(token_pattern)
        self.rule = rule if stem is None else None

    def documents(self, texts: Sequence[str | list[str]]) -> Sequence[str | list[str]]:
        """The argument of TermCounter.count for these texts. The counter removes stop words and makes n-grams. Tokens
        of the user, a list, are counted as they are."""
        if self.clean:
            texts = [without_markup(text) if isinstance(text, str) else text for text in texts]
        native = self.rule is not None
        return [self.tokens(t) if isinstance(t, str) and not (native and t.isascii()) else t for t in texts]

    def tokens(self, text: str) -> list[str]:
        if self.lowercase:
            text = text.lower()
        if self.accents is not None:
            text = self.accents(text)
        if self.stem is None:
            return list(self.cut(text))
        stems = (self.stem(word) for word in self.cut(text) if word not in self.stopped)
        return [stem for stem in stems if stem]


def words_or_pairs(text: str) -> list[str]:
    return find_pairs(text) if has_unspaced(text) else _find_words(text)  # the second is several times faster


def are_unspaced(texts: Iterable[object]) -> bool:
    """Whether at least a fifth of the characters of these texts are written without spaces."""
    plain = [text for text in texts if isinstance(text, str)]
    unspaced = sum(len(run) for text in plain if not text.isascii() for run in _runs(text))
    return unspaced > 0 and 5 * unspaced >= sum(map(len, plain))
