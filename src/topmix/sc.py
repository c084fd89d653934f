"""Topics of single cells: from an AnnData (`lda`), and back into it (`annotate`)."""

from topmix.apps.cells import annotate, lda

__all__ = ["annotate", "lda"]
