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


def topics(file: CheckedReader, name: str, K: int) -> np.ndarray:
    """Topics that a kernel may use as indices."""
    found = file.vector(name, "U16")
    if np.any(found >= K):
        raise ModelFileError(f"{file.prefix}{name} has topics that are not from 0 to {K - 1}")
    return found
