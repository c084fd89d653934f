"""UCI bag of words: `docword.X.txt` or `.txt.gz`, with the words in `vocab.X.txt` in the same folder.

Three header lines (documents D, words W, entries NNZ), then NNZ lines "doc word count" with ids from 1.
"""

from __future__ import annotations

import re
from pathlib import Path

from topmix.data.corpus import Corpus
from topmix.data.formats.format import Format, Options, check_whole_counts, write_vocabulary
from topmix.data.formats.triples import Header, check_header, read_triples
from topmix.data.formats.write import triple_lines
from topmix.data.textfile import TextFile, write_text


def matches(head: bytes) -> bool:
    return re.match(rb"\s*\d+\s*\n\s*\d+\s*\n\s*\d+\s*\n", head) is not None


def read(path: Path, options: Options) -> Corpus:
    return read_triples(path, _header, options)


def write(corpus: Corpus, path: Path) -> None:
    check_whole_counts(corpus, "UCI docword")
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        file.write(f"{corpus.n_docs}\n{corpus.n_words}\n{corpus.nnz}\n".encode())
        for lines in triple_lines(corpus):
            file.write(lines)


def _header(file: TextFile) -> Header:
    numbers = []
    for what in ("the number of documents", "the number of words", "the number of entries"):
        text = file.readline(what).strip()
        if not re.fullmatch(rb"\d{1,18}", text):
            raise file.error(f"expected {what}, found {text[:24].decode(errors='replace')!r}", file.line - 1)
        numbers.append(int(text))
    n_docs, n_words, nnz = numbers
    check_header(file, n_docs, n_words, nnz)
    return Header(n_docs, n_words, nnz, whole=True)


UCI = Format("uci", (), matches, read, write, prefix="docword.")
