"""WordPiece's merging: score every pair anew, merge the best one from left to right, again."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

Piece = tuple[bytes, bool]


def train(
    words: list[tuple[bytes, int]], ranks: list[int], size: int, min_count: int, max_length: int, objective: str
) -> list[Piece]:
    """(bytes, inside a pre-token) of every piece, the 512 of the alphabet first."""
    pieces = [(bytes([byte]), inside) for inside in (False, True) for byte in range(256)]
    ranks = ranks + [256 + rank for rank in ranks] + list(range(512, size))
    spelt = [([word[0], *(256 + byte for byte in word[1:])], count) for word, count in words]
    while len(pieces) < size:
        pairs: Counter[tuple[int, int]] = Counter()
        single: Counter[int] = Counter()
        for word, count in spelt:
            for symbol in word:
                single[symbol] += count
            for left, right in pairwise(word):
                if len(pieces[left][0] + pieces[right][0]) <= max_length:
                    pairs[left, right] += count
        allowed = [pair for pair in pairs if pairs[pair] >= min_count]
        if not allowed:
            break
        score = {
            (a, b): Fraction(pairs[a, b], single[a] * single[b]) if objective == "likelihood" else 0 for a, b in allowed
        }
        best = min(allowed, key=lambda pair: (-score[pair], -pairs[pair], ranks[pair[0]], ranks[pair[1]]))
        for word, _ in spelt:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == best:
                    word[at : at + 2] = [len(pieces)]
                at += 1
        left, right = best
        pieces.append((pieces[left][0] + pieces[right][0], pieces[left][1]))
    return pieces
