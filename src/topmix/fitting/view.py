"""What a callback sees of a fit after a pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from topmix.chains.gibbs import Chain
from topmix.chains.hard_topics import HardTopics
from topmix.models.mixture import Mixture
from topmix.models.topics import TopicModel
from topmix.stats import WordTotal

Learned: TypeAlias = TopicModel | Mixture | Chain | HardTopics  # what a pass leaves


class PassView:
    """The state of a fit after a pass, the same for every estimator. It is valid during the callback only.

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

    def __init__(self, model: Learned, fitted: Callable[[Learned], Any]):
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
        if isinstance(model, Chain | HardTopics):  # each token has one topic
            return _read_only(model.word)
        total = model.words.total.on_host() if isinstance(model, TopicModel) else model.on_host().likelihood.total
        if not isinstance(total, WordTotal):
            return None
        return _read_only(total.raw) if total.factor == 1.0 else total.counts()

    def fitted(self) -> Any:
        """A fitted copy of the estimator as it is now: yours to keep, to score and to save."""
        return self._fitted(self._model)


def _read_only(array: np.ndarray) -> np.ndarray:
    """The fit goes on with this array: a callback that writes to it is an error, not a spoilt fit."""
    view = array.view()
    view.flags.writeable = False
    return view
