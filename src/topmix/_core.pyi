"""Made by tools/stubs.py from the native module; do not edit."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray
from typing_extensions import CapsuleType


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

def random_words(seed: int, pass_: int, first_row: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    out[n] = the first 32-bit words of the stream (seed, pass, first_row + n).
    """

def check_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_words: int) -> tuple[str, int, float]:
    """
    Are these the rows of a corpus? Returns (problem or '', explicit zeros, sum of counts).
    """

def check_saved_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_words: int, first_row: int, threads: int) -> tuple[str, float]:
    """
    Are these rows of a file the rows of a corpus, without zeros? Returns (problem or '', sum of counts).
    """

def all_below(ids: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], n: int) -> bool:
    """Whether all ids, int32 or int64, are from 0 to n - 1."""

def crc32(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], crc: int = 0, threads: int = 1) -> int:
    """As zlib.crc32, on several threads."""

def tidy_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], remap: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_words: int, first_row: int, threads: int, out_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], out_index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], out_value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    Rename columns (remap[v], -1 drops), sort, sum duplicates, drop zeros. Returns the new nnz.
    Raises ValueError naming row and column.
    """

class TermCounter:
    """Counts the terms of documents; the vocabulary grows as they are seen."""

    def __init__(self, chars: bytes, min_length: int, whole_words: bool, lowercase: bool, stop_words: object, min_n: int, max_n: int, vocabulary: object | None = None) -> None: ...

    def count(self, documents: Sequence, threads: int = 1) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]]:
        """
        One row per document, ASCII text or a list of tokens: (indptr, index, value). Term ids are in order of first sight, both over documents and within a row.
        """

    @property
    def n_terms(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_unknown(self) -> int:
        """Terms that a given vocabulary did not hold."""

    def document_frequency(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]: ...

    def term_frequency(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]: ...

    def sort(self, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 1) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]:
        """The ids in the order of their strings."""

    def packed(self, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]]:
        """The bytes of these terms, and where each of them starts."""

    def terms(self, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list: ...

MAX_TOPICS: int = 65536

def localise(index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_words: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]]:
    """
    The vocabulary of a shard: (cols, local ids, starts, order). Equivalent to np.unique(index, return_inverse=True) and a stable argsort of the local ids.
    """

def add_word_stats(cols: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], topic: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: float, threads: int, total: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    total[cols[j], topic[i]] += weight * value[i] for the pairs i of word j.
    """

def add_scaled(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], a: float, threads: int, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """y += a * x"""

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

def categorical_table(is_point: bool, raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor: float, eta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cols: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fills table [words, K] with E[log phi] of the words cols, less offset [words], the largest of each.
    """

def assign_categorical(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], Elogphi: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Elogpi: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], L: int, threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]]:
    """
    Rows of a shard to their L best clusters: (cluster [N, L], r [N, L], entropy [N], log likelihood [N]).
    """

def sum_rows_by_word(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, K: int, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]]:
    """
    Word-cluster statistics of assigned rows: sparse rows (indptr, topic, value) and their totals [K].
    """

def sample_row_clusters(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, eta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], eta_total: float, weight_prior: float, power: float, seed: int, sweep: int, threads: int, S: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], total: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], N: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], z: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    One sweep of collapsed Gibbs sampling in each of some chains: rows with the clusters z [chains, rows] and what they add up to, S [chains, words, K], total and N [chains, K].
    """

def set_blas(sgemm: CapsuleType, dgemm: CapsuleType, ssyrk: CapsuleType, dsyrk: CapsuleType, dpotrf: CapsuleType, dpotri: CapsuleType) -> None:
    """
    Takes the addresses of BLAS and LAPACK from the capsules that scipy.linalg.cython_blas and cython_lapack publish.
    """

def update_precisions(second: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], N: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], reg: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], m: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int, B: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], inverse: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], log_det: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    B_k = base + S_k + N_k reg - beta_k m_k m_k', with S_k from its upper triangle, the inverse of B_k, and log |B_k|: NaN where B_k is not positive definite.
    """

@overload
def to_frame(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], A: Annotated[NDArray[numpy.float64], dict(order='C', writable=False)], threads: int, z: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

@overload
def to_frame(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], A: Annotated[NDArray[numpy.float64], dict(order='C', writable=False)], threads: int, z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """z = (x - origin) A, where A is a matrix [D, D] or a scale [D]."""

@overload
def assign_gaussian(z: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], quadratic: str, linear: bool, threads: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], likelihood: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

@overload
def assign_gaussian(z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], quadratic: str, linear: bool, threads: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], likelihood: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Writes cluster [N, L], r [N, L], entropy [N] and likelihood [N] under the scores constant + features(z) W'.
    """

