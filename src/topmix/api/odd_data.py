"""Data that can be learned from, and is hardly what its owner meant: they are warned. And counts that are not whole,
which some estimators refuse."""

from __future__ import annotations

import warnings
from collections.abc import Sized

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.parameters.checks import LARGEST_COUNT

MANY_TOKENS = 20_000_000  # about a second of sampling
MOST_COPIES = 50  # tokens of an entry, on average, that are sampled one by one
MOST_DRAWN = 2**24  # tokens of a document: samplers count them in floats, which are whole numbers so far
LARGEST_SUM = 1e38  # of counts, in floats
BLOCK = 1 << 20  # entries that are looked at at a time
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


def warn_of_few_rows(n_rows: int, n_components: int) -> None:
    """Warns where a mixture has more clusters than rows."""
    if n_components > n_rows:
        warnings.warn(
            f"there are more clusters ({n_components}) than rows ({n_rows}), so some clusters stay empty or "
            "hold a row each: pass fewer clusters",
            UserWarning,
            stacklevel=7,
        )


def check_targets(y: object, n: int) -> None:
    """y is not used. One that does not belong to these rows is a mistake all the same: perhaps names of columns."""
    if isinstance(y, Sized) and not isinstance(y, str | bytes) and len(y) != n:
        raise ValueError(
            f"y has {len(y):,} values, but X has {n:,} rows; it is not used, so leave it out. Names of the columns are "
            "feature_names="
        )


def check_sums(corpus: Corpus) -> None:
    """Counts whose sums, by word or by document, do not fit into the floats that hold them."""
    if not corpus.n_tokens < LARGEST_SUM:
        words = np.bincount(corpus.index, weights=corpus.value, minlength=corpus.n_words)
        for what, tokens in (("column", words), ("row", row_sums(corpus.indptr, corpus.value))):
            if not tokens.max() < LARGEST_SUM:
                raise ValueError(
                    f"X has counts that are too large to be summed: {what} {int(tokens.argmax())} sums to "
                    f"{tokens.max():.3g}, and must stay below {LARGEST_SUM:g}. Divide X by a constant."
                )


def not_whole(corpus: Corpus) -> np.ndarray:
    """Entries whose counts are not whole numbers of tokens."""
    blocks = ((begin, corpus.value[begin : begin + BLOCK]) for begin in range(0, corpus.nnz, BLOCK))  # of a mapped file
    return np.concatenate([np.empty(0, np.intp), *(a + np.flatnonzero(v != np.floor(v)) for a, v in blocks)])


def can_be_drawn(corpus: Corpus) -> bool:
    """Whether documents are short enough to be sampled token by token."""
    return corpus.n_tokens <= MOST_DRAWN or float(row_sums(corpus.indptr, corpus.value).max()) <= MOST_DRAWN


def warn_of_many_tokens(corpus: Corpus, owner: str) -> None:
    """Warns where counts are so large that a pass over single tokens takes seconds, and nothing would say so."""
    if corpus.n_tokens > max(MANY_TOKENS, MOST_COPIES * corpus.nnz):
        warnings.warn(
            f"{owner} gives every token a topic, and visits all {corpus.n_tokens:,.0f} of them in each pass; X has "
            f"only {corpus.nnz:,} counts. Expect seconds to minutes a pass. Divide the counts, or use LDA, which takes "
            "no longer for larger ones",
            UserWarning,
            stacklevel=6,
        )


def check_whole_counts(corpus: Corpus, owner: str, most: int = LARGEST_COUNT) -> None:
    """Tokens are whole: a count that is not is an error, with its place. Counters of tokens have 32 bits, and hold at
    most `most` of a document."""
    if corpus.n_tokens > min(LARGEST_COUNT, most):
        words = np.bincount(corpus.index, weights=corpus.value, minlength=corpus.n_words)
        documents = row_sums(corpus.indptr, corpus.value)
        for what, tokens, limit in (("word", words, LARGEST_COUNT), ("document", documents, most)):
            if tokens.max() > limit:
                raise ValueError(
                    f"{owner} gives every token a topic, and counts at most {limit:,} tokens of a {what}; "
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
