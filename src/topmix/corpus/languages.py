"""What belongs to a language: its stop words, and its stemmer.

English stop words are scikit-learn's. function_words.txt has the most frequent words of twelve other languages: they
say which languages are in the texts, and are left out by default. Stemmers are those of snowballstemmer:
`pip install 'topmix[languages]'`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from importlib.resources import files

from topmix.base.checks import needed
from topmix.corpus.vocabulary import check_strings

ENGLISH_SHARE = 0.2  # of the tokens of an English text, about 0.4 are stop words; of other texts, under 0.1
PRESENT = 1 / 3  # of the function words of a language, where some texts are in it

_TEXT = (files("topmix.corpus") / "function_words.txt").read_text(encoding="utf-8")
_LISTS = (paragraph.partition(":") for paragraph in _TEXT.split("\n\n")[1:])
FUNCTION_WORDS = {language: words.split() for language, _, words in _LISTS}
_ALSO_ENGLISH = frozenset(FUNCTION_WORDS.pop("also English"))


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> list[str]:
    """The stop words, sorted: a list that is given, or the list of a language."""
    if stop_words is None:
        return []
    if isinstance(stop_words, str):
        if stop_words == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            return sorted(ENGLISH_STOP_WORDS)
        if stop_words not in FUNCTION_WORDS:
            known = ", ".join(("english", *FUNCTION_WORDS))
            raise ValueError(f"stop_words={stop_words!r}: pass a list of words, None, or one of {known}")
        return sorted(FUNCTION_WORDS[stop_words])
    words = set(stop_words)
    check_strings(words, "stop_words")
    return sorted(words)


def looks_english(terms: Iterable[tuple[str, int]]) -> bool:
    """Whether texts with these words and frequencies are English: at least a fifth of the tokens are stop words."""
    stop_words, stopped, total = set(resolve_stop_words("english")), 0, 0
    for term, count in terms:
        total += count
        stopped += count if term.lower() in stop_words else 0
    return total > 0 and stopped >= ENGLISH_SHARE * total


def other_stop_words(words: Container[str], is_english: bool) -> dict[str, list[str]]:
    """Function words, by language, of the languages other than English that some of the texts with these words are in:
    those of which a third of the function words is there."""
    present = {}
    for language, function_words in FUNCTION_WORDS.items():
        telling = [word for word in function_words if len(word) > 1 and word not in _ALSO_ENGLISH]
        if sum(word in words for word in telling) >= PRESENT * len(telling):
            present[language] = [word for word in (telling if is_english else function_words) if word in words]
    return present


def stemmer_of(language: str) -> Callable[[str], str]:
    """A function from a word to its stem."""
    with needed("stemming", "snowballstemmer", "languages"):
        import snowballstemmer
    if language not in snowballstemmer.algorithms():
        known = ", ".join(sorted(snowballstemmer.algorithms()))
        raise ValueError(f"stemmer={language!r}: pass one of {known}, or None")
    return snowballstemmer.stemmer(language).stemWord
