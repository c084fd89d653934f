"""Combinatorial topics: one topic per token, a price for each topic of a document.  docs/math.md, 3.8."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from topmix import _core
from topmix.corpus.corpus import Corpus
from topmix.engines.engine import M
from topmix.learn.learners import Passes, PassResult
from topmix.models.document_prior import DocTopics, Prior
from topmix.models.statistics import TopicStats
from topmix.models.topic_words import TopicWords
from topmix.models.topics import TopicModel
from topmix.models.words import WordStats, WordTotal

if TYPE_CHECKING:
    from topmix.cuda.device import Device
    from topmix.cuda.sampling import DeviceTokens

LEAST_SMOOTHING = 0.01  # tokens: below, there is none, and a word that a topic does not have is infinitely far
ALGORITHMS = {"basic": ("basic",), "word": ("word",), "word+refine": ("word", "refine")}
EXCHANGE_PASSES = 3  # passes
LEAST_ROUND = 256  # documents of a round of refinement, an eighth of them; where they are fewer there are no rounds
# Times the mean count of a word in a topic at first, and what is left of it pass by pass.
SMOOTHING = {"basic": (0.0, 0.0), "word": (0.0, 0.0), "word+refine": (10.0, 0.8)}


class TokenTopics:
    """Topics of tokens, and their counts."""

    rng: np.random.Generator  # of a fit

    def __init__(self, corpus: Corpus, K: int, threads: int):
        self.corpus, self.threads, self.n_components = corpus, threads, K
        self.tokens = _core.TokenRows(corpus.indptr, corpus.index, corpus.value, corpus.n_words)
        self.n_tokens: int = self.tokens.n_tokens

    # Empty at first

    @cached_property
    def z(self) -> np.ndarray:
        return np.zeros(self.n_tokens, np.uint16)

    @cached_property
    def word(self) -> np.ndarray:
        """[V, K]"""
        return np.zeros((self.corpus.n_words, self.n_components), np.int32)

    @cached_property
    def total(self) -> np.ndarray:
        """[K]"""
        return np.zeros(self.n_components, np.int64)

    def weights(self) -> np.ndarray:
        """[K] the share of all tokens that each topic has."""
        return self.total / max(int(self.total.sum()), 1)

    def start(self, z: np.ndarray) -> None:
        """From these topics of tokens."""
        self.z[:] = z
        self.count()

    def count(self) -> None:
        """Counts follow the tokens."""
        _core.count_tokens(self.tokens, self.z, self.threads, self.word, self.total)

    def topics(self) -> DocTopics:
        return DocTopics(*_core.document_topics(self.tokens, self.z, self.n_components, self.threads))

    def place(self, model: M) -> M:
        return model

    def close(self) -> None: ...


class HardTopics(TokenTopics):
    """Topics of tokens, psi = n_vk / n_k, and passes that lower objective (3.16)."""

    def __init__(self, corpus: Corpus, K: int, penalty: float, threads: int):
        super().__init__(corpus, K, threads)
        self.penalty, self.n_docs = penalty, corpus.n_docs
        self._distance = np.empty((corpus.n_words, -(-K // _core.LANES) * _core.LANES), np.float32)

    def assign(self, step: str, smoothing: float = 0.0) -> None:
        """Every document by "basic" or "word", under topics as they are, then topics follow."""
        _core.hard_distances(self.word, self.total, smoothing, self.threads, self._distance)
        _core.hard_assign(self.tokens, step, self._distance, self.n_components, self.penalty, self.threads, self.z)
        self.count()

    def refine(self, order: np.ndarray) -> float:
        """Mini-topics moved where that lowers the objective, documents in this order; by how much it fell."""
        state = self.z, self.word, self.total, self._distance
        return _core.refine(self.tokens, order.astype(np.int32), self.penalty, self.threads, *state, LEAST_ROUND)

    def run(
        self, algorithm: str, rng: np.random.Generator,
        exchange: Callable[[HardTopics, np.random.Generator], float] | None = None, *, early_smoothing: bool = True,
    ) -> Passes:  # fmt: skip
        """A pass at a time; none raises the objective. `exchange` is tried every few passes where there is refinement.

        A word that a topic does not have is infinitely far from it, so that from a random start topics freeze early.
        With refinement Word therefore sees smoothed topics at first: in pass i = 0, 1, ... every count has
        10 e^((9 - penalty) / 2) 0.8^i times the mean count of a word in a topic added. Where topics are cheap a
        document would open one for a single word that its others hardly have, so those passes are smoother. The
        objective has no smoothing: where it rose, the pass is undone and made again without.
        """
        steps = ALGORITHMS[algorithm]
        first, fading = SMOOTHING[algorithm]
        if "refine" in steps:
            first *= float(np.exp(np.clip((9 - self.penalty) / 2, -2, 1.6)))
        smoothing = first * self.n_tokens / self.word.size if early_smoothing else 0.0
        last = sum(self.bound().values())
        for n in itertools.count(1):
            before = self.z.copy()
            order = rng.permutation(self.n_docs)
            self._pass(steps, smoothing, order)
            now = sum(self.bound().values())
            if smoothing and now > last:
                self.start(before)
                self._pass(steps, 0.0, order)
                now = sum(self.bound().values())
            last = now
            if exchange is not None and "refine" in steps and n % EXCHANGE_PASSES == 0:
                last += exchange(self, rng)
            smoothing = fading * smoothing if fading * smoothing > LEAST_SMOOTHING else 0.0
            yield PassResult(self, None, {})

    def _pass(self, steps: tuple[str, ...], smoothing: float, order: np.ndarray) -> None:
        self.assign(steps[0], smoothing)
        if "refine" in steps:
            self.refine(order)

    def bound(self, total: None = None) -> dict[str, float]:
        """Objective (3.16), term by term. It falls."""
        distance = _core.distance_of_tokens(self.word, self.total, self.threads)
        used = _core.topics_in_use(self.tokens, self.n_components, self.threads, self.z)  # summed over documents
        return {"distance": distance, "penalty": self.penalty * used}


def place(corpus: Corpus, word: np.ndarray, penalty: float, smoothing: float, threads: int) -> tuple[HardTopics, float]:
    """New documents under fixed topics with these counts, by the algorithm Word: their tokens' topics, and the cost."""
    hard = HardTopics(corpus, word.shape[1], penalty, threads)
    distance = hard._distance
    _core.hard_distances(word, word.sum(axis=0, dtype=np.int64), smoothing, threads, distance)
    return hard, _core.hard_assign(hard.tokens, "place", distance, hard.n_components, penalty, threads, hard.z)


