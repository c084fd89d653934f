"""Sweeps of Gibbs sampling on the device: the CUDA backend of the parallel sampler."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from topmix.cuda.device import Device
from topmix.cuda.warps import PRIOR_BLOCK, WARPS, warps_that_sample


class DeviceTokens:
    """Tokens of documents, their topics and their counts, on the device."""

    def __init__(self, device: Device, indptr: np.ndarray, index: np.ndarray, value: np.ndarray, V: int, K: int):
        self.device, self.V, self.K = device, V, K
        counts = value.astype(np.int64)
        first = np.concatenate([[0], np.cumsum(counts)])[indptr]
        self.lengths = np.diff(first)
        self.first = device.array(first, np.int64)
        self.word = device.array(np.repeat(index, counts), np.int32)
        self.z = device.zeros(int(first[-1]), np.uint16)
        self.counts, self.total = device.zeros((V, K), np.int64), device.zeros(K, np.int64)
        self._e: Any = None
        self._rows: dict[tuple[int, int], Any] = {}

    def start(self, z: np.ndarray, counts: np.ndarray, total: np.ndarray) -> None:
        device = self.device
        self.z = device.array(z, np.uint16)
        self.counts, self.total = device.array(counts, np.int64), device.array(total, np.int64)

    def sweep(
        self, bounds: list[int], alpha: np.ndarray, eta: np.ndarray, eta_totals: np.ndarray, seed: int, sweep: int
    ) -> float:
        """Draws every token once, the documents between two bounds at a time. Returns the documents' part of
        log p(w, z), less what depends on their lengths alone. Nothing is waited for before the end."""
        device, K, V = self.device, self.K, self.V
        blocks, parts = -(-K // PRIOR_BLOCK), [(a, b) for a, b in pairwise(bounds) if b > a]
        if self._e is None:
            self._e, self._mass = device.empty((V, K), np.float32), device.empty((V, blocks), np.float32)
        most = min(K, int(self.lengths.max(initial=1)))
        per_processor, shared = warps_that_sample(device, most)
        sums, taken = device.zeros(1, np.int64), device.zeros(len(parts), np.int32)
        totals = [self.total, *device.zeros((len(parts), K), np.int64)]
        given = {
            "first": self.first,
            "word": self.word,
            "z": self.z,
            "counts": self.counts,
            "eta_total": device.array(eta_totals, np.float64),
            "eta": device.mirror(eta, (eta, np.float64))[0],
            "e": self._e,
            "mass": self._mass,
            "alpha": device.array(alpha, np.float32),
            "inverse": device.empty(K, np.float32),
            "sums": sums,
            "seed": seed,
            "sweep": sweep,
            "least": float(eta.min()),
            "word_step": eta.shape[1] if len(eta) > 1 else 0,
            "topic_step": int(eta.shape[1] > 1),
            "n_words": V,
            "K": K,
            "most": most,
            "blocks": blocks,
        }
        for i, (begin, end) in enumerate(parts):
            given |= {"rows": self._rows_of(begin, end), "n_rows": end - begin, "next": taken[i:]}
            given |= {"total": totals[i], "next_total": totals[i + 1]}
            for_sums = 16 * (blocks // 4 + 2)  # bytes; reads go by four
            device.launch("gibbs_table", "GibbsArgs", min(V, 64 * device.n_processors), 128, given, shared=for_sums)
            n = min(per_processor * device.n_processors, -(-(end - begin) // WARPS))
            device.launch("gibbs_sample", "GibbsArgs", n, 32 * WARPS, given, shared=shared)
            device.launch("column_sums", "GibbsArgs", min(V, 4 * device.n_processors), 256, given)
        self.total = totals[-1]
        return float(device.get(sums)[0]) / 2.0**24

    def _rows_of(self, begin: int, end: int) -> Any:
        """Documents, longest first."""
        if (begin, end) not in self._rows:
            order = begin + np.argsort(-self.lengths[begin:end], kind="stable")
            self._rows[begin, end] = self.device.array(order, np.int32)
        return self._rows[begin, end]

    def log_gammas(self, eta: np.ndarray) -> float:
        """sum_vk log Gamma(n_vk + eta_vk)"""
        device = self.device
        blocks = device.blocks_of_a_sum
        partial = device.empty(blocks, np.float64)
        given = {
            "counts": self.counts,
            "eta": device.mirror(eta, (eta, np.float64))[0],
            "word_step": eta.shape[1] if len(eta) > 1 else 0,
            "topic_step": int(eta.shape[1] > 1),
            "factor": 1.0,
            "n_words": self.V,
            "K": self.K,
            "partial": partial,
            "function": 1,
        }
        device.launch("sum_of_words", "TableArgs", blocks, 128, given)
        return float(device.get(partial).sum())
