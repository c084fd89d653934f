"""The topics kernel against its twin, its tables against SciPy, its objective against enumeration."""

import itertools
from dataclasses import asdict, replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln, logsumexp, xlogy

from topmix._core import TopicOptions
from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.document_prior import DocumentPrior
from topmix.data import Corpus
from topmix.data.shard import Shard
from topmix.engines import Serial
from topmix.learners import Batch, Memoized, State
from topmix.likelihoods.topic_words import TopicWords
from topmix.local.topics import TopicStep
from topmix.models.document_options import DocumentOptions
from topmix.models.topics import TopicModel
from topmix.reference.topics import (
    LastVisit,
    Options,
    merged_entropy,
    topic_bound as reference_bound,
    topics_step as reference_step,
    variational_loop,
    word_prior,
)
from topmix.stats import PseudoCounts, WordStats, WordTotal

POSTERIORS = ["variational", "collapsed"]


def make_corpus(rng, n_docs=20, V=60, K=40, length=40, counts=True) -> Corpus:
    """Documents of a few topics each; the third is empty, the fourth has one word once, the fifth one word often."""
    phi = rng.dirichlet(np.full(V, 0.05), K)
    theta = rng.dirichlet(np.full(K, 0.1), n_docs)
    X = np.array([rng.multinomial(rng.poisson(length), p) for p in theta @ phi], np.float32)
    if n_docs >= 5:
        X[2:5] = 0
        X[3, 1], X[4, 7] = 1, 9
    if not counts:
        X *= rng.uniform(0.2, 1.5, X.shape).astype(np.float32)
    return Corpus.from_scipy(X)


def make_table(rng, words, K):
    """Distinct weights over a few powers of ten, each row over its largest."""
    table = np.exp(rng.normal(0, 1.7, (words, K)))
    return (table / table.max(axis=1, keepdims=True)).astype(np.float32)


def native_step(core, shard, table, alpha, opt, start=None, threads=1, last=None):
    words, docs, H, effort = core.topics_step(
        shard.indptr, shard.index, shard.value, shard.starts, shard.order, table, alpha.astype(np.float32),
        core.TopicOptions(**asdict(opt)), None, None, None, start, last, True, threads, core.TopicScratch(),
    )  # fmt: skip
    return WordStats(shard.cols, *words), docs, H, effort


def dense_docs(docs, n_docs, K):
    indptr, topic, count = docs
    N = np.zeros((n_docs, K))
    N[np.repeat(np.arange(n_docs), np.diff(indptr)), topic] = count
    return N


@cache
def twin(K, opt, seed, counts=True, start_seed=None):
    """A shard, a model for it and what the twin makes of them, for the documents whose path is not in doubt."""
    rng = np.random.default_rng(seed)
    corpus = make_corpus(rng, counts=counts)
    start = None
    if start_seed is not None:
        start = np.random.default_rng(start_seed).gamma(0.3, 3.0, (corpus.shape[0], K))
        start[start < 0.2] = 0
    all_words, alpha = make_table(rng, corpus.shape[1], K), rng.uniform(0.01, 0.3, K).astype(np.float32)
    for _ in range(2):  # once to find those documents, once for them alone
        shard = Shard.of(corpus)
        table = all_words[shard.cols]
        want = reference_step(shard.indptr, shard.index, shard.value, table, alpha, opt, start)
        sure = want.margin > 2e-5
        assert sure.mean() > 0.6, "many documents sit on an edge: take another seed"
        corpus, start = corpus[np.flatnonzero(sure)], None if start is None else start[sure]
    assert sure.all()
    return shard, table, alpha, None if start is None else start.astype(np.float32), want


