"""The synthetic corpora of Jiang, Sra & Kulis, Combinatorial topic models (2016)."""

from __future__ import annotations

from typing import Any

from topmix.corpus.generate import LdaSample
from topmix.data import sample_lda

SYNTHETIC: dict[str, dict[str, Any]] = {
    "SynthA": {"n_words": 2000, "n_topics": 20, "doc_length": 150, "doc_topic_prior": 0.04, "topic_word_prior": 0.05},
    "SynthB": {"n_words": 3000, "n_topics": 50, "doc_length": 200, "doc_topic_prior": 0.02, "topic_word_prior": 0.01},
}


def synthetic(name: str, n_docs: int, seed: int = 0, **changes: Any) -> LdaSample:
    """One of them; `changes` make it smaller."""
    return sample_lda(n_docs, length_distribution="fixed", random_state=seed, **SYNTHETIC[name] | changes)
