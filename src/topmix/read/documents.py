"""Whatever a user passes as documents becomes a Corpus: texts, tables, files, single cells, matrices of counts.

X is opened once: `_opened` says whether it is texts, a table or counts, and one function reads each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _get_feature_names

from topmix.data.corpus import Corpus
from topmix.data.documents import (
    DEFAULT_TEXT_FIELD,
    Blocks,
    NamedTexts,
    document_blocks,
    first_and_all,
    is_texts,
    plain,
    text_blocks,
)
from topmix.data.errors import CorpusError
from topmix.data.libraries import from_anndata, is_anndata, open_anndata
from topmix.data.parquet_texts import ParquetTexts
from topmix.data.paths import is_remote, path_of
from topmix.data.readers import kind_of_text, read_corpus
from topmix.data.remote_file import local_copy
from topmix.data.tabular import BLOCK_CELLS, ArrowStream, Tabular, as_tabular, counts_of, text_columns, texts_of
from topmix.data.texts import read_texts
from topmix.data.vectorize import Vectorizer, check_settings
from topmix.data.vocabulary import columns_of_all, cuts_for
from topmix.engines import Engine
from topmix.read.reading import How, Reading
from topmix.read.rows import checked_names, in_known_words, kind_of_frame, read_matrix

# Of texts, without vectorizer=.
DEFAULTS: dict[str, Any] = {
    "token_pattern": "auto", "stop_words": "auto", "min_df": "auto", "max_df": "auto", "clean": True
}  # fmt: skip
PART_CHARS = 1 << 22  # of texts that are counted and solved before the next are read
MOST_ENTRIES = 1 << 25  # of counts that are kept in memory, 268 MB; more go to a temporary file, which is mapped
AS_IT_IS = How()


def read(
    X: object, how: How = AS_IT_IS, known: Reading | None = None, *, owner: str = "LDA", engine: Engine | None = None
) -> tuple[Corpus, Reading]:
    """The documents of a fit, and how they were read: as `how` says, or like those that are known. `owner` is the name
    of the estimator, for errors."""
    if known is not None:
        return read_known(X, known, owner=owner, engine=engine), known
    data, vectorizer = _Read(X) if isinstance(X, Corpus) else _Door(how, owner, engine).read(X)
    if not isinstance(data, Corpus):
        corpus, reading = read_matrix(data, owner, None, how.feature_names)
    else:
        corpus = data if how.feature_names is None else _renamed(data, how.feature_names)
        in_known_words(corpus, None, owner)
        names = None if corpus.vocabulary is None else np.asarray(corpus.vocabulary, dtype=object)
        settings, frame = data.meta.get("tokenizer"), kind_of_frame(X)
        if settings is not None and vectorizer is None:  # a file, or the user, wrote them
            try:
                check_settings(settings)
            except ValueError as error:
                raise CorpusError(f"meta['tokenizer'] of the corpus: {error}") from error
        reading = Reading(corpus.n_words, names, settings, vectorizer, named=True, frame=frame)
    text = how.text if how.text is None or isinstance(how.text, str) else [str(name) for name in how.text]
    return corpus, replace(reading, text=text, layer=how.layer)


def read_known(
    X: object, known: Reading, how: How | None = None, *, owner: str = "LDA", engine: Engine | None = None
) -> Corpus:
    """More documents, in the words of those that were read first; and in the same way, unless `how` says another."""
    if isinstance(X, Corpus):
        return in_known_words(X, known, owner)
    return _checked(_Door(how or known.more(), owner, engine, known).read(X).data, known, owner)


def read_parts(
    X: object, known: Reading, how: How | None = None, *, owner: str = "LDA", engine: Engine | None = None
) -> Iterator[Corpus]:
    """What `read_known` gives, in parts: texts are counted some at a time, and counts are one part."""
    if isinstance(X, Corpus):
        yield in_known_words(X, known, owner)
        return
    for part in _Door(how or known.more(), owner, engine, known).parts(X):
        yield _checked(part, known, owner)


def read_growing(
    X: object, known: Reading, *, owner: str = "LDA", engine: Engine | None = None
) -> tuple[Corpus, Reading]:
    """Documents of a stream, in the columns of those that were read before and as many more as they have new words.

    In texts, and in a Corpus with a vocabulary, words are known by their names: they may come in any order, not all of
    them, and new ones in between. A matrix has only places, so new words are columns at the end; a DataFrame has them
    there too, because its first columns must be those of the model, as everywhere in scikit-learn.
    """
    if not isinstance(X, Corpus):
        X = _with_new_words(X, known, owner, engine)
    words, n_known = known.words, known.n_features
    if isinstance(X, Corpus) and X.vocabulary is not None and words is not None:
        if len(X.vocabulary) == len(words) and all(a == b for a, b in zip(X.vocabulary, words)):
            return in_known_words(X, known, owner), known
        in_known_words(X, None, owner)
        return _grown(X.in_words(words.tolist(), keep_new=True).corpus, known)
    if _width(X) <= n_known:
        return read_known(X, known, owner=owner, engine=engine), known  # or its error
    names = None if isinstance(X, Corpus) else _get_feature_names(X)  # private: the rule by which fits take names
    if words is not None:
        if names is None:
            raise ValueError(
                f"X has {_width(X)} columns, {_width(X) - n_known} of them new, but this {owner} knows its words by "
                "name: give a Corpus with a vocabulary, or a DataFrame"
            )
        # The known columns, or the error of reading them. Private: columns of an array, a matrix and any DataFrame.
        read_known(_safe_indexing(X, slice(n_known), axis=1), known, owner=owner)
        columns_of_all([str(name) for name in names], words.tolist())  # or its error, where a name is there twice
    corpus, _ = read(X, owner=owner, engine=engine)  # checked as first documents are
    new = None if words is None or names is None else [str(name) for name in names]
    return _grown(Corpus.trusted(corpus.indptr, corpus.index, corpus.value, corpus.n_words, new), known)


def for_every_word(vectorizer: Vectorizer) -> Vectorizer:
    """One that cuts texts in the same way, and counts all of their words, known or not, however rare."""
    decided = vars(vectorizer).get("stop_words_", vectorizer.stop_words)
    every = {"vocabulary": None, "min_df": 1, "max_df": 1.0, "max_features": None, "stop_words": decided}
    return clone(vectorizer).set_params(**every)


def refuse_iterator(X: object) -> None:
    """For methods that read X twice."""
    if isinstance(X, Iterator):
        raise ValueError("X is an iterator, and the first reading would use it up: pass a list, or call fit alone")


@runtime_checkable
class TextVectorizer(Protocol):
    """What counts words as scikit-learn's vectorizers do."""

    def fit_transform(self, texts: list[Any]) -> Any: ...
    def transform(self, texts: list[Any]) -> Any: ...
    def get_feature_names_out(self) -> Sequence[object]: ...
    def get_params(self, deep: bool) -> dict[str, Any]: ...


