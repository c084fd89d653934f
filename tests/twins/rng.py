"""Slow twin of cpp/base/rng.hpp: Philox4x32-10 with Python integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

MASK = 0xFFFFFFFF


def philox4x32(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Four random 32-bit words from a counter of four words and a key of two words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & MASK, (a >> 32) ^ c3 ^ k1, a & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return [c0, c1, c2, c3]


def words(seed: int, pass_: int, row: int) -> Iterator[int]:
    """The 32-bit words of the random stream (seed, pass, row)."""
    for block in count():
        yield from philox4x32([block & MASK, pass_, row & MASK, row >> 32], [seed & MASK, seed >> 32])


def uniform(stream: Iterator[int]) -> float:
    """A double in [0, 1) from two words; the first word has the high bits."""
    high, low = next(stream), next(stream)
    return ((high << 32 | low) >> 11) * 2.0**-53


def below(stream: Iterator[int], n: int) -> int:
    """An integer in [0, n): the high half of word * n. Draws again if the low half would make the result biased."""
    while True:
        product = next(stream) * n
        if product & MASK >= (1 << 32) % n:
            return product >> 32
