"""Numeric helpers of the kernels: repeatable random numbers (SplitMix64), exact sums and stable orders."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import count

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def draws(text: bytes, seed: int, place: int = 0) -> Iterator[int]:
    """Return 64-bit numbers for a pre-token, seeded by the FNV-1a hash of its bytes, its place and the seed.

    >>> first = next(draws(b'sea', 0))
    >>> f'{first:016x}'
    'f4de9a0502acf8aa'
    """
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % WORD
    return numbers(_mixed(value ^ place ^ _mixed((seed + GOLDEN) % WORD)))


def numbers(state: int) -> Iterator[int]:
    """Return the 64-bit numbers that follow a state."""
    return (_mixed((state + k * GOLDEN) % WORD) for k in count(1))


def place_of(document: int, offset: int) -> int:
    """Return the place of a byte offset of a document."""
    return _mixed((_mixed((document + GOLDEN) % WORD) + offset) % WORD)


def _mixed(state: int) -> int:
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % WORD
    state = (state ^ state >> 27) * 0x94D049BB133111EB % WORD
    return state ^ state >> 31


def whole_sum(values: Iterable[float]) -> int:
    """Return the exact sum, in units of the smallest double.

    >>> whole_sum([0.1, 0.2]) == whole_sum([0.3])
    False
    """
    return int(sum(map(Fraction, values)) * 2**1074)


def descending(values: Sequence[float]) -> list[int]:
    """Return the indices of numbers in descending order; the order is stable."""
    return sorted(range(len(values)), key=lambda place: -values[place])


def ascending(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return the indices of pairs of numbers by the first, then by the second; the order is stable."""
    return sorted(range(len(first)), key=lambda place: (first[place], second[place]))


def by_bytes(strings: Sequence[bytes], places: Sequence[int]) -> list[int]:
    """Return indices of strings in byte order; the order is stable.

    >>> by_bytes([b'b', b'a', b'ab'], [0, 1, 2])
    [1, 2, 0]
    """
    return sorted(places, key=strings.__getitem__)
