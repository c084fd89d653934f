"""The textbook Gibbs sampler, to compare with: `textbook_gibbs.cpp`, compiled when it is first used."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


class TextbookGibbs:
    """Topics of all tokens of a corpus, drawn one after another in one thread, K weights each."""

    def __init__(self, corpus: Any, K: int, alpha: float, eta: float, seed: int = 0):
        copies = corpus.value.astype(np.int64)
        self.doc = np.repeat(np.repeat(np.arange(corpus.n_docs), np.diff(corpus.indptr)), copies).astype(np.int32)
        self.word = np.repeat(corpus.index, copies).astype(np.int32)
        self.z = np.random.default_rng(seed).integers(K, size=len(self.word)).astype(np.int32)
        self.doc_topic = np.zeros((corpus.n_docs, K), np.int32)
        self.word_topic = np.zeros((corpus.n_words, K), np.int32)
        np.add.at(self.doc_topic, (self.doc, self.z), 1)
        np.add.at(self.word_topic, (self.word, self.z), 1)
        self.total = np.bincount(self.z, minlength=K).astype(np.int32)
        self.alpha, self.eta, self.seed = alpha, eta, seed
        self._sweep = compiled()

    def sweep(self) -> None:
        self.seed += 1
        V, K = self.word_topic.shape
        arrays = (a.ctypes.data_as(ctypes.c_void_p) for a in (self.doc, self.word, self.z))
        counts = (a.ctypes.data_as(ctypes.c_void_p) for a in (self.doc_topic, self.word_topic, self.total))
        numbers = (ctypes.c_int32(K), *map(ctypes.c_double, (V, self.alpha, self.eta)))
        self._sweep(ctypes.c_int64(len(self.z)), *arrays, *numbers, *counts, ctypes.c_uint64(self.seed))


def compiled() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "textbook.so"
        source = Path(__file__).with_suffix(".cpp")
        compiler = os.environ.get("CXX", "c++")
        subprocess.run(
            [compiler, "-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", source, "-o", library], check=True
        )
        return ctypes.CDLL(str(library)).textbook_sweep
