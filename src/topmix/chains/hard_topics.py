"""Combinatorial topics: one topic per token, a price for each topic of a document.  docs/math.md, 3.8."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.learners import Passes, PassResult

LEAST_SMOOTHING = 0.01  # tokens: below, there is none, and a word that a topic does not have is infinitely far
ALGORITHMS = {"basic": ("basic",), "word": ("word",), "word+refine": ("word", "refine")}
EXCHANGE_EVERY = 3  # passes
LEAST_ROUND = 256  # documents of a round of refinement, an eighth of them; where they are fewer there are no rounds
# Times the mean count of a word in a topic at first, and what is left of it pass by pass.
SMOOTHING = {"basic": (0.0, 0.0), "word": (0.0, 0.0), "word+refine": (10.0, 0.8)}


class HardTopics:
    """Topics of tokens, and passes that lower objective (3.16)."""

    def __init__(self, corpus: Corpus, K: int, penalty: float, threads: int):
        self.corpus, self.penalty, self.threads, self.n_docs = corpus, penalty, threads, corpus.n_docs
        self.tokens = _core.TokenRows(corpus.indptr, corpus.index, corpus.value, corpus.n_words)
        self.n_tokens: int = self.tokens.n_tokens
        self.z = np.zeros(self.n_tokens, np.uint16)
        self.word, self.total = np.zeros((corpus.n_words, K), np.int32), np.zeros(K, np.int64)
        self._distance = np.empty((corpus.n_words, -(-K // _core.LANES) * _core.LANES), np.float32)

    @property
    def n_components(self) -> int:
        return len(self.total)

    def weights(self) -> np.ndarray:
        """[K] the share of all tokens that each topic has."""
        return self.total / max(int(self.total.sum()), 1)

    def start(self, z: np.ndarray) -> None:
        self.z[:] = z
        self.count()

    def count(self) -> None:
        """Topics follow the tokens: psi = n_vk / n_k."""
        _core.count_tokens(self.tokens, self.z, self.threads, self.word, self.total)

    def assign(self, step: str, smoothing: float = 0.0) -> None:
        """Every document by "basic" or "word", under topics as they are, then topics follow."""
        _core.hard_distances(self.word, self.total, smoothing, self.threads, self._distance)
        _core.hard_assign(self.tokens, step, self._distance, self.n_components, self.penalty, self.threads, self.z)
        self.count()

    def refine(self, order: np.ndarray) -> float:
        """Mini-topics moved where that lowers the objective, documents in this order; by how much it fell."""
        order, scratch = order.astype(np.int32), self._distance
        return _core.refine(
            self.tokens, order, self.penalty, self.threads, self.z, self.word, self.total, scratch, LEAST_ROUND
        )

    def run(
        self,
        algorithm: str,
        rng: np.random.Generator,
        exchange: Callable[[HardTopics, np.random.Generator], float] | None = None,
        *,
        early_smoothing: bool = True,
    ) -> Passes:
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
            if exchange is not None and "refine" in steps and n % EXCHANGE_EVERY == 0:
                last += exchange(self, rng)
            smoothing = fading * smoothing if fading * smoothing > LEAST_SMOOTHING else 0.0
            yield PassResult(self, None, {})

    def _pass(self, steps: tuple[str, ...], smoothing: float, order: np.ndarray) -> None:
        self.assign(steps[0], smoothing)
        if "refine" in steps:
            self.refine(order)

    def n_used(self) -> int:
        """Topics used, summed over documents."""
        return _core.topics_in_use(self.tokens, self.n_components, self.threads, self.z)

    def bound(self, total: None = None) -> dict[str, float]:
        """Objective (3.16), term by term. It falls."""
        distance = _core.distance_of_tokens(self.word, self.total, self.threads)
        return {"distance": distance, "penalty": self.penalty * self.n_used()}


def place(corpus: Corpus, word: np.ndarray, penalty: float, smoothing: float, threads: int) -> tuple[HardTopics, float]:
    """New documents under fixed topics with these counts, by the algorithm Word: their tokens' topics, and the cost."""
    hard = HardTopics(corpus, word.shape[1], penalty, threads)
    distance = hard._distance
    _core.hard_distances(word, word.sum(axis=0, dtype=np.int64), smoothing, threads, distance)
    return hard, _core.hard_assign(hard.tokens, "place", distance, hard.n_components, penalty, threads, hard.z)
