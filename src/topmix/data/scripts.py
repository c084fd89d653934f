"""Scripts that write no spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.

A run of their characters is cut into pairs of neighbours, as search engines do without a dictionary: "国际象棋" is
国际, 际象, 象棋. Other words are those of the default pattern. One regular expression says it all: a look-ahead finds
pairs that overlap, and a word where no letter of it stands before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

UNSPACED = (
    "\u3005\u3041-\u3096\u3099\u309a\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3"  # Burmese, Khmer
)
_WORD = rf"[^\W{UNSPACED}]"
PAIRS_PATTERN = rf"(?=([{UNSPACED}]{{2}}|(?<!{_WORD}){_WORD}{{2,}}))"
has_unspaced = re.compile(f"[{UNSPACED}]").search
find_pairs = re.compile(PAIRS_PATTERN).findall
_runs = re.compile(f"[{UNSPACED}]+").findall


def are_unspaced(texts: Iterable[object]) -> bool:
    """Whether at least a fifth of the characters of these texts are written without spaces."""
    plain = [text for text in texts if isinstance(text, str)]
    found = sum(len(run) for text in plain if not text.isascii() for run in _runs(text))
    return found > 0 and 5 * found >= sum(map(len, plain))
