"""One fit from start to end: passes, records, progress, interrupts, checkpoints."""

from topmix.learn.history import Callback, PassView, Record, StopOnInterrupt, TimeLimit
from topmix.learn.progress import FitProgress

__all__ = ["Callback", "FitProgress", "PassView", "Record", "StopOnInterrupt", "TimeLimit"]
