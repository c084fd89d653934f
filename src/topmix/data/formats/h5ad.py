"""Single cells in .h5ad files, by the package anndata: X of the file, read block by block. See data/anndata.py."""

from __future__ import annotations

from pathlib import Path

from topmix.data.anndata import from_anndata, open_anndata
from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.formats.format import Format, Options


def matches(head: bytes) -> bool:
    return head[:8] == b"\x89HDF\r\n\x1a\n"


def read(path: Path, options: Options) -> Corpus:
    if options.vocabulary or options.n_words is not None or options.first_id is not None:
        raise CorpusError(f"{path}: an h5ad file holds its words; leave out vocabulary, n_words and first_id")
    adata = open_anndata(path)
    try:
        return from_anndata(adata, out=options.out)
    finally:
        adata.file.close()


def write(corpus: Corpus, path: Path) -> None:
    raise ValueError(f"{path}: topmix reads .h5ad files and does not write them: write Matrix Market (.mtx)")


H5AD = Format("h5ad", (".h5ad",), matches, read, write)
