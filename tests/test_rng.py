"""Random streams: published answers, and the Python twin. cpp/tests/rng.cpp has what is made of the words."""

from itertools import islice

import numpy as np
import pytest

from tests.twins import rng as reference

# From Random123's kat_vectors, philox4x32 10 rounds: counter, key, answer.
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_philox_gives_the_published_answers(counter, key, answer):
    assert reference.philox4x32(counter, key) == answer


def test_streams_equal_the_twin(core):
    seed, pass_, row = 0x123456789ABCDEF0, 7, 2**33 + 5
    out = np.empty((3, 11), np.uint32)
    core.random_words(seed, pass_, row, out)
    for n in range(3):
        assert out[n].tolist() == list(islice(reference.words(seed, pass_, row + n), 11))


def test_the_twin_draws_what_the_native_streams_draw():
    """The numbers of cpp/tests/rng.cpp."""
    stream = reference.words(1, 2, 3)
    assert [reference.uniform(stream) for _ in range(3)] == [0.5499156902354773, 0.669350557604734, 0.9587206580240385]
    stream = reference.words(1, 2, 3)
    found = [reference.below(stream, 3_000_000_000) for _ in range(6)]  # about 3 in 10 draws are rejected
    assert found == [1649747070, 2008051672, 1415091247, 2876161973, 638536940, 1693839685]
