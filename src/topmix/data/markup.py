r"""What is written for machines and not for readers: HTML, LaTeX, addresses, numbers, symbols. `Vectorizer(clean=True)`
leaves it out, and so do fits of texts by default.

Every pattern takes time that is linear in the text, for texts come from anywhere.
"""

from __future__ import annotations

import html
import re
import unicodedata

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
        text = _TAG.sub(" ", _without_scripts(text))
    if "&" in text:
        text = html.unescape(text)
    if "://" in text or "www." in text or "WWW." in text:
        text = _URL.sub(" ", text)
    if "@" in text:
        text = _EMAIL.sub(" ", text)
    if "\\" in text:
        text = _COMMAND.sub(" ", _ACCENT.sub(_accented, text))
    return _ET_AL.sub(" ", text) if "et al" in text else text


def is_number(token: str) -> bool:
    """Whether a token has no letter: digits and underscores alone."""
    return _LETTER.search(token) is None


def is_symbol(token: str) -> bool:
    """Whether a token has an underscore at an end or beside a single character, as in formulas: `l_`, `_g`, `k_eff`.
    `new_york` and `max_iter` are words."""
    return "_" in token and any(len(part) < 2 for part in token.split("_"))


def _without_scripts(text: str) -> str:
    """Without scripts and style sheets, which no reader sees."""
    kept, at = [], 0
    while (found := _SCRIPT.search(text, at)) is not None:
        end = re.compile(rf"</{found[1]}\s{{0,9}}>", re.IGNORECASE).search(text, found.end())
        if end is None:
            break
        kept.append(text[at : found.start()])
        at = end.end()
    return " ".join([*kept, text[at:]]) if kept else text


def _accented(found: re.Match[str]) -> str:
    accent, letter = (group for group in found.groups() if group is not None)
    return unicodedata.normalize("NFC", letter + _COMBINING[accent])
