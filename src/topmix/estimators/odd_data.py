"""Data that can be learned from, and is hardly what its owner meant: they are told."""

from __future__ import annotations

import warnings

from topmix.data.corpus import Corpus
from topmix.estimators.token_topics import not_whole

LIGHT = 10.0  # tokens: documents that weigh less on average may be proportions or tf-idf, if they are not whole numbers


def warn_of_odd_data(corpus: Corpus, n_components: int | None) -> None:
    """Warns where there are more topics than documents, and where rows were scaled to have no length of documents."""
    n_docs = corpus.n_docs
    if n_components is not None and n_components > n_docs > 0:
        warnings.warn(
            f"there are more topics ({n_components}) than documents ({n_docs}), so some topics stay empty: pass fewer "
            "topics, or cut long documents into parts",
            UserWarning,
            stacklevel=4,
        )
    weight = corpus.n_tokens / max(n_docs, 1)
    if 0 < weight < LIGHT and len(not_whole(corpus)):
        warnings.warn(
            f"X is not counts: a row sums to {weight:.3g} on average, as proportions and tf-idf weights do. A document "
            "is then learned from as if it had so few words, and gets one topic: pass counts of words, or multiply "
            "each row by the length of its document",
            UserWarning,
            stacklevel=4,
        )
