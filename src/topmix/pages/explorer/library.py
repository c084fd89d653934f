"""The documents, in arrays that answer questions without looking at every document: words by document, documents by
word, texts, and columns beside them. It knows nothing of topics, so it stays while the model changes."""

from __future__ import annotations

import tempfile
import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows, Rows
from topmix.data.shard import row_sums
from topmix.pages.columns import columns_of


class TextStore:
    """Texts by number in a temporary file, to be read one at a time: a million of them need no memory."""

    def __init__(self, texts: Iterable[str]):
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the store
        self._lock = threading.Lock()  # of the position in the file
        ends = [0]
        for text in texts:
            ends.append(ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass")))
        self._ends = np.array(ends, np.int64)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, d: int) -> str:
        if not 0 <= d < len(self):
            raise IndexError(f"there is no text {d}")
        begin, end = int(self._ends[d]), int(self._ends[d + 1])
        with self._lock:
            self._file.seek(begin)
            return self._file.read(end - begin).decode("utf-8", "replace")

    def close(self) -> None:
        self._file.close()


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
        self.corpus, self.words, self.held_out = corpus, words, held_out
        self.n_docs = corpus.n_docs
        self.texts = None if texts is None else TextStore(texts)
        if self.texts is not None and len(self.texts) != corpus.n_docs:
            raise ValueError(f"there are {len(self.texts)} texts for {corpus.n_docs} documents: pass one each")
        self.columns = columns_of(columns, corpus.n_docs)
        self.lengths: NDArray[np.float64] = row_sums(corpus.indptr, corpus.value)
        self.is_known = (self.lengths > 0) | (corpus.vectors is not None)  # documents that have topics

    def prepare(self) -> None:
        """Makes what the first search would wait for."""
        _ = self.by_word, self.id_of, self._sorted

    @cached_property
    def by_word(self) -> sp.csc_array:
        """Documents of each word."""
        return self.corpus.to_scipy().tocsc()

    @cached_property
    def _vectors(self) -> Rows | None:
        """One for each document; of groups their means."""
        vectors = self.corpus.vectors
        return vectors.means() if isinstance(vectors, GroupedRows) else vectors

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
        lower, order = self._sorted
        begin = bisect_left(lower, prefix)
        end = bisect_left(lower, True, begin, key=lambda word: not word.startswith(prefix))  # they are in one run
        return order[begin:end]

    def nearest(self, d: int, n: int) -> list[tuple[int, float]]:
        """The documents whose vectors are nearest to that of d, and their cosines; none where there are no vectors."""
        vectors = self._vectors
        if vectors is None:
            return []
        own = np.asarray(vectors.data[d : d + 1], np.float64)[0]
        found, begin = np.zeros(len(vectors)), 0
        for block in vectors.blocks():
            norm = np.maximum(np.sqrt(np.einsum("nd,nd->n", block, block)), 1e-30)
            found[begin : begin + len(block)] = block @ own.astype(block.dtype) / norm
            begin += len(block)
        found /= max(float(np.sqrt(own @ own)), 1e-30)
        found[d] = -np.inf
        best = np.argsort(-found, kind="stable")[: min(n, len(found) - 1)]
        return [(int(e), float(found[e])) for e in best]

    def name(self, d: int) -> str:
        return str(d) if self.corpus.names is None else self.corpus.names[d]

    def text(self, d: int) -> str | None:
        return None if self.texts is None else self.texts[d]

    def with_words(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Documents that have all of these words, and how many tokens of them."""
        if not ids:
            return np.arange(self.n_docs), np.zeros(self.n_docs)
        rows, count = self._of_word(ids[0])
        for v in ids[1:]:
            mine, tokens = self._of_word(v)
            rows, before, here = np.intersect1d(rows, mine, assume_unique=True, return_indices=True)
            count = count[before] + tokens[here]
        return rows, count

    def _of_word(self, v: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        at = slice(self.by_word.indptr[v], self.by_word.indptr[v + 1])
        return self.by_word.indices[at].astype(np.int64), self.by_word.data[at].astype(np.float64)

    def close(self) -> None:
        if self.texts is not None:
            self.texts.close()
