"""Seconds of training: initialisation counts, evaluation does not."""

import numpy as np
import pytest

from benchmarks.harness.stopwatch import Milestones, PassTimes, Stopwatch, best_in_turn, best_of


class Clock:
    """A clock that tests set."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_the_watch_counts_from_when_it_is_made_and_stands_still_while_paused():
    clock = Clock()
    watch = Stopwatch(clock)
    clock.now += 3  # initialisation
    with watch.pause():
        clock.now += 50  # evaluation
        assert watch.seconds == 3
    clock.now += 2
    assert watch.seconds == 5


def test_pauses_may_be_nested():
    clock = Clock()
    watch = Stopwatch(clock)
    with watch.pause(), watch.pause():
        clock.now += 10
    clock.now += 1
    assert watch.seconds == 1


def test_a_pause_ends_with_an_exception():
    clock = Clock()
    watch = Stopwatch(clock)

    def fails():
        with watch.pause():
            clock.now += 10
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    clock.now += 1
    assert watch.seconds == 1


@pytest.mark.parametrize("budget", [0.1, 0.5, 3.0, 60.0])
def test_milestones_rise_to_the_budget(budget):
    times = Milestones(budget).times
    assert times[-1] == budget
    assert np.all(np.diff(times) > 0)


def test_a_milestone_is_due_once_and_after_the_budget_always():
    due = Milestones(1.0, per_octave=1, first=0.25)  # 0.25, 0.5, 1
    assert [due.due(t) for t in (0.1, 0.3, 0.4, 0.9, 0.95, 1.0, 1.1)] == [False, True, False, True, False, True, True]


def test_the_first_pass_has_initialisation_in_it_unless_its_end_is_known():
    clock = Clock()
    passes = PassTimes(clock)
    for seconds in (5, 1, 2):
        clock.now += seconds
        passes("record", "view")
    assert passes.seconds() == [5, 1, 2]
    assert passes.seconds(begin=103.0) == [2, 1, 2]


def test_the_best_of_some_calls_counts_and_works_take_turns():
    clock, order = Clock(), []

    def work(name, times):
        def call():
            order.append(name)
            clock.now += times.pop(0)

        return call

    assert best_in_turn(2, {"a": work("a", [3, 1]), "b": work("b", [2, 4])}, clock) == {"a": 1, "b": 2}
    assert order == ["a", "b", "a", "b"]
    assert best_of(2, work("c", [7, 6]), clock) == 6
