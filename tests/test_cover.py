"""Segmentation by a partition cover: equals its twin, loses nothing, and is what GreedTok counted on."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.construction.greedtok import GreedTokOptions, build
from tokbench.errors import TokbenchError
from tokbench.kernels.cover import CoverSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.reference.cover import cover as twin
from tokbench.reference.greedtok import choose, substrings
from tokbench.segmentation.cover import cover
from tokbench.vocabulary import BYTES, Vocabulary

TEXTS = st.one_of(
    st.text("ab", max_size=200).map(str.encode),
    st.lists(st.sampled_from([0, 97, 98, 255]), max_size=90).map(bytes),
    st.binary(max_size=40),
)
NEW_TOKENS = st.lists(st.text("ab", min_size=2, max_size=7).map(str.encode), max_size=20, unique=True)


def cut(tokens: tuple[bytes, ...], *texts: bytes) -> list[list[bytes]]:
    offsets = np.cumsum([0, *map(len, texts)])
    ids, bounds = cover(Vocabulary(tokens), Options()).segment(np.frombuffer(b"".join(texts), np.uint8), offsets)
    return [[tokens[index] for index in ids[start:end].tolist()] for start, end in pairwise(bounds.tolist())]


@settings(max_examples=200)
@given(st.lists(TEXTS, max_size=4), NEW_TOKENS)
def test_twin(texts: list[bytes], new: list[bytes]) -> None:
    tokens = (*BYTES, *new)
    assert cut(tokens, *texts) == [twin(text, tokens) for text in texts]


@given(st.permutations([*BYTES, b"ab", b"ba", b"aba", b"bab"]), TEXTS)
def test_bytes_in_any_place(tokens: list[bytes], text: bytes) -> None:
    assert cut(tuple(tokens), text) == [twin(text, tokens)]


@given(
    st.dictionaries(st.text("ab", min_size=1, max_size=12).map(str.encode), st.integers(1, 5), max_size=6),
    st.integers(0, 12),
)
def test_training_counts_are_kept(counted: dict[bytes, int], wanted: int) -> None:
    """The tokens that GreedTok saves are those that the segmentation saves."""
    counts = PretokenCounts.from_pairs(counted.items())
    tokens = build(counts, 256 + wanted, GreedTokOptions()).tokens
    pairs = list(counted.items())
    saved = sum(gain for _, gain in choose(pairs, substrings(pairs, 12), wanted, True))
    assert sum(len(cut(tokens, word)[0]) * count for word, count in pairs) == counts.total_bytes - saved


@pytest.mark.parametrize(
    ("new", "text", "expected"),
    [
        ("Ġ in ing join Ġj", "Ġjoining", "Ġ|join|ing"),
        ("Ġ in ing Ġjo", "Ġjoining", "Ġjo|in|ing"),
        ("Ġ in ing join Ġjoin", "Ġjoining", "Ġjoin|ing"),
        ("aya", "ayaya", "aya|y|a"),
        ("ab bc", "abc", "ab|c"),
        ("bc ab", "abc", "a|bc"),
        ("ab bc abc", "abc", "abc"),
        ("ab cd abc", "abcd", "ab|cd"),
        ("aa aaa", "aaaa", "aa|aa"),
    ],
)
def test_examples(new: str, text: str, expected: str) -> None:
    """Equal neighbours stay apart; an earlier token wins a place unless a later one holds it whole."""
    tokens = (*BYTES, *(token.encode() for token in new.split()))
    found = b"|".join(cut(tokens, text.encode())[0])
    assert found.decode() == expected


def test_long_pretoken() -> None:
    text = bytes(np.random.default_rng(3).integers(97, 99, 3000, np.uint8))
    tokens = (*BYTES, *sorted(substrings([(text[:40], 1)], 12), key=lambda token: (token[::-1], token)))
    assert cut(tokens, text) == [twin(text, tokens)]


def test_rejections() -> None:
    forms = Vocabulary(BYTES * 2, continuation=np.repeat([False, True], 256))
    with pytest.raises(TokbenchError, match="segmentation 'cover': the vocabulary's tokens have continuation forms"):
        cover(forms, Options())
    with pytest.raises(ValueError, match="lacks one of the 256 bytes"):
        CoverSegmenter(Trie(*Vocabulary(BYTES).flat(), np.arange(256) > 0), np.ones(256))
