"""Text to counts in one streaming pass, with the settings and the results of scikit-learn's CountVectorizer.

A native vocabulary grows with each new word, and the rows go to a CorpusBuilder with temporary word ids. After the last
text, the words are pruned, sorted and renumbered. Memory holds the vocabulary and one block of texts, and the rows if
the corpus is built in memory.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from topmix import _core
from topmix.base.checks import is_auto
from topmix.base.component import Json, all_as_declared, declared_types, is_whole
from topmix.base.threads import threads
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.documents import Blocks, Text, first_and_all, text_blocks
from topmix.corpus.languages import FUNCTION_WORDS, looks_english, other_stop_words, resolve_stop_words, stemmer_of
from topmix.corpus.tokens import DEFAULT_PATTERN, NO_RULE, Tokenization, Tokenizer, are_unspaced, is_number, is_symbol
from topmix.corpus.vocabulary import Strings, check_cut, given_vocabulary, select_terms

if TYPE_CHECKING:
    from sklearn.utils import Tags

StopWords = str | Iterable[str] | None
Out = str | PathLike[str] | None  # the file of a corpus that is built there
MOST_TOKENS = 2**31 - 1  # of an n-gram


class Vectorizer(BaseEstimator):
    """Counts the words of texts. A scikit-learn transformer, for a Pipeline or alone.

    The parameters have the meaning and the defaults of `CountVectorizer` in scikit-learn; `stemmer`, `phrases`,
    `clean` and "auto" are ours. A text may also be a list of tokens, which are counted as they are.

    Parameters
    ----------
    lowercase : bool
        Whether to convert the text to lower case first.
    token_pattern : str
        A regular expression that matches a token. Common patterns run natively (corpus/tokens.py lists them). "auto"
        is the default pattern, and cuts Chinese, Japanese, Thai, Lao, Khmer and Burmese, which have no spaces, into
        pairs of neighbouring characters. For words pass a `tokenizer`, such as `jieba.lcut`.
    stop_words : str, words or None
        Words to drop before n-grams are made. "english" is the list of scikit-learn; "german" and eleven other
        languages are short lists of function words. "auto" is "english" if a fifth of the tokens of the first texts are
        in that list, else None; then function words of the other languages are left out, if some texts are in them.
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
    # A vocabulary, how it is counted, its words as they are stored, and their counter.
    _known: tuple[Sequence[str], tuple[object, ...], Strings, _core.TermCounter]
    n_unknown_ = 0

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
        self._check()

    def _check(self) -> None:
        try:
            shortest, longest = map(int, self.ngram_range)
            if (shortest, longest) != tuple(self.ngram_range) or not 1 <= shortest <= longest <= MOST_TOKENS:
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"ngram_range={self.ngram_range!r}: pass (shortest, longest) with 1 <= shortest <= longest"
            ) from None
        check_cut("min_df", self.min_df)
        check_cut("max_df", self.max_df)
        most = self.max_features
        if most is not None and not (is_whole(most) and most >= 1):
            raise ValueError(f"max_features={most!r}: pass a number of terms, at least 1, or None for all")
        if self.phrases is not None and (shortest != 1 or longest == 1 or not 0.0 <= self.phrases <= 1.0):
            what = "pass a number from 0 to 1, and ngram_range=(1, 2)"
            raise ValueError(f"phrases={self.phrases!r} chooses among n-grams: {what}")
        self._tokenization([] if is_auto(self.stop_words) else resolve_stop_words(self.stop_words))
        if self.vocabulary is not None:
            given_vocabulary(self.vocabulary)

    def fit_transform(
        self, X: Iterable[Text], y: object = None, *, names: Iterable[str] | None = None, out: Out = None
    ) -> Corpus:
        """Learn the vocabulary and count the words, in one pass. With `out`, the corpus is built in that file."""
        return self._fit_blocks(text_blocks(X, names), out)

    def transform(self, X: Iterable[Text], *, names: Iterable[str] | None = None, out: Out = None) -> Corpus:
        """Count the words of the vocabulary. Other words are dropped, and `n_unknown_` is their number."""
        return self._count(text_blocks(X, names), out, self._known_vocabulary())

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """The words, in the order of the columns."""
        return np.array(list(self._known_vocabulary()), dtype=object)

    def fit(self, X: Iterable[Text], y: object = None) -> Self:
        """`fit_transform`, without its result."""
        self.fit_transform(X)
        return self

    def set_params(self, **params: object) -> Self:
        """Changes parameters, which are checked; what was learned stays until the next fit."""
        before = self.get_params()
        try:
            super().set_params(**params)._check()
        except Exception:
            super().set_params(**before)
            raise
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array, tags.input_tags.string = True, False, True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "vocabulary_" in vars(self) or self.vocabulary is not None

    def _known_vocabulary(self) -> Sequence[str]:
        if "vocabulary_" not in vars(self):
            if self.vocabulary is None:
                raise ValueError("this Vectorizer has no vocabulary: call fit_transform first, or pass vocabulary=")
            self.vocabulary_ = given_vocabulary(self.vocabulary)
        return self.vocabulary_

    def to_dict(self) -> Json:
        """The settings as JSON can hold them, without the vocabulary. A tokenizer is represented by its name."""
        stop_words, cut = vars(self).get("stop_words_", self.stop_words), self.tokenizer
        is_name = stop_words is None or isinstance(stop_words, str)
        name = getattr(cut, "__qualname__", type(cut).__qualname__)
        return {name: vars(self)[name] for name in sorted(NAMES)} | {
            "lowercase": bool(self.lowercase),
            "clean": bool(self.clean),
            "stop_words": stop_words if is_name else resolve_stop_words(stop_words),
            "ngram_range": [int(n) for n in self.ngram_range],
            "tokenizer": None if cut is None else f"{getattr(cut, '__module__', '?')}:{name}",
        }

    @classmethod
    def from_dict(
        cls,
        settings: Mapping[str, object],
        *,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> Vectorizer:
        """The Vectorizer with the settings of `to_dict`. A tokenizer function must be passed again."""
        declared = _as_declared(settings)
        if (wanted := declared.pop("tokenizer", None)) is not None and tokenizer is None:
            raise ValueError(f"the texts were cut by the tokenizer {wanted!r}: pass it as tokenizer=")
        try:
            return cls(**declared, vocabulary=vocabulary, tokenizer=tokenizer)
        except TypeError as error:
            raise ValueError(f"these are not the settings of a Vectorizer: {error}") from error

    @classmethod
    def of(cls, model: object, *, tokenizer: Tokenizer | None = None) -> Vectorizer:
        """The Vectorizer that cuts new texts into the words of a fitted model.

        It uses the settings with which the training texts were cut. A model that was fitted on counts does not store
        such settings; then the default pattern is used.
        """
        return cls._of_words(getattr(model, "feature_names_in_", None), getattr(model, "tokenizer_", None), tokenizer)

    @classmethod
    def _of_words(
        cls, words: Iterable[object] | None, settings: Mapping[str, object] | None, tokenizer: Tokenizer | None = None
    ) -> Vectorizer:
        if words is None:
            raise ValueError(
                "this model was fitted on counts without a vocabulary, so it cannot read text: fit it on texts, a "
                "Corpus with a vocabulary or a DataFrame"
            )
        vocabulary = tuple(map(str, words))
        how = settings or {"lowercase": all(word == word.lower() for word in vocabulary)}
        return cls.from_dict(how, vocabulary=vocabulary, tokenizer=tokenizer)

    def _twin(self) -> Vectorizer:
        """A copy to change, which shares what was made of the vocabulary."""
        twin = copy.copy(self)
        twin._known, twin.n_unknown_ = self._known, 0
        return twin

    def _fit_blocks(self, blocks: Blocks, out: Out = None, most_entries: int | None = None) -> Corpus:
        """Forgets the last fit, and counts; the vocabulary is learned if it is not given."""
        self._check()
        vocabulary = None if self.vocabulary is None else given_vocabulary(self.vocabulary)
        if vocabulary is not None:
            self.vocabulary_ = vocabulary
        for name in ("stop_words_", "left_out_"):
            self.__dict__.pop(name, None)
        return self._count(blocks, out, vocabulary, most_entries)

    def _count(
        self, blocks: Blocks, out: Out, vocabulary: Sequence[str] | None, most_entries: int | None = None
    ) -> Corpus:
        with CorpusBuilder(out, most_entries=most_entries) as builder:
            if "stop_words_" not in vars(self):
                first, blocks = first_and_all(blocks)
                self._decide_stop_words([] if first is None else first[1], warn=True)
            tokenization, terms = self._counting(vocabulary)
            unknown_before = terms.n_unknown
            for names, texts in blocks:
                rows = terms.count(tokenization.documents(texts), threads())
                builder.append(*rows, names=names, tidy_later=vocabulary is None)
            if vocabulary is not None:
                self.n_unknown_ = terms.n_unknown - unknown_before
                return builder.finish(self._known[2], meta={"tokenizer": self.to_dict()})
            stop_words = resolve_stop_words(self.stop_words_)
            how = self.min_df, self.max_df, self.max_features, stop_words, self.phrases
            kept = select_terms(terms, *how, self._junk)
            if foreign := [word for name, them in self.left_out_.items() if name in FUNCTION_WORDS for word in them]:
                self.stop_words_ = sorted({*stop_words, *foreign})
            remap = np.full(terms.n_terms, -1, np.int32)
            remap[kept] = np.arange(len(kept), dtype=np.int32)
            text, offsets = terms.packed(kept)  # without a Python string for each of them
            try:
                text.tobytes().decode()
                words = Strings(text, offsets)
            except UnicodeDecodeError:
                words = Strings.pack(terms.terms(kept), "word")  # which says what is wrong with which term
            self.vocabulary_ = words
            return builder.finish(words, remap=remap, meta={"tokenizer": self.to_dict()})

    def _counting(self, vocabulary: Sequence[str] | None) -> tuple[Tokenization, _core.TermCounter]:
        """What cuts texts and what counts the words of a vocabulary, or all words in the order of their first sight.
        A counter of known words is kept: making it takes longer than most texts."""
        stop_words = resolve_stop_words(self.stop_words_)
        tokenization = self._tokenization(stop_words)
        shortest, longest = map(int, self.ngram_range)
        how = *(tokenization.rule or NO_RULE), bool(self.lowercase), stop_words, shortest, longest
        if vocabulary is None:
            return tokenization, _core.TermCounter(*how, None)
        known = vars(self).get("_known")
        if known is None or known[0] is not vocabulary or known[1] != how:
            words = Strings.pack(vocabulary, "word")
            self._known = known = vocabulary, how, words, _core.TermCounter(*how, vocabulary)
        return tokenization, known[3]

    def _junk(self, words: Sequence[str], common: list[str]) -> set[str]:
        """Of the words of enough documents, those that are none to read. `left_out_` remembers them, and the words of
        too many documents."""
        left_out: dict[str, list[str]] = {}
        if self.ngram_range[1] > 1:
            words = sorted({part for word in words for part in word.split(" ")})
        if self.clean:
            left_out = {"numbers": list(filter(is_number, words)), "symbols": list(filter(is_symbol, words))}
        if is_auto(self.stop_words):
            left_out |= other_stop_words({*words, *common}, is_english=self.stop_words_ == "english")
        self.left_out_ = {reason: terms for reason, terms in {"common": common, **left_out}.items() if terms}
        return {word for terms in left_out.values() for word in terms}

    def _ready(self) -> tuple[Tokenization, _core.TermCounter]:
        """For those who count one text after another: what `transform` makes before it counts."""
        if "stop_words_" not in vars(self):
            self._decide_stop_words([])
        return self._counting(self._known_vocabulary())

    def __getstate__(self) -> Json:
        return {name: value for name, value in super().__getstate__().items() if name != "_known"}

    def _tokenization(self, stop_words: list[str]) -> Tokenization:
        how = self.token_pattern, bool(self.lowercase), self.strip_accents, self.tokenizer
        stem = None if self.stemmer is None else stemmer_of(self.stemmer)
        return Tokenization(*how, stem, stop_words, bool(self.clean))

    def _decide_stop_words(self, texts: list[Text], *, warn: bool = False) -> None:
        """The stop words as given; "auto" is decided by the first block of texts. Warns of texts without spaces."""
        if warn and self.tokenizer is None and self.token_pattern == DEFAULT_PATTERN and are_unspaced(texts):
            warnings.warn(
                "the texts have no spaces between words, so that token_pattern finds whole sentences: pass "
                'token_pattern="auto" for pairs of characters, or a tokenizer= that finds words, such as jieba.lcut',
                UserWarning,
                stacklevel=2,
            )
        self.stop_words_ = self.stop_words
        if is_auto(self.stop_words):
            cut = Tokenization(self.token_pattern, bool(self.lowercase), self.strip_accents, self.tokenizer)
            counter = _core.TermCounter(*(cut.rule or NO_RULE), bool(self.lowercase), [], 1, 1, None)
            counter.count(cut.documents(texts), threads())
            terms = zip(counter.terms(np.arange(counter.n_terms, dtype=np.int32)), counter.term_frequency().tolist())
            self.stop_words_ = "english" if looks_english(terms) else None


def from_texts(
    texts: Iterable[Text], *, out: Out = None, names: Iterable[str] | None = None, **settings: Any
) -> Corpus:
    """A corpus from texts. `settings` are the parameters of `Vectorizer`: min_df, max_df, stop_words, ..."""
    return Vectorizer(**settings).fit_transform(texts, names=names, out=out)


NAMES = inspect.signature(Vectorizer).parameters.keys() - {"vocabulary"}


def check_settings(settings: object) -> None:
    """Raises ValueError for settings in a file that `Vectorizer.to_dict` does not give. A package that a language needs
    may be missing here: who counts texts is told."""
    found = _as_declared(settings)
    if found.pop("tokenizer", None) is not None and found.get("token_pattern") is None:
        found.pop("token_pattern", None)  # which is not used then
    with suppress(ImportError):
        Vectorizer.from_dict(found)


def _as_declared(settings: object) -> Json:
    """Settings of `Vectorizer.to_dict` in the types of the constructor. A tokenizer is a name, or none."""
    if not isinstance(settings, Mapping) or not NAMES.issuperset(settings):
        unknown = sorted(map(str, set(settings) - NAMES)) if isinstance(settings, Mapping) else settings
        raise ValueError(f"these are not the settings of a Vectorizer: {unknown!r:.60}")
    hints = declared_types(Vectorizer.__init__) | {"tokenizer": str | None}
    if settings.get("tokenizer") is not None:
        hints["token_pattern"] = str | None
    found: Json = all_as_declared(settings, hints)
    stop_words, lengths = found.get("stop_words"), found.get("ngram_range")
    if not isinstance(stop_words, str | list | tuple | None):
        raise ValueError(f"stop_words must be a list of words, the name of a list or None, got {stop_words!r}")
    # JSON has no tuples.
    return found | ({"ngram_range": tuple(lengths)} if isinstance(lengths, list) else {})
