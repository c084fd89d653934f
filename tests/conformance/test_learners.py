"""What every learner must do, run for each entry of the registry.

Asynchronous learners have workers and tests of their own: test_asynchronous.py and those of Gaussian clusters.
"""

import copy
import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from topmix.engines.engine import Rounds
from topmix.engines.local import Serial, Threads
from topmix.learn.fit import Fit, FitSettings
from topmix.learn.history import Stopping
from topmix.learners import LEARNERS, Batch, Memoized, State, Stochastic
from topmix.models.statistics import PseudoCounts, tree_sum

from ..pairs import pairs as any_two
from .conftest import MIXTURES, PROBLEMS
from .remote import Remote

LEARNER = {
    "memoized": Memoized(),
    "rounds": Memoized(batches_per_update=3),
    "batch": Batch(),
    "stochastic": Stochastic(),
}
NEED_MEMORY = ("cvb0", "discounted", "full-candidates")  # which a stochastic learner does not give them
MONOTONE = ["memoized", "rounds", "batch"]  # a stochastic step follows one batch: the bound of all the data may fall
PAIRS = [
    (learner, what)
    for learner, what in itertools.product(LEARNER, PROBLEMS)
    if not (learner == "stochastic" and what in NEED_MEMORY)
]
pairs = pytest.mark.parametrize(("name", "what"), PAIRS)
CLOSED_FORM = [what for what in PROBLEMS if what != "full-candidates"]  # its tables depend on how often it was updated


def started(learner, problem, what, n_shards, state=None, engine=None):
    """(passes, workers)"""
    model, step, shards = problem(what)
    workers = (engine or Serial()).open(shards(n_shards), step, 1)
    return learner.passes(model, workers, state or State()), workers


def some(passes, n, flat):
    return [np.concatenate([flat(model), flat(total)]) for model, total, _ in itertools.islice(passes, n)]


