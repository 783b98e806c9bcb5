"""Plain-Python twin of PathPiece's segmentation: algorithm 1 of the paper, line by line."""

from collections.abc import Iterator
from itertools import count


def longest(text: bytes, ids: dict[bytes, int]) -> list[int]:
    """The fewest tokens; among last tokens that give equally few, the widest."""
    return _segment(text, ids, None)


def random(text: bytes, ids: dict[bytes, int], seed: int) -> list[int]:
    """The fewest tokens; the k-th of equal widths replaces the one held with probability 1/k."""
    return _segment(text, ids, _draws(text, seed))


def _segment(text: bytes, ids: dict[bytes, int], draws: Iterator[int] | None) -> list[int]:
    lengths, widths = [0], [0]
    for end in range(1, len(text) + 1):
        length, width, equal = len(text) + 1, 0, 0
        for w in range(1, end + 1):
            if text[end - w : end] not in ids:
                continue
            new = lengths[end - w] + 1
            if new < length:
                length, width, equal = new, w, 1
            elif new == length:
                equal += 1
                if draws is None or (next(draws) >> 32) * equal < 2**32:
                    width = w
        lengths.append(length)
        widths.append(width)
    found = []
    end = len(text)
    while end:
        found.append(ids[text[end - widths[end] : end]])
        end -= widths[end]
    return found[::-1]


def _draws(text: bytes, seed: int) -> Iterator[int]:
    """SplitMix64, started at the FNV-1a hash of the bytes and at the seed."""
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    golden = 0x9E3779B97F4A7C15
    start = _mixed(value ^ _mixed((seed + golden) % 2**64))
    return (_mixed((start + k * golden) % 2**64) for k in count(1))


def _mixed(state: int) -> int:
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    return state ^ state >> 31
