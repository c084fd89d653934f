"""Measures of topics on the device: what metrics/completion.py and metrics/coherence.py ask an engine for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topmix.cuda.device import Device, Given
from topmix.metrics.engine import Words

TEAM = 128  # lanes of a document: see kernels/predict.cu
BITS = 1 << 28  # bytes of bits at a time


def held_out(
    device: Device, table: np.ndarray, known: Words, held: Words, alpha: np.ndarray, max_iter: int, tol: float
) -> np.ndarray:
    """[documents] log probability of the words `held` given those `known`; NaN where it takes logarithms."""
    n_docs, K = len(known.indptr) - 1, table.shape[1]
    shared = 8 * 2 * K + 4 * (K + K % 2)
    if shared > device.shared_per_block:
        raise ValueError(
            f"engine='cuda' scores documents of at most {device.shared_per_block // 20} topics, and there are {K}: "
            "leave `engine` out"
        )
    with_words = np.flatnonzero(np.diff(held.indptr))
    rows = with_words[np.argsort(-np.diff(known.indptr)[with_words], kind="stable")]
    found = device.array(np.zeros(n_docs))
    given: Given = {
        "table": device.array(table, np.float64),
        "alpha": device.array(alpha, np.float64),
        "indptr": device.array(known.indptr, np.int64),
        "index": device.array(known.word, np.int32),
        "count": device.array(known.tokens, np.float64),
        "q": device.empty(len(known.word), np.float64),
        "held_indptr": device.array(held.indptr, np.int64),
        "held_index": device.array(held.word, np.int32),
        "held_count": device.array(held.tokens, np.float64),
        "rows": device.array(rows, np.int32),
        "next": device.zeros(1, np.int32),
        "found": found,
        "tol": tol,
        "max_iter": max_iter,
        "n_rows": len(rows),
        "K": K,
    }
    if len(rows):
        per_processor = max(1, min(2048 // TEAM, device.shared_per_processor // (shared + 1024)))
        blocks = min(per_processor * device.n_processors, len(rows))
        device.launch("predict_documents", "PredictArgs", blocks, TEAM, given, shared=shared)
    return device.get(found)


def together(
    device: Device, topics: Sequence[np.ndarray], n_words: int, indptr: np.ndarray, index: np.ndarray
) -> list[np.ndarray]:
    """Per topic: [words, words] how many documents have both; `topics` and `index` are columns of the documents."""
    used, ids = np.unique(np.concatenate(topics), return_inverse=True)
    place = np.full(n_words, -1, np.int32)
    place[used] = np.arange(len(used))
    sizes = np.array([len(t) for t in topics], np.int64)
    out_first = np.concatenate([[0], np.cumsum(sizes**2)])
    counts = device.zeros(int(out_first[-1]), np.int64)
    given: Given = {
        "place": device.array(place),
        "topic_first": device.array(np.concatenate([[0], np.cumsum(sizes)]), np.int64),
        "topic_word": device.array(ids, np.int32),
        "out_first": device.array(out_first, np.int64),
        "together": counts,
        "n_topics": len(topics),
    }
    step = 32 * max(1, BITS // (4 * len(used)))
    for first in range(0, len(indptr) - 1, step):
        part = indptr[first : first + step + 1]
        n_rows = len(part) - 1
        given |= {
            "indptr": device.array(part - part[0], np.int64),
            "index": device.array(index[part[0] : part[-1]], np.int32),
            "bits": device.zeros((len(used), -(-n_rows // 32)), np.uint32),
            "pitch": -(-n_rows // 32),
            "n_rows": n_rows,
        }
        device.launch("mark_words", "TogetherArgs", min(-(-n_rows // 8), 16 * device.n_processors), 256, given)
        device.launch("count_together", "TogetherArgs", min(len(topics), 16 * device.n_processors), 256, given)
    found = device.get(counts)
    return [found[a:b].reshape(n, n) for a, b, n in zip(out_first[:-1], out_first[1:], sizes)]
