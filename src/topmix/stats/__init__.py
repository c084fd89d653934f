"""Sufficient statistics: what a local step reports of a shard.

A statistic is a value that can be added, subtracted and scaled, so every learner is a few lines of this algebra: batch
sums, memoized adds new and subtracts old, stochastic blends, and an engine may return shards from anywhere.
"""

from topmix.stats.additive import Additive
from topmix.stats.mixture import MixtureStats
from topmix.stats.pseudo_counts import PseudoCounts
from topmix.stats.topics import TopicStats
from topmix.stats.words import WordStats, WordTotal

__all__ = ["Additive", "MixtureStats", "PseudoCounts", "TopicStats", "WordStats", "WordTotal"]
