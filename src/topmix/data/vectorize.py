"""Text to counts in one streaming pass, with the settings and the results of scikit-learn's CountVectorizer.

Texts are counted block by block. A native vocabulary grows with each new word, and the rows go to a CorpusBuilder with
temporary word ids. After the last text, the words are pruned, sorted and renumbered. Memory holds the vocabulary and
one block of texts, and the rows if the corpus is built in memory.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix.data.atomic import check_plain_file
from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.documents import Blocks, Text, document_blocks, text_blocks
from topmix.data.languages import FUNCTION_WORDS, looks_english, other_stop_words, resolve_stop_words, stemmer_of
from topmix.data.markup import is_number, is_symbol
from topmix.data.strings import Strings
from topmix.data.tokens import DEFAULT_PATTERN, NO_RULE, Tokenization, Tokenizer, are_unspaced
from topmix.data.vocabulary import Terms, check_cut, given_vocabulary, packed_terms, select_terms
from topmix.numerics.threads import threads
from topmix.parameters.declared import all_as_declared, declared_types

if TYPE_CHECKING:
    from sklearn.utils import Tags

# Vectorizers of fitted models, and the words and settings that they were made from. With a large vocabulary
# making one takes longer than most texts.


StopWords = str | Iterable[str] | None
MOST_TOKENS = 2**31 - 1  # of an n-gram


class KnownTerms(NamedTuple):
    """A vocabulary, and what was made of it."""

    vocabulary: Sequence[str]
    settings: tuple[object, ...]
    words: Strings
    counter: _core.TermCounter


class Vectorizer:
    """Counts the words of texts. A scikit-learn transformer, for a Pipeline or alone.

    The parameters have the meaning and the defaults of `CountVectorizer` in scikit-learn; `stemmer`, `phrases`,
    `clean` and "auto" are ours. A text may also be a list of tokens, which are counted as they are.

    Parameters
    ----------
    lowercase : bool
        Whether to convert the text to lower case first.
    token_pattern : str
        A regular expression that matches a token. Common patterns run natively (topmix.data.tokens lists them). "auto"
        is the default pattern, and cuts Chinese, Japanese, Thai, Lao, Khmer and Burmese, which have no spaces, into
        pairs of neighbouring characters. For words pass a `tokenizer`, such as `jieba.lcut`.
    stop_words : str, words or None
        Words to drop before n-grams are made. "english" is the list of scikit-learn. "auto" is "english" if a fifth of
        the tokens of the first texts are in that list, else None; then function words of twelve other languages are
        left out, if some texts are in them. Longer lists, such as "german", need the package stopwordsiso.
    ngram_range : (int, int)
        Smallest and largest number of consecutive tokens in a term.
    min_df : int, float or "auto"
        Drop terms that are in fewer documents; an int is a number, a float a share of the documents. "auto" is 5 for
        1000 documents or more, 2 for 20 or more, else 1.
    max_df : int, float or "auto"
        Drop terms that are in more documents; an int is a number, a float a share of the documents. "auto" is 0.5 for
        20 documents or more, else 1.0.
    max_features : int or None
        Number of terms to keep; the most frequent terms are kept.
    vocabulary : words, mapping of word to column, or None
        Count only these words. No vocabulary is learned, and min_df, max_df and max_features have no effect.
    tokenizer : callable or None
        A function from a text (after `lowercase`) to its tokens, used instead of token_pattern.
    strip_accents : {"ascii", "unicode"} or None
        How to remove accents, as in scikit-learn. None keeps them.
    stemmer : str or None
        A language, such as "english": words become their stems, after stop words are dropped. Needs the package
        snowballstemmer.
    clean : bool
        Whether to leave out mark-up (HTML, LaTeX commands, URLs, e-mail addresses, "et al."), numbers, and symbols of
        formulas such as `x_`. Of LaTeX and HTML, the words that a reader sees stay.
    phrases : float or None
        Of the n-grams, keep those whose words occur together more than by chance: normalised pointwise mutual
        information of at least this, from 0 to 1; 0.4 is a good value. Needs an ngram_range from 1, such as (1, 2).

    Attributes
    ----------
    vocabulary_ : sequence of str
        The terms in the order of their columns.
    n_unknown_ : int
        Number of terms in the last `transform` that are not in the vocabulary, with repetitions.
    stop_words_ : str, list of str or None
        The stop words of the last fit: "auto" is decided.
    left_out_ : dict of str to list of str
        Words of enough documents that the last fit left out, by reason: "numbers", "symbols", "common" (`max_df`), and
        the languages that "auto" found beside English.
    """

    vocabulary_: Sequence[str]
    stop_words_: StopWords
    left_out_: dict[str, list[str]]

    def __init__(
        self,
        *,
        lowercase: bool = True,
        token_pattern: str = DEFAULT_PATTERN,
        stop_words: StopWords = None,
        ngram_range: tuple[int, int] = (1, 1),
        min_df: int | float | str = 1,
        max_df: int | float | str = 1.0,
        max_features: int | None = None,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        tokenizer: Tokenizer | None = None,
        strip_accents: str | None = None,
        stemmer: str | None = None,
        phrases: float | None = None,
        clean: bool = False,
    ) -> None:
        # Parameters stay the objects that were given, for scikit-learn's clone; only an iterator would not last.
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.stop_words = list(stop_words) if isinstance(stop_words, Iterator) else stop_words
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.vocabulary = list(vocabulary) if isinstance(vocabulary, Iterator) else vocabulary
        self.tokenizer = tokenizer
        self.strip_accents = strip_accents
        self.stemmer = stemmer
        self.phrases = phrases
        self.clean = clean
        self.n_unknown_ = 0
        self._check()

    def _check(self) -> None:
        shortest, longest = _lengths(self.ngram_range)
        if not 1 <= shortest <= longest <= MOST_TOKENS:
            raise ValueError(
                f"ngram_range={self.ngram_range!r}: pass (shortest, longest) with 1 <= shortest <= longest"
            )
        check_cut("min_df", self.min_df)
        check_cut("max_df", self.max_df)
        most = self.max_features
        if most is not None and (isinstance(most, bool) or most < 1):
            raise ValueError(f"max_features={most!r}: pass a number of terms, at least 1, or None for all")
        if self.phrases is not None and (shortest != 1 or longest == 1 or not 0.0 <= self.phrases <= 1.0):
            raise ValueError(
                f"phrases={self.phrases!r} chooses among n-grams: pass a number from 0 to 1, and ngram_range=(1, 2)"
            )
        Tokenization(self.token_pattern, bool(self.lowercase), self.strip_accents, self.tokenizer)
        if not _is_auto(self.stop_words):
            resolve_stop_words(self.stop_words)
        if self.stemmer is not None:
            stemmer_of(self.stemmer)
        if self.vocabulary is not None:
            given_vocabulary(self.vocabulary)

    def fit_transform(
        self,
        X: Iterable[Text],
        y: object = None,
        *,
        names: Iterable[str] | None = None,
        out: str | PathLike[str] | None = None,
    ) -> Corpus:
        """Learn the vocabulary and count the words, in one pass. With `out`, the corpus is built in that file."""
        return self._fit_blocks(text_blocks(X, names), out)

    def transform(
        self, X: Iterable[Text], *, names: Iterable[str] | None = None, out: str | PathLike[str] | None = None
    ) -> Corpus:
        """Count the words of the vocabulary. Other words are dropped, and `n_unknown_` is their number."""
        return self._count(text_blocks(X, names), out, self._known_vocabulary())

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """The words, in the order of the columns."""
        return np.array(list(self._known_vocabulary()), dtype=object)

    def fit(self, X: Iterable[Text], y: object = None) -> Self:
        """`fit_transform`, without its result."""
        self.fit_transform(X)
        return self

    # scikit-learn's API without its base classes: importing them would take four times as long as the rest of
    # topmix.data. Pipeline, clone and GridSearchCV ask for methods, not for a base class.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name. `deep` is scikit-learn's; no parameter is an estimator."""
        return {name: vars(self)[name] for name in _defaults()}

    def set_params(self, **params: Any) -> Self:
        """Changes parameters; what was learned stays until the next fit."""
        for name in params:
            if name not in _defaults():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(_defaults())}")
        type(self)(**self.get_params() | params)  # the constructor checks them
        vars(self).update(params)
        return self

    def __repr__(self) -> str:
        """The parameters that differ from their defaults."""
        given = [f"{name}={_short(vars(self)[name])}" for name, default in _defaults().items()
                 if not _same(vars(self)[name], default)]  # fmt: skip
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        inputs = InputTags(one_d_array=True, two_d_array=False, string=True)
        return Tags(None, TargetTags(required=False), TransformerTags(), input_tags=inputs)

    def __sklearn_is_fitted__(self) -> bool:
        return "vocabulary_" in vars(self) or self.vocabulary is not None

    def _known_vocabulary(self) -> Sequence[str]:
        if "vocabulary_" in vars(self):
            return self.vocabulary_
        if self.vocabulary is None:
            raise ValueError("this Vectorizer has no vocabulary: call fit_transform first, or pass vocabulary=")
        self.vocabulary_ = given_vocabulary(self.vocabulary)
        return self.vocabulary_

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON can hold them, without the vocabulary. A tokenizer is represented by its name."""
        settings = self.get_params()
        del settings["vocabulary"]
        stop_words = vars(self).get("stop_words_", self.stop_words)
        is_name = stop_words is None or isinstance(stop_words, str)
        return settings | {
            "lowercase": bool(self.lowercase),
            "clean": bool(self.clean),
            "stop_words": stop_words if is_name else resolve_stop_words(stop_words),
            "ngram_range": [int(n) for n in self.ngram_range],
            "tokenizer": None if self.tokenizer is None else _qualified_name(self.tokenizer),
        }

    @classmethod
    def from_dict(
        cls,
        settings: Mapping[str, Any],
        *,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> Vectorizer:
        """The Vectorizer with the settings of `to_dict`. A tokenizer function must be passed again."""
        found = _as_declared(settings)
        wanted = found.pop("tokenizer", None)
        if wanted is not None and tokenizer is None:
            raise ValueError(f"the texts were cut by the tokenizer {wanted!r}: pass it as tokenizer=")
        try:
            return cls(**found, vocabulary=vocabulary, tokenizer=tokenizer)
        except TypeError as error:
            raise ValueError(f"these are not the settings of a Vectorizer: {error}") from error

    @classmethod
    def of(cls, model: object, *, tokenizer: Tokenizer | None = None) -> Vectorizer:
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
        how = {"lowercase": all(word == word.lower() for word in map(str, words))} if settings is None else settings
        return cls.from_dict(how, vocabulary=tuple(str(word) for word in words), tokenizer=tokenizer)

    def _twin(self) -> Vectorizer:
        """A copy to change, which shares what was made of the vocabulary."""
        twin = copy.copy(self)
        twin._known, twin.n_unknown_ = self._known, 0
        return twin

    def _fit_documents(self, documents: Iterable[tuple[str, Text]], out: str | PathLike[str] | None) -> Corpus:
        return self._fit_blocks(document_blocks(documents), out)

    def _fit_blocks(
        self, blocks: Blocks, out: str | PathLike[str] | None = None, most_entries: int | None = None
    ) -> Corpus:
        return self._count(blocks, out, self._begin_fit(), most_entries)

    def _begin_fit(self) -> Sequence[str] | None:
        """Forgets the last fit. Returns the vocabulary if it is given."""
        self._check()
        vocabulary = None if self.vocabulary is None else given_vocabulary(self.vocabulary)
        if vocabulary is not None:
            self.vocabulary_ = vocabulary
        vars(self).pop("stop_words_", None)
        vars(self).pop("left_out_", None)
        return vocabulary

    def _count(
        self,
        blocks: Blocks,
        out: str | PathLike[str] | None,
        vocabulary: Sequence[str] | None,
        most_entries: int | None = None,
    ) -> Corpus:
        if out is not None:
            check_plain_file(out)  # before a text is read
        if "stop_words_" not in vars(self):
            first = next(blocks, None)
            texts = [] if first is None else first[1]
            self._warn_of_unspaced(self._finds_sentences(texts))
            self.stop_words_ = self._decided_stop_words(texts)
            blocks = blocks if first is None else chain([first], blocks)
        with CorpusBuilder(out, most_entries=most_entries) as builder:
            terms = self._append(blocks, builder, vocabulary, tidy_later=vocabulary is None)
            if vocabulary is not None:
                return builder.finish(self._known.words, meta=self._meta())
            remap = self._select(terms)
            return builder.finish(self.vocabulary_, remap=remap, meta=self._meta())

    def _append(
        self, blocks: Blocks, builder: CorpusBuilder, vocabulary: Sequence[str] | None, *, tidy_later: bool
    ) -> _core.TermCounter:
        """Counts texts into the builder: the words of a vocabulary, or all words, in the order of their first sight.
        Stop words must be decided."""
        stop_words = resolve_stop_words(self.stop_words_)
        tokenization = self._tokenization(stop_words)
        if vocabulary is None:
            counter = self._new_counter(tokenization, stop_words, None)
        else:
            counter = self._known_terms(tokenization, stop_words, vocabulary).counter
        unknown_before = counter.n_unknown
        for names, texts in blocks:
            rows = counter.count(tokenization.documents(texts), threads())
            builder.append(*rows, names=names, tidy_later=tidy_later)
        if vocabulary is not None:
            self.n_unknown_ = counter.n_unknown - unknown_before
        return counter

    def _select(self, terms: Terms) -> NDArray[np.int32]:
        """Chooses the vocabulary among the terms. Returns the column of each, -1 for those that are left out."""
        stop_words = resolve_stop_words(self.stop_words_)
        kept = select_terms(terms, self.min_df, self.max_df, self.max_features, stop_words, self.phrases, self._junk)
        if foreign := [word for name, words in self.left_out_.items() if name in FUNCTION_WORDS for word in words]:
            self.stop_words_ = sorted({*stop_words, *foreign})
        remap = np.full(terms.n_terms, -1, np.int32)
        remap[kept] = np.arange(len(kept), dtype=np.int32)
        self.vocabulary_ = packed_terms(terms, kept)
        return remap

    def _junk(self, words: Sequence[str], common: list[str]) -> set[str]:
        """Of the words of enough documents, those that are none to read. `left_out_` remembers them, and the words of
        too many documents."""
        left_out: dict[str, list[str]] = {}
        if self.ngram_range[1] > 1:
            words = sorted({part for word in words for part in word.split(" ")})
        if self.clean:
            left_out["numbers"] = [word for word in words if is_number(word)]
            left_out["symbols"] = [word for word in words if is_symbol(word)]
        if _is_auto(self.stop_words):
            left_out |= other_stop_words({*words, *common}, is_english=self.stop_words_ == "english")
        self.left_out_ = {reason: found for reason, found in {"common": common, **left_out}.items() if found}
        return {word for found in left_out.values() for word in found}

    def _meta(self) -> dict[str, object]:
        return {"tokenizer": self.to_dict()}

    def _new_counter(
        self, tokenization: Tokenization, stop_words: list[str], vocabulary: Sequence[str] | None
    ) -> _core.TermCounter:
        rule = tokenization.rule or NO_RULE
        shortest, longest = (int(n) for n in self.ngram_range)
        return _core.TermCounter(*rule, bool(self.lowercase), stop_words, shortest, longest, vocabulary)

    def _known_terms(self, tokenization: Tokenization, stop_words: list[str], vocabulary: Sequence[str]) -> KnownTerms:
        """What counting the words of this vocabulary needs. It is kept: making it takes longer than most texts."""
        settings = (tokenization.rule, bool(self.lowercase), tuple(stop_words), tuple(self.ngram_range))
        known = vars(self).get("_known")
        if known is None or known.vocabulary is not vocabulary or known.settings != settings:
            counter = self._new_counter(tokenization, stop_words, vocabulary)
            self._known = known = KnownTerms(vocabulary, settings, Strings.pack(vocabulary, "word"), counter)
        return known

    def _ready(self) -> tuple[Tokenization, KnownTerms]:
        """For those who count one text after another: what `transform` makes before it counts."""
        if "stop_words_" not in vars(self):
            self.stop_words_ = self._decided_stop_words([])
        stop_words = resolve_stop_words(self.stop_words_)
        tokenization = self._tokenization(stop_words)
        return tokenization, self._known_terms(tokenization, stop_words, self._known_vocabulary())

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_known"}

    def _tokenization(self, stop_words: list[str]) -> Tokenization:
        stem = None if self.stemmer is None else stemmer_of(self.stemmer)
        lowercase = bool(self.lowercase)
        return Tokenization(
            self.token_pattern, lowercase, self.strip_accents, self.tokenizer, stem, stop_words, bool(self.clean)
        )

    def _finds_sentences(self, texts: list[Text]) -> bool:
        """A pattern of words finds sentences where words have no spaces between them."""
        return self.tokenizer is None and self.token_pattern == DEFAULT_PATTERN and are_unspaced(texts)

    def _warn_of_unspaced(self, finds_sentences: bool) -> None:
        if finds_sentences:
            warnings.warn(
                "the texts have no spaces between words, so that token_pattern finds whole sentences: pass "
                'token_pattern="auto" for pairs of characters, or a tokenizer= that finds words, such as jieba.lcut',
                UserWarning,
                stacklevel=2,
            )

    def _decided_stop_words(self, texts: list[Text]) -> StopWords:
        """The stop words as given; "auto" is decided by the first block of texts."""
        if not _is_auto(self.stop_words):
            return self.stop_words
        tokenization = Tokenization(self.token_pattern, bool(self.lowercase), self.strip_accents, self.tokenizer)
        counter = _core.TermCounter(*(tokenization.rule or NO_RULE), bool(self.lowercase), [], 1, 1, None)
        counter.count(tokenization.documents(texts), threads())
        terms = counter.terms(np.arange(counter.n_terms, dtype=np.int32))
        return "english" if looks_english(zip(terms, counter.term_frequency().tolist())) else None


def said_of(left_out: Mapping[str, Sequence[str]]) -> str:
    """What a Vectorizer left out, in a line: how many words and the first of them, by reason. Empty for nothing."""
    said = [
        f"{len(words):,} {reason if reason in ('numbers', 'symbols') else f'{reason} words'} ({_first(words)})"
        for reason, words in left_out.items()
    ]
    return f"left out of the vocabulary: {', '.join(said)}" if said else ""


def _first(words: Sequence[str], most: int = 4) -> str:
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")


def from_texts(
    texts: Iterable[Text],
    *,
    out: str | PathLike[str] | None = None,
    names: Iterable[str] | None = None,
    **settings: Any,
) -> Corpus:
    """A corpus from texts. `settings` are the parameters of `Vectorizer`: min_df, max_df, stop_words, ..."""
    return Vectorizer(**settings).fit_transform(texts, names=names, out=out)


def check_settings(settings: object) -> None:
    """Raises ValueError for settings in a file that `Vectorizer.to_dict` does not give. A package that a language needs
    may be missing here: who counts texts is told."""
    found = _as_declared(settings)
    if found.pop("tokenizer", None) is not None and found.get("token_pattern") is None:
        found.pop("token_pattern", None)  # which is not used then
    with suppress(ImportError):
        Vectorizer.from_dict(found)


def _as_declared(settings: object) -> dict[str, Any]:
    """Settings of `Vectorizer.to_dict` in the types of the constructor. A tokenizer is a name, or none."""
    if not isinstance(settings, Mapping) or (unknown := set(settings) - (_defaults().keys() - {"vocabulary"})):
        what = f"{settings!r:.60} is no table" if not isinstance(settings, Mapping) else f"{sorted(unknown)!r:.60}"
        raise ValueError(f"these are not the settings of a Vectorizer: {what}")
    hints = declared_types(Vectorizer.__init__) | {"tokenizer": str | None}
    if settings.get("tokenizer") is not None:
        hints["token_pattern"] = str | None
    found: dict[str, Any] = all_as_declared(settings, hints)
    if not isinstance(found.get("stop_words"), str | list | tuple | None):
        raise ValueError(f"stop_words must be a list of words, the name of a list or None, got {found['stop_words']!r}")
    if isinstance(found.get("ngram_range"), list):  # JSON has no tuples
        found["ngram_range"] = tuple(found["ngram_range"])
    return found


def _lengths(ngram_range: Iterable[int]) -> tuple[int, int]:
    """(shortest, longest); (0, 0), which is refused, for what is no pair of whole numbers."""
    try:
        given = tuple(ngram_range)
        shortest, longest = map(int, given)
    except (TypeError, ValueError, OverflowError):
        return 0, 0
    return (shortest, longest) if given == (shortest, longest) else (0, 0)


def _is_auto(stop_words: object) -> bool:
    return isinstance(stop_words, str) and stop_words == "auto"


def _qualified_name(function: object) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__qualname__)}"


@cache
def _defaults() -> dict[str, object]:
    return {p.name: p.default for p in inspect.signature(Vectorizer).parameters.values()}


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
