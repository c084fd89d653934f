"""Read and write corpora in all formats: what is at a path, and who reads it.

texts              in the formats of `topmix.io.texts`, by the name of the path; *.txt unless its first bytes are
                   those of a format of counts, and Parquet if it has a column of strings
any other file     counts, by the file's name and first bytes
"""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from topmix.base.checks import CorpusError
from topmix.base.paths import TEMPORARY_SUFFIX, path_of
from topmix.corpus.corpus import Corpus
from topmix.corpus.documents import document_blocks
from topmix.corpus.vectorize import Vectorizer
from topmix.io.count_lines import MATRIX_MARKET, UCI
from topmix.io.formats import H5AD, NPZ, SAVED, Format, Options, VocabularyLike
from topmix.io.parquet import PARQUET, holds_texts, parquet_files
from topmix.io.textfile import TextFile
from topmix.io.texts import READERS, TextFormat, fetched, text_format, texts_at

# Formats of counts. To add one, define a `Format` in a file here and add it to the list. The first bytes of a file are
# tried in this order.
FORMATS: dict[str, Format] = {f.name: f for f in (SAVED, PARQUET, NPZ, H5AD, MATRIX_MARKET, UCI)}


class Source(NamedTuple):
    """What is at a path."""

    path: Path  # on this machine, or of a file that is read where it is
    texts: str | None  # the name of one of READERS
    counts: Format | None  # where it is not texts; None where neither name nor first bytes tell


def look(path: str | os.PathLike[str], format: str | None = None) -> Source:
    """Texts or counts: as `format` says, or by the name and the first bytes."""
    source = fetched(path)
    if source.name.endswith(TEMPORARY_SUFFIX):
        raise CorpusError(f"{source}: this is an unfinished temporary file of an interrupted write; delete it")
    kind = format or text_format(source) or ("folder" if source.is_dir() else None)
    if kind == "parquet" and not source.is_dir() and not holds_texts(parquet_files(source)[0]):
        return Source(source, None, PARQUET)
    if kind not in READERS:
        return Source(source, None, _recognised(source) if format is None else named_format(format))
    counts = _recognised(source) if kind == "lines" and format is None else None
    return Source(source, kind if counts is None else None, counts)


def read_corpus(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    vocabulary: VocabularyLike = None,
    out: str | os.PathLike[str] | None = None,
    verify: bool = True,
    **text: Any,
) -> Corpus:
    """Read a corpus from a file of counts, or from text: a folder, JSON lines, CSV, TSV, one document per line.

    Parameters
    ----------
    path
        A file, a folder of text files or of Parquet files, or a URL such as s3:// (needs fsspec). Files of text may be
        compressed with gzip.
    format : {"topmix", "uci", "mtx", "npz", "parquet", "h5ad", "folder", "jsonl", "csv", "tsv", "lines"} or None
        The format of the file. None recognises it by the file's name and first bytes.
    vocabulary : sequence of str, path, False or None
        The words, or a file with one word per line. None looks for a file in the same folder: `vocab.X.txt` for
        `docword.X.txt`; for X.mtx `X.mtx.vocab.txt`, `X.vocab.txt`, `X.vocab`, `X.tokens`, `vocab.X.txt`, `vocab.txt`.
        False reads without words.
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
    source = look(path, format)
    file = source.path
    if source.texts is not None:
        options = TextFormat(**{f.name: text.pop(f.name) for f in fields(TextFormat) if f.name in text})
        vectorizer = Vectorizer(**text | {"vocabulary": vocabulary})
        return vectorizer._fit_blocks(document_blocks(texts_at(file, source.texts, options)), out)
    if text:
        raise ValueError(f"{', '.join(text)}: for text only, but {file} holds counts")
    if source.counts is None:
        raise CorpusError(
            f"{file}: byte 0: neither the name nor the first bytes tell the format; "
            f"pass format=, one of {', '.join(FORMATS)}"
        )
    how = Options(vocabulary, None if out is None else path_of(out), verify)
    try:
        return source.counts.read(file, how)
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
    names and meta. Files are written atomically.
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


def named_format(name: str) -> Format:
    """A format of counts by its name."""
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}; pass one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _recognised(path: Path) -> Format | None:
    named = next((f for f in FORMATS.values() if f.is_named(path)), None)
    if named is not None:
        return named
    with TextFile(path) as file:
        head = file.head()
    return next((f for f in FORMATS.values() if f.matches(head)), None)
