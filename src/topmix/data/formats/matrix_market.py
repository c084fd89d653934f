"""Matrix Market coordinate files, `.mtx` or `.mtx.gz`, one document per row. MmCorpus of gensim writes them too."""

from __future__ import annotations

import re
from pathlib import Path

from topmix.data.corpus import Corpus
from topmix.data.formats.format import Format, Options, write_vocabulary
from topmix.data.formats.triples import Header, check_header, read_triples
from topmix.data.formats.write import triple_lines
from topmix.data.textfile import TextFile, write_text


def matches(head: bytes) -> bool:
    return head[:14].lower() == b"%%matrixmarket"


def read(path: Path, options: Options) -> Corpus:
    return read_triples(path, _header, options)


def write(corpus: Corpus, path: Path) -> None:
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        file.write(b"%%MatrixMarket matrix coordinate real general\n")
        file.write(f"{corpus.n_docs} {corpus.n_words} {corpus.nnz}\n".encode())
        for lines in triple_lines(corpus):
            file.write(lines)


def _header(file: TextFile) -> Header:
    banner = file.readline("%%MatrixMarket").decode(errors="replace").lower().split()
    if banner[:1] != ["%%matrixmarket"] or len(banner) != 5:
        raise file.error("expected '%%MatrixMarket matrix coordinate real general'", 1)
    what, layout, kind, symmetry = banner[1:]
    if (
        (what, layout) != ("matrix", "coordinate")
        or symmetry != "general"
        or kind not in ("real", "integer", "pattern")
    ):
        raise file.error(
            f"expected a general coordinate matrix of real, integer or pattern entries, found {' '.join(banner[1:])!r}",
            1,
        )
    expected = "three numbers: rows, columns, entries"
    text = b"%"
    while not text or text.startswith(b"%"):
        text = file.readline(expected).strip()
    if not re.fullmatch(rb"\d{1,18}\s+\d{1,18}\s+\d{1,18}", text):
        raise file.error(f"expected {expected}, found {text[:40].decode(errors='replace')!r}", file.line - 1)
    n_docs, n_words, nnz = (int(x) for x in text.split())
    check_header(file, n_docs, n_words, nnz)
    return Header(n_docs, n_words, nnz, has_value=kind != "pattern")


MATRIX_MARKET = Format("mtx", (".mtx", ".mm"), matches, read, write)
