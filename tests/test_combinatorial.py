"""Combinatorial topics: kernels against plain twins, differences against the objective itself, and the estimator."""

import itertools

import numpy as np
import pytest

from tests.twins import combinatorial as reference
from topmix import LDA, CombinatorialLDA, GibbsLDA
from topmix.data import Corpus, sample_lda
from topmix.learn.chains import HardTopics
from topmix.learn.tokens import exchange, part
from topmix.metrics import nmi, topic_recovery_error


def make(core, monkeypatch, D=17, V=23, K=5, penalty=2.5, seed=0):
    """(topics of a small random corpus, word and document of every token)."""
    monkeypatch.setattr("topmix.learn.chains._core", core)
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, (D, V))
    X[4] = 0
    corpus = Corpus.from_scipy(X.astype(np.float32))
    hard = HardTopics(corpus, K, penalty, 1)
    hard.start(rng.integers(K, size=hard.n_tokens))
    copies = corpus.value.astype(np.int64)
    doc = np.repeat(np.repeat(np.arange(D), np.diff(corpus.indptr)), copies)
    return hard, np.repeat(corpus.index.astype(np.int64), copies), doc


def distances(core, hard, smoothing):
    D = np.empty((len(hard.word), -(-len(hard.total) // core.LANES) * core.LANES), np.float32)
    core.hard_distances(hard.word, hard.total, smoothing, 1, D)
    assert np.all(D[:, len(hard.total) :] == 1e6)
    return D


@pytest.mark.parametrize("K", [1, 5, 37])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 4.0])
def test_assignments_are_the_twins(core, monkeypatch, K, penalty):
    for seed, smoothing in enumerate((0.0, 0.7)):
        hard, words, doc = make(core, monkeypatch, K=K, penalty=penalty, seed=seed)
        D = distances(core, hard, smoothing)
        want = np.where(hard.word > 0, np.log(np.maximum(hard.total, 1)) - np.log(np.maximum(hard.word, 1)), 1e6)
        if smoothing:
            want = np.log(hard.total + len(hard.word) * smoothing) - np.log(hard.word + smoothing)
        np.testing.assert_allclose(D[:, :K], want, rtol=1e-5)
        exact = D[:, :K].astype(np.float64)
        for step in ("basic", "word", "place"):
            z = hard.z.copy()
            total = core.hard_assign(hard.tokens, step, D, K, penalty, 1, z)
            costs = 0.0
            for d in np.unique(doc):
                mine = doc == d
                old, got, w = hard.z[mine].astype(int), z[mine].astype(int), words[mine]
                if step == "basic":
                    np.testing.assert_array_equal(got, reference.basic(w, old, exact, penalty))
                    continue
                new = reference.word(w, exact, penalty)
                costs += reference.cost(w, got, exact, penalty)
                expected = reference.cost(w, new, exact, penalty)
                if step == "word":
                    expected = min(expected, reference.cost(w, old, exact, penalty))
                assert reference.cost(w, got, exact, penalty) == pytest.approx(expected, rel=1e-5, abs=1e-5)
            if step != "basic":
                assert total == pytest.approx(costs, rel=1e-5, abs=1e-4)


def test_every_difference_is_that_of_the_objective(core, monkeypatch):
    hard, words, doc = make(core, monkeypatch, K=6, seed=3)
    z = hard.z.astype(np.int64)
    now = reference.objective(words, doc, z, 6, hard.penalty)
    checked = 0
    for d in np.unique(doc):
        for t in np.unique(z[doc == d]):
            out = np.empty(6)
            core.refine_deltas(hard.tokens, d, t, hard.penalty, hard.z, hard.word, hard.total, hard._distance, out)
            for k in range(6):
                moved = np.where((doc == d) & (z == t), k, z)
                change = reference.objective(words, doc, moved, 6, hard.penalty) - now
                assert out[k] == pytest.approx(change, abs=2e-4)
                checked += 1
    assert checked > 200


@pytest.mark.parametrize("least_round", [256, 1], ids=["all", "in rounds"])
def test_refinement_is_the_twins_and_falls_by_what_it_says(core, monkeypatch, least_round):
    monkeypatch.setattr("topmix.learn.chains.LEAST_ROUND", least_round)
    for seed in range(3):
        hard, words, doc = make(core, monkeypatch, D=12, seed=seed)
        order = np.random.default_rng(seed).permutation(12)
        want = reference.refine(words, doc, hard.z.astype(np.int64), 5, hard.penalty, order, least_round)
        before = reference.objective(words, doc, hard.z.astype(np.int64), 5, hard.penalty)
        change = hard.refine(order)
        np.testing.assert_array_equal(hard.z, want)
        after = reference.objective(words, doc, want, 5, hard.penalty)
        assert after - before == pytest.approx(change, abs=1e-6)
        assert sum(hard.bound().values()) == pytest.approx(after)
        counts = hard.word.copy()
        hard.count()
        np.testing.assert_array_equal(hard.word, counts)


def test_long_words_of_large_counts_are_refined_exactly_too(core, monkeypatch):
    monkeypatch.setattr("topmix.learn.chains._core", core)
    X = np.array([[70_000, 3, 0], [40_000, 0, 5], [1, 2, 1]], np.float32)
    hard = HardTopics(Corpus.from_scipy(X), 2, 1.0, 1)
    hard.start(np.random.default_rng(0).integers(2, size=hard.n_tokens))
    before = sum(hard.bound().values())
    assert sum(hard.bound().values()) == before
    change = hard.refine(np.arange(3))
    assert sum(hard.bound().values()) == pytest.approx(before + change, rel=1e-9)


@pytest.fixture(scope="module")
def planted():
    return sample_lda(600, 300, 8, doc_length=80, doc_topic_prior=0.05, topic_word_prior=0.05, random_state=2)


def test_the_objective_never_rises_and_is_what_token_topics_say(planted):
    corpus = planted.corpus
    copies = corpus.value.astype(np.int64)
    doc = np.repeat(np.repeat(np.arange(corpus.n_docs), np.diff(corpus.indptr)), copies)
    words = np.repeat(corpus.index.astype(np.int64), copies)
    for algorithm, penalty in itertools.product(("basic", "word", "word+refine"), (3.0, 8.0)):
        model = CombinatorialLDA(8, penalty=penalty, algorithm=algorithm, max_iter=25, tol=-np.inf, random_state=0)
        objective = [r.objective for r in model.fit(corpus).history_]
        assert np.all(np.diff(objective) <= 1e-6 * objective[0])
        assert len(model.token_topics_) == corpus.n_tokens
        assert model.objective_ == objective[-1]
        assert model.objective_ == pytest.approx(reference.objective(words, doc, model.token_topics_, 8, penalty))


def test_an_exchange_undoes_a_topic_held_twice_and_lowers_the_objective_by_what_it_says(planted):
    rng = np.random.default_rng(0)
    z = planted.assignments.copy()
    rows = np.repeat(np.arange(600), lengths(planted))
    half = (z == 3) & (rows % 2 == 0)
    z[z == 5] = 2  # two topics in one
    z[half] = 5  # and one held twice
    hard = HardTopics(planted.corpus, 8, 6.0, 2)
    hard.start(z)
    before = sum(hard.bound().values())
    change = exchange(hard, rng)
    assert change < -1000
    assert sum(hard.bound().values()) == pytest.approx(before + change, rel=1e-9)
    assert nmi(planted.assignments, z) < 0.95 < 0.98 < nmi(planted.assignments, hard.z)
    counts = hard.word.copy()
    hard.count()
    np.testing.assert_array_equal(hard.word, counts)
    hard.start(planted.assignments)
    assert exchange(hard, rng) == 0  # nothing to gain where topics are those of the data
    np.testing.assert_array_equal(hard.z, planted.assignments)


def test_only_topics_whose_halves_differ_are_split(planted):
    z = planted.assignments.copy()
    z[z == 5] = 2
    hard = HardTopics(planted.corpus, 8, 6.0, 1)  # topic 5 is free for a half of topic 2
    hard.start(z)
    assert exchange(hard, np.random.default_rng(0), difference=np.log(2)) == 0
    np.testing.assert_array_equal(hard.z, z)
    assert exchange(hard, np.random.default_rng(0), difference=0.25) < 0


def test_an_exchange_fills_an_empty_topic(planted):
    hard = HardTopics(planted.corpus, 9, 6.0, 1)
    z = np.where(planted.assignments == 7, 4, planted.assignments)
    hard.start(z)
    assert exchange(hard, np.random.default_rng(0)) < 0
    assert np.count_nonzero(hard.total) >= 8


def test_a_part_of_a_corpus_has_its_tokens_in_order(planted):
    tokens = np.flatnonzero(planted.assignments == 1)
    entry = np.repeat(np.arange(planted.corpus.nnz, dtype=np.int32), planted.corpus.value.astype(np.int32))
    small = part(planted.corpus, entry[tokens])
    word = np.repeat(planted.corpus.index, planted.corpus.value.astype(int))
    np.testing.assert_array_equal(np.repeat(small.index, small.value.astype(int)), word[tokens])
    rows = np.repeat(np.arange(600), lengths(planted))[tokens]
    np.testing.assert_array_equal(
        np.asarray(small.to_scipy().sum(axis=1)).ravel(), np.unique(rows, return_counts=True)[1]
    )


def test_word_is_better_than_basic_and_refinement_better_still(planted):
    found = {}
    for algorithm in ("basic", "word", "word+refine"):
        model = CombinatorialLDA(8, algorithm=algorithm, max_iter=15, random_state=0).fit(planted.corpus)
        found[algorithm] = nmi(planted.assignments, model.token_topics_)
    assert found["basic"] < 0.2 < found["word"]
    assert found["word+refine"] > max(found["word"], 0.75)


def test_word_alone_starts_from_clusters_of_documents(planted):
    how = {"algorithm": "word", "max_iter": 1, "random_state": 0}
    given, told = (CombinatorialLDA(8, init=i, **how).fit(planted.corpus).token_topics_ for i in (None, "documents"))
    np.testing.assert_array_equal(given, told)
    scattered = CombinatorialLDA(8, init="random", **how).fit(planted.corpus)
    assert nmi(planted.assignments, scattered.token_topics_) < 0.5 < 0.7 < nmi(planted.assignments, told)
    few = CombinatorialLDA(8, algorithm="word", random_state=0).fit(np.array([[1, 0, 2], [0, 0, 0], [3, 1, 0]]))
    assert len(few.token_topics_) == 7  # fewer documents than topics, one of them empty
    with pytest.raises(ValueError, match="init='nothing'"):
        CombinatorialLDA(8, init="nothing").fit(planted.corpus)


def test_the_penalty_is_chosen_from_the_data(planted):
    model = CombinatorialLDA(8, penalty="auto", random_state=0).fit(planted.corpus)
    assert model.penalty_ == pytest.approx(np.log(8) + np.log(planted.corpus.n_tokens / 600))
    used = model.history_[-1].terms["penalty"] / model.penalty_ / 600
    true = np.mean([len(np.unique(z)) for z in np.split(planted.assignments, np.cumsum(lengths(planted))[:-1])])
    assert 0.6 * true < used < 2.5 * true
    with pytest.raises(ValueError, match="penalty"):
        CombinatorialLDA(8, penalty="lots").fit(planted.corpus)
    with pytest.raises(ValueError, match="penalty"):
        CombinatorialLDA(8, penalty=-1).fit(planted.corpus)


def lengths(sample):
    return np.asarray(sample.corpus.to_scipy().sum(axis=1)).ravel().astype(int)


def test_no_penalty_is_token_k_means_and_a_huge_one_leaves_documents_whole(planted):
    whole = CombinatorialLDA(8, penalty=1e5, max_iter=5, random_state=0).fit(planted.corpus)
    assert np.all(np.count_nonzero(whole.transform(planted.corpus), axis=1) == 1)
    free = CombinatorialLDA(8, penalty=0.0, max_iter=3, tol=-np.inf, random_state=0).fit(planted.corpus)
    word = np.repeat(planted.corpus.index, planted.corpus.value.astype(int))
    assert all(len(np.unique(free.token_topics_[word == v])) == 1 for v in np.unique(word))  # a word has one topic


def test_new_documents(planted):
    model = CombinatorialLDA(8, random_state=0).fit(planted.corpus)
    new = sample_lda(50, topic_word=planted.topic_word, doc_length=80, doc_topic_prior=0.05, random_state=3)
    theta = model.transform(new.corpus)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    z = model.assign(new.corpus)
    assert nmi(new.assignments, z) > 0.65
    counts = model.transform(new.corpus, normalize=False)
    np.testing.assert_array_equal(counts.sum(axis=0), np.bincount(z, minlength=8))
    word = np.repeat(new.corpus.index, new.corpus.value.astype(int))
    want = np.log(model.topic_word_[z, word]).sum() - 8.0 * np.count_nonzero(counts)
    assert model.score(new.corpus) == pytest.approx(want, rel=1e-5)


def test_it_starts_gibbs_and_lda(planted):
    hard = CombinatorialLDA(8, max_iter=3, random_state=0).fit(planted.corpus)
    how = {"doc_topic_prior": 0.05, "topic_word_prior": 0.05, "max_iter": 5, "random_state": 0}
    cold, warm = GibbsLDA(8, **how).fit(planted.corpus), GibbsLDA(8, init=hard, **how).fit(planted.corpus)
    assert warm.history_[0].objective > cold.history_[-1].objective
    error = [topic_recovery_error(m.topic_word_, planted.topic_word) for m in (warm, cold)]
    assert error[0] < 0.5 * error[1]
    lda = LDA(8, init=hard, max_iter=2, random_state=0).fit(planted.corpus)
    assert topic_recovery_error(lda.topic_word_, planted.topic_word) < 0.5 * error[1]
    given = LDA(8, init=hard.components_, max_iter=2, random_state=0).fit(planted.corpus)
    np.testing.assert_array_equal(given.components_, lda.components_)
    with pytest.raises(ValueError, match="fitted"):
        LDA(8, init=CombinatorialLDA(8)).fit(planted.corpus)
