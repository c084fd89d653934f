"""What every learner must do, run for each entry of the registry."""

import copy
import itertools

import numpy as np
import pytest

from topmix.engines import Serial
from topmix.fitting.history import Clock, passes
from topmix.learners import LEARNERS, State, batch, memoized
from topmix.likelihoods import LIKELIHOODS

from .conftest import MIXTURES

NOT_MONOTONE = {
    "stochastic": "a step follows one batch: the bound of all the data may fall",
    "asynchronous": "deltas arrive in any order",
}
PROBLEMS = [*LIKELIHOODS, "full-ml", "diag-zero", "categorical-sticks", "variational", "collapsed", "scvb0", "cvb0"]


def objectives(run, n):
    return np.array([sum(model.bound(total).values()) for model, total in itertools.islice(run, n)])


@pytest.mark.parametrize("L", [1, 2, 5])
@pytest.mark.parametrize("likelihood", MIXTURES)
@pytest.mark.parametrize("name", LEARNERS)
def test_the_bound_of_a_mixture_rises_at_every_pass(name, likelihood, L, problem):
    if name in NOT_MONOTONE:
        pytest.skip(NOT_MONOTONE[name])
    for n_shards in (1, 3, 20):
        model, step, shards = problem(likelihood, K=5, L=L)
        seed = model.as_stats() if likelihood.endswith("-ml") else None  # five rows alone have no covariance
        bound = objectives(LEARNERS[name](model, Serial(shards(n_shards), step), seed), 12)
        assert np.all(np.diff(bound) > -1e-6 * np.abs(bound[0])), n_shards  # float32 scores
        assert bound[-1] > bound[0] or L == 1  # hard assignments may stand still after one pass


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("what", PROBLEMS)
def test_resumed_is_uninterrupted(name, what, problem, flat):
    def start():
        model, step, shards = problem(what)
        return LEARNERS[name](model, Serial(shards(4), step))

    def run(learner, n):
        return passes(learner, max_iter=n, tol=-np.inf, scale=1.0, clock=Clock(), history=[])

    whole, in_two = start(), start()
    model, total, _ = run(whole, 6)
    run(in_two, 2)
    again, again_total, _ = run(in_two, 4)
    np.testing.assert_array_equal(flat(again), flat(model))
    np.testing.assert_array_equal(flat(again_total), flat(total))


@pytest.mark.parametrize("n_shards", [1, 4])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("what", PROBLEMS)
def test_state_model_and_memory_are_all_that_a_learner_needs(name, what, n_shards, problem, flat):
    """Put together anew from copies after any pass, it goes on with the same bits."""
    model, step, shards = problem(what)
    engine, state = Serial(shards(n_shards), step), State()
    run, carried = LEARNERS[name](model, engine, state=state), []
    for model, total in itertools.islice(run, 5):
        carried.append(copy.deepcopy((model, total, state, engine.memory)))
    want = np.concatenate([flat(model), flat(total)])
    for n_passes, (model, _, state, memory) in enumerate(carried[:-1], 1):
        _, step, shards = problem(what)
        engine = Serial(shards(n_shards), step)
        engine.memory = memory
        *_, (model, total) = itertools.islice(LEARNERS[name](model, engine, state=state), 5 - n_passes)
        np.testing.assert_array_equal(np.concatenate([flat(model), flat(total)]), want)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("what", PROBLEMS)
def test_a_learner_leaves_the_model_it_was_given_alone(name, what, problem, flat):
    model, step, shards = problem(what)
    before = flat(model)
    for _ in itertools.islice(LEARNERS[name](model, Serial(shards(3), step)), 3):
        pass
    np.testing.assert_array_equal(flat(model), before)


@pytest.mark.parametrize("what", PROBLEMS)
def test_memoized_with_one_shard_is_batch_bit_for_bit(what, problem, flat):
    runs = []
    for learner in (batch, memoized):
        model, step, shards = problem(what)
        run = learner(model, Serial(shards(1), step))
        runs.append([np.concatenate([flat(m), flat(t)]) for m, t in itertools.islice(run, 6)])
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("what", PROBLEMS)
def test_the_memoized_total_is_the_sum_of_the_last_visits(what, problem, flat):
    """After each pass, every row is in the total once."""
    model, step, shards = problem(what)
    engine = Serial(shards(4), step)
    seen = {}
    run, visit = engine.run, []

    def watched(tables, which):
        for b, stats in run(tables, which):
            seen[b] = stats
            visit.append(b)
            yield b, stats

    engine.run = watched
    for n_pass, (_, total) in enumerate(itertools.islice(memoized(model, engine), 4), 1):
        assert visit == [0, 1, 2, 3] * n_pass
        again = model.no_stats()
        for b in range(4):
            again += seen[b]
        np.testing.assert_allclose(flat(total), flat(again), rtol=1e-12, atol=1e-9)
