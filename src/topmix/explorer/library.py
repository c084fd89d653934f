"""The documents, in arrays that answer questions without looking at every document: words by document, documents by
word, texts, and columns beside them. It knows nothing of topics, so it stays while the model changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.explorer.texts import TextStore
from topmix.report.columns import Column


class Library:
    def __init__(
        self,
        corpus: Corpus,
        words: Sequence[str],
        texts: Iterable[str] | None = None,
        columns: Mapping[str, Sequence[Any]] | None = None,
        held_out: Corpus | None = None,
    ):
        self.corpus, self.words, self.held_out = corpus, words, held_out
        self.texts = None if texts is None else TextStore(texts)
        if self.texts is not None and len(self.texts) != corpus.n_docs:
            raise ValueError(f"there are {len(self.texts)} texts for {corpus.n_docs} documents: pass one each")
        self.columns: dict[str, Column] = {}
        for name, values in (columns or {}).items():
            if len(values) != corpus.n_docs:
                raise ValueError(f"column {name!r} has {len(values)} values for {corpus.n_docs} documents")
            self.columns[str(name)] = Column(str(name), values)
        self.lengths: NDArray[np.float64] = row_sums(corpus.indptr, corpus.value)
        self.by_word = corpus.to_scipy().tocsc()  # documents of each word

    @property
    def n_docs(self) -> int:
        return self.corpus.n_docs

    @cached_property
    def id_of(self) -> dict[str, int]:
        return {word: v for v, word in enumerate(self.words)}

    @cached_property
    def _sorted(self) -> tuple[list[str], NDArray[np.intp]]:
        """Words in lower case in the order of the alphabet, and their ids, to find those that begin so."""
        lower = [word.lower() for word in self.words]
        order = np.array(sorted(range(len(lower)), key=lower.__getitem__), np.intp)
        return [lower[v] for v in order.tolist()], order

    def word_id(self, word: str) -> int | None:
        found = self.id_of.get(word)
        return self.id_of.get(word.lower()) if found is None else found

    def words_that_begin(self, prefix: str) -> NDArray[np.intp]:
        from bisect import bisect_left

        lower, order = self._sorted
        begin = bisect_left(lower, prefix)
        end = bisect_left(lower, True, begin, key=lambda word: not word.startswith(prefix))  # they are in one run
        return order[begin:end]

    def name(self, d: int) -> str:
        return str(d) if self.corpus.names is None else self.corpus.names[d]

    def text(self, d: int) -> str | None:
        return None if self.texts is None else self.texts[d]

    def with_words(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Documents that have all of these words, and how many tokens of them."""
        rows: NDArray[np.int64] | None = None
        count = np.zeros(0)
        for v in ids:
            at = slice(self.by_word.indptr[v], self.by_word.indptr[v + 1])
            mine, tokens = self.by_word.indices[at].astype(np.int64), self.by_word.data[at].astype(np.float64)
            if rows is None:
                rows, count = mine, tokens
            else:
                rows, a, b = np.intersect1d(rows, mine, assume_unique=True, return_indices=True)
                count = count[a] + tokens[b]
        return (np.arange(self.n_docs), np.zeros(self.n_docs)) if rows is None else (rows, count)

    def close(self) -> None:
        if self.texts is not None:
            self.texts.close()
