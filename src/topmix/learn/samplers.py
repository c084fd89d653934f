"""How GibbsLDA samples: a component that a user passes in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topmix.base.checks import whole_number, whole_number_or_none
from topmix.base.component import Component

MOST_ANNEALING = 50  # sweeps


@dataclass(frozen=True, repr=False)
class Sampler(Component):
    """What both samplers share."""

    annealing: int | None = None
    learn_every: int = 10

    name: ClassVar[str]
    anneals: ClassVar[bool] = False  # from a random start, unless `annealing` says otherwise

    def check(self) -> None:
        whole_number_or_none(self.annealing, "annealing", least=0)
        whole_number(self.learn_every, "learn_every")

    @property
    def documents_per_block(self) -> int | None:
        """None: as many as the data suggests."""
        return None

    def annealed(self, burn_in: int, *, from_random: bool) -> int:
        """Sweeps at the beginning whose alpha is another. They must be burn-in."""
        if self.annealing is None:
            return min(MOST_ANNEALING, burn_in // 2) if from_random and self.anneals else 0
        if self.annealing > burn_in:
            raise ValueError(
                f"annealing must be None or from 0 to the {burn_in} sweeps of burn-in, got {self.annealing}"
            )
        return self.annealing


@dataclass(frozen=True, repr=False)
class Parallel(Sampler):
    """Draws the documents of a block at once, on all cores, with the counts of words from the beginning of the block.

    A token takes time proportional to the topics of its document. It approximates the chain of the sequential sampler;
    see docs/math.md, section 3.7.

    Parameters
    ----------
    annealing : int or None
        Sweeps at the beginning in which alpha falls to its value from one under which documents have many topics. They
        must be burn-in. From a random start the chain is then much sooner where it would end. None is 50, or half of
        the burn-in where that is fewer, from a random start, and else 0. history_ then has the objective under the
        alpha of the sweep. After it, still in the burn-in, topics are exchanged while that pays: where one topic is
        held twice and two others lie in one, a sampler alone does not get out. Not where there are seeds.
    learn_every : int
        Sweeps between two updates of priors that are "auto".
    batch_size : int or None
        Documents of a block. None makes up to 16 blocks a sweep, fewer where remaking their tables would take more than
        about a fifth of the time. On a GPU a block has at least 131,072 documents.

    Examples
    --------
    >>> from topmix.chains import Parallel
    >>> Parallel(annealing=20)
    Parallel(annealing=20)
    """

    batch_size: int | None = None

    name: ClassVar[str] = "parallel"
    anneals: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        whole_number_or_none(self.batch_size, "batch_size")

    @property
    def documents_per_block(self) -> int | None:
        return self.batch_size


@dataclass(frozen=True, repr=False)
class Sequential(Sampler):
    """The textbook sampler, exactly, in one thread; a token takes time proportional to K.

    Parameters
    ----------
    annealing : int or None
        As in Parallel; None is 0.
    learn_every : int
        Sweeps between two updates of priors that are "auto".

    Examples
    --------
    >>> from topmix.chains import Sequential
    >>> Sequential()
    Sequential()
    """

    name: ClassVar[str] = "sequential"


SAMPLERS: dict[str, type[Sampler]] = {"parallel": Parallel, "sequential": Sequential}
