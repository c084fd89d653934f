"""Sparse matrices of counts, checked before SciPy converts them: parameters/sparse.py says why."""

from __future__ import annotations

from typing import Any

from topmix.data.errors import CorpusError
from topmix.parameters import sparse


def check_sparse(X: Any) -> None:
    """Raise CorpusError unless the arrays of a sparse matrix describe a matrix of its shape."""
    try:
        sparse.check_sparse(X)
    except ValueError as error:
        raise CorpusError(str(error)) from None
