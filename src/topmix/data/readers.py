"""Read and write corpora in all formats of data/formats."""

from __future__ import annotations

import os
from typing import Any

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.formats import FORMATS, Options
from topmix.data.formats.format import VocabularyLike
from topmix.data.paths import path_of
from topmix.data.remote_file import local_copy
from topmix.data.sources import Source, look, named_format
from topmix.data.texts import read_texts
from topmix.data.vectorize import Vectorizer

TEXT_OPTIONS = ("field", "id_field", "encoding", "errors", "pattern")  # of read_texts


def read_corpus(
    path: str | os.PathLike[str] | Source,
    *,
    format: str | None = None,
    vocabulary: VocabularyLike = None,
    n_words: int | None = None,
    first_id: int | None = None,
    out: str | os.PathLike[str] | None = None,
    verify: bool = True,
    **text: Any,
) -> Corpus:
    """Read a corpus from a file of counts, or from text: a folder, JSON lines, CSV, TSV, one document per line.

    Parameters
    ----------
    path
        A file, a folder of text files or of Parquet files, or a URL such as s3:// (needs fsspec). Files of text may be
        compressed with gzip. Also what `topmix.data.sources.look` found there.
    format : {"topmix", "uci", "ldac", "svmlight", "mtx", "npz", "parquet","h5ad","folder","jsonl","csv","tsv","lines"}
        The format of the file. None recognises it by the file's name and first bytes.
    vocabulary : sequence of str, path, False or None
        The words, or a file with one word per line. None looks for a file in the same folder: `vocab.X.txt` for
        `docword.X.txt`; for X.mtx `X.mtx.vocab.txt`, `X.vocab.txt`, `X.vocab`, `X.tokens`, `vocab.X.txt`, `vocab.txt`.
        One that may belong to another corpus, such as X.ldac beside X.mtx, is refused. False reads without words.
    n_words : int, optional
        Number of words, for formats that do not store it (LDA-C, svmlight). Must agree with the file in the others.
    first_id : {0, 1}, optional
        The smallest word id, for LDA-C (default 0) and svmlight (default 0 if an id 0 occurs, else 1).
    out : path, optional
        Build the corpus in this `.topmix` file, in bounded memory, and map it from there.
    verify : bool
        Whether to compare the checksums of a `.topmix` file, for which the file is read once. See `Corpus.open`.
    **text
        For text only: options of `read_texts` (`field`, `id_field`, `encoding`, ...) and of `Vectorizer`
        (`stop_words`, `min_df`, ...).

    Raises
    ------
    CorpusError
        The file is damaged, cut short or in another format. The message names the file and the line or byte.
    """
    source = path if isinstance(path, Source) else look(path, format)
    if first_id not in (None, 0, 1):
        raise ValueError(f"first_id={first_id!r}: pass 0 or 1, or None for the default of the format")
    if source.texts is not None:
        if n_words is not None or first_id is not None:
            raise ValueError(f"n_words and first_id are for files of counts, but {source.path} is read as text")
        how = {name: text.pop(name) for name in TEXT_OPTIONS if name in text}
        vectorizer = Vectorizer(**text | {"vocabulary": vocabulary})
        return vectorizer._fit_documents(read_texts(source, **how), out)
    file = local_copy(source.path) if isinstance(source.path, str) else source.path
    if text:
        raise ValueError(f"{', '.join(text)}: for text only, but {file} holds counts")
    if source.counts is None:
        raise CorpusError(
            f"{file}: byte 0: neither the name nor the first bytes tell the format; "
            f"pass format=, one of {', '.join(FORMATS)}"
        )
    options = Options(vocabulary, n_words, first_id, None if out is None else path_of(out), verify)
    try:
        return source.counts.read(file, options)
    except CorpusError as error:  # errors of the builder do not name the file
        if file.name in str(error) or (isinstance(vocabulary, str | os.PathLike) and str(vocabulary) in str(error)):
            raise
        raise CorpusError(f"{file}: {error}") from error


def kind_of_text(path: str | os.PathLike[str], format: str | None = None) -> str | None:
    """The text format in which `read_corpus` reads this path, or None if it reads counts."""
    return look(path, format).texts


def write_corpus(corpus: Corpus, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a corpus. Without `format`, the name of the file decides (`docword.X.txt`, `.mtx.gz`, ...).

    Text formats are compressed when the name ends in .gz. All formats except `.topmix` and Parquet write the vocabulary
    to a second file in the same folder, `vocab.X.txt` for `docword.X.txt` and `X.mtx.vocab.txt` for X.mtx, and lose the
    names (except svmlight) and meta. Files are written atomically.
    """
    target = path_of(path)
    if format is not None:
        chosen = named_format(format)
    else:
        named = [f for f in FORMATS.values() if f.is_named(target)]
        if not named:
            raise ValueError(f"{target}: the name does not tell the format; pass format=, one of {', '.join(FORMATS)}")
        chosen = named[0]
    chosen.write(corpus, target)
