"""The engine of a GPU: shards, memory, tables and totals live on the device.

Counts are integers, so a fit has the same bits in every run on one kind of device. It is near what the processor
finds, not equal: sums have another order there, and counts are rounded to 2^-20 tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.cuda import measures, mixture, token_by_token, topics
from topmix.cuda.device import Device, cuda_device
from topmix.cuda.mixture import MixtureBackend
from topmix.cuda.scores import PRECISIONS
from topmix.cuda.topics import TopicBackend, on_device, on_host
from topmix.data.shard import Shards
from topmix.engines.engine import Engine, ShardResult, Workers
from topmix.engines.rounds import LocalRounds, Memo, Rounds
from topmix.local import LocalStep
from topmix.local.candidates import CandidateStep
from topmix.metrics.engine import Words
from topmix.parameters.checks import one_of, whole_number

BACKENDS: dict[type, type[TopicBackend] | type[MixtureBackend]] = {
    **topics.BACKENDS,
    **token_by_token.BACKENDS,
    **mixture.BACKENDS,
}


@dataclass(frozen=True, repr=False)
class Cuda(Engine):
    """An NVIDIA GPU, through CuPy: `pip install topmix[cuda]`. For LDA, HDP and mixtures.

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

    device: int = 0
    memory: int | None = None
    precision: str = "float32"

    def check(self) -> None:
        whole_number(self.device, "device", least=0)
        if self.memory is not None:
            whole_number(self.memory, "memory")
        one_of(self.precision, PRECISIONS, "precision")

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        if isinstance(step, CandidateStep):
            raise ValueError("engine='cuda' scores rows by all clusters: use candidates=None, or engine='threads'")
        if type(step) not in BACKENDS:
            raise ValueError(
                f"engine='cuda' cannot run {type(step).__name__}: it has LDA, HDP and mixtures; use engine='threads'"
            )
        device = self.opened()
        return CudaWorkers(shards, BACKENDS[type(step)].open(step, device, shards, self.precision, threads), device)

    def held_out(
        self, table: np.ndarray, known: Words, held: Words, alpha: np.ndarray, max_iter: int, tol: float
    ) -> np.ndarray:
        """For `metrics.completion_score(..., engine=Cuda())`."""
        with self._for_once() as device:
            return measures.held_out(device, table, known, held, alpha, max_iter, tol)

    def together(
        self, topics: Sequence[np.ndarray], n_words: int, indptr: np.ndarray, index: np.ndarray
    ) -> list[np.ndarray]:
        """For `metrics.npmi_coherence(..., engine=Cuda())`."""
        with self._for_once() as device:
            return measures.together(device, topics, n_words, indptr, index)

    @contextmanager
    def _for_once(self) -> Iterator[Device]:
        device = self.opened()
        try:
            yield device
        finally:
            device.close()

    def opened(self) -> Device:
        """The device; an error where there is none says what is missing."""
        return cuda_device(self.device, self.memory)


class CudaWorkers:
    def __init__(self, shards: Shards, backend: TopicBackend | MixtureBackend, device: Device):
        self.n_shards, self.n_rows = len(shards), shards.n_rows
        self.shards, self.device, self.backend = shards, device, backend
        self._shards: dict[int, Any] = {}
        self._memory: dict[int, Any] = {}
        self._memo: Memo = {}

    def run(self, tables: Callable[[np.ndarray], Any], shards: Iterable[int]) -> Iterator[ShardResult]:
        for b in shards:
            self.device.parking.visit += 1
            shard = self._shard(b)
            of_shard = tables(shard.cols)
            after = (b + 1) % self.n_shards
            of_memo = getattr(self._memo.get(after), "S", None)
            self.device.parking.ask_ahead([self._shards.get(after), self._memory.get(after), of_memo])
            stats, memory, info = self.backend(shard, of_shard, self._memory.get(b))  # type: ignore[operator]
            if memory is not None:
                self._memory[b] = memory
            yield ShardResult(b, stats, info)

    def _shard(self, b: int) -> Any:
        if b not in self._shards:
            self._shards[b] = self.backend.shard(self.shards, b)
            if len(self._shards) == self.n_shards:
                self.backend.close()
        return self._shards[b]

    def place(self, model: Any) -> Any:
        return self.backend.place(model)

    def rounds(self, memo: Memo) -> Rounds:
        """Statistics that come from a checkpoint are on the host, and go to the device."""
        for b, stats in memo.items():
            memo[b] = self.backend.placed(self._shard(b), stats)
        self._memo = memo
        return LocalRounds(self, memo)

    def recall(self) -> dict[int, Any]:
        return {b: on_host(self.device, memory) for b, memory in self._memory.items()}

    def restore(self, memory: Mapping[int, Any]) -> None:
        self._memory = {b: on_device(self.device, each) for b, each in memory.items()}

    def forget(self) -> None:
        self._memory = {}

    def close(self) -> None:
        self._memory, self._shards, self._memo = {}, {}, {}
        self.backend.close()
        self.device.close()
