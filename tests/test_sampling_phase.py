"""The sampling phase: sweeps and exchanges between the first passes of LDA and its last ones."""

import numpy as np
import pytest

from topmix import HDP, LDA
from topmix.data import Corpus, sample_lda
from topmix.inference import Collapsed
from topmix.learn import sampling
from topmix.learn.chains import Chain
from topmix.learn.history import LEARNING, POLISHING, SAMPLING, Record, Stopping
from topmix.learn.sampling import FIRST_PASSES, LAST_PASSES, SamplingPlan
from topmix.learn.tokens import exchanged
from topmix.learners import Memoized, Stochastic
from topmix.metrics import topic_recovery_error
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.statistics import places
from topmix.models.topic_words import TopicWords
from topmix.models.words import WordTotal

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
        assert (record.terms.get("entropy", 0) == 0) == (record.phase == SAMPLING)  # one topic per token
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


@pytest.mark.parametrize("most", [sampling.MOST_TOKENS, 1], ids=["in one place", "in shards"])
@pytest.mark.parametrize("learner", ["memoized", "batch", Memoized(batch_size=50, batches_per_update=3)], ids=str)
def test_the_same_bits_for_threads_and_engines(planted, learner, most, monkeypatch):
    monkeypatch.setattr(sampling, "MOST_TOKENS", most)
    monkeypatch.setattr(SamplingPlan, "exchanges_now", lambda _, phase, history: phase == SAMPLING and len(history) > 5)
    fits = [
        lda(learner=learner, max_iter=7, **how).fit(planted.corpus)
        for how in ({"n_jobs": 1}, {"n_jobs": 3}, {"engine": "serial"}, {"engine": Remote()})
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].components_, other.components_)
        assert [r.objective for r in fits[0].history_] == [r.objective for r in other.history_]


@pytest.mark.parametrize("most", [sampling.MOST_TOKENS, 1], ids=["in one place", "in shards"])
def test_it_finds_planted_topics_that_passes_do_not(planted, most, monkeypatch):
    monkeypatch.setattr(sampling, "MOST_TOKENS", most)
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


def clocked(plan, seconds_of_a_sweep, stopping=None):
    """Four passes of a second, then what the plan says, until it polishes."""
    stopping = stopping or Stopping(20, 0.0)
    records = [Record(n + 1, n + 1.0, float(n), 3) for n in range(FIRST_PASSES)]
    while (phase := plan.next_phase(records, stopping)) == SAMPLING:
        records.append(Record(len(records) + 1, records[-1].seconds + seconds_of_a_sweep, 0.0, 3, phase=phase))
    return records, phase


def test_alpha_falls_to_its_end_in_the_time_that_there_is():
    plan, plain = SamplingPlan(150, 0, max_time=26.0), lda()._document_options()
    records, phase = clocked(plan, 0.25)
    sweeps = [r for r in records if r.phase == SAMPLING]
    assert phase == POLISHING
    assert len(sweeps) == 80  # 4 s before them and 2 s after
    assert records[-1].seconds == 24.0
    seen = [plan.options(plain, SAMPLING, records[:n]).sampling.concentration for n in range(FIRST_PASSES, 84)]
    np.testing.assert_allclose(seen[1:], np.geomspace(30, 0.5, 80)[1:])
    unhurried, _ = clocked(SamplingPlan(150, 0, max_time=1000.0), 0.25)
    assert len(unhurried) == FIRST_PASSES + 150


def test_no_sampling_where_there_is_time_for_few_sweeps():
    assert clocked(SamplingPlan(150, 0, max_time=15.9), 0.5) == clocked(SamplingPlan(150, 0, max_time=5.0), 0.5)
    assert len(clocked(SamplingPlan(150, 0, max_time=16.1), 0.5)[0]) == FIRST_PASSES + 20


def test_alpha_falls_from_sweep_to_sweep():
    plan, plain, history, seen = SamplingPlan(5, 0), lda()._document_options(), [], []
    for n in range(5):
        seen.append(plan.options(plain, SAMPLING, history).sampling)
        history.append(Record(n + 1, n + 1.0, 0.0, 3, phase=SAMPLING))
    np.testing.assert_allclose([s.concentration for s in seen], np.geomspace(30, 0.5, 5))
    assert [s.sweep for s in seen] == list(range(5))
    assert plan.options(plain, POLISHING, history) == plain


def test_a_callback_that_ends_the_fit_ends_the_sampling_and_a_pass_polishes(planted):
    model = lda(callbacks=[lambda record, _: record.n_pass == FIRST_PASSES + 2], tol=-np.inf).fit(planted.corpus)
    assert phases(model) == [LEARNING] * FIRST_PASSES + [SAMPLING] * 2 + [POLISHING]
    assert not model.converged_
    assert model.model_.document_options.sampling is None
    assert model.history_[-1].objective >= model.history_[FIRST_PASSES - 1].objective