class _Read(NamedTuple):
    """Data that was read: a Corpus, or a matrix as it was given; and the vectorizer, if it was text."""

    data: Any
    vectorizer: object = None


class _Source(NamedTuple):
    """Texts in blocks, a table, or an AnnData; none of them for other data."""

    texts: Blocks | None = None
    table: Tabular | None = None
    is_cells: bool = False


@dataclass(frozen=True)
class _Door:
    """X becomes a Corpus, unless it is a matrix. Texts are counted in the words of `known`, if there are some."""

    how: How
    owner: str
    engine: Engine | None = None
    known: Reading | None = None

    def read(self, X: object) -> _Read:
        if (counted := self._counted_by_workers(X)) is not None:
            return counted
        source = self._opened(X)
        return self._counts(X, source) if source.texts is None else self._count(source.texts)

    def parts(self, X: object) -> Iterator[Any]:
        """Texts as corpora of bounded size, in their order. Other data is one part. There is at least one."""
        if (counted := self._counted_by_workers(X)) is not None:
            yield counted.data
            return
        source = self._opened(X)
        if source.texts is None:
            yield self._counts(X, source).data
            return
        n = 0
        for n, blocks in enumerate(_until_full(source.texts), 1):  # noqa: B007
            yield self._count(blocks).data
        if not n:
            yield self._count(iter(())).data

    @property
    def _most_entries(self) -> int | None:
        """Other machines cannot see a temporary file, and a GPU wants the counts in memory: there all of them stay."""
        return MOST_ENTRIES if self.engine is None or self.engine.maps_files else None

    def _opened(self, X: Any) -> _Source:
        if isinstance(X, str | os.PathLike):
            return _Source(None if _kind_of_path(X, self.how.format) is None else self._blocks(X))
        if isinstance(X, NamedTexts):
            return _Source(document_blocks(X.documents))
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2):
            _explain(X, self.how.text)
            return _Source()
        if is_texts(X):
            return _Source(text_blocks(plain(X)))
        if is_anndata(X):
            return _Source(is_cells=True)
        if isinstance(X, Iterator) and not isinstance(X, ArrowStream):
            first, items = first_and_all(X)
            if not isinstance(first, str | list | tuple):
                raise ValueError(f"an iterator must give texts, and this one gives {type(first).__name__}: pass a list")
            return _Source(text_blocks(items))
        table = as_tabular(X)
        if table is None:
            _explain(X, self.how.text)
            return _Source()
        columns = text_columns(table, self.how.text)
        return _Source(text_blocks(texts_of(table, columns))) if columns else _Source(table=table)

    def _blocks(self, path: str | os.PathLike[str]) -> Blocks:
        with self._naming_columns():
            documents = read_texts(path, format=self.how.format, field=self.how.text, **self.how.file)
            yield from document_blocks(documents)

    @contextmanager
    def _naming_columns(self) -> Iterator[None]:
        """An error says what a user of `fit` is to pass."""
        try:
            yield
        except CorpusError as error:
            if self.how.text is not None or f"{DEFAULT_TEXT_FIELD!r}" not in str(error):
                raise
            said = str(error).partition(". Pass field=")[0]
            raise CorpusError(f"{said}. Pass text=, the name of the column with the texts") from None

    def _counts(self, X: Any, source: _Source) -> _Read:
        """Data that is not text."""
        if isinstance(X, str | os.PathLike):
            if Path(X).suffix.lower() != ".h5ad":
                return _Read(read_corpus(X, format=self.how.format, **self.how.file))
            adata = open_anndata(local_copy(X) if is_remote(X) else Path(X))
            try:
                return _Read(from_anndata(adata, self.how.layer, most_entries=self._most_entries))
            finally:
                adata.file.close()
        if source.is_cells:
            return _Read(from_anndata(X, self.how.layer, most_entries=self._most_entries))
        if (table := source.table) is None:
            return _Read(X)
        if self.how.feature_names is not None:
            raise ValueError("feature_names= is for matrices; a table has the names of its columns")
        is_frame = hasattr(X, "shape") and hasattr(X, "columns")
        if is_frame and (np.prod(X.shape, dtype=float) <= BLOCK_CELLS or hasattr(X, "sparse")):
            return _Read(X)  # small: scikit-learn checks it
        return _Read(counts_of(table, table.names, self._most_entries))

    def _counted_by_workers(self, X: object) -> _Read | None:
        """The texts of Parquet files, counted by an engine whose workers read them; None for other data and engines."""
        given, engine = self.how.vectorizer, self.engine
        if engine is None or not engine.counts_texts or not isinstance(X, str | os.PathLike):
            return None
        if not (given is None or isinstance(given, Vectorizer)) or _kind_of_path(X, self.how.format) != "parquet":
            return None
        path = str(path_of(X)) if is_remote(X) else os.path.abspath(X)
        texts = ParquetTexts(path, self.how.text, self.how.file.get("id_field"))
        vectorizer = self._vectorizer()
        vocabulary = vectorizer._begin_fit() if self.known is None else vectorizer._known_vocabulary()
        with self._naming_columns():
            corpus = engine.count_texts(texts, vectorizer, vocabulary, self.how.out)
        return None if corpus is None else _Read(corpus, given if self.known is not None else vectorizer)

    def _vectorizer(self) -> Any:
        given = self.how.vectorizer
        if self.known is not None:
            return self.known.counter() if given is None else given
        return Vectorizer(**DEFAULTS) if given is None else clone(given)

    def _count(self, blocks: Blocks) -> _Read:
        """Counts of words: of those that are known, or of those that the vectorizer chooses."""
        given = self.how.vectorizer
        if self.known is not None:
            vectorizer = self._vectorizer()
            if isinstance(vectorizer, Vectorizer):
                words = vectorizer._known_vocabulary()
                return _Read(vectorizer._count(blocks, None, words, self._most_entries), given)
            return _Read(Corpus.from_scipy(vectorizer.transform(_texts(blocks)), vocabulary=_names(vectorizer)), given)
        if given is None or isinstance(given, Vectorizer):
            vectorizer = self._vectorizer()
            return _Read(vectorizer._fit_blocks(blocks, self.how.out, self._most_entries), vectorizer)
        if not isinstance(given, TextVectorizer):
            raise ValueError(f"vectorizer= must be a topmix.data.Vectorizer, or one of scikit-learn, got {given!r}")
        vectorizer = clone(given)
        rows = Corpus.from_scipy(vectorizer.fit_transform(_texts(blocks)), vocabulary=_names(vectorizer))
        arrays = rows.indptr, rows.index, rows.value, rows.n_words, rows.vocabulary
        return _Read(Corpus.trusted(*arrays, meta={"tokenizer": _settings(vectorizer)}), vectorizer)


