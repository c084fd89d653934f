"""Measures of topics: prediction, coherence, diversity, and agreement with the truth or with another model."""

from topmix.results.coherence import cv_coherence, npmi_coherence, umass_coherence
from topmix.results.completion import (
    DocumentScores,
    completion_score,
    completion_scorer,
    completion_scores,
    discrete_log_likelihood,
    half_split_score,
    split_tokens,
    split_types,
    token_log_likelihood,
)
from topmix.results.measures import (
    TopicMatch,
    adjusted_rand,
    duplicate_topics,
    empty_topics,
    largest_share,
    match_topics,
    nmi,
    topic_diversity,
    topic_recovery_error,
)

__all__ = [
    "DocumentScores", "TopicMatch", "adjusted_rand", "completion_score", "completion_scorer", "completion_scores",
    "cv_coherence", "discrete_log_likelihood", "duplicate_topics", "empty_topics", "half_split_score",
    "largest_share", "match_topics", "nmi", "npmi_coherence", "split_tokens", "split_types", "token_log_likelihood",
    "topic_diversity", "topic_recovery_error", "umass_coherence",
]  # fmt: skip
