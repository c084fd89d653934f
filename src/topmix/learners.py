"""Learners: how the statistics of shards become the next model. A new learner is one file and one line here."""

from topmix.learn import LEARNERS
from topmix.learn.asynchronous import Asynchronous
from topmix.learn.learners import Batch, Learner, Memoized, Passes, PassResult, State, Stochastic, Task

__all__ = [
    "LEARNERS", "Asynchronous", "Batch", "Learner", "Memoized", "PassResult", "Passes", "State", "Stochastic",
    "Task",
]  # fmt: skip