@overload
def assign_near(z: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], was: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], neighbours: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], quadratic: str, linear: bool, threads: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], likelihood: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

@overload
def assign_near(z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], was: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], neighbours: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], quadratic: str, linear: bool, threads: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], likelihood: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    As assign_gaussian, but row n is scored by the clusters neighbours[was[n]] only, which ascend.
    """

@overload
def assign_among(z: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], was: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], likelihood: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

@overload
def assign_among(z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], was: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], likelihood: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    As assign_gaussian under the scores constant + z W', but row n is scored by the clusters candidates[n] only, which ascend. `was` is the last cluster of each row: those of one are scored one after the other.
    """

@overload
def add_moments(z: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, centre: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], quadratic: str, threads: int, N: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], first: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], second: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

@overload
def add_moments(z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], quadratic: str, threads: int, N: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], first: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], second: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Adds sum w r, sum w r z and sum w r (quadratic part of z) of each cluster to N, first and second.
    """

@overload
def visit_rows(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], quadratic: str, linear: bool, centre: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, L: int, least: float, threads: int, N: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], first: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], second: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> float: ...

@overload
def visit_rows(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], quadratic: str, linear: bool, centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, L: int, least: float, threads: int, N: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], first: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], second: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> float:
    """
    Rows of x, as z = (x - origin) scale, to their L best clusters under the scores constant + features(z) W': adds sum w r, sum w r z and sum w r (quadratic part of z) of each cluster to N, first and second, without shares below `least`, and returns the summed entropy.
    """

@overload
def assign_groups(z: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], quadratic: str, linear: bool, threads: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], likelihood: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

@overload
def assign_groups(z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], constant: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], quadratic: str, linear: bool, threads: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], likelihood: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    As assign_gaussian, for groups of consecutive rows that begin at `starts`, with constants [groups, K].
    """

@overload
def solve_groups(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], collapsed: bool, least: float, max_iter: int, tol: float, threads: int, N: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], absent: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> int: ...

