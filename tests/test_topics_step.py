"""The topics kernel against its twin."""

import itertools
import subprocess
import sys
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from tests.twins.topics import (
    Document,
    LastVisit,
    Options,
    merged_entropy,
    topics_step as reference_step,
    variational_loop,
)
from topmix.corpus.shard import Shard
from topmix.cuda.sources import struct
from topmix.data import Corpus
from topmix.models.words import WordStats

from .pairs import pairs
from .topic_data import POSTERIORS, dense_docs, document_options, make_corpus, native_shard


def make_table(rng, words, K):
    """Distinct weights over a few powers of ten, each row over its largest."""
    table = np.exp(rng.normal(0, 1.7, (words, K)))
    return (table / table.max(axis=1, keepdims=True)).astype(np.float32)


def native_step(core, shard, table, alpha, opt, start=None, threads=1, last=None):
    words, docs, H, effort = core.topics_step(
        native_shard(core, shard), table, alpha.astype(np.float32), core.DocumentOptions(**asdict(opt)),
        None if start is None else core.Start(start), None if last is None else core.LastVisit(*last), True, threads,
        core.TopicScratch(),
    )  # fmt: skip
    return WordStats(shard.cols, *words), docs, H, effort


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


KINDS = [("variational", False), ("collapsed", False), ("collapsed", True)]  # posterior, exclude


@pytest.mark.parametrize(
    ("kind", "L", "eps", "select_often"), pairs(KINDS, [1, 2, 7, 40], [0.0, 0.45, 1.7], [False, True])
)
def test_kernel_equals_its_twin(core, kind, L, eps, select_often):
    opt = Options(*kind, select_often, L=L, eps=eps, max_iter=25, tol=0.01)
    agree(core, 40, opt, seed=1)


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("L", [3, 40])
def test_merged_entropy_equals_its_twin(core, L, threads):
    opt = Options("variational", False, L=L, max_iter=25, tol=0.01)
    shard, table, alpha, _, want = twin(40, opt, 1)
    scratch, lost = core.TopicScratch(), np.empty(40)
    options = core.DocumentOptions(**asdict(opt))
    alpha = alpha.astype(np.float32)
    core.topics_step(native_shard(core, shard), table, alpha, options, None, None, True, threads, scratch)
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


@pytest.mark.parametrize("L", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(4, marks=pytest.mark.slow), 40])
def test_no_restart_lowers_the_objective_of_what_is_returned(L):
    """A restart is judged by the L best topics of each word, which are returned. Judged by all topics, some documents
    lost a third of a nat by restarts with L = 1."""
    rng, K, D, alpha = np.random.default_rng(0), 40, 60, np.full(40, 0.02)
    phi = rng.dirichlet(np.full(300, 0.05), K).T + 1e-5
    gains = []
    for theta in rng.dirichlet(np.full(K, 0.1), D):
        tokens = rng.multinomial(60, phi @ theta / (phi @ theta).sum())
        E, counts = phi[tokens > 0], tokens[tokens > 0].astype(float)
        found = []
        for restarts in (0, 5):
            opt = Options("variational", False, L=L, eps=1e-6, max_iter=100, tol=0.01, restarts=restarts)
            document = Document(E, counts, alpha, counts @ (E / E.sum(axis=1, keepdims=True)), opt)
            r, H = document.responsibilities()
            N = counts @ r
            found.append(counts @ (xlogy(r, E).sum(axis=1) + H) + np.sum(gammaln(N + alpha) - gammaln(alpha)))
        gains.append(found[1] - found[0])
    assert min(gains) > -1e-2  # after the last restart two more iterations are made
    assert np.mean(gains) > 1


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
    given = sparse_docs(docs), (table, np.log(scale), norm, 0.01)
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
    last = sparse_docs(docs), (table, log_scale, norm, eta)
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
        args = (native_shard(core, shard), table, alpha, core.DocumentOptions(**asdict(opt)), None, None, True, 1)
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


def test_options_of_documents_are_those_of_the_kernel():
    """Nothing is lost on the way, and nothing is called by another name."""
    opt = Options("variational", True, True, L=3, eps=0.5, max_iter=7, tol=0.2, restarts=2, own_discount=0.25)
    opt = replace(opt, mean_change=True, restart_iter=5)
    native = document_options(opt).native("variational", 9)
    want = asdict(opt)
    assert want.pop("posterior") == "variational"
    assert {name: getattr(native, name) for name in want} == pytest.approx(want)
    assert set(document_options(opt).of_kernels()) == set(want) - {"L"}


def test_options_are_written_for_kernels():
    script = Path(__file__).parents[1] / "tools" / "options.py"
    run = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"run `python tools/options.py --write`:\n{run.stdout}{run.stderr}"
    assert "own_discount" in struct("SolveArgs").names
