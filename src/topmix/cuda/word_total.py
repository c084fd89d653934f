"""The running total of words in topics, on the device.

Tokens are integers of 1 / unit, usually 2^-20, so that sums have the same bits in any order and what was added can be
taken out exactly.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import digamma

from topmix.cuda.device import Device
from topmix.cuda.shard import DeviceColumns
from topmix.cuda.word_stats import DeviceTokenStats, DeviceWordStats, add_to, launch_over
from topmix.files.writer import Writer
from topmix.stats import PseudoCounts, WordTotal
from topmix.stats.words import fade

UNIT = float(1 << 20)
SMALLEST_FACTOR = 2.0**-10  # below it, the factor is multiplied into the counts


@dataclass(eq=False)
class DeviceWordTotal:
    """The running total, as `stats.WordTotal` is on the host."""

    device: Device
    counts_: Any  # [V, K] int64; the counts are factor / unit times these
    totals: np.ndarray  # [K] float64, on the host
    unit: float
    factor: float = 1.0
    pseudo: PseudoCounts | None = None
    pseudo_weight: float = 0.0
    waiting: list[tuple[Any, float]] = field(default_factory=list)  # to be added, times a weight

    @classmethod
    def of(cls, device: Device, total: WordTotal, unit: float) -> DeviceWordTotal:
        """The same counts on the device, rounded to integers of 1 / unit."""
        _check_room(device, *total.raw.shape)
        factor = total.factor if SMALLEST_FACTOR <= total.factor <= 1.0 else 1.0
        if total.totals.any():
            counts = device.array(np.rint(total.raw * (total.factor / factor * unit)).astype(np.int64))
        else:
            counts = device.zeros(total.raw.shape, np.int64)
        made = cls(device, counts, total.totals.copy(), unit, factor)
        made.pseudo, made.pseudo_weight = total.pseudo, total.pseudo_weight
        return made

    @property
    def shape(self) -> tuple[int, int]:
        V, K = self.counts_.shape
        return int(V), int(K)

    @property
    def is_exact(self) -> bool:
        return True

    def empty(self) -> DeviceWordTotal:
        return DeviceWordTotal(self.device, self.device.zeros(self.shape, np.int64), np.zeros(self.shape[1]), self.unit)

    def on_host(self) -> WordTotal:
        """Multiples of 1 / unit are exact in a double."""
        self.settle()
        raw = self.device.get(self.counts_) * (self.factor / self.unit)
        return WordTotal(raw, self.totals.copy(), 1.0, self.pseudo, self.pseudo_weight)

    def write(self, out: Writer) -> None:
        """As it is kept, with the factor beside the counts: `of` makes the same of what is read."""
        self.settle()
        WordTotal(self.device.get(self.counts_) / self.unit, self.totals, self.factor).write(out)

    def counts(self) -> np.ndarray:
        return self.on_host().raw

    def __deepcopy__(self, memo: dict[int, Any]) -> WordTotal:
        """A copy to keep is on the host: the device is for what is being learned."""
        return copy.deepcopy(self.on_host(), memo)

    def add(self, other: Any, weight: float = 1.0) -> DeviceWordTotal:
        if isinstance(other, PseudoCounts):
            fade(self, other, weight)
            return self
        if not isinstance(other, WordTotal | DeviceWordTotal):  # what shards report
            self.waiting += [(part, weight / self.factor) for part in other.parts]
        else:
            self.settle()
            if isinstance(other, DeviceWordTotal):
                other.settle()
                counts, factor = other.counts_, other.factor / other.unit
            else:
                (counts,), factor = self.device.mirror(other.raw, (other.raw, np.float64)), other.factor
            amount = counts * (weight * factor / self.factor * self.unit)
            self.counts_ += np.rint(amount).astype(np.int64)
        self.totals += weight * other.totals
        return self

    def scale(self, c: float) -> DeviceWordTotal:
        self.totals *= c
        self.factor *= c
        if abs(self.factor) < SMALLEST_FACTOR:
            self.settle()
            given = {"counts": self.counts_, "weight": self.factor, "n_entries": int(np.prod(self.shape))}
            launch_over(self.device, given["n_entries"], "scale_counts", given)
            self.factor = 1.0
        return self

    def settle(self) -> None:
        """Adds what is waiting. Old statistics of a shard that leave and new ones that come go in one kernel."""
        waiting, self.waiting = self.waiting, []
        old = {(stats.kernel, id(stats.shard)): stats for stats, weight in waiting if weight == -1.0}
        for stats, weight in waiting:
            partner = old.pop((stats.kernel, id(stats.shard)), None) if weight == 1.0 else None
            if weight != -1.0:
                self._add(stats, weight, partner)
        for stats in old.values():
            self._add(stats, -1.0, None)

    def _add(self, stats: Any, weight: float, leaving: Any) -> None:
        if not isinstance(stats, DeviceWordStats | DeviceTokenStats):  # who know how
            stats.add_to(self.counts_, weight)
            if leaving is not None:
                leaving.add_to(self.counts_, -1.0)
            return
        add_to(self.counts_, stats, weight, self.unit, leaving=leaving)

    # What topics make of it: the kernels behind likelihoods.TopicWords

    def with_prior(self, eta: np.ndarray, extra: PseudoCounts | None = None) -> dict[str, Any]:
        """Counts and prior as kernels take them."""
        self.settle()
        V, K = self.shape
        (on_device,) = self.device.mirror(eta, (eta, np.float64))
        given = {
            "counts": self.counts_,
            "eta": on_device,
            "factor": self.factor / self.unit,
            "word_step": (eta.shape[1] if len(eta) > 1 else 0),
            "topic_step": int(eta.shape[1] > 1),
            "n_words": V,
            "K": K,
        }
        if extra is not None:
            given |= zip_rows("extra", self._rows(extra))
        return given

    def _rows(self, pseudo: PseudoCounts) -> tuple[Any, ...]:
        return self.device.mirror(
            pseudo,
            (pseudo.indptr, np.int64),
            (pseudo.topic, np.uint16),
            (pseudo.value, np.float64),
            (pseudo.common, np.float64),
            (pseudo.share, np.float64),
        )

    def table(
        self, posterior: str, eta: np.ndarray, extra: PseudoCounts | None, norm: np.ndarray, cols: Any
    ) -> tuple[Any, Any]:
        """[words, K] each row over its largest entry, and the logarithm of that entry."""
        self.settle()
        device, K, n_words = self.device, self.shape[1], len(cols)
        if not isinstance(cols, DeviceColumns):
            cols = DeviceColumns(cols, device.array(cols, np.int32))
        table, log_scale = device.empty((n_words, K), np.float32), device.empty(n_words, np.float64)
        is_variational = posterior == "variational"
        given = self.with_prior(eta, extra) | {
            "by_topic": device.array(digamma(norm) if is_variational else 1.0 / norm, np.float64),
            "cols": cols.device,
            "n_words": n_words,
            "table": table,
            "log_scale": log_scale,
            "variational": int(is_variational),
        }
        if self.pseudo is not None:
            rows = self._rows(self.pseudo)
            given |= zip_rows("pseudo", rows) | {"pseudo_weight": self.pseudo_weight}
            if len(self.pseudo.common):
                given |= {"common": rows[3], "share": rows[4]}
        if n_words:
            device.launch("make_table", "TableArgs", min(n_words, 64 * device.n_processors), 128, given)
        return table, log_scale

    def bound(self, posterior: str, eta: np.ndarray, extra: PseudoCounts | None) -> tuple[float, np.ndarray]:
        """The sum of x log x (collapsed) or log Gamma(x) at x = counts + eta, and [K] sums of x over words."""
        V, K = self.shape
        prior = np.broadcast_to(eta.sum(axis=0) * (V if len(eta) == 1 else 1), (K,))
        norm = self.totals + (prior if extra is None else prior + extra.totals)
        return self._sum_over_words(0 if posterior == "collapsed" else 1, eta, extra), norm

    def sum_of_digamma(self, eta: np.ndarray, extra: PseudoCounts | None) -> float:
        """sum_vk psi(counts + eta)"""
        return self._sum_over_words(2, eta, extra)

    def by_topic(self, eta: np.ndarray, extra: PseudoCounts | None, *, as_shares: bool = False) -> np.ndarray:
        """[K, V] counts + eta, on the host."""
        return self.on_host().by_topic(eta, extra, as_shares=as_shares)

    def _sum_over_words(self, function: int, eta: np.ndarray, extra: PseudoCounts | None) -> float:
        self.settle()
        blocks = self.device.blocks_of_a_sum
        partial = self.device.empty(blocks, np.float64)
        given = self.with_prior(eta, extra) | {"partial": partial, "function": function}
        self.device.launch("sum_of_words", "TableArgs", blocks, 128, given)
        return float(self.device.get(partial).sum())


def _check_room(device: Device, V: int, K: int) -> None:
    """What cannot make room for anything: counts, and a table of a shard, which may have all words."""
    per_topic = V * (8 + 4)
    if K * per_topic > device.capacity:
        raise MemoryError(
            f"engine='cuda': {K} topics of {V} words need {K * per_topic / 1e9:.3g} GB, and the device has "
            f"{device.capacity / 1e9:.3g} GB: at most {device.capacity // per_topic} topics fit, or fewer words"
        )


def zip_rows(name: str, rows: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip((f"{name}_indptr", f"{name}_topic", f"{name}_value"), rows))