@overload
def solve_groups(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], collapsed: bool, least: float, max_iter: int, tol: float, threads: int, N: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], absent: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    The fixed point of groups of consecutive rows, which begin at `starts`: `share` [rows, C] of candidates is under the proportions that N [groups, K] and alpha imply. Writes N; the log of the probability that a group has no row in a cluster, where `absent` [groups, K] is given; and cluster [rows, L], r [rows, L] and entropy [rows] of the L best candidates. Returns the iterations of all groups.
    """

class NormalWishart:
    """What Gaussian clusters share: cpp/asynchronous/normal_wishart.hpp."""

    def __init__(self, quadratic: str, linear: bool, bayes: bool, beta: float, m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], nu: float, B: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], reg: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight_prior: float) -> None: ...

class CountRows:
    """Rows of counts, as they are given."""

    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class SparseRows:
    """Sparse rows, as they are given."""

    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class ClusterRows:
    """Rows that clusters visit, and what a cluster is to them."""

    @property
    def n_rows(self) -> int: ...

class GaussianRows(ClusterRows):
    """Dense rows of Gaussian clusters, in the frame."""

    def __init__(self, prior: NormalWishart, z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class SparseGaussianRows(ClusterRows):
    """Sparse rows of Gaussian clusters."""

    def __init__(self, prior: NormalWishart, scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], zero: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: SparseRows) -> None: ...

class CategoricalRows(ClusterRows):
    """Bags of words."""

    def __init__(self, bayes: bool, eta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight_prior: float, rows: CountRows) -> None: ...

class MixtureSettings:
    """What rows need to know of the clusters that visit them."""

    def __init__(self, all_rows: float, n_clusters: int, n_active: int, blocks: int, rows_at_once: int, threads: int) -> None: ...

class NomadicMixture:
    """Rows of one process, visited by blocks that come and go."""

    def __init__(self, rows: ClusterRows, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, settings: MixtureSettings) -> None: ...

    def put(self, block: int, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """A block arrives: the numbers of each cluster, N first."""

    def take(self, block: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]:
        """A block leaves."""

    def forget(self) -> None:
        """Rows have no clusters any more."""

    def compare(self, blocks: Sequence[int]) -> None:
        """Rows keep the best clusters that came."""

    def settle(self) -> None:
        """All came: scores become shares."""

    def contribute(self, blocks: Sequence[int]) -> None:
        """Rows add what they have to clusters."""

    def visit(self, blocks: Sequence[int]) -> None:
        """Rows are solved for clusters, which follow."""

    def entropy(self) -> float:
        """Of the rows' shares."""

    def assignments(self) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]]:
        """Clusters and shares of the rows, [rows, L] each."""

    @property
    def of_rows(self) -> int:
        """Bytes of what stays."""

class AsynchronousMixture:
    """Workers that own rows, visited by blocks of clusters."""

    def __init__(self, rows: ClusterRows, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, settings: MixtureSettings, bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int, seed: int, cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def start(self, passes: int) -> None:
        """
        Starts the workers; they make this many passes, counted from the first.
        """

    def next(self) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], float] | None:
        """
        Waits for the next pass: what all rows add to clusters, and their entropy, or None.
        """

    def stop(self) -> None:
        """Stops the workers; they end their current visit early."""

    def now(self) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], float]:
        """
        Stops the workers; their statistics at this moment, as next() returns them.
        """

    def assignments(self) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]]:
        """Stops the workers; clusters and shares of all rows, [rows, L] each."""

    def visit(self, worker: int, blocks: Sequence[int]) -> None:
        """
        Stops the workers; one of them works on these blocks, on the calling thread. It is not recorded.
        """

    def audit(self) -> None:
        """
        Stops the workers; raises RuntimeError unless every block is there once and equals their sums.
        """

    @property
    def visits(self) -> int:
        """Of blocks, by all workers."""

class Shard:
    """Rows with local word ids, and their entries word by word."""

    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Start:
    """Where documents start, if not from their words."""

    @overload
    def __init__(self, docs: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> None:
        """From (indptr, topic, count)."""

    @overload
    def __init__(self, dense: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """From counts [documents, K]."""

class LastVisit:
    """What the topics' counts hold of these documents."""

    def __init__(self, docs: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], words: tuple[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], float]) -> None: ...

