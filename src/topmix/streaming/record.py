"""What one batch of a stream was like, and what it changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

BatchId = str | int


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One batch. Topics are numbers, which stay the same."""

    batch: int  # 1 is the first
    id: BatchId | None
    documents: int
    tokens: float
    unknown: float  # share of the tokens whose words the model does not have, before the batch was learned
    score: float  # nats per held-out token of the batch, before it was learned; NaN for the first
    drift: float  # 0 to 1: how far its topics are from those of the past, half the sum of absolute differences
    grown: tuple[int, ...] = ()  # topics with more than twice their usual share
    shrunk: tuple[int, ...] = ()  # with less than half of it
    appeared: tuple[int, ...] = ()  # grown ones that had next to nothing before
    admitted: int = 0  # words that are new in the model
    retired: int = 0  # words that left it
    words: int = 0  # that the model has now
    date: str | None = None  # of its documents, if it was given: the day, in ISO form

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """What `to_dict` gave, read from JSON. Raises ValueError or TypeError."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        for name in ("grown", "shrunk", "appeared"):
            known[name] = tuple(int(k) for k in known.get(name, ()))
        numbers = ("batch", "documents", "tokens", "unknown", "score", "drift", "admitted", "retired", "words")
        if not all(isinstance(known[name], int | float) for name in numbers if name in known):
            raise ValueError("a record has something else than numbers")
        if not (known.get("date") is None or isinstance(known["date"], str)):
            raise ValueError("a record has a date that is no text")
        return cls(**known)
