"""What a fit on a cluster costs in messages and memory, for people who watch it."""

from __future__ import annotations

import time

import ray

from topmix.engines.ray_actor import Report
from topmix.engines.ray_pool import LOG, Pool

PATIENCE = 2.0  # seconds to wait for what Ray says of its object stores


class Traffic:
    """Bytes of messages and seconds of work, added up by whoever sends and receives."""

    def __init__(self, pool: Pool, n_rows: float):
        self.pool, self.n_rows = pool, n_rows
        self.sent = 0  # tables, from the driver to workers
        self.received = 0  # sums, from workers to the driver
        self.added = 0  # from worker to worker, on the way to a sum
        self.copied = 0  # what shards remember, to another node
        self.busy = 0.0  # seconds of visits
        self.processor = 0.0  # the same in processor time, which other programs do not change
        self._since, self._before = time.monotonic(), self._totals()
        self._spilled, self._looked = spilled_bytes(), time.monotonic()

    def visited(self, report: Report) -> None:
        self.busy += report.seconds
        self.processor += report.processor

    def status(self) -> dict[str, float]:
        """Of the time since it was last asked: a pass."""
        now, totals = time.monotonic(), self._totals()
        took = max(now - self._since, 1e-9)
        spent = {name: totals[name] - self._before[name] for name in totals}
        self._since, self._before = now, totals
        alive = self.pool.alive()
        return {
            "workers": float(len(alive)),
            "rows_per_second": self.n_rows / took,
            "worker_bytes": float(max((peer.resident for peer in alive), default=0)),
            "busy": spent.pop("busy") / (took * max(len(alive), 1)),
            **spent,
        }

    def _totals(self) -> dict[str, float]:
        names = ("sent", "received", "added", "copied", "busy", "processor")
        return {name: float(getattr(self, name)) for name in names}

    def look_at_disks(self, at_least: float = 10.0) -> None:
        """Says so when object stores were full and Ray has moved objects to disk; it fetches them when they are used.
        Looks no more than once in so many seconds, and not while a worker is late: Ray would wait for it."""
        if time.monotonic() - self._looked < at_least or any(peer.is_late for peer in self.pool.peers):
            return
        spilled, self._looked = spilled_bytes(), time.monotonic()
        if spilled is None:
            return
        if self._spilled is not None and spilled > self._spilled:
            megabytes = (spilled - self._spilled) / 1e6
            LOG.warning("object stores were full: %.0f MB went to disk, and the fit goes on", megabytes)
        self._spilled = spilled


def spilled_bytes() -> int | None:
    """Bytes that Ray has moved from full object stores to disk so far; None where it does not say."""
    try:
        from ray._private.internal_api import get_memory_info_reply, get_state_from_address

        reply = get_memory_info_reply(
            get_state_from_address(ray.get_runtime_context().gcs_address), timeout_seconds=PATIENCE
        )
        return int(reply.store_stats.spilled_bytes_total)
    except Exception:  # not part of Ray's interface: whatever it raises, a fit does not depend on it
        return None