def agree(core, K, opt, seed, **case):
    shard, table, alpha, start, want = twin(K, opt, seed, **case)
    S, docs, H, effort = native_step(core, shard, table, alpha, opt, start, threads=2)
    np.testing.assert_allclose(dense_docs(docs, shard.n_rows, K), want.docs, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(S.to_dense(shard.cols[-1] + 1)[shard.cols], want.S, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(S.totals, want.S.sum(axis=0), rtol=1e-3, atol=1e-3)
    assert pytest.approx(want.entropy.sum(), rel=1e-3, abs=1e-3) == H
    assert effort == want.effort
    return effort


@pytest.mark.parametrize("select_often", [False, True])
@pytest.mark.parametrize("eps", [0.0, 0.45, 1.7])
@pytest.mark.parametrize("L", [1, 2, 7, 40])
@pytest.mark.parametrize(("posterior", "exclude"), [("variational", False), ("collapsed", False), ("collapsed", True)])
def test_kernel_equals_its_twin(core, posterior, exclude, L, eps, select_often):
    opt = Options(posterior, exclude, select_often, L=L, eps=eps, max_iter=25, tol=0.01)
    agree(core, 40, opt, seed=1)


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("L", [3, 40])
def test_merged_entropy_equals_its_twin(core, L, threads):
    opt = Options("variational", False, L=L, max_iter=25, tol=0.01)
    shard, table, alpha, _, want = twin(40, opt, 1)
    scratch, lost = core.TopicScratch(), np.empty(40)
    core.topics_step(
        shard.indptr, shard.index, shard.value, shard.starts, shard.order, table, alpha.astype(np.float32),
        core.TopicOptions(**asdict(opt)), None, None, None, None, None, True, threads, scratch,
    )  # fmt: skip
    order = np.random.default_rng(2).permutation(40)[:37]
    partner = np.full(40, -1, np.int32)
    partner[order[:18]], partner[order[18:36]] = order[18:36], order[:18]
    core.merged_entropy(scratch, L, partner, threads, lost)
    np.testing.assert_allclose(lost, merged_entropy(want.shares, partner), rtol=2e-3, atol=2e-3)
    assert np.count_nonzero(lost) >= 5
    with pytest.raises(ValueError, match="another L"):
        core.merged_entropy(scratch, L - 1, partner, 1, lost)
    with pytest.raises(ValueError, match="more topics"):
        core.merged_entropy(scratch, L, partner[:3], 1, lost[:3])


@pytest.mark.parametrize("L", [2, 40])
@pytest.mark.parametrize("select_often", [False, True])
@pytest.mark.parametrize(("posterior", "exclude"), [("variational", False), ("collapsed", False), ("collapsed", True)])
def test_restarts_equal_their_twin(core, posterior, exclude, select_often, L):
    opt = Options(posterior, exclude, select_often, L=L, eps=0.13, max_iter=30, tol=0.01, restarts=4)
    _, tried, accepted = agree(core, 40, opt, seed=3)
    assert tried > 0
    if L == 40:
        assert accepted > 0


@pytest.mark.parametrize("mean_change", [False, True])
def test_stopping_rules_equal_their_twin(core, mean_change):
    for tol in (0.5, 0.02):
        opt = Options(mean_change=mean_change, L=4, tol=tol, max_iter=60)
        iterations, _, _ = agree(core, 40, opt, seed=5)
        assert 0 < iterations < 60 * 17


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_a_start_from_counts_equals_its_twin(core, posterior):
    agree(core, 40, Options(posterior, L=3, eps=0.5, max_iter=12), seed=7, start_seed=8)


def sparse_docs(N):
    """The opposite of dense_docs."""
    rows, topic = np.nonzero(N)
    return np.searchsorted(rows, np.arange(len(N) + 1)), topic.astype(np.uint16), N[rows, topic].astype(np.float32)


@pytest.mark.parametrize("discount", [0.5, 1.0])
@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
def test_own_tokens_are_discounted_as_in_the_twin(core, exclude, cold, discount):
    rng = np.random.default_rng(24)
    corpus, K = make_corpus(rng, n_docs=30), 40
    shard = Shard.of(corpus)
    table, alpha = make_table(rng, len(shard.cols), K), rng.uniform(0.01, 0.3, K).astype(np.float32)
    scale, norm = rng.uniform(0.05, 0.5, len(shard.cols)), rng.uniform(20, 200, K)  # a token is much of a small topic
    docs = rng.gamma(0.3, 3.0, (shard.n_rows, K)) * (rng.random((shard.n_rows, K)) < 0.3)
    start = None if cold else docs.astype(np.float32)
    opt = Options("collapsed", exclude, L=5, eps=0.45, max_iter=25, tol=0.01, own_discount=discount)
    last = LastVisit(docs, scale, norm, 0.01)
    want = reference_step(shard.indptr, shard.index, shard.value, table, alpha, opt, start, last)
    given = (*sparse_docs(docs), np.log(scale), norm, 0.01)
    _, got, _, _ = native_step(core, shard, table, alpha, opt, start, threads=2, last=given)
    _, without, _, _ = native_step(core, shard, table, alpha, opt, start)
    sure = want.margin > 2e-5
    assert sure.mean() > 0.6
    got, without = (dense_docs(x, shard.n_rows, K)[sure] for x in (got, without))
    np.testing.assert_allclose(got, want.docs[sure], rtol=2e-3, atol=2e-3)
    assert np.abs(got - without).max() > 0.5  # it does something


def test_a_whole_discount_is_the_table_without_the_document(core):
    """Two documents of the same words, one of them long: the topics are judged by the other one alone."""
    X = np.array([[40, 40, 0, 0], [1, 1, 30, 30]], np.float32)
    shard, K, eta = Shard.of(Corpus.from_scipy(X)), 2, 0.1
    docs = np.array([[80.0, 0.0], [0.0, 62.0]])
    S = X.T @ (docs / docs.sum(axis=1, keepdims=True))  # [words, K] what they gave
    norm = S.sum(axis=0) + 4 * eta

    def table_of(S):
        e = (S + eta) / norm
        return (e / e.max(axis=1, keepdims=True)).astype(np.float32), np.log(e.max(axis=1))

    opt, alpha = Options("collapsed", False, L=2, max_iter=3, tol=0.0, own_discount=1.0), np.full(K, 0.1)
    table, log_scale = table_of(S)
    last = (*sparse_docs(docs), log_scale, norm, eta)
    start = np.array([[40, 40], [31, 31]], np.float32)
    _, got, _, _ = native_step(core, shard, table, alpha, opt, start, last=last)
    for d in range(2):
        own = X[d][:, None] * docs[d] / docs[d].sum()
        _, want, _, _ = native_step(core, shard, table_of(S - own)[0], alpha, replace(opt, own_discount=0.0), start)
        np.testing.assert_allclose(dense_docs(got, 2, K)[d], dense_docs(want, 2, K)[d], rtol=1e-4)


@pytest.mark.parametrize("K", [1, 2, 16, 17])
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_small_K_and_fractional_counts_equal_their_twin(core, posterior, K):
    for L in {1, K}:
        agree(core, K, Options(posterior, L=L, eps=0.25, max_iter=20), seed=10, counts=False)


def test_dense_variational_is_the_textbook_loop(core):
    rng = np.random.default_rng(12)
    corpus = make_corpus(rng, K=20)
    shard, K = Shard.of(corpus), 20
    table, alpha = make_table(rng, len(shard.cols), K), rng.uniform(0.05, 0.5, K)
    opt = Options("variational", False, L=K, max_iter=15, tol=0.0)
    S, docs, _, _ = native_step(core, shard, table, alpha, opt)
    X = corpus.to_scipy().toarray()[:, shard.cols]
    N, counts = variational_loop(X, table, alpha, n_iter=15)
    np.testing.assert_allclose(dense_docs(docs, len(X), K), N, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(S.to_dense(60)[shard.cols], counts, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_what_the_step_returns_holds_together(core, posterior):
    rng = np.random.default_rng(13)
    corpus = make_corpus(rng)
    shard, K = Shard.of(corpus), 40
    table, alpha = make_table(rng, len(shard.cols), K), np.full(K, 0.05)
    for L in (1, 3, K):
        opt = Options(posterior, L=L, eps=1.0)
        S, docs, H, _ = native_step(core, shard, table, alpha, opt)
        N = dense_docs(docs, shard.n_rows, K)
        X = corpus.to_scipy()[:, shard.cols]
        np.testing.assert_allclose(N.sum(axis=1), X.sum(axis=1), rtol=1e-5)  # every token is somewhere
        np.testing.assert_allclose(S.to_dense(60)[shard.cols].sum(axis=1), X.sum(axis=0), rtol=1e-5)
        np.testing.assert_allclose(S.totals, N.sum(axis=0), rtol=1e-5)
        assert len(S.topic) <= min(len(shard.index) * L, len(shard.cols) * K)
        assert np.all(np.diff(docs[0])[np.diff(shard.indptr) == 0] == 0)  # an empty document has no topics
        assert (H == 0) if L == 1 else (H > 0)
        if L == 1:  # one word, one topic
            assert np.count_nonzero(N[3]) == 1


def test_a_document_is_never_left_without_topics(core):
    rng = np.random.default_rng(14)
    corpus = make_corpus(rng, length=6)
    shard, K = Shard.of(corpus), 40
    table, alpha = make_table(rng, len(shard.cols), K), np.full(K, 0.05)
    for posterior in POSTERIORS:
        opt = Options(posterior, L=4, eps=1e6)  # no topic is large enough
        _, docs, _, _ = native_step(core, shard, table, alpha, opt)
        topics = np.diff(docs[0])
        np.testing.assert_array_equal(topics, np.diff(shard.indptr) > 0)
        np.testing.assert_allclose(dense_docs(docs, shard.n_rows, K).sum(axis=1), shard.lengths)


def test_tokens_find_another_topic_when_their_selected_ones_leave(core):
    """Between the selections of iterations 4 and 10 topics may leave: their tokens must not go to ones that did."""
    for seed, posterior, exclude in itertools.product([0, 9], POSTERIORS, [False, True]):
        corpus = make_corpus(np.random.default_rng(seed), n_docs=25, length=25)
        shard, K = Shard.of(corpus), 40
        table, alpha = make_table(np.random.default_rng(100 + seed), len(shard.cols), K), np.full(K, 0.05)
        opt = Options(posterior, exclude, True, L=1, eps=1.5, tol=1e-3)
        _, docs, _, _ = native_step(core, shard, table, alpha, opt)
        N = dense_docs(docs, shard.n_rows, K)
        several = np.count_nonzero(N, axis=1) > 1
        assert np.all(np.where(N > 0, N, np.inf).min(axis=1)[several] > opt.eps)


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("n_docs", [1, 17, 1003])
def test_same_bits_for_any_number_of_threads(core, posterior, n_docs):
    rng = np.random.default_rng(16)
    corpus = make_corpus(rng, n_docs=n_docs, V=301, K=23)
    shard, K = Shard.of(corpus), 23
    table, alpha = make_table(rng, len(shard.cols), K), np.full(K, 0.05)
    opt = Options(posterior, L=5, eps=0.5, restarts=1)
    one, *others = (native_step(core, shard, table, alpha, opt, threads=t) for t in (1, 2, 7))
    for other in others:
        for field in ("cols", "indptr", "topic", "value", "totals"):
            np.testing.assert_array_equal(getattr(one[0], field), getattr(other[0], field))
        for a, b in zip(one[1], other[1]):
            np.testing.assert_array_equal(a, b)
        assert one[2:] == other[2:]


def test_scratch_of_another_step_does_not_show(core):
    rng = np.random.default_rng(17)
    scratch = core.TopicScratch()
    for L, K, V in [(5, 23, 60), (1, 4, 30), (9, 40, 60), (2, 23, 60)]:
        corpus = make_corpus(rng, V=V, K=K)
        shard = Shard.of(corpus)
        table, alpha = make_table(rng, len(shard.cols), K), np.full(K, 0.05, np.float32)
        opt = Options(L=L, eps=0.5)
        args = (shard.indptr, shard.index, shard.value, shard.starts, shard.order, table, alpha,
                core.TopicOptions(**asdict(opt)), None, None, None, None, None, True, 1)  # fmt: skip
        used, fresh = core.topics_step(*args, scratch), core.topics_step(*args, core.TopicScratch())
        for a, b in zip(itertools.chain(*used[:2]), itertools.chain(*fresh[:2])):
            np.testing.assert_array_equal(a, b)
        assert used[2:] == fresh[2:]


def test_the_largest_K_with_all_topics_kept(core):
    K = core.MAX_TOPICS
    shard = Shard.of(Corpus.from_scipy(np.array([[2.0]])))
    table = np.linspace(0.5, 1, K, dtype=np.float32)[None]
    S, docs, _, _ = native_step(core, shard, table, np.full(K, 0.1), Options(exclude=False, L=K, max_iter=2))
    assert S.totals.sum() == pytest.approx(2, rel=1e-4)
    assert docs[2].sum() == pytest.approx(2, rel=1e-3)


def table_of(core, posterior, counts, eta, factor=1.0, threads=1):
    V, K = counts.shape
    prior = np.broadcast_to(eta, (V, K))
    norm = counts.sum(axis=0) + prior.sum(axis=0)
    table, log_scale = np.empty((V, K), np.float32), np.empty(V)
    cols = np.arange(V, dtype=np.int32)
    core.topic_table(posterior, counts / factor, factor, eta, None, None, norm, cols, threads, table, log_scale)
    lam = counts + prior
    want = np.log(lam / norm) if posterior == "collapsed" else digamma(lam) - digamma(norm)
    return table, log_scale, want


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (130, 1), (130, 9)])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6])
def test_tables_equal_scipy_and_never_vanish(core, posterior, shape, scale):
    rng = np.random.default_rng(18)
    counts = np.where(rng.random((130, 9)) < 0.5, 0.0, rng.gamma(0.5, 20, (130, 9)))
    counts[5] = 0  # a word that no topic has
    eta = scale * rng.uniform(0.5, 2, shape)
    table, log_scale, want = table_of(core, posterior, counts, eta)
    np.testing.assert_allclose(log_scale, want.max(axis=1), rtol=1e-9)
    assert np.all(np.isfinite(table))
    assert np.all(table > 0)
    np.testing.assert_array_equal(table.max(axis=1), 1)
    log_table = np.maximum(want - want.max(axis=1, keepdims=True), np.log(1e-30))
    np.testing.assert_allclose(np.log(table.astype(np.float64)), log_table, atol=3e-5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (700, 1), (700, 9)])
