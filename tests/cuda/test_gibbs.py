"""Gibbs sampling on the device against its twin, and the estimator on it."""

import numpy as np
import pytest

from tests.twins.gibbs import count, log_joint
from tests.twins.gibbs_cuda import sample_block
from topmix import LDA, GibbsLDA
from topmix.chains import Parallel
from topmix.cuda.sampling import DeviceTokens
from topmix.data import sample_lda
from topmix.learn.chains import Chain
from topmix.models.document_prior import DocumentPrior
from topmix.models.topic_words import TopicWords
from topmix.models.words import WordTotal

from ..topic_data import make_corpus
from .emulated import Emulated, EmulatedDevice


def tokens_of(corpus):
    words = np.repeat(corpus.index, corpus.value.astype(int)).astype(np.int64)
    lengths = np.add.reduceat(np.append(corpus.value, 0), corpus.indptr[:-1]) * (np.diff(corpus.indptr) > 0)
    return words, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def sampled(device, corpus, z, alpha, eta, K, seed, sweep):
    there = DeviceTokens(device, corpus.indptr, corpus.index, corpus.value, corpus.shape[1], K)
    there.start(z.astype(np.uint16))
    eta_totals = np.broadcast_to(eta.sum(axis=0) * (corpus.shape[1] if len(eta) == 1 else 1), (K,))
    return there, there.sweep([0, len(corpus)], alpha, eta, eta_totals, seed, sweep)


@pytest.mark.parametrize("K", [5, 45])
@pytest.mark.parametrize("wide", [False, True])
def test_draws_equal_their_twin(K, wide):
    rng = np.random.default_rng(K)
    corpus = make_corpus(rng, length=60)
    V = corpus.shape[1]
    words, first = tokens_of(corpus)
    z, alpha = rng.integers(K, size=len(words)), rng.uniform(0.05, 0.5, K)
    eta = rng.uniform(0.05, 0.2, (V, K)) if wide else np.full((1, 1), 0.1)
    want = z.copy()
    margins = sample_block(words, first, range(len(corpus)), want, alpha, np.broadcast_to(eta, (V, K)), 17, 3)
    there, _ = sampled(EmulatedDevice(), corpus, z, alpha, eta, K, 17, 3)
    sure = np.repeat(margins > 1e-5, np.diff(first))
    assert sure.mean() > 0.6
    assert np.mean(want != z) > 0.2
    np.testing.assert_array_equal(there.z[sure], want[sure])
    counts = count(words, there.z.astype(np.int64), V, K)
    np.testing.assert_array_equal(there.counts, counts.word)
    np.testing.assert_array_equal(there.total, counts.total)


def test_any_order_of_the_lanes_gives_the_same_topics():
    rng = np.random.default_rng(0)
    corpus = make_corpus(rng)
    z = rng.integers(7, size=int(corpus.n_tokens))
    found = [
        sampled(EmulatedDevice(order), corpus, z, np.full(7, 0.1), np.full((1, 1), 0.1), 7, 1, 1)[0].z
        for order in (0, 1, 5)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


CORPUS = sample_lda(40, 40, 3, doc_length=25, random_state=0).corpus


def test_the_objective_is_log_p_of_words_and_topics(engine):
    model = GibbsLDA(3, max_iter=4, sampler=Parallel(annealing=0), engine=engine, random_state=0).fit(CORPUS)
    words, first = tokens_of(CORPUS)
    doc = np.repeat(np.arange(len(CORPUS)), np.diff(first))
    alpha, eta = np.broadcast_to(model.doc_topic_prior_, 3), np.broadcast_to(model.topic_word_prior_, (40, 3))
    want = log_joint(words, doc, model.token_topics_, np.asarray(alpha, float), np.asarray(eta, float))
    assert model.objective_ == pytest.approx(want, rel=1e-6)


def test_a_chain_repeats_and_finds_topics_as_good_as_the_processors(engine):
    settings = {"max_iter": 20, "random_state": 1}
    first, again = (GibbsLDA(3, engine=engine, **settings).fit(CORPUS) for _ in range(2))
    np.testing.assert_array_equal(first.token_topics_, again.token_topics_)
    np.testing.assert_array_equal(first.components_, again.components_)
    others = [GibbsLDA(3, max_iter=20, random_state=s).fit(CORPUS).objective_ for s in range(4)]
    assert first.objective_ > min(others) - 0.02 * abs(min(others))
    assert first.components_.sum() == pytest.approx(CORPUS.n_tokens + 3 * 40 * 0.03)


def test_priors_are_learned_and_a_model_can_be_the_start(engine):
    lda = LDA(3, max_iter=2, random_state=0).fit(CORPUS)
    model = GibbsLDA(
        3, max_iter=12, init=lda, doc_topic_prior="auto", topic_word_prior="auto", engine=engine, random_state=0
    ).fit(CORPUS)
    assert np.all(np.isfinite(model.doc_topic_prior_))
    assert model.topic_word_prior_ != 0.03
    assert np.isfinite(model.transform(CORPUS)).all()


def test_a_chain_can_start_again_from_other_topics():
    words = TopicWords(np.full((1, 1), 0.05), WordTotal.zeros(40, 3), "collapsed")
    prior, device = DocumentPrior(np.full(3, 0.1), "collapsed"), EmulatedDevice()
    fresh, chain = (Chain(CORPUS, prior, words, device=device, seed=1, threads=1, sweeps=n) for n in (1, 0))
    chain.start(np.zeros(chain.n_tokens, np.uint16))
    chain.sweep()
    for each in (fresh, chain):
        each.start(np.arange(chain.n_tokens) % 3)
        each.sweep()
    np.testing.assert_array_equal(chain.z, fresh.z)
    np.testing.assert_array_equal(chain.word, count(tokens_of(CORPUS)[0], chain.z.astype(np.int64), 40, 3).word)


def test_the_sequential_sampler_is_refused():
    with pytest.raises(ValueError, match="sampler='parallel'"):
        GibbsLDA(3, sampler="sequential", engine=Emulated()).fit(CORPUS)
