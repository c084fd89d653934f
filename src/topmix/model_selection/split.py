"""Documents to learn from and documents to score, the same for all fits of a sweep."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from topmix.data.corpus import Corpus
from topmix.parameters.checks import whole_number

SHARE = 0.1  # of the documents are held out, by default
ENOUGH, MOST = 50, 2000  # documents: scores of fewer are noise, and more cost time and change little
FEWEST = 2


class HeldOut(NamedTuple):
    train: Corpus
    test: Corpus  # in the same words


def hold_out(corpus: Corpus, wanted: float | None, seed: int) -> HeldOut:
    """Random documents with two different words or more are held out; the others are learned from.

    Words that only held-out documents have are left out: no topic could have learned them.
    """
    usable = np.flatnonzero(np.diff(corpus.indptr) >= 2)
    if len(usable) < 2 * FEWEST:
        raise ValueError(
            f"the data has {len(usable)} documents with two different words or more; to hold some of them out, "
            f"a sweep needs at least {2 * FEWEST}"
        )
    n = _number(wanted, len(usable))
    chosen = np.random.default_rng(seed).choice(usable, n, replace=False)
    is_test = np.zeros(corpus.n_docs, dtype=bool)
    is_test[chosen] = True
    train = corpus[np.flatnonzero(~is_test)]
    seen = np.bincount(train.index, minlength=corpus.n_words) > 0
    test = corpus[np.flatnonzero(is_test)]
    return HeldOut(train, test) if seen.all() else HeldOut(train.keep_words(seen), test.keep_words(seen))


def _number(wanted: Any, usable: int) -> int:
    if wanted is None:
        return int(min(max(round(SHARE * usable), min(ENOUGH, usable // 3), FEWEST), MOST))
    if isinstance(wanted, float | np.floating):
        if not 0 < wanted < 1:
            raise ValueError(f"held_out must be a share between 0 and 1, or a number of documents, got {wanted!r}")
        return min(max(round(wanted * usable), FEWEST), usable - FEWEST)
    n = whole_number(wanted, "held_out", least=FEWEST)
    if n > usable - FEWEST:
        raise ValueError(f"held_out={n}: only {usable} documents have two different words, and some must be left")
    return n
