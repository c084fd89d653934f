"""Rows of words on the device: scored by a table of clusters, and what they bring to the counts of words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from sklearn.utils import gen_batches

from topmix.corpus.shard import Shard
from topmix.cuda.device import Device, DeviceArray, Given
from topmix.cuda.row_sums import Moments, Top
from topmix.cuda.shard import DeviceShard
from topmix.cuda.words import OneShard
from topmix.models.categorical import CategoricalTables
from topmix.models.sparse_counts import RowShares
from topmix.models.statistics import MixtureStats

UNIT = 2.0**26  # parts of a token that are counted
BLOCK_PAIRS = 1 << 23
FLOAT32 = np.dtype(np.float32)


def unit_of_tokens(weight: np.ndarray | None) -> float:
    """Parts of a token that are counted, for rows with weights of a common size."""
    size = 1.0 if weight is None or not np.any(weight > 0) else float(weight[weight > 0].mean())
    return UNIT * 2.0 ** -round(np.log2(size))


class RowWords(DeviceShard):
    """Rows of words on the device."""

    host: Shard
    n: float  # rows, or their weight

    @classmethod
    def of(cls, shard: Shard, device: Device) -> Self:
        rows = super().of(shard, device)
        rows.host, rows.n = shard, float(shard.n_rows if shard.weight is None else shard.weight.sum())
        return rows

    @cached_property
    def weight(self) -> DeviceArray | None:
        """[rows] float64, or None."""
        return None if self.host.weight is None else self.device.array(self.host.weight, np.float64)

    @cached_property
    def row(self) -> DeviceArray:
        """[entries] the row of each."""
        return self.device.array(self.host.row_of, np.int32)


@dataclass(eq=False)
class RowWordStats(OneShard):
    """Tokens that rows bring to words in clusters: each row's shares, from which they are computed."""

    shard: RowWords
    cluster: DeviceArray | None  # [rows, L] int32; None: L is K
    r: DeviceArray  # [rows, L] float32
    unit: float
    totals: np.ndarray  # [K] float64, on the host

    kernel: ClassVar[str] = "add_row_words"

    @classmethod
    def of(cls, rows: RowWords, shares: RowShares, unit: float) -> RowWordStats:
        device, cluster = rows.device, shares.cluster
        of_rows = None if cluster is None else device.array(cluster, np.int32)
        return cls(rows, of_rows, device.array(shares.r, np.float32), unit, shares.totals)

    def for_file(self) -> RowShares:
        get = self.shard.device.get
        return RowShares(None if self.cluster is None else get(self.cluster), get(self.r), self.totals)

    def given(self) -> Given:
        rows = self.shard
        given: Given = {"row": rows.row, "index": rows.index, "value": rows.value, "cols": rows.cols.device}
        given |= {"cluster": self.cluster, "r": self.r, "weight": rows.weight, "unit": self.unit}
        return given | {"n_entries": rows.n_entries, "L": self.r.shape[1], "K": len(self.totals)}

    def add_to(self, counts: DeviceArray, weight: float, unit: float, leaving: Self | None = None) -> None:
        given = self.given() | {"counts": counts, "factor": weight, "is_whole": int(abs(weight) == 1.0)}
        self.shard.device.launch_over(self.shard.n_entries * self.r.shape[1], self.kernel, given)
        if leaving is not None:
            leaving.add_to(counts, -1.0, unit)


class WordBlocks:
    """Rows of words under clusters, a block at a time."""

    def __init__(
        self, device: Device, rows: RowWords, t: CategoricalTables, log_weights: np.ndarray, L: int, *, keep: bool
    ):
        self.device, self.rows, self.t, self.L, self.K = device, rows, t, L, t.Elogphi.shape[1]
        if device.shared_per_block < 8 * self.K:
            raise ValueError(
                f"engine='cuda' has at most {device.shared_per_block // 8} clusters of words, not {self.K}: use "
                "engine='threads'"
            )
        self.size = max(1, min(rows.n_rows, max(BLOCK_PAIRS // L, 256)))
        self.parts = list(gen_batches(rows.n_rows, self.size))
        self.top = Top(device, self.size, self.K, L, FLOAT32, keep=keep)
        self.constant = device.array(log_weights, np.float32)

    def assign(self, part: slice) -> None:
        rows = self.rows
        given: Given = {"indptr": rows.indptr[part.start : part.stop + 1], "index": rows.index, "value": rows.value}
        given |= {"table": self.t.Elogphi, "offset": self.t.offset}
        self.top("top_words", part.stop - part.start, self.constant, given)

    def summarise(self, unit: float) -> MixtureStats:
        """What all rows report. Their shares are kept, because tokens are computed from them."""
        device, rows, K, L, top = self.device, self.rows, self.K, self.L, self.top
        n = rows.n_rows
        cluster = device.empty((n, L), np.int32) if L < K else None
        r = device.empty((n, L), np.float32)
        moments = Moments(device, K, 0, "none", FLOAT32, self.size * L)
        for part in self.parts:
            top.cluster, top.r = None if cluster is None else cluster[part], r[part]
            self.assign(part)
            weight = None if rows.weight is None else rows.weight[part]
            moments.add(None, top.cluster, top.r, top.entropy[: part.stop - part.start], weight, L=L)
        S = RowWordStats(rows, cluster, r, unit, np.zeros(K))
        totals, n_pairs = device.zeros(K, np.int64), rows.n_entries * L
        if n_pairs:
            blocks = min(-(-n_pairs // 256), 8 * device.n_processors)
            device.launch("sum_row_words", blocks, 256, S.given() | {"totals": totals}, shared=8 * K)
        S.totals = device.get(totals) / unit
        return MixtureStats(S, device.get(moments.N), moments.entropy(), rows.n)
