"""What the search has tried so far, and what it should try next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ORDER = ("refresh", "birth", "split", "delete")
DELETED = (0.2, 0.05, 0.02)  # topics that are tried without, over K, the smallest; the next share when the last failed
AGAIN = {"refresh": ("birth", "split", "delete"), "delete": ("birth", "split")}  # after a gain; after others, all
FAILURES = {"refresh": 1, "birth": 1, "split": 1, "delete": len(DELETED)}  # after so many a kind of move is given up


@dataclass
class Tried:
    """Failures per kind of move since the last gain. The kind that gained last is tried again first."""

    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ORDER, 0))
    favourite: str = ORDER[0]
    refused_deletion: int = 0  # topics, the last time that a deletion was tried

    def following(self) -> str | None:
        """The kind of move to try next; None when each was given up."""
        order = sorted(ORDER, key=lambda kind: kind != self.favourite)
        return next((kind for kind in order if self.failures[kind] < FAILURES[kind]), None)

    def give_up(self, kind: str) -> None:
        self.failures[kind] = FAILURES[kind]

    def gained(self, kind: str, by_much: bool) -> None:
        """A move was kept. Where it gained more than a quiet pass does, others are worth trying again."""
        if by_much:
            self.failures |= dict.fromkeys(AGAIN.get(kind, ORDER), 0)
            self.failures["refresh"] += kind == "refresh"
            self.favourite = kind
        elif kind in self.failures and kind != "delete":  # another of the same kind is not worth it
            self.failures[kind] += 1

    def failed(self, kind: str, n_topics: int) -> None:
        """A move was undone."""
        self.refused_deletion = n_topics if kind == "delete" else 0
        if kind in self.failures:
            self.failures[kind] += 1

    def deletion(self, K: int) -> int | None:
        """How many topics to try without; None when all shares were tried."""
        while (n := max(1, round(DELETED[self.failures["delete"]] * K))) == self.refused_deletion:
            self.failures["delete"] += 1
            if self.failures["delete"] == FAILURES["delete"]:
                return None
        return n if n < K else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "failures": dict(self.failures),
            "favourite": self.favourite,
            "refused_deletion": self.refused_deletion,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Tried:
        failures = {kind: int(values["failures"][kind]) for kind in ORDER}
        return cls(failures, str(values["favourite"]), int(values["refused_deletion"]))
