"""Byte-pair merging: count every pair anew, merge the best one from left to right, again."""

from collections import Counter
from itertools import pairwise


def train(
    words: list[tuple[bytes, int]], ranks: list[int], size: int, min_count: int, max_length: int
) -> tuple[list[tuple[int, int]], list[bytes]]:
    """The merged pairs in order, and every token, the 256 bytes included."""
    tokens = [bytes([byte]) for byte in range(256)]
    ranks = ranks + list(range(256, size))
    spelt = [(list(word), count) for word, count in words]
    merges: list[tuple[int, int]] = []
    while len(tokens) < size:
        pairs: Counter[tuple[int, int]] = Counter()
        for word, count in spelt:
            for left, right in pairwise(word):
                if len(tokens[left] + tokens[right]) <= max_length:
                    pairs[left, right] += count
        if not pairs or max(pairs.values()) < min_count:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], ranks[pair[0]], ranks[pair[1]]))
        for word, _ in spelt:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == best:
                    word[at : at + 2] = [len(tokens)]
                at += 1
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append(best)
    return merges, tokens
