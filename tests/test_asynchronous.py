"""Asynchronous topics: the kernel against its twin, exact ascent by one worker, nothing lost by many."""

import itertools
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from tests.twins.asynchronous_topics import AsynchronousTopics as Twin
from topmix import LDA, _core, load
from topmix.data import Corpus, sample_lda
from topmix.inference import Variational
from topmix.learn.asynchronous_topics import AsynchronousTopics, Travel, split_documents, word_blocks
from topmix.learners import Asynchronous, State
from topmix.models.document_prior import DocumentPrior
from topmix.models.topic_words import TopicWords
from topmix.models.topics import TopicModel
from topmix.models.words import WordTotal

K, ETA = 9, 0.1


def documents(seed=0, n_docs=37, V=31):
    """Of three topics; one document is empty, one word unused, and counts need not be whole."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(V, 0.1), 3)
    theta = rng.dirichlet(np.full(3, 0.3), n_docs)
    X = np.array([rng.multinomial(rng.integers(3, 60), p) for p in theta @ phi], np.float32)
    X[5], X[:, 7] = 0, 0
    X[X == 2] = 1.5
    return X


def topic_model(X, alpha=None, seed=1, eta=None, K=K):
    counts = np.random.default_rng(seed).gamma(1.0, 1.0, (X.shape[1], K))
    eta = np.full((1, 1), ETA) if eta is None else eta
    words = TopicWords(eta, WordTotal.of(counts), "variational")
    return TopicModel(DocumentPrior(np.linspace(0.05, 0.3, K) if alpha is None else alpha, "variational"), words)


def twin(X, model, workers=1, *, C, tail="best", settle=0, block_words=None):
    blocks = word_blocks(np.count_nonzero(X, axis=0), model.n_components, workers, block_words)
    words = np.split(blocks[1], blocks[0][1:-1])
    eta = np.broadcast_to(model.words.eta, model.words.shape)
    twin = Twin(X.astype(np.float64), words, model.prior.alpha, eta, C, tail)
    twin.begin(model.words.total.counts(), settle)
    return twin


def opened(X, model, workers, travel, max_iter=1000):
    return AsynchronousTopics(Corpus.from_scipy(X), model, workers, travel, max_iter)


def passes(model, workers, n):
    return itertools.islice(Asynchronous().passes(model, workers, State()), n)


def bounds(model, workers, n):
    return [sum(m.bound(total).values()) for m, total, _ in passes(model, workers, n)]


@pytest.mark.parametrize(("C", "tail"), [(K, "best"), (3, "best"), (3, "mean"), (1, "best")])
@pytest.mark.parametrize(("warm_up", "settle"), [(0, 0), (2, 0), (0, 2)])
def test_kernel_equals_its_twin(core, monkeypatch, C, tail, warm_up, settle):
    monkeypatch.setattr("topmix.learn.asynchronous_topics._core", core)
    X = documents()
    eta = np.linspace(0.05, 0.2, X.shape[1])[:, None] if C == K else None
    model = topic_model(X, eta=eta)
    want = twin(X, model, C=C, tail=tail, settle=settle)
    workers = opened(X, model, 1, Travel(C, tail, warm_up, settle))
    np.testing.assert_allclose(workers.native.now()[0], want.S, rtol=1e-4, atol=1e-4)
    for (m, total, _), bound in zip(passes(model, workers, 4), want.passes(warm_up)):
        np.testing.assert_allclose(total.S.raw, want.S, rtol=2e-3, atol=2e-3)
        assert pytest.approx(want.entropy(), rel=1e-3) == total.H
        assert sum(m.bound(total).values()) == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize(("C", "tail"), [(K, "best"), (3, "best"), (3, "mean")])
def test_updates_by_token_equal_the_twin_and_climb(core, monkeypatch, C, tail):
    """Algorithm 5 as it is written: words alone, which follow every token."""
    monkeypatch.setattr("topmix.learn.asynchronous_topics._core", core)
    X = documents(6, n_docs=23, V=19)
    model = topic_model(X)
    want = twin(X, model, C=C, tail=tail, block_words=1)
    workers = opened(X, model, 1, Travel(C, tail, 1, 0, 0, 1, True))
    rise = []
    for (m, total, _), bound in zip(passes(model, workers, 4), want.passes(1, by_token=True)):
        np.testing.assert_allclose(total.S.raw, want.S, rtol=2e-3, atol=2e-3)
        rise.append(sum(m.bound(total).values()))
        assert rise[-1] == pytest.approx(bound, rel=1e-5)
    workers.native.audit()
    assert workers.native.visits_by_worker().shape[0] == np.count_nonzero(X.sum(axis=0))  # a block for each word
    if tail == "best":
        assert np.all(np.diff(rise[1:]) > -1e-6 * abs(rise[0]))


@pytest.mark.parametrize("C", [K, 3])
def test_blocks_that_come_and_go_equal_the_twin(core, C):
    """One process of a cluster: counts of words are packed, and a block's rows are there for its visit only."""
    X = documents(5)
    model, rows = topic_model(X), Corpus.from_scipy(X)
    want, blocks = twin(X, model, C=C), word_blocks(np.count_nonzero(X, axis=0), K, 1)
    words = np.split(blocks[1], blocks[0][1:-1])
    native = core.NomadicTopics(
        core.CountRows(rows.indptr, rows.index, rows.value), np.array([0, len(rows)]),
        core.WordBlocks(*blocks), X.shape[1], K, C, "best",
    )  # fmt: skip
    counts, S = model.words.total.counts(), np.zeros((X.shape[1], K))
    native.begin(model.prior.alpha, model.words.eta, counts.sum(axis=0))
    for b, v in enumerate(words):
        native.put(b, counts[v], np.zeros((len(v), K)))
        native.begin_visit(0, b, "shares", True)
        S[v] = native.take(b)[1]
    np.testing.assert_allclose(S, want.S, rtol=1e-4, atol=1e-4)
    native.begin(model.prior.alpha, model.words.eta, S.sum(axis=0))
    for _ in range(3):
        before = S.sum(axis=0) - native.own()
        for b, v in enumerate(words):
            native.put(b, S[v])
            native.visit(0, b, "logarithms")
            S[v] = native.take(b)[0]
        want.sweep()
        np.testing.assert_allclose(S, want.S, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(S.sum(axis=1), X.sum(axis=0), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(before + native.own(), S.sum(axis=0), rtol=1e-9, atol=1e-9)
        assert native.summary(0)[0] == pytest.approx(want.entropy(), rel=1e-3)
    assert native.of_documents > 0
    for call in (lambda: native.take(0), lambda: native.visit(0, 0, "means")):
        with pytest.raises(RuntimeError, match="block 0 is not here"):
            call()
    native.put(0, S[words[0]])
    with pytest.raises(RuntimeError, match="block 0 is here already"):
        native.put(0, S[words[0]])
    for call in (
        lambda: native.visit(1, 0, "means"), lambda: native.visit(0, 99, "means"), lambda: native.visit(0, 0, "x"),
        lambda: native.put(1, S), lambda: native.apply_total(np.ones(K + 1)), lambda: native.take(99),
        lambda: native.begin(np.ones(2), model.words.eta, np.ones(K)), lambda: native.summary(1),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            call()


def test_by_token_nothing_is_lost_by_several_workers():
    X = documents(9)
    workers = opened(X, model := topic_model(X), 3, Travel(4, per_token=True, block_words=1, warm_up=1))
    for _, total, _ in passes(model, workers, 5):
        np.testing.assert_allclose(total.S.raw.sum(axis=1), X.sum(axis=0), rtol=1e-9, atol=1e-9)
    workers.native.audit()


@pytest.mark.parametrize("n", [1, 4, 1000])
def test_blocks_have_as_many_words_as_asked_for(n):
    starts, words = word_blocks(np.arange(31), K, 2, n)
    sizes = np.diff(starts)
    assert sizes.max() <= n
    assert len(sizes) == -(-30 // n)  # one word is in no document
    assert sorted(words) == list(range(1, 31))


@pytest.mark.parametrize("C", [37, 20, 5, 1])
@pytest.mark.parametrize("alpha", [0.1, 0.004])
def test_rows_of_several_vectors_equal_the_twin(core, monkeypatch, C, alpha):
    """And with the small prior most topics leave a document, which then has nothing to choose."""
    monkeypatch.setattr("topmix.learn.asynchronous_topics._core", core)
    X = documents(8)
    model = topic_model(X, np.full(37, alpha), K=37)
    want = twin(X, model, C=C)
    workers = opened(X, model, 1, Travel(C, warm_up=0))
    for (m, total, _), bound in zip(passes(model, workers, 3), want.passes()):
        np.testing.assert_allclose(total.S.raw, want.S, rtol=5e-3, atol=5e-3)
        assert sum(m.bound(total).values()) == pytest.approx(bound, rel=1e-4)


@pytest.mark.parametrize("tail", ["best", "mean"])
def test_of_equal_topics_the_first_are_kept(tail):
    X = documents(7)
    counts = np.ones((X.shape[1], K))
    words = TopicWords(np.full((1, 1), ETA), WordTotal.of(counts), "variational")
    model = replace(topic_model(X), words=words)
    workers = opened(X, model, 1, Travel(3, tail))
    np.testing.assert_allclose(workers.native.now()[0], twin(X, model, C=3, tail=tail).S, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("C", "tail"), [(K, "best"), (3, "best"), (1, "best")])
@pytest.mark.parametrize("alpha", [0.5 / K, 0.5])
def test_by_one_worker_the_bound_never_falls(C, tail, alpha):
    X = documents(3)
    model = topic_model(X, np.full(K, alpha))
    rise = bounds(model, opened(X, model, 1, Travel(C, tail, warm_up=0)), 60)
    assert np.all(np.diff(rise) > -1e-6 * abs(rise[0]))
    assert rise[-1] > rise[0]
    exact = list(itertools.islice(twin(X, model, C=C, tail=tail).passes(), 12))
    assert np.all(np.diff(exact) > -1e-10 * abs(exact[0]))


def test_after_the_opening_too():
    X = documents(4)
    model = topic_model(X)
    rise = bounds(model, opened(X, model, 1, Travel(K, warm_up=5)), 30)
    assert np.all(np.diff(rise[5:]) > -1e-6 * abs(rise[0]))


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("C", [K, 2])
def test_every_token_is_counted_once_in_every_snapshot(workers, C):
    X = documents(1)
    model = topic_model(X)
    they = opened(X, model, workers, Travel(C, warm_up=2), max_iter=6)
    by_word = X.sum(axis=0, dtype=np.float64)
    for _, total, _ in passes(model, they, 6):
        np.testing.assert_allclose(total.S.raw.sum(axis=1), by_word, rtol=1e-9)
    they.native.audit()
    visits = they.native.visits_by_worker()
    np.testing.assert_array_equal(visits, np.full((len(visits), workers), 6))


def test_many_workers_end_where_one_does():
    X, *_ = sample_lda(150, 60, 4, doc_length=80, random_state=0)
    corpus = Corpus.from_scipy(X)
    how = {"inference": "variational", "learner": "asynchronous", "n_active": None, "max_iter": 60, "tol": 1e-6}
    ends = [LDA(4, n_jobs=n, random_state=0, **how).fit(corpus).elbo_ / corpus.n_tokens for n in (1, 2, 5)]
    assert np.ptp(ends) < 0.03


@pytest.mark.parametrize("C", [None, 3])
def test_one_worker_gives_the_same_bits_each_time(C):
    X = documents(2)
    how = {"inference": "variational", "learner": "asynchronous", "n_active": C, "n_jobs": 1, "random_state": 0}
    one, two = (LDA(6, doc_topic_prior=prior, **how).fit(X) for prior in (None, None))
    np.testing.assert_array_equal(one.components_, two.components_)
    assert [r.objective for r in one.history_] == [r.objective for r in two.history_]
    one, two = (LDA(6, doc_topic_prior="auto", topic_word_prior="auto", **how).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.components_, two.components_)
    assert np.any(one.doc_topic_prior_ != one.doc_topic_prior_[0])


def test_snapshots_do_not_stop_the_workers():
    """They go on while nobody reads, to where posts would overtake the reader."""
    X = documents(1)
    model = topic_model(X)
    workers = opened(X, model, 2, Travel(K), max_iter=50)
    run = Asynchronous().passes(model, workers, State())
    next(run)
    ahead = 4 * 2 * (len(word_blocks(np.count_nonzero(X, axis=0), K, 2)[0]) - 1)  # one read, two posted, one made
    deadline = time.monotonic() + 60
    while workers.native.visits < ahead and time.monotonic() < deadline:
        time.sleep(0.001)
    assert workers.native.visits == ahead
    run.close()
    workers.native.audit()


def test_workers_stop_and_go_at_any_time():
    """As benchmarks/asynchronous_stress.py, which makes a thousand of these."""
    rng = np.random.default_rng(5)
    X = documents(6)
    for n in range(30):
        model, workers = topic_model(X, seed=n), int(rng.integers(1, 9))
        plan = Travel(int(rng.choice([K, 4, 1])), warm_up=int(rng.integers(3)), seed=n)
        native = opened(X, model, workers, plan).native
        for _ in range(3):
            native.start(1000)
            for _ in range(int(rng.integers(3))):
                assert native.next() is not None
            timer = threading.Timer(rng.uniform(0, 0.002), native.stop)
            timer.start()
            timer.join()
            native.audit()
        assert native.now()[0].sum() == pytest.approx(X.sum(dtype=np.float64), rel=1e-9)


def test_blocks_hold_every_used_word_once_and_documents_are_dealt_evenly():
    rng = np.random.default_rng(0)
    entries = rng.poisson(3.0, 5003)
    for n_topics, workers in ((1, 1), (64, 3), (4000, 2)):
        starts, words = word_blocks(entries, n_topics, workers)
        np.testing.assert_array_equal(np.sort(words), np.flatnonzero(entries))
        load_of = np.add.reduceat(entries[words], starts[:-1])
        assert load_of.max() - load_of.min() <= entries.max()
        assert (np.diff(starts).max() - 1) * n_topics * 8 <= 1 << 20
        assert len(load_of) >= 4 * workers
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 50, 200))])
    shares = np.diff(indptr[split_documents(indptr, 7)])
    assert shares.max() - shares.min() <= 100
    assert np.all(np.diff(split_documents(np.array([0, 3]), 4)) >= 0)  # more workers than documents


