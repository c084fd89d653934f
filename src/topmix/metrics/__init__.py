"""Measures of topics: prediction, coherence, diversity, and agreement with the truth or with another model.

Every function takes plain arrays (topics as a K × V matrix, documents as counts), so it works with topics of any
library.
"""

from topmix.metrics.coherence import cv_coherence, npmi_coherence, umass_coherence
from topmix.metrics.completion import (
    DocumentScores,
    completion_score,
    completion_scorer,
    completion_scores,
    half_split_score,
)
from topmix.metrics.diversity import duplicate_topics, empty_topics, largest_share, topic_diversity
from topmix.metrics.likelihood import discrete_log_likelihood, token_log_likelihood
from topmix.metrics.matching import TopicMatch, adjusted_rand, match_topics, nmi, topic_recovery_error
from topmix.metrics.splits import split_tokens, split_types

__all__ = [
    "DocumentScores",
    "TopicMatch",
    "adjusted_rand",
    "completion_score",
    "completion_scorer",
    "completion_scores",
    "cv_coherence",
    "discrete_log_likelihood",
    "duplicate_topics",
    "empty_topics",
    "half_split_score",
    "largest_share",
    "match_topics",
    "nmi",
    "npmi_coherence",
    "split_tokens",
    "split_types",
    "token_log_likelihood",
    "topic_diversity",
    "topic_recovery_error",
    "umass_coherence",
]
