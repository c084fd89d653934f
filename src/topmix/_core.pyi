"""Made by tools/stubs.py from the native module; do not edit."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def supported_isas() -> list[str]:
    """Instruction sets that this processor runs, best first."""

@overload
def exp(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def exp(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """out = exp(x)"""

@overload
def log(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def log(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """out = log(x)"""

@overload
def digamma(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def digamma(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """out = digamma(x), x >= 0"""

@overload
def lgamma(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def lgamma(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """out = log Gamma(x), x >= 0"""

@overload
def exp_digamma(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def exp_digamma(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """out = exp(digamma(x)), x >= 0"""

def philox4x32(counter: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], key: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """One block of Philox4x32-10."""

def random_words(seed: int, pass_: int, first_row: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    out[n] = the first 32-bit words of the stream (seed, pass, first_row + n).
    """

def random_uniform(seed: int, pass_: int, first_row: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """Likewise, uniform in [0, 1)."""

def random_below(seed: int, pass_: int, first_row: int, n: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """Likewise, integers in [0, n), each equally likely."""

@overload
def top_l_rows(scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], L: int, idx: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], log: bool, entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def top_l_rows(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], L: int, idx: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], log: bool, entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """
    Row n: the min(L, K) best clusters, ascending, their renormalised weights, and the entropy of those in nats.

    Scores are log weights if log, else non-negative weights. Of equal scores the lower index is kept; NaN counts as
    -inf; a row without any weight is uniform.
    """

@overload
def select_rows(scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], L: int, idx: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], val: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def select_rows(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], L: int, idx: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], val: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    Row n: the indices and values of the min(L, K) largest, ascending by index.
    """

def nth_element_rows(scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], L: int, idx: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], log: bool) -> None:
    """
    A benchmark baseline: top_l_rows for finite scores by std::nth_element, on one thread.
    """

@overload
def group_by(ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_bins: int, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def group_by(ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_bins: int, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """
    order = argsort(ids, stable); bin b holds order[starts[b]:starts[b + 1]]. IndexError on a bad id.
    """

def add_by_id(ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """
    out[ids[i]] += values[i], in order of i: the same bits for any number of threads.
    """

@overload
def sum(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 1) -> float:
    """A float64 sum with the same bits for any number of threads."""

@overload
def sum(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 1) -> float: ...

isa: str
"""The instruction set that was loaded."""
