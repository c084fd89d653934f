"""Data that can be learned from, and is hardly what its owner meant: they are warned. And counts that are not whole,
which some estimators refuse, and arrays of another shape than they must have."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sized

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from topmix.base.checks import LARGEST_COUNT, one_of
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import row_sums

MANY_TOKENS = 20_000_000  # about a second of sampling
MOST_COPIES = 50  # tokens of an entry, on average, that are sampled one by one
MOST_DRAWN = 2**24  # tokens of a document: samplers count them in floats, which are whole numbers so far
LARGEST_SUM = 1e38  # of counts, in floats
LARGEST_WEIGHT = 1e30  # of a row: its products with counts are summed in floats
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


def check_targets(y: object, n: int) -> None:
    """y is not used. One that does not belong to these rows is a mistake all the same: perhaps names of columns."""
    if isinstance(y, Sized) and not isinstance(y, str | bytes) and len(y) != n:
        raise ValueError(f"y has {len(y):,} values, but X has {n:,} rows. It is not used; names go to feature_names=")


def check_sums(corpus: Corpus) -> None:
    """Counts whose sums, by word or by document, do not fit into the floats that hold them."""
    if not corpus.n_tokens < LARGEST_SUM:
        for what, tokens in _sums(corpus):
            if not tokens.max() < LARGEST_SUM:
                name, i = "column" if what == "word" else "row", int(tokens.argmax())
                largest = f"{tokens.max():.3g}, and must stay below {LARGEST_SUM:g}"
                raise ValueError(f"{name} {i} sums to {largest}. Divide X by a constant.")


def _sums(corpus: Corpus) -> list[tuple[str, np.ndarray]]:
    """Tokens of each word, and of each document."""
    words = np.bincount(corpus.index, weights=corpus.value, minlength=corpus.n_words)
    return [("word", words), ("document", row_sums(corpus.indptr, corpus.value))]


def not_whole(corpus: Corpus) -> np.ndarray:
    """Entries whose counts are not whole numbers of tokens."""
    blocks = ((begin, corpus.value[begin : begin + BLOCK]) for begin in range(0, corpus.nnz, BLOCK))  # of a mapped file
    return np.concatenate([np.empty(0, np.intp), *(a + np.flatnonzero(v != np.floor(v)) for a, v in blocks)])


def can_be_drawn(corpus: Corpus) -> bool:
    """Whether documents are short enough to be sampled token by token."""
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


def checked_weights(sample_weight: object, data: Corpus | Rows) -> np.ndarray | None:
    if sample_weight is None:
        return None
    rows = data.to_scipy() if isinstance(data, Corpus) else data.data
    # Private, and public nowhere: scikit-learn's own checks and errors of weights.
    weight = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True))
    largest = float(weight.max(initial=0.0))
    if largest > 0 and not 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise ValueError(
            f"the largest sample_weight is {largest:.3g}; it must be from {1 / LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
        )
    return weight


def responsibilities(init: object, n_rows: int, K: int, starts: Iterable[str], parameter: str) -> np.ndarray | None:
    """[N, K] where init is an array; None where it is the name of a start."""
    if isinstance(init, str):
        one_of(init, starts, parameter)
        return None
    r = np.asarray(init)
    if r.ndim == 1 and len(r) == n_rows and r.dtype.kind in "iu" and r.min() >= 0 and r.max() < K:
        return np.eye(K)[r]
    r = array(r, (n_rows, K), parameter)
    if r.min() < 0 or not np.allclose(r.sum(axis=1), 1):
        raise ValueError(f"{parameter} must be responsibilities: rows that are not negative and sum to one")
    return r


def array(value: object, shape: tuple[int, ...], parameter: str, where: str = "") -> np.ndarray:
    """Finite numbers of this shape. Errors are in scikit-learn's words, which people match on."""
    try:
        a = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{where}The parameter '{parameter}' should be numbers of the shape {shape}") from None
    if a.shape != shape:
        raise ValueError(f"{where}The parameter '{parameter}' should have the shape of {shape}, but got {a.shape}")
    if not np.all(np.isfinite(a)):
        raise ValueError(f"{where}The parameter '{parameter}' has entries that are not finite")
    return a
