"""Whatever a user passes to an estimator becomes a Corpus, or stays a matrix: texts, tables, files, single cells."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from topmix.data.anndata import from_anndata, is_anndata, open_anndata
from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.fields import DEFAULT_TEXT_FIELD
from topmix.data.from_table import counts_of, text_columns, texts_of
from topmix.data.items import first_and_all, is_texts, plain
from topmix.data.parquet_texts import ParquetTexts
from topmix.data.readers import kind_of_text, read_corpus
from topmix.data.remote_file import is_remote, local_copy
from topmix.data.tabular import BLOCK_CELLS, Tabular, as_tabular
from topmix.data.text_blocks import Blocks, document_blocks, text_blocks
from topmix.data.texts import read_texts
from topmix.data.vectorize import Vectorizer
from topmix.estimators.components import engine_of
from topmix.estimators.frames import FRAMES
from topmix.files.reader import ModelFileError

# Of texts, without vectorizer=.
DEFAULTS: dict[str, Any] = {"token_pattern": "auto", "stop_words": "auto", "min_df": "auto", "max_df": "auto"}
PART_CHARS = 1 << 22  # of texts that are counted and solved before the next are read
MOST_ENTRIES = 1 << 25  # of counts that are kept in memory, 268 MB; more go to a temporary file, which is mapped


@dataclass(frozen=True)
class Reading:
    """How X is to be read. What a fit was told holds for later calls, too."""

    text: str | Sequence[str] | None = None  # the column, or columns, of a table with the texts
    vectorizer: Any = None  # counts the words of texts
    feature_names: Sequence[str] | None = None  # of the columns of a matrix
    layer: str | None = None  # of an AnnData

    def to_dict(self) -> dict[str, Any]:
        """What later calls need, as JSON."""
        text = self.text if self.text is None or isinstance(self.text, str) else [str(name) for name in self.text]
        return {"text": text, "layer": self.layer, "named": self.feature_names is not None}


def checked_input(kept: Any) -> dict[str, Any]:
    """What `Reading.to_dict` gave, from a file."""
    text, layer = kept.get("text"), kept.get("layer")
    columns = text if isinstance(text, list) else [text]
    if not all(name is None or isinstance(name, str) for name in [*columns, layer]):
        raise ModelFileError("'input' does not name columns of texts and a layer")
    frame = kept.get("frame")
    if frame is not None and frame not in FRAMES:
        raise ModelFileError(f"'input' names an unknown kind of table, {str(frame)[:60]!r}")
    return {"text": text, "layer": layer, "named": bool(kept.get("named")), "frame": frame}


class Read(NamedTuple):
    """Data that was read: a Corpus, or a matrix as it was given; and the vectorizer, if it was text."""

    data: Any
    vectorizer: Any = None


def remembered(estimator: Any) -> Reading:
    """How the data of the last fit was read."""
    kept = getattr(estimator, "input_", None) or {}
    return Reading(kept.get("text"), getattr(estimator, "vectorizer_", None), None, kept.get("layer"))


def read(estimator: Any, X: Any, reading: Reading, *, fitted: bool) -> Read:
    """X as a Corpus, unless it is a matrix. Texts are counted in the words of a fitted estimator."""
    if (counted := _counted_by_workers(estimator, X, reading, fitted)) is not None:
        return counted
    source = _opened(X, reading)
    if source.texts is not None:
        return _count(estimator, source.texts, reading, fitted)
    return _read_counts(estimator, X, source.table, reading)


def read_parts(estimator: Any, X: Any, reading: Reading) -> Iterator[Any]:
    """What `read` gives for a fitted estimator, in parts: texts as corpora of bounded size, in their order. Other data
    is one part. There is at least one."""
    if (counted := _counted_by_workers(estimator, X, reading, fitted=True)) is not None:
        yield counted.data
        return
    source = _opened(X, reading)
    if source.texts is None:
        yield _read_counts(estimator, X, source.table, reading).data
        return
    one_at_least = True
    for blocks in _until_full(source.texts):
        yield _count(estimator, blocks, reading, fitted=True).data
        one_at_least = False
    if one_at_least:
        yield _count(estimator, iter(()), reading, fitted=True).data


class Source(NamedTuple):
    """Texts in blocks, or a table; neither for other data."""

    texts: Blocks | None = None
    table: Tabular | None = None


def _opened(X: Any, reading: Reading) -> Source:
    if isinstance(X, str | os.PathLike):
        return Source(_texts_of_path(X, reading))
    if is_anndata(X):
        return Source()
    if is_texts(X):
        return Source(text_blocks(plain(X)))
    if isinstance(X, Iterator) and not hasattr(X, "__arrow_c_stream__"):
        first, items = first_and_all(X)
        if not isinstance(first, str | list | tuple):
            raise ValueError(f"an iterator must give texts, and this one gives {type(first).__name__}: pass a list")
        return Source(text_blocks(items))
    table = as_tabular(X)
    if table is None:
        _explain(X, reading)
        return Source()
    columns = text_columns(table, reading.text)
    return Source(text_blocks(texts_of(table, columns))) if columns else Source(table=table)


def _read_counts(estimator: Any, X: Any, table: Tabular | None, reading: Reading) -> Read:
    """Data that is not text."""
    if isinstance(X, str | os.PathLike):
        if Path(X).suffix.lower() != ".h5ad":
            return Read(read_corpus(X))
        source = local_copy(X) if is_remote(X) else Path(X)
        adata = open_anndata(source)
        try:
            return Read(from_anndata(adata, reading.layer, most_entries=_most_entries(estimator)))
        finally:
            adata.file.close()
    if is_anndata(X):
        return Read(from_anndata(X, reading.layer, most_entries=_most_entries(estimator)))
    if table is None:
        return Read(X)
    if reading.feature_names is not None:
        raise ValueError("feature_names= is for matrices; a table has the names of its columns")
    is_frame = hasattr(X, "shape") and hasattr(X, "columns")
    if is_frame and (np.prod(X.shape, dtype=float) <= BLOCK_CELLS or hasattr(X, "sparse")):
        return Read(X)  # small: scikit-learn checks it
    return Read(counts_of(table, table.names, _most_entries(estimator)))


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


def _most_entries(estimator: Any) -> int | None:
    """Other machines cannot see a temporary file, and a GPU wants the counts in memory: there all of them stay."""
    engine = engine_of(estimator)
    return MOST_ENTRIES if engine is None or engine.maps_files else None


def refuse_iterator(X: Any) -> None:
    """For methods that read X twice."""
    if isinstance(X, Iterator):
        raise ValueError("X is an iterator, and the first reading would use it up: pass a list, or call fit alone")


def _counted_by_workers(estimator: Any, X: Any, reading: Reading, fitted: bool) -> Read | None:
    """The texts of Parquet files, counted by an engine whose workers read them; None for other data and engines."""
    engine = engine_of(estimator)
    given = reading.vectorizer
    if engine is None or not engine.counts_texts or not isinstance(X, str | os.PathLike):
        return None
    if not (given is None or isinstance(given, Vectorizer)) or _kind_of_path(X) != "parquet":
        return None
    texts = ParquetTexts(X if is_remote(X) else os.path.abspath(X), reading.text)
    if fitted:
        vectorizer = _vectorizer_of(estimator) if given is None else given
        vocabulary: Sequence[str] | None = vectorizer._known_vocabulary()
    else:
        vectorizer = Vectorizer(**DEFAULTS) if given is None else clone(given)
        vocabulary = vectorizer._begin_fit()
    with _naming_columns(reading):
        corpus = engine.count_texts(texts, vectorizer, vocabulary)
    return None if corpus is None else Read(corpus, given if fitted else vectorizer)


def _kind_of_path(path: str | os.PathLike[str]) -> str | None:
    """The format of texts; None for a file of counts."""
    if not is_remote(path) and not Path(path).exists():
        hint = "" if isinstance(path, os.PathLike) else ". To learn from texts, pass a list of strings: [text, ...]"
        raise FileNotFoundError(f"there is no such file or folder: {str(path)[:200]!r}{hint}")
    return None if Path(path).suffix.lower() == ".h5ad" else kind_of_text(path)


def _texts_of_path(path: str | os.PathLike[str], reading: Reading) -> Blocks | None:
    """None for a file of counts."""
    return None if _kind_of_path(path) is None else _read_blocks(path, reading)


def _read_blocks(path: str | os.PathLike[str], reading: Reading) -> Blocks:
    with _naming_columns(reading):
        yield from document_blocks(read_texts(path, field=reading.text))


@contextmanager
def _naming_columns(reading: Reading) -> Iterator[None]:
    """An error says what a user of `fit` is to pass."""
    try:
        yield
    except CorpusError as error:
        if reading.text is not None or f"{DEFAULT_TEXT_FIELD!r}" not in str(error):
            raise
        said = str(error).partition(". Pass field=")[0]
        raise CorpusError(f"{said}. Pass text=, the name of the column with the texts") from None


def _count(estimator: Any, blocks: Blocks, reading: Reading, fitted: bool) -> Read:
    """Counts of words: of those that the estimator knows, or of those that the vectorizer chooses."""
    given = reading.vectorizer
    if fitted:
        vectorizer = _vectorizer_of(estimator) if given is None else given
        if isinstance(vectorizer, Vectorizer):
            words = vectorizer._known_vocabulary()
            return Read(vectorizer._count(blocks, None, words, _most_entries(estimator)), given)
        return Read(Corpus.from_scipy(vectorizer.transform(_texts(blocks)), vocabulary=_names(vectorizer)), given)
    if given is None or isinstance(given, Vectorizer):
        vectorizer = Vectorizer(**DEFAULTS) if given is None else clone(given)
        return Read(vectorizer._fit_blocks(blocks, most_entries=_most_entries(estimator)), vectorizer)
    if not hasattr(given, "fit_transform") or not hasattr(given, "get_feature_names_out"):
        raise ValueError(f"vectorizer= must be a topmix.data.Vectorizer, or one of scikit-learn, got {given!r}")
    vectorizer = clone(given)
    counts = vectorizer.fit_transform(_texts(blocks))
    rows = Corpus.from_scipy(counts, vocabulary=_names(vectorizer))
    arrays = rows.indptr, rows.index, rows.value, rows.n_words, rows.vocabulary
    return Read(Corpus.trusted(*arrays, meta={"tokenizer": _settings(vectorizer)}), vectorizer)


def _vectorizer_of(estimator: Any) -> Vectorizer:
    try:
        return Vectorizer.of(estimator)
    except ValueError as error:
        if not (getattr(estimator, "tokenizer_", None) or {}).get("tokenizer"):
            raise
        raise ValueError(
            f"{error} of topmix.data.Vectorizer.of(model, tokenizer=...), and pass the counts that it makes"
        ) from None


def _texts(blocks: Blocks) -> list[Any]:
    return [text for _, texts in blocks for text in texts]


def _names(vectorizer: Any) -> list[str]:
    return [str(name) for name in vectorizer.get_feature_names_out()]


def _settings(vectorizer: Any) -> dict[str, Any]:
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


def _explain(X: Any, reading: Reading) -> None:
    """Errors that say what to pass instead, for data that cannot be counts."""
    if reading.text is not None:
        raise ValueError(f"text= names a column of a table, but X is a {type(X).__name__} without named columns")
    if isinstance(X, set | dict) and not hasattr(X, "tocsr"):  # a dok_array is a dict
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
