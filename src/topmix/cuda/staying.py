"""Shards that stay on the GPU of a worker of a cluster: rows, what is remembered of them, and their last statistics.

What is there is a copy. Each call says how to come by it: what was saved of a shard, and the visits since, each under a
model. A worker that has a shard as it was after the last visit makes the next one; one that was started since, or gets
the shard of another, makes the earlier visits too. It finds the same bits: visits are functions, and counts integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from topmix.cuda.device import Device
from topmix.cuda.shard import DeviceShard
from topmix.cuda.shared_total import Change, Counts, RoundWords, TotalElsewhere
from topmix.cuda.topics import CudaTopicStep, on_device, on_host
from topmix.cuda.words import DeviceWordTotal
from topmix.data.shard import Shard
from topmix.local import Info
from topmix.local.topics import TopicStep
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordTotal

Fetch = Callable[[Any], Any]  # the value behind a reference


class PastVisit(NamedTuple):
    number: int  # of its round
    model: Any  # a reference to the model, with a TotalElsewhere
    counts: Counts  # of the model


class History(NamedTuple):
    """How to come by what a shard remembers, and by its last statistics."""

    shard: int
    rows: Any  # a reference to its rows
    memory: Any  # a reference to what was saved, or None
    stats: Any
    number: int  # of the round after which that was saved
    visits: tuple[PastVisit, ...]  # since
    has_stats: bool  # whether its statistics before the last visit are part of a total


class Stay(NamedTuple):
    """A shard after a visit."""

    number: int
    memory: Any
    stats: Any
    before: Any  # its statistics before that visit
    info: Info


class Size(NamedTuple):
    """Of a total."""

    n_words: int
    n_topics: int
    unit: float


class StayingShards:
    def __init__(self, step: TopicStep, device: Device):
        self.step, self.device = step, device
        self._shards: dict[int, DeviceShard] = {}
        self._stays: dict[int, Stay] = {}
        self._model: tuple[int, TopicModel] | None = None  # of a round
        self._total: tuple[str, int, DeviceWordTotal] | None = None  # token and version of its counts

    def visit(
        self, size: Size, histories: Sequence[History], keeps: bool, fetch: Fetch
    ) -> tuple[Change, list[tuple[TopicStats, Info]]]:
        """What the last visits change in a total, and the rest of what they report. Without `keeps` their statistics
        are forgotten, and take the place of nothing."""
        newest = max(each.visits[-1].number for each in histories)
        for b, stay in self._stays.items():
            if stay.number < newest:
                self._stays[b] = stay._replace(before=None)  # of an earlier round: nobody asks for it again
        self._catch_up(size, histories, fetch, needs_before=keeps)
        stays = [self._stays[each.shard] for each in histories]
        left = [stay.before for each, stay in zip(histories, stays) if keeps and each.has_stats]
        change = self._sum(size, [stay.stats for stay in stays], left)
        if not keeps:
            for each in histories:
                self._stays[each.shard] = self._stays[each.shard]._replace(stats=None, before=None)
        return change, [(replace(stay.stats, S=RoundWords(stay.stats.S.totals)), stay.info) for stay in stays]

    def sum(self, size: Size, histories: Sequence[History], fetch: Fetch) -> tuple[Change, None]:
        """What shards have reported at their last visits."""
        self._catch_up(size, histories, fetch)
        return self._sum(size, [self._stays[each.shard].stats for each in histories], []), None

    def save(self, size: Size, history: History, fetch: Fetch) -> tuple[object, TopicStats | None]:
        """What a shard remembers, and its last statistics, on the host."""
        self._catch_up(size, [history], fetch)
        stay = self._stays[history.shard]
        stats = replace(stay.stats, S=stay.stats.S.entries()) if history.has_stats else None
        return on_host(self.device, stay.memory), stats

    def ask(
        self, size: Size, counts: Counts, there: TotalElsewhere, what: str, arguments: tuple[object, ...], fetch: Fetch
    ) -> tuple[Any, None]:
        """What a method of the counts returns."""
        return getattr(self._at(counts, there, size, fetch), what)(*arguments), None

    def clear(self) -> None:
        self._shards.clear()
        self._stays.clear()
        self._model = self._total = None

    def _sum(self, size: Size, come: Sequence[TopicStats], leave: Sequence[TopicStats]) -> Change:
        total = self._zeros(size)
        total.waiting = [(stats.S, 1.0) for stats in come] + [(stats.S, -1.0) for stats in leave]
        total.settle()
        return Change(*self.device.changes(total.counts_))

    def _zeros(self, size: Size) -> DeviceWordTotal:
        none = WordTotal(np.broadcast_to(0.0, size[:2]), np.zeros(size.n_topics))
        return DeviceWordTotal.of(self.device, none, size.unit)

    def _catch_up(self, size: Size, histories: Sequence[History], fetch: Fetch, *, needs_before: bool = False) -> None:
        """Makes the visits that were not made here, in their order."""
        backend, missing = CudaTopicStep(self.step, self.device, size.unit), []
        for each in histories:
            if each.shard not in self._shards:
                rows = fetch(each.rows)
                self._shards[each.shard] = DeviceShard(rows if isinstance(rows, Shard) else rows.read(), self.device)
            numbers = [each.number, *(visit.number for visit in each.visits)]
            stay = self._stays.get(each.shard)
            made = numbers.index(stay.number) if stay is not None and stay.number in numbers else -1
            is_again = needs_before and each.has_stats and made == len(each.visits)
            if made < 0 or (is_again and stay is not None and stay.before is None):
                made, stats = 0, fetch(each.stats)
                placed = None if stats is None else backend.placed(self._shards[each.shard], stats)
                memory = on_device(self.device, fetch(each.memory))
                self._stays[each.shard] = Stay(each.number, memory, placed, None, {})
            missing += [(visit, each.shard) for visit in each.visits[made:]]
        missing.sort(key=lambda each: each[0].number)
        for i, (visit, b) in enumerate(missing):
            self.device.parking.visit += 1
            shard, last = self._shards[b], self._stays[b]
            tables = self._model_of(visit, size, fetch).tables(shard.cols)  # type: ignore[arg-type]  # on the device
            if i + 1 < len(missing):
                after = missing[i + 1][1]
                self.device.parking.prefetch([self._shards[after], *self._stays[after][1:3]])
            found = backend(shard, tables, last.memory)
            self._stays[b] = Stay(visit.number, found.memory, found.stats, last.stats, found.info)

    def _model_of(self, visit: PastVisit, size: Size, fetch: Fetch) -> TopicModel:
        if self._model is None or self._model[0] != visit.number:
            model: TopicModel = fetch(visit.model)
            there: Any = model.words.total
            total: Any = self._at(visit.counts, there, size, fetch)
            self._model = visit.number, replace(model, words=model.words.update(total))
        return self._model[1]

    def _at(self, counts: Counts, there: TotalElsewhere, size: Size, fetch: Fetch) -> DeviceWordTotal:
        token, version, total = self._total or ("", 0, None)
        self._model = None
        if token != counts.token or not 0 <= version - counts.version <= len(counts.changes) or total is None:
            self._total = total = None  # first out, then in: counts are large
            version = counts.version
            base = fetch(counts.base)
            if base is None:
                total = self._zeros(size)
            else:
                total = DeviceWordTotal.of(self.device, WordTotal(base, there.totals), size.unit)
        for more in counts.changes[version - counts.version :]:
            for change in fetch(more):
                self.device.change(total.counts_, *change)
            version += 1
        self._total = counts.token, version, total
        total.totals, total.factor = there.totals, there.factor
        total.pseudo, total.pseudo_weight = there.pseudo, there.pseudo_weight
        return total