def test_a_fit_goes_back_where_sampling_found_something_worse(planted, monkeypatch):
    monkeypatch.setattr(sampling, "CONCENTRATION", (1e7, 1e7))  # any token may have any topic
    seen = {}

    def look(record, view):
        seen[record.n_pass] = record.objective, view.fitted().components_
        return record.n_pass == FIRST_PASSES + 20

    model = lda(sweeps=40, callbacks=[look], tol=-np.inf).fit(planted.corpus)
    learned, polished = seen[FIRST_PASSES], seen[FIRST_PASSES + 21]
    assert polished[0] < learned[0] == model.history_[-1].objective
    np.testing.assert_array_equal(model.components_, learned[1])
    assert list(model.history_[-1].moves) == [f"back to pass {FIRST_PASSES}"]
    assert [r.n_pass for r in model.history_] == list(range(1, FIRST_PASSES + 22))


@pytest.mark.filterwarnings("ignore:the fit was interrupted, and has the model of pass 4")
def test_ctrl_c_during_sampling_leaves_the_model_from_before(planted):
    seen = []

    def press(record, view):
        seen.append(view.fitted().components_)
        if record.phase == SAMPLING:
            raise KeyboardInterrupt

    model = lda(callbacks=[press], tol=-np.inf)
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted.corpus)
    assert phases(model) == [LEARNING] * FIRST_PASSES
    np.testing.assert_array_equal(model.components_, seen[FIRST_PASSES - 1])


def test_exchanges_are_tried_late_and_again_while_they_pay():
    def tried(plan, *gains, seconds=0.25):
        """After which sweeps, if exchanges gain so much; zero from then on."""
        found, gains = [], list(gains)
        history = [Record(n + 1, n + 1.0, 0.0, 3) for n in range(FIRST_PASSES)]
        while (phase := plan.next_phase(history, Stopping(20, 0.0))) == SAMPLING:
            moves = {}
            if plan.exchanges_now(phase, history):
                moves["exchange"] = gains.pop(0) if gains else 0.0
                found.append(len(history) - FIRST_PASSES)
            history.append(Record(len(history) + 1, history[-1].seconds + seconds, 0.0, 3, moves=moves, phase=SAMPLING))
        assert not plan.exchanges_now(POLISHING, history)
        return found

    assert tried(SamplingPlan(60, 0)) == [40]
    assert tried(SamplingPlan(60, 0), 5.0) == [40, 50]
    assert tried(SamplingPlan(60, 0), 5.0, 1.0, 1.0) == [40, 50]
    assert tried(SamplingPlan(150, 0), 5.0, 2.0) == [100, 110, 120]
    assert tried(SamplingPlan(150, 0, max_time=26.0)) == [53]  # of eighty, for which there is time


def test_an_exchange_undoes_a_pair_that_holds_one_topic_twice():
    """Topic 0 of the data is held by 0 and 1 at random; topics 1 and 2 lie in 2."""
    X = np.kron(np.eye(3), np.ones((60, 15))) * np.random.default_rng(0).integers(1, 4, (180, 45))
    corpus, rng = Corpus.from_scipy(X.astype(np.float32)), np.random.default_rng(1)
    truth = np.repeat(np.repeat(np.arange(180) // 60, np.diff(corpus.indptr)), corpus.value.astype(int))
    wrong = np.where(truth == 0, rng.integers(2, size=len(truth)), 2).astype(np.uint16)
    chain = chain_of(corpus, 3)
    chain.start(wrong)
    assert exchanged(chain, rng) > 0
    assert len({tuple(np.unique(chain.z[truth == t])) for t in range(3)}) == 3
    np.testing.assert_array_equal(chain.total, np.bincount(chain.z, minlength=3))
    assert exchanged(chain, rng) == 0


def chain_of(corpus, K):
    words = TopicWords(np.full((1, 1), 0.05), WordTotal.zeros(corpus.n_words, K), "collapsed")
    return Chain(corpus, DocumentPrior(np.full(K, 0.1), "collapsed"), words, sampler="parallel", seed=0, threads=1)


def test_entries_and_topics_of_rows():
    indptr = np.array([0, 3, 3, 7])
    np.testing.assert_array_equal(places(indptr, np.array([2, 0]))[1], [3, 4, 5, 6, 0, 1, 2])
    np.testing.assert_array_equal(places(indptr, slice(1, 3))[1], [3, 4, 5, 6])
    some = DocTopics(indptr, np.arange(7, dtype=np.uint16), np.ones(7, np.float32)).of(np.array([2, 1]))
    assert some.indptr.tolist() == [0, 4, 4]
    assert some.topic.tolist() == [3, 4, 5, 6]
