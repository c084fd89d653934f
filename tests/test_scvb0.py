"""SCVB0: the kernel against its twin, what averages conserve, and the estimator that learns with it."""

import pickle

import numpy as np
import pytest
from sklearn.utils import check_random_state

from tests.twins.scvb0 import scvb0_step as reference_step
from topmix import LDA, _core
from topmix.corpus.shard import Shard, at_random
from topmix.data import Corpus, sample_lda
from topmix.engines.local import Serial
from topmix.inference import SCVB0
from topmix.learn.learners import blend, tokens
from topmix.learners import State, Stochastic
from topmix.metrics import topic_recovery_error
from topmix.models.document_prior import DocumentPrior
from topmix.models.topic_words import TopicWords
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordStats, WordTotal
from topmix.steps.documents import SCVB0Step, Visit

from .topic_data import native_shard

PAPER = {"scale": 1.0, "offset": 10.0, "decay": 0.9, "burn_in": 1}


def make_shard(seed, n_docs=12, V=50, counts=True):
    """One document is empty, one has one word once, one has one word often."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, (n_docs, V)).astype(np.float32)
    if n_docs > 4:
        X[2:5] = 0
        X[3, 1], X[4, 7] = 1, 9
    if not counts:
        X *= rng.uniform(0.2, 1.5, X.shape).astype(np.float32)
    return Shard.of(Corpus.from_scipy(X))


def make_table(seed, words, K):
    table = np.exp(np.random.default_rng(seed).normal(0, 1.7, (words, K)))
    return (table / table.max(axis=1, keepdims=True)).astype(np.float32)


def native_step(core, shard, table, alpha, *, scale, offset, decay, burn_in, L, seed, pass_, threads=1):
    averages = np.zeros((shard.n_rows, len(alpha)), np.float32)
    options = core.SCVB0Options(scale, offset, decay, burn_in, L, seed)
    words, docs, H, updates = core.scvb0_step(
        native_shard(core, shard),
        table,
        alpha.astype(np.float32),
        options,
        pass_,
        threads,
        core.TopicScratch(),
        averages,
    )
    assert updates == len(shard.index) * (burn_in + 1)
    return WordStats(shard.cols, *words), docs, H, averages


def dense_docs(docs, n_docs, K):
    indptr, topic, count = docs
    N = np.zeros((n_docs, K))
    N[np.repeat(np.arange(n_docs), np.diff(indptr)), topic] = count
    return N


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize(("burn_in", "scale", "decay"), [(0, 1.0, 0.9), (1, 1.0, 0.9), (2, 3.0, 0.6), (1, 40.0, 0.9)])
@pytest.mark.parametrize("L", [None, 4])
def test_kernel_equals_its_twin(core, L, burn_in, scale, decay, counts):
    K = 20
    shard, alpha = make_shard(1, counts=counts), np.linspace(0.05, 0.3, K).astype(np.float32)
    table = make_table(2, len(shard.cols), K)
    how = {"scale": scale, "offset": 10.0, "decay": decay, "burn_in": burn_in, "L": L or K, "seed": 7, "pass_": 3}
    want = reference_step(shard.indptr, shard.index, shard.value, table, alpha.astype(np.float64), **how)
    assert want.margin > 1e-5, "a selection sits on an edge: take another seed"
    S, docs, H, averages = native_step(core, shard, table, alpha, **how, threads=2)
    np.testing.assert_allclose(averages, want.averages, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(dense_docs(docs, shard.n_rows, K), want.docs, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(S.to_dense(50)[shard.cols], want.S, rtol=1e-3, atol=1e-4)
    assert pytest.approx(want.entropy, rel=1e-4) == H


@pytest.mark.parametrize("K", [1, 2, 16, 17])
def test_small_K_equals_its_twin(core, K):
    shard, alpha = make_shard(4), np.full(K, 0.1, np.float32)
    table = make_table(5, len(shard.cols), K)
    for L in {1, K}:
        how = PAPER | {"L": L, "seed": 2**40 + 1, "pass_": 0}
        want = reference_step(shard.indptr, shard.index, shard.value, table, alpha.astype(np.float64), **how)
        assert want.margin > 1e-5
        _, docs, _, averages = native_step(core, shard, table, alpha, **how)
        np.testing.assert_allclose(averages, want.averages, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(dense_docs(docs, shard.n_rows, K), want.docs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("L", [1, 4, 30])
def test_counts_are_conserved(core, L):
    shard, K = make_shard(6, n_docs=40), 30
    S, docs, _, averages = native_step(
        core, shard, make_table(7, len(shard.cols), K), np.full(K, 0.1), **PAPER, L=L, seed=0, pass_=0
    )
    N = dense_docs(docs, shard.n_rows, K)
    np.testing.assert_allclose(averages.sum(axis=1), shard.lengths, rtol=1e-5)
    np.testing.assert_allclose(N.sum(axis=1), shard.lengths, rtol=1e-5)
    np.testing.assert_allclose(S.totals, N.sum(axis=0), rtol=1e-5)
    in_words = np.bincount(shard.index, shard.value, minlength=len(shard.cols))
    np.testing.assert_allclose(S.to_dense(50)[shard.cols].sum(axis=1), in_words, rtol=1e-5)


def test_an_average_forgets_where_it_started_and_a_clump_is_its_copies(core):
    """One word, m copies: after m steps with gamma fixed the start weighs (1 - rho)^m, all at the first step size."""
    shard = Shard.of(Corpus.from_scipy(np.array([[5.0]], np.float32)))
    table, alpha = np.array([[1.0, 1e-30]], np.float32), np.array([0.1, 0.3])
    how = PAPER | {"burn_in": 0}
    _, _, _, averages = native_step(core, shard, table, alpha, **how, L=2, seed=0, pass_=0)
    left = (1 - 10**-0.9) ** 5
    np.testing.assert_allclose(averages, [[5 - 5 * left * 0.75, 5 * left * 0.75]], rtol=1e-5)


@pytest.mark.parametrize("n_docs", [1, 17, 1003])
@pytest.mark.parametrize("L", [5, 23])
def test_same_bits_for_any_number_of_threads(core, n_docs, L):
    shard, K = make_shard(8, n_docs=n_docs, V=201), 23
    table, alpha = make_table(9, len(shard.cols), K), np.full(K, 0.05)
    how = PAPER | {"L": L, "seed": 3, "pass_": 1}
    one, *others = (native_step(core, shard, table, alpha, **how, threads=t) for t in (1, 2, 7))
    for S, docs, H, averages in others:
        for field in ("cols", "indptr", "topic", "value", "totals"):
            np.testing.assert_array_equal(getattr(one[0], field), getattr(S, field))
        for a, b in zip(one[1], docs):
            np.testing.assert_array_equal(a, b)
        assert one[2] == H
        np.testing.assert_array_equal(one[3], averages)


def test_the_order_of_tokens_is_drawn_anew_at_every_visit(core):
    shard, K = make_shard(10), 6
    table, alpha = make_table(11, len(shard.cols), K), np.full(K, 0.1)

    def averages(seed, pass_):
        return native_step(core, shard, table, alpha, **PAPER, L=K, seed=seed, pass_=pass_)[3]

    np.testing.assert_array_equal(averages(0, 0), averages(0, 0))
    assert not np.array_equal(averages(0, 0), averages(0, 1))
    assert not np.array_equal(averages(0, 0), averages(1, 0))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("offset", 0.0, "offset"), ("scale", -1.0, "scale"), ("burn_in", -1, "burn_in"), ("L", 7, "L <= K")],
)
def test_bad_options_are_refused(core, name, value, message):
    shard, how = make_shard(12), PAPER | {"L": 6, "seed": 0, "pass_": 0}
    with pytest.raises(ValueError, match=message):
        native_step(core, shard, make_table(0, len(shard.cols), 6), np.full(6, 0.1), **how | {name: value})


def start_model(corpus, K, seed=0, L=None):
    raw = np.random.default_rng(seed).gamma(1.0, 1.0, (corpus.n_words, K))
    words = TopicWords(np.full((1, 1), 0.05), WordTotal.of(raw), "collapsed")
    return TopicModel(DocumentPrior(np.full(K, 0.1), "collapsed"), words, DocumentOptions(n_active=L))


def test_the_total_amounts_to_all_tokens_whatever_the_batches_hold(cut):
    """C / |M| with |M| in tokens: batches of short and of long documents alike."""
    X = np.random.default_rng(0).poisson(np.linspace(0.1, 3, 40)[:, None], (40, 30)).astype(np.float32)
    corpus = Corpus.from_scipy(X)
    model = start_model(corpus, 4)
    workers = Serial().open(cut(corpus, 5), SCVB0Step(), 1)
    learner = Stochastic(scale=1.0, offset=1.0, decay=0.0)  # every step forgets all before it
    _, total, _ = next(learner.passes(model, workers, State(n_tokens=corpus.n_tokens)))
    assert total.S.totals.sum() == pytest.approx(corpus.n_tokens, rel=1e-5)
    np.testing.assert_allclose(total.S.counts().sum(axis=0), total.S.totals, rtol=1e-5)


def test_a_batch_of_nothing_says_nothing(cut):
    corpus = Corpus.from_scipy(np.vstack([np.ones((3, 5)), np.zeros((3, 5))]).astype(np.float32))
    model = start_model(corpus, 2)
    step, (full, empty), scratch = SCVB0Step(), cut(corpus, 2), _core.TopicScratch()
    total = model.no_stats().add(step(full, model.tables(full.cols), None, scratch).stats)
    before = total.S.counts()
    new, visit, _ = step(empty, model.tables(empty.cols), None, scratch)
    blend(total, new, 0.5, 100.0, tokens(new))
    np.testing.assert_array_equal(total.S.counts(), before)
    assert visit == Visit(1)


def test_a_step_travels(cut):
    corpus = sample_lda(20, 30, 3, random_state=0).corpus
    model, step = start_model(corpus, 3, L=2), SCVB0Step(seed=9)
    (shard,) = cut(corpus, 1)
    tables, scratch = model.tables(shard.cols), _core.TopicScratch()
    a, b = (s(shard, tables, Visit(4), scratch).stats for s in (step, pickle.loads(pickle.dumps(step))))
    np.testing.assert_array_equal(a.S.value, b.S.value)


@pytest.fixture(scope="module")
def planted():
    return sample_lda(600, 200, 8, doc_length=80, topic_word_prior=0.05, length_distribution="fixed", random_state=1)


@pytest.mark.parametrize("n_active", [None, 4])
def test_planted_topics_are_found(planted, n_active):
    how = {"inference": "scvb0", "learner": Stochastic(batch_size=50)}
    lda = LDA(8, n_active=n_active, max_iter=25, tol=-np.inf, random_state=0, **how)
    chance = topic_recovery_error(np.random.default_rng(0).dirichlet(np.full(200, 0.05), 8), planted.topic_word)
    error = topic_recovery_error(lda.fit(planted.corpus).topic_word_, planted.topic_word)
    assert error < 0.4 * chance


def test_a_stream_is_one_pass_over_the_same_batches(planted):
    corpus = planted.corpus
    how = {"inference": "scvb0", "n_active": 4, "random_state": 5}
    how["init"] = np.random.default_rng(0).gamma(1.0, 1.0, (6, corpus.n_words))
    whole = LDA(6, max_iter=1, learner=Stochastic(batch_size=100), **how).fit(corpus)
    rng = np.random.default_rng(check_random_state(5).randint(2**31, size=4))
    stream = LDA(6, learner=Stochastic(total_samples=corpus.n_docs), **how)
    for rows in at_random(corpus, 6, rng):
        stream.partial_fit(corpus[rows])
    np.testing.assert_array_equal(stream.components_, whole.components_)
    assert stream.n_batch_iter_ == whole.n_batch_iter_ == 6


def test_an_endless_stream_keeps_its_mass(planted):
    stream = Stochastic(total_samples=10_000, scale=1, offset=1)
    lda = LDA(6, inference="scvb0", learner=stream, random_state=0)
    for _ in range(3):
        for a in range(0, 600, 60):
            lda.partial_fit(planted.corpus[slice(a, a + 60)])
    mass = lda.components_.sum() - 200 * 6 * lda.topic_word_prior_
    assert mass == pytest.approx(10_000 * 80, rel=0.05)  # what is left of the start


@pytest.mark.parametrize("n_jobs", [2, 7])
def test_the_estimator_has_the_same_bits_for_any_number_of_jobs(planted, n_jobs):
    how = {"inference": "scvb0", "learner": Stochastic(batch_size=64), "max_iter": 2, "random_state": 0}
    fits = [LDA(6, n_jobs=n, **how) for n in (1, n_jobs)]
    a, b = (lda.fit(planted.corpus).components_ for lda in fits)
    np.testing.assert_array_equal(a, b)


def test_inference_decides_the_local_step(planted):
    def fit(**how):
        return LDA(6, max_iter=2, random_state=0, learner="stochastic", **how).fit(planted.corpus)

    assert "updates" in fit(inference="scvb0").history_[0].effort
    assert "restarts" in fit(inference="collapsed").history_[0].effort
    assert "restarts" in fit(inference="variational").history_[0].effort
    with pytest.raises(ValueError, match="inference='magic' is not one of 'collapsed', 'variational', 'cvb0', 'scvb0'"):
        fit(inference="magic")


def test_its_settings_reach_the_kernel(planted):
    def fit(**settings):
        return LDA(6, max_iter=1, random_state=0, learner="stochastic", inference=SCVB0(**settings)).fit(planted.corpus)

    usual, longer = fit(), fit(doc_burn_in=2)
    assert longer.history_[0].effort["updates"] == pytest.approx(1.5 * usual.history_[0].effort["updates"])
    for other in ({"doc_scale": 2.0}, {"doc_offset": 20.0}, {"doc_decay": 0.9}):
        assert not np.array_equal(fit(**other).components_, usual.components_)
    for bad in ({"doc_burn_in": -1}, {"doc_scale": 0.0}, {"doc_offset": -1.0}, {"doc_decay": np.nan}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            SCVB0(**bad)


def test_it_learns_in_any_order_of_batches(planted):
    """Memoized and batch learners too: a visit is all that it remembers."""
    for learner in ("memoized", "batch"):
        lda = LDA(8, inference="scvb0", learner=learner, max_iter=20, tol=-np.inf, random_state=0).fit(planted.corpus)
        assert topic_recovery_error(lda.topic_word_, planted.topic_word) < 0.6
        assert lda.model_.words.total.totals.sum() == pytest.approx(planted.corpus.n_tokens, rel=1e-5)
