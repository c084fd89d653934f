"""The fuzzers' entry points stand their seeds, and some changes of each. `make fuzz` goes on for longer."""

import pytest

from tools.fuzz_files import TARGETS, run_plainly, seeds


@pytest.mark.parametrize("name", TARGETS)
def test_a_file_is_read_or_refused_with_the_documented_error(name):
    assert len(seeds(name)) >= 1
    assert run_plainly(name, seconds=60, most=len(seeds(name)) + 40) == len(seeds(name)) + 40
