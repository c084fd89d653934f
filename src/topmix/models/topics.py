"""Topic models: a prior on documents' proportions times words of topics.  docs/math.md, section 3."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from topmix import _core
from topmix.base.fields import CheckedReader, Writer
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import row_sums
from topmix.models.categorical import spread_rows
from topmix.models.document_prior import Population, Prior
from topmix.models.statistics import PseudoCounts, TopicStats
from topmix.models.topic_words import TopicWords, WordTables
from topmix.models.word_versions import WordVersions
from topmix.models.words import WordTotal

# How a document is solved under the topics of a model.


@dataclass(frozen=True)
class Sampling:
    """Tokens are drawn instead: each has one topic."""

    concentration: float | None  # the sum of alpha; None: that of the prior
    sweep: int  # with the seed, the key of its random numbers
    seed: int


@dataclass(frozen=True)
class DocumentOptions:
    """The options of the document solver, which travel with the tables of a model. tools/options.py writes those that
    kernels know, numbers and yes or no, for C++ and CUDA."""

    n_active: int | None = None  # L, topics kept per word; None: all
    eps: float = 0.0  # a topic with no more than this many tokens leaves the document
    max_iter: int = 100  # iterations, at most
    tol: float = 0.1  # tokens
    mean_change: bool = False  # compare the mean change with tol, not the largest
    select_often: bool = False  # choose the n_active best in early iterations too, not only at the end
    exclude: bool = False  # leave a token out of the counts that judge it
    restarts: int = 0  # smallest topics that a document is tried without
    restart_iter: int = 3  # iterations before a restart is judged
    own_discount: float = 0.0  # part of a document's own tokens that it does not see in the topics' counts
    sampling: Sampling | None = None

    def L(self, K: int) -> int:
        return K if self.n_active is None else min(self.n_active, K)

    def of_kernels(self) -> dict[str, float]:
        """Those that kernels know, by name."""
        return dict(zip(OF_KERNELS, _values(self), strict=True))

    def native(self, posterior: str, K: int) -> _core.DocumentOptions:
        return _core.DocumentOptions(posterior, self.L(K), *_values(self))


OF_KERNELS = tuple(f.name for f in fields(DocumentOptions) if f.type in ("float", "int", "bool"))
_values = attrgetter(*OF_KERNELS)  # faster than by name: a predictor asks for them with every text


class TopicTables(NamedTuple):
    """Everything that a local step needs besides the shard: picklable, sized by the shard's own words."""

    words: WordTables
    prior: Prior
    posterior: str  # "variational" | "collapsed"
    document_options: DocumentOptions
    partner: np.ndarray | None  # [K] int32: the topic that each may be merged with, or -1


@dataclass(frozen=True)
class TopicModel:
    prior: Prior
    words: TopicWords
    document_options: DocumentOptions = DocumentOptions()
    partner: np.ndarray | None = None  # pairs of topics whose merger the next pass is to weigh
    versions: WordVersions | None = None  # the words then have the counts of all versions

    @property
    def n_components(self) -> int:
        return self.words.shape[1]

    def tables(self, cols: np.ndarray) -> TopicTables:
        words = self.words.tables(cols)
        return TopicTables(words, self.prior, self.words.posterior, self.document_options, self.partner)

    def no_stats(self) -> TopicStats:
        return self.prior.no_stats(self.words.total.empty())

    def past_stats(self) -> TopicStats:
        """Past statistics, for a stream to continue from. Borrows the counts of words."""
        return self.prior.past_stats(self.words.total)

    def grown(self, V: int) -> TopicModel:
        """A copy, for steps of a stream are made in place, with room for V words, its own and perhaps more."""
        words = replace(self.words, total=copy.deepcopy(self.words.total))
        if words.shape[0] == V:
            return replace(self, words=words)
        if words.eta.shape[0] > 1:
            raise ValueError("new words need a topic_word_prior that is one number, or one per topic, not one per word")
        (V_before, K), extra, held = words.shape, words.extra, words.held
        words.total.grow(V)
        if extra is not None:
            rows = extra.by_word()
            rows.resize((V, K))
            extra = PseudoCounts.sparse(rows)
        if held is not None:  # no new word is banned, and frozen topics have none of them
            banned = held.banned.copy()
            banned.resize((V, K))
            held = replace(held, banned=banned, counts=np.pad(held.counts, ((0, 0), (0, V - V_before))))
        return replace(self, words=replace(words, extra=extra, held=held))

    def pseudo_counts(self) -> TopicStats:
        """The counts of the model as statistics for a learner to start from."""
        return self.prior.no_stats(self.words.total.pseudo or self.words.total)

    def update(self, total: TopicStats) -> TopicModel:
        return replace(self, prior=self.prior.update(total), words=self.words.update(total.S))

    @property
    def learns_priors(self) -> bool:
        return self.prior.learned or self.words.learned

    def relearn(
        self, total: TopicStats, lengths: np.ndarray, population: Population | None = None
    ) -> TopicModel | None:
        """The model with its priors moved towards the statistics, or None where they are fixed: see Prior.relearn."""
        if not self.learns_priors:
            return None
        prior = self.prior.relearn(total, lengths, population) if self.prior.learned else self.prior
        return replace(self, prior=prior, words=self.words.relearn() if self.words.learned else self.words)

    def bound(self, total: TopicStats) -> dict[str, float]:
        """The objective, term by term, with topics at their optimum for these statistics."""
        data = self.words.bound() if self.versions is None else self.versions.bound()
        return {"data": data, "entropy": total.H, "allocation": self.prior.bound(total)}

    def on_host(self) -> TopicModel:
        total = self.words.total.on_host()
        return self if total is self.words.total else replace(self, words=self.words.update(total))

    def weights(self) -> np.ndarray:
        """[K] the share of all tokens that each topic has."""
        sizes = np.maximum(self.words.total.totals, 0.0)
        return sizes / max(float(sizes.sum()), 1e-300)

    def write(self, out: Writer, *, with_total: bool = True) -> None:
        self.prior.write(out.at("prior"))
        self.words.write(out.at("words"), without="" if with_total else "total")

    def read(self, file: CheckedReader, K: int, total: WordTotal | None = None) -> TopicModel:
        """A model of this kind with K topics, from a file. What a file does not say is as in this one."""
        V, empty = self.words.shape[0], self.words
        given = {"bounds_evidence": empty.bounds_evidence, "smoothing": empty.smoothing}
        words = TopicWords.read(file.at("words"), V=V, K=K, **given, **({} if total is None else {"total": total}))
        return replace(self, prior=self.prior.read_like(file.at("prior"), K, words.posterior), words=words)


