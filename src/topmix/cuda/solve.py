"""The documents of a shard, solved on the device: a warp for a short one, a block for a long one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topmix.base.component import Json
from topmix.cuda.device import Cupy, Device, DeviceArray, Given, padded
from topmix.cuda.shard import DeviceDocs, DeviceShard
from topmix.cuda.words import DeviceTokenStats, DeviceWordStats
from topmix.models.covariate_prior import LOG_RANGE, CovariatePrior
from topmix.models.document_prior import DocumentSums
from topmix.models.statistics import TopicStats
from topmix.models.topics import TopicTables

MOST_ACTIVE = 32  # L: lists of L topics are kept in registers
SUMS = 10  # see the enum Sums of kernels/arguments.hpp

# Which kernel solves which documents of a shard.
#
# A document's part of the table is [its topics, its words], and is kept in shared memory. How many topics it begins
# with is not known before: each document goes where it will probably fit, and from there to the next tier if it does
# not.

SLOTS = 1 << 28  # floats of global memory for what does not fit into shared memory
RESERVED = 2048  # bytes of a block's shared memory that kernels and device use themselves
MOST_PLANS = 8  # of a shard
LISTS = 6  # floats of a document for each of its topics, besides the table
EXTRA_LISTS = 8


class Tier(NamedTuple):
    """One kernel, with what a team of it can hold."""

    kernel: str  # after "solve_" or "extra_", which has what few fits ask for: see kernels/document.hpp
    threads: int  # of a block
    teams: int  # per block
    most: int  # topics of a document
    room: int  # floats for its part of the table; before that they hold its first counts [K]
    per_processor: int  # blocks, at most
    lists: int = LISTS

    @property
    def shared(self) -> int:
        """Bytes that a block asks for."""
        return 4 * self.teams * (self.lists * self.most + self.room)

    def fitted(self, device: Device, K: int) -> Tier | None:
        """The tier with as much room as K needs and the device has; None: not even K counts fit."""
        all_there_is = (device.shared_per_block - RESERVED) // (4 * self.teams) - self.lists * self.most
        tier = self._replace(room=min(max(self.room, K + 3), all_there_is) & ~3)  # lists begin at multiples of 16 bytes
        if tier.room < K:
            return None
        blocks = device.shared_per_processor // (tier.shared + RESERVED)
        return tier._replace(per_processor=max(1, min(self.per_processor, blocks)))


SHORT = Tier("short", 128, 4, 64, 1664, 6)
MIDDLE = Tier("middle", 128, 1, 256, 12288, 4)
LONG = Tier("long", 512, 1, 512, 1 << 20, 1)  # all that there is
MOST_IN_SHARED = 2048  # topics of a document whose lists are kept in shared memory


@dataclass(frozen=True)
class Plan:
    """Of a shard."""

    family: str  # of kernels
    lists: int  # floats for each topic
    tiers: list[tuple[Tier, DeviceArray, int]]  # with documents of its own, longest first, and how many
    slot_size: int  # floats of global memory for each long document; 0: none
    giant: tuple[int, int] | None  # topics and floats of the largest document, where not all fit into tiers

    def run(self, shard: DeviceShard, given: Given, L: int) -> None:
        """Each tier has documents of its own, and those that did not fit into the one before."""
        device, n_docs, n_tiers = shard.device, shard.n_rows, len(self.tiers)
        counters = device.zeros((n_tiers + 1, 2), np.int32)  # documents taken, documents that did not fit
        overflow = device.empty((n_tiers, n_docs), np.int32)
        more: Given = {}
        for i, (tier, rows, n_rows) in enumerate(self.tiers):
            given |= {"rows": rows, "n_rows": n_rows, "overflow": overflow[i], "n_overflow": counters[i, 1:]}
            given |= {"next": counters[i], "most": tier.most, "room": tier.room, **more}
            at_most = n_rows if i == 0 else n_docs
            blocks = min(tier.per_processor * device.n_processors, -(-at_most // tier.teams))
            if tier.kernel == "long" and self.slot_size:
                blocks = min(blocks, max(1, SLOTS // self.slot_size))
                given |= {"slots": device.empty(blocks * self.slot_size, np.float32), "slot_size": self.slot_size}
            device.launch(f"{self.family}_{tier.kernel}", blocks, tier.threads, given, L=L, shared=tier.shared)
            more = {"more": overflow[i], "n_more": counters[i, 1:]}
        if self.giant is None:
            return
        most, room = self.giant
        size = self.lists * most + room
        slots = min(device.n_processors, n_docs, max(1, SLOTS // size))
        given |= {"rows": shard.rows, "n_rows": 0 if n_tiers else n_docs, "overflow": None}
        given |= {"n_overflow": None, "next": counters[n_tiers], "most": most, "room": room}
        given |= {"slots": device.empty(slots * size, np.float32), "slot_size": size, **more}
        device.launch(f"{self.family}_giant", slots, 512, given, L=L)


def plan_of(shard: DeviceShard, K: int, eps: float, n_given: int, *, is_cold: bool, is_extra: bool, pages: int) -> Plan:
    """Made once for each shard and setting: it looks at every document. `n_given` is how many topics a document may
    come with, where it has them from elsewhere; `pages`, how often its part of the table is there."""
    n_given = 1 << (n_given - 1).bit_length() if n_given else 0
    key = K, eps, n_given, is_cold, is_extra, pages
    if key in shard.plans:
        return shard.plans[key]
    while len(shard.plans) >= MOST_PLANS:  # the number of topics is being searched for
        shard.plans.pop(next(iter(shard.plans)))

    device, n_words, most = shard.device, shard.n_words, np.maximum(shard.most_topics(K, eps), min(n_given, K))
    family, lists = ("extra", EXTRA_LISTS) if is_extra else ("solve", LISTS)
    most_words, largest_most = int(n_words.max(initial=0)), int(most.max(initial=1))
    largest = pages * int((most * (n_words | 1)).max(initial=0))
    long = LONG._replace(most=padded(min(max(LONG.most, largest_most), MOST_IN_SHARED), 4))
    with_lists = (tier._replace(lists=lists) for tier in (SHORT, MIDDLE, long))
    tiers = [fitted for tier in with_lists if (fitted := tier.fitted(device, K)) is not None]

    # topics that a document probably begins with: many if it starts from its words
    probable = np.minimum(most, 8 + shard.lengths / 10 if is_cold else 16)
    is_short = n_words * (12 * pages + 1) <= SHORT.room  # by its words alone: most documents are short
    tier_of = np.where(is_short, 0, np.where((n_words + 1) * (pages * probable + 1) <= MIDDLE.room, 1, 2))
    if np.count_nonzero(tier_of == 1) <= 2 * device.n_processors:  # too few to fill the device: more lanes for each
        tier_of[tier_of == 1] = 2
    tier_of = np.maximum(tier_of - (3 - len(tiers)), 0)[shard.order]
    own = [shard.order[tier_of == i] for i in range(len(tiers))]

    fits = bool(tiers) and largest_most <= tiers[-1].most and most_words <= tiers[-1].room
    slot_size = 0
    if tiers and largest + most_words > tiers[-1].room:
        slot_size = min(padded(largest, 4), SLOTS)
        fits = fits and slot_size >= largest
    giant = None if fits else (padded(largest_most, 4), padded(max(K, largest + most_words), 4))
    with_rows = [(tier, device.array(rows, np.int32), len(rows)) for tier, rows in zip(tiers, own)]
    plan = shard.plans[key] = Plan(family, lists, with_rows, slot_size, giant)
    return plan


# The documents of a shard, solved.


class Solved(NamedTuple):
    words: DeviceWordStats | DeviceTokenStats | None  # the latter where tokens are sampled
    docs: DeviceDocs
    sums: DocumentSums
    entropy: float = 0.0
    bound: float = 0.0  # sum of words' tokens times log phi, where it is wanted
    iterations: int = 0
    restarts: int = 0  # that were tried
    accepted: int = 0
    moved: int = 0  # tokens with another topic


def over_documents(
    device: Device, tables: TopicTables, unit: float, own: DeviceOwnPriors | None = None
) -> tuple[Given, DeviceArray]:
    """What every kernel over documents is given of the model, and where it adds up what it finds."""
    prior, words = tables.prior, tables.words
    table: Cupy = words.table
    if is_here := isinstance(table, np.ndarray):  # else it was made on the device
        table = device.array(table)
    K = table.shape[1]
    sums = device.zeros(SUMS + 3 * K, np.int64)
    given: Given = {"table": table, "log_scale": device.array(words.log_scale) if is_here else words.log_scale}
    given |= {"alpha": device.mirror(prior.alpha), "alpha_total": float(prior.alpha.sum())}
    given |= {"learns_alpha": int(prior.learned and own is None), "topic_sums": sums[SUMS:], "sums": sums}
    given |= {"K": K, "unit": unit}
    if own is not None:
        given |= {"own_alpha": own.given["alpha"], "own_row": own.given["row"]}
    return given, sums


def solve(
    device: Device,
    shard: DeviceShard,
    tables: TopicTables,
    unit: float,
    *,
    start: DeviceDocs | None = None,
    last: DeviceDocs | None = None,
    want_words: bool = True,
    want_bound: bool = False,
    own: DeviceOwnPriors | None = None,
) -> Solved:
    """As steps/documents.py: documents start from their words, or from `start`; `last` is discounted; `own` are their
    priors, where each has its own."""
    options, K = tables.document_options, tables.words.table.shape[1]
    if (L := options.L(K)) > MOST_ACTIVE:
        raise ValueError(
            f"engine='cuda' keeps at most {MOST_ACTIVE} topics of a word: use n_active={MOST_ACTIVE} or less"
        )
    exclude = options.exclude and tables.posterior == "collapsed"
    docs = DeviceDocs.empty(device, *shard.places(K, L, options.eps))
    given, sums = over_documents(device, tables, unit, own)
    given |= options.of_kernels() | docs.as_new()
    given |= {"indptr": shard.indptr, "index": shard.index, "value": shard.value, "n_entries": shard.n_entries}
    given |= {"exclude": int(exclude), "own_discount": 0.0 if last is None else options.own_discount}
    given |= {"variational": int(tables.posterior == "variational"), "wants_bound": int(want_bound)}
    given |= {"starts_cold": int(start is None)}
    if start is None:
        given |= first_selection(device, given["table"], L)
    if last is not None:
        given |= {"by_topic": device.array(1.0 / tables.words.norm, np.float32), "least": tables.words.least}
    if (before := start if last is None else last) is not None:
        given |= before.as_last()
    memo = None
    if want_words:
        shape = L, shard.n_entries
        memo = device.empty(shape, np.uint16), device.empty(shape, np.uint32), device.empty(shape[1], np.uint8)
        given |= zip(("memo_topic", "memo_share", "memo_n"), memo)
    if shard.n_rows:
        n_given = 0 if before is None else before.most
        is_extra, pages = exclude or options.select_often or options.restarts > 0, 1 + exclude + options.select_often
        plan = plan_of(shard, K, options.eps, n_given, is_cold=start is None, is_extra=is_extra, pages=pages)
        plan.run(shard, given, L)
    host_sums = device.get(sums)
    iterations, entropy, *_, bound, lost, tried, accepted = host_sums[:SUMS].tolist()
    if lost:
        raise RuntimeError(f"{lost} documents did not fit on the device: please report this")
    of_documents, tokens = document_sums(host_sums, shard.n_rows, K, unit)
    words = None if memo is None else DeviceWordStats(shard, *memo, tokens)
    scale = 2.0**24
    return Solved(words, docs.written(), of_documents, entropy / scale, bound / scale, iterations, tried, accepted)


def first_selection(device: Device, table: Cupy, L: int) -> Json:
    """Each word's own top L, where documents start from their words."""
    n_words, K = table.shape
    shape = n_words, L
    first = {"first_topic": device.empty(shape, np.uint16), "first_share": device.empty(shape, np.float32)}
    args = {"table": table, "n_words": n_words, "K": K, **first}
    device.launch("first_selection", min(-(-n_words // 4), 16 * device.n_processors), 128, args, L=L)
    return first


def document_sums(sums: np.ndarray, n_docs: int, K: int, unit: float) -> tuple[DocumentSums, np.ndarray]:
    """What kernels add up over documents, from integers (kernels/terms.hpp), and the tokens of each topic."""
    within, lengths, gammas, length_gammas = (x / 2.0**24 for x in sums[2:6].tolist())
    tokens, above, rise = sums[SUMS:].reshape(3, K)
    documents = DocumentSums(n_docs, lengths, rise / 2.0**30, above / 2.0**30, within, gammas, length_gammas)
    return documents, tokens / unit


# Documents with priors of their own, on the device: as models/document_prior.py.

WARPS = 4  # of a block: see kernels/own.cu
MOST_BITS = 30  # after the binary point of sums over documents


@dataclass(frozen=True)
class DeviceOwnPriors:
    """Of the documents of a shard."""

    prior: CovariatePrior
    shard: DeviceShard
    given: Json  # to the kernels

    @classmethod
    def of(cls, shard: DeviceShard, prior: object) -> DeviceOwnPriors | None:
        """None where documents share their prior."""
        if not isinstance(prior, CovariatePrior) or shard.design is None:
            return None
        device, (n, P), K = shard.device, shard.design.x.shape, len(prior.coefficients)
        given: Given = {**shard.design_there, "coefficients": device.array(prior.coefficients.T, np.float64)}
        given |= {"alpha": device.empty((n, K), np.float32), "total": device.empty(n, np.float64)}
        given |= {"normaliser": device.empty(n, np.float64), "low": LOG_RANGE[0], "high": LOG_RANGE[1]}
        given |= {"n_priors": n, "n_rows": shard.n_rows, "K": K, "P": P}
        given |= {"variational": int(prior.posterior == "variational")}
        device.launch("own_alpha", min(-(-n // WARPS), 16 * device.n_processors), 32 * WARPS, given)
        return cls(prior, shard, given)

    def stats(self, words: object, docs: DeviceDocs, H: float) -> TopicStats:
        """Statistics of documents with these topics.  Eq. (3.31)"""
        device, shard, (K, P) = self.shard.device, self.shard, self.prior.coefficients.shape
        assert shard.design is not None
        # Powers of two, so that sums of c x and of c' x x' fit into 63 bits: c and c' are at most the tokens of a topic
        # in a document, or one.
        largest = max(1.0, float(np.abs(shard.design.x).max(initial=0.0)))
        most = float(shard.lengths.sum()) + int(docs.host_places[-1]) + 1.0  # documents have as many topics as places
        bits = [61 - int(np.ceil(np.log2(most * power))) for power in (largest, largest**2)]
        first_scale, second_scale = (2.0 ** min(b, MOST_BITS) for b in bits)
        first = device.zeros(K * P, np.int64)
        second = device.zeros(K * P * P, np.int64) if self.prior.is_curved else None
        sums = device.zeros(3, np.int64)
        given = self.given | {**docs.as_new(), "sums": sums, "first": first, "second": second}
        given |= {"first_scale": first_scale, "second_scale": second_scale}
        device.launch("own_stats", min(-(-shard.n_rows // WARPS), 16 * device.n_processors), 32 * WARPS, given)
        G, A, T = (device.get(sums) / 2.0**24).tolist()
        Q = np.zeros((K, P, P))
        if second is not None:
            below = np.tril(device.get(second).reshape(K, P, P) / second_scale)
            Q = below + np.swapaxes(np.tril(below, -1), 1, 2)
        M = np.concatenate([device.get(first) / first_scale, Q.ravel()])
        return TopicStats(words, float(shard.n_rows), H, G, A, np.array([T]), M)