def test_sums_for_the_bound_equal_scipy_for_any_number_of_threads(core, shape):
    rng = np.random.default_rng(20)
    counts = np.where(rng.random((700, 9)) < 0.5, 0.0, rng.gamma(0.5, 200, (700, 9)))
    counts[3, 4] = -1e-12  # what subtraction leaves behind
    eta = rng.uniform(0.001, 2, shape)
    x = np.maximum(counts, 0) + eta
    for posterior, want in (("collapsed", xlogy(x, x).sum()), ("variational", gammaln(x).sum())):
        norms = np.empty((3, 9))
        got = [
            core.topic_bound(posterior, counts / 0.7, 0.7, eta, None, threads, norm)
            for threads, norm in zip((1, 2, 5), norms)
        ]
        assert got[0] == pytest.approx(want, rel=1e-11)
        assert len(set(got)) == 1
        np.testing.assert_allclose(norms, np.tile(x.sum(axis=0), (3, 1)), rtol=1e-12)
        np.testing.assert_array_equal(norms, norms[[0, 0, 0]])


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_tables_of_some_words_are_rows_of_all(core, posterior):
    rng = np.random.default_rng(19)
    counts, eta = rng.gamma(0.3, 5, (200, 7)), np.full((1, 1), 0.1)
    for factor, threads in [(1.0, 1), (0.25, 2), (0.25, 7)]:
        table, log_scale, _ = table_of(core, posterior, counts, eta, factor, threads)
        cols = np.sort(rng.choice(200, 77, replace=False)).astype(np.int32)
        part, part_scale = np.empty((77, 7), np.float32), np.empty(77)
        norm = counts.sum(axis=0) + 200 * 0.1
        core.topic_table(posterior, counts / factor, factor, eta, None, None, norm, cols, 3, part, part_scale)
        np.testing.assert_array_equal(part, table[cols])
        np.testing.assert_array_equal(part_scale, log_scale[cols])


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_a_seed_beside_the_counts_is_a_seed_among_them(core, posterior):
    rng = np.random.default_rng(21)
    V, K, weight = 150, 11, 0.3
    counts, eta = rng.gamma(0.3, 5, (V, K)), np.full((1, 1), 0.1)
    own = sp.random_array((K, V), density=0.1, rng=rng, format="csr")
    seed = PseudoCounts.of(rng.random(V), rng.random(K), own)
    np.testing.assert_allclose(seed.counts(), np.outer(seed.common, seed.share) + own.toarray().T)
    np.testing.assert_allclose(seed.totals, seed.counts().sum(axis=0))
    want, want_scale, _ = table_of(core, posterior, counts + weight * seed.counts(), eta)
    norm = (counts + weight * seed.counts()).sum(axis=0) + V * 0.1
    cols = np.sort(rng.choice(V, 70, replace=False)).astype(np.int32)
    got, got_scale = np.empty((70, K), np.float32), np.empty(70)
    beside = (seed.common, seed.share, seed.indptr, seed.topic, seed.value, weight)
    core.topic_table(posterior, counts, 1.0, eta, None, beside, norm, cols, 2, got, got_scale)
    np.testing.assert_allclose(got, want[cols], rtol=1e-6)
    np.testing.assert_allclose(got_scale, want_scale[cols], rtol=1e-9)
    wrong = (*beside[:3], seed.topic + np.uint16(K), *beside[4:])
    with pytest.raises(ValueError, match="not there"):
        core.topic_table(posterior, counts, 1.0, eta, None, wrong, norm, cols, 2, got, got_scale)


