"""What every kind of inference offers to a topic model."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from topmix.learners import Learner
from topmix.local import LocalStep
from topmix.models.document_options import DocumentOptions
from topmix.parameters.component import Component


class Inference(Component):
    posterior: ClassVar[str]  # "collapsed" | "variational"
    by_tokens: ClassVar[bool] = False  # stochastic learning weighs a batch by its tokens instead of its documents
    has_checkpoints: ClassVar[bool] = True
    sweeps: int = 0  # of sampling, between the first passes of a fit and its last ones
    smoothing: float | None = None  # what replaces the prior in reported probabilities of words; None: the default

    @abstractmethod
    def document_options(self, n_active: int | None) -> DocumentOptions:
        """How documents are solved under fixed topics."""

    @abstractmethod
    def step(self, seed: int) -> LocalStep:
        """The local step of learning; `seed` is for steps that draw random numbers."""

    def check_learner(self, learner: Learner) -> None:
        """Raises ValueError where the learner cannot use this inference."""
        learner.check_posterior(self.posterior)

    @property
    def starts_cold(self) -> bool:
        """Whether a shard's second visit starts from the words of its documents, and so sees a new topic."""
        return True
