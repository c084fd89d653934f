"""One fit from start to end: passes, records, progress, interrupts, checkpoints."""

from topmix.fitting.history import Callback, Record, TimeLimit
from topmix.fitting.interrupt import StopOnInterrupt
from topmix.fitting.progress import FitProgress
from topmix.fitting.view import PassView

__all__ = ["Callback", "FitProgress", "PassView", "Record", "StopOnInterrupt", "TimeLimit"]