# A Markov chain over the topics of all tokens: collapsed Gibbs sampling.  docs/math.md, section 3.7.

MOST_BLOCKS = 16
LEAST_TOKENS = 5_000  # of a block
# On a GPU, many for each of the warps that a large one runs at a time: 3.0 billion tokens per second, 2.8 with a
# quarter.
DOCUMENTS_ON_DEVICE = 1 << 17
CONCENTRATION = 20.0  # of documents on topics, the sum of alpha, where annealing begins
TABLE_COST = 12  # tokens x this / table entries: as many blocks as keep remaking tables to about a fifth of the work


class Chain(TokenTopics):
    """A sweep draws the topics of all tokens again.

    sampler="sequential" draws one token after another given all others, exactly. sampler="parallel" draws the
    documents of a block at once: a document's own counts follow every draw, those of words stand still until the block
    is done. It is another Markov chain, which approaches the exact one as blocks get smaller. With a device, tokens and
    counts are there, and are copied when somebody looks at them.

    In the first `annealing` sweeps alpha falls to what it is, geometrically, from a sum of CONCENTRATION: while
    documents may have many topics, topics that hold the wrong documents together come apart soon.
    """

    def __init__(
        self, corpus: Corpus, prior: Prior, words: TopicWords, *, seed: int, threads: int, sampler: str = "parallel",
        batch_size: int | None = None, sweeps: int = 0, annealing: int = 0, device: Device | None = None,
    ):  # fmt: skip
        V, K = words.shape
        super().__init__(corpus, K, threads)
        self.prior, self.words = prior, words
        self.sampler, self.seed, self.sweeps, self.annealing = sampler, seed, sweeps, annealing
        self.lengths = np.diff(np.concatenate([[0.0], np.cumsum(corpus.value, dtype=np.float64)])[corpus.indptr])
        self._different_lengths = np.unique(self.lengths, return_counts=True)
        self.there: DeviceTokens | None = None
        if device is not None:
            from topmix.cuda.sampling import DeviceTokens

            self.there = DeviceTokens(device, corpus.indptr, corpus.index, corpus.value, V, K)
        n = min(TABLE_COST * self.n_tokens // max(V * K, 1), self.n_tokens // LEAST_TOKENS)
        n = n if device is None else corpus.n_docs // DOCUMENTS_ON_DEVICE
        each = np.linspace(0, corpus.nnz, max(min(n, MOST_BLOCKS), 1) + 1)[1:-1]  # as many entries in each block
        cuts = np.searchsorted(corpus.indptr, each) if batch_size is None else np.arange(0, corpus.n_docs, batch_size)
        self.bounds: list[int] = np.unique([0, *cuts, corpus.n_docs]).astype(int).tolist()  # of blocks of documents
        self._sum: np.ndarray | None = None  # [V, K] of the samples that are averaged
        self.n_samples = 0
        self._terms: dict[str, float] = {}

    @cached_property
    def z(self) -> np.ndarray:
        return super().z if self.there is None else self.there.device.get(self.there.z)

    @cached_property
    def word(self) -> np.ndarray:
        return super().word if self.there is None else self.there.device.get(self.there.counts)

    @cached_property
    def total(self) -> np.ndarray:
        return super().total if self.there is None else self.there.device.get(self.there.total)

    def _changed(self) -> None:
        """What was copied from the device is old."""
        for name in ("z", "word", "total"):
            vars(self).pop(name, None)

    def start(self, z: np.ndarray) -> None:
        if self.there is None:
            super().start(z)
        else:
            self.there.start(z)
            self._changed()

    def close(self) -> None:
        """Copies what is asked for later, and frees the device."""
        if self.there is not None:
            there, _ = self.there, (self.z, self.word, self.total)
            self.there = None
            there.device.close()

    @cached_property
    def _order(self) -> _core.WordOrder:
        """Tokens word by word, in blocks."""
        return _core.WordOrder(self.tokens, np.array(self.bounds, np.int64), self.threads)

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
        annealed, eta, (V, K) = self._annealed() if alpha is None else alpha, self.words.sampled_prior, self.words.shape
        eta_totals = np.array(np.broadcast_to(eta.sum(axis=0) * (V if len(eta) == 1 else 1), (K,)))  # [K] over words
        self.sweeps += 1
        seed, n, a0, (length, n_docs) = self.seed, self.sweeps, float(annealed.sum()), self._different_lengths
        documents = float(np.sum(n_docs * (gammaln(a0) - gammaln(length + a0))))
        if self.there is not None:
            documents += self.there.sweep(self.bounds, annealed, eta, eta_totals, seed, n)
            self._changed()
            of_prior = float(np.broadcast_to(gammaln(eta), (len(eta), K)).sum()) * (1 if len(eta) > 1 else V)
            of_topics = float(np.sum(gammaln(eta_totals) - gammaln(self.total + eta_totals)))
            self._terms = {"words": self.there.log_gammas(eta) - of_prior + of_topics, "documents": documents}
            return
        alpha, z, word, total, drawn = annealed.astype(np.float32), self.z, self.word, self.total, 0.0
        if self.sampler == "sequential":
            drawn = _core.gibbs_sequential(self.tokens, alpha, eta, eta_totals, seed, n, z, word, total)
        else:
            priors, state = (alpha, eta, eta_totals), (z, word, total)
            for block in range(len(self.bounds) - 1):
                drawn += _core.gibbs_sample(self._order, block, *priors, seed, n, self.threads, *state)
        words = _core.log_probability_of_words(word, total, eta, eta_totals, self.threads)
        self._terms = {"words": words, "documents": drawn + documents}

    def _annealed(self) -> np.ndarray:
        """alpha of the next sweep."""
        alpha, left = self.prior.alpha, 1 - self.sweeps / max(self.annealing, 1)
        return alpha * max(CONCENTRATION / alpha.sum(), 1.0) ** left if self.sweeps < self.annealing else alpha

    def sampled(self) -> None:
        """The state after the last sweep is one of the samples that count."""
        self._sum = self.word.astype(np.float64) if self._sum is None else self._sum + self.word
        self.n_samples += 1

    def bound(self, total: None = None) -> dict[str, float]:
        """log p(w, z) after the last sweep, term by term."""
        return self._terms

    def relearn(self) -> None:
        """Moves the priors towards the present topics of tokens.  docs/math.md Eqs. (3.11), (3.12)."""
        if not (self.prior.learned or self.words.learned):
            return
        K = self.n_components
        stats = TopicStats(None, 0.0, 0.0, 0.0, 0.0, np.zeros(K), np.zeros(K))
        if self.prior.learned:
            none = WordStats(*(np.zeros(0) for _ in range(5)))
            stats = self.prior.summarise(none, self.topics(), self.lengths, 0.0)
        model = self._model(self.word.astype(np.float64), self.total.astype(np.float64))
        learned = model.relearn(stats, self.lengths)
        if learned is not None:
            self.prior, self.words = learned.prior, learned.words

    def on_host(self) -> TopicModel:
        """Topics averaged over the samples; of the present state where there is none yet."""
        counts = self.word.astype(np.float64) if self._sum is None else self._sum / self.n_samples
        return self._model(counts, counts.sum(axis=0))

    def _model(self, counts: np.ndarray, totals: np.ndarray) -> TopicModel:
        return TopicModel(self.prior, self.words.update(WordTotal(counts, totals)))