@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (200, 1), (200, 70)])
def test_topics_by_row_are_counts_and_prior_transposed(core, shape):
    rng = np.random.default_rng(22)
    counts, eta = rng.gamma(0.3, 5, (200, 70)), rng.uniform(0.01, 1, shape)
    counts[3, 4] = -1e-12  # what subtraction leaves behind
    lam = (np.maximum(counts, 0) + eta).T
    for threads in (1, 2, 5):
        out = np.empty((70, 200))
        core.topic_rows(counts / 0.7, 0.7, eta, None, False, threads, out)
        np.testing.assert_allclose(out, lam, rtol=1e-12)
        core.topic_rows(counts / 0.7, 0.7, eta, None, True, threads, out)
        np.testing.assert_allclose(out, lam / lam.sum(axis=1, keepdims=True), rtol=1e-12)


def extra_counts(rng, V, K, density=0.05):
    """Sparse rows of a few words in a few topics: most words have none, one has all topics."""
    X = sp.random_array((V, K), density=density, rng=rng, format="csr").tolil()
    X[V // 2] = rng.random(K)
    X = sp.csr_array(X)
    X.sort_indices()
    return X.indptr.astype(np.int64), X.indices.astype(np.uint16), 7 * X.data


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 37), (300, 1), (300, 37)])
def test_extra_counts_beside_eta_are_a_dense_eta(core, posterior, shape):
    rng = np.random.default_rng(23)
    V, K = 300, 37
    counts = np.where(rng.random((V, K)) < 0.8, 0.0, rng.gamma(0.5, 20, (V, K)))
    counts[3, 4] = -1e-12  # what subtraction leaves behind
    eta, extra = rng.uniform(0.001, 1, shape), extra_counts(rng, V, K)
    dense = word_prior(eta, extra, V, K)
    assert np.count_nonzero(dense != eta) == len(extra[1])
    seed = PseudoCounts.of(rng.random(V), rng.random(K), sp.random_array((K, V), density=0.1, rng=rng, format="csr"))
    none, nobody = np.empty(0), np.empty(0, np.uint16)
    beside = (seed.common, seed.share, seed.indptr, seed.topic, seed.value, 0.3)
    sparse = (none, none, *extra, 0.3)  # pseudo-counts without a common part
    cols = np.sort(rng.choice(V, 170, replace=False)).astype(np.int32)
    norm = np.maximum(counts, 0).sum(axis=0) + dense.sum(axis=0)
    for pseudo_counts in (None, beside, sparse, (none, none, np.zeros(V + 1, np.int64), nobody, none, 1.0)):
        tables = []
        for prior, more, threads in ((dense, None, 1), (eta, extra, 1), (eta, extra, 5)):
            table, log_scale = np.empty((170, K), np.float32), np.empty(170)
            core.topic_table(posterior, counts / 0.7, 0.7, prior, more, pseudo_counts, norm, cols, threads, table,
                             log_scale)  # fmt: skip
            tables.append((table, log_scale))
        for table, log_scale in tables[1:]:
            np.testing.assert_array_equal(table, tables[0][0])
            np.testing.assert_array_equal(log_scale, tables[0][1])

    for as_shares in (False, True):
        rows = []
        for prior, more, threads in ((dense, None, 1), (eta, extra, 1), (eta, extra, 5)):
            out = np.empty((K, V))
            core.topic_rows(counts / 0.7, 0.7, prior, more, as_shares, threads, out)
            rows.append(out)
        np.testing.assert_array_equal(rows[1:], [rows[0]] * 2)

    sums, norms = [], np.empty((4, K))
    for norm, (prior, more, threads) in zip(norms, ((dense, None, 1), *((eta, extra, t) for t in (1, 2, 5)))):
        sums.append(core.topic_bound(posterior, counts / 0.7, 0.7, prior, more, threads, norm))
    want, want_norm = reference_bound(posterior, counts, dense)
    assert sums == pytest.approx([want] * 4, rel=1e-12)
    assert len(set(sums[1:])) == 1
    np.testing.assert_array_equal(norms, norms[[0] * 4])
    np.testing.assert_allclose(norms[0], want_norm, rtol=1e-12)


