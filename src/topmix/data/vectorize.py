"""Text into counts, in one streaming pass, with CountVectorizer's settings and CountVectorizer's result.

Texts are counted block by block into a native vocabulary that grows as words are seen; rows go to a CorpusBuilder with
provisional ids. Only when the last text is in are words pruned, sorted and renumbered. Memory is the vocabulary plus
one block (plus the rows, where the corpus is built in memory).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from os import PathLike
from typing import Any

import numpy as np

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.store import CorpusBuilder
from topmix.data.tokens import DEFAULT_PATTERN, NativeRule, Tokenizer, Tokens, resolve_stop_words
from topmix.data.vocabulary import check_cut, given_vocabulary, select_terms

BLOCK_CHARS = 1 << 22
BLOCK_TEXTS = 1 << 13
_NO_RULE = NativeRule(bytes(128), 1, False)
_END: Any = object()

Pair = tuple[str | None, str]  # (name, text)


class Vectorizer:
    """Counts the words of texts.

    The parameters are scikit-learn's `CountVectorizer`'s, with its meanings and defaults.

    Parameters
    ----------
    lowercase : bool
        Whether capital letters become small ones first.
    token_pattern : str
        A regular expression. Common ones are matched natively in ASCII text (topmix.data.tokens lists them).
    stop_words : "english", words or None
        Dropped before n-grams are made. "english" is scikit-learn's list.
    ngram_range : (int, int)
        Shortest and longest run of tokens that is a term.
    min_df, max_df : int or float
        Terms in fewer or more documents than this are dropped. An int counts documents, a float is a share of them.
    max_features : int or None
        Keep this many terms, the most frequent.
    vocabulary : words, mapping of word to column, or None
        Count these and no others. Nothing is learned or pruned.
    tokenizer : callable or None
        Makes an iterable of tokens from a text (after `lowercase`), instead of token_pattern.
    strip_accents : {"ascii", "unicode"} or None
        Whether letters lose their accents, and by which of scikit-learn's two ways.

    Attributes
    ----------
    vocabulary_ : list of str
        Terms by column.
    n_unknown_ : int
        Terms of the last `transform` that the vocabulary does not hold; repetitions count.
    """

    def __init__(
        self,
        *,
        lowercase: bool = True,
        token_pattern: str = DEFAULT_PATTERN,
        stop_words: str | Iterable[str] | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        tokenizer: Tokenizer | None = None,
        strip_accents: str | None = None,
    ) -> None:
        self.lowercase = bool(lowercase)
        self.token_pattern = token_pattern
        self.ngram_range = _check_ngram_range(ngram_range)
        self.min_df = check_cut("min_df", min_df)
        self.max_df = check_cut("max_df", max_df)
        if max_features is not None and (isinstance(max_features, bool) or max_features < 1):
            raise ValueError(f"max_features={max_features!r}: give a number of terms, at least 1, or None for all")
        self.max_features = max_features
        self.tokenizer = tokenizer
        self.strip_accents = strip_accents
        self._tokens = Tokens(token_pattern, self.lowercase, strip_accents, tokenizer)
        self._stop_words = resolve_stop_words(stop_words)
        self.stop_words = stop_words if stop_words is None or isinstance(stop_words, str) else self._stop_words
        self.vocabulary = None if vocabulary is None else given_vocabulary(vocabulary)
        if self.vocabulary is not None:
            self.vocabulary_ = self.vocabulary
        self.n_unknown_ = 0

    def fit_transform(
        self, texts: Iterable[str], *, names: Iterable[str] | None = None, out: str | PathLike[str] | None = None
    ) -> Corpus:
        """Learn the vocabulary and count, in one pass over any iterable. With `out`, the corpus is built on disk."""
        return self._fit_pairs(_pairs(texts, names), out)

    def transform(
        self, texts: Iterable[str], *, names: Iterable[str] | None = None, out: str | PathLike[str] | None = None
    ) -> Corpus:
        """Count the words of the vocabulary; others are dropped and `n_unknown_` says how many."""
        if not hasattr(self, "vocabulary_"):
            raise ValueError("this Vectorizer has no vocabulary yet: call fit_transform first, or give it one")
        return self._count(_pairs(texts, names), out, self.vocabulary_)

    def to_dict(self) -> dict[str, Any]:
        """The settings, ready for JSON; a tokenizer only by its name. The vocabulary is the corpus's to keep."""
        named = ("lowercase", "token_pattern", "stop_words", "min_df", "max_df", "max_features", "strip_accents")
        settings: dict[str, Any] = {name: getattr(self, name) for name in named}
        settings["ngram_range"] = list(self.ngram_range)
        settings["tokenizer"] = None if self.tokenizer is None else _qualified_name(self.tokenizer)
        return settings

    @classmethod
    def from_dict(
        cls,
        settings: Mapping[str, Any],
        *,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> Vectorizer:
        """The Vectorizer that `to_dict` described. Settings name a tokenizer of one's own; they cannot carry it."""
        settings = dict(settings)
        wanted = settings.pop("tokenizer", None)
        if wanted is not None and tokenizer is None:
            raise ValueError(f"these settings were made with the tokenizer {wanted!r}: pass it as tokenizer=")
        settings["ngram_range"] = tuple(settings.get("ngram_range", (1, 1)))
        try:
            return cls(**settings, vocabulary=vocabulary, tokenizer=tokenizer)
        except TypeError as error:
            raise ValueError(f"not the settings of a Vectorizer: {error}") from error

    @classmethod
    def of(cls, model: Any, *, tokenizer: Tokenizer | None = None) -> Vectorizer:
        """What cuts new texts into the words of a fitted model, as those were cut that it was fitted on.

        A model that was fitted on counts does not say; then texts are cut by the default pattern.
        """
        words = getattr(model, "feature_names_in_", None)
        if words is None:
            raise ValueError(
                f"this {type(model).__name__} does not know the names of its words, so it cannot read text: it was "
                "fitted on counts without a vocabulary"
            )
        settings = getattr(model, "tokenizer_", None)
        if settings is None:
            settings = {"lowercase": all(word == word.lower() for word in map(str, words))}
        return cls.from_dict(settings, vocabulary=[str(word) for word in words], tokenizer=tokenizer)

    def _fit_pairs(self, pairs: Iterable[Pair], out: str | PathLike[str] | None) -> Corpus:
        return self._count(pairs, out, self.vocabulary)

    def _count(self, pairs: Iterable[Pair], out: str | PathLike[str] | None, vocabulary: list[str] | None) -> Corpus:
        rule = self._tokens.rule or _NO_RULE
        counter = _core.TermCounter(*rule, self.lowercase, self._stop_words, *self.ngram_range, vocabulary)
        meta = {"tokenizer": self.to_dict()}
        with CorpusBuilder(out) as builder:
            for names, texts in _blocks(pairs):
                documents = [self._tokens.document(text) for text in texts]
                builder.append(*counter.count(documents), names=names)
            if vocabulary is not None:
                self.n_unknown_ = counter.n_unknown
                return builder.finish(vocabulary, meta=meta)
            kept = select_terms(counter, self.min_df, self.max_df, self.max_features, bool(self._stop_words))
            remap = np.full(counter.n_terms, -1, np.int32)
            remap[kept] = np.arange(len(kept), dtype=np.int32)
            self.vocabulary_ = counter.terms(kept)
            return builder.finish(self.vocabulary_, remap=remap, meta=meta)


def from_texts(
    texts: Iterable[str], *, out: str | PathLike[str] | None = None, names: Iterable[str] | None = None, **settings: Any
) -> Corpus:
    """A corpus from texts. Settings are `Vectorizer`'s: min_df, max_df, stop_words, ngram_range, token_pattern, ..."""
    return Vectorizer(**settings).fit_transform(texts, names=names, out=out)


def _pairs(texts: Iterable[str], names: Iterable[str] | None) -> Iterator[Pair]:
    if isinstance(texts, str | bytes):
        raise ValueError("texts is a single string; pass an iterable of texts, such as a list with one text in it")
    if names is None:
        return ((None, text) for text in texts)
    return _zip_names(texts, names)


def _zip_names(texts: Iterable[str], names: Iterable[str]) -> Iterator[Pair]:
    for n, (name, text) in enumerate(zip_longest(names, texts, fillvalue=_END)):
        if name is _END or text is _END:
            raise ValueError(f"{'names' if name is _END else 'texts'} ended after {n}; there must be a name per text")
        yield str(name), text


def _blocks(pairs: Iterable[Pair]) -> Iterator[tuple[list[str] | None, list[str]]]:
    """Texts gathered until there is enough work for one native call."""
    names: list[str] = []
    texts: list[str] = []
    chars = 0
    for n, (name, text) in enumerate(pairs):
        if not isinstance(text, str):
            raise TypeError(_not_a_text(n, text))
        texts.append(text)
        if name is not None:
            names.append(name)
        chars += len(text)
        if chars >= BLOCK_CHARS or len(texts) >= BLOCK_TEXTS:
            yield names or None, texts
            names, texts, chars = [], [], 0
    if texts:
        yield names or None, texts


def _not_a_text(n: int, item: object) -> str:
    if isinstance(item, bytes):
        return f"text {n} is bytes: decode it first, for instance with .decode('utf-8')"
    return f"text {n} is not a string but {type(item).__name__}: {item!r:.60}"


def _qualified_name(function: Any) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def _check_ngram_range(ngram_range: tuple[int, int]) -> tuple[int, int]:
    shortest, longest = ngram_range
    if not 1 <= shortest <= longest:
        raise ValueError(f"ngram_range={ngram_range!r}: need 1 <= shortest <= longest")
    return int(shortest), int(longest)
