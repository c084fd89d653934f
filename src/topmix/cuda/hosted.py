"""A local step on a GPU, with data and results on the host: for workers of a cluster, where statistics travel.

It is what steps/documents.py has, for whoever calls it; the device keeps the rows of shards from one visit to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from topmix.base.measuring import Words
from topmix.corpus.shard import Shard
from topmix.cuda.device import Device, Given
from topmix.cuda.shard import DeviceShard
from topmix.cuda.topics import TOPIC_BACKENDS, on_device, on_host, unit_of
from topmix.cuda.word_stats import DocumentStats
from topmix.models.statistics import TopicStats
from topmix.models.topics import TopicTables
from topmix.steps import LocalStep, StepResult


class Opening(Protocol):
    def opened(self) -> Device: ...


class HostedStep:
    """`engine` opens the device, where the step runs: it is pickled without."""

    def __init__(self, step: LocalStep, engine: Opening):
        if type(step) not in TOPIC_BACKENDS:
            raise ValueError(
                f"workers of a cluster cannot run {type(step).__name__} on GPUs: they have LDA and HDP with "
                "inference='collapsed' or 'variational'; use gpus_per_worker=0"
            )
        self.step, self.engine = step, engine
        self._device: Device | None = None
        self._shards: dict[int, tuple[Shard, DeviceShard]] = {}

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return HostedStep, (self.step, self.engine)

    def __call__(self, shard: Shard, tables: TopicTables, memory: object, scratch: object) -> StepResult:
        self._device = device = self._device or self.engine.opened()
        kept = self._shards.get(shard.number)
        if kept is None or kept[0] is not shard:  # rows that are read at each visit are other objects, and copied again
            device.visit += 1
            kept = self._shards[shard.number] = shard, DeviceShard.of(shard, device)
        unit = unit_of(float(np.max(shard.value, initial=0.0)))
        backend: Any = TOPIC_BACKENDS[type(self.step)](self.step, device, unit)
        of_words: Any = tables.words  # whose arrays are on the host
        words = of_words._replace(table=device.array(of_words.table), log_scale=device.array(of_words.log_scale))
        stats, new, info = backend(kept[1], tables._replace(words=words), on_device(device, memory))
        if isinstance(stats, TopicStats) and isinstance(stats.S, DocumentStats):
            stats = replace(stats, S=stats.S.on_host(unit))
        return StepResult(stats, on_host(device, new), info)

    def close(self) -> None:
        self._shards.clear()
        if self._device is not None:
            self._device.close()
            self._device = None


# Measures of topics on the device: what results/completion.py and results/coherence.py ask an engine for.

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
    given: Given = {"table": device.array(table, np.float64), "alpha": device.array(alpha, np.float64)}
    given |= {"indptr": device.array(known.indptr, np.int64), "index": device.array(known.word, np.int32)}
    given |= {"count": device.array(known.tokens, np.float64), "q": device.empty(len(known.word), np.float64)}
    given |= {"held_indptr": device.array(held.indptr, np.int64)}
    given |= {"held_index": device.array(held.word, np.int32)}
    given |= {"held_count": device.array(held.tokens, np.float64), "rows": device.array(rows, np.int32)}
    given |= {"next": device.zeros(1, np.int32), "found": found, "tol": tol, "max_iter": max_iter}
    given |= {"n_rows": len(rows), "K": K}
    per_processor = max(1, min(2048 // TEAM, device.shared_per_processor // (shared + 1024)))
    blocks = min(per_processor * device.n_processors, len(rows))
    device.launch("predict_documents", blocks, TEAM, given, shared=shared)
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
    given: Given = {"place": device.array(place)}
    given |= {"topic_first": device.array(np.concatenate([[0], np.cumsum(sizes)]), np.int64)}
    given |= {"topic_word": device.array(ids, np.int32), "out_first": device.array(out_first, np.int64)}
    given |= {"together": counts, "n_topics": len(topics)}
    step = 32 * max(1, BITS // (4 * len(used)))
    for first in range(0, len(indptr) - 1, step):
        part = indptr[first : first + step + 1]
        n_rows = len(part) - 1
        pitch = -(-n_rows // 32)
        given |= {"indptr": device.array(part - part[0], np.int64), "n_rows": n_rows, "pitch": pitch}
        given |= {"index": device.array(index[part[0] : part[-1]], np.int32)}
        given |= {"bits": device.zeros((len(used), pitch), np.uint32)}
        device.launch("mark_words", min(-(-n_rows // 8), 16 * device.n_processors), 256, given)
        device.launch("count_together", min(len(topics), 16 * device.n_processors), 256, given)
    found = device.get(counts)
    return [found[a:b].reshape(n, n) for a, b, n in zip(out_first[:-1], out_first[1:], sizes)]
