"""STAND-IN, dropped at merge: the agreed interface of CorpusBuilder, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from topmix.data.corpus import Corpus


class CorpusBuilder:
    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        if path is not None:
            raise NotImplementedError("the stand-in keeps corpora in memory")
        self.blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.names: list[str] = []

    def __enter__(self) -> CorpusBuilder:
        return self

    def __exit__(self, *exc: object) -> None:
        self.blocks.clear()

    def append(
        self, indptr: np.ndarray, index: np.ndarray, value: np.ndarray, names: Sequence[str] | None = None
    ) -> None:
        self.blocks.append((indptr, index, value))
        self.names.extend(names or [])

    def finish(
        self,
        vocabulary: Sequence[str] | None,
        n_words: int | None = None,
        *,
        remap: np.ndarray | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Corpus:
        words = list(vocabulary) if vocabulary is not None else None
        V = n_words if n_words is not None else len(words or [])
        lengths = np.concatenate([[0], *(np.diff(b[0]) for b in self.blocks)])
        row = np.repeat(np.arange(len(lengths) - 1), lengths[1:])
        index = np.concatenate([np.empty(0, np.int32), *(b[1] for b in self.blocks)])
        value = np.concatenate([np.empty(0, np.float32), *(b[2] for b in self.blocks)])
        if remap is not None:
            index = remap[index]
            row, value, index = row[index >= 0], value[index >= 0], index[index >= 0]
        X = sp.coo_array((value, (row, index)), shape=(len(lengths) - 1, V)).tocsr()
        X.sort_indices()
        return Corpus(
            X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32), X.shape, words,
            self.names or None, meta or {},
        )  # fmt: skip
