"""Plain-Python reference of the kernels' repeatable randomness: SplitMix64, started at a hash of what is drawn for."""

from collections.abc import Iterator
from itertools import count

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def draws(text: bytes, seed: int, place: int = 0) -> Iterator[int]:
    """64-bit numbers for a pre-token, started at the FNV-1a hash of its bytes, its place and the seed."""
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % WORD
    return numbers(_mixed(value ^ place ^ _mixed((seed + GOLDEN) % WORD)))


def numbers(state: int) -> Iterator[int]:
    """The 64-bit numbers that follow a state."""
    return (_mixed((state + k * GOLDEN) % WORD) for k in count(1))


def place_of(document: int, offset: int) -> int:
    """The place of a byte offset of a document."""
    return _mixed((_mixed((document + GOLDEN) % WORD) + offset) % WORD)


def _mixed(state: int) -> int:
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % WORD
    state = (state ^ state >> 27) * 0x94D049BB133111EB % WORD
    return state ^ state >> 31
