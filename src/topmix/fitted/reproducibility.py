"""How far the topics of a consensus model are the topics of other fits too: what is kept with the model, and saved.

`topmix.consensus` measures it (model_selection/consensus_fits.py); docs/consensus.md says what the numbers mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.files.reader import ModelFileError
from topmix.metrics.counts import Floats

LEVEL = 0.95  # of the topics that are called real, at least so many are,
REAL = 0.55  # where that is from this mean similarity on: docs/consensus.md
ALWAYS = 0.9  # of the fits that have a topic: a word that so many have is always there
WORDS = 20  # that are followed of each topic
COLUMNS = ("found", "low", "high", "similarity", "sharpness", "reliability")
Pairs = tuple[tuple[int, float], ...]  # a word or a topic, and a share of fits


@dataclass(frozen=True)
class Reproducibility:
    """NaN, and nothing, for topics that were changed after the consensus."""

    n_fits: int
    found: Floats  # [K] share of the fits that have the topic
    low: Floats  # [K] and its interval
    high: Floats
    similarity: Floats  # [K] mean similarity to the topic's partners in the fits, from 0 to 1
    sharpness: Floats  # [K] by how much the partner is more similar than the next topic of its fit; mean over fits
    reliability: Floats  # [K] probability that the topic is real
    words: tuple[Pairs, ...]  # [K] the topic's most probable words, and the share of the fits with the topic that have
    # them among theirs
    confused: tuple[Pairs, ...]  # [K] topics that a fit has in the place of this one, and the share of such fits

    @property
    def is_real(self) -> NDArray[np.bool_]:
        """[K] whether the topic is called real at LEVEL."""
        return np.nan_to_num(self.similarity) >= REAL

    def always(self, k: int) -> list[int]:
        """Words that nearly all fits with the topic have, most probable first."""
        return [v for v, share in self.words[k] if share >= ALWAYS]

    def sometimes(self, k: int) -> list[int]:
        """Words that come and go from fit to fit."""
        return [v for v, share in self.words[k] if share < ALWAYS]

    def after(self, kept: Sequence[int | None]) -> Reproducibility:
        """Of topics after an edit: where each was before it, or None where it was changed or is new."""
        place = np.array([-1 if k is None else k for k in kept], np.intp)
        new_place = {k: new for new, k in enumerate(kept) if k is not None}
        columns = {}
        for name in COLUMNS:
            values: Floats = getattr(self, name)
            columns[name] = np.where(place >= 0, values[np.maximum(place, 0)], np.nan)
        confused = tuple(
            () if k is None else tuple((new_place[j], share) for j, share in self.confused[k] if j in new_place)
            for k in kept
        )
        return Reproducibility(
            n_fits=self.n_fits, words=tuple(() if k is None else self.words[k] for k in kept), confused=confused,
            **columns,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        columns = {name: [None if np.isnan(x) else float(x) for x in getattr(self, name)] for name in COLUMNS}
        return {"n_fits": self.n_fits, **columns, "words": self.words, "confused": self.confused}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], K: int, V: int) -> Reproducibility:
        """From a file, which is not trusted."""
        try:
            columns = {name: _shares(given[name], K) for name in COLUMNS}
            n_fits = given["n_fits"]
            if isinstance(n_fits, bool) or not isinstance(n_fits, int) or not 1 <= n_fits < 2**31:
                raise ValueError("n_fits is no number of fits")
            return cls(
                n_fits=n_fits, words=_pairs(given["words"], K, V), confused=_pairs(given["confused"], K, K), **columns
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"'reproducibility' makes no sense: {error}") from error


def _shares(values: Any, K: int) -> Floats:
    found = np.array([np.nan if x is None else x for x in values], np.float64)
    if found.shape != (K,) or np.any((found < -1) | (found > 1)):
        raise ValueError(f"expected {K} numbers from -1 to 1")
    return found


def _pairs(values: Any, K: int, most: int) -> tuple[Pairs, ...]:
    found = tuple(tuple((int(n), float(share)) for n, share in of_topic) for of_topic in values)
    if len(found) != K or any(not (0 <= n < most and 0 <= share <= 1) for pairs in found for n, share in pairs):
        raise ValueError(f"expected pairs for {K} topics, with numbers below {most} and shares")
    return found
