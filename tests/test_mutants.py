"""The faults of tools/mutants can be made: their texts are in the code, once each, and so are their tests."""

import pytest

from tools.mutants import stale


@pytest.mark.slow  # of tools/mutants alone, which is run before a release
def test_every_fault_has_its_place_in_the_code():
    assert stale() == []