def same(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def test_every_learner_of_the_registry_is_here():
    assert {type(learner) for learner in LEARNER.values()} == set(LEARNERS.values()) - {LEARNERS["asynchronous"]}


@pytest.mark.parametrize(("name", "likelihood", "L", "n_shards"), any_two(MONOTONE, MIXTURES, [1, 2, 5], [1, 20]))
def test_the_bound_of_a_mixture_rises_at_every_pass(name, likelihood, L, n_shards, problem):
    model, step, shards = problem(likelihood, K=5, L=L)
    pseudo = model.as_stats() if likelihood.endswith("-ml") else None  # five rows alone have no covariance
    workers = Serial().open(shards(n_shards), step, 1)
    passes = LEARNER[name].passes(model, workers, State(pseudo_counts=pseudo))
    bound = np.array([sum(m.bound(total).values()) for m, total, _ in itertools.islice(passes, 6)])
    assert np.all(np.diff(bound) > -1e-6 * np.abs(bound[0]))  # float32 scores
    assert bound[-1] > bound[0] or L == 1  # hard assignments may stand still after one pass


@pairs
def test_resumed_is_uninterrupted(name, what, problem, flat):
    def run(passes, n):
        seen = []
        copies = FitSettings("", 0.0, 0, lambda model, history: copy.deepcopy(model), lambda fitted: fitted)
        fit = Fit(None, copies, [lambda record, view: seen.append(view.fitted())])
        fit.passes, fit.stopping, fit.due = passes, Stopping(n, -np.inf), lambda is_last: None
        while not fit.is_over:
            fit.step()
        np.testing.assert_array_equal(flat(seen[-1]), flat(fit.model))
        return fit.model

    states = State(), State()
    (whole, _), (in_two, _) = (started(LEARNER[name], problem, what, 4, state) for state in states)
    model = run(whole, 4)
    run(in_two, 2)
    np.testing.assert_array_equal(flat(run(in_two, 2)), flat(model))
    np.testing.assert_array_equal(flat(states[0].total), flat(states[1].total))
    assert states[0].t == states[1].t


@pytest.mark.parametrize(
    ("name", "what", "n_shards"), [case for case in any_two(list(LEARNER), PROBLEMS, [4, 1]) if case[:2] in PAIRS]
)
def test_state_model_and_memory_are_all_that_a_learner_needs(name, what, n_shards, problem, flat):
    """Put together from copies after any pass, it continues with the same bits."""
    state = State()
    passes, workers = started(LEARNER[name], problem, what, n_shards, state)
    carried = [
        copy.deepcopy((model, total, state, workers.recall())) for model, total, _ in itertools.islice(passes, 4)
    ]
    want = np.concatenate([flat(carried[-1][0]), flat(carried[-1][1])])
    for n_passes, (model, _, state, memory) in enumerate(carried[:-1], 1):
        _, step, shards = problem(what)
        workers = Remote().open(shards(n_shards), step, 1)
        workers.restore(memory)
        *_, last = some(LEARNER[name].passes(model, workers, state), 4 - n_passes, flat)
        np.testing.assert_array_equal(last, want)


@pairs
def test_a_learner_leaves_the_model_it_was_given_alone(name, what, problem, flat):
    model, step, shards = problem(what)
    before = flat(model)
    list(itertools.islice(LEARNER[name].passes(model, Serial().open(shards(3), step, 1), State()), 3))
    np.testing.assert_array_equal(flat(model), before)


@pairs
def test_a_model_that_is_sent_back_is_what_the_next_pass_starts_from(name, what, problem, flat):
    """So priors are learned and topics edited, and no learner knows of it."""
    asked = []

    class Watched:
        def __init__(self, workers):
            self.workers, self.n_shards, self.n_rows = workers, workers.n_shards, workers.n_rows

        def run(self, tables, shards):
            asked.append(tables.__self__)  # the method of the model of the moment
            return self.workers.run(tables, shards)

        def rounds(self, memo):
            return Rounds(self, memo)

    model, step, shards = problem(what)
    passes = LEARNER[name].passes(model, Watched(Serial().open(shards(3), step, 1)), State())
    first = next(passes).model
    other = copy.deepcopy(first)
    asked.clear()
    second = passes.send(other).model
    assert asked[0] is other
    asked.clear()
    passes.send(None)
    assert asked[0] is second


@pytest.mark.parametrize("what", PROBLEMS)
def test_memoized_with_one_shard_is_batch_bit_for_bit(what, problem, flat):
    same(*(some(started(learner, problem, what, 1)[0], 6, flat) for learner in (Batch(), Memoized())))


@pytest.mark.parametrize("what", CLOSED_FORM)
def test_a_round_of_all_shards_is_batch_bit_for_bit(what, problem, flat):
    def totals(learner):
        passes, _ = started(learner, problem, what, 4)
        return [flat(total) for _, total, _ in itertools.islice(passes, 4)]

    for width in (4, 100):
        same(totals(Memoized(batches_per_update=width)), totals(Batch()))


def sequential(model, workers, n):
    """Memoized learning as a book has it: first out, then in; and the sum of all shards after each pass."""
    memo, total = {}, model.no_stats()
    for n_pass in range(n):
        for b in range(workers.n_shards):
            ((_, new, _),) = workers.run(model.tables, [b])
            if b in memo:
                total -= memo[b]
            total += new
            memo[b] = new
            model = model.update(total)
        if n_pass and workers.n_shards > 1:
            total = model.no_stats()
            for b in range(workers.n_shards):
                total += memo[b]
            model = model.update(total)
        yield model, total, {}


@pytest.mark.parametrize("what", PROBLEMS)
def test_rounds_of_one_are_sequential_memoized_learning_bit_for_bit(what, problem, flat):
    passes, _ = started(Memoized(batches_per_update=1), problem, what, 4)
    model, step, shards = problem(what)
    same(some(passes, 3, flat), some(sequential(model, Serial().open(shards(4), step, 1), 3), 3, flat))


def added(total, memo, width):
    """Round by round, each in a tree."""
    for begin in range(0, len(memo), width):
        total += tree_sum(memo[b] for b in range(begin, min(begin + width, len(memo))))
    return total


@pytest.mark.parametrize("width", [1, 3, 9])
@pytest.mark.parametrize("what", PROBLEMS)
def test_the_memoized_total_is_the_sum_of_the_last_visits(what, width, problem, flat):
    """After each pass, every row is in the total once: exactly, for any number of shards per round."""
    model, step, shards = problem(what)
    workers = Serial().open(shards(4), step, 1)
    seen, rounds, run = {}, [], workers.run

    def watched(tables, which):
        which = list(which)
        rounds.append(which)
        for result in run(tables, which):
            seen[result.shard] = result.stats
            yield result

    workers.run, state = watched, State()
    passes = Memoized(batches_per_update=width).passes(model, workers, state)
    for n_pass, (_, total, info) in enumerate(itertools.islice(passes, 3), 1):
        assert rounds == [list(range(a, min(a + width, 4))) for a in range(0, 4, width)] * n_pass
        assert {b: id(stats) for b, stats in state.memo.items()} == {b: id(stats) for b, stats in seen.items()}
        np.testing.assert_array_equal(flat(total), flat(added(model.no_stats(), seen, width)))
        assert total is state.total
        assert state.t == n_pass
        assert all(np.all(np.isfinite(value)) for value in info.values())


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("what", PROBLEMS)
def test_pseudo_counts_fade_through_the_first_pass_and_leave_nothing(what, width, problem, flat):
    model, step, shards = problem(what)
    pseudo = model.as_stats() if hasattr(model, "as_stats") else model.pseudo_counts()
    before, state = flat(pseudo), State(pseudo_counts=pseudo)
    passes = Memoized(batches_per_update=width).passes(model, Serial().open(shards(4), step, 1), state)
    _, total, _ = next(passes)
    np.testing.assert_array_equal(flat(total), flat(added(model.no_stats(), state.memo, width)))
    np.testing.assert_array_equal(flat(pseudo), before)
    assert state.pseudo_counts is None


@pytest.mark.parametrize("width", [1, 2])
def test_pseudo_counts_beside_a_total_fade_from_round_to_round(width, problem):
    model, step, shards = problem("collapsed")
    V, K = model.words.shape
    state = State(pseudo_counts=model.prior.no_stats(PseudoCounts.of(np.ones(V), np.ones(K), sp.csr_array((K, V)))))
    workers = Serial().open(shards(4), step, 1)
    run, left = workers.run, []
    workers.run = lambda tables, which: (left.append(tables.__self__.words.total.pseudo_weight), run(tables, which))[1]
    _, total, _ = next(Memoized(batches_per_update=width).passes(model, workers, state))
    assert left == [1 - n / 4 for n in range(0, 4, width)]
    assert total.S.pseudo is None


@pytest.mark.parametrize("what", PROBLEMS)
def test_the_shards_of_a_round_are_computed_under_one_model(what, problem):
    """So several workers may share them; and the model moves after each round."""
    model, step, shards = problem(what)
    workers = Serial().open(shards(5), step, 1)
    run, models = workers.run, []
    workers.run = lambda tables, which: (models.append(tables.__self__), run(tables, which))[1]
    learner = Memoized(batches_per_update=3)
    list(itertools.islice(learner.passes(model, workers, State()), 2))
    assert len(models) == len({id(m) for m in models}) == 2 * learner.updates_per_pass(5)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_rounds_have_the_same_bits_for_any_engine_and_number_of_threads(width, problem, flat):
    found = []
    for engine, threads in ((Serial(), 1), (Threads(), 3), (Remote(1), 1), (Remote(2), 3), (Remote(3), 1)):
        model, step, shards = problem("discounted", wide=True)
        workers = engine.open(shards(4), step, threads)
        found.append(some(Memoized(batches_per_update=width).passes(model, workers, State()), 3, flat))
    for other in found[1:]:
        same(found[0], other)


def test_info_adds_up_over_the_shards_of_a_pass(problem):
    for learner in LEARNER.values():
        passes, _ = started(learner, problem, "collapsed", 4)
        model, step, shards = problem("collapsed")
        info = next(passes).info
        assert set(info) == {"iterations", "restarts", "accepted"}
        if isinstance(learner, Batch):
            alone = [r.info for r in Serial().open(shards(4), step, 1).run(model.tables, range(4))]
            assert info == {name: sum(one[name] for one in alone) for name in info}
