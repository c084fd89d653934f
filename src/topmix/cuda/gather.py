"""Shards of a corpus that is on the device: their rows are gathered there, which the processor takes far longer for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.cuda.device import Device
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards

SHARE = 0.1  # of the device's memory that a corpus may take besides its shards
WARPS = 8  # of a block: see kernels/gather.cu


@dataclass(frozen=True)
class GatheredRows:
    """What a DeviceShard is made of, in the place of a Shard."""

    cols: np.ndarray
    indptr: np.ndarray
    index: Any  # on the device
    value: Any
    lengths: np.ndarray
    number: int

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1


class CorpusOnDevice:
    """The entries of a corpus, until all of its shards are made."""

    def __init__(self, corpus: Corpus, device: Device):
        self.device, self.host_indptr, self.n_words = device, corpus.indptr, corpus.n_words
        self.arrays: dict[str, Any] = {
            "indptr": device.array(corpus.indptr, np.int64),
            "index": device.array(corpus.index, np.int32),
            "value": device.array(corpus.value, np.float32),
        }

    @classmethod
    def of(cls, shards: Shards, device: Device) -> CorpusOnDevice | None:
        """None where the corpus is mapped from a file, or large: shards then come one by one from the host."""
        corpus = shards.corpus
        if not isinstance(corpus, Corpus) or corpus.path is not None or 8 * corpus.nnz > SHARE * device.capacity:
            return None
        return cls(corpus, device)

    def rows(self, rows: slice | np.ndarray, number: int) -> GatheredRows:
        """As Shard.of: words are numbered in the order of their ids."""
        device = self.device
        chosen = np.arange(len(self.host_indptr) - 1, dtype=np.int32)[rows]
        n_entries = (self.host_indptr[1:] - self.host_indptr[:-1])[chosen]
        indptr = np.concatenate([[0], np.cumsum(n_entries)])
        used, lengths = device.zeros(self.n_words, np.int32), device.zeros(len(chosen), np.float64)
        index, value = device.empty(int(indptr[-1]), np.int32), device.empty(int(indptr[-1]), np.float32)
        given = self.arrays | {
            "rows": device.array(chosen),
            "used": used,
            "lengths": lengths,
            "new_indptr": device.array(indptr, np.int64),
            "new_index": index,
            "new_value": value,
            "n_rows": len(chosen),
        }
        blocks = min(-(-len(chosen) // WARPS), 16 * device.n_processors)
        if blocks:
            device.launch("mark_used", "GatherArgs", blocks, 32 * WARPS, given)
        is_used = device.get(used)
        if blocks:
            given["local"] = device.array(np.cumsum(is_used) - 1, np.int32)
            device.launch("gather_rows", "GatherArgs", blocks, 32 * WARPS, given)
        cols = np.flatnonzero(is_used).astype(np.int32)
        return GatheredRows(cols, indptr, index, value, device.get(lengths), number)