# Where topics start: pseudo-counts [V, K] that fade during the first pass. It matters more than anything after it.
#
# Topics made of single documents are too sharp: every learner stays in a poor optimum. Near-uniform ones collapse into
# copies of each other. A little of one document in a lot of the corpus mean ("blended") works. Common words would then
# have the same weight in all topics and keep it. So they are damped, and a few background topics, plain means of
# documents, start with the mass that was taken away. A topic with fewer than 5% of the mean tokens after the first pass
# starts again from another document, and sharper, because the other topics differ by then. docs/evidence.md has the
# measurements.

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
    rows, (mean, damping, common) = np.flatnonzero(np.diff(X.indptr)), _damped(X)
    rows = rows if len(rows) else np.arange(X.shape[0])
    n_background = min(K - 1, round(BACKGROUND * K * float(mean @ (1.0 - damping))))
    size, n_docs = min(PSEUDO_TOKENS, corpus.n_tokens / K), min(DOCUMENTS_PER_BACKGROUND, len(rows))

    background = [rng.choice(rows, n_docs, replace=False) for _ in range(n_background)]
    chosen = rng.choice(rows, K - n_background, replace=len(rows) < K - n_background)
    share, own = _blend(X[chosen], OWN, common, damping, size)
    means = [sp.csr_array(size * _mean(X[np.sort(docs)])[None]) for docs in background]
    return PseudoCounts.of(common, np.append(np.zeros(n_background), share), sp.vstack([*means, own], "csr"))


def restarted(corpus: Corpus, sizes: np.ndarray, rng: np.random.Generator) -> PseudoCounts | None:
    """Pseudo-counts for topics that are small after the first pass, as large as the mean topic; None: none is small."""
    K, small = len(sizes), np.flatnonzero(sizes < SMALL * sizes.mean())
    if len(small) == 0 or corpus.n_tokens == 0:
        return None
    X = corpus.to_scipy()
    lengths, (_, damping, common) = row_sums(X.indptr, X.data), _damped(X)
    chosen = rng.choice(len(lengths), len(small), p=lengths / lengths.sum())
    share = np.zeros(K)
    share[small], part = _blend(X[chosen], OWN_AGAIN, common, damping, float(sizes.mean()))
    return PseudoCounts.of(common, share, _placed(part, small, K))


def at_seeds(corpus: Corpus, start: PseudoCounts, seeds: PseudoCounts) -> PseudoCounts:
    """The same start, where seeded topics begin with documents that have many of their seed words. With a start
    elsewhere a topic would have moved away before its prior is felt."""
    X, by_topic = corpus.to_scipy(), sp.csr_array(seeds.by_word().T)  # [D, V], [K, V]
    seeded, (mean, damping, common) = np.flatnonzero(np.diff(by_topic.indptr)), _damped(X)
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
    share[seeded], part = _blend(sp.vstack(begins, "csr"), OWN_SEED, common, damping, size)
    others = np.delete(np.arange(len(share)), seeded)
    own = _placed(own[others], others, len(share)) + _placed(part, seeded, len(share))
    return PseudoCounts.of(common, share, sp.csr_array(own))


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


def _mean(X: sp.csr_array) -> np.ndarray:
    sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    return sums / max(sums.sum(), 1e-300)


def _placed(rows: sp.csr_array, topics: np.ndarray, K: int) -> sp.csr_array:
    """[K, V] these rows, each at its topic."""
    where = sp.csr_array((np.ones(len(topics)), (topics, np.arange(len(topics)))), (K, len(topics)))
    return where @ rows


def _damped(X: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[V] shares of words, what common ones are multiplied by, and the product."""
    mean = _mean(X)
    damping = 1.0 / (1.0 + (mean / max(COMMON, TIMES_THE_MEAN / len(mean))) ** 2)
    return mean, damping, mean * damping


def _blend(
    chosen: sp.csr_array, own: float, common: np.ndarray, damping: np.ndarray, size: float
) -> tuple[np.ndarray, sp.csr_array]:
    """`own` of each chosen document, damped, and the rest of what is common to all, `size` tokens altogether: how much
    each has of the common [documents], and what it has of its own."""
    n_words = np.diff(chosen.indptr)
    each = np.repeat(own / np.maximum(row_sums(chosen.indptr, chosen.data), 1e-300), n_words)
    part = sp.csr_array((each * chosen.data * damping[chosen.indices], chosen.indices, chosen.indptr), chosen.shape)
    sums = np.maximum((1.0 - own) * common.sum() + row_sums(part.indptr, part.data), 1e-300)
    part.data *= np.repeat(size / sums, n_words)
    return (1.0 - own) * size / sums, part
