"""Choosing the number of topics, and topics to rely on: fits of several sizes, seeds and samples, measured, matched."""

from topmix.selection.consensus import consensus
from topmix.selection.result import ConsensusResult, SweepResult
from topmix.selection.sweep import sweep

__all__ = ["ConsensusResult", "SweepResult", "consensus", "sweep"]
