"""Learners: how the statistics of shards become the next model. A new learner is one file and one line here.

A learner is a component that a user passes in. Its `passes` is a generator: each `next` makes one pass over the data
and yields the model. It sees workers, the algebra of statistics and `model.update`; it never sees a likelihood, a
thread or a socket.
"""

from topmix.learn.asynchronous import Asynchronous
from topmix.learn.learners import Batch, Learner, Memoized, Stochastic

LEARNERS: dict[str, type[Learner]] = {
    "memoized": Memoized,
    "batch": Batch,
    "stochastic": Stochastic,
    "asynchronous": Asynchronous,
}
