"""The topics of documents, sparse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer


@dataclass(frozen=True)
class DocTopics:
    """Tokens of each document in each of its topics: N_dk > 0 only."""

    indptr: np.ndarray  # [D + 1] int64
    topic: np.ndarray  # uint16, ascending within a document
    count: np.ndarray  # float32

    def of(self, rows: slice | np.ndarray) -> DocTopics:
        """Of these documents alone."""
        where = places(self.indptr, rows)
        indptr = np.concatenate([[0], np.cumsum(np.diff(self.indptr)[rows])])
        return DocTopics(indptr, self.topic[where], self.count[where])

    def write(self, out: Writer) -> None:
        out.array("indptr", self.indptr)
        out.array("topic", self.topic)
        out.array("count", self.count)

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> DocTopics:
        indptr, topic = file.rows_of_topics(None, K)
        count = file.vector("count", "F32", len(topic))
        if len(count) and count.min() < 0:
            raise ModelFileError(f"{file.prefix}count has fewer than no tokens")
        return cls(indptr, topic, count)


def places(indptr: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
    """Where the entries of these rows lie among all, in their order."""
    begin, length = indptr[:-1][rows], np.diff(indptr)[rows]
    return np.repeat(begin - np.concatenate([[0], np.cumsum(length)[:-1]]), length) + np.arange(length.sum())
