"""What a fit on a cluster costs in messages and memory, for people who watch it."""

from __future__ import annotations

import time
from typing import NamedTuple

from topmix.engines.ray_actor import Report
from topmix.engines.ray_pool import Pool


class Sizes(NamedTuple):
    """Bytes, since the workers were opened."""

    sent: int  # tables, from the driver to workers
    received: int  # sums, from workers to the driver
    added: int  # from worker to worker, on the way to a sum
    copied: int  # what shards remember, to another node


class Traffic:
    def __init__(self, pool: Pool, n_rows: float):
        self.pool, self.n_rows = pool, n_rows
        self.sent = self.received = self.added = self.copied = 0
        self.n_visits, self.busy_seconds, self.began = 0, 0.0, time.monotonic()

    def visited(self, report: Report) -> None:
        self.n_visits += 1
        self.busy_seconds += report.seconds

    def sizes(self) -> Sizes:
        return Sizes(self.sent, self.received, self.added, self.copied)