def test_extra_counts_are_checked(core):
    V, K = 5, 3
    counts, eta, norm = np.ones((V, K)), np.full((1, 1), 0.1), np.empty(K)
    indptr, topic, value = np.array([0, 2, 2, 2, 2, 3]), np.array([0, 2, 1], np.uint16), np.ones(3)
    core.topic_bound("collapsed", counts, 1.0, eta, (indptr, topic, value), 1, norm)
    for match, wrong in (
        ("fit", (indptr[:-1], topic, value)),
        ("fit", (indptr, topic, value[:2])),
        ("end at", (indptr - 1, topic, value)),
        ("fall", (np.array([0, 2, 1, 2, 2, 3]), topic, value)),
        ("not there", (indptr, topic + np.uint16(1), value)),
        ("ascend", (indptr, np.array([2, 0, 1], np.uint16), value)),
        ("ascend", (indptr, np.array([2, 2, 1], np.uint16), value)),
        ("negative", (indptr, topic, np.array([1.0, np.nan, 1.0]))),
        ("negative", (indptr, topic, -value)),
    ):
        with pytest.raises(ValueError, match=match):
            core.topic_bound("collapsed", counts, 1.0, eta, wrong, 1, norm)
        with pytest.raises(ValueError, match=match):
            core.topic_rows(counts, 1.0, eta, wrong, False, 1, np.empty((K, V)))


