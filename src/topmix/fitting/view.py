"""What a callback sees of a fit after a pass."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from topmix.chains.gibbs import Chain
from topmix.chains.hard_topics import HardTopics
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.models.topics import TopicModel
from topmix.stats import WordTotal

Learned: TypeAlias = TopicModel | Mixture | Admixture | Chain | HardTopics  # what a pass leaves


class PassView:
    """The state of a fit after a pass, the same for every estimator. It is valid during the callback only; a
    pickle of it has copies.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import LDA
    >>> def largest(record, view):
    ...     print(record.n_pass, view.n_components, view.weights.shape)
    >>> X = np.random.default_rng(0).poisson(0.3, (50, 20))
    >>> _ = LDA(3, max_iter=1, random_state=0, callbacks=[largest]).fit(X)
    1 3 (3,)
    """

    def __init__(self, model: Learned | _Kept, fitted: Callable[[Any], Any]):
        self._model, self._fitted = model, fitted

    @property
    def n_components(self) -> int:
        return int(self._model.n_components)

    @property
    def weights(self) -> np.ndarray:
        """[K] the share of each topic or cluster."""
        return np.array(self._model.weights())

    def counts(self) -> np.ndarray | None:
        """[V, K] tokens of each word in each topic, not to be written to; None where rows are not words."""
        model = self._model
        if isinstance(model, _Kept):
            return model.word
        if isinstance(model, Chain | HardTopics):  # each token has one topic
            return _read_only(model.word)
        total = model.words.total.on_host() if isinstance(model, TopicModel) else model.on_host().likelihood.total
        if not isinstance(total, WordTotal):
            return None
        return _read_only(total.raw) if total.factor == 1.0 else total.counts()

    def fitted(self) -> Any:
        """A fitted copy of the estimator as it is now: yours to keep, to score and to save."""
        return self._fitted(self._model)

    def __reduce__(self) -> tuple[Callable[[_Kept], PassView], tuple[_Kept]]:
        """A view that is pickled has copies, and lasts. Callbacks stay here: most are functions inside of others."""
        estimator = self.fitted()
        estimator.callbacks = None
        return _view_of, (_Kept(self.n_components, self.weights, self.counts(), estimator),)


@dataclass(frozen=True)
class _Kept:
    """What a pickled view has in the place of the model of a fit."""

    n_components: int
    shares: np.ndarray
    word: np.ndarray | None
    estimator: Any

    def weights(self) -> np.ndarray:
        return self.shares


def _view_of(kept: _Kept) -> PassView:
    return PassView(kept, _estimator_of)


def _estimator_of(kept: _Kept) -> Any:
    return copy.copy(kept.estimator)


def _read_only(array: np.ndarray) -> np.ndarray:
    """The fit goes on with this array: a callback that writes to it is an error, not a spoilt fit."""
    view = array.view()
    view.flags.writeable = False
    return view
