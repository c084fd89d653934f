"""CVB0: the kernel against its twin, the parallel learner against the textbook, and the estimator."""

from itertools import islice

import numpy as np
import pytest

from tests.twins.cvb0 import cvb0_step as reference_step, textbook
from topmix import LDA
from topmix.corpus.shard import Shard
from topmix.data import Corpus, sample_lda
from topmix.engines.local import Serial
from topmix.inference import CVB0
from topmix.learners import Batch, Memoized, State
from topmix.metrics import topic_recovery_error
from topmix.models.document_prior import DocumentPrior
from topmix.models.topic_words import TopicWords
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordStats, WordTotal
from topmix.steps.documents import CVB0Step

from .topic_data import native_shard

ETA = 0.1


def make_shard(seed, n_docs=12, V=50, counts=True):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n_docs, V)).astype(np.float32)
    if n_docs > 4:
        X[2:5] = 0
        X[3, 1], X[4, 7] = 1, 9
    if not counts:
        X *= rng.uniform(0.2, 1.5, X.shape).astype(np.float32)
    return Shard.of(Corpus.from_scipy(X))


def word_counts(shard, K, gamma, rng):
    """N_vk + eta that hold these gammas [nnz, K] and a little besides, and N_k + eta."""
    N = rng.gamma(0.3, 1.0, (len(shard.cols), K))
    np.add.at(N, shard.index, shard.value[:, None] * gamma)
    return N + ETA, N.sum(axis=0) + 50 * ETA


def native_step(core, shard, counts, norm, alpha, *, least, L, burn_in, last, threads=1):
    phi = counts / norm
    table = (phi / phi.max(axis=1, keepdims=True)).astype(np.float32)
    old = None
    if last is not None:
        idx = np.sort(np.argsort(-last, axis=1, kind="stable")[:, :L], axis=1)
        old = idx.astype(np.uint16), np.take_along_axis(last, idx, axis=1).astype(np.float32)
    words, docs, H, sweeps, (topic, share) = core.cvb0_step(
        native_shard(core, shard), (table, np.log(phi.max(axis=1)), norm, least), alpha.astype(np.float32), L, burn_in,
        old, threads,
    )  # fmt: skip
    return WordStats(shard.cols, *words), docs, H, sweeps, topic, share


def dense(topic, share, K):
    gamma = np.zeros((len(topic), K))
    np.put_along_axis(gamma, topic.astype(np.int64), share.astype(np.float64), axis=1)
    return gamma


def random_gamma(rng, n, K, L):
    gamma = rng.dirichlet(np.full(K, 0.5), n)
    gamma[np.argsort(np.argsort(-gamma, axis=1), axis=1) >= L] = 0
    return gamma / gamma.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize(("visited", "burn_in"), [(False, 0), (False, 1), (False, 5), (True, 1)])
