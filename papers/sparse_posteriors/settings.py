"""The paper's settings: alpha = 0.5, eta = 0.1, step size (10 + t)^-0.65, fixed beforehand. And our collapsed ones."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import drawing
from benchmarks.harness.methods.method import ETA

Settings = dict[str, Any]
VARIATIONAL: Settings = {"inference": "variational", "topic_word_prior": ETA, "within_passes": True}
DENSE: Settings = {"n_active": None, "inference__min_topic_mass": 0.0}
SVI: Settings = {
    "learner": "stochastic", "learner__offset": 10.0, "learner__decay": 0.65, "inference__cold_visits": None,
}  # fmt: skip
LEARNERS: dict[str, Settings] = {
    "memoized L = 8": VARIATIONAL | {"n_active": 8},
    "memoized L = 1": VARIATIONAL | {"n_active": 1},
    "memoized dense": VARIATIONAL | DENSE,
    "stochastic L = 8": VARIATIONAL | SVI | {"n_active": 8},
    "stochastic dense": VARIATIONAL | SVI | DENSE,
    "batch dense": VARIATIONAL | DENSE | {"learner": "batch"},
    "collapsed memoized L = 16": {"within_passes": True},
    "SCVB0 L = 16": {"inference": "scvb0", "learner": "stochastic", "within_passes": True},
}
PEERS = {"sklearn": "fixed", "gensim": "fixed", "tomotopy": "fixed"}
STYLES: dict[str, Settings] = {
    "memoized L = 8": {"color": drawing.BLUE, "lw": 1.8},
    "memoized L = 1": {"color": drawing.BLUE, "ls": ":"},
    "memoized dense": {"color": drawing.BLUE, "ls": "--"},
    "stochastic L = 8": {"color": drawing.RED, "lw": 1.8},
    "stochastic dense": {"color": drawing.RED, "ls": "--"},
    "batch dense": {"color": drawing.PURPLE, "ls": "--"},
    "collapsed memoized L = 16": {"color": drawing.GREEN, "lw": 2.2},
    "SCVB0 L = 16": {"color": drawing.GREEN, "ls": "-."},
    "sklearn": {"color": drawing.ORANGE},
    "gensim": {"color": drawing.SKY},
    "tomotopy": {"color": drawing.BLACK},
}
