"""Counts of words in topics on the device: what a shard reports, and the running total.

Tokens are integers of 1 / unit, usually 2^-20, so that sums have the same bits in any order and what was added can be
taken out exactly.

`DeviceWordTotal` has the methods of `stats.WordTotal` that a fit asks for: models and learners do not know where counts
are.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from scipy.special import digamma

from topmix.cuda.arrays import DeviceArray
from topmix.cuda.device import Device, Given
from topmix.cuda.parking import Held
from topmix.cuda.shard import DeviceColumns, DeviceShard
from topmix.files.writer import Writer
from topmix.stats import PseudoCounts, WordStats, WordTotal
from topmix.stats.entries import EntryStats, TokenStats
from topmix.stats.words import fade

UNIT = float(1 << 20)
SMALLEST_FACTOR = 2.0**-10  # below it, the factor is multiplied into the counts


class ShardStats(ABC):
    """What shards report. Whole numbers add up to the same in any order, so a sum adds nothing yet: it is a list."""

    totals: np.ndarray

    @property
    @abstractmethod
    def parts(self) -> tuple[OneShard, ...]: ...

    def plus(self, other: ShardStats) -> SeveralShards:
        return SeveralShards(self.totals + other.totals, (*self.parts, *other.parts))


class SeveralShards(ShardStats):
    def __init__(self, totals: np.ndarray, parts: tuple[OneShard, ...]):
        self.totals, self._parts = totals, parts

    @property
    def parts(self) -> tuple[OneShard, ...]:
        return self._parts


class OneShard(ShardStats):
    """What one shard reports."""

    kernel: ClassVar[str]
    shard: DeviceShard

    @property
    def parts(self) -> tuple[OneShard, ...]:
        return (self,)

    @abstractmethod
    def add_to(self, counts: DeviceArray, weight: float, unit: float, leaving: Self | None = None) -> None:
        """counts [V, K] += weight times these tokens, less those of `leaving`, which the shard reported before."""


class DocumentStats(OneShard):
    """What one shard of documents reports."""

    @property
    @abstractmethod
    def n_entries(self) -> int: ...

    @abstractmethod
    def kernel_arguments(self, name: str) -> Given:
        """What the kernel is given of statistics that come (`new`) or leave (`old`)."""

    @abstractmethod
    def entries(self) -> EntryStats | TokenStats:
        """The same on the host, exactly."""

    def write(self, out: Writer) -> None:
        self.entries().write(out)

    def add_to(
        self,
        counts: DeviceArray,
        weight: float,
        unit: float,
        leaving: Self | None = None,
        cols: DeviceArray | None = None,
    ) -> None:
        """`cols` are rows for the words of the shard, where they are not its columns."""
        shard = self.shard
        given = self.kernel_arguments("new") | {
            "index": shard.index,
            "cols": shard.cols.device if cols is None else cols,
            "counts": counts,
            "weight": weight,
            "unit": unit,
            "n_entries": self.n_entries,
            "K": counts.shape[1],
            "is_whole": int(weight == 1.0),
        }
        if leaving is not None:
            given |= leaving.kernel_arguments("old")
        launch_over(shard.device, self.n_entries, self.kernel, given)

    def on_host(self, unit: float) -> WordStats:
        """As the processor would report it: tokens summed for each word and topic."""
        device, K = self.shard.device, len(self.totals)
        words = np.arange(len(self.shard.cols) + 1, dtype=np.int32)
        counts = device.zeros((len(words) - 1, K), np.int64)
        self.add_to(counts, 1.0, unit, cols=device.array(words))
        word, topic, value = device.nonzero(counts)
        return WordStats(
            np.asarray(self.shard.cols, np.int32),
            np.searchsorted(word, words).astype(np.int64),
            topic.astype(np.uint16),
            (value / unit).astype(np.float32),
            self.totals,
        )


@dataclass(eq=False)
class DeviceWordStats(DocumentStats):
    """Tokens of each word of each document of a shard in its L best topics: memo and message in one."""

    shard: DeviceShard
    topic: DeviceArray | Held  # [L, entries] uint16
    share: DeviceArray | Held  # [L, entries] uint32
    n: DeviceArray | Held  # [entries] uint8, how many of the L are used
    totals: np.ndarray  # [K] float64, on the host

    HOLDS: ClassVar[tuple[str, ...]] = ("topic", "share", "n")
    kernel: ClassVar[str] = "add_memo"

    def __post_init__(self) -> None:
        hold = self.shard.device.parking.hold
        self.topic, self.share, self.n = hold(self.topic), hold(self.share), hold(self.n)

    def kernel_arguments(self, name: str) -> Given:
        return {f"{name}_topic": self.topic, f"{name}_share": self.share, f"{name}_n": self.n}

    @property
    def n_entries(self) -> int:
        return self.shard.n_entries

    @classmethod
    def of(cls, shard: DeviceShard, stats: EntryStats) -> DeviceWordStats:
        """The same on the device."""
        device, n = shard.device, stats.n.astype(np.int64)
        L = int(n.max(initial=1))
        topic, share = np.zeros((L, len(n)), np.uint16), np.zeros((L, len(n)), np.uint32)
        entry = np.repeat(np.arange(len(n)), n)
        slot = np.arange(len(entry)) - np.repeat(np.cumsum(n) - n, n)
        topic[slot, entry], share[slot, entry] = stats.topic, stats.share
        return cls(shard, device.array(topic), device.array(share), device.array(stats.n), stats.totals)

    def entries(self) -> EntryStats:
        """The same on the host."""
        topic, share, n = (self.shard.device.get(x) for x in (self.topic, self.share, self.n))
        used = np.arange(len(topic))[:, None] < n
        return EntryStats(n, topic.T[used.T], share.T[used.T], self.totals)

    def merged_entropy(self, partner: np.ndarray, unit: float) -> np.ndarray:
        """[K] what merging pairs of topics would take from the entropy, at the lower topic of each pair."""
        device, lost = self.shard.device, self.shard.device.zeros(len(partner), np.int64)
        given = {
            "topic": self.topic,
            "share": self.share,
            "n": self.n,
            "partner": device.array(partner, np.int32),
            "lost": lost,
            "unit": unit,
            "n_entries": self.n_entries,
        }
        launch_over(device, self.n_entries, "merged_entropy", given, "MergeArgs")
        return device.get(lost) / 2.0**30


@dataclass(eq=False)
class DeviceTokenStats(DocumentStats):
    """The same where every token has one topic: the topics of tokens are all there is."""

    shard: DeviceShard
    z: Held  # [tokens] uint16
    totals: np.ndarray  # [K] float64, on the host

    HOLDS: ClassVar[tuple[str, ...]] = ("z",)

    kernel: ClassVar[str] = "add_tokens"

    @classmethod
    def of(cls, shard: DeviceShard, stats: TokenStats) -> DeviceTokenStats:
        return cls(shard, shard.device.parking.hold(shard.device.array(stats.z, np.uint16)), stats.totals)

    def entries(self) -> TokenStats:
        return TokenStats(self.shard.device.get(self.z), self.totals)

    def kernel_arguments(self, name: str) -> Given:
        return {f"{name}_z": self.z, "word": self.shard.tokens.word}

    @property
    def n_entries(self) -> int:
        return int(self.shard.tokens.lengths.sum())


def launch_over(device: Device, n: int, kernel: str, given: Given, kind: str = "MemoArgs") -> None:
    """A lane for each of n entries."""
    if n:
        device.launch(kernel, kind, min(-(-n // 256), 32 * device.n_processors), 256, given)


@dataclass(eq=False)
class DeviceWordTotal:
    """The running total, as `stats.WordTotal` is on the host."""

    device: Device
    counts_: DeviceArray  # [V, K] int64; the counts are factor / unit times these
    totals: np.ndarray  # [K] float64, on the host
    unit: float
    factor: float = 1.0
    pseudo: PseudoCounts | None = None
    pseudo_weight: float = 0.0
    waiting: list[tuple[OneShard, float]] = field(default_factory=list)  # to be added, times a weight

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
        scale, fits = self.factor / self.unit, 4 * self.counts_.nbytes < self.device.capacity
        raw = self.device.get(self.counts_ * scale) if fits else self.device.get(self.counts_) * scale
        return WordTotal(raw, self.totals.copy(), 1.0, self.pseudo, self.pseudo_weight)

    def for_file(self) -> WordTotal:
        """As it is kept, with the factor beside the counts: `of` makes the same of what is read."""
        self.settle()
        return WordTotal(self.device.get(self.counts_) / self.unit, self.totals, self.factor)

    def write(self, out: Writer) -> None:
        self.for_file().write(out)

    def counts(self) -> np.ndarray:
        return self.on_host().raw

    # Some words or topics of it, on the host, and other topics here: what edits ask for.

    def raw_rows(self, words: np.ndarray) -> np.ndarray:  # [words, K]
        self.settle()
        return self.device.get(self.device.take(self.counts_, words, 0) * (1.0 / self.unit))

    def rows(self, words: np.ndarray) -> np.ndarray:  # [words, K]
        return self.raw_rows(words) if self.factor == 1.0 else self.factor * self.raw_rows(words)

    def by_word(self) -> np.ndarray:  # [V]
        self.settle()
        return self.device.get(self.counts_.sum(1)) * (self.factor / self.unit)

    def columns(self, topics: Sequence[int]) -> np.ndarray:  # [V, topics]
        self.settle()
        return self.device.get(self.device.take(self.counts_, topics, 1) * (self.factor / self.unit))

    def with_columns(self, kept: np.ndarray, changed: Mapping[int, np.ndarray]) -> DeviceWordTotal:
        """As `WordTotal.with_columns`, with sums of words in the same order."""
        self.settle()
        here = np.where(kept < self.shape[1], kept, 0)
        counts, totals = self.device.take(self.counts_, here, 1), self.totals[here]
        for n, k in enumerate(kept.tolist()):
            if k in changed:
                self.device.copy_to(counts[:, n], np.rint(changed[k] * (self.unit / self.factor)).astype(np.int64))
                totals[n] = np.cumsum(changed[k])[-1]
        return DeviceWordTotal(self.device, counts, totals, self.unit, self.factor)

    def __deepcopy__(self, memo: dict[int, object]) -> WordTotal:
        """A copy to keep is on the host: the device is for what is being learned."""
        return copy.deepcopy(self.on_host(), memo)

    def add(
        self, other: PseudoCounts | WordTotal | DeviceWordTotal | ShardStats, weight: float = 1.0
    ) -> DeviceWordTotal:
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
                (raw,) = self.device.mirror(other.raw, (other.raw, np.float64))
                counts, factor = np.rint(raw * (other.factor * self.unit)), 1.0 / self.unit  # as `of` makes them
            amount = counts * (weight * factor / self.factor * self.unit)
            self.counts_ += np.rint(amount).astype(np.int64)
        self.totals += weight * other.totals
        return self

    def scale(self, c: float) -> DeviceWordTotal:
        self.totals *= c
        self.factor *= c
        if abs(self.factor) < SMALLEST_FACTOR:
            self.settle()
            n = int(np.prod(self.shape))
            launch_over(self.device, n, "scale_counts", {"counts": self.counts_, "weight": self.factor, "n_entries": n})
            self.factor = 1.0
        return self

    def settle(self) -> None:
        """Adds what is waiting. Old statistics of a shard that leave and new ones that come go in one kernel."""
        waiting, self.waiting = self.waiting, []
        old = {(stats.kernel, id(stats.shard)): stats for stats, weight in waiting if weight == -1.0}
        for stats, weight in waiting:
            partner = old.pop((stats.kernel, id(stats.shard)), None) if weight == 1.0 else None
            if weight != -1.0:
                stats.add_to(self.counts_, weight, self.unit, partner)
        for stats in old.values():
            stats.add_to(self.counts_, -1.0, self.unit)

    # What topics make of it: the kernels behind likelihoods.TopicWords

    def with_prior(self, eta: np.ndarray, extra: PseudoCounts | None = None) -> Given:
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

    def _rows(self, pseudo: PseudoCounts) -> tuple[DeviceArray, ...]:
        return self.device.mirror(
            pseudo,
            (pseudo.indptr, np.int64),
            (pseudo.topic, np.uint16),
            (pseudo.value, np.float64),
            (pseudo.common, np.float64),
            (pseudo.share, np.float64),
        )

    def table(
        self,
        posterior: str,
        eta: np.ndarray,
        extra: PseudoCounts | None,
        norm: np.ndarray,
        cols: np.ndarray | DeviceColumns,
    ) -> tuple[DeviceArray, DeviceArray]:
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


def zip_rows(name: str, rows: tuple[DeviceArray, ...]) -> Given:
    return dict(zip((f"{name}_indptr", f"{name}_topic", f"{name}_value"), rows))
