"""What a shard reports of its words, on the device: the memo and the message of memoized learning in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from topmix.cuda.device import Device
from topmix.cuda.parking import Held
from topmix.cuda.shard import DeviceShard
from topmix.files.writer import Writer
from topmix.stats import WordStats
from topmix.stats.entries import EntryStats, TokenStats


class ShardStats:
    """What shards report. Whole numbers add up to the same in any order, so a sum adds nothing yet: it is a list."""

    totals: np.ndarray

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self,)

    def plus(self, other: Any) -> SeveralShards:
        return SeveralShards(self.totals + other.totals, (*self.parts, *other.parts))


class SeveralShards(ShardStats):
    def __init__(self, totals: np.ndarray, parts: tuple[Any, ...]):
        self.totals, self._parts = totals, parts

    @property
    def parts(self) -> tuple[Any, ...]:
        return self._parts


class OneShard(ShardStats):
    """What one shard reports."""

    shard: DeviceShard

    def on_host(self, unit: float) -> WordStats:
        """As the processor would report it: tokens summed for each word and topic."""
        device, K = self.shard.device, len(self.totals)
        words = np.arange(len(self.shard.cols) + 1, dtype=np.int32)
        counts = device.zeros((len(words) - 1, K), np.int64)
        add_to(counts, self, 1.0, unit, cols=device.array(words))
        word, topic, value = device.nonzero(counts)
        return WordStats(
            np.asarray(self.shard.cols, np.int32),
            np.searchsorted(word, words).astype(np.int64),
            topic.astype(np.uint16),
            (value / unit).astype(np.float32),
            self.totals,
        )


@dataclass(eq=False)
class DeviceWordStats(OneShard):
    """Tokens of each word of each document of a shard in its L best topics: memo and message in one."""

    shard: DeviceShard
    topic: Any  # [L, entries] uint16
    share: Any  # [L, entries] uint32
    n: Any  # [entries] uint8, how many of the L are used
    totals: np.ndarray  # [K] float64, on the host

    HOLDS: ClassVar[tuple[str, ...]] = ("topic", "share", "n")
    kernel: ClassVar[str] = "add_memo"

    def __post_init__(self) -> None:
        hold = self.shard.device.parking.hold
        self.topic, self.share, self.n = hold(self.topic), hold(self.share), hold(self.n)

    def kernel_arguments(self, name: str) -> dict[str, Any]:
        """What the kernel is given of statistics that come (`new`) or leave (`old`)."""
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

    def write(self, out: Writer) -> None:
        topic, share, n = (self.shard.device.get(x) for x in (self.topic, self.share, self.n))
        used = np.arange(len(topic))[:, None] < n
        EntryStats(n, topic.T[used.T], share.T[used.T], self.totals).write(out)

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
class DeviceTokenStats(OneShard):
    """The same where every token has one topic: the topics of tokens are all there is."""

    shard: DeviceShard
    z: Held  # [tokens] uint16
    totals: np.ndarray  # [K] float64, on the host

    HOLDS: ClassVar[tuple[str, ...]] = ("z",)

    kernel: ClassVar[str] = "add_tokens"

    @classmethod
    def of(cls, shard: DeviceShard, stats: TokenStats) -> DeviceTokenStats:
        return cls(shard, shard.device.parking.hold(shard.device.array(stats.z, np.uint16)), stats.totals)

    def write(self, out: Writer) -> None:
        TokenStats(self.shard.device.get(self.z), self.totals).write(out)

    def kernel_arguments(self, name: str) -> dict[str, Any]:
        return {f"{name}_z": self.z, "word": self.shard.tokens.word}

    @property
    def n_entries(self) -> int:
        return int(self.shard.tokens.lengths.sum())


def add_to(counts: Any, stats: Any, weight: float, unit: float, *, leaving: Any = None, cols: Any = None) -> None:
    """counts [V, K] += weight times what a shard reports, less what it reported before. `cols` are rows for its words,
    where they are not its columns."""
    shard = stats.shard
    given = stats.kernel_arguments("new") | {
        "index": shard.index,
        "cols": shard.cols.device if cols is None else cols,
        "counts": counts,
        "weight": weight,
        "unit": unit,
        "n_entries": stats.n_entries,
        "K": counts.shape[1],
        "is_whole": int(weight == 1.0),
    }
    if leaving is not None:
        given |= leaving.kernel_arguments("old")
    launch_over(shard.device, stats.n_entries, stats.kernel, given)


def launch_over(device: Device, n: int, kernel: str, given: dict[str, Any], kind: str = "MemoArgs") -> None:
    """A lane for each of n entries."""
    if n:
        device.launch(kernel, kind, min(-(-n // 256), 32 * device.n_processors), 256, given)
