"""Data that can be learned from, and is hardly what its owner meant: they are warned. And counts that are not whole,
which some estimators refuse."""

from __future__ import annotations

import warnings

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.parameters.checks import LARGEST_COUNT

LIGHT = 10.0  # tokens: documents that weigh less on average may be proportions or tf-idf, if they are not whole numbers


def warn_of_odd_data(corpus: Corpus, n_components: int | None) -> None:
    """Warns where there are more topics than documents, and where rows were scaled to have no length of documents."""
    n_docs = corpus.n_docs
    if n_components is not None and n_components > n_docs > 0:
        warnings.warn(
            f"there are more topics ({n_components}) than documents ({n_docs}), so some topics stay empty: pass fewer "
            "topics, or cut long documents into parts",
            UserWarning,
            stacklevel=6,
        )
    weight = corpus.n_tokens / max(n_docs, 1)
    if 0 < weight < LIGHT and len(not_whole(corpus)):
        warnings.warn(
            f"X is not counts: a row sums to {weight:.3g} on average, as proportions and tf-idf weights do. A document "
            "is then learned from as if it had so few words, and gets one topic: pass counts of words, or multiply "
            "each row by the length of its document",
            UserWarning,
            stacklevel=6,
        )


def not_whole(corpus: Corpus) -> np.ndarray:
    """Entries whose counts are not whole numbers of tokens."""
    return np.flatnonzero(corpus.value != np.floor(corpus.value))


def check_whole_counts(corpus: Corpus, owner: str) -> None:
    """Tokens are whole: a count that is not is an error, with its place. Counters of tokens have 32 bits."""
    if corpus.n_tokens > LARGEST_COUNT:
        words = np.bincount(corpus.index, weights=corpus.value, minlength=corpus.n_words)
        for what, tokens in (("word", words), ("document", row_sums(corpus.indptr, corpus.value))):
            if tokens.max() > LARGEST_COUNT:
                raise ValueError(
                    f"{owner} gives every token a topic, and counts at most {LARGEST_COUNT:,} tokens of a {what}; "
                    f"{what} {int(tokens.argmax())} has {tokens.max():,.0f}. Use LDA, or divide the counts."
                )
    bad = not_whole(corpus)
    if len(bad):
        at = int(bad[0])
        row = int(np.searchsorted(corpus.indptr, at, side="right")) - 1
        raise ValueError(
            f"{owner} gives every token a topic, so counts must be whole numbers; row {row}, column "
            f"{int(corpus.index[at])} has {corpus.value[at]:g}. For weights use LDA."
        )
