"""Which kernel solves which documents of a shard: a warp for a short one, a block for a long one.

A document's part of the table is [its topics, its words], and is kept in shared memory. How many topics it begins with
is not known before: each document goes where it will probably fit, and from there to the next tier if it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topmix.cuda.arrays import DeviceArray
from topmix.cuda.device import Device, Given
from topmix.cuda.shard import DeviceShard

SLOTS = 1 << 28  # floats of global memory for what does not fit into shared memory
RESERVED = 2048  # bytes of a block's shared memory that kernels and device use themselves
MOST_PLANS = 8  # of a shard
LISTS = 6  # floats of a document for each of its topics, besides the table
EXTRA_LISTS = 8


class Extra(NamedTuple):
    """What few fits ask for, and what it takes: see kernels/document.hpp."""

    exclude: bool = False
    select_often: bool = False
    restarts: bool = False

    @property
    def lists(self) -> int:
        return EXTRA_LISTS if any(self) else LISTS

    @property
    def pages(self) -> int:
        """How often a document's part of the table is there."""
        return 1 + self.exclude + self.select_often

    def kernel(self, name: str) -> str:
        return name.replace("solve", "extra") if any(self) else name


class Tier(NamedTuple):
    """One kernel, with what a team of it can hold."""

    kernel: str
    threads: int  # of a block
    teams: int  # per block
    most: int  # topics of a document
    room: int  # floats for its part of the table; before that they hold its first counts [K]
    per_processor: int  # blocks, at most
    lists: int = LISTS

    def fitted(self, device: Device, K: int) -> Tier | None:
        """The tier with as much room as K needs and the device has; None: not even K counts fit."""
        lists = self.lists * self.most
        all_there_is = (device.shared_per_block - RESERVED) // (4 * self.teams) - lists
        room = min(max(self.room, K + 3), all_there_is) & ~3  # lists begin at multiples of 16 bytes
        if room < K:
            return None
        tier = self._replace(room=room)
        return tier._replace(
            per_processor=max(1, min(self.per_processor, device.shared_per_processor // (tier.shared + RESERVED)))
        )

    @property
    def shared(self) -> int:
        """Bytes that a block asks for."""
        return 4 * self.teams * (self.lists * self.most + self.room)


NOTHING = Extra()
SHORT = Tier("solve_short", 128, 4, 64, 1664, 6)
MIDDLE = Tier("solve_middle", 128, 1, 256, 12288, 4)
LONG = Tier("solve_long", 512, 1, 512, 1 << 20, 1)  # all that there is
MOST_IN_SHARED = 2048  # topics of a document whose lists are kept in shared memory


@dataclass(frozen=True)
class Plan:
    device: Device
    n_docs: int
    tiers: list[tuple[Tier, DeviceArray, int]]  # with documents of its own, longest first, and how many
    slot_size: int  # floats of global memory for each long document; 0: none
    giant: tuple[int, int] | None  # topics and floats of the largest document, where not all fit into tiers
    rows: DeviceArray  # [documents]
    extra: Extra

    def run(self, given: Given, L: int) -> None:
        """Each tier has documents of its own, and those that did not fit into the one before."""
        device, n_tiers = self.device, len(self.tiers)
        counters = device.zeros((n_tiers + 1, 2), np.int32)  # documents taken, documents that did not fit
        overflow = device.empty((n_tiers, self.n_docs), np.int32)
        more: Given = {}
        for i, (tier, rows, n_rows) in enumerate(self.tiers):
            given |= {
                "rows": rows,
                "n_rows": n_rows,
                "overflow": overflow[i],
                "n_overflow": counters[i, 1:],
                "next": counters[i],
                "most": tier.most,
                "room": tier.room,
                **more,
            }
            at_most = n_rows if i == 0 else self.n_docs
            blocks = min(tier.per_processor * device.n_processors, -(-at_most // tier.teams))
            if tier.kernel == LONG.kernel and self.slot_size:
                blocks = min(blocks, max(1, SLOTS // self.slot_size))
                given |= {"slots": device.empty(blocks * self.slot_size, np.float32), "slot_size": self.slot_size}
            if blocks:
                kernel = self.extra.kernel(tier.kernel)
                device.launch(kernel, "SolveArgs", blocks, tier.threads, given, L=L, shared=tier.shared)
            more = {"more": overflow[i], "n_more": counters[i, 1:]}
        if self.giant is None:
            return
        most, room = self.giant
        size = self.extra.lists * most + room
        slots = min(device.n_processors, self.n_docs, max(1, SLOTS // size))
        given |= {
            "rows": self.rows,
            "n_rows": 0 if n_tiers else self.n_docs,
            "overflow": None,
            "n_overflow": None,
            "next": counters[n_tiers],
            "most": most,
            "room": room,
            "slots": device.empty(slots * size, np.float32),
            "slot_size": size,
            **more,
        }
        device.launch(self.extra.kernel("solve_giant"), "SolveArgs", slots, 512, given, L=L)


def plan_of(
    device: Device, shard: DeviceShard, K: int, eps: float, is_cold: bool, given: int, extra: Extra = NOTHING
) -> Plan:
    """Made once for each shard and setting: it looks at every document. `given` is how many topics a document may come
    with, where it has them from elsewhere."""
    key = K, eps, is_cold, 1 << (given - 1).bit_length() if given else 0, extra
    if key not in shard.plans:
        while len(shard.plans) >= MOST_PLANS:  # the number of topics is being searched for
            shard.plans.pop(next(iter(shard.plans)))
        shard.plans[key] = _plan(device, shard, *key)
    plan: Plan = shard.plans[key]
    return plan


def _plan(device: Device, shard: DeviceShard, K: int, eps: float, is_cold: bool, given: int, extra: Extra) -> Plan:
    n_words, most = shard.n_words, np.maximum(shard.most_topics(K, eps), min(given, K))
    largest_most = int(most.max(initial=1))
    largest = extra.pages * int((most * (n_words | 1)).max(initial=0))
    long = LONG._replace(most=_by_four(min(max(LONG.most, largest_most), MOST_IN_SHARED)))
    with_lists = (tier._replace(lists=extra.lists) for tier in (SHORT, MIDDLE, long))
    tiers = [fitted for tier in with_lists if (fitted := tier.fitted(device, K)) is not None]

    # topics that a document probably begins with: many if it starts from its words
    probable = np.minimum(most, 8 + shard.lengths / 10 if is_cold else 16)
    short = np.where(
        n_words * (12 * extra.pages + 1) <= SHORT.room, 0, 1
    )  # by its words alone: most documents are short
    tier_of = np.where(short == 0, 0, np.where((n_words + 1) * (extra.pages * probable + 1) <= MIDDLE.room, 1, 2))
    if np.count_nonzero(tier_of == 1) <= 2 * device.n_processors:  # too few to fill the device: more lanes for each
        tier_of[tier_of == 1] = 2
    tier_of = np.maximum(tier_of - (3 - len(tiers)), 0)[shard.order]
    own = [shard.order[tier_of == i] for i in range(len(tiers))]

    fits = bool(tiers) and largest_most <= tiers[-1].most and int(n_words.max(initial=0)) <= tiers[-1].room
    slot_size = 0
    if tiers and largest + int(n_words.max(initial=0)) > tiers[-1].room:
        slot_size = min(_by_four(largest), SLOTS)
        fits = fits and slot_size >= largest
    giant = None if fits else (_by_four(largest_most), _by_four(max(K, largest + int(n_words.max(initial=0)))))
    return Plan(
        device,
        shard.n_rows,
        [(tier, device.array(rows, np.int32), len(rows)) for tier, rows in zip(tiers, own)],
        slot_size,
        giant,
        shard.rows,
        extra,
    )


def _by_four(n: int) -> int:
    return -(-n // 4) * 4
