"""The sampling step on the device against its twin, and the sampling phase on it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.twins.gibbs import count
from tests.twins.gibbs_cuda import GOLDEN, MASK, mixed, sample_block, uniform
from topmix import LDA
from topmix.corpus.design import DesignRows
from topmix.corpus.shard import Shard
from topmix.cuda.sampling import sample, seed_of
from topmix.cuda.shard import DeviceDocs, DeviceShard
from topmix.cuda.solve import DeviceOwnPriors
from topmix.data import sample_lda
from topmix.inference import Collapsed
from topmix.models.covariate_prior import CovariatePrior
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.topic_words import WordTables
from topmix.models.topics import DocumentOptions, Sampling, TopicTables
from topmix.priors import Covariates

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

    def sampled(self, device, z, docs=None, prior=None):
        scale = self.e.max(axis=1)
        words = WordTables(
            device.array(self.e / scale[:, None], np.float32), device.array(np.log(scale)), self.norm, self.eta
        )
        common = DocumentPrior(self.alpha, "collapsed", True)
        tables = TopicTables(words, prior or common, "collapsed", DocumentOptions(), None)
        there = DeviceShard.of(self.shard, device)
        own = DeviceOwnPriors.of(there, prior)
        docs = None if docs is None else DeviceDocs.of(device, docs)
        z = None if z is None else device.array(z, np.uint16)
        return sample(device, there, tables, self.sampling, UNIT, z, docs, own)

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


@pytest.mark.parametrize("K", [5, 45])
def test_documents_with_priors_of_their_own_accept_what_the_common_one_proposes(K):
    p = Problem(K)
    rng, D = np.random.default_rng(3), p.shard.n_rows
    design = DesignRows.of(np.column_stack([np.ones(D), rng.integers(3, size=D)]))
    coefficients = np.column_stack([np.log(p.alpha), rng.normal(0, 2.0, K)])
    prior = CovariatePrior(coefficients, "collapsed", 0.0, 1.0, p.alpha, np.zeros((0, *coefficients.shape)))
    p.shard = replace(p.shard, design=design)
    want, eta, own = p.z.copy(), np.full((p.V, K), p.eta), 2 * prior.rows(design.x)[design.row]
    margins = sample_block(p.words, p.first, range(D), want, 2 * p.alpha, eta, p.key(), 5, own)
    found = p.sampled(EmulatedDevice(), p.z, prior=prior)
    sure = np.repeat(margins > 1e-5, np.diff(p.first))
    assert sure.mean() > 0.5
    np.testing.assert_array_equal(found.words.z()[sure], want[sure])
    unlike = p.sampled(EmulatedDevice(), p.z)
    assert np.mean(unlike.words.z() != found.words.z()) > 0.005


@pytest.mark.parametrize("posterior", ["collapsed", "variational"])
def test_what_documents_say_of_their_priors_is_what_the_processor_finds(posterior):
    K, rng, device = 9, np.random.default_rng(5), EmulatedDevice()
    corpus = make_corpus(rng, n_docs=70, V=30, K=K)
    design = DesignRows.of(np.column_stack([np.ones(70), rng.normal(size=70), rng.integers(2, size=70)]))
    shard = Shard.of(corpus.with_columns(design=design))
    prior = CovariatePrior.flat(K, 3, posterior, 2.0, 1.0)
    prior = replace(prior, coefficients=rng.normal(-1.0, 1.0, (K, 3)), is_curved=True)
    dense = rng.gamma(0.5, 3.0, (70, K)) * (rng.random((70, K)) < 0.5)
    dense[3] = 0.0
    n = np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))]).astype(np.int64)
    docs = DocTopics(n, np.nonzero(dense)[1].astype(np.uint16), dense[dense > 0].astype(np.float32))
    want = prior.of(design).summarise(None, docs, shard.lengths, 1.5)
    there = DeviceShard.of(shard, device)
    for curved in (True, False):
        own = DeviceOwnPriors.of(there, replace(prior, is_curved=curved))
        np.testing.assert_allclose(own.given["alpha"], prior.of(design).rows, rtol=1e-6)
        got = own.stats(None, DeviceDocs.of(device, docs), 1.5)
        if not curved:
            want.M[K * 3 :] = 0.0
        shuffled = DeviceOwnPriors.of(DeviceShard.of(shard, EmulatedDevice(5)), own.prior)
        same = shuffled.stats(None, DeviceDocs.of(shuffled.shard.device, docs), 1.5)
        for name in ("D", "H", "G", "A", "T", "M"):
            np.testing.assert_array_equal(getattr(got, name), getattr(same, name))
            np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-6, atol=1e-5, err_msg=name)


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
    settings = {"n_active": 3, "max_iter": 12, "random_state": 0}
    settings |= {"learner": learner, "inference": Collapsed(sweeps=5)}
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


def test_effects_have_intervals(engine):
    """As on the processor, within what another chain of draws finds."""
    frame = {"group": ["a", "b"] * 25, "x": np.linspace(-1, 1, 50)}
    settings = {"doc_topic_prior": Covariates("group + x"), "max_iter": 45, "inference": Collapsed(sweeps=5)}
    there, here = (
        LDA(4, n_active=3, random_state=0, **settings, **more).fit(SAMPLE.corpus, metadata=frame)
        for more in ({"engine": engine}, {})
    )
    phases = [record.phase for record in there.history_]
    assert (phases.count("sampling"), phases.count("drawing")) == (5, 34)
    a, b = (lda.effects() for lda in (there, here))
    wide, same = a["high"] - a["low"], b["high"] - b["low"]
    assert np.all(wide > 0.1)
    assert np.median(wide / same) == pytest.approx(1.0, abs=0.4)
    assert there.history_[-1].objective == pytest.approx(here.history_[-1].objective, rel=0.02)
