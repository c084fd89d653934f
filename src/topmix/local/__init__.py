"""Local steps: one shard under one set of tables, summarised. Here Python ends and kernels begin.

One file per step. A step is a frozen description and a pure function: everything it needs is in its arguments, and
everything it found is in its result.
"""

from topmix.local.step import Info, LocalStep, StepResult, add_info

__all__ = ["Info", "LocalStep", "StepResult", "add_info"]
