"""A fitted topic model without some of its words, for a stream whose vocabulary is bounded."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from topmix.models.edit import with_words


def keep_words(estimator: Any, kept: np.ndarray) -> Any:
    """A copy of the estimator with the words of this mask alone. The estimator stays as it is."""
    if estimator.model_.words.eta.shape[0] > 1:
        raise ValueError("words cannot retire where topic_word_prior is one value per word: make it one number")
    now = copy.copy(estimator)
    now.n_features_in_ = int(kept.sum())
    if hasattr(now, "feature_names_in_"):
        now.feature_names_in_ = now.feature_names_in_[kept]
    now.vectorizer_ = None  # its settings are in tokenizer_, and its words are the names of the features
    now._set_model(with_words(estimator.model_, kept))
    return now
