"""The slow twin of cpp/data/tokenize.hpp, with Python strings and dictionaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class TermCounter:
    """Counts the terms of documents. The vocabulary grows with new terms, or is given and fixed."""

    def __init__(
        self,
        chars: bytes,
        min_length: int,
        whole_words: bool,
        lowercase: bool,
        stop_words: Iterable[str],
        min_n: int,
        max_n: int,
        vocabulary: Iterable[str] | None = None,
    ) -> None:
        self.chars = frozenset(chr(c) for c in range(128) if chars[c])
        self.min_length, self.whole_words, self.lowercase = min_length, whole_words, lowercase
        self.stop_words = frozenset(stop_words)
        self.min_n, self.max_n = min_n, max_n
        self.closed = vocabulary is not None
        self.ids = {term: i for i, term in enumerate(vocabulary or ())}
        self.documents: Counter[int] = Counter()
        self.total: Counter[int] = Counter()
        self.n_rows = self.n_unknown = 0

    def tokens(self, text: str) -> list[str]:
        if self.lowercase:
            text = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)
        out, begin = [], 0
        while begin < len(text):
            end = begin
            while end < len(text) and text[end] in self.chars:
                end += 1
            around = text[begin - 1 : begin] + text[end : end + 1]
            inside_word = self.whole_words and any(c in _WORD for c in around)
            if end - begin >= self.min_length and not inside_word:
                out.append(text[begin:end])
            begin = max(end, begin + 1)
        return out

    def terms_of(self, document: str | Sequence[str]) -> list[str]:
        tokens = self.tokens(document) if isinstance(document, str) else list(document)
        tokens = [t for t in tokens if t not in self.stop_words]  # before n-grams, which then join the neighbours
        return [
            " ".join(tokens[i : i + n]) for n in range(self.min_n, self.max_n + 1) for i in range(len(tokens) - n + 1)
        ]

    def count(
        self, documents: Sequence[str | Sequence[str]], threads: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        indptr = [0]
        index: list[int] = []
        value: list[int] = []
        for document in documents:
            row: Counter[int] = Counter()
            for term in self.terms_of(document):
                if self.closed and term not in self.ids:
                    self.n_unknown += 1
                else:
                    row[self.ids.setdefault(term, len(self.ids))] += 1
            self.total.update(row)
            self.documents.update(row.keys())
            self.n_rows += 1
            index.extend(row.keys())
            value.extend(row.values())
            indptr.append(len(index))
        return np.array(indptr, np.int64), np.array(index, np.int32), np.array(value, np.float32)

    @property
    def n_terms(self) -> int:
        return len(self.ids)

    def document_frequency(self) -> np.ndarray:
        return np.array([self.documents[i] for i in range(self.n_terms)], np.int64)

    def term_frequency(self) -> np.ndarray:
        return np.array([self.total[i] for i in range(self.n_terms)], np.int64)

    def sort(self, ids: np.ndarray, threads: int = 1) -> np.ndarray:
        terms = list(self.ids)
        return np.array(sorted(ids.tolist(), key=lambda i: terms[i]), np.int32)

    def terms(self, ids: np.ndarray) -> list[str]:
        terms = list(self.ids)
        return [terms[i] for i in ids]

    def packed(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = [term.encode("utf-8", "surrogatepass") for term in self.terms(ids)]
        offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return np.frombuffer(b"".join(parts), np.uint8), offsets
