"""Scaffold-BPE: count every pair anew, judge the parts of the merge before, merge or bring a scaffold back, again."""

from collections import Counter
from itertools import pairwise

from tokbench.reference.picky_bpe import Word, replace


def train(words: list[tuple[Word, int]], alphabet: list[str], size: int) -> tuple[list[str], list[str]]:
    """Tokens beyond the alphabet that are no scaffolds, and scaffolds, both in order of creation."""
    frequency: dict[str, int] = {}
    scaffolds: set[str] = set()
    merged: tuple[str, ...] = ()
    while True:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words:
            for pair in pairwise(word):
                pairs[pair] += times
        highest = max(pairs.values(), default=0)
        head = max([highest, *(frequency[token] for token in scaffolds)])
        scaffolds |= {part for part in merged if part in frequency and frequency[part] < head}
        if len(alphabet) + len(frequency) - len(scaffolds) >= size or head == 0:
            return [token for token in frequency if token not in scaffolds], [t for t in frequency if t in scaffolds]
        if head > highest:
            scaffolds.remove(next(token for token in frequency if token in scaffolds and frequency[token] == head))
            merged = ()
            continue
        rank = {token: place for place, token in enumerate([*alphabet, *frequency])}
        left, right = min(pairs, key=lambda pair: (-pairs[pair], rank[pair[0]], rank[pair[1]]))
        merged = left, right
        replaced = sum(times * (len(word) - len(replace(word, merged, ("",)))) for word, times in words)
        words = [(replace(word, merged, (left + right,)), times) for word, times in words]
        for part in merged:
            if part in frequency:
                frequency[part] -= replaced
        frequency[left + right] = replaced
