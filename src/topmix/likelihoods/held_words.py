"""What topics keep whatever documents say: words that never belong to them, and topics whose words stay as they are.

A prior of nothing would not do. A document all of whose topics lack a word still has to give its tokens to one of them,
and a topic that once has a word would keep it. So the tables that documents are solved with, and what is reported, are
mended after they were made from the counts; the counts remain the sums of what documents said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma

from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer

LEAST = np.float32(1e-30)  # weight of a banned word over that of its best topic: the floor of all tables
BANNED = 1e-9  # pseudo-counts of a banned word, over its prior
MOST = 80.0  # log of a weight: more does not fit a float


@dataclass(frozen=True, eq=False)
class HeldWords:
    banned: sp.csr_array  # [V, K] bool
    topics: np.ndarray  # [n] int64, ascending: topics that are frozen
    counts: np.ndarray  # [n, V] float64, their tokens when they were
    sizes: np.ndarray  # [n] float64, sums of these over all words

    @classmethod
    def none(cls, V: int, K: int) -> HeldWords:
        return cls(sp.csr_array((V, K), dtype=bool), np.zeros(0, np.int64), np.zeros((0, V)), np.zeros(0))

    @classmethod
    def of(cls, banned: sp.sparray, frozen: dict[int, np.ndarray]) -> HeldWords | None:
        """None where there is nothing to hold."""
        pairs = sp.csr_array(banned, dtype=bool, copy=True)
        pairs.eliminate_zeros()
        pairs.sort_indices()
        topics = np.array(sorted(frozen), np.int64)
        counts = np.array([frozen[int(k)] for k in topics], np.float64).reshape(len(topics), pairs.shape[0])
        return cls(pairs, topics, counts, counts.sum(axis=1)) if pairs.nnz or len(topics) else None

    @property
    def frozen(self) -> dict[int, np.ndarray]:
        return {int(k): counts for k, counts in zip(self.topics, self.counts)}

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Words and topics that do not go together."""
        return np.repeat(np.arange(self.banned.shape[0]), np.diff(self.banned.indptr)), self.banned.indices

    def of_words(self, words: np.ndarray) -> HeldWords:
        """These words alone, with the sizes of topics as they are."""
        return HeldWords(sp.csr_array(self.banned[words]), self.topics, self.counts[:, words], self.sizes)

    def grown(self, n_words: int) -> HeldWords:
        """With room for new words at the end: none is banned, and frozen topics have none of them."""
        banned, new = self.banned.copy(), n_words - self.banned.shape[0]
        banned.resize((n_words, banned.shape[1]))
        return HeldWords(banned, self.topics, np.pad(self.counts, ((0, 0), (0, new))), self.sizes)

    def norm(self, norm: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """[K] tokens and prior counts of each topic; `prior` [K] are the latter."""
        norm[self.topics] = self.sizes + prior[self.topics]
        return norm

    def hold_tables(
        self,
        posterior: str,
        prior: np.ndarray,
        norm: np.ndarray,
        cols: np.ndarray,
        table: np.ndarray,
        scale: np.ndarray,
    ) -> None:
        """Mends rows of a table in place, and the logarithms that they were divided by. prior [words, n] has the prior
        counts of these words in the frozen topics."""
        for k, log_phi in zip(self.topics, self.log_words(posterior, prior, norm, cols)):
            table[:, k] = np.exp(np.minimum(log_phi - scale, MOST))
        banned = self.banned[cols]
        rows = np.arange(len(cols)) if len(self.topics) else np.flatnonzero(np.diff(banned.indptr))
        table[np.repeat(np.arange(len(cols)), np.diff(banned.indptr)), banned.indices] = LEAST
        largest = table[rows].max(axis=1)
        rows, largest = rows[largest != 1.0], largest[largest != 1.0]
        scale[rows] += np.log(largest.astype(np.float64))
        table[rows] = np.maximum(table[rows] / largest[:, None], LEAST)
        table[np.repeat(np.arange(len(cols)), np.diff(banned.indptr)), banned.indices] = LEAST

    def log_words(self, posterior: str, prior: np.ndarray, norm: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """[n, words] log probabilities of words in the frozen topics, or their expectations."""
        pseudo, of = self.counts[:, cols] + prior.T, norm[self.topics][:, None]
        if posterior == "collapsed":
            return np.asarray(np.log(pseudo / of))
        return np.asarray(digamma(pseudo) - digamma(of))

    def hold_topics(self, topics: np.ndarray, prior: np.ndarray) -> None:
        """Mends [K, V] pseudo-counts in place. prior [V, n] as above."""
        topics[self.topics] = self.counts + prior.T
        word, topic = self.pairs()
        topics[topic, word] = BANNED * topics.min()

    def write(self, out: Writer) -> None:
        out.array("indptr", self.banned.indptr.astype(np.int64))
        out.array("topic", self.banned.indices.astype(np.uint16))
        if len(self.topics):
            out.array("frozen", self.topics)
            out.array("counts", self.counts)

    @classmethod
    def read(cls, file: CheckedReader, V: int, K: int) -> HeldWords | None:
        indptr, topic = file.rows_of_topics(V, K)
        banned = sp.csr_array((np.ones(len(topic), bool), topic.astype(np.int32), indptr), shape=(V, K))
        frozen: dict[int, np.ndarray] = {}
        if file.has("frozen"):
            topics = file.vector("frozen", "I64")
            if len(topics) and not (topics.min() >= 0 and topics.max() < K):
                raise ModelFileError(f"{file.prefix}frozen has topics that are not from 0 to {K - 1}")
            counts = file.array("counts", len(topics), V)
            frozen = {int(k): np.maximum(of_topic, 0.0) for k, of_topic in zip(topics, counts)}
        return cls.of(banned, frozen)
