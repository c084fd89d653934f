"""Corpora from objects of other libraries: documents of gensim, and single cells of AnnData, which may be backed by an
.h5ad file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import scipy.sparse as sp

from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.errors import CorpusError
from topmix.data.matrices import check_sparse

if TYPE_CHECKING:
    from anndata import AnnData

BLOCK_ENTRIES = 1 << 24  # numbers of a backed file in memory at a time


def is_anndata(X: object) -> TypeGuard[AnnData]:
    return type(X).__name__ == "AnnData" and hasattr(X, "obs_names") and hasattr(X, "var_names")


def open_anndata(path: str | PathLike[str]) -> AnnData:
    """An .h5ad file, backed: its numbers are read when they are used."""
    try:
        import anndata
    except ImportError as error:
        raise ImportError("h5ad files need the package anndata: pip install 'topmix[anndata]'") from error
    return anndata.read_h5ad(path, backed="r")


def from_anndata(
    adata: AnnData, layer: str | None = None, *, out: str | PathLike[str] | None = None, most_entries: int | None = None
) -> Corpus:
    """Cells as documents and genes (or regions) as words, with their names.

    Parameters
    ----------
    adata : AnnData
        In memory, or backed by a file: then a block of cells is in memory at a time.
    layer : str or None
        The layer with the counts. None is X. Topics are of counts, not of normalised or scaled numbers.
    out : path or None
        Build the corpus in this file, and map it from there.
    most_entries : int or None
        Counts of a backed file that are kept in memory. If there are more, they move to a temporary file, which is
        mapped and is removed with the corpus. None keeps all of them in memory.
    """
    if layer is not None and layer not in adata.layers:
        raise CorpusError(f"no layer {layer!r}; the layers are {', '.join(map(repr, adata.layers.keys())) or 'none'}")
    counts = adata.X if layer is None else adata.layers[layer]
    if counts is None:
        raise CorpusError(f"the AnnData has no X: pass layer=, one of {', '.join(map(repr, adata.layers.keys()))}")
    words, names = [str(gene) for gene in adata.var_names], [str(cell) for cell in adata.obs_names]
    if getattr(counts, "format", "") == "csc" and not sp.issparse(counts):  # rows of a file by columns: all at once
        counts = counts.to_memory()
    if sp.issparse(counts):
        if out is None:
            return Corpus.from_scipy(counts, vocabulary=words, names=names)
        check_sparse(counts)
        counts = sp.csr_array(counts)
    n_cells, density = counts.shape[0], 1.0
    if hasattr(counts, "group"):  # sparse, in a file
        density = len(counts.group["indices"]) / max(np.prod(counts.shape, dtype=float), 1.0)
    step = max(1, int(BLOCK_ENTRIES / max(counts.shape[1] * density, 1.0)))
    with CorpusBuilder(out, most_entries=most_entries) as builder:
        for begin in range(0, n_cells, step):
            rows = sp.csr_array(counts[begin : begin + step])
            builder.append(rows.indptr, rows.indices, rows.data, names[begin : begin + step])
        return builder.finish(words)


def from_gensim(
    corpus: Iterable[Iterable[tuple[int, float]]],
    id2word: Mapping[int, str] | Sequence[str] | None = None,
    *,
    out: str | PathLike[str] | None = None,
) -> Corpus:
    """A corpus from a gensim corpus (in memory or streamed) and its Dictionary or any other mapping of id to word.

    With `out` the corpus is built in that file, in bounded memory, and mapped from it.
    """
    return Corpus.from_rows(corpus, None if id2word is None else _words(id2word), out=out)


def _words(id2word: Mapping[int, str] | Sequence[str]) -> list[str]:
    if isinstance(id2word, Sequence):
        return list(id2word)
    ids = sorted(id2word.keys())
    for expected, v in enumerate(ids):
        if v != expected:
            raise CorpusError(
                f"id2word has no word {expected}: call compactify() of gensim's Dictionary to close the gaps"
            )
    return [id2word[v] for v in ids]
