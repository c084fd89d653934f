"""Tokens that are sampled on the device: Gibbs sweeps over all documents, and the documents of a shard, whose tokens a
warp draws again.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from topmix.cuda.device import Device, DeviceArray, Given, Spillable
from topmix.cuda.shard import DeviceDocs, DeviceShard, DeviceTokenList
from topmix.cuda.solve import DeviceOwnPriors, Solved, document_sums, over_documents
from topmix.cuda.words import DeviceTokenStats, DeviceWordTotal
from topmix.models.topics import Sampling, TopicTables

PRIOR_BLOCK = 32  # topics to a running sum of the prior's part
WARPS = 8  # per block


def warps_that_sample(device: Device, most: int) -> tuple[int, int]:
    """Blocks per processor, and bytes of shared memory for each, where documents have at most so many topics."""
    shared = 4 * 2 * WARPS * most
    if shared > device.shared_per_block:
        raise ValueError(
            f"engine='cuda' samples documents of at most {device.shared_per_block // (8 * WARPS)} topics, and one "
            f"of these may have {most}: use engine='threads'"
        )
    return max(1, min(2048 // (32 * WARPS), device.shared_per_processor // (shared + 1024))), shared


class DeviceTokens:
    """Tokens of documents, their topics and their counts, on the device."""

    def __init__(self, device: Device, indptr: np.ndarray, index: np.ndarray, value: np.ndarray, V: int, K: int):
        self.device, self.V, self.K = device, V, K
        self.lengths, self.first, self.word = DeviceTokenList.of(device, indptr, index, value)
        self.z = device.zeros(int(self.lengths.sum()), np.uint16)
        self.counts, self.total = device.zeros((V, K), np.int64), device.zeros(K, np.int64)
        blocks = -(-K // PRIOR_BLOCK)
        self._tables = device.empty((V, K), np.float32), device.empty((V, blocks), np.float32)
        self._rows: dict[tuple[int, int], DeviceArray] = {}

    def start(self, z: np.ndarray) -> None:
        """From these topics of tokens, which are counted."""
        device, n = self.device, len(z)
        self.z, self.total = device.array(z, np.uint16), device.array(np.bincount(z, minlength=self.K), np.int64)
        self.counts = device.zeros((self.V, self.K), np.int64)
        cols = device.array(np.arange(self.V), np.int32)
        given = {"new_z": self.z, "word": self.word, "cols": cols, "counts": self.counts, "n_entries": n, "K": self.K}
        device.launch_over(n, "add_tokens", given | {"unit": 1.0, "weight": 1.0})

    def sweep(
        self, bounds: list[int], alpha: np.ndarray, eta: np.ndarray, eta_totals: np.ndarray, seed: int, sweep: int
    ) -> float:
        """Draws every token once, the documents between two bounds at a time. Returns the documents' part of
        log p(w, z), less what depends on their lengths alone. Nothing is waited for before the end."""
        device, K, V = self.device, self.K, self.V
        blocks, parts = -(-K // PRIOR_BLOCK), [(a, b) for a, b in pairwise(bounds) if b > a]
        most = min(K, int(self.lengths.max(initial=1)))
        per_processor, shared = warps_that_sample(device, most)
        sums, taken = device.zeros(1, np.int64), device.zeros(len(parts), np.int32)
        totals = [self.total, *device.zeros((len(parts), K), np.int64)]
        given: Given = {"first": self.first, "word": self.word, "z": self.z, "counts": self.counts}
        given |= {"eta_total": device.array(eta_totals, np.float64), "eta": device.mirror(eta)}
        given |= {"e": self._tables[0], "mass": self._tables[1], "alpha": device.array(alpha, np.float32)}
        given |= {"inverse": device.empty(K, np.float32), "sums": sums, "seed": seed, "sweep": sweep}
        given |= {"least": float(eta.min()), "word_step": eta.shape[1] if len(eta) > 1 else 0}
        given |= {"topic_step": int(eta.shape[1] > 1), "n_words": V, "K": K, "most": most, "blocks": blocks}
        for i, (begin, end) in enumerate(parts):
            if (begin, end) not in self._rows:
                longest_first = begin + np.argsort(-self.lengths[begin:end], kind="stable")
                self._rows[begin, end] = device.array(longest_first, np.int32)
            given |= {"rows": self._rows[begin, end], "n_rows": end - begin, "next": taken[i:]}
            given |= {"total": totals[i], "next_total": totals[i + 1]}
            for_sums = 16 * (blocks // 4 + 2)  # bytes; reads go by four
            device.launch("gibbs_table", min(V, 64 * device.n_processors), 128, given, shared=for_sums)
            n = min(per_processor * device.n_processors, -(-(end - begin) // WARPS))
            device.launch("gibbs_sample", n, 32 * WARPS, given, shared=shared)
            device.launch("column_sums", min(V, 4 * device.n_processors), 256, given)
        self.total = totals[-1]
        return float(device.get(sums)[0]) / 2.0**24

    def log_gammas(self, eta: np.ndarray) -> float:
        """sum_vk log Gamma(n_vk + eta_vk)"""
        counts = DeviceWordTotal(self.device, self.counts, np.zeros(self.K), 1.0)
        return counts.bound("variational", eta, None)[0]


def sample(
    device: Device,
    shard: DeviceShard,
    tables: TopicTables,
    sampling: Sampling,
    unit: float,
    z: Spillable | None,
    docs: DeviceDocs | None,
    own: DeviceOwnPriors | None = None,
) -> Solved:
    """As steps/documents.py: each token again, given all others; or, where tokens have no topics z yet, given those of
    their documents. `own` are priors of the documents, where each has its own."""
    prior, words, tokens = tables.prior, tables.words, shard.tokens
    n_words, K = words.table.shape
    blocks = -(-K // PRIOR_BLOCK)
    most = min(K, int(shard.lengths.max(initial=0.0)) + 2)  # topics of a document meanwhile, or that it comes with
    per_processor, shared = warps_that_sample(device, most)
    places = np.concatenate([[0], np.cumsum(np.minimum(tokens.lengths, K))])  # a topic has at least one token
    new_docs = DeviceDocs.empty(device, places, device.array(places, np.int64))
    drawn = device.empty(int(tokens.lengths.sum()), np.uint16)
    scale = 1.0 if sampling.concentration is None else sampling.concentration / prior.alpha.sum()
    weights = prior.alpha * scale
    given, sums = over_documents(device, tables, unit, own)
    given |= new_docs.as_new()
    given |= {"first": tokens.first, "word": tokens.word, "z": z, "new_z": drawn, "rows": shard.rows}
    given |= {"next": device.zeros(1, np.int32), "mass": device.empty((n_words, blocks), np.float32)}
    given |= {"by_word": device.empty(n_words, np.float32), "weights": device.array(weights, np.float32)}
    given |= {"by_topic": device.array(1.0 / words.norm, np.float32)}
    given |= {"seed": seed_of(sampling.seed, shard.number), "sweep": sampling.sweep, "least": words.least}
    given |= {"n_rows": shard.n_rows, "n_words": n_words, "most": most, "blocks": blocks, "own_scale": float(scale)}
    if z is None and docs is not None:
        given |= docs.as_last()
    device.launch("prior_mass", min(-(-n_words // 4), 16 * device.n_processors), 128, given)
    blocks = min(per_processor * device.n_processors, -(-shard.n_rows // WARPS))
    device.launch("sample_documents", blocks, 32 * WARPS, given, shared=shared)
    host_sums = device.get(sums)
    of_documents, totals = document_sums(host_sums, shard.n_rows, K, unit)
    stats = DeviceTokenStats(shard, device.spillable(drawn), totals)
    return Solved(stats, new_docs.written(), of_documents, moved=int(host_sums[0]))


def seed_of(seed: int, shard: int) -> int:
    """A seed for each shard."""
    return int(np.random.SeedSequence([seed, shard]).generate_state(1, np.uint64)[0] >> np.uint64(1))
