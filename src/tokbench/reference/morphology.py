"""Morpheme alignment, where boundaries of tokens and of gold segments are compared as sets, and BPE-knockout."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise


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


Parts = tuple[bytes, ...]


def encode(text: bytes, merges: Sequence[Parts]) -> tuple[list[bytes], dict[int, int]]:
    """Merge step by step. Return the tokens, and the merge that joined each inner position of the text, if one did."""
    ends = list(range(len(text) + 1))
    joined: dict[int, int] = {}
    for rank, parts in enumerate(merges):
        at = 0
        while at + len(parts) < len(ends):
            if tuple(text[start:end] for start, end in pairwise(ends[at : at + len(parts) + 1])) == parts:
                joined |= dict.fromkeys(ends[at + 1 : at + len(parts)], rank)
                del ends[at + 1 : at + len(parts)]
            at += 1
    return [text[start:end] for start, end in pairwise(ends)], joined


def blame(
    merges: Sequence[Parts], words: Sequence[tuple[bytes, set[int]]], once: bool
) -> tuple[Counter[int], Counter[int]]:
    """Return N and B of each merge: joined positions, and gold boundaries among them; or occurrences of each."""
    joined: Counter[int] = Counter()
    crossed: Counter[int] = Counter()
    for text, gold in words:
        _, ranks = encode(text, merges)
        if not once:
            joined.update(ranks.values())
            crossed.update(rank for place, rank in ranks.items() if place in gold)
            continue
        for rank in set(ranks.values()):
            left = [place for place, other in ranks.items() if other == rank]
            size = len(merges[rank]) - 1
            groups = [sorted(left)[start : start + size] for start in range(0, len(left), size)]
            joined[rank] += len(groups)
            crossed[rank] += sum(bool(gold.intersection(group)) for group in groups)
    return joined, crossed


def knock_out(
    merges: list[Parts],
    words: Sequence[tuple[bytes, set[int]]],
    threshold: Fraction,
    rounds: int = 1,
    least: int = 0,
    *,
    cascade: bool = False,
    once: bool = False,
) -> list[Parts]:
    """Remove the merges whose share of boundaries reaches the threshold, one after the other, the worst first."""
    for _ in range(rounds):
        joined, crossed = blame(merges, words, once)
        worst = sorted(joined, key=lambda rank: (-Fraction(crossed[rank], joined[rank]), -joined[rank], rank))
        guilty = [merges[rank] for rank in worst if Fraction(crossed[rank], joined[rank]) >= threshold]
        for removed in guilty[: max(0, len(merges) - least)]:
            merges = without(merges, b"".join(removed), cascade)
    return merges


def without(merges: list[Parts], token: bytes, cascade: bool) -> list[Parts]:
    """Remove a token; other merges get its parts in its place, or are removed, too."""
    parts = next((parts for parts in merges if b"".join(parts) == token), None)
    if parts is None:
        return merges
    left = [other for other in merges if other != parts]
    if not cascade:
        return [tuple(part for each in other for part in (parts if each == token else (each,))) for other in left]
    for other in left:
        if token in other:
            left = without(left, b"".join(other), cascade)
    return left
