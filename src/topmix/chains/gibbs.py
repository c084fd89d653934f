"""A Markov chain over the topics of all tokens: collapsed Gibbs sampling.  docs/math.md, section 3.7."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.document_prior import DocumentPrior
from topmix.data.corpus import Corpus
from topmix.learners import Passes, PassResult
from topmix.likelihoods.topic_words import TopicWords
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordStats, WordTotal

MOST_BLOCKS = 16
LEAST_TOKENS = 5_000  # of a block
CONCENTRATION = 20.0  # of documents on topics, the sum of alpha, where annealing begins
EXCHANGE_EVERY = 10  # sweeps
TABLE_COST = 12  # tokens x this / table entries: as many blocks as keep remaking tables to about a fifth of the work


class Chain:
    """Topics of tokens, their counts, and a sweep that draws every token again.

    sampler="sequential" draws one token after another given all others, exactly. sampler="parallel" draws the
    documents of a block at once: a document's own counts follow every draw, those of words stand still until the block
    is done. It is another Markov chain, which approaches the exact one as blocks get smaller.

    In the first `annealing` sweeps alpha falls to what it is, geometrically, from a sum of CONCENTRATION: while
    documents may have many topics, topics that hold the wrong documents together come apart soon.
    """

    def __init__(
        self, corpus: Corpus, prior: DocumentPrior, words: TopicWords, *, sampler: str, seed: int, threads: int,
        batch_size: int | None = None, sweeps: int = 0, annealing: int = 0,
    ):  # fmt: skip
        V, K = words.shape
        self.prior, self.words = prior, words
        self.sampler, self.seed, self.threads, self.sweeps, self.annealing = sampler, seed, threads, sweeps, annealing
        self.tokens = _core.TokenRows(corpus.indptr, corpus.index, corpus.value, V)
        self.n_tokens: int = self.tokens.n_tokens
        self.lengths = np.diff(np.concatenate([[0.0], np.cumsum(corpus.value, dtype=np.float64)])[corpus.indptr])
        self.bounds = blocks(corpus, self.n_tokens, V * K, batch_size)
        self.z = np.zeros(self.n_tokens, np.uint16)
        self.word, self.total = np.zeros((V, K), np.int32), np.zeros(K, np.int64)
        self._sum: np.ndarray | None = None  # [V, K] of the samples that are averaged
        self.n_samples = 0
        self._terms: dict[str, float] = {}
        self._lengths_at = (np.nan, 0.0)  # (sum of alpha, its value of _of_lengths)

    @cached_property
    def _different_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Of documents, and how many of them have each."""
        return np.unique(self.lengths, return_counts=True)

    @cached_property
    def _order(self) -> _core.WordOrder:
        """Tokens word by word, in blocks."""
        return _core.WordOrder(self.tokens, np.array(self.bounds, np.int64), self.threads)

    @property
    def n_components(self) -> int:
        return len(self.total)

    def weights(self) -> np.ndarray:
        """[K] the share of all tokens that each topic has."""
        return self.total / max(int(self.total.sum()), 1)

    def start(self, z: np.ndarray) -> None:
        """From these topics of tokens."""
        self.z[:] = z
        _core.count_tokens(self.tokens, self.z, self.threads, self.word, self.total)

    def draw(self, docs: DocTopics, alpha: np.ndarray, topic_word: np.ndarray) -> None:
        """Every token from its responsibilities: r ~ (N_dk + alpha_k) phi_kv."""
        e = np.ascontiguousarray(topic_word.T, np.float32)  # [V, K]
        given = (docs.indptr.astype(np.int64), docs.topic.astype(np.uint16), docs.count.astype(np.float32))
        z = np.zeros(self.n_tokens, np.uint16)
        _core.gibbs_draw(self._order, *given, e, alpha.astype(np.float32), self.seed, self.threads, z)
        self.start(z)

    def sweep(self, alpha: np.ndarray | None = None) -> None:
        """Draws every token once, and notes log p(w, z) where it ends. The alpha of this sweep is given, or as the
        annealing has it."""
        annealed, (eta, eta_totals) = self._annealed() if alpha is None else alpha, self._word_prior()
        self.sweeps += 1
        alpha = annealed.astype(np.float32)
        seed, n, z, word, total = self.seed, self.sweeps, self.z, self.word, self.total
        documents = 0.0
        if self.sampler == "sequential":
            documents = _core.gibbs_sequential(self.tokens, alpha, eta, eta_totals, seed, n, z, word, total)
        else:
            for block in range(len(self.bounds) - 1):
                documents += _core.gibbs_sample(
                    self._order, block, alpha, eta, eta_totals, seed, n, self.threads, z, word, total
                )
        documents += self._of_lengths(float(annealed.sum()))
        words = _core.log_probability_of_words(self.word, self.total, eta, eta_totals, self.threads)
        self._terms = {"words": words, "documents": documents}

    def _word_prior(self) -> tuple[np.ndarray, np.ndarray]:
        """[V or 1, K or 1] eta, and [K] its sums over words."""
        (V, K), eta = self.words.shape, self.words.sampled_prior
        return eta, np.array(np.broadcast_to(eta.sum(axis=0) * (V if len(eta) == 1 else 1), (K,)))

    def _annealed(self) -> np.ndarray:
        """alpha of the next sweep."""
        alpha, left = self.prior.alpha, 1 - self.sweeps / max(self.annealing, 1)
        return alpha * max(CONCENTRATION / alpha.sum(), 1.0) ** left if self.sweeps < self.annealing else alpha

    def _of_lengths(self, a0: float) -> float:
        """What log p(w, z) has of the lengths of documents: the same in every sweep while the sum of alpha is."""
        if self._lengths_at[0] != a0:
            length, n = self._different_lengths
            self._lengths_at = a0, float(np.sum(n * (gammaln(a0) - gammaln(length + a0))))
        return self._lengths_at[1]

    def run(
        self, *, burn_in: int, thin: int, learn_every: int, exchange: Callable[[Chain], float] | None = None
    ) -> Passes:
        """A sweep at a time. After `burn_in` of them every `thin`-th is a sample that counts. Before, when annealing is
        over, topics are exchanged, and again every EXCHANGE_EVERY sweeps as long as that gains something."""
        for n in range(1, 1 << 31):
            settled = self.sweeps - self.annealing
            if exchange and n <= burn_in and settled >= 0 and settled % EXCHANGE_EVERY == 0 and exchange(self) == 0.0:
                exchange = None
            self.sweep()
            if n > burn_in and (n - burn_in) % thin == 0:
                self._sum = self.word.astype(np.float64) if self._sum is None else self._sum + self.word
                self.n_samples += 1
            yield PassResult(self, None, {})
            if n % learn_every == 0 and self.sweeps >= self.annealing:
                self.relearn()

    def close(self) -> None:
        """The chain is over. Its state can still be asked for."""

    def bound(self, total: None = None) -> dict[str, float]:
        """log p(w, z) after the last sweep, term by term."""
        return self._terms

    def topics(self) -> DocTopics:
        return DocTopics(*_core.document_topics(self.tokens, self.z, self.n_components, self.threads))

    def relearn(self) -> None:
        """Moves the priors towards the present topics of tokens.  docs/math.md Eqs. (3.11), (3.12)."""
        if not (self.prior.learned or self.words.learned):
            return
        K = self.n_components
        model = self._model(self.word.astype(np.float64), self.total.astype(np.float64))
        stats = TopicStats(None, 0.0, 0.0, 0.0, 0.0, np.zeros(K), np.zeros(K))
        if self.prior.learned:
            none = WordStats(*(np.zeros(0) for _ in range(5)))
            stats = self.prior.summarise(none, self.topics(), self.lengths, 0.0)
        learned = model.relearn(stats, self.lengths)
        if learned is not None:
            assert isinstance(learned.prior, DocumentPrior)
            self.prior, self.words = learned.prior, learned.words

    def model(self) -> TopicModel:
        """Topics averaged over the samples; of the present state where there is none yet."""
        counts = self.word.astype(np.float64) if self._sum is None else self._sum / self.n_samples
        return self._model(counts, counts.sum(axis=0))

    def on_host(self) -> TopicModel:
        """As for the models of passes."""
        return self.model()

    def _model(self, counts: np.ndarray, totals: np.ndarray) -> TopicModel:
        return TopicModel(self.prior, self.words.update(WordTotal(counts, totals)))


def blocks(corpus: Corpus, n_tokens: int, n_entries: int, batch_size: int | None) -> list[int]:
    """Where blocks of documents end: so many documents each, or as the cost of remaking tables says."""
    if batch_size is not None:
        return [*range(0, corpus.n_docs, batch_size), corpus.n_docs]
    n = min(MOST_BLOCKS, TABLE_COST * n_tokens // max(n_entries, 1), n_tokens // LEAST_TOKENS)
    cuts = np.searchsorted(corpus.indptr, np.linspace(0, corpus.nnz, max(n, 1) + 1)[1:-1])
    return np.unique([0, *cuts, corpus.n_docs]).astype(int).tolist()
