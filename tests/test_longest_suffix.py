"""Segmentation by the longest match from the right: equals its twin and mirrors greedy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.segmenting import NEW_TOKENS, TEXTS, cut, ids_of, make
from tokbench.errors import TokbenchError
from tokbench.kernels.longest_suffix import LongestSuffixSegmenter
from tokbench.kernels.trie import Trie
from tokbench.reference.longest_suffix import longest_suffix as twin
from tokbench.vocabulary import BYTES, Vocabulary


@given(NEW_TOKENS, st.lists(TEXTS, max_size=3))
def test_twin(new: list[bytes], texts: list[bytes]) -> None:
    vocabulary = Vocabulary((*BYTES, *new))
    assert cut(make("longest_suffix", vocabulary), *texts) == [twin(text, ids_of(vocabulary)) for text in texts]


@given(st.permutations([*BYTES, b"ab", b"ba", b"aba", b"\x00\xff"]), TEXTS)
def test_bytes_in_any_place(tokens: list[bytes], text: bytes) -> None:
    vocabulary = Vocabulary(tuple(tokens))
    assert cut(make("longest_suffix", vocabulary), text) == [twin(text, ids_of(vocabulary))]


@given(NEW_TOKENS, TEXTS)
def test_mirror_of_greedy(new: list[bytes], text: bytes) -> None:
    tokens = (*BYTES, *new)
    [found] = cut(make("longest_suffix", Vocabulary(tokens)), text)
    mirrored = Vocabulary(tuple(token[::-1] for token in tokens))
    assert cut(make("greedy", mirrored), text[::-1]) == [found[::-1]]


@pytest.mark.parametrize(
    ("new", "text", "expected"),
    [
        ("un und do undo doing ing", "undoing", "un|doing"),
        ("un und do undo ing", "undoing", "undo|ing"),
        ("aa", "aaaaa", "a|aa|aa"),
        ("abc bcd", "abcd", "a|bcd"),
    ],
)
def test_examples(new: str, text: str, expected: str) -> None:
    tokens = (*BYTES, *(token.encode() for token in new.split()))
    [found] = cut(make("longest_suffix", Vocabulary(tokens)), text.encode())
    assert b"|".join(tokens[index] for index in found).decode() == expected


def test_long_pretoken() -> None:
    vocabulary = Vocabulary((*BYTES, b"ab" * 8))
    found = cut(make("longest_suffix", vocabulary), b"b" + b"ab" * 500_003)
    assert found == [[98, *b"ababab", *[256] * 62_500]]


def test_rejections() -> None:
    forms = Vocabulary(BYTES * 2, continuation=np.repeat([False, True], 256))
    with pytest.raises(TokbenchError, match="segmentation 'longest_suffix': the vocabulary's tokens have continuation"):
        make("longest_suffix", forms)
    with pytest.raises(ValueError, match="lacks one of the 256 bytes"):
        LongestSuffixSegmenter(Trie(*Vocabulary(BYTES).flat(), np.arange(256) > 0, backwards=True))
