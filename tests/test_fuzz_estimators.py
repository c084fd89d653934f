"""Some of the cases of tools/fuzz_estimators.py, of each estimator the same number. `make fuzz` goes on for longer."""

from __future__ import annotations

import numpy as np
import pytest

from tools import fuzz
from tools.fuzz_estimators import ESTIMATORS, HUGE, ODD, Draw, check_numbers, check_refusal
from topmix import LDA

CASES = range(10 * len(ESTIMATORS))


def test_fits_and_calls_have_an_answer_or_a_reason():
    ends, wrong = fuzz.run_apart("estimators", CASES)
    assert not wrong, "\n".join(wrong)
    assert ends["found"] == len(ESTIMATORS) == 11
    assert ends["fitted"] > 0.3 * len(CASES)
    assert sum(ends.values()) == len(CASES)


def test_a_refusal_is_an_error_that_somebody_meant():
    X = np.eye(3)
    for parameters in ({"n_components": 0}, {"engine": "magic"}, {"tol": np.nan}):
        with pytest.raises(ValueError) as refused:
            LDA(**parameters).fit(X)
        check_refusal(refused.value)
    for meant_by_nobody in (lambda: [][1], lambda: 1 / 0, lambda: np.linalg.inv(np.zeros((2, 2))), lambda: int("x")):
        with pytest.raises((LookupError, ArithmeticError, ValueError)) as raised:
            meant_by_nobody()
        with pytest.raises(type(raised.value)):
            check_refusal(raised.value)


def test_numbers_that_are_not_finite_are_found():
    check_numbers([1.0, (np.zeros(3), "x")], "answer")
    with pytest.raises(AssertionError, match="answer is not finite"):
        check_numbers([1.0, (np.array([0, np.inf]), "x")], "answer")


def test_a_case_is_the_same_in_every_run():
    a, b = (repr(Draw(5).settings(LDA, 0.5)) for _ in range(2))
    assert a.partition("<function")[0] == b.partition("<function")[0]
    assert repr(Draw(5).data(LDA)) == repr(Draw(5).data(LDA))


def test_parameters_are_drawn_by_what_is_said_of_them():
    """A parameter that is new needs no line in the fuzzer."""
    d = Draw(0)
    d.odd = 0.0
    values = [d.value("unheard_of", '{"one", "two"}, float or None', "str | float | None", "one") for _ in range(99)]
    assert {"one", "two", None} < set(values)
    assert any(isinstance(value, float) for value in values)
    d.odd = 1.0
    assert any(d.value("unheard_of", "int", int, 3) is wrong for wrong in ODD + HUGE for _ in range(9))
