"""Clusters of bags of words on the device: counts of words, their table, and rows that are scored by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from topmix.corpus.shard import Shard
from topmix.cuda.device import Device, DeviceArray, Given
from topmix.cuda.row_sums import Moments, Top
from topmix.cuda.shard import DeviceColumns, DeviceShard
from topmix.cuda.word_stats import OneShard
from topmix.cuda.words import DeviceWordTotal
from topmix.models.categorical import Categorical
from topmix.models.sparse_counts import RowShares
from topmix.models.statistics import MixtureStats

UNIT = 2.0**26  # parts of a token that are counted
BLOCK_PAIRS = 1 << 23
FLOAT32 = np.dtype(np.float32)


def unit_of_tokens(weight: np.ndarray | None) -> float:
    """Parts of a token that are counted, for rows with weights of a common size."""
    size = 1.0 if weight is None or not np.any(weight > 0) else float(weight[weight > 0].mean())
    return UNIT * 2.0 ** -round(np.log2(size))


class RowWords:
    """Rows of words on the device."""

    def __init__(self, host: Shard, shard: DeviceShard, device: Device):
        self.host, self.shard, self.device = host, shard, device
        self.cols, self.n_rows = shard.cols, shard.n_rows
        self.n = float(self.n_rows) if host.weight is None else float(host.weight.sum())

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

    rows: RowWords
    cluster: DeviceArray | None  # [rows, L] int32; None: L is K
    r: DeviceArray  # [rows, L] float32
    unit: float
    totals: np.ndarray  # [K] float64, on the host

    kernel: ClassVar[str] = "add_row_words"

    def __post_init__(self) -> None:
        self.shard = self.rows.shard

    @classmethod
    def of(cls, rows: RowWords, shares: RowShares, unit: float) -> RowWordStats:
        """The same on the device."""
        device, cluster = rows.device, shares.cluster
        of_rows = None if cluster is None else device.array(cluster, np.int32)
        return cls(rows, of_rows, device.array(shares.r, np.float32), unit, shares.totals)

    def for_file(self) -> RowShares:
        device = self.rows.device
        cluster = None if self.cluster is None else device.get(self.cluster)
        return RowShares(cluster, device.get(self.r), self.totals)

    def given(self) -> Given:
        shard = self.shard
        return {
            "row": self.rows.row,
            "index": shard.index,
            "value": shard.value,
            "cols": shard.cols.device,
            "cluster": self.cluster,
            "r": self.r,
            "weight": self.rows.weight,
            "unit": self.unit,
            "n_entries": shard.n_entries,
            "L": self.r.shape[1],
            "K": len(self.totals),
        }

    def add_to(self, counts: DeviceArray, weight: float, unit: float, leaving: Self | None = None) -> None:
        n = self.shard.n_entries * self.r.shape[1]
        if n:
            device = self.rows.device
            given = self.given() | {"counts": counts, "factor": weight, "is_whole": int(abs(weight) == 1.0)}
            device.launch(self.kernel, min(-(-n // 256), 64 * device.n_processors), 256, given)
        if leaving is not None:
            leaving.add_to(counts, -1.0, unit)


class LogTables(NamedTuple):
    """As likelihoods.categorical.CategoricalTables, on the device."""

    table: DeviceArray  # [words, K] float32
    offset: DeviceArray  # [words] float64
    K: int


@dataclass(frozen=True, eq=False)
class DeviceCategorical:
    """q(phi_k) = Dir(eta + S_k). It borrows the total it was made from."""

    device: Device
    settings: Categorical
    total: DeviceWordTotal

    @classmethod
    def of(cls, device: Device, host: Categorical, unit: float) -> DeviceCategorical:
        return cls(device, host, DeviceWordTotal.of(device, host.total, unit))

    def on_host(self) -> Categorical:
        return Categorical(self.settings.eta, self.total.on_host(), self.settings.objective)

    def for_file(self) -> Categorical:
        return Categorical(self.settings.eta, self.total.for_file(), self.settings.objective)

    def zeros(self, n_words: int, K: int) -> DeviceWordTotal:
        return self.total.empty()

    def update(self, S: DeviceWordTotal, N: np.ndarray) -> DeviceCategorical:
        """Conjugate update.  Eq. (2.3)."""
        return DeviceCategorical(self.device, self.settings, S)

    @property
    def norm(self) -> np.ndarray:
        return np.asarray(self.settings.eta.sum() + self.total.totals)

    def bound(self, S: DeviceWordTotal, N: np.ndarray) -> float:
        """As Categorical.bound, for the total that this was made from."""
        assert S is self.total
        eta, norm, K, objective = self.settings.eta, self.norm, S.shape[1], self.settings.objective
        prior = K * float(gammaln(eta.sum()) - gammaln(eta).sum())
        if objective == "vb":
            return prior - float(gammaln(norm).sum()) + S.bound("variational", eta, None)[0]
        value = S.bound("collapsed", eta, None)[0] - float(xlogy(norm, norm).sum())
        return value if objective == "ml" else prior + value

    def tables(self, cols: DeviceColumns) -> LogTables:
        device, n_words, K = self.device, len(cols), self.total.shape[1]
        table, offset = device.empty((n_words, K), np.float32), device.empty(n_words, np.float64)
        is_bayes = self.settings.objective == "vb"
        by_topic = device.array(digamma(self.norm) if is_bayes else np.log(self.norm))
        given = self.total.with_prior(self.settings.eta) | {"by_topic": by_topic}
        given |= {"cols": cols.device, "n_words": n_words, "table": table, "log_scale": offset}
        given |= {"variational": int(is_bayes)}
        if n_words:
            device.launch("log_table", min(n_words, 64 * device.n_processors), 128, given)
        return LogTables(table, offset, K)


class WordBlocks:
    """Rows of words under clusters, a block at a time."""

    def __init__(self, device: Device, rows: RowWords, t: LogTables, log_weights: np.ndarray, L: int, *, keep: bool):
        self.device, self.rows, self.t, self.L = device, rows, t, L
        if device.shared_per_block < 8 * t.K:
            raise ValueError(
                f"engine='cuda' has at most {device.shared_per_block // 8} clusters of words, not {t.K}: use "
                "engine='threads'"
            )
        self.size = max(1, min(rows.n_rows, max(BLOCK_PAIRS // L, 256)))
        self.top = Top(device, self.size, t.K, L, FLOAT32, keep=keep)
        self.constant = device.array(log_weights, np.float32)

    def __iter__(self) -> Iterator[slice]:
        n = self.rows.n_rows
        return (slice(begin, min(begin + self.size, n)) for begin in range(0, n, self.size))

    def assign(self, part: slice) -> None:
        shard = self.rows.shard
        given = {
            "indptr": shard.indptr[part.start : part.stop + 1],
            "index": shard.index,
            "value": shard.value,
            "table": self.t.table,
            "offset": self.t.offset,
        }
        self.top("top_words", part.stop - part.start, self.constant, given)

    def likelihood(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def summarise(self, unit: float) -> MixtureStats:
        """What all rows report. Their shares are kept, because tokens are computed from them."""
        device, rows, K, L, top = self.device, self.rows, self.t.K, self.L, self.top
        n = rows.n_rows
        cluster = device.empty((n, L), np.int32) if L < K else None
        r = device.empty((n, L), np.float32)
        moments = Moments(device, K, 0, "none", FLOAT32, self.size * L)
        for part in self:
            top.cluster, top.r = None if cluster is None else cluster[part], r[part]
            self.assign(part)
            weight = None if rows.weight is None else rows.weight[part]
            moments.add(None, top.cluster, top.r, top.entropy[: part.stop - part.start], weight, L=L)
        S = RowWordStats(rows, cluster, r, unit, np.zeros(K))
        totals, n_pairs = device.zeros(K, np.int64), rows.shard.n_entries * L
        if n_pairs:
            blocks = min(-(-n_pairs // 256), 8 * device.n_processors)
            device.launch("sum_row_words", blocks, 256, S.given() | {"totals": totals}, shared=8 * K)
        S.totals = device.get(totals) / unit
        return MixtureStats(S, device.get(moments.N), moments.entropy(), rows.n)
