"""The chain of Gibbs sampling with its tokens and counts on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from topmix.allocations.document_prior import DocumentPrior
from topmix.chains.gibbs import MOST_BLOCKS, Chain
from topmix.cuda.device import Device
from topmix.cuda.sampling import DeviceTokens
from topmix.data.corpus import Corpus
from topmix.likelihoods.topic_words import TopicWords

DOCUMENTS_PER_BLOCK = (
    1 << 17
)  # many for each of the warps that a large GPU runs at a time: 3.0 billion tokens per second, 2.8 with a quarter


def wide_blocks(corpus: Corpus) -> list[int]:
    """Where blocks of documents end: as many as the processor has at most, and wide enough to fill a GPU."""
    n = min(MOST_BLOCKS, max(1, corpus.n_docs // DOCUMENTS_PER_BLOCK))
    cuts = np.searchsorted(corpus.indptr, np.linspace(0, corpus.nnz, n + 1)[1:-1])
    return np.unique([0, *cuts, corpus.n_docs]).astype(int).tolist()


class CudaChain(Chain):
    """The parallel sampler. `z`, `word` and `total` are copied from the device when somebody looks at them."""

    def __init__(self, corpus: Corpus, prior: DocumentPrior, words: TopicWords, device: Device, **settings: Any):
        self._device_tokens: DeviceTokens | None = None
        self._host: dict[str, np.ndarray] = {}
        super().__init__(corpus, prior, words, sampler="parallel", **settings)
        V, K = words.shape
        if settings.get("batch_size") is None:
            self.bounds = wide_blocks(corpus)
        self._device_tokens = DeviceTokens(device, corpus.indptr, corpus.index, corpus.value, V, K)

    def _seen(self, name: str, on_device: str) -> np.ndarray:
        if name not in self._host:
            tokens = self._device_tokens
            assert tokens is not None
            self._host[name] = tokens.device.get(getattr(tokens, on_device))
        return self._host[name]

    @property
    def z(self) -> np.ndarray:
        return self._seen("z", "z")

    @z.setter
    def z(self, value: np.ndarray) -> None:
        self._host["z"] = value

    @property
    def word(self) -> np.ndarray:
        return self._seen("word", "counts")

    @word.setter
    def word(self, value: np.ndarray) -> None:
        self._host["word"] = value

    @property
    def total(self) -> np.ndarray:
        return self._seen("total", "total")

    @total.setter
    def total(self, value: np.ndarray) -> None:
        self._host["total"] = value

    def start(self, z: np.ndarray) -> None:
        assert self._device_tokens is not None
        self._device_tokens.start(z)
        self._host.clear()

    def sweep(self, alpha: np.ndarray | None = None) -> None:
        annealed, (eta, eta_totals) = self._annealed() if alpha is None else alpha, self._word_prior()
        self.sweeps += 1
        tokens = self._device_tokens
        assert tokens is not None
        documents = self._of_lengths(float(annealed.sum()))
        documents += tokens.sweep(self.bounds, annealed, eta, eta_totals, self.seed, self.sweeps)
        self._host.clear()
        V, K = self.words.shape
        prior = float(np.broadcast_to(gammaln(eta), (V if len(eta) > 1 else 1, K)).sum()) * (1 if len(eta) > 1 else V)
        of_topics = float(np.sum(gammaln(eta_totals) - gammaln(self.total + eta_totals)))
        self._terms = {"words": tokens.log_gammas(eta) - prior + of_topics, "documents": documents}

    def close(self) -> None:
        """Copies what is asked for later, and frees the device."""
        tokens = self._device_tokens
        assert tokens is not None
        for value in (self.z, self.word, self.total):
            assert value is not None
        self._device_tokens = None
        tokens.device.close()
