"""Engines: who runs workers, where, in what order. A new engine is one file and one line here.

An engine is a component that a user passes in. `open` gives it data and a local step, and returns the workers that
learners talk to.
"""

from topmix.engines.cuda import Cuda
from topmix.engines.engine import Engine, ShardResult, Watched, Workers
from topmix.engines.local import Serial, Threads
from topmix.engines.ray_engine import Ray

ENGINES: dict[str, type[Engine]] = {"threads": Threads, "serial": Serial, "ray": Ray, "cuda": Cuda}

__all__ = ["ENGINES", "Cuda", "Engine", "Ray", "Serial", "ShardResult", "Threads", "Watched", "Workers"]