def start_model(posterior, corpus, K, rng, documents, alpha=0.3, eta=0.2):
    words = TopicWords(np.full((1, 1), eta), WordTotal.of(rng.gamma(1.0, 1.0, (corpus.shape[1], K))), posterior)
    return TopicModel(DocumentPrior(np.full(K, alpha), posterior), words, documents)


def document_options(opt):
    """The twin's options as a model holds them."""
    settings = asdict(opt)
    del settings["posterior"]
    return DocumentOptions(n_active=settings.pop("L"), **settings)


def test_options_of_documents_are_those_of_the_kernel():
    """Nothing is lost on the way, and nothing is called by another name."""
    opt = Options("variational", True, True, L=3, eps=0.5, max_iter=7, tol=0.2, restarts=2, own_discount=0.25)
    opt = replace(opt, mean_change=True, restart_iter=5)
    assert document_options(opt).native("variational", 9).__getstate__() == TopicOptions(**asdict(opt)).__getstate__()


def learn(learner, posterior, shards, K, opt, seed=0):
    """(model, objective, documents) pass by pass; a document starts where it was left."""
    workers = Serial().open(shards, TopicStep(cold_visits=1), 1)
    start = start_model(posterior, shards.corpus, K, np.random.default_rng(seed), document_options(opt))
    for model, total, _ in learner.passes(start, workers, State()):
        memory = workers.recall()
        docs = [memory[b].docs for b in range(len(shards))]
        N = [dense_docs((x.indptr, x.topic, x.count), len(x.indptr) - 1, K) for x in docs]
        yield model, sum(model.bound(total).values()), np.concatenate(N)


