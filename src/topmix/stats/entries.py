"""Statistics of a shard entry by entry, as a GPU keeps them, in the form that files hold.

An entry is a word of a document. Tokens are whole numbers of 1 / unit, so what was added can be taken out exactly; sums
by word, as `WordStats` has them, would not be enough for that.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer


@dataclass(slots=True)
class EntryStats:
    n: np.ndarray  # [entries] uint8, topics of each
    topic: np.ndarray  # [pairs] uint16
    share: np.ndarray  # [pairs] uint32, tokens of 1 / unit
    totals: np.ndarray  # [K] float64, tokens of each topic

    @property
    def n_entries(self) -> int:
        return len(self.n)

    def write(self, out: Writer) -> None:
        for f in fields(self):
            out.array(f.name, getattr(self, f.name))

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> EntryStats:
        n, topic = file.vector("n", "U8"), topics(file, "topic", K)
        if int(n.sum(dtype=np.int64)) != len(topic):
            raise ModelFileError(f"{file.prefix}n has {int(n.sum(dtype=np.int64))} topics, expected {len(topic)}")
        return cls(n, topic, file.vector("share", "U32", len(topic)), file.array("totals", K))


@dataclass(slots=True)
class TokenStats:
    """The same where every token has one topic."""

    z: np.ndarray  # [tokens] uint16
    totals: np.ndarray

    def write(self, out: Writer) -> None:
        out.array("z", self.z)
        out.array("totals", self.totals)

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> TokenStats:
        return cls(topics(file, "z", K), file.array("totals", K))


@dataclass(slots=True)
class RowShares:
    """The same where a row of words is in few clusters: what each has of it."""

    cluster: np.ndarray | None  # [rows, L] int32; None: all clusters
    r: np.ndarray  # [rows, L] float32
    totals: np.ndarray  # [K] float64, tokens of each cluster

    def write(self, out: Writer) -> None:
        out.value("width", self.r.shape[1])
        out.array("r", self.r.ravel())
        out.array("totals", self.totals)
        if self.cluster is not None:
            out.array("cluster", self.cluster.ravel())

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> RowShares:
        L, r, cluster = file.integer("width", 1, K), file.vector("r", "F32"), None
        if len(r) % L:
            raise ModelFileError(f"{file.prefix}r has {len(r)} shares, which are not {L} for each row")
        if L < K:
            cluster = file.vector("cluster", "I32", len(r)).reshape(-1, L)
            if np.any((cluster < 0) | (cluster >= K)):
                raise ModelFileError(f"{file.prefix}cluster has clusters that are not from 0 to {K - 1}")
        return cls(cluster, r.reshape(-1, L), file.array("totals", K))


def topics(file: CheckedReader, name: str, K: int) -> np.ndarray:
    """Topics that a kernel may use as indices."""
    found = file.vector(name, "U16")
    if np.any(found >= K):
        raise ModelFileError(f"{file.prefix}{name} has topics that are not from 0 to {K - 1}")
    return found
