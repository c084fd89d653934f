"""Fitted clusters: everything that outlives a fit of a mixture, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topmix.fitted.topics import Fitted
from topmix.fitted.view import TopicView
from topmix.likelihoods.categorical import Categorical
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture


@dataclass(frozen=True, kw_only=True)
class FittedMixture(Fitted):
    model: Mixture | Admixture
    labels: NDArray[np.int64] | None = None  # the cluster of each row of the fit, where they are kept

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        return self.model.weights()

    @property
    def optimises(self) -> str:
        """The objective: "vb", "map" or "ml"."""
        return self.model.objective

    @property
    def lower_bound(self) -> float | None:
        """The objective as scikit-learn has it: per row for "ml"."""
        if self.objective is None:
            return None
        return self.objective / self.n_seen if self.optimises == "ml" else self.objective

    @cached_property
    def view(self) -> TopicView:
        """Clusters of counts as topics of words."""
        words = self.model.likelihood
        if not isinstance(words, Categorical):
            raise ValueError("these clusters have no topics of words: pass a topic model or a MultinomialMixture")
        names = self.reading.words
        named = [str(v) for v in (range(self.reading.n_features) if names is None else names)]
        return TopicView(words.mean(), self.weights, 0.0, named, self.reproducibility)
