"""The sampling phase: sweeps and exchanges between the first passes of LDA and its last ones."""

import numpy as np
import pytest

from topmix import HDP, LDA
from topmix.data import Corpus, sample_lda
from topmix.data.shard import at_random
from topmix.fitting import sampling
from topmix.fitting.history import LEARNING, POLISHING, SAMPLING, Record
from topmix.fitting.loop import Stopping
from topmix.fitting.sampling import FIRST_PASSES, LAST_PASSES, SamplingPlan, exchanged, first_tokens, tokens_of
from topmix.inference import Collapsed
from topmix.learners import Memoized, Stochastic
from topmix.metrics import topic_recovery_error

from .conformance.remote import Remote


@pytest.fixture(scope="module")
def planted():
    return sample_lda(600, 300, 10, doc_length=65, random_state=101)


def lda(sweeps=6, **parameters):
    given = {"n_components": 10, "random_state": 1, "inference": Collapsed(sweeps=sweeps)} | parameters
    return LDA(**given)


def phases(model):
    return [record.phase for record in model.history_]


def test_passes_then_sweeps_then_passes(planted):
    model = lda(tol=-np.inf, max_iter=14).fit(planted.corpus)
    assert phases(model) == [LEARNING] * FIRST_PASSES + [SAMPLING] * 6 + [POLISHING] * (8 - FIRST_PASSES)
    assert model.n_iter_ == 14 == len(model.history_)
    assert model.model_.document_options.sampling is None
    assert [r.n_pass for r in model.history_] == list(range(1, 15))
    for record in model.history_:
        assert (record.terms["entropy"] == 0) == (record.phase == SAMPLING)  # one topic per token
        assert ("moved" in record.effort) == (record.phase == SAMPLING)
    assert sum(model.history_[-1].terms.values()) == model.elbo_


def test_sweeps_are_passes_and_few_passes_leave_room_for_few(planted):
    some, default = (lda(sweeps=30, tol=-np.inf, max_iter=n).fit(planted.corpus) for n in (9, None))
    assert phases(some) == [LEARNING] * FIRST_PASSES + [SAMPLING] * 3 + [POLISHING] * LAST_PASSES
    assert default.n_iter_ == 20 + 30


def test_it_begins_early_where_passes_converge_and_ends_when_polishing_does(planted):
    model = lda(tol=1e9).fit(planted.corpus)
    assert phases(model) == [LEARNING] * 2 + [SAMPLING] * 6 + [POLISHING] * LAST_PASSES
    assert model.converged_


@pytest.mark.parametrize(
    "parameters",
    [
        {"inference": Collapsed(sweeps=0)},
        {"inference": "variational"},
        {"max_iter": FIRST_PASSES + LAST_PASSES},
        {"n_components": 201},  # of 600 documents
        {"learner": Stochastic(batch_size=100)},
        {"init": np.ones((10, 300))},
    ],
    ids=["none wanted", "variational", "few passes", "few documents", "stochastic", "topics given"],
)
def test_no_sampling(planted, parameters):
    assert set(phases(lda(**parameters).fit(planted.corpus))) == {LEARNING}


def test_no_sampling_of_weights_or_from_earlier_topics_or_in_hdp(planted):
    X = planted.corpus.to_scipy()
    assert set(phases(lda().fit(X * 0.5))) == {LEARNING}
    assert set(phases(lda().fit(X * 60))) == {LEARNING}  # sixty copies of every token
    model = lda(warm_start=True).fit(X)
    assert SAMPLING in phases(model)
    assert set(phases(model.fit(X))) == {LEARNING}
    assert set(phases(HDP(4, search=None, max_iter=8, inference="collapsed").fit(X))) == {LEARNING}


@pytest.mark.parametrize("learner", ["memoized", "batch", Memoized(batch_size=50, batches_per_update=3)], ids=str)
def test_the_same_bits_for_threads_and_engines(planted, learner, monkeypatch):
    monkeypatch.setattr(sampling, "EXCHANGE_EVERY", 2)
    fits = [
        lda(learner=learner, max_iter=7, **how).fit(planted.corpus)
        for how in ({"n_jobs": 1}, {"n_jobs": 3}, {"engine": "serial"}, {"engine": Remote()})
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].components_, other.components_)
        assert [r.objective for r in fits[0].history_] == [r.objective for r in other.history_]


