"""Counts of a few words, small enough to try every vocabulary."""

import numpy as np
from hypothesis import strategies as st

from tokbench.pretokens import PretokenCounts

WORDS = st.dictionaries(
    st.text("ab", min_size=1, max_size=6).map(str.encode), st.integers(1, 9), min_size=1, max_size=6
)
SHARED = {"abc": 1, "abd": 1, "abe": 1, "bc": 1, "bd": 1, "be": 1}
THREE = {"abab": 3, "ab": 2, "ba": 4, "aab": 2}


def counts_of(words: dict[bytes, int]) -> PretokenCounts:
    return PretokenCounts.from_pairs(words.items(), "gpt2")


def substrings(words: dict[bytes, int]) -> list[bytes]:
    return sorted({word[i:j] for word in words for i in range(len(word)) for j in range(i + 2, len(word) + 1)})


def encoded(words: dict[str, int]) -> dict[bytes, int]:
    return {word.encode(): count for word, count in words.items()}


def text_counts(words: int, seed: int) -> dict[bytes, int]:
    """Words over few letters, some of them frequent."""
    rng = np.random.default_rng(seed)
    found: dict[bytes, int] = {}
    for rank in range(words):
        word = bytes(rng.choice(list(b"abcde"), size=rng.integers(1, 9)).tolist())
        found[word] = found.get(word, 0) + 1 + 400 // (rank + 1)
    return found