def test_topics_of_a_generated_corpus_are_found():
    X, *_ = sample_lda(400, 80, 5, doc_length=100, random_state=1)
    how = {"n_active": None, "random_state": 0, "max_iter": 60}
    model = LDA(5, inference="variational", learner="asynchronous", n_jobs=2, **how)
    batch = LDA(5, inference=Variational(min_topic_mass=0.0), learner="batch", **how)
    assert model.fit(X).elbo_ > batch.fit(X).elbo_ - 1e-3 * abs(batch.elbo_)


def test_warm_start_and_files(tmp_path):
    X = documents(2)
    how = {"inference": "variational", "learner": "asynchronous", "n_jobs": 1}
    model = LDA(4, random_state=0, warm_start=True, max_iter=30, **how)
    last = model.fit(X).elbo_
    assert model.fit(X).history_[0].objective >= last - 1e-2 * abs(last)
    model.save(tmp_path / "m.topmix")
    np.testing.assert_array_equal(load(tmp_path / "m.topmix").transform(X), model.transform(X))


def test_a_checkpoint_is_gone_on_from(tmp_path):
    X, path = documents(2), tmp_path / "c"
    how = {"inference": "variational", "learner": "asynchronous", "n_jobs": 2, "random_state": 0, "tol": -np.inf}
    LDA(4, max_iter=8, **how).fit(X, checkpoint=path)
    model = LDA(4, max_iter=12, **how).fit(X, checkpoint=path)
    assert [r.n_pass for r in model.history_] == list(range(1, 13))
    assert model.history_[8].objective >= model.history_[7].objective - 1e-2 * abs(model.history_[7].objective)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"inference": "collapsed"}, "inference='variational'"),
        ({"inference": "cvb0"}, "inference='variational'"),
        ({"inference": "scvb0"}, "inference='variational'"),
        ({"engine": "serial"}, "engine must be 'threads' or 'ray'"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, said):
    model = LDA(3, **{"inference": "variational", "learner": "asynchronous"} | parameters)
    with pytest.raises(ValueError, match=said):
        model.fit(documents())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tail": "none"}, "tail='none'"),
        ({"warm_up": -1}, "warm_up"),
        ({"workers": 0}, "workers"),
        ({"block_words": 0}, "block_words"),
        ({"block_words": 5, "per_token": True}, "block_words=1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        Asynchronous(**settings)


def test_workers_are_as_many_as_asked_for_and_else_n_jobs(monkeypatch):
    seen = []
    real = AsynchronousTopics.__init__

    def watched(self, corpus, model, workers, travel, max_iter):
        seen.append((workers, travel.tail, travel.warm_up, travel.settle))
        real(self, corpus, model, workers, travel, max_iter)

    monkeypatch.setattr(AsynchronousTopics, "__init__", watched)
    for learner in (Asynchronous(), Asynchronous(workers=3, tail="mean", warm_up=2), Asynchronous(warm_up=100)):
        LDA(3, inference="variational", learner=learner, n_jobs=2, max_iter=6).fit(documents())
    assert seen == [(2, "best", 3, 0), (3, "mean", 2, 0), (2, "best", 3, 0)]  # never more than half of max_iter


def test_a_step_on_a_stream_is_refused():
    with pytest.raises(ValueError, match="keeps its documents"):
        LDA(3, inference="variational", learner="asynchronous").partial_fit(documents())


@pytest.mark.parametrize("n_active", [2, 5, None])
@pytest.mark.parametrize("tail", ["best", "mean"])
@pytest.mark.parametrize("scale", [1e19, 1e30, 1e35])
def test_huge_counts_have_topics(n_active, tail, scale):
    """Products of counts with weights were infinite where some topics are kept, and then all was NaN."""
    X, how = documents(), {"inference": "variational", "max_iter": 6, "random_state": 0}
    model = LDA(9, n_active=n_active, learner=Asynchronous(tail=tail), n_jobs=1, **how).fit(scale * X)
    assert np.all(np.isfinite([record.objective for record in model.history_]))
    assert model.components_.sum() == pytest.approx(scale * X.sum(dtype=np.float64), rel=1e-5)
    shares = model.transform(scale * X)
    assert np.all(np.isfinite(shares))


def test_the_native_class_checks_what_it_is_given():
    X = Corpus.from_scipy(documents())
    words, plan = np.arange(31, dtype=np.int32), (K, "best", 0, 0, 0)
    good = {
        "rows": _core.CountRows(X.indptr, X.index, X.value), "bounds": np.array([0, len(X)]),
        "blocks": _core.WordBlocks(np.array([0, 31]), words), "counts": np.ones((31, K)), "alpha": np.ones(K),
        "eta": np.ones((1, 1)), "plan": _core.TopicPlan(*plan),
    }  # fmt: skip
    _core.AsynchronousTopics(**good)
    for name, bad in [
        ("bounds", np.array([0, 3])), ("blocks", _core.WordBlocks(np.array([0, 30]), words)),
        ("blocks", _core.WordBlocks(np.array([0, 31]), np.zeros(31, np.int32))),
        ("plan", _core.TopicPlan(K + 1, *plan[1:])), ("plan", _core.TopicPlan(*plan, True)), ("alpha", np.ones(2)),
        ("eta", np.ones((3, 1))), ("counts", np.ones((3, K))),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            _core.AsynchronousTopics(**good | {name: bad})
    with pytest.raises(ValueError, match="tail"):
        _core.TopicPlan(K, "x", 0, 0, 0)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_ctrl_c_leaves_a_model(n_jobs):
    X = documents()

    def interrupt(record, view):
        if record.n_pass == 3:
            raise KeyboardInterrupt

    how = {"inference": "variational", "learner": "asynchronous", "n_jobs": n_jobs}
    model = LDA(4, random_state=0, callbacks=[interrupt], **how)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert len(model.history_) == 3
    assert np.all(np.isfinite(model.transform(X)))
    eta = model.topic_word_prior_ * model.components_.size
    assert model.components_.sum() - eta == pytest.approx(X.sum(dtype=np.float64), rel=1e-9)
