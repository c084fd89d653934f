"""Topics of single cells: from an AnnData, and back into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topmix.estimators import LDA

if TYPE_CHECKING:
    from anndata import AnnData


def lda(adata: AnnData, n_topics: int = 100, *, layer: str | None = None, key: str = "topics", **settings: Any) -> LDA:
    """Topics of cells, written into an AnnData by `annotate`.

    Parameters
    ----------
    adata : AnnData
        Cells by genes, or by regions. It is changed.
    n_topics : int
        Number of topics.
    layer : str or None
        The layer with the counts; None is X. Topics are of counts, not of normalised numbers.
    key : str
        What the results are called.
    **settings
        Parameters of `topmix.LDA`, such as `random_state`.

    Returns
    -------
    LDA
        The fitted model.
    """
    model = LDA(n_topics, **settings).fit(adata, layer=layer)
    annotate(adata, model, key=key)
    return model


def annotate(adata: AnnData, model: LDA, *, key: str = "topics") -> AnnData:
    """Writes the topics of a fitted model into an AnnData, and returns it: proportions of topics in cells into
    `obsm["X_topics"]`, probabilities of genes or regions into `varm["topics"]`, the main topic of each cell into
    `obs["topics"]`, names and shares of topics into `uns["topics"]`."""
    return model.annotate(adata, key=key)
