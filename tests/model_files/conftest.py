"""A corpus with names for its words, and what a model learned from it."""

from __future__ import annotations

import pytest

from topmix.data import Corpus, sample_lda


@pytest.fixture(scope="module")
def corpus():
    sample = sample_lda(120, 40, 4, doc_length=50, random_state=1).corpus
    return Corpus.from_scipy(sample.to_scipy(), vocabulary=[f"word{v}" for v in range(40)])


def learned(model):
    """What it learned, in one array."""
    return model.components_ if hasattr(model, "components_") else model.means_