def rises(objectives):
    objectives = np.array(objectives)
    slack = 2e-6 * np.abs(objectives[0])  # float32 responsibilities
    np.testing.assert_array_less(-np.diff(objectives), slack)


def dirichlet_multinomial(counts, prior):
    """log p of sequences with these counts, row by row, each row's proportions integrated out."""
    n, total = counts.shape[1], counts.sum(axis=1)
    rows = gammaln(n * prior) - gammaln(n * prior + total) + (gammaln(prior + counts) - gammaln(prior)).sum(axis=1)
    return rows.sum()


def log_evidence(X, K, alpha, eta):
    """log p(X) of LDA, token by token, by summing over all assignments with Dirichlet-multinomial closed forms."""
    X = X.astype(int)
    tokens = [(d, v) for d, row in enumerate(X) for v, c in enumerate(row) for _ in range(c)]
    D, V = X.shape
    values = []
    for z in itertools.product(range(K), repeat=len(tokens)):
        N, S = np.zeros((D, K)), np.zeros((V, K))
        for (d, v), k in zip(tokens, z):
            N[d, k] += 1
            S[v, k] += 1
        values.append(dirichlet_multinomial(N, alpha) + dirichlet_multinomial(S.T, eta))
    return logsumexp(values)


@pytest.mark.parametrize("seed", range(3))
def test_the_variational_bound_is_below_the_evidence_and_close(seed, cut):
    rng = np.random.default_rng(seed)
    X = rng.multinomial(4, [0.5, 0.3, 0.2], size=2 + seed % 2).astype(np.float32)
    corpus = Corpus.from_scipy(X)
    evidence = log_evidence(X, 2, 0.3, 0.2)
    bounds = []
    for L, s in itertools.product((1, 2), range(4)):
        opt = Options("variational", False, True, L=L, tol=1e-5, max_iter=200)
        *_, (_, bound, _) = islice(learn(Batch(), "variational", cut(corpus, 1), 2, opt, seed=s), 30)
        bounds.append(bound)
        assert bound < evidence
    assert evidence - max(bounds) < 0.5 * abs(evidence)