class Priors:
    """Priors of documents on topics, where each has its own."""

    def __init__(self, alpha: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Rows of alpha [priors, K], and which of them each document has."""

class Responses:
    """What is known about documents beside their words."""

    def __init__(self, coefficients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], precision: float, weight: float) -> None:
        """
        Classes (precision 0) or numbers y, and coefficients [outputs, K] of the shares of topics.
        """

class DocumentOptions:
    """How documents are solved: models/topics.py."""

    def __init__(self, posterior: str, L: int, eps: float, max_iter: int, tol: float, mean_change: bool, select_often: bool, exclude: bool, restarts: int, restart_iter: int, own_discount: float) -> None: ...

    @property
    def L(self) -> int: ...

    @property
    def eps(self) -> float: ...

    @property
    def max_iter(self) -> int: ...

    @property
    def tol(self) -> float: ...

    @property
    def mean_change(self) -> bool: ...

    @property
    def select_often(self) -> bool: ...

    @property
    def exclude(self) -> bool: ...

    @property
    def restarts(self) -> int: ...

    @property
    def restart_iter(self) -> int: ...

    @property
    def own_discount(self) -> float: ...

class TopicScratch:
    """Buffers that a worker keeps between steps."""

    def __init__(self) -> None: ...

def topic_table(posterior: str, raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor: float, eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], extra: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, pseudo_counts: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], float] | None, norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cols: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], log_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fills table [words, K] with the topics' word weights over each word's largest, and log_scale with its log. extra: None, or (indptr, topic, value) that is added to eta. pseudo_counts: None, or (common, share, indptr, topic, value, weight).
    """

def topic_rows(raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor: float, eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], extra: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, as_shares: bool, threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Fills out [K, V] with counts + eta; `as_shares`: each row over its sum.
    """

def topic_bound(posterior: str, raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor: float, eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], extra: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, threads: int, norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """
    The sum of x log x (collapsed) or log Gamma(x) at x = counts + eta; fills norm [K] with sums of x over words.
    """

def topics_step(shard: Shard, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], options: DocumentOptions, start: Start | None, last: LastVisit | None, want_words: bool, threads: int, scratch: TopicScratch, own: Priors | None = None, responses: Responses | None = None) -> tuple[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]], float, tuple[int, int, int]]:
    """
    One shard of documents: (word statistics), (documents' topics), entropy, (iterations, restarts tried, accepted).
    """

def merged_entropy(scratch: TopicScratch, L: int, partner: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, lost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fills lost [K], at the lower topic of each pair, with the entropy that merging it would take from the last topics_step with this scratch. partner [K]: the other topic, or -1.
    """

@overload
def own_alpha(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], low: float, high: float, threads: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

@overload
def own_alpha(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], low: float, high: float, threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Fills out [n, K] with exp(x . coefficients), its logarithm from low to high.
    """

def own_stats(collapsed: bool, docs: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], lengths: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], own: Priors, threads: int, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, M: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None = None, Q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None = None) -> tuple[float, float, float]:
    """
    Sums (G, A, T) over documents with priors of their own. With the rows x [priors, P] of a design, fills M [K, P] with what its coefficients are learned from, and Q [K * P, P] with its derivative.
    """

def sample_step(tokens: WordOrder, words: tuple[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], float], alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], given: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, seed: int, sweep: int, first: int, threads: int, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], own: Priors | None = None) -> tuple[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]], int]:
    """
    Draws the topics z of a shard's tokens, again or given the documents' proportions (indptr, topic, count): (word statistics), (documents' topics), tokens that moved.
    """

class WordBlocks:
    """Which words travel together."""

    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class TopicPlan:
    """How the workers proceed: learn/asynchronous_topics.py."""

    def __init__(self, n_active: int, tail: str, warm_up: int, settle: int, seed: int, by_token: bool = False) -> None: ...

class AsynchronousTopics:
    """Workers that own documents, visited by blocks of words."""

    def __init__(self, rows: CountRows, bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], blocks: WordBlocks, counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], plan: TopicPlan) -> None: ...

    def start(self, passes: int) -> None:
        """
        Starts the workers; they make this many passes, counted from the first.
        """

    def next(self) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], float, float, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]] | None:
        """
        Waits for the next pass: word counts, entropy, documents' log Gammas and the rise of their digammas, or None.
        """

    def stop(self) -> None:
        """Stops the workers after the blocks that they hold."""

    def now(self) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], float, float, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]]:
        """
        Stops the workers; their statistics at this moment, as next() returns them.
        """

    def priors(self, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Stops the workers and changes the priors."""

    def audit(self) -> None:
        """
        Stops the workers; raises RuntimeError unless every block is there once and equals the workers' sums.
        """

    def visits_by_worker(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')]:
        """
        Stops the workers; [blocks, workers] how often each worker had each block.
        """

    @property
    def visits(self) -> int:
        """Of blocks, by all workers."""

class NomadicTopics:
    """Documents of one process, visited by blocks that come and go."""

    def __init__(self, rows: CountRows, bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], blocks: WordBlocks, n_words: int, n_topics: int, n_active: int, tail: str) -> None: ...

    def begin(self, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """The priors, and the sums over all words, while nobody works."""

    def put(self, block: int, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fresh: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None:
        """A block arrives."""

    def take(self, block: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]]:
        """A block leaves: its rows, and the fresh ones if there are any."""

    def visit(self, worker: int, block: int, under: str) -> None:
        """A worker solves its documents for a block, and the block follows."""

    def begin_visit(self, worker: int, block: int, under: str, contribute: bool) -> None:
        """A worker solves its documents for a block, which stays as it is."""

    def summary(self, worker: int) -> tuple[float, float, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]]:
        """Of a worker's documents: entropy, log Gammas and the rise of digammas."""

    def apply_total(self, delta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Another process has changed the sums over words."""

    def own(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]:
        """[K] how much this process has changed the sums over words."""

    @property
    def of_documents(self) -> int:
        """Bytes that documents need, after the last visits."""

class SCVB0Options:
    """Step sizes of documents; see cpp/steps/scvb0.hpp."""

    def __init__(self, scale: float, offset: float, decay: float, burn_in: int, L: int, seed: int) -> None: ...

def scvb0_step(shard: Shard, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], options: SCVB0Options, pass_: int, threads: int, scratch: TopicScratch, averages: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')] | None, own: Priors | None = None) -> tuple[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]], float, int]:
    """
    One minibatch by SCVB0: (word statistics), (documents' topics), entropy, gammas computed.
    """

def cvb0_step(shard: Shard, words: tuple[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], float], alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], L: int, burn_in: int, last: tuple[Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]] | None, threads: int, own: Priors | None = None) -> tuple[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]], float, int, tuple[Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]]]:
    """
    One shard by CVB0: (word statistics), (documents' topics), entropy, sweeps, (topics and shares of gamma).
    """

class TokenRows:
    """
    Documents whose counts are whole numbers, to be visited token by token.
    """

    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_words: int) -> None: ...

    @property
    def n_tokens(self) -> int: ...

def count_tokens(tokens: TokenRows, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], threads: int, word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """How often each topic has each word."""

def document_topics(tokens: TokenRows, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], K: int, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]]:
    """Topics of every document and their tokens, as sparse rows."""

class WordOrder:
    """The tokens of documents word by word, in blocks of documents."""

    def __init__(self, tokens: TokenRows, bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

def gibbs_sample(order: WordOrder, block: int, alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], eta_totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, sweep: int, threads: int, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """
    Draws the tokens of a block of documents; the documents' part of log p(w, z).
    """

def gibbs_draw(order: WordOrder, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], topic: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], e: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, threads: int, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Draws every token given the proportions of its document."""

def gibbs_sequential(tokens: TokenRows, alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], eta_totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, sweep: int, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """One exact sweep; the documents' part of log p(w, z)."""

def log_probability_of_words(word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], eta_totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> float:
    """The words' part of log p(w, z)."""

LANES: int = 16

def hard_distances(word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], smoothing: float, threads: int, D: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """-log psi for every word and topic."""

def hard_assign(tokens: TokenRows, step: str, D: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], K: int, penalty: float, threads: int, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """
    Every document by 'basic', 'word', or by 'word' from nothing: 'place'. The sum of their costs.
    """

def refine(tokens: TokenRows, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], penalty: float, threads: int, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], scratch: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], least_round: int) -> float:
    """Moves mini-topics where it lowers the objective; by how much it did."""

def refine_deltas(tokens: TokenRows, d: int, t: int, penalty: float, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], scratch: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """What moving one mini-topic to each other topic would change."""

def topics_in_use(tokens: TokenRows, K: int, threads: int, z: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """Topics that documents use, summed over documents."""

def distance_of_tokens(word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> float:
    """Distances of all tokens to their topics at the optimum."""

isa: str
"""The instruction set that was loaded."""

def supported_isas() -> list[str]:
    """Instruction sets that this processor runs, best first."""
