"""How the HDP looks for its number of topics: sizes to start with, and when a trial has shown what it is worth."""

from types import SimpleNamespace

import numpy as np
import pytest

from topmix.search.sizes import SizeSearch, size
from topmix.search.trial import Pace, Trial


def at(bound):
    """Documents, of which a trial asks nothing else."""
    return SimpleNamespace(bound=lambda: bound)


@pytest.mark.parametrize("most", [1, 2, 7, 100, 10_000])
@pytest.mark.parametrize("peak", [0.0, 1.0, 3.3, 6.6, 8.9, 12.4])
def test_the_search_for_a_size_finds_the_peak_of_any_bound_with_one(most, peak):
    """Peak is log2 of the best number; the best of the sizes in reach is found, and few others are looked at."""
    sizes, seen = SizeSearch(most), []
    while (i := sizes.following()) is not None:
        assert size(i) <= most
        seen.append(size(i))
        sizes.bounds[i] = -abs(np.log2(size(i)) - peak)
    assert len(set(seen)) == len(seen) <= 12
    best = max(seen, key=lambda n: -abs(np.log2(n) - peak))
    in_reach = [size(i) for i in range(28) if size(i) <= most]
    assert abs(np.log2(best) - peak) == pytest.approx(min(abs(np.log2(n) - peak) for n in in_reach))


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
        trial = Trial("refresh", at(-500.0), {}, set(), Pace(old), pace=Pace(pace), age=passes)
        return trial.verdict(at(-500.0 + gain), is_last=False)

    would_have = 0.75 + 0.75**2 + 0.75**3  # of `old`, after three passes
    assert verdict(0.0) is True
    assert verdict(99 / would_have) is True
    assert verdict(101 / would_have) is False
    assert verdict(101 / would_have, pace=100.0) is None  # it catches up
    assert verdict(101 / would_have, pace=100.0, passes=15) is False  # not for ever
    assert verdict(0.0, passes=2) is None
    assert verdict(0.0, gain=-1.0) is False


def test_merges_are_not_taken_for_the_gain_of_a_pass():
    trial = Trial("split 2", at(-500.0), {}, set(), Pace())
    for bound, merged in ((-100.0, -100.0), (-60.0, -20.0), (-12.0, -12.0)):
        trial.passed(bound)
        trial.last = merged
    assert (trial.age, trial.pace.gain) == (3, 8.0)
