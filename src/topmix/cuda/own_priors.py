"""Documents with priors of their own, on the device: as allocations/own_priors.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.allocations.covariate_prior import LOG_RANGE, CovariatePrior
from topmix.cuda.arrays import DeviceArray
from topmix.cuda.device import Device
from topmix.cuda.shard import DeviceDocs, DeviceShard
from topmix.stats import TopicStats

WARPS = 4  # of a block: see kernels/own.cu
MOST_BITS = 30  # after the binary point of sums over documents


@dataclass(frozen=True)
class DeviceOwnPriors:
    """Of the documents of a shard."""

    prior: CovariatePrior
    shard: DeviceShard
    given: dict[str, Any]  # to the kernels

    @classmethod
    def of(cls, shard: DeviceShard, prior: object) -> DeviceOwnPriors | None:
        """None where documents share their prior."""
        if not isinstance(prior, CovariatePrior) or shard.design is None:
            return None
        device, (n, P), K = shard.device, shard.design.x.shape, len(prior.coefficients)
        given = {
            **shard.design_there,
            "coefficients": device.array(prior.coefficients.T, np.float64),
            "alpha": device.empty((n, K), np.float32),
            "total": device.empty(n, np.float64),
            "normaliser": device.empty(n, np.float64),
            "low": LOG_RANGE[0],
            "high": LOG_RANGE[1],
            "n_priors": n,
            "n_rows": shard.n_rows,
            "K": K,
            "P": P,
            "variational": int(prior.posterior == "variational"),
        }
        if n:
            device.launch("own_alpha", "OwnArgs", _blocks(device, n), 32 * WARPS, given)
        return cls(prior, shard, given)

    @property
    def solved(self) -> dict[str, DeviceArray]:
        """What the kernels that solve and sample documents see."""
        return {"own_alpha": self.given["alpha"], "own_row": self.given["row"]}

    def stats(self, words: object, docs: DeviceDocs, H: float) -> TopicStats:
        """Statistics of documents with these topics.  Eq. (3.31)"""
        device, shard, (K, P) = self.shard.device, self.shard, self.prior.coefficients.shape
        scales = _scales(shard, int(docs.host_places[-1]))
        first = device.zeros(K * P, np.int64)
        second = device.zeros(K * P * P, np.int64) if self.prior.is_curved else None
        sums = device.zeros(3, np.int64)
        given = self.given | {
            "places": docs.places,
            "doc_topic": docs.topic,
            "doc_count": docs.count,
            "doc_n": docs.n,
            "sums": sums,
            "first": first,
            "second": second,
            "first_scale": scales[0],
            "second_scale": scales[1],
        }
        if shard.n_rows:
            device.launch("own_stats", "OwnArgs", _blocks(device, shard.n_rows), 32 * WARPS, given)
        G, A, T = (device.get(sums) / 2.0**24).tolist()
        Q = np.zeros((K, P, P))
        if second is not None:
            below = np.tril(device.get(second).reshape(K, P, P) / scales[1])
            Q = below + np.swapaxes(np.tril(below, -1), 1, 2)
        M = np.concatenate([device.get(first) / scales[0], Q.ravel()])
        return TopicStats(words, float(shard.n_rows), H, G, A, np.array([T]), M)


def _blocks(device: Device, n: int) -> int:
    return min(-(-n // WARPS), 16 * device.n_processors)


def _scales(shard: DeviceShard, n_topics: int) -> tuple[float, float]:
    """Powers of two, so that sums of c x and of c' x x' fit into 63 bits: c and c' are at most the tokens of a topic in
    a document, or one; n_topics is how many topics all documents have, at most."""
    assert shard.design is not None
    largest = max(1.0, float(np.abs(shard.design.x).max(initial=0.0)))
    most = float(shard.lengths.sum()) + n_topics + 1.0
    bits = [61 - int(np.ceil(np.log2(most * power))) for power in (largest, largest**2)]
    return 2.0 ** min(bits[0], MOST_BITS), 2.0 ** min(bits[1], MOST_BITS)
