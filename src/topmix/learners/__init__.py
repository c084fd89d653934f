"""Learners: how statistics of shards become the next model. A new learner is one file and one line here.

A learner is a generator: each `next` makes one pass and yields (model, total). It sees an engine, the algebra of
statistics and `model.update`; it never sees a likelihood, a thread or a socket.
"""

from topmix.learners.batch import batch
from topmix.learners.learner import Learner, State
from topmix.learners.memoized import memoized
from topmix.learners.stochastic import stochastic

LEARNERS: dict[str, Learner] = {"batch": batch, "memoized": memoized, "stochastic": stochastic}

__all__ = ["LEARNERS", "Learner", "State", "batch", "memoized", "stochastic"]
