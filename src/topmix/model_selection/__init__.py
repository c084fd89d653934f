"""Choosing the number of topics, and topics to rely on: fits of several sizes, seeds and samples, measured, matched."""

from topmix.model_selection.consensus_fits import consensus
from topmix.model_selection.consensus_result import ConsensusResult
from topmix.model_selection.fits import sweep
from topmix.model_selection.result import SweepResult

__all__ = ["ConsensusResult", "SweepResult", "consensus", "sweep"]
