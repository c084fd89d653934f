"""Sparse matrices as data: what is wrong with one is an error of the corpus."""

from __future__ import annotations

from typing import Any

from topmix.data.errors import CorpusError
from topmix.numerics import sparse_checks


def check_sparse(X: Any) -> None:
    """Raise CorpusError unless the arrays of a sparse matrix describe a matrix of its shape."""
    try:
        sparse_checks.check_sparse(X)
    except ValueError as error:
        raise CorpusError(str(error)) from None
