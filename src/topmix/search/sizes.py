"""With how many topics to start: the bounds of short fits, all of the same age, say so.

The bound of fits that are equally old has one peak over the number of topics, and the peak stays at the same number
until the fits are over. Sizes are powers of the root of two: every other one is tried from the middle outwards, until
the best lies between two that are worse; then those beside the best.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST = 12  # of the sizes, 64 topics


def size(i: int) -> int:
    return round(2 ** (i / 2))


def largest_size(most: int) -> int:
    """The largest of the sizes up to `most`. Later moves do not ask for more than this either: where the bound wants
    more topics than allowed, they would approach `most` pass by pass."""
    return max(size(i) for i in range(2 * most.bit_length() + 1) if size(i) <= most)


@dataclass
class SizeSearch:
    most: int  # topics
    bounds: dict[int, float] = field(default_factory=dict)  # of the sizes that were tried

    def following(self) -> int | None:
        """The next size to try; None when the best one is known."""
        if not self.bounds:
            return self._first()
        far, near = self._untried(2, self._best(self._first() % 2)), self._untried(1, self._best())
        return next(iter(far + near), None)

    def _first(self) -> int:
        return next((i for i in range(FIRST, 0, -1) if size(i) <= self.most), 0)

    def _best(self, parity: int | None = None) -> int:
        return max((i for i in self.bounds if parity in (None, i % 2)), key=lambda i: self.bounds[i])

    def _untried(self, step: int, best: int) -> list[int]:
        around = [i for i in (best - step, best + step) if i >= 0 and size(i) <= self.most]
        known = {size(i) for i in self.bounds}
        return [i for i in around if size(i) not in known]
