"""Tokens of words in topics on the device: what a shard reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from topmix.base.fields import Writer
from topmix.cuda.device import Device, DeviceArray, Given, Spillable
from topmix.cuda.shard import DeviceShard
from topmix.models.sparse_counts import EntryStats, TokenStats
from topmix.models.words import WordStats


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
        given = self.kernel_arguments("new") | {"index": shard.index}
        given |= {"cols": shard.cols.device if cols is None else cols, "counts": counts, "weight": weight}
        given |= {"unit": unit, "n_entries": self.n_entries, "K": counts.shape[1]}
        given |= {"is_whole": int(weight == 1.0)}
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
    topic: DeviceArray | Spillable  # [L, entries] uint16
    share: DeviceArray | Spillable  # [L, entries] uint32
    n: DeviceArray | Spillable  # [entries] uint8, how many of the L are used
    totals: np.ndarray  # [K] float64, on the host

    kernel: ClassVar[str] = "add_memo"

    def __post_init__(self) -> None:
        add = self.shard.device.spillable
        self.topic, self.share, self.n = add(self.topic), add(self.share), add(self.n)

    @staticmethod
    def empty(shard: DeviceShard, L: int) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Room for what a kernel writes: what this is made of then."""
        empty, n = shard.device.empty, shard.n_entries
        return empty((L, n), np.uint16), empty((L, n), np.uint32), empty(n, np.uint8)

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
        given: Given = {"topic": self.topic, "share": self.share, "n": self.n}
        given |= {"partner": device.array(partner, np.int32), "lost": lost, "unit": unit}
        given |= {"n_entries": self.n_entries}
        launch_over(device, self.n_entries, "merged_entropy", given)
        return device.get(lost) / 2.0**30


@dataclass(eq=False)
class DeviceTokenStats(DocumentStats):
    """The same where every token has one topic: the topics of tokens are all there is."""

    shard: DeviceShard
    z: Spillable  # [tokens] uint16
    totals: np.ndarray  # [K] float64, on the host

    kernel: ClassVar[str] = "add_tokens"

    @classmethod
    def of(cls, shard: DeviceShard, stats: TokenStats) -> DeviceTokenStats:
        return cls(shard, shard.device.spillable(shard.device.array(stats.z, np.uint16)), stats.totals)

    def entries(self) -> TokenStats:
        return TokenStats(self.shard.device.get(self.z), self.totals)

    def kernel_arguments(self, name: str) -> Given:
        return {f"{name}_z": self.z, "word": self.shard.tokens.word}

    @property
    def n_entries(self) -> int:
        return int(self.shard.tokens.lengths.sum())


def launch_over(device: Device, n: int, kernel: str, given: Given) -> None:
    """A lane for each of n entries."""
    device.launch(kernel, min(-(-n // 256), 32 * device.n_processors), 256, given)
