"""Statistics that add, subtract and scale field by field."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from operator import add
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from topmix.base.checks import SMALLEST
from topmix.base.fields import CheckedReader
from topmix.models.model import SomeSums
from topmix.models.stored import Ids, Nested, Numbers, Starts, Stored, number


class Additive:
    """For dataclasses: arrays and numbers add, nested statistics add themselves."""

    def add(self, other: Self, weight: float = 1.0) -> Self:
        """self += weight * other, in place."""
        for f in fields(self):  # type: ignore[arg-type]
            mine, theirs = getattr(self, f.name), getattr(other, f.name)
            if isinstance(mine, float):
                setattr(self, f.name, mine + weight * theirs)
            elif isinstance(mine, np.ndarray):
                mine += weight * theirs
            else:
                mine.add(theirs, weight)
        return self

    def __add__(self, other: Self) -> Self:
        """The sum, as a new value. Unlike `add` it also works for what shards report."""
        names = (f.name for f in fields(self))  # type: ignore[arg-type]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))

    def scale(self, c: float) -> Self:
        """self *= c, in place."""
        for f in fields(self):  # type: ignore[arg-type]
            mine = getattr(self, f.name)
            if isinstance(mine, np.ndarray):
                mine *= c
            elif isinstance(mine, float):
                setattr(self, f.name, mine * c)
            else:
                mine.scale(c)
        return self

    @property
    def is_removable(self) -> bool:
        """Whether adding this to a total and subtracting it again leaves the bits that were there before."""
        return False

    @property
    def is_exact(self) -> bool:
        """Whether differences of these statistics have no rounding, so that no total needs to be summed again."""
        return False

    def copy(self) -> Self:
        return copy.deepcopy(self)

    def __iadd__(self, other: Self) -> Self:
        return self.add(other)

    def __isub__(self, other: Self) -> Self:
        return self.add(other, -1.0)


# Sums in a tree whose shape depends on the number of parts alone: ((0 + 1) + (2 + 3)) + (4 + 5). Floating-point sums
# depend on the order. With one tree for everybody, the statistics of a round have the same bits wherever parts of them
# were added: in one process, or by workers on several machines.

T = TypeVar("T")


def tree_sum(parts: Iterable[T], plus: Callable[[T, T], T] = add) -> T:
    """The sum of at least one part. A single part is returned as it is. At most log2(parts) sums wait for a partner."""
    waiting: list[tuple[int, T]] = []  # (leaves, their sum), ever smaller powers of two
    for part in parts:
        leaves, total = 1, part
        while waiting and waiting[-1][0] == leaves:
            leaves, total = 2 * leaves, plus(waiting.pop()[1], total)
        waiting.append((leaves, total))
    if not waiting:
        raise ValueError("a sum of nothing has no type")
    _, total = waiting.pop()
    while waiting:
        total = plus(waiting.pop()[1], total)
    return total


@dataclass(slots=True)
class MixtureStats(Additive, Stored):
    """Summary of rows under a mixture.  docs/math.md Eq. (1.7)."""

    S: Annotated[SomeSums, Nested()]  # whose reader needs more than sizes: it is given
    N: Annotated[np.ndarray, Numbers("K")]  # expected rows in each cluster
    H: Annotated[float, number()]  # sum_n H[r_n]
    n_rows: Annotated[float, number(0.0)]

    @property
    def of_rows(self) -> MixtureStats:
        """The same; those of groups contain statistics of rows."""
        return self

    def around(self, S: SomeSums) -> MixtureStats:
        """The same with other sums of rows."""
        return replace(self, S=S)

    def read_like(self, file: CheckedReader, K: int, S: SomeSums) -> MixtureStats:
        return MixtureStats.read(file, S=S, K=K)


@dataclass(slots=True)
class TopicStats(Additive, Stored):
    """Summary of documents under a topic model.  docs/math.md Eq. (3.8).

    The objective is linear in these: exact when every document is in the total once, an estimate while a stochastic
    learner blends. When collapsed, E log pi_dk stands for the log of the document's point estimate.
    """

    S: Annotated[SomeSums, Nested()]  # WordStats, or the WordTotal that they are added to
    D: Annotated[float, number()]  # documents
    H: Annotated[float, number()]  # sum_du c_du H[r_du]
    G: Annotated[float, number()]  # -sum_d c_Dir(theta_d); zero when collapsed
    A: Annotated[float, number()]  # sum_dk (N_dk - theta_dk) E log pi_dk; sum_dk N_dk E log pi_dk when collapsed
    # [K] sum_d E log pi_dk, over all documents, including topics that a document does not use
    T: Annotated[np.ndarray, Numbers("n_T")]
    # [K] sum_d alpha_k [psi(N_dk + alpha_k) - psi(alpha_k)]: what learning alpha needs
    M: Annotated[np.ndarray, Numbers("n_M")]

    @property
    def n_rows(self) -> float:
        return self.D

    # Of an admixture.

    @property
    def of_rows(self) -> MixtureStats:
        rows: MixtureStats = self.S
        return rows

    def around(self, S: SomeSums) -> TopicStats:
        return replace(self, S=self.of_rows.around(S))

    def read_like(self, file: CheckedReader, K: int, S: SomeSums) -> TopicStats:
        rows = self.of_rows.read_like(file.at("S"), K, S)
        return TopicStats.read(file, S=rows, n_T=len(self.T), n_M=len(self.M))

    @property
    def is_removable(self) -> bool:
        return bool(self.S.is_removable)

    @property
    def is_exact(self) -> bool:
        return bool(self.S.is_exact)


def places(indptr: np.ndarray, rows: slice | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each of these rows begins among their entries, and where these lie among all."""
    begin, size = indptr[:-1][rows], np.diff(indptr)[rows]
    chosen = np.concatenate([[0], np.cumsum(size)])
    return chosen, np.repeat(begin - chosen[:-1], size) + np.arange(chosen[-1])