def test_it_finds_planted_topics_that_passes_do_not(planted):
    before, after = (lda(sweeps, max_iter=20).fit(planted.corpus) for sweeps in (0, 50))
    errors = [topic_recovery_error(model.topic_word_, planted.topic_word) for model in (before, after)]
    assert errors[0] > 0.35
    assert errors[1] < 0.25
    assert after.elbo_ > before.elbo_


@pytest.mark.parametrize("n_texts", [2, 5])
def test_disjoint_texts_are_separated_for_every_seed(n_texts):
    X = np.kron(np.eye(n_texts), np.ones((20, 12), np.float32))
    for seed in range(8):
        model = LDA(n_texts, random_state=seed, n_jobs=1).fit(X)
        of_topic = model.topic_word_.reshape(n_texts, n_texts, 12).sum(axis=2)
        assert sorted(of_topic.argmax(axis=1)) == list(range(n_texts)), seed
        assert of_topic.max(axis=1).min() > 0.9


def test_time_is_left_for_the_last_passes():
    stopping = Stopping(20, 0.0)
    records = [Record(n + 1, float(n + 1), float(n), 3) for n in range(FIRST_PASSES)]
    assert SamplingPlan(10, 0, max_time=8.1).next_phase(records, stopping) == SAMPLING  # 4 + 1 + 2 x 1 seconds
    assert SamplingPlan(10, 0, max_time=6.9).next_phase(records, stopping) == LEARNING
    records.append(Record(5, 5.5, 0.0, 3, phase=SAMPLING))
    assert SamplingPlan(10, 0, max_time=9.1).next_phase(records, stopping) == SAMPLING  # 5.5 + 1.5 + 2
    assert SamplingPlan(10, 0, max_time=8.9).next_phase(records, stopping) == POLISHING


def test_alpha_falls_from_sweep_to_sweep():
    plan, plain, history, seen = SamplingPlan(5, 0), lda()._document_options(), [], []
    for n in range(5):
        seen.append(plan.options(plain, SAMPLING, history).sampling)
        history.append(Record(n + 1, n + 1.0, 0.0, 3, phase=SAMPLING))
    np.testing.assert_allclose([s.concentration for s in seen], np.geomspace(10, 0.5, 5))
    assert [s.sweep for s in seen] == list(range(5))
    assert plan.options(plain, POLISHING, history) == plain


def test_an_exchange_undoes_a_pair_that_holds_one_topic_twice():
    """Topic 0 of the data is held by 0 and 1 at random; topics 1 and 2 lie in 2."""
    X = np.kron(np.eye(3), np.ones((60, 15))) * np.random.default_rng(0).integers(1, 4, (180, 45))
    corpus, rng = Corpus.from_scipy(X.astype(np.float32)), np.random.default_rng(1)
    batches = at_random(corpus, 4, rng)
    truth = np.repeat(np.repeat(np.arange(180) // 60, np.diff(corpus.indptr)), corpus.value.astype(int))
    wrong = np.where(truth == 0, rng.integers(2, size=len(truth)), 2).astype(np.uint16)
    z = {b: wrong[tokens_of(first_tokens(corpus), rows)] for b, rows in enumerate(batches)}
    found = exchanged(corpus, batches, z, 3, rng, 1)
    assert found is not None
    counts, better = found
    z = np.empty_like(wrong)
    for b, rows in enumerate(batches):
        z[tokens_of(first_tokens(corpus), rows)] = better[b]
    assert len({tuple(np.unique(z[truth == t])) for t in range(3)}) == 3
    np.testing.assert_array_equal(counts.sum(axis=0), np.bincount(z, minlength=3))
    assert exchanged(corpus, batches, better, 3, rng, 1) is None


def test_tokens_of_rows():
    corpus = Corpus.from_scipy(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 1]], np.float32))
    np.testing.assert_array_equal(tokens_of(first_tokens(corpus), np.array([2, 0])), [3, 4, 5, 6, 0, 1, 2])
    np.testing.assert_array_equal(tokens_of(first_tokens(corpus), slice(1, 3)), [3, 4, 5, 6])
