"""The fuzzers' entry points stand their seeds, and some changes of each. `make fuzz` goes on for longer."""

import pytest

from tools import fuzz_pages, fuzz_state
from tools.find_chromium import find_chromium
from tools.fuzz_files import TARGETS, run_plainly, seeds


@pytest.fixture(autouse=True)
def closed():
    yield
    fuzz_state.close()
    fuzz_pages.close()


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in fuzz_pages.TARGETS])
def test_a_file_is_read_or_refused_with_the_documented_error(name):
    n = len(seeds(name)) + (10 if name in fuzz_state.TARGETS else 40)  # those use what they read
    assert len(seeds(name)) >= 1
    assert run_plainly(name, seconds=60, most=n) == n


@pytest.mark.slow  # explorer/test_browser.py has some of these documents
def test_documents_do_not_get_out_of_pages():
    if not find_chromium():
        pytest.skip("there is no chromium here")
    assert run_plainly("pages", seconds=600, most=4) == 4


def test_hostile_strings_are_of_every_kind():
    rng = fuzz_pages.random.Random(0)
    made = "".join(fuzz_pages.hostile(rng) for _ in range(2000))
    assert all(part in made for part in fuzz_pages.MARKUP + fuzz_pages.NAMES + list(fuzz_pages.LETTERS))
