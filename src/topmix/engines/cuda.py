"""The engine of a GPU: shards, memory, tables and totals live on the device.

Counts are integers, so a fit has the same bits in every run on one kind of device. It is near what the processor
finds, not equal: sums have another order there, and counts are rounded to 2^-20 tokens. Workers are imported when they
are opened: most people have no such device.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topmix.base.checks import one_of, whole_number
from topmix.corpus.shard import Shards
from topmix.engines.engine import Engine, Workers
from topmix.engines.local import Threads
from topmix.steps import LocalStep
from topmix.steps.rows import CandidateStep

if TYPE_CHECKING:
    from topmix.cuda.device import Device


@dataclass(frozen=True, repr=False)
class Cuda(Engine):
    """An NVIDIA GPU, through CuPy: `pip install topmix[cuda]`. For LDA, HDP, mixtures and admixtures.

    Parameters
    ----------
    device : int
        Which GPU, counted from 0.
    memory : int or None
        Bytes of its memory to use at most. None is all of it. Data that does not fit waits on the host.
    precision : {"float32", "tf32"}
        Of the products of matrices that mixtures are scored with, where the model asks for float32. "tf32" has eleven
        bits instead of 22 and is faster. Topics have no such products.

    Examples
    --------
    >>> from topmix import LDA
    >>> from topmix.engines import Cuda
    >>> LDA(engine=Cuda(device=1)).engine
    Cuda(device=1)
    """

    maps_files = False
    on_device = True
    most_fits = 4  # while one computes on the device, others have work on the processor

    device: int = 0
    memory: int | None = None
    precision: str = "float32"

    def check(self) -> None:
        whole_number(self.device, "device", least=0)
        if self.memory is not None:
            whole_number(self.memory, "memory")
        one_of(self.precision, ("float32", "tf32"), "precision")

    def of_processors(self) -> Threads:
        return Threads()

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        from topmix.engines.cuda_workers import BACKENDS, CudaWorkers

        if type(step) is CandidateStep:
            raise ValueError("engine='cuda' scores rows by all clusters: use candidates=None, or engine='threads'")
        if type(step) not in BACKENDS:
            raise ValueError(
                f"engine='cuda' cannot run {type(step).__name__}: it has LDA and HDP with inference='collapsed' or "
                "'variational', mixtures and admixtures; use engine='threads'"
            )
        device = self.opened()
        return CudaWorkers(shards, BACKENDS[type(step)].open(step, device, shards, self.precision, threads), device)

    def own_stream(self, number: int, of: int) -> AbstractContextManager[None]:
        from topmix.cuda.device import own_stream

        return own_stream(self.device, number, of)

    def opened(self) -> Device:
        """The device; an error where there is none says what is missing."""
        from topmix.cuda.device import cuda_device

        return cuda_device(self.device, self.memory)