# Counts of words that are not from data: what topics start from, and what a prior adds to some words of topics.


@dataclass
class PseudoCounts(Stored):
    """What topics have in common, times a share per topic, plus a sparse row for each word. Files hold the sparse rows:
    what is in common is never part of one."""

    common: np.ndarray  # [V] float64; empty: topics have nothing in common
    share: np.ndarray  # [K] float64, how much of `common` each topic has
    indptr: Annotated[np.ndarray, Starts("V", "pairs")]
    topic: Annotated[np.ndarray, Ids("pairs", below="K", dtype="U16")]
    value: Annotated[np.ndarray, Numbers("pairs", low=SMALLEST)]
    totals: np.ndarray  # [K] float64, sum over words of all this

    is_removable: ClassVar[bool] = True  # they stay beside the counts

    @classmethod
    def of(cls, common: np.ndarray, share: np.ndarray, own: sp.csr_array) -> PseudoCounts:
        """`own` is [K, V]: what each topic has besides its share of `common`."""
        totals = share * common.sum() + np.asarray(own.sum(axis=1)).ravel()
        rows = sp.csr_array(own.T)
        return cls(common, share, rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data, totals)

    @classmethod
    def sparse(cls, by_word: sp.csr_array) -> PseudoCounts:
        """Rows [V, K] alone: what they hold is what they cost."""
        return cls.of(np.zeros(0), np.zeros(by_word.shape[1]), sp.csr_array(by_word.T, dtype=np.float64))

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sparse rows as kernels take them."""
        return self.indptr, self.topic, self.value

    def rows_of(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sparse rows of these words."""
        indptr, at = places(self.indptr, words)
        return indptr, self.topic[at], self.value[at]

    def by_word(self) -> sp.csr_array:  # [V, K]
        """The sparse rows."""
        return sp.csr_array(
            (self.value, self.topic.astype(np.int32), self.indptr), shape=(len(self.indptr) - 1, len(self.totals))
        )

    def counts(self) -> np.ndarray:  # [V, K]
        counts = np.outer(self.common, self.share) if len(self.common) else np.zeros(self.by_word().shape)
        word = np.repeat(np.arange(len(counts)), np.diff(self.indptr))
        counts[word, self.topic] += self.value
        return counts

    @classmethod
    def read(cls, file: CheckedReader, **given: Any) -> PseudoCounts:
        none = np.zeros(given["K"])
        rows = super().read(file, **given, common=np.zeros(0), share=none, totals=none).by_word()
        rows.sum_duplicates()
        return cls.sparse(rows)
