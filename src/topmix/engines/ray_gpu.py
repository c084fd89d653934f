"""The driver's side of workers with GPUs, where shards stay on the device between updates: rows, what is remembered of
them, and their last statistics.

For each update a worker gets a model without its counts and what other rounds have changed in these, and it returns one
sum: what its shards change. Where everything comes from is a history (cuda/staying.py), which the driver keeps. So a
worker that is lost, late or told to go costs visits that are made again, and never the fit. Now and then shards are
saved, with a copy on another node as for all workers, and their histories begin there.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import ray
from ray import ObjectRef
from ray.exceptions import ObjectLostError

from topmix.allocations.covariate_prior import CovariatePrior
from topmix.allocations.document_prior import DocumentPrior
from topmix.cuda.hosted import HostedStep
from topmix.cuda.shared_total import Change, Counts, RoundWords, SharedTotal
from topmix.cuda.staying import History, PastVisit, Size
from topmix.cuda.topics import unit_of
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards
from topmix.engines.engine import M, Memory, Tables
from topmix.engines.ray_actor import n_bytes
from topmix.engines.ray_calls import Answer, LostData, LostForGood
from topmix.engines.ray_pool import LOG, Peer, Pool
from topmix.engines.ray_workers import ATTEMPTS, RayRounds, RayWorkers, Visited
from topmix.engines.rounds import Memo, Round
from topmix.local import Info, add_info
from topmix.local.topics import TopicStep
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats
from topmix.stats.tree import tree_sum

MOST_ROUNDS = 64  # in a history, before shards are saved
MOST_MODELS = 8.0  # the same in bytes: times those of a model's counts


class RayGpuWorkers(RayWorkers):
    def __init__(self, shards: Shards, step: HostedStep, pool: Pool, threads: int, copies: int):
        super().__init__(shards, step, pool, threads, copies)
        self.step = step.step
        self.size: Size | None = None  # of a model whose counts stay; None: everything travels
        self.memo = StayingMemo(self)
        self._visits: dict[int, tuple[PastVisit, ...]] = {}  # since a shard was saved
        self._saved: dict[int, int] = {}  # after which round
        self._n_rounds = self._n_bytes = self._n_since = 0

    def place(self, model: M) -> M:
        """As `TopicBackend.place`; what it refuses has tables and statistics on the host, and so has HDP."""
        self.size = None
        if type(self.step) is not TopicStep or self.step.cold_start is not None or not isinstance(model, TopicModel):
            return model
        if model.words.held is not None or not isinstance(model.prior, DocumentPrior | CovariatePrior):
            return model
        total, corpus = model.words.total, self.shards.corpus
        if not isinstance(total, SharedTotal):
            assert isinstance(corpus, Corpus)
            total = SharedTotal.like(total, unit_of(float(np.max(corpus.value, initial=0.0))), self.ask)
            model = replace(model, words=model.words.update(total))
        self.size = Size(*total.shape, total.unit)
        return model

    def rounds(self, memo: Memo) -> RayRounds | StayingRounds:  # type: ignore[override]
        return super().rounds(memo) if self.size is None else StayingRounds(self, memo)

    # What is remembered, where others ask for it: it is saved first.

    def recall(self) -> dict[int, Memory]:
        self.save(self._visits)
        return super().recall()

    def restore(self, memory: Mapping[int, Memory]) -> None:
        self.save(self._visits)
        super().restore(memory)
        self._start_histories()

    def forget(self) -> None:
        self.save(self._visits)
        super().forget()
        self._start_histories()

    def close(self) -> None:
        super().close()
        self._visits, self.memo = {}, StayingMemo(self)

    def _start_histories(self) -> None:
        """At what the driver has: nobody else has it."""
        self._n_rounds += 1
        self._saved = dict.fromkeys(range(self.n_shards), self._n_rounds)

    def changed(self, b: int) -> None:
        """The same for one shard."""
        self._n_rounds += 1
        self._saved[b] = self._n_rounds

    def history(self, b: int, *now: PastVisit) -> History:
        return History(
            b,
            self._message(b)[0],
            self._memory.get(b),
            self.memo.refs.get(b),
            self._saved.get(b, 0),
            (*self._visits.get(b, ()), *now),
            b in self.memo.small,
        )

    def find_homes(self, shards: Sequence[int], *, together: bool) -> None:
        """Those that move are saved where they were."""
        before = {b: self._home[b] for b in shards if self._visits.get(b)}
        super().find_homes(shards, together=together)
        self.save([b for b, peer in before.items() if peer is not self._home[b] and peer.is_alive], before)

    def save(self, shards: Collection[int], homes: Mapping[int, Peer] | None = None) -> None:
        """What these shards remember and their statistics go to the object store, and their histories begin there."""
        todo = [b for b in shards if self._visits.get(b)]
        for left in range(ATTEMPTS, 0, -1):
            try:
                answers = self._save(todo, homes or self._home) if todo else {}
            except LostData as lost:
                self._lost(lost, left)
            else:
                break
        for b, answer in answers.items():
            memory, stats, report = answer.refs[0], answer.refs[1], answer.last
            self._saved[b], self._visits[b] = self._visits[b][-1].number, ()
            self.traffic.visited(report)
            self._memory[b] = memory
            if b in self.memo.small:
                self.memo.refs[b] = stats

    def _save(self, todo: Sequence[int], homes: Mapping[int, Peer]) -> dict[int, Answer]:
        saved, copying = dict[int, Answer](), set[int]()
        for b in todo:
            args, home = (self.opening, "save", self.size, self.history(b)), homes[b]
            peer = home if home.is_alive and not home.is_late else self.calls.best()  # also one that is about to go
            self.calls.ask(("save", b), peer, "on_device", *args, n_returns=3)
        while len(saved) < len(todo) or copying:
            for answer in self.calls.answers():
                what, b = answer.key
                if what == "save":
                    saved[b] = answer
                    visited = Visited(b, None, answer.refs[0], answer.last, answer.peer)
                    if self.copy(visited, *answer.refs[: 1 + (b in self.memo.small)]):
                        copying.add(b)
                elif what == "copy":
                    copying.discard(b)
        return saved

    def _lost(self, error: Exception, left: int) -> None:
        self.calls.drop()
        if left == 1:
            raise LostForGood(error) from error
        LOG.warning("results were lost with their node: %s; shards are visited again from what is left", error)

    def counts_of(self, total: SharedTotal) -> Counts:
        """How workers come by the counts of a total."""
        counts = total.counts_
        if counts is None:
            counts = Counts(secrets.token_hex(8), 0, self._put(total.raw), ())
        elif len(counts.changes) and self._n_since == 0:  # all shards were saved: nobody needs what was before
            version = counts.version + len(counts.changes)
            counts = Counts(counts.token, version, self._put(total.raw), ())
        total.counts_ = counts
        return counts

    def _put(self, value: Any) -> ObjectRef:
        self._n_bytes += n_bytes(value)
        return ray.put(value)

    def visit(self, tables: Tables, shards: Sequence[int], *, keeps: bool) -> tuple[TopicStats, Info]:
        """What a round changes in a total, besides what it had of these shards' documents."""
        assert self.size is not None
        self.calls.drop()  # what is left of an iteration that was given up
        if self._n_since >= MOST_ROUNDS or self._n_bytes > MOST_MODELS * 8 * self.size.n_words * self.size.n_topics:
            self.save(self._visits)
            self._n_since = self._n_bytes = 0
        self.find_homes(shards, together=True)
        self.traffic.look_at_disks()
        model = getattr(tables, "__self__")  # noqa: B009  (learners give a method of their model)
        total: Any = model.words.total
        there: Any = total.elsewhere()
        self._n_rounds += 1
        past = PastVisit(
            self._n_rounds, ray.put(replace(model, words=model.words.update(there))), self.counts_of(total)
        )
        self._n_since += 1
        changes, found = self._asked("visit", [self.history(b, past) for b in shards], keeps)
        for b in shards:
            self._visits[b] = (*self._visits.get(b, ()), past)
        stats = {b: stats for b, (stats, _) in found.items()}
        info = Info()
        for b in shards:
            add_info(info, found[b][1])
        if keeps:
            self.memo.small |= stats
        self.let_go()
        return self._round(tree_sum(stats[b] for b in shards), changes), info

    def sum(self, shards: Sequence[int]) -> TopicStats:
        changes, _ = self._asked("sum", [self.history(b) for b in shards])
        return self._round(tree_sum(self.memo.small[b] for b in shards), changes)

    def ask(self, total: SharedTotal, what: str, *arguments: object) -> Any:
        """A worker about its counts."""
        assert self.size is not None
        self.calls.drop()
        counts, there = self.counts_of(total), total.elsewhere()
        for left in range(ATTEMPTS, 0, -1):
            try:
                peer = self.calls.best(self._home.get(0))
                args = self.opening, "ask", self.size, counts, there, what, arguments
                self.calls.ask(("ask", what), peer, "on_device", *args, n_returns=3)
                while not (answers := [each for each in self.calls.answers() if each.key[0] == "ask"]):
                    pass
                self.traffic.sent += answers[0].last.fetched
                return ray.get(answers[0].refs[0])
            except (LostData, ObjectLostError) as lost:
                self._lost(lost, left)
        raise AssertionError("unreachable")

    def _round(self, stats: TopicStats, changes: tuple[Change, ...]) -> TopicStats:
        return replace(stats, S=RoundWords(stats.S.totals, changes, self._put(changes)))

    def _asked(self, what: str, histories: Sequence[History], *settings: object) -> tuple[tuple[Change, ...], Any]:
        """Workers are asked for their own shards, all at once."""
        for left in range(ATTEMPTS, 0, -1):
            try:
                return self._attempt(what, histories, *settings)
            except (LostData, ObjectLostError) as lost:
                self._lost(lost, left)
        raise AssertionError("unreachable")

    def _attempt(self, what: str, histories: Sequence[History], *settings: object) -> tuple[tuple[Change, ...], Any]:
        whose, changes, found = defaultdict[Peer, list[History]](list), [], dict[int, Any]()
        copying = self._copy_again(but=set())
        for history in histories:
            whose[self.calls.best(self._home.get(history.shard))].append(history)
        for peer, mine in whose.items():
            self.calls.ask(
                (what, peer.number), peer, "on_device", self.opening, what, self.size, mine, *settings, n_returns=3
            )
        by_number = {peer.number: mine for peer, mine in whose.items()}
        waiting = set(by_number)
        while waiting or copying:
            for answer in self.calls.answers():
                key, n = answer.key
                if key == "copy":
                    copying.discard(n)
                    continue
                waiting.discard(n)
                change, more = ray.get(list(answer.refs[:2]))
                changes.append(change)
                report, peer = answer.last, answer.peer
                peer.resident, peer.place = report.resident, report.place
                self.calls.took(report.seconds)
                self.traffic.visited(report)
                self.traffic.sent += report.fetched
                self.traffic.received += report.memory_bytes + report.stats_bytes
                for i, history in enumerate(by_number[n]):
                    if more is not None:
                        found[history.shard] = more[i]
                    if self._home.get(history.shard) is not peer:
                        self.move(history.shard, peer)
        return tuple(changes), found


