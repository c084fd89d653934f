"""Facts about parameters that all estimators have, or topic models and mixtures alike."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

from topmix.base.threads import threads
from topmix.chains import Parallel
from topmix.corpus.shard import Shards
from topmix.data import Corpus
from topmix.engines.local import Serial, Threads
from topmix.estimators import ESTIMATORS
from topmix.inference import Collapsed
from topmix.learners import Batch, Stochastic

from .facts import ADMIXTURES, MIXTURES, TOPICS, X, differ, fact, found, same

# All estimators


@fact("n_components", *ESTIMATORS)
def as_many_as_asked_for(fit):
    assert len(found(fit(n_components=2))) == 2
    assert len(found(fit(n_components=7))) == 7


@fact("max_iter", *ESTIMATORS)
def passes_at_most(fit):
    assert fit(max_iter=2).n_iter_ == len(fit(max_iter=2).history_) == 2
    assert fit(max_iter=5).n_iter_ == 5


@fact("tol", *TOPICS, *MIXTURES, *ADMIXTURES, "CombinatorialLDA")
def a_loose_tolerance_ends_sooner(fit):
    few, enough = ({"inference": Collapsed(sweeps=6)}, 10) if fit.name == "LDA" else ({}, 2)  # two, sweeps, two more
    enough += 11 if fit.name in ADMIXTURES else 0  # ten to warm up; then two in a row must change little
    loose, tight = (fit(tol=tol, max_iter=60, **few) for tol in (1e3, 1e-9))
    assert loose.n_iter_ == enough < tight.n_iter_
    assert loose.converged_


@fact("random_state", *ESTIMATORS)
def one_seed_one_result(fit):
    assert same(fit(random_state=1), fit(random_state=1))
    start = {"init": "documents"} if fit.name == "MultinomialMixture" else {}  # its own finds the same from both
    assert differ(fit(random_state=1, **start), fit(random_state=2, **start))


@fact("n_jobs", *ESTIMATORS)
def threads_change_no_bit(fit):
    seen = []

    def watch(record, view):
        seen.append(getattr(view._model, "threads", None) if fit.name == "CombinatorialLDA" else threads())

    assert same(fit(n_jobs=1, callbacks=[watch]), fit(n_jobs=3, callbacks=[watch]))
    assert set(seen) == {1, 3}


@fact("verbose", *ESTIMATORS)
def a_line_per_pass_or_none(fit):
    for verbose, lines in ((0, 0), (1, 3)):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            fit(verbose=verbose, max_iter=3)
        assert said.getvalue().count(": pass ") == lines


@fact("callbacks", *ESTIMATORS)
def callbacks_see_passes_and_end_the_fit(fit):
    seen = []

    def stop(record, view):
        seen.append((record.n_pass, view.n_components, view.weights.shape, type(view.fitted()).__name__))
        return record.n_pass == 2

    model = fit(callbacks=[stop])
    assert seen == [(n, 4, (4,), fit.name) for n in (1, 2)]
    assert model.n_iter_ == 2


@fact("warm_start", *ESTIMATORS)
def a_warm_fit_goes_on(fit):
    far = (
        {"init_params": "random"} if fit.name.startswith("Gaussian") else {}
    )  # its usual start has nothing to gain here
    if fit.name in ADMIXTURES:  # one objective for both
        far["weight_concentration_prior"] = 0.5
    cold, warm = fit(warm_start=False, **far), fit(warm_start=True, **far)
    first = warm.history_[0].objective
    assert cold.fit(fit.data).history_[0].objective == first
    better = warm.fit(fit.data).history_[0].objective - first
    assert better < 0 if fit.name == "CombinatorialLDA" else better > 0
    with pytest.raises(ValueError, match="warm_start keeps n_components=4"):
        warm.set_params(n_components=5).fit(fit.data)


# Topic models and mixtures


@fact("engine", *TOPICS, *MIXTURES, *ADMIXTURES)
def engines_change_no_bit(fit):
    runs = [fit(engine=engine, n_jobs=3) for engine in ("threads", Threads(), "serial", Serial())]
    assert all(same(run, runs[0]) for run in runs)
    asked = []

    class Watched(Serial):
        def open(self, shards, step, threads):
            asked.append(type(step).__name__)
            return super().open(shards, step, threads)

    model = fit(engine=Watched())
    model.predict(fit.data) if hasattr(model, "predict") else model.transform(fit.data)
    assert len(set(asked)) == 2  # to fit, and to answer
    none = Shards(Corpus.from_scipy(X), [])
    assert [engine.open(none, None, 3).step.__self__.threads for engine in (Serial(), Threads())] == [1, 3]


@fact("learner", *TOPICS, *MIXTURES, *ADMIXTURES)
def learners_update_after_their_own_number_of_batches(fit):
    n = {name: fit(learner=name, max_iter=2).n_batch_iter_ for name in ("memoized", "batch")}
    least = {"HDP": 30, "GaussianMixture": 2000, "VonMisesFisherMixture": 8 * 4}  # rows of a batch
    least = least.get(fit.name.replace("Admixture", "Mixture"), 1)
    batches = max(1, min(10, len(fit.data) // least))
    assert n == {"memoized": 2 * batches, "batch": 2}
    assert fit(learner=Stochastic(batch_size=30), max_iter=2).n_batch_iter_ == 2 * -(-len(fit.data) // 30)
    assert same(fit(learner="batch"), fit(learner=Batch()))
    if fit.name in ("LDA", "GaussianMixture", "MultinomialMixture"):
        settings = {"inference": "variational"} if fit.name == "LDA" else {}
        assert fit(learner="asynchronous", n_jobs=1, **settings).n_iter_ == 4
    else:
        with pytest.raises(ValueError, match="asynchronous"):
            fit(learner="asynchronous", **({"inference": "variational"} if fit.name == "HDP" else {}))


@fact("topic_word_prior", *TOPICS, "GibbsLDA", "MultinomialMixture")
def eta_is_what_an_unused_word_has(fit):
    np.testing.assert_allclose(fit(topic_word_prior=0.4).components_[:, 29], 0.4)
    if fit.name == "MultinomialMixture":
        return
    eta = np.linspace(0.1, 0.4, 120).reshape(4, 30)
    np.testing.assert_allclose(fit(topic_word_prior=eta).components_[:, 29], eta[:, 29])
    np.testing.assert_allclose(fit(topic_word_prior=eta[0]).components_[:, 29], eta[0, 29])
    learned = {"sampler": Parallel(learn_every=2)} if fit.name == "GibbsLDA" else {}
    assert fit(topic_word_prior="auto", **learned).topic_word_prior_ != 0.03


@fact("n_init", *ESTIMATORS)
def the_best_of_several_starts(fit):
    sign = -1.0 if fit.name == "CombinatorialLDA" else 1.0  # its objective falls
    one, several = (sign * fit(n_init=n).objective_ for n in (1, 4))
    others = [sign * fit(random_state=seed).objective_ for seed in range(4)]
    assert several >= one
    assert several > min(others)