@pytest.mark.parametrize("L", [None, 4])
def test_kernel_equals_its_twin(core, L, visited, burn_in, counts):
    K, rng = 20, np.random.default_rng(3)
    shard, alpha = make_shard(1, counts=counts), np.linspace(0.05, 0.3, K)
    gamma = random_gamma(rng, len(shard.index), K, L or K)
    N, norm = word_counts(shard, K, gamma, rng)
    how = {"least": ETA, "L": L or K, "burn_in": burn_in, "last": gamma if visited else None}
    want = reference_step(shard.indptr, shard.index, shard.value, N, norm, alpha, **how)
    assert want.margin > 1e-5, "a decision sits on an edge: take another seed"
    S, docs, H, sweeps, topic, share = native_step(core, shard, N, norm, alpha, **how, threads=2)
    assert sweeps == want.sweeps
    np.testing.assert_allclose(dense(topic, share, K), want.gamma, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(S.to_dense(50)[shard.cols], want.S, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(S.totals, want.docs.sum(axis=0), rtol=1e-3, atol=1e-3)
    assert docs[2].sum() == pytest.approx(shard.lengths.sum(), rel=1e-5)
    assert pytest.approx(want.entropy, rel=1e-3) == H


@pytest.mark.parametrize("n_docs", [1, 17, 1003])
@pytest.mark.parametrize("L", [5, 23])
def test_same_bits_for_any_number_of_threads(core, n_docs, L):
    K, rng = 23, np.random.default_rng(4)
    shard = make_shard(5, n_docs=n_docs)
    gamma = random_gamma(rng, len(shard.index), K, L)
    N, norm = word_counts(shard, K, gamma, rng)
    for last in (None, gamma):
        how = {"least": ETA, "L": L, "burn_in": 2, "last": last}
        one, *others = (native_step(core, shard, N, norm, np.full(K, 0.1), **how, threads=t) for t in (1, 2, 7))
        for S, docs, H, sweeps, topic, share in others:
            for field in ("indptr", "topic", "value", "totals"):
                np.testing.assert_array_equal(getattr(one[0], field), getattr(S, field))
            for a, b in zip(one[1], docs):
                np.testing.assert_array_equal(a, b)
            assert one[2:4] == (H, sweeps)
            np.testing.assert_array_equal(one[4], topic)
            np.testing.assert_array_equal(one[5], share)


def test_a_token_does_not_count_itself_anywhere(core):
    """One document of one word, which nobody else has: only priors and sizes speak for a topic."""
    shard = Shard.of(Corpus.from_scipy(np.array([[1.0]], np.float32)))
    gamma, alpha = np.array([[0.9, 0.1]]), np.array([0.2, 0.3])
    norm = np.array([5.0, 9.0]) + gamma[0]
    _, _, _, _, topic, share = native_step(core, shard, gamma + ETA, norm, alpha, least=ETA, L=2, burn_in=0, last=gamma)
    want = alpha * ETA / np.array([5.0, 9.0])
    np.testing.assert_allclose(dense(topic, share, 2)[0], want / want.sum(), rtol=1e-5)


def start_model(corpus, K, seed, L):
    raw = np.random.default_rng(seed).gamma(1.0, 1.0, (corpus.n_words, K))
    words = TopicWords(np.full((1, 1), ETA), WordTotal.of(raw), "collapsed")
    return TopicModel(DocumentPrior(np.full(K, 0.1), "collapsed"), words, DocumentOptions(n_active=L))


@pytest.mark.parametrize(("learner", "n_shards", "L"), [(Batch(), 1, 2), (Batch(), 3, 3), (Memoized(), 4, 2)])
def test_the_parallel_learner_comes_to_where_the_textbook_stands_still(learner, n_shards, L, cut):
    corpus = sample_lda(30, 25, 3, doc_length=30, random_state=2).corpus
    X, K = corpus.to_scipy().toarray().astype(np.float64), 3
    workers = Serial().open(cut(corpus, n_shards), CVB0Step(), 1)
    *_, (model, _, _) = islice(learner.passes(start_model(corpus, K, 1, L), workers, State()), 300)
    memory = [workers.recall()[b] for b in range(n_shards)]
    gamma = np.zeros((*X.shape, K))
    topics, shares = (np.concatenate(parts) for parts in zip(*memory, strict=True))
    gamma[X > 0] = dense(topics, shares, K)
    after = textbook(X, model.prior.alpha, ETA, gamma.copy(), 50, L)
    np.testing.assert_allclose(after, gamma, atol=5e-3)
    np.testing.assert_allclose(np.einsum("dv,dvk->vk", X, after), model.words.total.counts(), atol=0.05)


def test_every_token_is_counted_once_after_every_pass(cut):
    corpus = sample_lda(40, 30, 4, random_state=3).corpus
    for learner, n_shards in ((Batch(), 3), (Memoized(), 3), (Memoized(batches_per_update=2), 3)):
        workers = Serial().open(cut(corpus, n_shards), CVB0Step(), 1)
        for _, total, _ in islice(learner.passes(start_model(corpus, 4, 0, 2), workers, State()), 4):
            assert total.S.totals.sum() == pytest.approx(corpus.n_tokens, rel=1e-5)
            np.testing.assert_allclose(total.S.counts().sum(axis=1), corpus.to_scipy().sum(axis=0), rtol=1e-4)


@pytest.mark.parametrize("learner", ["batch", "memoized"])
@pytest.mark.parametrize("n_active", [None, 4])
def test_planted_topics_are_found(learner, n_active):
    planted = sample_lda(400, 200, 8, doc_length=80, topic_word_prior=0.05, random_state=1)
    lda = LDA(8, learner=learner, inference="cvb0", n_active=n_active, max_iter=60, tol=-np.inf, random_state=0)
    chance = topic_recovery_error(np.random.default_rng(0).dirichlet(np.full(200, 0.05), 8), planted.topic_word)
    assert topic_recovery_error(lda.fit(planted.corpus).topic_word_, planted.topic_word) < 0.4 * chance


@pytest.mark.parametrize("learner", ["batch", "memoized"])
def test_the_estimator_has_the_same_bits_for_any_number_of_jobs(learner):
    corpus = sample_lda(100, 60, 5, random_state=4).corpus
    one, *others = (
        LDA(5, learner=learner, inference=CVB0(), max_iter=3, n_jobs=n, random_state=0).fit(corpus).components_
        for n in (1, 2, 7)
    )
    for other in others:
        np.testing.assert_array_equal(one, other)


def test_a_stochastic_learner_is_refused_because_it_keeps_no_responsibilities():
    with pytest.raises(ValueError, match="inference='cvb0' keeps every document's responsibilities"):
        LDA(3, inference="cvb0", learner="stochastic").fit(np.ones((4, 5)))


def test_burn_in_is_only_of_the_first_visit():
    corpus = sample_lda(50, 40, 4, random_state=0).corpus
    sweeps = [
        [
            record.effort["iterations"]
            for record in LDA(4, inference=CVB0(n), max_iter=3, tol=-np.inf).fit(corpus).history_
        ]
        for n in (0, 3)
    ]
    assert sweeps[1][0] > sweeps[0][0]
    assert sweeps[1][1:] == sweeps[0][1:]
