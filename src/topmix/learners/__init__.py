"""Learners: how the statistics of shards become the next model. A new learner is one file and one line here.

A learner is a component that a user passes in. Its `passes` is a generator: each `next` makes one pass over the data
and yields the model. It sees workers, the algebra of statistics and `model.update`; it never sees a likelihood, a
thread or a socket.
"""

from topmix.learners.asynchronous import Asynchronous
from topmix.learners.batch import Batch
from topmix.learners.learner import Learner, Passes, PassResult, State, Task
from topmix.learners.memoized import Memoized
from topmix.learners.stochastic import Stochastic

LEARNERS: dict[str, type[Learner]] = {
    "memoized": Memoized,
    "batch": Batch,
    "stochastic": Stochastic,
    "asynchronous": Asynchronous,
}

__all__ = [
    "LEARNERS",
    "Asynchronous",
    "Batch",
    "Learner",
    "Memoized",
    "PassResult",
    "Passes",
    "State",
    "Stochastic",
    "Task",
]
