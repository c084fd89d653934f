"""Choosing the number of topics: fits of several sizes and seeds, measured on the same held-out documents."""

from topmix.model_selection.fits import sweep
from topmix.model_selection.result import SweepResult

__all__ = ["SweepResult", "sweep"]
