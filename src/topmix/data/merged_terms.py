"""Terms that were counted in parts, merged as if one counter had seen all documents."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix.data.tokens import NativeRule
from topmix.numerics.threads import threads

BLOCK_TERMS = 1 << 16  # that are Python strings at a time
_ANY_TOKEN = NativeRule(bytes(128), 1, False)


class PartTerms(NamedTuple):
    """All terms of a part, in the order of first sight."""

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # [terms + 1]
    documents: NDArray[np.int64]  # [terms] that have the term
    tokens: NDArray[np.int64]  # [terms]
    n_rows: int

    @classmethod
    def of(cls, counter: _core.TermCounter) -> PartTerms:
        packed = counter.packed(np.arange(counter.n_terms, dtype=np.int32))
        return cls(*packed, counter.document_frequency(), counter.term_frequency(), counter.n_rows)


class MergedTerms:
    """Parts that are added in the order of the documents give the ids that one counter would."""

    def __init__(self) -> None:
        # The native table numbers strings by first sight: a term is a token of a document there.
        self._table = _core.TermCounter(*_ANY_TOKEN, False, [], 1, 1, None)
        self._documents, self._tokens = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.n_rows = 0

    def add(self, part: PartTerms) -> NDArray[np.int32]:
        """The id of each term of the part."""
        found = [np.empty(0, np.int32)]
        for begin in range(0, len(part.offsets) - 1, BLOCK_TERMS):
            cuts = part.offsets[begin : begin + BLOCK_TERMS + 1]
            text, ends = part.text[cuts[0] : cuts[-1]].tobytes(), (cuts - cuts[0]).tolist()
            terms = [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]
            found.append(self._table.count([terms], threads())[1])  # distinct, so in their order
        ids = np.concatenate(found)
        more = np.zeros(self.n_terms - len(self._documents), np.int64)
        self._documents, self._tokens = (np.concatenate([a, more]) for a in (self._documents, self._tokens))
        self._documents[ids] += part.documents
        self._tokens[ids] += part.tokens
        self.n_rows += part.n_rows
        return ids

    @property
    def n_terms(self) -> int:
        return self._table.n_terms

    def document_frequency(self) -> NDArray[np.int64]:
        return self._documents

    def term_frequency(self) -> NDArray[np.int64]:
        return self._tokens

    def sort(self, ids: NDArray[np.int32], threads: int = 1) -> NDArray[np.int32]:
        return self._table.sort(ids, threads)

    def packed(self, ids: NDArray[np.int32]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        return self._table.packed(ids)

    def terms(self, ids: NDArray[np.int32]) -> list[str]:
        return self._table.terms(ids)
