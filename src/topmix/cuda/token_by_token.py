"""CVB0 and SCVB0 on the device: the CUDA backends of local/cvb0.py and local/scvb0.py. A warp has a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.cuda.device import Device
from topmix.cuda.shard import DeviceShard
from topmix.cuda.solve import SUMS, check_options, document_sums, first_selection
from topmix.cuda.topics import TopicBackend
from topmix.cuda.word_stats import DeviceWordStats
from topmix.local import StepResult
from topmix.local.cvb0 import CVB0Step
from topmix.local.scvb0 import SCVB0Step
from topmix.local.topics import Visit
from topmix.models.topics import TopicTables
from topmix.stats import TopicStats

WARPS = 4  # of a block, at most: see kernels/tokens.hpp


@dataclass(frozen=True)
class TokenBackend(TopicBackend):
    """What both share: the launch, and what it leaves behind."""

    def launch(
        self, kernel: str, shard: DeviceShard, tables: TopicTables, floats: int, given: dict[str, Any]
    ) -> tuple[TopicStats, DeviceWordStats, int]:
        """`floats` of shared memory for each topic, besides its weight. Returns statistics, and the words' part."""
        check_options(tables)
        device, prior, table = self.device, tables.prior, tables.words.table
        K, L, n = table.shape[1], tables.documents.L(table.shape[1]), shard.n_entries
        chunk = (-(-K // 32)) | 1
        each = 4 * (floats * (K + K % 2) + 32 * chunk)
        warps = _warps(device, each, K)
        memo = device.empty((L, n), np.uint16), device.empty((L, n), np.uint32), device.empty(n, np.uint8)
        sums, taken = device.zeros(SUMS + 3 * K, np.int64), device.zeros(1, np.int32)
        given |= dict(zip(("memo_topic", "memo_share", "memo_n"), memo))
        given |= {
            "indptr": shard.indptr,
            "index": shard.index,
            "value": shard.value,
            "rows": shard.rows,
            "next": taken,
            "table": table,
            "log_scale": tables.words.log_scale,
            "alpha": device.mirror(prior.alpha, (prior.alpha, np.float64))[0],
            "topic_sums": sums[SUMS:],
            "sums": sums,
            "n_entries": n,
            "alpha_total": float(prior.alpha.sum()),
            "unit": self.unit,
            "least": tables.words.least,
            "n_rows": shard.n_rows,
            "K": K,
            "chunk": chunk,
            "learns_alpha": int(prior.learned),
        }
        if shard.n_rows:
            fit = max(1, device.shared_per_processor // (warps * each + 1024))
            blocks = min(min(fit, 64 // warps) * device.n_processors, -(-shard.n_rows // warps))
            device.launch(kernel, "TokenArgs", blocks, 32 * warps, given, L=L, shared=warps * each)
        found = device.get(sums)
        of_documents, totals = document_sums(found, shard.n_rows, K, self.unit)
        words = DeviceWordStats(shard, *memo, totals)
        stats = prior.stats(words, of_documents, int(found[1]) / 2.0**24)  # type: ignore[union-attr]
        return stats, words, int(found[0])


@dataclass(frozen=True)
class CudaCVB0Step(TokenBackend):
    """What words hold of an entry is what the last visit reported of it: nothing else is remembered."""

    step: CVB0Step

    def __call__(self, shard: DeviceShard, tables: TopicTables, memory: DeviceWordStats | None) -> StepResult:
        table = tables.words.table
        given: dict[str, Any] = {"burn_in": self.step.burn_in}
        if memory is None:
            given |= first_selection(self.device, table, tables.documents.L(table.shape[1]))
        else:
            given |= memory.kernel_arguments("last")
            given["norm"] = self.device.array(tables.words.norm, np.float32)
        stats, words, sweeps = self.launch("cvb0_documents", shard, tables, 2, given)
        return StepResult(stats, words, {"iterations": float(sweeps)})


@dataclass(frozen=True)
class CudaSCVB0Step(TokenBackend):
    step: SCVB0Step

    def __call__(self, shard: DeviceShard, tables: TopicTables, memory: Visit | None) -> StepResult:
        step, visits = self.step, memory.times if memory else 0
        given = {
            "order": self.device.empty(shard.n_entries, np.int32),
            "scale": step.scale,
            "offset": step.offset,
            "decay": step.decay,
            "burn_in": step.burn_in,
            "seed": step.seed,
            "visit": visits,
        }
        stats, _, updates = self.launch("scvb0_documents", shard, tables, 3, given)
        return StepResult(stats, Visit(visits + 1), {"updates": float(updates)})


def _warps(device: Device, each: int, K: int) -> int:
    """Of a block: as many as have room for K topics, a power of two."""
    if each > device.shared_per_block:
        most = K * device.shared_per_block // each
        raise ValueError(
            f"engine='cuda' runs CVB0 and SCVB0 with about {most} topics at most on this device, and there are {K}: "
            "use fewer, inference='collapsed', or engine='threads'"
        )
    warps = WARPS
    while warps * each > device.shared_per_block:
        warps //= 2
    return warps


BACKENDS: dict[type, type[TopicBackend]] = {CVB0Step: CudaCVB0Step, SCVB0Step: CudaSCVB0Step}