def _checked(data: Any, known: Reading, owner: str) -> Corpus:
    if isinstance(data, Corpus):
        return in_known_words(data, known, owner)
    return read_matrix(data, owner, known, None)[0]


def _renamed(corpus: Corpus, names: Sequence[str]) -> Corpus:
    if corpus.vocabulary is not None:
        raise ValueError("feature_names= is for data without names, but these words have names already")
    words = checked_names(names, corpus.n_words)
    return Corpus.trusted(
        corpus.indptr, corpus.index, corpus.value, corpus.n_words, words, corpus.names, meta=corpus.meta
    )


def _with_new_words(X: object, known: Reading, owner: str, engine: Engine | None) -> Any:
    """Texts, tables and files as counts; of texts, words that are not known are counted too, if there are enough of
    them in X for the vectorizer."""
    how = known.more()
    vectorizer = known.counter() if how.vectorizer is None and known.words is not None else how.vectorizer
    if not isinstance(vectorizer, Vectorizer):  # a vectorizer of scikit-learn has the words of its fit
        return _Door(how, owner, engine, known).read(X).data
    corpus, made = _Door(replace(how, vectorizer=for_every_word(vectorizer)), owner, engine).read(X)
    if made is None:  # not texts
        return corpus
    df = np.bincount(corpus.index, minlength=corpus.n_words)
    low, high = cuts_for(corpus.n_docs, vectorizer.min_df, vectorizer.max_df)
    low, high = (cut if isinstance(cut, int) else cut * corpus.n_docs for cut in (low, high))
    assert known.words is not None
    names = set(map(str, known.words))
    is_known = np.array([word in names for word in corpus.vocabulary], dtype=bool)
    return corpus.keep_words(is_known | ((df >= low) & (df <= high)))


