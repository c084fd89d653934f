"""Pairs of parameters: few cases, in which any two values meet."""

from itertools import combinations

from .pairs import pairs


def test_any_two_values_of_two_parameters_meet_in_a_case():
    values = ["abc", "de", "fghi", "jk"]
    found = pairs(*values)
    for i, j in combinations(range(4), 2):
        assert {(case[i], case[j]) for case in found} == {(a, b) for a in values[i] for b in values[j]}
    assert len(found) < 18  # of 48
    assert found == pairs(*values)
