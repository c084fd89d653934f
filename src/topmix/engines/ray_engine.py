"""Workers on the nodes of a Ray cluster. Placement and messages are Ray's; it is imported when workers are opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from topmix.base.checks import needed, positive_number, whole_number, whole_number_or_none
from topmix.corpus.shard import Shards
from topmix.engines.cuda import Cuda
from topmix.engines.engine import Engine, Workers
from topmix.steps import LocalStep

if TYPE_CHECKING:
    from topmix.engines.ray_blocks import BlockWorkers
    from topmix.engines.ray_pool import Pool


@dataclass(frozen=True, repr=False)
class Ray(Engine):
    """Workers on the nodes of a Ray cluster, or on this machine where there is none. The same bits as `Threads`.

    Workers share the batches of a round: give `Memoized` at least as many `batches_per_update` as there are workers.
    They stay for the next call and end with the program, or when an engine with other settings starts its own;
    `release` ends them now.

    Parameters
    ----------
    address : str or None
        The cluster: "auto" or "host:port", from a node of it, or "local" for a new one on this machine. None uses the
        cluster that this process is connected to, that RAY_ADDRESS names or that runs here, and else starts one. A new
        one listens on the loopback address alone, and has no dashboard.
    workers : int or None
        The most workers that there may be, spread over the nodes: those without room wait for a node that joins. None
        takes as many as fit, also on nodes that join during a fit.
    cpus_per_worker : int
        Cores of each worker, which its kernels use; `n_jobs` is for the process that calls.
    gpus_per_worker : int
        0, or 1: each worker computes on a GPU of its own. It needs CuPy on the nodes, and runs LDA and HDP. Results
        differ from those of `Threads` by rounding, and are the same bits for any number of workers.
    copies : int
        Copies on other nodes of what each batch remembers, 0 or 1. With 1 the fit goes on when a node is lost; with 0
        fewer bytes travel, and a lost node ends the fit.
    start_seconds : float
        Seconds to wait for the first worker, and for one to come back when all are lost. Machines that an autoscaler
        starts may need minutes; the fit begins with the first of them, and others join it as they come.

    Examples
    --------
    >>> from topmix.engines import Ray
    >>> Ray(address="auto", workers=8)
    Ray(address='auto', workers=8)
    """

    maps_files = False
    is_cluster = True
    may_travel = True

    address: str | None = None
    workers: int | None = None
    cpus_per_worker: int = 1
    gpus_per_worker: int = 0
    copies: int = 1
    start_seconds: float = 120.0

    def check(self) -> None:
        if self.address is not None and not isinstance(self.address, str):
            raise ValueError(f"address must be None or a string, got {self.address!r}")
        whole_number_or_none(self.workers, "workers")
        whole_number(self.cpus_per_worker, "cpus_per_worker")
        whole_number(self.gpus_per_worker, "gpus_per_worker", least=0)
        if self.gpus_per_worker > 1:
            raise ValueError(f"gpus_per_worker must be 0 or 1, got {self.gpus_per_worker}: use more workers")
        positive_number(self.start_seconds, "start_seconds")
        if whole_number(self.copies, "copies", least=0) > 1:
            raise ValueError(f"copies must be 0 or 1, got {self.copies}")

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        if self.gpus_per_worker:
            from topmix.cuda.hosted import HostedStep

            step = HostedStep(step, Cuda())  # Ray shows each worker its own GPU alone
        pool = self._pool()
        from topmix.engines.ray_workers import RayWorkers

        return RayWorkers(shards, step, pool, self.cpus_per_worker, self.copies)

    def of_processors(self) -> Ray:
        return replace(self, gpus_per_worker=0)

    def for_blocks(self, n_rows: float) -> BlockWorkers:
        if self.gpus_per_worker:
            raise ValueError("learner='asynchronous' has no workers that compute on GPUs: use gpus_per_worker=0")
        pool = self._pool()
        from topmix.engines.ray_blocks import BlockWorkers

        return BlockWorkers(pool, self.cpus_per_worker, n_rows)

    def _pool(self) -> Pool:
        with needed("engine='ray'", "Ray", "ray"):
            import ray  # noqa: F401
        from topmix.engines.ray_pool import pool_of

        return pool_of(self)

    def release(self) -> None:
        """Ends the workers of an engine with these settings, if there are any, so that others can use their cores."""
        import ray

        from topmix.engines.ray_pool import _pools

        for key in [key for key in _pools if key[1] == self]:
            pool = _pools.pop(key)
            if ray.is_initialized() and ray.get_runtime_context().get_job_id() == key[0]:
                pool.end()
