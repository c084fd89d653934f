"""Text to counts in one streaming pass, with the settings and the results of scikit-learn's CountVectorizer.

Texts are counted block by block. A native vocabulary grows with each new word, and the rows go to a CorpusBuilder with
temporary word ids. After the last text, the words are pruned, sorted and renumbered. Memory holds the vocabulary and
one block of texts, and the rows if the corpus is built in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from os import PathLike
from typing import Any

import numpy as np

from topmix import _core
from topmix.data.builder import CorpusBuilder
from topmix.data.corpus import Corpus
from topmix.data.tokens import DEFAULT_PATTERN, NativeRule, Tokenization, Tokenizer, resolve_stop_words
from topmix.data.vocabulary import check_cut, given_vocabulary, packed_terms, select_terms
from topmix.numerics.threads import threads

BLOCK_CHARS = 1 << 24  # enough for many threads
BLOCK_TEXTS = 1 << 15
RUN_TEXTS = 32
_NO_RULE = NativeRule(bytes(128), 1, False)
_END: Any = object()

Document = tuple[str, str]  # (name, text)
Blocks = Iterator[tuple[list[str] | None, list[str]]]  # (names, texts)


class Vectorizer:
    """Counts the words of texts.

    The parameters have the meaning and the defaults of `CountVectorizer` in scikit-learn.

    Parameters
    ----------
    lowercase : bool
        Whether to convert the text to lower case first.
    token_pattern : str
        A regular expression that matches a token. Common patterns run natively (topmix.data.tokens lists them).
    stop_words : "english", words or None
        Words to drop before n-grams are made. "english" is the list of scikit-learn.
    ngram_range : (int, int)
        Smallest and largest number of consecutive tokens in a term.
    min_df : int or float
        Drop terms that are in fewer documents; an int is a number, a float a share of the documents.
    max_df : int or float
        Drop terms that are in more documents; an int is a number, a float a share of the documents.
    max_features : int or None
        Number of terms to keep; the most frequent terms are kept.
    vocabulary : words, mapping of word to column, or None
        Count only these words. No vocabulary is learned, and min_df, max_df and max_features have no effect.
    tokenizer : callable or None
        A function from a text (after `lowercase`) to its tokens, used instead of token_pattern.
    strip_accents : {"ascii", "unicode"} or None
        How to remove accents, as in scikit-learn. None keeps them.

    Attributes
    ----------
    vocabulary_ : sequence of str
        The terms in the order of their columns.
    n_unknown_ : int
        Number of terms in the last `transform` that are not in the vocabulary, with repetitions.
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
            raise ValueError(f"max_features={max_features!r}: pass a number of terms, at least 1, or None for all")
        self.max_features = max_features
        self.tokenizer = tokenizer
        self.strip_accents = strip_accents
        self._tokenization = Tokenization(token_pattern, self.lowercase, strip_accents, tokenizer)
        self._stop_words = resolve_stop_words(stop_words)
        self.stop_words = stop_words if stop_words is None or isinstance(stop_words, str) else self._stop_words
        self.vocabulary = None if vocabulary is None else given_vocabulary(vocabulary)
        if self.vocabulary is not None:
            self.vocabulary_: Sequence[str] = self.vocabulary
        self.n_unknown_ = 0

    def fit_transform(
        self, texts: Iterable[str], *, names: Iterable[str] | None = None, out: str | PathLike[str] | None = None
    ) -> Corpus:
        """Learn the vocabulary and count the words, in one pass. With `out`, the corpus is built in that file."""
        return self._count(_text_blocks(texts, names), out, self.vocabulary)

    def transform(
        self, texts: Iterable[str], *, names: Iterable[str] | None = None, out: str | PathLike[str] | None = None
    ) -> Corpus:
        """Count the words of the vocabulary. Other words are dropped, and `n_unknown_` is their number."""
        if not hasattr(self, "vocabulary_"):
            raise ValueError("this Vectorizer has no vocabulary: call fit_transform first, or pass vocabulary=")
        return self._count(_text_blocks(texts, names), out, self.vocabulary_)

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON can hold them, without the vocabulary. A tokenizer is represented by its name."""
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
        """The Vectorizer with the settings of `to_dict`. A tokenizer function must be passed again."""
        settings = dict(settings)
        wanted = settings.pop("tokenizer", None)
        if wanted is not None and tokenizer is None:
            raise ValueError(f"the texts were cut by the tokenizer {wanted!r}: pass it as tokenizer=")
        settings["ngram_range"] = tuple(settings.get("ngram_range", (1, 1)))
        try:
            return cls(**settings, vocabulary=vocabulary, tokenizer=tokenizer)
        except TypeError as error:
            raise ValueError(f"these are not the settings of a Vectorizer: {error}") from error

    @classmethod
    def of(cls, model: Any, *, tokenizer: Tokenizer | None = None) -> Vectorizer:
        """The Vectorizer that cuts new texts into the words of a fitted model.

        It uses the settings with which the training texts were cut. A model that was fitted on counts does not store
        such settings; then the default pattern is used.
        """
        words = getattr(model, "feature_names_in_", None)
        if words is None:
            raise ValueError(
                f"this {type(model).__name__} was fitted on counts without a vocabulary, so it cannot read text: fit "
                "it on texts, a Corpus with a vocabulary or a DataFrame"
            )
        settings = getattr(model, "tokenizer_", None)
        if settings is None:
            settings = {"lowercase": all(word == word.lower() for word in map(str, words))}
        return cls.from_dict(settings, vocabulary=[str(word) for word in words], tokenizer=tokenizer)

    def _fit_documents(self, documents: Iterable[Document], out: str | PathLike[str] | None) -> Corpus:
        return self._count(_document_blocks(documents), out, self.vocabulary)

    def _count(self, blocks: Blocks, out: str | PathLike[str] | None, vocabulary: Sequence[str] | None) -> Corpus:
        rule = self._tokenization.rule or _NO_RULE
        counter = _core.TermCounter(*rule, self.lowercase, self._stop_words, *self.ngram_range, vocabulary)
        meta = {"tokenizer": self.to_dict()}
        with CorpusBuilder(out) as builder:
            for names, texts in blocks:
                rows = counter.count(self._tokenization.documents(texts), threads())
                builder.append(*rows, names=names, tidy_later=vocabulary is None)
            if vocabulary is not None:
                self.n_unknown_ = counter.n_unknown
                return builder.finish(vocabulary, meta=meta)
            kept = select_terms(counter, self.min_df, self.max_df, self.max_features, bool(self._stop_words))
            remap = np.full(counter.n_terms, -1, np.int32)
            remap[kept] = np.arange(len(kept), dtype=np.int32)
            self.vocabulary_ = packed_terms(counter, kept)
            return builder.finish(self.vocabulary_, remap=remap, meta=meta)


def from_texts(
    texts: Iterable[str], *, out: str | PathLike[str] | None = None, names: Iterable[str] | None = None, **settings: Any
) -> Corpus:
    """A corpus from texts. `settings` are the parameters of `Vectorizer`: min_df, max_df, stop_words, ..."""
    return Vectorizer(**settings).fit_transform(texts, names=names, out=out)


def _text_blocks(texts: Iterable[str], names: Iterable[str] | None) -> Blocks:
    if isinstance(texts, str | bytes):
        raise ValueError("texts is a single string: pass a list of texts, such as [text]")
    if names is not None:
        return _document_blocks(_zip_names(texts, names))
    return _blocks((None, run) for run in _runs(texts))


def _document_blocks(documents: Iterable[Document]) -> Blocks:
    return _blocks(tuple(zip(*run)) for run in _runs(documents))  # type: ignore[misc]


def _zip_names(texts: Iterable[str], names: Iterable[str]) -> Iterator[Document]:
    for n, (name, text) in enumerate(zip_longest(names, texts, fillvalue=_END)):
        if name is _END or text is _END:
            raise ValueError(f"{'names' if name is _END else 'texts'} ended after {n}: pass one name per text")
        yield str(name), text


def _runs(items: Iterable[Any]) -> Iterator[list[Any]]:
    """A few items at a time: Python loops over runs in less time than over items."""
    items = iter(items)
    while run := list(islice(items, RUN_TEXTS)):
        yield run


def _blocks(runs: Iterable[tuple[Sequence[str] | None, Sequence[str]]]) -> Blocks:
    """(names, texts) in blocks that are large enough for one native call."""
    names: list[str] = []
    texts: list[str] = []
    chars = n = 0
    for names_of_run, run in runs:
        if set(map(type, run)) != {str}:
            for i, text in enumerate(run):
                if not isinstance(text, str):
                    raise TypeError(_not_a_text(n + i, text))
        texts += run
        names += names_of_run or ()
        n += len(run)
        chars += sum(map(len, run))
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
        raise ValueError(f"ngram_range={ngram_range!r}: pass (shortest, longest) with 1 <= shortest <= longest")
    return int(shortest), int(longest)
