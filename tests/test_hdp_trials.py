"""What the HDP tries next: sizes to start with, what a trial has to gain, and what was tried so far."""

import json

import numpy as np
import pytest

from topmix.base.fields import CheckedReader, ModelFileError, Writer
from topmix.learn.search import Move, Pace, Trial
from topmix.learn.topic_search import DELETED, FAILURES, ORDER, TriedTopics, largest_size, next_size, size


@pytest.mark.parametrize("most", [1, 2, 7, 100, 10_000])
@pytest.mark.parametrize("peak", [0.0, 1.0, 3.3, 6.6, 8.9, 12.4])
def test_a_search_of_sizes_finds_the_peak_of_any_bound_with_one(most, peak):
    """Peak is log2 of the best number; the best of the sizes in reach is found, and few others are looked at."""
    bounds, seen = {}, []
    while (i := next_size(bounds, most)) is not None:
        assert size(i) <= most
        seen.append(size(i))
        bounds[i] = -abs(np.log2(size(i)) - peak)
    assert len(set(seen)) == len(seen) <= 12
    best = max(seen, key=lambda n: -abs(np.log2(n) - peak))
    in_reach = [size(i) for i in range(28) if size(i) <= most]
    assert abs(np.log2(best) - peak) == pytest.approx(min(abs(np.log2(n) - peak) for n in in_reach))


def test_sizes_are_powers_of_the_root_of_two():
    assert [size(i) for i in range(13)] == [1, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64]
    assert [largest_size(most) for most in (1, 2, 5, 63, 64, 65, 10_000)] == [1, 2, 4, 45, 64, 64, 8192]
    assert size(next_size({}, 10_000)) == 64  # the middle first
    assert size(next_size({}, 20)) == 16


def test_a_geometric_series_promises_its_limit():
    pace = Pace()
    for i in range(6):
        pace = pace.after(4.0 * 0.8**i)
    later = [4.0 * 0.8**i for i in range(6, 200)]
    assert pace.promise() == pytest.approx(sum(later))
    assert pace.promise(3) == pytest.approx(sum(later[:3]))
    assert Pace().promise() == pace.after(-1.0).promise() == 0.0
    assert pace.after(100.0).promise() == pytest.approx(900.0)  # not for ever, however it grows
    assert pace.after(1e-3).promise() == pytest.approx(3e-3)  # nor over at once


def test_a_trial_has_to_gain_more_than_the_old_topics_would_have():
    def verdict(old, pace=0.0, passes=3, gain=100.0):
        """An old pass gained `old`, the last one on trial `pace`; each is three quarters of the one before."""
        trial = Trial(Move("refresh", None, None), -500.0, Pace(old), Pace(pace), passes, last=-500.0 + gain)
        return trial.verdict(is_last=False)

    would_have = 0.75 + 0.75**2 + 0.75**3  # of `old`, after three passes
    assert verdict(0.0) is True
    assert verdict(99 / would_have) is True
    assert verdict(101 / would_have) is False
    assert verdict(101 / would_have, pace=100.0) is None  # it catches up
    assert verdict(101 / would_have, pace=100.0, passes=15) is False  # not for ever
    assert verdict(0.0, passes=2) is None
    assert verdict(0.0, gain=-1.0) is False


def test_a_trial_of_a_size_is_judged_at_once_and_so_is_one_that_runs_out_of_passes():
    for gain, better in ((1.0, True), (-1.0, False)):
        renewal = Move("renew 8", None, None, size=6)
        assert Trial(renewal, 0.0, Pace(), last=gain).verdict(is_last=False) is better
        assert Trial(Move("split 2", None, None), 0.0, Pace(99.0), last=gain).verdict(is_last=True) is better


def test_merges_are_not_taken_for_the_gain_of_a_pass():
    trial = Trial(Move("split 2", None, None), -500.0, Pace())
    for bound, merged in ((-100.0, -100.0), (-60.0, -20.0), (-12.0, -12.0)):
        trial.passed(bound)
        trial.last = merged
    assert (trial.age, trial.pace.gain) == (3, 8.0)


# What was tried so far


def test_kinds_of_moves_are_tried_in_order_until_each_was_given_up():
    tried, seen = TriedTopics(), []
    while (kind := tried.following()) is not None:
        seen.append(kind)
        tried.failed(kind, 0)
    assert seen == ["refresh", "birth", "split", "delete", "delete", "delete"]
    assert tried.failures == FAILURES


def test_a_large_gain_makes_other_moves_worth_trying_and_the_same_kind_comes_first():
    tried = TriedTopics()
    for kind in ("refresh", "birth", "split"):
        tried.failed(kind, 0)
    tried.gained("delete", by_much=True)
    assert tried.following() == "delete"
    tried.failures["delete"] = FAILURES["delete"]
    assert tried.following() == "birth"  # a refreshment after a deletion is in vain
    tried.gained("birth", by_much=True)
    assert tried.following() == "birth"
    assert tried.failures == dict.fromkeys(ORDER, 0)


def test_documents_do_not_start_from_their_words_twice_in_a_row():
    tried = TriedTopics()
    tried.gained("refresh", by_much=True)
    assert tried.following() == "birth"


def test_a_small_gain_is_a_failure_of_its_kind_except_for_a_deletion():
    tried = TriedTopics()
    tried.gained("refresh", by_much=False)
    assert tried.following() == "birth"
    tried.gained("delete", by_much=False)
    assert tried.failures["delete"] == 0
    tried.gained("renew", by_much=False)  # of a size, which is not one of the kinds
    tried.failed("renew", 0)
    assert set(tried.failures) == set(ORDER)


@pytest.mark.parametrize("K", [1, 2, 5, 40, 1000])
def test_deletions_get_smaller_and_the_same_is_not_tried_twice(K):
    tried, asked = TriedTopics(), []
    while (n := tried.deletion(K)) is not None:
        asked.append(n)
        tried.failed("delete", n)
        if tried.failures["delete"] == FAILURES["delete"]:
            break
    assert asked == sorted(set(asked), reverse=True)
    wanted = {max(1, round(share * K)) for share in DELETED}
    assert set(asked) == {n for n in wanted if n < K}


def test_what_was_tried_goes_through_json():
    tried, out = TriedTopics(refused={(1, 4), (0, 2)}, chooses_size=True, bounds={12: -3.5}), Writer()
    tried.failed("delete", 7)
    tried.gained("split", by_much=True)
    tried.failed("refresh", 0)
    tried.write(out)

    def read(**changes):
        values = json.loads(json.dumps(out.values)) | changes
        return TriedTopics.read(CheckedReader.of_values(values))

    assert read() == tried
    with pytest.raises(ModelFileError, match="failures"):
        read(failures=[["refresh", 0]])
