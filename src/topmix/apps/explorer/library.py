"""The documents, in arrays that answer questions without looking at every document: words by document, documents by
word, texts, and columns beside them. They know nothing of topics, so they stay while the model changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.apps.page.documents import Floats, Ids, columns_of
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import row_sums
from topmix.selection.edits import EditScorer


class WordIndex:
    """Ids of words, by the whole word and by its beginning."""

    def __init__(self, words: Sequence[str]):
        self.words = words

    @cached_property
    def id_of(self) -> dict[str, int]:
        return {word: v for v, word in enumerate(self.words)}

    @cached_property
    def _sorted(self) -> list[tuple[str, int]]:
        """Words in lower case in the order of the alphabet, and their ids."""
        return sorted((word.lower(), v) for v, word in enumerate(self.words))

    def prepare(self) -> None:
        """Makes what the first search would wait for."""
        _ = self.id_of, self._sorted

    def find(self, word: str) -> int | None:
        return self.id_of.get(word, self.id_of.get(word.lower()))

    def beginning(self, prefix: str) -> NDArray[np.intp]:
        begin = bisect_left(self._sorted, (prefix,))
        end = bisect_left(self._sorted, True, begin, key=lambda pair: not pair[0].startswith(prefix))  # one run
        return np.array([v for _, v in self._sorted[begin:end]], np.intp)


class Library:
    """Documents for an explorer: a corpus with the words of its columns, and optionally texts, columns beside the
    documents, and held-out documents that edits are scored by."""

    def __init__(
        self,
        corpus: Corpus,
        words: Sequence[str],
        texts: Iterable[str] | None = None,
        columns: Mapping[str, Sequence[object]] | None = None,
        held_out: Corpus | None = None,
    ):
        self.corpus, self.index, self.held_out = corpus, WordIndex(words), held_out
        self.scorer = EditScorer(corpus, held_out)  # of models before and after an edit
        self.n_docs = corpus.n_docs
        self.texts = None if texts is None else list(texts)
        if self.texts is not None and len(self.texts) != corpus.n_docs:
            raise ValueError(f"there are {len(self.texts)} texts for {corpus.n_docs} documents: pass one each")
        self.columns = columns_of(columns, corpus.n_docs)
        self.lengths: Floats = row_sums(corpus.indptr, corpus.value)
        self.is_known = (self.lengths > 0) | (corpus.vectors is not None)  # documents that have topics

    @cached_property
    def by_word(self) -> sp.csc_array:
        """Documents of each word."""
        return self.corpus.to_scipy().tocsc()

    @cached_property
    def _vectors(self) -> Rows | None:
        """One for each document; of groups their means."""
        vectors = self.corpus.vectors
        return None if vectors is None else vectors.means()

    def nearest(self, d: int, n: int) -> list[tuple[int, float]]:
        """The documents whose vectors are nearest to that of d, and their cosines; none where there are no vectors."""
        if self._vectors is None:
            return []
        own = np.asarray(self._vectors.data[d : d + 1], np.float64)[0]
        blocks = (
            block @ own.astype(block.dtype) / np.maximum(np.linalg.norm(block, axis=1), 1e-30)
            for block in self._vectors.blocks()
        )
        cosines = np.concatenate([np.zeros(0), *blocks]) / max(float(np.linalg.norm(own)), 1e-30)
        cosines[d] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(n, len(cosines) - 1)]
        return [(int(e), float(cosines[e])) for e in best]

    def name(self, d: int) -> str:
        return str(d) if self.corpus.names is None else self.corpus.names[d]

    def text(self, d: int) -> str | None:
        return None if self.texts is None else self.texts[d]

    def with_words(self, ids: Sequence[int]) -> tuple[Ids, Floats]:
        """Documents that have all of these words, and how many tokens of them."""
        some = self.by_word[:, ids]
        rows = np.flatnonzero(np.bincount(some.indices, minlength=self.n_docs) == len(ids))
        return rows, np.asarray(some.sum(axis=1), np.float64).ravel()[rows]
