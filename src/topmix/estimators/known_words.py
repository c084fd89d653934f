"""The words of a fitted estimator, packed once, so that a Corpus in the same words is recognised at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from topmix.data.errors import CorpusError
from topmix.data.strings import Strings


class KnownWords:
    """Made from the `feature_names_in_` of an estimator, and valid while it has those."""

    def __init__(self, estimator: Any) -> None:
        self.names = _words_of(estimator)

    def is_of(self, estimator: Any) -> bool:
        return _words_of(estimator) is self.names

    @cached_property
    def strings(self) -> Strings | None:
        try:
            return None if self.names is None else Strings.pack([str(name) for name in self.names])
        except CorpusError:  # UTF-8 does not hold every string
            return None

    def are(self, vocabulary: Sequence[str]) -> bool:
        """Whether a vocabulary is packed and has the same words in the same order. False says nothing of others."""
        own = self.strings
        if own is None or not isinstance(vocabulary, Strings) or vocabulary.file is not None:
            return False
        return np.array_equal(vocabulary.offsets, own.offsets) and np.array_equal(vocabulary.text, own.text)


_KNOWN: WeakKeyDictionary[Any, KnownWords] = WeakKeyDictionary()


def known_words(estimator: Any) -> KnownWords:
    known = _KNOWN.get(estimator)
    if known is None or not known.is_of(estimator):
        known = _KNOWN[estimator] = KnownWords(estimator)
    return known


def _words_of(estimator: Any) -> Any:
    return getattr(estimator, "feature_names_in_", None)
