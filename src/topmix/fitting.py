"""One fit from start to end: passes, records, progress, interrupts, checkpoints."""

from topmix.learn.history import Callback, FitProgress, PassView, Record, StopOnInterrupt, TimeLimit

__all__ = ["Callback", "FitProgress", "PassView", "Record", "StopOnInterrupt", "TimeLimit"]
