"""Some of the cases of tools/fuzz.py, in processes of their own: one that crashes is named."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tools import fuzz
from topmix.data import Corpus


def test_every_use_takes_a_whole_corpus(tmp_path):
    """Otherwise a case would be refused for another reason than its damage."""
    words = [f"w{v}" for v in range(fuzz.V)]
    Corpus.from_scipy(fuzz.counts(np.random.default_rng(0)), vocabulary=words).save(tmp_path / "a.topmix")
    for use, _, _ in fuzz.Uses().all():
        use(Corpus.open(tmp_path / "a.topmix"))


@pytest.mark.parametrize(("kind", "n"), [("corpora", 216), ("matrices", 280)])
def test_damage_is_refused_or_harmless(kind, n):
    ends, wrong = fuzz.run_apart(kind, range(n))
    assert not wrong, "\n".join(wrong)
    assert ends["refused"] > n / 2
    assert ends["sound"] > n / 30


def test_calls_of_the_native_module_have_an_answer_or_an_error():
    ends, wrong = fuzz.run_apart("doors", range(40))
    assert not wrong, "\n".join(wrong)
    assert sum(ends.values()) == 40


def test_a_case_that_crashes_is_reported_with_its_number(monkeypatch):
    code = "import os, sys; print(sys.argv[1], flush=True); os.abort()"
    popen = fuzz.subprocess.Popen
    monkeypatch.setattr(
        fuzz.subprocess, "Popen", lambda command, **more: popen([command[0], "-c", code, command[-2]], **more)
    )
    ends, wrong = fuzz.run_apart("corpora", range(7, 8))
    assert ends == {}
    assert len(wrong) == 1
    assert wrong[0].startswith("case 7 of corpora: exit status -6")


def test_cases_can_be_made_again(tmp_path):
    a, b = (fuzz.damaged_matrix(np.random.default_rng([5, 2]), "csc") for _ in range(2))
    assert pickle.dumps(a) == pickle.dumps(b)
