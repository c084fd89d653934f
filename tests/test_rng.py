"""Random streams: published answers, the Python twin, and independence of threads."""

from itertools import islice

import numpy as np
import pytest

from topmix.reference import rng as reference

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
def test_philox_gives_the_published_answers(core, counter, key, answer):
    out = np.empty(4, np.uint32)
    core.philox4x32(np.array(counter, np.uint32), np.array(key, np.uint32), out)
    assert out.tolist() == answer == reference.philox4x32(counter, key)


def test_streams_equal_the_twin(core):
    seed, pass_, row = 0x123456789ABCDEF0, 7, 2**33 + 5
    out = np.empty((3, 11), np.uint32)
    core.random_words(seed, pass_, row, out)
    for n in range(3):
        assert out[n].tolist() == list(islice(reference.words(seed, pass_, row + n), 11))


def test_uniform_and_below_equal_the_twin(core):
    u, b = np.empty((2, 9)), np.empty((2, 9), np.uint32)
    core.random_uniform(1, 2, 3, u)
    core.random_below(1, 2, 3, 3_000_000_000, b)  # more than half of 2^32: about 3 in 10 draws are rejected
    for n in range(2):
        stream = reference.words(1, 2, 3 + n)
        assert u[n].tolist() == [reference.uniform(stream) for _ in range(9)]
        stream = reference.words(1, 2, 3 + n)
        assert b[n].tolist() == [reference.below(stream, 3_000_000_000) for _ in range(9)]


def test_same_bits_for_any_thread_count(core):
    draws = [np.empty((10_003, 5)) for _ in range(3)]
    for out, threads in zip(draws, (1, 2, 7)):
        core.random_uniform(42, 1, 0, out, threads)
    np.testing.assert_array_equal(draws[1], draws[0])
    np.testing.assert_array_equal(draws[2], draws[0])


def test_streams_of_other_seeds_passes_and_rows_differ(core):
    def first(seed, pass_, row):
        out = np.empty((1, 4), np.uint32)
        core.random_words(seed, pass_, row, out)
        return tuple(out[0])

    assert len({first(s, p, r) for s in (0, 1, 2**32) for p in (0, 1) for r in (0, 1, 2**32)}) == 18


def test_uniform_fills_the_unit_interval_evenly(core):
    u = np.empty((1000, 100))
    core.random_uniform(0, 0, 0, u)
    assert u.min() >= 0
    assert u.max() < 1
    counts = np.bincount((u.ravel() * 100).astype(int), minlength=100)
    assert np.abs(counts - 1000).max() < 6 * np.sqrt(1000)  # six standard deviations


def test_below_is_unbiased_where_a_modulus_would_not_be(core):
    n = 3 * 2**30  # word % n would fall below 2^30 half of the time instead of a third
    b = np.empty((1000, 30), np.uint32)
    core.random_below(0, 0, 0, n, b)
    assert b.max() < n
    assert np.mean(b < 2**30) == pytest.approx(1 / 3, abs=0.02)


def test_below_zero_is_an_error(core):
    with pytest.raises(ValueError, match="at least 1"):
        core.random_below(0, 0, 0, 0, np.empty((1, 1), np.uint32))
