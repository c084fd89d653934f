"""The documents of a shard, solved on the device: a warp for a short one, a block for a long one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from topmix.allocations.document_prior import DocumentSums
from topmix.cuda.arrays import DeviceArray
from topmix.cuda.device import Device
from topmix.cuda.own_priors import DeviceOwnPriors
from topmix.cuda.plan import Extra, plan_of
from topmix.cuda.shard import DeviceDocs, DeviceShard
from topmix.cuda.words import DeviceWordStats
from topmix.models.topics import TopicTables

MOST_ACTIVE = 32  # L: lists of L topics are kept in registers
SUMS = 10  # see the enum Sums of kernels/arguments.hpp


class Solved(NamedTuple):
    words: DeviceWordStats | None
    docs: DeviceDocs
    sums: DocumentSums
    entropy: float
    bound: float  # sum of words' tokens times log phi; zero unless wanted
    iterations: int
    restarts: int  # that were tried
    accepted: int


def check_options(tables: TopicTables) -> None:
    """Raises ValueError for what the kernels do not do, and says what they do."""
    L = tables.document_options.L(tables.words.table.shape[1])
    if L > MOST_ACTIVE:
        raise ValueError(
            f"engine='cuda' keeps at most {MOST_ACTIVE} topics of a word: use n_active={MOST_ACTIVE} or less"
        )


def _on_device(device: Device, values: np.ndarray | DeviceArray) -> DeviceArray:
    """Tables come from the host, or were made on the device."""
    return device.array(values) if isinstance(values, np.ndarray) else values


def solve(
    device: Device,
    shard: DeviceShard,
    tables: TopicTables,
    unit: float,
    *,
    start: DeviceDocs | None = None,
    last: DeviceDocs | None = None,
    want_words: bool = True,
    want_bound: bool = False,
    own: DeviceOwnPriors | None = None,
) -> Solved:
    """As local/solve.py: documents start from their words, or from `start`; `last` is discounted; `own` are their
    priors, where each has its own."""
    check_options(tables)
    prior, options = tables.prior, tables.document_options
    table, log_scale = _on_device(device, tables.words.table), _on_device(device, tables.words.log_scale)
    K, L = table.shape[1], options.L(table.shape[1])
    host_places, places = shard.places(K, L, options.eps)
    n_entries = shard.n_entries
    extra = Extra(options.exclude and tables.posterior == "collapsed", options.select_often, options.restarts > 0)
    docs = DeviceDocs.empty(device, host_places, places)
    sums = device.zeros(SUMS + 3 * K, np.int64)
    given: dict[str, Any] = {
        **options.of_kernels(),
        "exclude": extra.exclude,
        "own_discount": 0.0 if last is None else options.own_discount,
        "indptr": shard.indptr,
        "index": shard.index,
        "value": shard.value,
        "table": table,
        "log_scale": log_scale,
        "alpha": device.mirror(prior.alpha, (prior.alpha, np.float64))[0],
        "alpha_total": float(prior.alpha.sum()),
        "places": places,
        "doc_topic": docs.topic,
        "doc_count": docs.count,
        "doc_n": docs.n,
        "topic_sums": sums[SUMS:],
        "sums": sums,
        "n_entries": n_entries,
        "K": K,
        "unit": unit,
        "variational": int(tables.posterior == "variational"),
        "starts_cold": int(start is None),
        "learns_alpha": int(prior.learned and own is None),
        "wants_bound": int(want_bound),
    }
    if own is not None:
        given |= own.solved
    if start is None:
        given |= first_selection(device, table, L)
    if last is not None:
        given |= {
            "by_topic": device.array(1.0 / tables.words.norm, np.float32),
            "least": tables.words.least,
        }
    if (before := start if last is None else last) is not None:
        given |= before.as_last()
    memo: tuple[Any, Any, Any] | None = None
    if want_words:
        memo = (
            device.empty((L, n_entries), np.uint16),
            device.empty((L, n_entries), np.uint32),
            device.empty(n_entries, np.uint8),
        )
        given |= dict(zip(("memo_topic", "memo_share", "memo_n"), memo))
    if shard.n_rows:
        given_topics = 0 if before is None else before.most
        plan_of(device, shard, K, options.eps, start is None, given_topics, extra).run(given, L)
    words = None if memo is None else DeviceWordStats(shard, *memo, np.zeros(K))
    return _solved(device.get(sums), words, docs.held(), shard.n_rows, K, unit)


def first_selection(device: Device, table: Any, L: int) -> dict[str, Any]:
    """Each word's own top L, where documents start from their words."""
    n_words, K = table.shape
    first = {
        "first_topic": device.empty((n_words, L), np.uint16),
        "first_share": device.empty((n_words, L), np.float32),
    }
    if n_words:
        blocks = min(-(-n_words // 4), 16 * device.n_processors)
        args = {"table": table, "n_words": n_words, "K": K, **first}
        device.launch("first_selection", "TableArgs", blocks, 128, args, L=L)
    return first


def _solved(
    found: np.ndarray, words: DeviceWordStats | None, docs: DeviceDocs, n_docs: int, K: int, unit: float
) -> Solved:
    iterations, entropy, *_, bound, lost, tried, accepted = found[:SUMS].tolist()
    if lost:
        raise RuntimeError(f"{lost} documents did not fit on the device: please report this")
    sums, tokens = document_sums(found, n_docs, K, unit)
    if words is not None:
        words.totals = tokens
    return Solved(words, docs, sums, entropy / 2.0**24, bound / 2.0**24, iterations, tried, accepted)


def document_sums(found: np.ndarray, n_docs: int, K: int, unit: float) -> tuple[DocumentSums, np.ndarray]:
    """What kernels add up over documents, from integers (kernels/terms.hpp), and the tokens of each topic."""
    within, lengths, gammas, length_gammas = (x / 2.0**24 for x in found[2:6].tolist())
    tokens, above, rise = found[SUMS:].reshape(3, K)
    sums = DocumentSums(n_docs, lengths, rise / 2.0**30, above / 2.0**30, within, gammas, length_gammas)
    return sums, tokens / unit
