"""The part of an actor that blocks visit: messages of other processes, and who they are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import ray

from topmix.data.shard import SavedShard
from topmix.engines.nomad_ledger import LostWorker, Offer
from topmix.engines.ray_nomad import News, Nomad, Run, Station

GROUP = "nomads"  # of an actor's threads: those that take messages

Method = TypeVar("Method", bound=Callable[..., Any])


def message(method: Method) -> Method:
    """A method that other processes call while the actor computes: it has threads of its own."""
    marked: Method = ray.method(concurrency_group=GROUP)(method)
    return marked


class NomadHost:
    """The part of an actor that blocks visit."""

    def __init__(self) -> None:
        self.stations: dict[str, Station] = {}
        self.nomads: dict[str, Nomad] = {}

    @message
    def nomad_open(self, session: str, make: Callable[[Any, int], Station], rows: list[Any], threads: int) -> None:
        found = ray.get(rows[0])
        self.stations[session] = make(found.read() if isinstance(found, SavedShard) else found, threads)

    @message
    def nomad_start(self, session: str, run: Run, number: int, actors: list[Any]) -> None:
        if session not in self.stations:
            raise LostWorker("a worker was started again, and knows nothing of this fit")
        self._end(session)
        self.nomads[session] = Nomad(session, run, number, actors, self.stations[session])

    @message
    def nomad_offer(self, session: str, run: int, *offers: Offer) -> None:
        if nomad := self._found(session, run):
            nomad.offer(*offers)

    @message
    def nomad_fetched(self, session: str, run: int, block: int, visit: int) -> None:
        if nomad := self._found(session, run):
            nomad.fetched(block, visit)

    @message
    def nomad_allow(self, session: str, run: int, rounds: int) -> None:
        if nomad := self._found(session, run):
            nomad.allow(rounds)

    @message
    def nomad_collect(self, session: str, run: int, seconds: float) -> News:
        nomad = self._found(session, run)
        if nomad is None:
            raise LostWorker("a worker was started again, and knows nothing of this fit")
        return nomad.collect(seconds)

    @message
    def nomad_ledger(self, session: str, run: int) -> tuple[dict[int, int], dict[int, int]]:
        nomad = self._found(session, run)
        return (nomad.ledger.received, nomad.ledger.sent) if nomad else ({}, {})

    @message
    def nomad_close(self, session: str) -> None:
        self._end(session)
        self.stations.pop(session, None)

    def _found(self, session: str, run: int) -> Nomad | None:
        """None for messages of a run that has ended."""
        nomad = self.nomads.get(session)
        return nomad if nomad is not None and nomad.run.number == run else None

    def _end(self, session: str) -> None:
        if nomad := self.nomads.pop(session, None):
            nomad.stop()
