"""Facts about settings of components: of inference, of learners, and of the search."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from topmix import LDA, GaussianMixture
from topmix.corpus.shard import Shards
from topmix.data import Rows
from topmix.learn.asynchronous_topics import AsynchronousTopics
from topmix.learners import Asynchronous, Memoized, Stochastic
from topmix.models.gaussian import Gaussian
from topmix.steps.rows import MixtureStep

from .facts import ROWS, X, differ, fact, found, in_use, iterations, same

# Inference


@fact("sweeps", "Collapsed")
def tokens_are_sampled_between_passes(fit):
    none, three = (fit({"max_iter": 9}, sweeps=n) for n in (0, 3))
    assert [sum(record.phase == "sampling" for record in model.history_) for model in (none, three)] == [0, 3]
    assert differ(none, three)


@fact("smoothing", "Collapsed", "Variational")
def smoothing_stands_for_eta_in_reports(fit):
    model = fit({"topic_word_prior": 0.2}, smoothing=0.7)
    counts = model.components_ - 0.2 + 0.7
    np.testing.assert_allclose(model.topic_word_, counts / counts.sum(axis=1, keepdims=True))
    assert same(model, fit({"topic_word_prior": 0.2}))  # and changes no topic


@fact("min_topic_mass", "Collapsed", "Variational")
def small_topics_leave_documents(fit):
    assert in_use(fit(min_topic_mass=0.0)) > in_use(fit()) > in_use(fit(min_topic_mass=12.0))


@fact("restarts", "Collapsed", "Variational")
def documents_are_tried_without_small_topics(fit):
    model = fit(min_topic_mass=0.0)
    before, topics = model.score(X), in_use(model)
    model.set_params(inference__restarts=4)
    assert in_use(model) < topics
    if fit.name == "Variational":  # whose score is the objective of documents
        assert model.score(X) > before
    assert fit(restarts=4).history_[0].effort["restarts"] > 0 == fit().history_[0].effort["restarts"]


@fact("cold_visits", "Collapsed", "Variational")
def later_visits_start_from_the_last(fit):
    settings = {"min_topic_mass": 0.0, "doc_tol": 1e-4}
    warm, cold = fit(cold_visits=1, **settings), fit(cold_visits=None, **settings)
    assert warm.history_[0].objective == cold.history_[0].objective
    assert iterations(warm, 4) < iterations(cold, 4)


@fact("selection", "Collapsed", "Variational")
def when_topics_are_chosen(fit):
    assert differ(fit({"n_active": 2}, selection="last"), fit({"n_active": 2}, selection="often"))
    assert same(fit({"n_active": None}, selection="last"), fit({"n_active": None}, selection="often"))


@fact("max_doc_update_iter", "Collapsed", "Variational")
def iterations_of_a_document(fit):
    assert iterations(fit(max_doc_update_iter=1)) <= 90 * 2 < iterations(fit())


@fact("doc_tol", "Collapsed", "Variational")
def a_tight_tolerance_takes_longer(fit):
    assert iterations(fit(doc_tol=1.0)) < iterations(fit()) < iterations(fit(doc_tol=1e-5))


@fact("stopping", "Collapsed", "Variational")
def the_mean_change_is_smaller_than_the_largest(fit):
    assert iterations(fit(stopping="mean", doc_tol=0.01)) < iterations(fit(stopping="max", doc_tol=0.01))


@fact("own_discount", "Collapsed")
def own_words_count_less(fit):
    exact = fit({"learner": "batch"}, own_discount=0.0, min_topic_mass=0.0, doc_tol=1e-6, max_doc_update_iter=1000)
    assert np.all(np.diff([record.objective for record in exact.history_]) > 0)  # EM
    runs = [fit(own_discount=own) for own in (0.0, 0.5, 1.0)]
    assert differ(runs[0], runs[1])
    assert differ(runs[1], runs[2])
    on_stream = [fit({"learner": "stochastic"}, own_discount=own) for own in (0.0, 1.0)]
    assert same(*on_stream)  # a stream has no last visit


@fact("doc_burn_in", "CVB0", "SCVB0")
def sweeps_before_a_document_counts(fit):
    none, some = (fit({"max_iter": 1}, doc_burn_in=n).elbo_ for n in (0, 5))
    assert some > none


@fact("doc_scale", "SCVB0")
@fact("doc_offset", "SCVB0")
@fact("doc_decay", "SCVB0")
def the_average_of_a_document_moves(fit):
    """Three ways to make every step next to nothing have one result, and it is another one."""
    still = [fit(doc_scale=1e-12), fit(doc_offset=1e14), fit(doc_decay=40.0)]
    for other in still[1:]:
        np.testing.assert_allclose(other.components_, still[0].components_, rtol=1e-3, atol=1e-3)
    assert np.abs(fit().components_ - still[0].components_).max() > 1


# Learners


@fact("batch_size", "Memoized", "Stochastic")
def rows_of_a_batch(fit):
    assert fit({"max_iter": 1}, batch_size=20).n_batch_iter_ == 5
    assert fit({"max_iter": 1}, batch_size=90).n_batch_iter_ == 1


@fact("batches_per_update", "Memoized")
def batches_of_a_round(fit):
    one, three, all_of_them = (fit({"max_iter": 2}, batch_size=9, batches_per_update=n) for n in (1, 3, 10))
    assert [m.n_batch_iter_ for m in (one, three, all_of_them)] == [20, 8, 2]
    assert fit({"max_iter": 2}, batches_per_update=3).n_batch_iter_ == 20  # as many updates as with one
    assert differ(one, three)
    start = {"init": np.random.default_rng(0).gamma(1, 1, (4, 30)), "max_iter": 1}
    batch, round_ = LDA(4, learner="batch", **start).fit(X), LDA(4, learner=Memoized(9, 10), **start).fit(X)
    np.testing.assert_allclose(round_.components_, batch.components_, rtol=1e-5, atol=1e-5)


@fact("momentum", "Memoized")
def a_pass_starts_beyond_the_last(fit):
    """Of mixtures of vectors and directions; others refuse it."""
    rows = np.random.default_rng(0).normal(size=(200, 3)) + np.arange(200)[:, None] % 2
    plain, faster = (
        GaussianMixture(3, max_iter=6, tol=-np.inf, random_state=0, learner=Memoized(momentum=m)).fit(rows)
        for m in (0.0, 2.0)
    )
    assert plain.history_[0].objective == faster.history_[0].objective
    assert plain.history_[-1].objective != faster.history_[-1].objective
    with pytest.raises(ValueError, match="momentum"):
        fit(momentum=1.0)


@fact("scale", "Stochastic")
@fact("offset", "Stochastic")
@fact("decay", "Stochastic")
def steps_get_smaller(fit):
    """Three ways to make every step next to nothing leave the topics where they start."""
    start = fit({"max_iter": 0}).components_
    for settings in ({"scale": 1e-12}, {"offset": 1e18}, {"decay": 40.0}):
        np.testing.assert_allclose(fit(**settings).components_, start, rtol=1e-4, atol=1e-4)
    assert np.abs(fit().components_ - start).max() > 1
    learner = Stochastic(scale=3.0, offset=16.0, decay=0.5)
    assert (learner.step_size(0), learner.step_size(9)) == (0.75, 0.6)
    assert Stochastic(scale=100.0).step_size(0) == 1.0


@fact("total_samples", "Stochastic")
def rows_that_a_stream_stands_for(fit):
    for n in (90, 900):
        model = fit.make(total_samples=n, scale=100.0, decay=0.0).partial_fit(X)
        np.testing.assert_allclose(model.components_.sum(), X.sum() * n / 90 + 4 * 30 * 0.08, rtol=1e-5)


@fact("half_life", "Stochastic")
def what_was_learned_fades(fit):
    """Half of the past is left after so many rows, however small the steps are by now; the total is what it recalls."""
    learner = Stochastic(half_life=90.0, scale=1e-12)
    assert learner.step_size(10**6, 90) == 0.5
    assert learner.step_size(10**6, 30) == pytest.approx(1 - 0.5 ** (1 / 3))
    assert Stochastic(half_life=1e9).step_size(0, 90) == Stochastic().step_size(0)
    assert (learner.stands_for(50.0), learner.stands_for(1e9)) == (50.0, pytest.approx(90 / np.log(2)))
    model = fit.make(half_life=90.0, scale=1e-12)
    for _ in range(40):
        model.partial_fit(X)
    rows = X.sum() / 90 * 90 / np.log(2)
    np.testing.assert_allclose(model.components_.sum(), rows + 4 * 30 * 0.08, rtol=1e-5)


@fact("workers", "Asynchronous")
def one_worker_repeats_itself(fit):
    assert same(fit(workers=1), fit(workers=1))
    with patch("topmix.learn.asynchronous_topics.AsynchronousTopics", wraps=AsynchronousTopics) as opened:
        for n in (1, 3, None):
            fit(workers=n)
    assert [call.args[2] for call in opened.call_args_list] == [1, 3, 2]  # as many as n_jobs where it is not said


@fact("batch_size", "Asynchronous")
def rows_between_two_updates(fit):
    runs = []
    for learner in (Asynchronous(batch_size=10), Asynchronous(batch_size=100), Asynchronous()):
        runs.append(GaussianMixture(4, learner=learner, max_iter=3, tol=-np.inf, random_state=0).fit(ROWS))
    assert differ(runs[0], runs[1])
    assert differ(runs[0], runs[2])


@fact("tail", "Asynchronous")
def topics_outside_the_best_share_alike(fit):
    on = {"n_active": 2, "max_iter": 30, "n_jobs": 1}
    best, mean = (fit(on, tail=name, warm_up=0) for name in ("best", "mean"))
    assert differ(best, mean)
    assert np.all(np.diff([record.objective for record in best.history_]) > -1e-6)
    assert same(fit(on | {"n_active": 4}, tail="best"), fit(on | {"n_active": 4}, tail="mean"))


@fact("block_words", "Asynchronous")
def words_that_travel_together(fit):
    on = {"n_jobs": 1, "max_iter": 4}
    assert differ(fit(on, block_words=1), fit(on, block_words=20))
    assert differ(fit(on, block_words=1), fit(on))


@fact("per_token", "Asynchronous")
def words_follow_every_token(fit):
    on = {"n_jobs": 1, "max_iter": 4}
    assert differ(fit(on, per_token=True), fit(on, block_words=1))
    assert same(fit(on, per_token=True), fit(on, per_token=True, block_words=1))  # they travel one by one


@fact("warm_up", "Asynchronous")
def first_passes_weigh_by_means(fit):
    on = {"n_jobs": 1, "max_iter": 12}
    assert differ(fit(on, warm_up=0), fit(on, warm_up=3))
    assert same(fit(on, warm_up=6), fit(on, warm_up=20))  # never more than half of the passes
    rises = np.diff([record.objective for record in fit(on, warm_up=0).history_])
    assert np.all(rises > -1e-6)


# The search


@fact("warm_up", "TopicSearch")
def collapsed_passes_come_first(fit):
    for n in (0, 2):
        seen = []
        watch = lambda _, view, seen=seen: seen.append(view._model.words.posterior) or len(seen) == 3  # noqa: E731
        fit({"callbacks": [watch]}, warm_up=n)
        assert seen[: n + 1] == ["collapsed"] * n + ["variational"]


@fact("polish", "TopicSearch")
def last_passes_change_no_number(fit):
    model = fit(polish=5)
    begin = next(record.n_pass for record in model.history_ if "polish" in record.moves)
    assert len(model.history_) - begin + 1 == 5 + 1  # one more: the search was over before max_iter
    assert model.model_.words.posterior == "collapsed"
    none = fit(polish=0)
    assert not any("polish" in record.moves for record in none.history_)
    assert none.model_.words.posterior == "variational"


@fact("max_topics", "TopicSearch")
def topics_at_most(fit):
    two = fit(max_topics=2)
    assert len(found(two)) <= 2 < len(found(fit()))
    assert max(record.n_components for record in two.history_) <= 2 < fit.make().n_components


@fact("device", "Cuda")
@fact("memory", "Cuda")
def the_device_is_the_one_asked_for(fit):
    asked = []

    def opened(number, memory):
        asked.append((number, memory))
        raise RuntimeError("no such device here")

    with patch("topmix.cuda.device.cuda_device", opened), pytest.raises(RuntimeError, match="no such device"):
        fit(device=2, memory=10**9)
    assert asked == [(2, 10**9)]


@fact("precision", "Cuda")
def the_precision_is_the_one_that_mixtures_get(fit):
    """What it does there is tested in cuda/test_mixtures.py, where there is a device."""
    shards = Shards(Rows(ROWS), [slice(0, 10)])
    for precision in ("float32", "tf32"):
        engine = fit.make(precision=precision).engine
        with patch("topmix.cuda.device.cuda_device", lambda *_: None):
            assert engine.open(shards, MixtureStep(Gaussian, 2), 1).backend.precision == precision