class StayingMemo(MutableMapping[int, Any]):
    """The last statistics of shards that stay on devices. `small` is what the driver has of them."""

    def __init__(self, workers: RayGpuWorkers):
        self.workers, self.small = workers, dict[int, TopicStats]()
        self.refs: dict[int, ObjectRef] = {}  # of those that were saved

    def __contains__(self, b: object) -> bool:
        return b in self.small

    def __getitem__(self, b: int) -> TopicStats:
        if b not in self.small:
            raise KeyError(b)
        self.workers.save([b])
        found: TopicStats = ray.get(self.refs[b])
        return found

    def __setitem__(self, b: int, stats: TopicStats) -> None:
        self.workers.save([b])
        self.workers.changed(b)
        self.refs[b], self.small[b] = ray.put(stats), replace(stats, S=RoundWords(stats.S.totals))

    def __delitem__(self, b: int) -> None:
        del self.small[b]
        self.refs.pop(b, None)

    def clear(self) -> None:
        self.small.clear()
        self.refs.clear()

    def __iter__(self) -> Iterator[int]:
        return iter(self.small)

    def __len__(self) -> int:
        return len(self.small)


class StayingRounds:
    def __init__(self, workers: RayGpuWorkers, memo: Memo):
        self.workers, self.memo = workers, workers.memo
        if memo is not self.memo:
            self.memo.clear()
            self.memo.update(memo)

    def visit(self, tables: Tables, shards: Sequence[int]) -> Round:
        known = [self.memo.small[b] for b in shards if b in self.memo.small]
        old = tree_sum(known) if known else None
        new, info = self.workers.visit(tables, shards, keeps=True)
        return Round(new, old, info)

    def visit_once(self, tables: Tables, shards: Sequence[int]) -> tuple[TopicStats, Info]:
        return self.workers.visit(tables, shards, keeps=False)

    def remembered(self, shards: Sequence[int]) -> TopicStats | None:
        known = [b for b in shards if b in self.memo.small]
        return self.workers.sum(known) if known else None
