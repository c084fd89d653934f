"""The fuzzers' entry points stand their seeds, and some changes of each. `make fuzz` goes on for longer."""

import pytest

from tools import fuzz_state
from tools.fuzz_files import TARGETS, run_plainly, seeds


@pytest.fixture(autouse=True)
def closed():
    yield
    fuzz_state.close()


@pytest.mark.parametrize("name", TARGETS)
def test_a_file_is_read_or_refused_with_the_documented_error(name):
    n = len(seeds(name)) + (10 if name in fuzz_state.TARGETS else 40)  # those use what they read
    assert len(seeds(name)) >= 1
    assert run_plainly(name, seconds=60, most=n) == n
