"""Morpheme alignment: boundaries of tokens and of gold segments, compared as sets."""

from collections.abc import Iterable


def boundaries(pieces: Iterable[bytes], space: bytes) -> set[int]:
    """Return the inner boundaries between the pieces of a word, counted from its first letter."""
    ends, place = set(), -len(space)
    for piece in pieces:
        place += len(piece)
        ends.add(place)
    return ends - {place}


def alignment(
    words: Iterable[tuple[list[bytes], list[bytes]]], known: set[bytes], space: bytes
) -> tuple[float | None, int, int]:
    """Return F1 over the scorable words, their number, and the number of words whose gold segments are all known.

    Args:
        words: Gold segments and tokens of each word. The tokens include the space, the segments do not.
        known: The vocabulary.
        space: Prefix of a word that belongs to its first token.
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