def test_the_variational_bound_is_its_definition(cut):
    """E_q[log p(x, z, theta, phi)] - E_q[log q], written out, at what one step returns with every topic kept."""
    rng = np.random.default_rng(20)
    corpus = make_corpus(rng, n_docs=6, V=12, K=3, length=15)
    K, alpha, eta = 3, 0.3, 0.2
    opt = Options("variational", False, L=K, max_iter=1, tol=0.0)
    model, bound, _ = next(learn(Batch(), "variational", cut(corpus, 1), K, opt))

    # The same step in NumPy: one iteration, then the final responsibilities.
    start = start_model("variational", corpus, K, np.random.default_rng(0), document_options(opt))
    table = start.tables(np.arange(12, dtype=np.int32)).words.table.astype(np.float64)
    X = corpus.to_scipy().toarray().astype(np.float64)
    lam = model.words.pseudo_counts().T
    Elogphi = digamma(lam) - digamma(lam.sum(axis=0))
    want = K * gammaln(12 * eta) - K * 12 * gammaln(eta) + (eta - 1) * Elogphi.sum()  # E log p(phi)
    want -= (gammaln(lam.sum(axis=0)) - gammaln(lam).sum(axis=0) + ((lam - 1) * Elogphi).sum(axis=0)).sum()
    for counts in X:
        r = table / table.sum(axis=1, keepdims=True)
        for _ in range(2):
            r = table * np.exp(digamma(counts @ r + alpha))
            r /= r.sum(axis=1, keepdims=True)
        gamma = alpha + counts @ r
        Elogpi = digamma(gamma) - digamma(gamma.sum())
        want += counts @ (r * (Elogpi + Elogphi - np.log(r))).sum(axis=1)
        want += gammaln(K * alpha) - K * gammaln(alpha) + (alpha - 1) * Elogpi.sum()
        want -= gammaln(gamma.sum()) - gammaln(gamma).sum() + (gamma - 1) @ Elogpi
    assert bound == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("L", [1, 2, 20])
@pytest.mark.parametrize(("learner", "n_shards"), [(Batch(), 1), (Memoized(), 3)])
def test_the_variational_bound_rises_with_warm_starts(learner, n_shards, L, cut):
    corpus = make_corpus(np.random.default_rng(21), n_docs=60, K=20)
    opt = Options("variational", False, True, L=L, max_iter=20, tol=1e-3)
    rises([bound for _, bound, _ in islice(learn(learner, "variational", cut(corpus, n_shards), 20, opt), 12)])


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_statistics_of_documents_are_their_definition(posterior):
    """G, A, T and M over all topics, those that a document does not use included."""
    rng = np.random.default_rng(23)
    N = np.where(rng.random((9, 6)) < 0.5, 0, rng.gamma(1, 5, (9, 6))).astype(np.float32)
    N[4] = 0
    alpha, lengths = rng.uniform(0.1, 1, 6), N.sum(axis=1, dtype=np.float64)
    indptr = np.concatenate([[0], np.cumsum((N > 0).sum(axis=1))])
    docs = DocTopics(indptr, np.nonzero(N)[1].astype(np.uint16), N[N > 0])
    stats = DocumentPrior(alpha, posterior, learned=True).summarise(None, docs, lengths, 1.5)
    theta = N.astype(np.float64) + alpha
    total = theta.sum(axis=1, keepdims=True)
    if posterior == "variational":
        Elogpi = digamma(theta) - digamma(total)
        G, A = -(gammaln(total[:, 0]) - gammaln(theta).sum(axis=1)).sum(), ((N - theta) * Elogpi).sum()
    else:
        Elogpi = np.log(theta / total)
        G, A = 0.0, (N * Elogpi).sum()
    np.testing.assert_allclose([stats.D, stats.H, stats.G, stats.A], [9, 1.5, G, A], rtol=1e-6)
    np.testing.assert_allclose(stats.T, Elogpi.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(stats.M, (alpha * (digamma(theta) - digamma(alpha))).sum(axis=0), rtol=1e-6)


def map_objective(model, X, N):
    """sum_dv x log sum_k theta phi + sum alpha log theta + sum eta log phi, at the documents' point estimates."""
    alpha, lam = model.prior.alpha, model.words.pseudo_counts().T
    theta = (N + alpha) / (N + alpha).sum(axis=1, keepdims=True)
    phi = lam / lam.sum(axis=0)
    prior = (np.log(theta) @ alpha).sum() + float(model.words.eta[0, 0]) * np.log(phi).sum()
    return xlogy(X, theta @ phi.T).sum() + prior


@pytest.mark.parametrize(("learner", "n_shards"), [(Batch(), 1), (Batch(), 3), (Memoized(), 1), (Memoized(), 3)])
def test_collapsed_without_exclusion_climbs_the_map_objective(learner, n_shards, cut):
    corpus = make_corpus(np.random.default_rng(22), n_docs=40, V=30, K=4)
    X, K = corpus.to_scipy().toarray().astype(np.float64), 4
    opt = Options("collapsed", False, L=K, max_iter=50, tol=1e-4)
    tracked, exact = [], []
    for model, objective, N in islice(learn(learner, "collapsed", cut(corpus, n_shards), K, opt), 40):
        tracked.append(objective)
        exact.append(map_objective(model, X, N))
    rises(tracked)
    rises(exact)
    tracked, exact = np.array(tracked), np.array(exact)
    assert np.all(tracked <= exact + 1e-6 * np.abs(exact))  # Jensen
    assert tracked[-1] == pytest.approx(exact[-1], rel=1e-5)  # and equal where EM stands still
