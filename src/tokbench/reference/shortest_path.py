"""Plain-Python reference of PathPiece's segmentation: algorithm 1 of the paper, line by line."""

from collections.abc import Iterator

from tokbench.reference.splitmix import draws


def longest(text: bytes, ids: dict[bytes, int]) -> list[int]:
    """The fewest tokens; among last tokens that give equally few, the widest."""
    return _segment(text, ids, None)


def random(text: bytes, ids: dict[bytes, int], seed: int, place: int = 0) -> list[int]:
    """The fewest tokens; the k-th of equal widths replaces the one held with probability 1/k."""
    return _segment(text, ids, draws(text, seed, place))


def _segment(text: bytes, ids: dict[bytes, int], numbers: Iterator[int] | None) -> list[int]:
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
                if numbers is None or (next(numbers) >> 32) * equal < 2**32:
                    width = w
        lengths.append(length)
        widths.append(width)
    found = []
    end = len(text)
    while end:
        found.append(ids[text[end - widths[end] : end]])
        end -= widths[end]
    return found[::-1]
