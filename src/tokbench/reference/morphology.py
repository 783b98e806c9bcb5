"""Alignment with morphemes, spelled out: tokens and gold segments laid on each word, boundaries in sets."""

from collections.abc import Iterable


def boundaries(pieces: Iterable[bytes], space: bytes) -> set[int]:
    """Where the pieces of a word meet, counted from its first letter."""
    ends, place = set(), -len(space)
    for piece in pieces:
        place += len(piece)
        ends.add(place)
    return ends - {place}


def alignment(
    words: Iterable[tuple[list[bytes], list[bytes]]], known: set[bytes], space: bytes
) -> tuple[float | None, int, int]:
    """F1 over the words that can be scored, their number, and the number of words whose gold segments are known.

    Args:
        words: gold segments and tokens of each word; the tokens have the space, the segments have not.
        known: the vocabulary.
        space: what stands before a word and belongs to it.
    """
    right = wrong = missed = scored = covered = 0
    for gold, tokens in words:
        marked = [space + gold[0], *gold[1:]]
        spelt = all(segment in known for segment in marked)
        covered += spelt
        if spelt and b"".join(marked) not in known:
            scored += 1
            expected, found = boundaries(marked, space), boundaries(tokens, space)
            right += len(expected & found)
            wrong += len(found - expected)
            missed += len(expected - found)
    everything = right + (wrong + missed) / 2
    return right / everything if everything else None, scored, covered
