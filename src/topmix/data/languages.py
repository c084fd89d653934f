"""What belongs to a language: its stop words, and its stemmer.

English stop words are scikit-learn's. Those of 57 other languages are in the package stopwordsiso, and stemmers of 30
in snowballstemmer: `pip install 'topmix[languages]'`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

ENGLISH_SHARE = 0.2  # of the tokens of an English text, about 0.4 are stop words; of other texts, under 0.1
CODES = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "bengali": "bn", "bulgarian": "bg", "catalan": "ca",
    "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "estonian": "et", "finnish": "fi",
    "french": "fr", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu",
    "indonesian": "id", "irish": "ga", "italian": "it", "japanese": "ja", "korean": "ko", "latvian": "lv",
    "lithuanian": "lt", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro",
    "russian": "ru", "slovak": "sk", "slovenian": "sl", "spanish": "es", "swedish": "sv", "thai": "th",
    "turkish": "tr", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",
}  # fmt: skip


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> list[str]:
    """The stop words, sorted: a list that is given, or the list of a language."""
    if stop_words is None:
        return []
    if isinstance(stop_words, str):
        return _stop_words_of(stop_words)
    words = list(stop_words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words holds {word!r}, which is not a string")
    return sorted(set(words))


def looks_english(terms: Iterable[tuple[str, int]]) -> bool:
    """Whether texts with these words and frequencies are English: at least a fifth of the tokens are stop words."""
    stop_words, stopped, total = set(_stop_words_of("english")), 0, 0
    for term, count in terms:
        total += count
        stopped += count if term.lower() in stop_words else 0
    return total > 0 and stopped >= ENGLISH_SHARE * total


def stemmer_of(language: str) -> Callable[[str], str]:
    """A function from a word to its stem."""
    try:
        import snowballstemmer
    except ImportError as error:
        raise ImportError("stemming needs the package snowballstemmer: pip install 'topmix[languages]'") from error
    if language not in snowballstemmer.algorithms():
        raise ValueError(
            f"stemmer={language!r}: pass one of {', '.join(sorted(snowballstemmer.algorithms()))}, or None"
        )
    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem


def _stop_words_of(language: str) -> list[str]:
    if language == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)
    code = CODES.get(language.lower(), language)
    try:
        import stopwordsiso
    except ImportError as error:
        if code not in CODES.values():
            raise ValueError(f'stop_words={language!r}: pass "english", another language or a list of words') from error
        raise ImportError(
            f"the stop words of {language!r} are in the package stopwordsiso: pip install 'topmix[languages]'; or pass "
            'a list of words, or "english"'
        ) from error
    if not stopwordsiso.has_lang(code):
        raise ValueError(
            f'stop_words={language!r} is not a language with a list: pass "english", a list of words, None, or one of '
            f"{', '.join(sorted(CODES))}"
        )
    return sorted(stopwordsiso.stopwords(code))
