"""Tokens of words in topics on the device: what a shard reports, and the running total over shards.

Tokens are integers of 1 / unit, usually 2^-20, so that sums have the same bits in any order and what was added can be
taken out exactly.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self, TypeAlias

import numpy as np
from scipy.special import digamma

from topmix.base.fields import Writer
from topmix.cuda.device import Device, DeviceArray, Given, Spillable
from topmix.cuda.shard import DeviceColumns, DeviceShard
from topmix.models.sparse_counts import EntryStats, TokenStats
from topmix.models.statistics import PseudoCounts
from topmix.models.words import Fading, WordStats, WordTotal

UNIT = float(1 << 20)
Columns: TypeAlias = np.ndarray | DeviceColumns
SMALLEST_FACTOR = 2.0**-10  # below it, the factor is multiplied into the counts


class ShardStats:
    """What shards report. Whole numbers add up to the same in any order, so a sum adds nothing yet: it is a list."""

    def __init__(self, totals: np.ndarray, parts: tuple[OneShard, ...]):
        self.totals, self._parts = totals, parts

    def parts(self) -> tuple[OneShard, ...]:
        return self._parts

    def __add__(self, other: ShardStats) -> ShardStats:
        return ShardStats(self.totals + other.totals, (*self.parts(), *other.parts()))


class OneShard(ShardStats, ABC):
    """What one shard reports."""

    kernel: ClassVar[str]
    shard: DeviceShard

    def parts(self) -> tuple[OneShard, ...]:
        return (self,)

    @abstractmethod
    def add_to(self, counts: DeviceArray, weight: float, unit: float, leaving: Self | None = None) -> None:
        """counts [V, K] += weight times these tokens, less those of `leaving`, which the shard reported before."""


class DocumentStats(OneShard):
    """What one shard of documents reports."""

    @abstractmethod
    def kernel_arguments(self, name: str) -> Given:
        """What the kernel is given of statistics that come (`new`) or leave (`old`), and how many entries there are."""

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
        given = self.kernel_arguments("new") | {"index": shard.index}
        given |= {"cols": shard.cols.device if cols is None else cols, "counts": counts, "weight": weight}
        given |= {"unit": unit, "K": counts.shape[1], "is_whole": int(weight == 1.0)}
        if leaving is not None:
            given |= leaving.kernel_arguments("old")
        shard.device.launch_over(given["n_entries"], self.kernel, given)

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
    topic: DeviceArray | Spillable  # [L, entries] uint16
    share: DeviceArray | Spillable  # [L, entries] uint32
    n: DeviceArray | Spillable  # [entries] uint8, how many of the L are used
    totals: np.ndarray  # [K] float64, on the host

    kernel: ClassVar[str] = "add_memo"

    def __post_init__(self) -> None:
        add = self.shard.device.spillable
        self.topic, self.share, self.n = add(self.topic), add(self.share), add(self.n)

    def kernel_arguments(self, name: str) -> Given:
        arrays = {f"{name}_topic": self.topic, f"{name}_share": self.share, f"{name}_n": self.n}
        return arrays | {"n_entries": self.shard.n_entries}

    @classmethod
    def of(cls, shard: DeviceShard, stats: EntryStats) -> DeviceWordStats:
        device, n = shard.device, stats.n.astype(np.int64)
        L = int(n.max(initial=1))
        topic, share = np.zeros((L, len(n)), np.uint16), np.zeros((L, len(n)), np.uint32)
        entry = np.repeat(np.arange(len(n)), n)
        slot = np.arange(len(entry)) - np.repeat(np.cumsum(n) - n, n)
        topic[slot, entry], share[slot, entry] = stats.topic, stats.share
        return cls(shard, device.array(topic), device.array(share), device.array(stats.n), stats.totals)

    def entries(self) -> EntryStats:
        topic, share, n = (self.shard.device.get(x) for x in (self.topic, self.share, self.n))
        used = np.arange(len(topic))[:, None] < n
        return EntryStats(n, topic.T[used.T], share.T[used.T], self.totals)

    def merged_entropy(self, partner: np.ndarray, unit: float) -> np.ndarray:
        """[K] what merging pairs of topics would take from the entropy, at the lower topic of each pair."""
        device, n_entries = self.shard.device, self.shard.n_entries
        lost = device.zeros(len(partner), np.int64)
        given: Given = {"topic": self.topic, "share": self.share, "n": self.n, "n_entries": n_entries}
        given |= {"partner": device.array(partner, np.int32), "lost": lost, "unit": unit}
        device.launch_over(n_entries, "merged_entropy", given)
        return device.get(lost) / 2.0**30


@dataclass(eq=False)
class DeviceTokenStats(DocumentStats):
    """The same where every token has one topic: the topics of tokens are all there is."""

    shard: DeviceShard
    z: Spillable  # [tokens] uint16
    totals: np.ndarray  # [K] float64, on the host

    kernel: ClassVar[str] = "add_tokens"

    def entries(self) -> TokenStats:
        return TokenStats(self.shard.device.get(self.z), self.totals)

    def kernel_arguments(self, name: str) -> Given:
        tokens = self.shard.tokens
        return {f"{name}_z": self.z, "word": tokens.word, "n_entries": int(tokens.lengths.sum())}


@dataclass(eq=False)
class DeviceWordTotal(Fading):
    """The running total, with the methods of `WordTotal` that a fit asks for: learners do not know where counts are."""

    device: Device
    counts_: DeviceArray  # [V, K] int64; the counts are factor / unit times these
    totals: np.ndarray  # [K] float64, on the host
    unit: float
    factor: float = 1.0
    pseudo: PseudoCounts | None = None
    pseudo_weight: float = 0.0
    waiting: list[tuple[OneShard, float]] = field(default_factory=list)  # to be added, times a weight

    is_exact: ClassVar[bool] = True

    @classmethod
    def of(cls, device: Device, total: WordTotal, unit: float) -> DeviceWordTotal:
        """The same counts on the device, rounded to integers of 1 / unit."""
        (V, K), per_topic = total.raw.shape, total.shape[0] * (8 + 4)
        if K * per_topic > device.capacity:  # of the counts, and of a table of a shard, which may have all words
            raise MemoryError(
                f"engine='cuda': {K} topics of {V} words need {K * per_topic / 1e9:.3g} GB, and the device has "
                f"{device.capacity / 1e9:.3g} GB: at most {device.capacity // per_topic} topics fit, or fewer words"
            )
        factor = total.factor if SMALLEST_FACTOR <= total.factor <= 1.0 else 1.0
        if total.totals.any():
            counts = device.array(np.rint(total.raw * (total.factor / factor * unit)).astype(np.int64))
        else:
            counts = device.zeros(total.raw.shape, np.int64)
        return cls(device, counts, total.totals.copy(), unit, factor, total.pseudo, total.pseudo_weight)

    @property
    def shape(self) -> tuple[int, int]:
        V, K = self.counts_.shape
        return int(V), int(K)

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
        return self.factor * self.raw_rows(words)

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

    def add_counts(self, other: WordTotal | DeviceWordTotal | ShardStats, weight: float) -> None:
        if isinstance(other, ShardStats):
            self.waiting += [(part, weight / self.factor) for part in other.parts()]
            return
        self.settle()
        if isinstance(other, DeviceWordTotal):
            other.settle()
            counts, factor = other.counts_, other.factor / other.unit
        else:
            counts = np.rint(self.device.mirror(other.raw) * (other.factor * self.unit))  # as `of` makes them
            factor = 1.0 / self.unit
        amount = counts * (weight * factor / self.factor * self.unit)
        self.counts_ += np.rint(amount).astype(np.int64)

    def scale(self, c: float) -> DeviceWordTotal:
        self.totals *= c
        self.factor *= c
        if abs(self.factor) < SMALLEST_FACTOR:
            self.settle()
            n = int(np.prod(self.shape))
            given = {"counts": self.counts_, "weight": self.factor, "n_entries": n}
            self.device.launch_over(n, "scale_counts", given)
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

    # What topics and clusters make of it.

    def with_prior(self, eta: np.ndarray, extra: PseudoCounts | None = None) -> Given:
        """Counts and prior as kernels take them."""
        self.settle()
        V, K = self.shape
        given: Given = {"counts": self.counts_, "eta": self.device.mirror(eta)}
        given |= {"factor": self.factor / self.unit, "word_step": eta.shape[1] if len(eta) > 1 else 0}
        given |= {"topic_step": int(eta.shape[1] > 1), "n_words": V, "K": K}
        if extra is not None:
            given |= zip(("extra_indptr", "extra_topic", "extra_value"), self._mirrored(extra))
        return given

    def _mirrored(self, pseudo: PseudoCounts) -> tuple[DeviceArray, ...]:
        arrays = (*pseudo.rows, pseudo.common, pseudo.share)
        dtypes = np.int64, np.uint16, np.float64, np.float64, np.float64
        return self.device.kept(pseudo, lambda: tuple(map(self.device.array, arrays, dtypes)))

    def table(
        self, posterior: str, eta: np.ndarray, extra: PseudoCounts | None, norm: np.ndarray, cols: Columns
    ) -> tuple[DeviceArray, DeviceArray]:
        """[words, K] each row over its largest entry, and the logarithm of that entry."""
        is_variational = posterior == "variational"
        given = self.with_prior(eta, extra) | {"variational": int(is_variational)}
        given["by_topic"] = self.device.array(digamma(norm) if is_variational else 1.0 / norm, np.float64)
        if self.pseudo is not None:
            *rows, common, share = self._mirrored(self.pseudo)
            given |= zip(("pseudo_indptr", "pseudo_topic", "pseudo_value"), rows)
            given["pseudo_weight"] = self.pseudo_weight
            if len(self.pseudo.common):
                given |= {"common": common, "share": share}
        return self._of_words("make_table", given, cols)

    def log_table(
        self, objective: str, eta: np.ndarray, norm: np.ndarray, cols: Columns
    ) -> tuple[DeviceArray, DeviceArray]:
        """[words, K] the logarithm, less the largest of each word; and that."""
        is_bayes = objective == "vb"
        by_topic = self.device.array(digamma(norm) if is_bayes else np.log(norm))
        given = self.with_prior(eta) | {"by_topic": by_topic, "variational": int(is_bayes)}
        return self._of_words("log_table", given, cols)

    def _of_words(self, kernel: str, given: Given, cols: Columns) -> tuple[DeviceArray, DeviceArray]:
        device, K, n_words = self.device, self.shape[1], len(cols)
        if not isinstance(cols, DeviceColumns):
            cols = DeviceColumns(cols, device.array(cols, np.int32))
        table, log_scale = device.empty((n_words, K), np.float32), device.empty(n_words, np.float64)
        given |= {"cols": cols.device, "n_words": n_words, "table": table, "log_scale": log_scale}
        device.launch(kernel, min(n_words, 64 * device.n_processors), 128, given)
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
        self.device.launch("sum_of_words", blocks, 128, given)
        return float(self.device.get(partial).sum())
