"""Where topics start: pseudo-counts [V, K] that fade during the first pass. It matters more than anything after it.

Topics made of single documents are too sharp: every learner stays in a poor optimum. Near-uniform ones collapse into
copies of each other. A little of one document in a lot of the corpus mean ("blended") works. Common words would then
have the same weight in all topics and keep it. So they are damped, and a few background topics, plain means of
documents, start with the mass that was taken away. A topic with fewer than 5% of the mean tokens after the first pass
starts again from another document, and sharper, because the other topics differ by then. docs/evidence.md has the
measurements.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.likelihoods.categorical import spread_rows
from topmix.stats import PseudoCounts

OWN = 0.1  # share of a blended topic that is its document's own
COMMON = 0.006  # a word this frequent is damped by half, one ten times as frequent by a hundred
TIMES_THE_MEAN = 3.0  # with few words each is frequent: so many times the mean frequency is then common
BACKGROUND = 0.2  # background topics, as a share of K times the mass that damping takes away
DOCUMENTS_PER_BACKGROUND = 50
PSEUDO_TOKENS = 3000.0  # per topic, at the start; never more than its share of the corpus
SMALL = 0.05  # of the mean topic: a smaller one starts again
DOCUMENTS_PER_SEED = 20
OWN_SEED = 0.5  # the same share for a topic with seed words
OWN_AGAIN = 0.9  # the same share for a topic that starts again


def blended(corpus: Corpus, K: int, rng: np.random.Generator) -> PseudoCounts:
    X = corpus.to_scipy()
    mean, rows = _mean(X), _usable(X)
    damping = _damping(mean)
    n_background = min(K - 1, round(BACKGROUND * K * float(mean @ (1.0 - damping))))
    size = min(PSEUDO_TOKENS, corpus.n_tokens / K)

    background = [
        rng.choice(rows, min(DOCUMENTS_PER_BACKGROUND, len(rows)), replace=False) for _ in range(n_background)
    ]
    chosen = rng.choice(rows, K - n_background, replace=len(rows) < K - n_background)
    share, own = _blend(X[chosen], OWN, mean * damping, damping, size)
    means = [sp.csr_array(size * _mean(X[np.sort(docs)])[None]) for docs in background]
    return PseudoCounts.of(mean * damping, np.append(np.zeros(n_background), share), sp.vstack([*means, own], "csr"))


def restarted(corpus: Corpus, sizes: np.ndarray, rng: np.random.Generator) -> PseudoCounts | None:
    """Pseudo-counts for topics that are small after the first pass, as large as the mean topic; None: none is small."""
    K, small = len(sizes), np.flatnonzero(sizes < SMALL * sizes.mean())
    if len(small) == 0 or corpus.n_tokens == 0:
        return None
    X = corpus.to_scipy()
    lengths = row_sums(X.indptr, X.data)
    mean = _mean(X)
    damping = _damping(mean)
    chosen = rng.choice(len(lengths), len(small), p=lengths / lengths.sum())
    share = np.zeros(K)
    share[small], part = _blend(X[chosen], OWN_AGAIN, mean * damping, damping, float(sizes.mean()))
    where = sp.csr_array((np.ones(len(small)), (small, np.arange(len(small)))), (K, len(small)))
    return PseudoCounts.of(mean * damping, share, where @ part)


def at_seeds(corpus: Corpus, start: PseudoCounts, seeds: PseudoCounts) -> PseudoCounts:
    """The same start, where seeded topics begin with documents that have many of their seed words.

    With a start elsewhere a topic would have moved away before its prior is felt.
    """
    X, by_topic = corpus.to_scipy(), sp.csr_array(seeds.by_word().T)  # [D, V], [K, V]
    seeded = np.flatnonzero(np.diff(by_topic.indptr))
    mean = _mean(X)
    damping = _damping(mean)
    present = sp.csr_array((np.ones(X.nnz, np.float32), X.indices, X.indptr), X.shape)
    begins = []
    for k in seeded:
        words = by_topic.indices[by_topic.indptr[k] : by_topic.indptr[k + 1]]
        wanted = np.zeros(X.shape[1])
        wanted[words] = 1.0 / np.sqrt(np.maximum(mean[words], 1e-300))  # rare words say more
        best = np.argsort(-(present @ wanted), kind="stable")[:DOCUMENTS_PER_SEED]
        begin = _mean(X[np.sort(best)])
        begin[words] += 1.0 / len(words)
        begins.append(sp.csr_array(begin[None]))
    share, own = start.share.copy(), sp.csr_array(start.by_word().T)
    size = float(start.totals[seeded].mean())
    share[seeded], part = _blend(sp.vstack(begins, "csr"), OWN_SEED, mean * damping, damping, size)
    others = sp.dia_array((np.where(np.isin(np.arange(len(share)), seeded), 0.0, 1.0)[None], [0]), own.shape[:1] * 2)
    where = sp.csr_array((np.ones(len(seeded)), (seeded, np.arange(len(seeded)))), (len(share), len(seeded)))
    return PseudoCounts.of(mean * damping, share, sp.csr_array(others @ own + where @ part))


def documents(corpus: Corpus, K: int, rng: np.random.Generator) -> PseudoCounts:
    """K documents far from each other, as Hughes & Sudderth (2016) start: k-means++ under the KL divergence."""
    X = corpus.to_scipy()
    mean = _mean(X)
    rows = spread_rows(X, np.ones(X.shape[0]), K, mean, rng)
    return PseudoCounts.of(mean, np.zeros(K), sp.csr_array(X[rows], dtype=np.float64))


def random(corpus: Corpus, K: int, rng: np.random.Generator) -> np.ndarray:
    """Near-uniform: Gamma(100, 1/100) for each word and topic, as scikit-learn and Hoffman et al. (2010) start."""
    return np.ascontiguousarray(rng.gamma(100.0, 0.01, (K, corpus.n_words)).T)


STARTS: dict[str, Callable[[Corpus, int, np.random.Generator], PseudoCounts | np.ndarray]] = {
    "auto": blended,
    "blended": blended,
    "documents": documents,
    "random": random,
}

RESTARTED = ("auto", "blended")  # starts whose small topics start again


def _usable(X: sp.csr_array) -> np.ndarray:
    rows = np.flatnonzero(np.diff(X.indptr))
    return rows if len(rows) else np.arange(X.shape[0])


def _mean(X: sp.csr_array) -> np.ndarray:
    sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    return sums / max(sums.sum(), 1e-300)


def _damping(mean: np.ndarray) -> np.ndarray:
    common = max(COMMON, TIMES_THE_MEAN / len(mean))
    return 1.0 / (1.0 + (mean / common) ** 2)


def _blend(
    chosen: sp.csr_array, own: float, common: np.ndarray, damping: np.ndarray, size: float
) -> tuple[np.ndarray, sp.csr_array]:
    """`own` of each chosen document, damped, and the rest of what is common to all, `size` tokens altogether.

    Returns how much each has of the common [documents], and what it has of its own.
    """
    n_words = np.diff(chosen.indptr)
    each = np.repeat(own / np.maximum(row_sums(chosen.indptr, chosen.data), 1e-300), n_words)
    part = sp.csr_array((each * chosen.data * damping[chosen.indices], chosen.indices, chosen.indptr), chosen.shape)
    sums = np.maximum((1.0 - own) * common.sum() + row_sums(part.indptr, part.data), 1e-300)
    part.data *= np.repeat(size / sums, n_words)
    return (1.0 - own) * size / sums, part
