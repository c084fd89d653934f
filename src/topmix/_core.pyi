"""Made by tools/stubs.py from the native module; do not edit."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def supported_isas() -> list[str]:
    """Instruction sets that this processor runs, best first."""

MAX_TOPICS: int = 65536

def localise(index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_words: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]]:
    """
    The vocabulary of a shard: (cols, local ids, starts, order). Equivalent to np.unique(index, return_inverse=True) and a stable argsort of the local ids.
    """

def add_word_stats(cols: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], topic: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: float, threads: int, total: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    total[cols[j], topic[i]] += weight * value[i] for the pairs i of word j.
    """

def assign_categorical(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], Elogphi: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Elogpi: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], L: int, threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]]:
    """
    Rows of a shard to their L best clusters: (cluster [N, L], r [N, L], entropy [N], log likelihood [N]).
    """

def sum_rows_by_word(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cluster: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, K: int, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]]:
    """
    Word-cluster statistics of assigned rows: sparse rows (indptr, topic, value) and their totals [K].
    """

class TopicOptions:
    """How documents are solved; see cpp/local/document.hpp."""

    def __init__(self, posterior: str, exclude: bool, select_often: bool, mean_change: bool, L: int, eps: float, max_iter: int, tol: float, restarts: int, restart_iter: int, list_iter: int = 0) -> None: ...

class TopicScratch:
    """Buffers that a worker keeps between steps."""

    def __init__(self) -> None: ...

def topic_table(posterior: str, raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor: float, eta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cols: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], log_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fills table [words, K] with the topics' word weights over each word's largest, and log_scale with its log.
    """

def topics_step(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], options: TopicOptions, start_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, start_topic: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, start_count: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, start_dense: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, want_words: bool, threads: int, scratch: TopicScratch) -> tuple[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]], float, tuple[int, int, int]]:
    """
    One shard of documents: (word statistics), (documents' topics), entropy, (iterations, restarts tried, accepted).
    """

def parse_triples(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], line: int, n_docs: int, n_words: int, has_value: bool, whole: bool, doc: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int]:
    """
    Whole lines 'doc word count', ids from 1, into doc, word (both from 0) and value.
    Returns (next line number, entries). Raises ValueError naming the line.
    """

def parse_pairs(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], line: int, counted: bool, first_id: int, last_id: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], label: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int, int]:
    """
    Whole lines '[n | label] word:count ...' into rows; word ids are kept as written.
    Returns (next line number, rows, entries). Raises ValueError naming the line.
    """

def check_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_words: int) -> tuple[str, int, float]:
    """
    Are these the rows of a corpus? Returns (problem or '', explicit zeros, sum of counts).
    """

def tidy_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], remap: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_words: int, first_row: int, out_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], out_index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], out_value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    Rename columns (remap[v], -1 drops), sort, sum duplicates, drop zeros. Returns the new nnz.
    Raises ValueError naming row and column.
    """

isa: str
"""The instruction set that was loaded."""
