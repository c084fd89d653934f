"""The sampling step on the device against its twin, and the sampling phase on it."""

import numpy as np
import pytest

from topmix import LDA
from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.document_prior import DocumentPrior
from topmix.cuda.sampling import sample, seed_of
from topmix.cuda.shard import DeviceDocs, DeviceShard
from topmix.data import sample_lda
from topmix.data.shard import Shard
from topmix.inference import Collapsed
from topmix.likelihoods.topic_words import WordTables
from topmix.models.document_options import DocumentOptions, Sampling
from topmix.models.topics import TopicTables
from topmix.reference.gibbs import count
from topmix.reference.gibbs_cuda import GOLDEN, MASK, mixed, sample_block, uniform

from ..topic_data import make_corpus
from .emulated import EmulatedDevice
from .test_gibbs import tokens_of

UNIT = 2.0**20


class Problem:
    """A shard whose tokens have topics, and tables of exactly those."""

    def __init__(self, K, seed=0):
        rng = np.random.default_rng(seed)
        self.K, corpus = K, make_corpus(rng, length=60)
        self.shard = Shard.of(corpus, number=3)
        self.first = tokens_of(corpus)[1]
        self.words = np.repeat(self.shard.index, self.shard.value.astype(int)).astype(np.int64)
        self.z = rng.integers(K, size=len(self.words))
        self.alpha = rng.uniform(0.05, 0.5, K)
        self.V, self.eta = len(self.shard.cols), 0.1
        self.counts = count(self.words, self.z, self.V, K)
        self.norm = self.counts.total + self.V * self.eta
        self.e = (self.counts.word + self.eta) / self.norm
        self.sampling = Sampling(2 * self.alpha.sum(), 5, 17)

    def sampled(self, device, z, docs=None):
        scale = self.e.max(axis=1)
        words = WordTables(
            device.array(self.e / scale[:, None], np.float32), device.array(np.log(scale)), self.norm, self.eta
        )
        tables = TopicTables(words, DocumentPrior(self.alpha, "collapsed", True), "collapsed", DocumentOptions(), None)
        there = DeviceShard(self.shard, device)
        docs = None if docs is None else DeviceDocs.of(device, docs)
        z = None if z is None else device.array(z, np.uint16)
        return sample(device, there, tables, self.sampling, UNIT, z, docs)

    def key(self):
        return seed_of(self.sampling.seed, 3)


@pytest.mark.parametrize("K", [5, 45])
def test_draws_equal_their_twin(K):
    p = Problem(K)
    want = p.z.copy()
    eta = np.full((p.V, K), p.eta)
    margins = sample_block(p.words, p.first, range(p.shard.n_rows), want, 2 * p.alpha, eta, p.key(), 5)
    found = p.sampled(EmulatedDevice(), p.z)
    sure = np.repeat(margins > 1e-5, np.diff(p.first))
    assert sure.mean() > 0.6
    assert np.mean(want != p.z) > 0.2
    np.testing.assert_array_equal(found.words.z()[sure], want[sure])
    assert found.moved == np.sum(found.words.z() != p.z)


def test_tokens_without_topics_are_drawn_given_those_of_their_document():
    p = Problem(7, 1)
    rng, D = np.random.default_rng(2), p.shard.n_rows
    dense = rng.gamma(0.5, 3.0, (D, 7)) * (rng.random((D, 7)) < 0.5)
    docs = DocTopics(
        np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))]).astype(np.int64),
        np.nonzero(dense)[1].astype(np.uint16),
        dense[dense > 0].astype(np.float32),
    )
    found = p.sampled(EmulatedDevice(), None, docs).words.z()
    n_sure = 0
    for d in range(D):
        key = mixed((p.key() + GOLDEN * mixed((5 << 32) + d)) & MASK)
        for i in range(p.first[d], p.first[d + 1]):
            e, c = p.e[p.words[i]], int(i - p.first[d])
            u, u_prior = (uniform(mixed((key + GOLDEN * (2 * c + j)) & MASK)) for j in (1, 2))
            edges = np.cumsum(np.append(dense[d] * e, (2 * p.alpha * e).sum()))
            x, sums = u * edges[-1], np.cumsum(2 * p.alpha * e)
            want = int(np.searchsorted(edges, x, side="right"))
            margin = np.abs(edges - x).min() / edges[-1]
            if want == 7:
                x = u_prior * sums[-1]
                want, margin = int(np.searchsorted(sums, x, side="right")), np.abs(sums - x).min() / sums[-1]
            if margin > 1e-5:
                n_sure += 1
                assert found[i] == want
    assert n_sure > 0.9 * len(p.words)


def test_documents_and_sums_are_those_of_the_tokens():
    p = Problem(7)
    found = p.sampled(EmulatedDevice(), p.z)
    z, docs = found.words.z().astype(int), found.docs.on_host()
    for d in range(p.shard.n_rows):
        topics, n = np.unique(z[p.first[d] : p.first[d + 1]], return_counts=True)
        np.testing.assert_array_equal(docs.topic[docs.indptr[d] : docs.indptr[d + 1]], topics)
        np.testing.assert_array_equal(docs.count[docs.indptr[d] : docs.indptr[d + 1]], n)
    np.testing.assert_array_equal(found.words.totals, np.bincount(z, minlength=7))
    prior = DocumentPrior(p.alpha, "collapsed", True)
    want = prior.summarise(None, docs, p.shard.lengths, 0.0)
    got = prior.stats(None, found.sums, 0.0)
    for name, value in vars(want).items():
        if isinstance(value, float | np.ndarray):
            np.testing.assert_allclose(getattr(got, name), value, rtol=1e-6, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("order", [1, 5])
def test_any_order_of_the_lanes_gives_the_same_topics(order):
    p = Problem(7)
    first, other = (p.sampled(EmulatedDevice(n), p.z) for n in (0, order))
    np.testing.assert_array_equal(first.words.z(), other.words.z())
    np.testing.assert_array_equal(first.docs.topic(), other.docs.topic())


SAMPLE = sample_lda(50, 40, 4, doc_length=20, random_state=2)


@pytest.mark.parametrize("learner", ["memoized", pytest.param("batch", marks=pytest.mark.slow)])  # seconds each
def test_a_fit_explores(engine, learner):
    settings = {"learner": learner, "random_state": 0, "max_iter": 12, "inference": Collapsed(sweeps=5)}
    first, again = (LDA(4, engine=engine, **settings).fit(SAMPLE.corpus) for _ in range(2))
    phases = [record.phase for record in first.history_]
    assert phases.count("sampling") == 5
    assert phases[-1] == "polishing"
    np.testing.assert_array_equal(first.components_, again.components_)
    plain = LDA(4, engine=engine, **settings | {"inference": Collapsed(sweeps=0)}).fit(SAMPLE.corpus)
    on_processor = LDA(4, **settings).fit(SAMPLE.corpus)
    assert first.history_[-1].objective > plain.history_[-1].objective
    assert first.history_[-1].objective == pytest.approx(on_processor.history_[-1].objective, rel=0.01)
    assert first.components_.sum() == pytest.approx(SAMPLE.corpus.n_tokens + 4 * 40 * first.topic_word_prior_)
