"""Whatever a user passes as documents becomes a Corpus: texts, tables, files, single cells, matrices of counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from topmix.base.checks import CorpusError
from topmix.base.paths import check_there, is_path
from topmix.corpus.corpus import Corpus, CorpusBuilder, InWords
from topmix.corpus.documents import (
    Blocks,
    NamedTexts,
    document_blocks,
    first_and_all,
    is_text,
    is_texts,
    plain,
    text_blocks,
)
from topmix.corpus.vectorize import Vectorizer, check_settings
from topmix.corpus.vocabulary import columns_of_all, cuts_for, documents_of
from topmix.io.columns import check_one_each, has_column
from topmix.io.formulas import factor_of
from topmix.io.libraries import BLOCK_CELLS, Table, as_table, from_anndata, is_anndata, text_columns, texts_of
from topmix.io.priors import ColumnPrior
from topmix.io.readers import Source, TextFormat, counts_at, look, texts_at
from topmix.io.reading import How, Reading
from topmix.io.rows import checked_names, in_known_words, kind_of_frame, read_matrix

if TYPE_CHECKING:
    from topmix.engines.engine import Engine

# Of texts, without vectorizer=.
DEFAULTS: dict[str, Any] = dict.fromkeys(("token_pattern", "stop_words", "min_df", "max_df"), "auto") | {"clean": True}
PART_CHARS = 1 << 22  # of texts that are counted and solved before the next are read
MOST_ENTRIES = 1 << 25  # of counts that are kept in memory, 268 MB; more go to a temporary file, which is mapped
AS_IT_IS = How()


def read(
    X: object,
    how: How = AS_IT_IS,
    known: Reading | None = None,
    *,
    owner: str = "LDA",
    engine: Engine | None = None,
    priors: Sequence[ColumnPrior] = (),
    metadata: object = None,
) -> tuple[Corpus, Reading]:
    """The documents of a fit, and how they were read: as `how` says, or like those that are known. `owner` is the name
    of the estimator, for errors. `priors` have columns of `metadata`, or of X."""
    if metadata is not None and not priors:
        raise ValueError("metadata= has the columns of Covariates: set doc_topic_prior=Covariates(...)")
    if known is not None:
        (part,) = _in_words(X, known, None, owner, engine, whole=True)
        corpus, reading = part.corpus, known
    else:
        corpus, vectorizer, _ = _InputReader(how, engine).read(X)
        if not isinstance(corpus, Corpus):
            corpus, reading = read_matrix(corpus, owner, None, how.feature_names)
        else:
            if how.feature_names is not None:
                if corpus.vocabulary is not None:
                    raise ValueError("feature_names= is for data without names, but these words have names already")
                words = checked_names(how.feature_names, corpus.n_words)
                arrays = corpus.indptr, corpus.index, corpus.value
                corpus = Corpus.trusted(*arrays, corpus.n_words, words, corpus.names, meta=corpus.meta)
            in_known_words(corpus, None, owner)
            names = None if corpus.vocabulary is None else np.asarray(corpus.vocabulary, dtype=object)
            settings = corpus.meta.get("tokenizer")
            if settings is not None and vectorizer is None:  # a file, or the user, wrote them
                try:
                    check_settings(settings)
                except ValueError as error:
                    raise CorpusError(f"meta['tokenizer'] of the corpus: {error}") from error
            reading = Reading(corpus.n_words, names, settings, vectorizer, named=True, frame=kind_of_frame(X))
        text = how.text if how.text is None or isinstance(how.text, str) else [str(name) for name in how.text]
        reading = replace(reading, text=text, layer=how.layer)
    for prior in priors:
        corpus, reading = prior.read(corpus, reading, X if metadata is None else metadata)
    return corpus, reading


def read_known(
    X: object, known: Reading, *, owner: str = "LDA", engine: Engine | None = None, metadata: object = None
) -> Corpus:
    """More documents, in the words of those that were read first, and in the same way."""
    (part,) = read_parts(X, known, owner=owner, engine=engine, metadata=metadata, whole=True)
    return part.corpus


def read_parts(
    X: object,
    known: Reading,
    how: How | None = None,
    *,
    owner: str = "LDA",
    engine: Engine | None = None,
    metadata: object = None,
    whole: bool = False,
) -> Iterator[InWords]:
    """The same in parts, unless they are to be one, and how many tokens of each are no words that are known: texts are
    counted some at a time, and counts are one part. `how` says in which other way they are to be read. What priors and
    topics depend on are columns of `metadata`, or of X where it has them."""
    parts = _in_words(X, known, how, owner, engine, whole=whole)
    design, versions, source = known.design, known.versions, metadata
    if metadata is None:
        source = X.path if isinstance(X, Source) else X
        has_none = isinstance(source, Corpus | Iterator)
        names = () if design is None else (factor_of(text).column for text in design.factors)
        if has_none or not all(has_column(source, name) for name in names):
            design = None
        if versions is not None and (has_none or not has_column(source, versions.column)):
            versions = None
    elif design is None and versions is None:
        raise ValueError("metadata= is for models with doc_topic_prior=Covariates(...), OverTime or ByGroup")
    beside: dict[str, Any] = {} if design is None else {"design": design.rows(source)}
    if versions is not None:
        beside["version"] = versions.of(source)
    if not beside:
        yield from parts
        return
    first, n = 0, len(next(iter(beside.values())))
    for part in parts:
        end = first + part.corpus.n_docs
        check_one_each(n, max(n, end))
        columns = {name: values[first:end] for name, values in beside.items()}
        yield part._replace(corpus=part.corpus.with_columns(**columns))
        first = end
    check_one_each(n, first)


def _in_words(
    X: object, known: Reading, how: How | None, owner: str, engine: Engine | None, *, whole: bool
) -> Iterator[InWords]:
    reader = _InputReader(how or known.more(), engine, known)
    for data, _, n_unknown in [reader.read(X)] if whole else reader.parts(X):
        is_corpus = isinstance(data, Corpus)
        corpus = in_known_words(data, known, owner) if is_corpus else read_matrix(data, owner, known, None)[0]
        yield InWords(corpus, n_unknown)


def read_growing(X: Any, known: Reading, *, owner: str = "LDA", engine: Engine | None = None) -> tuple[Corpus, Reading]:
    """Documents of a stream, in the columns of those that were read before and as many more as they have new words.

    In texts, and in a Corpus with a vocabulary, words are known by their names, in any order. A matrix has only places,
    so new words are columns at the end; a DataFrame has them there too, as everywhere in scikit-learn.
    """
    words, n_known, how = known.words, known.n_features, known.more()
    if not isinstance(X, Corpus):
        vectorizer = known.counter() if how.vectorizer is None and words is not None else how.vectorizer
        if isinstance(vectorizer, Vectorizer):
            X, made, _ = _InputReader(replace(how, vectorizer=for_every_word(vectorizer)), engine).read(X)
            if made is not None and words is not None:  # of texts; new words count if the vectorizer would take them
                cuts = cuts_for(X.n_docs, vectorizer.min_df, vectorizer.max_df)
                low, high = (documents_of(cut, X.n_docs) for cut in cuts)
                df, names = np.bincount(X.index, minlength=X.n_words), set(map(str, words))
                is_known = np.array([word in names for word in X.vocabulary], dtype=bool)
                X = X.keep_words(is_known | ((df >= low) & (df <= high)))
        else:  # one of scikit-learn has the words of its fit
            X = _InputReader(how, engine, known).read(X).data
    if isinstance(X, Corpus) and X.vocabulary is not None and words is not None:
        if list(X.vocabulary) == words.tolist():
            return in_known_words(X, known, owner), known
        in_known_words(X, None, owner)
        grown = X.in_words(words.tolist(), keep_new=True).corpus
        return grown, known if grown.n_words == n_known else known.renamed(grown.vocabulary, grown.n_words)
    shape = np.shape(X)
    width = int(shape[1]) if len(shape) == 2 else 0
    if width <= n_known:
        return read_known(X, known, owner=owner, engine=engine), known  # or its error
    corpus, reading = read(X, owner=owner, engine=engine)  # checked as first documents are
    new: list[str] | None = None
    if words is not None:
        if reading.words is None:
            raise ValueError(
                f"X has {width} columns, {width - n_known} of them new, but this {owner} knows its words by "
                "name: give a Corpus with a vocabulary, or a DataFrame"
            )
        new = reading.words.tolist()
        columns_of_all(new, words.tolist())  # or its error, where a name is there twice
        if new[:n_known] != words.tolist():
            raise ValueError("the feature names should match those of the fit, and new words come after them")
    arrays = corpus.indptr, corpus.index, corpus.value
    return Corpus.trusted(*arrays, corpus.n_words, new), known.renamed(new, corpus.n_words)


def for_every_word(vectorizer: Vectorizer) -> Vectorizer:
    """One that cuts texts in the same way, and counts all of their words, known or not, however rare."""
    decided = vars(vectorizer).get("stop_words_", vectorizer.stop_words)
    every = {"vocabulary": None, "min_df": 1, "max_df": 1.0, "max_features": None, "stop_words": decided}
    return clone(vectorizer).set_params(**every)


def refuse_iterator(X: object) -> None:
    """For methods that read X twice."""
    if isinstance(X, Iterator):
        raise ValueError("X is an iterator, and the first reading would use it up: pass a list, or call fit alone")


class _Read(NamedTuple):
    """Data that was read: a Corpus, or a matrix as it was given; and the vectorizer, if it was text."""

    data: Any
    vectorizer: object = None
    n_unknown: float = 0  # tokens that are not in the words of a model


@dataclass(frozen=True)
class _InputReader:
    """X becomes a Corpus, unless it is a matrix. Texts are counted in the words of `known`, if there are some."""

    how: How
    engine: Engine | None = None
    known: Reading | None = None

    def read(self, X: object) -> _Read:
        opened = self._opened(X)
        return opened if isinstance(opened, _Read) else self._count(opened)

    def parts(self, X: object) -> Iterator[_Read]:
        """Texts as corpora of bounded size, in their order. Other data is one part. There is at least one."""
        opened = self._opened(X)
        if isinstance(opened, _Read):
            yield opened
            return
        run: list[Any] = []
        n_chars = n_parts = 0
        for block in opened:
            run.append(block)
            n_chars += sum(map(len, block[1]))
            if n_chars >= PART_CHARS:
                yield self._count(iter(run))
                run, n_chars, n_parts = [], 0, n_parts + 1
        if run or not n_parts:
            yield self._count(iter(run))

    @property
    def _most_entries(self) -> int | None:
        """Other machines cannot see a temporary file, and a GPU wants the counts in memory: there all of them stay."""
        return MOST_ENTRIES if self.engine is None or self.engine.maps_files else None

    def _opened(self, X: Any) -> Blocks | _Read:
        """Texts in blocks, or what is not text."""
        if isinstance(X, Corpus):
            return _Read(X)
        if is_path(X):
            may_be_text = ". To learn from texts, pass a list of strings: [text, ...]"
            check_there(X, "" if isinstance(X, os.PathLike) else may_be_text)
            X = look(X)
        if isinstance(X, Source):
            how, known = self.how, self.known
            if X.texts is not None:
                return document_blocks(texts_at(X.path, X.texts, how.texts or TextFormat(how.text)))
            options = replace(how.counts, out=how.out, layer=how.layer, most_entries=self._most_entries)
            corpus = counts_at(X, options)
            if known is None or known.words is None or corpus.vocabulary is None:
                return _Read(corpus)
            in_words = corpus.in_words(known.words.tolist())
            return _Read(in_words.corpus, n_unknown=in_words.n_dropped)
        if isinstance(X, NamedTexts):
            return document_blocks(X.documents)
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2):
            return self._table(X, None)
        if is_texts(X):
            return text_blocks(plain(X))
        if is_anndata(X):
            return _Read(from_anndata(X, self.how.layer, most_entries=self._most_entries))
        if isinstance(X, Iterator) and not hasattr(X, "__arrow_c_stream__"):
            first, items = first_and_all(X)
            if not is_text(first):
                raise ValueError(f"an iterator must give texts, and this one gives {type(first).__name__}: pass a list")
            return text_blocks(items)
        return self._table(X, as_table(X))

    def _table(self, X: Any, table: Table | None) -> Blocks | _Read:
        """Of a table or a matrix, which stays as it is; or an error that says what to pass instead of other data."""
        if table is not None:
            if columns := text_columns(table, self.how.text):
                return text_blocks(texts_of(table, columns))
            if self.how.feature_names is not None:
                raise ValueError("feature_names= is for matrices; a table has the names of its columns")
            is_frame = hasattr(X, "shape") and hasattr(X, "columns")
            if is_frame and (np.prod(X.shape, dtype=float) <= BLOCK_CELLS or hasattr(X, "sparse")):
                return _Read(X)  # small: scikit-learn checks it
            with CorpusBuilder(most_entries=self._most_entries) as builder:
                for block in table.numbers():
                    counts = sp.csr_array(block)
                    builder.append(counts.indptr, counts.indices, counts.data)
                return _Read(builder.finish(table.names))
        if self.how.text is not None:
            raise ValueError(f"text= names a column of a table, but X is a {type(X).__name__} without named columns")
        if isinstance(X, set | dict) and not sp.issparse(X):  # a dok_array is a dict
            raise ValueError(f"X is a {type(X).__name__}, which has no order of documents: pass a list of texts")
        if isinstance(X, bytes):
            raise ValueError("X is bytes: decode them, and pass a list of texts")
        if isinstance(X, list | tuple):
            if not X:
                raise ValueError("X is empty: pass at least one document")
            first = X[0]
            if isinstance(first, bytes):
                raise ValueError("the documents are bytes: decode them, for instance with .decode('utf-8')")
            if isinstance(first, list | tuple) and first and isinstance(first[0], tuple) and len(first[0]) == 2:
                raise ValueError("X looks like a corpus of gensim: pass topmix.data.from_gensim(X, id2word)")
            if isinstance(first, dict):
                raise ValueError(
                    "X is a list of dicts: pass the texts alone, [row['text'] for row in X], or a DataFrame"
                )
        return _Read(X)

    def _count(self, blocks: Blocks) -> _Read:
        """Counts of words: of those that are known, or of those that the vectorizer chooses."""
        own, known = self.how.vectorizer, self.known
        vectorizer: Any = own
        if known is not None and own is None:
            vectorizer = known.counter()
        elif known is None:
            methods = ("fit_transform", "transform", "get_feature_names_out", "get_params")
            if own is not None and not all(hasattr(own, name) for name in methods):
                raise ValueError(f"vectorizer= must be a topmix.data.Vectorizer, or one of scikit-learn, got {own!r}")
            vectorizer = Vectorizer(**DEFAULTS) if own is None else clone(own)
        if isinstance(vectorizer, Vectorizer):
            if known is None:
                return _Read(vectorizer._fit_blocks(blocks, self.how.out, self._most_entries), vectorizer)
            corpus = vectorizer._count(blocks, None, vectorizer._known_vocabulary(), self._most_entries)
            return _Read(corpus, own, vectorizer.n_unknown_)
        texts = [text for _, texts in blocks for text in texts]
        matrix = vectorizer.fit_transform(texts) if known is None else vectorizer.transform(texts)
        rows = Corpus.from_scipy(matrix, vocabulary=[str(name) for name in vectorizer.get_feature_names_out()])
        if known is not None:
            return _Read(rows, own)
        # A CountVectorizer can have the settings of a Vectorizer; others are known by their names alone.
        params, kind = vectorizer.get_params(deep=False), type(vectorizer)
        other = {"input": "content", "preprocessor": None, "tokenizer": None, "analyzer": "word", "binary": False}
        same = ("lowercase", "token_pattern", "stop_words", "ngram_range", "strip_accents")
        if kind.__name__ == "CountVectorizer" and all(params.get(name) == value for name, value in other.items()):
            settings = Vectorizer(**{name: params[name] for name in same}).to_dict()
        else:
            settings = Vectorizer().to_dict() | {"tokenizer": f"{kind.__module__}:{kind.__qualname__}"}
        arrays = rows.indptr, rows.index, rows.value, rows.n_words, rows.vocabulary
        return _Read(Corpus.trusted(*arrays, meta={"tokenizer": settings}), vectorizer)
