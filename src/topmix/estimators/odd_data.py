"""Counts that can be learned from, and are hardly what their owner meant: a warning says so. And counts that some
estimators refuse: those that are not whole, or too large."""

from __future__ import annotations

import warnings

import numpy as np

from topmix.base.checks import LARGEST_COUNT
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import row_sums

MANY_TOKENS = 20_000_000  # about a second of sampling
MOST_COPIES = 50  # tokens of an entry, on average, that are sampled one by one
MOST_DRAWN = 2**24  # tokens of a document: samplers count them in floats, which are whole numbers so far
LARGEST_SUM = 1e38  # of counts, in floats
LEAST_SUM = 1e-6
BLOCK = 1 << 20  # entries that are looked at at a time
LIGHT = 10.0  # tokens: documents that weigh less on average may be proportions or tf-idf, if they are not whole numbers


def warn_of_odd_data(corpus: Corpus, n_components: int | None) -> None:
    """Warns where there are more topics than documents, and where rows were scaled to have no length of documents."""
    n_docs = corpus.n_docs
    if n_components is not None and n_components > n_docs > 0:
        warn(f"there are more topics ({n_components}) than documents ({n_docs}), so some topics stay empty")
    weight = corpus.n_tokens / max(n_docs, 1)
    if 0 < weight < LIGHT and len(not_whole(corpus)):
        warn(
            f"X is not counts: a row sums to {weight:.3g} on average, as if documents had so few words. Pass counts, "
            "or multiply each row by the length of its document"
        )


def warn_of_many_tokens(corpus: Corpus, owner: str) -> None:
    """Warns where counts are so large that a pass over single tokens takes seconds, and nothing would say so."""
    if corpus.n_tokens > max(MANY_TOKENS, MOST_COPIES * corpus.nnz):
        n = f"{corpus.n_tokens:,.0f}"
        warn(f"{owner} gives tokens topics and visits all {n} of them in each pass. Divide the counts, or use LDA")


def warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=7)


def check_sums(corpus: Corpus) -> None:
    """Counts whose sums, by word or by document, do not fit into the floats that hold them, or are lost in them."""
    if 0 < corpus.n_tokens < LEAST_SUM:
        raise ValueError(f"all of X sums to {corpus.n_tokens:.3g}, which is too little to learn from. Multiply X.")
    if not corpus.n_tokens < LARGEST_SUM:
        for what, tokens in _sums(corpus):
            if not tokens.max() < LARGEST_SUM:
                name, i = "column" if what == "word" else "row", int(tokens.argmax())
                largest = f"{tokens.max():.3g}, and must stay below {LARGEST_SUM:g}"
                raise ValueError(f"{name} {i} sums to {largest}. Divide X by a constant.")


def _sums(corpus: Corpus) -> list[tuple[str, np.ndarray]]:
    words = np.bincount(corpus.index, weights=corpus.value, minlength=corpus.n_words)
    return [("word", words), ("document", row_sums(corpus.indptr, corpus.value))]


def not_whole(corpus: Corpus) -> np.ndarray:
    """Entries whose counts are not whole numbers of tokens."""
    blocks = ((begin, corpus.value[begin : begin + BLOCK]) for begin in range(0, corpus.nnz, BLOCK))  # of a mapped file
    return np.concatenate([np.empty(0, np.intp), *(a + np.flatnonzero(v != np.floor(v)) for a, v in blocks)])


def can_be_sampled(corpus: Corpus) -> bool:
    """Whether tokens can be drawn one by one: they are whole, and not too many of an entry or of a document."""
    if corpus.n_tokens > MOST_COPIES * corpus.nnz or len(not_whole(corpus)):
        return False
    return corpus.n_tokens <= MOST_DRAWN or float(row_sums(corpus.indptr, corpus.value).max()) <= MOST_DRAWN


def check_whole_counts(corpus: Corpus, owner: str, most: int = LARGEST_COUNT) -> None:
    """Tokens are whole: a count that is not is an error, with its place. Counters of tokens have 32 bits, and hold at
    most `most` of a document."""
    if corpus.n_tokens > min(LARGEST_COUNT, most):
        for (what, tokens), limit in zip(_sums(corpus), (LARGEST_COUNT, most)):
            if tokens.max() > limit:
                raise ValueError(
                    f"{owner} counts at most {limit:,} tokens of a {what}; {what} {int(tokens.argmax())} has "
                    f"{tokens.max():,.0f}. Use LDA, or divide the counts."
                )
    if len(bad := not_whole(corpus)):
        at = int(bad[0])
        row, column = int(np.searchsorted(corpus.indptr, at, side="right")) - 1, int(corpus.index[at])
        raise ValueError(
            f"{owner} needs whole numbers; row {row}, column {column} has {corpus.value[at]:g}. For weights use LDA."
        )
