"""The documents of a shard, sampled on the device: a warp draws every token of its document again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from topmix.allocations.document_prior import DocumentPrior, DocumentSums
from topmix.cuda.device import Device
from topmix.cuda.shard import DeviceDocs, DeviceShard
from topmix.cuda.solve import SUMS, document_sums
from topmix.cuda.warps import PRIOR_BLOCK, WARPS, warps_that_sample
from topmix.cuda.word_stats import DeviceTokenStats
from topmix.models.document_options import Sampling
from topmix.models.topics import TopicTables


class Sampled(NamedTuple):
    words: DeviceTokenStats
    docs: DeviceDocs
    sums: DocumentSums
    moved: int


def sample(
    device: Device,
    shard: DeviceShard,
    tables: TopicTables,
    sampling: Sampling,
    unit: float,
    z: Any,
    docs: DeviceDocs | None,
) -> Sampled:
    """As local/sample.py: each token again, given all others; or, where tokens have no topics z yet, given those of
    their documents."""
    prior, words, tokens = tables.prior, tables.words, shard.tokens
    assert isinstance(prior, DocumentPrior)
    n_words, K = words.table.shape
    blocks, most = -(-K // PRIOR_BLOCK), shard.most_sampled(K)
    per_processor, shared = warps_that_sample(device, most)
    host_places, places = shard.sampled_places(K)
    found = DeviceDocs.empty(device, host_places, places)
    drawn = device.empty(int(tokens.lengths.sum()), np.uint16)
    sums, taken = device.zeros(SUMS + 3 * K, np.int64), device.zeros(1, np.int32)
    weights = prior.alpha * (sampling.concentration / prior.alpha.sum())
    given: dict[str, Any] = {
        "first": tokens.first,
        "word": tokens.word,
        "z": z,
        "new_z": drawn,
        "rows": shard.rows,
        "next": taken,
        "table": words.table,
        "log_scale": words.log_scale,
        "mass": device.empty((n_words, blocks), np.float32),
        "by_word": device.empty(n_words, np.float32),
        "weights": device.array(weights, np.float32),
        "by_topic": device.array(1.0 / words.norm, np.float32),
        "alpha": device.mirror(prior.alpha, (prior.alpha, np.float64))[0],
        "places": places,
        "doc_topic": found.topic,
        "doc_count": found.count,
        "doc_n": found.n,
        "topic_sums": sums[SUMS:],
        "sums": sums,
        "seed": seed_of(sampling.seed, shard.number),
        "sweep": sampling.sweep,
        "alpha_total": float(prior.alpha.sum()),
        "unit": unit,
        "least": words.least,
        "n_rows": shard.n_rows,
        "n_words": n_words,
        "K": K,
        "most": most,
        "blocks": blocks,
        "learns_alpha": int(prior.learned),
    }
    if z is None and docs is not None:
        given |= docs.as_last()
    if n_words:
        device.launch("prior_mass", "SampleArgs", min(-(-n_words // 4), 16 * device.n_processors), 128, given)
    if shard.n_rows:
        n = min(per_processor * device.n_processors, -(-shard.n_rows // WARPS))
        device.launch("sample_documents", "SampleArgs", n, 32 * WARPS, given, shared=shared)
    sums_found = device.get(sums)
    of_documents, totals = document_sums(sums_found, shard.n_rows, K, unit)
    stats = DeviceTokenStats(shard, device.parking.hold(drawn), totals)
    return Sampled(stats, found.held(), of_documents, int(sums_found[0]))


def seed_of(seed: int, shard: int) -> int:
    """A seed for each shard."""
    return int(np.random.SeedSequence([seed, shard]).generate_state(1, np.uint64)[0] >> np.uint64(1))