def _grown(corpus: Corpus, known: Reading) -> tuple[Corpus, Reading]:
    if corpus.n_words == known.n_features:
        return corpus, known
    return corpus, known.renamed(corpus.vocabulary, corpus.n_words)


def _width(X: Any) -> int:
    shape = np.shape(X)
    return int(shape[1]) if len(shape) == 2 else 0


def _until_full(blocks: Blocks) -> Iterator[Blocks]:
    """Blocks of texts in runs, as many as one shard has room for."""
    run: list[Any] = []
    chars = 0
    for block in blocks:
        run.append(block)
        chars += sum(map(len, block[1]))
        if chars >= PART_CHARS:
            yield iter(run)
            run, chars = [], 0
    if run:
        yield iter(run)


def _kind_of_path(path: str | os.PathLike[str], format: str | None) -> str | None:
    """The format of texts; None for a file of counts."""
    if not is_remote(path) and not Path(path).exists():
        hint = "" if isinstance(path, os.PathLike) else ". To learn from texts, pass a list of strings: [text, ...]"
        raise FileNotFoundError(f"there is no such file or folder: {str(path)[:200]!r}{hint}")
    return None if Path(path).suffix.lower() == ".h5ad" else kind_of_text(path, format)


def _texts(blocks: Blocks) -> list[Any]:
    return [text for _, texts in blocks for text in texts]


def _names(vectorizer: TextVectorizer) -> list[str]:
    return [str(name) for name in vectorizer.get_feature_names_out()]


def _settings(vectorizer: TextVectorizer) -> dict[str, Any]:
    """The settings of a CountVectorizer as ours; others are represented by their name."""
    given = vectorizer.get_params(deep=False)
    other = {"input": "content", "preprocessor": None, "tokenizer": None, "analyzer": "word", "binary": False}
    same = ("lowercase", "token_pattern", "stop_words", "ngram_range", "strip_accents")
    if type(vectorizer).__name__ == "CountVectorizer" and all(
        given.get(name) == value for name, value in other.items()
    ):
        return Vectorizer(**{name: given[name] for name in same}).to_dict()
    kind = type(vectorizer)
    return Vectorizer().to_dict() | {"tokenizer": f"{kind.__module__}:{kind.__qualname__}"}


def _explain(X: object, text: str | Sequence[str] | None) -> None:
    """Errors that say what to pass instead, for data that cannot be counts."""
    if text is not None:
        raise ValueError(f"text= names a column of a table, but X is a {type(X).__name__} without named columns")
    if isinstance(X, set | dict) and not sp.issparse(X):  # a dok_array is a dict
        raise ValueError(f"X is a {type(X).__name__}, which has no order of documents: pass a list of texts")
    if isinstance(X, bytes):
        raise ValueError("X is bytes: decode them, and pass a list of texts")
    if isinstance(X, list | tuple) and not X:
        raise ValueError("X is empty: pass at least one document")
    first = X[0] if isinstance(X, list | tuple) else None
    if isinstance(first, bytes):
        raise ValueError("the documents are bytes: decode them, for instance with .decode('utf-8')")
    if isinstance(first, list | tuple) and first and isinstance(first[0], tuple) and len(first[0]) == 2:
        raise ValueError("X looks like a corpus of gensim: pass topmix.data.from_gensim(X, id2word)")
    if isinstance(first, dict):
        raise ValueError("X is a list of dicts: pass the texts alone, [row['text'] for row in X], or a DataFrame")
