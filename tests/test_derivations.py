"""Merging without merging: how tokens are made, and what follows for neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.segmenting import PAIRS, TEXTS, by_merges, cut
from tokbench.construction.bpe import BpeOptions, build
from tokbench.kernels.derivations import Derivations
from tokbench.kernels.merge import MergeSegmenter
from tokbench.pretokens import PretokenCounts
from tokbench.reference import derivations as twin
from tokbench.reference import merge as merge_twin
from tokbench.segmentation.merge import byte_ids, joined_bytes
from tokbench.vocabulary import BYTES, Vocabulary


@given(PAIRS, st.randoms(use_true_random=False), st.booleans(), st.lists(TEXTS, max_size=3))
@settings(max_examples=200)
def test_kernel_equals_twins(pairs: list[tuple[int, int]], draw: object, shuffled: bool, texts: list[bytes]) -> None:
    """Merges in the order of their making and in any other, in which tokens may be made of later ones."""
    vocabulary = by_merges(pairs)
    assert vocabulary.merges is not None
    rows = vocabulary.merges.tolist()
    if shuffled:
        draw.shuffle(rows)  # type: ignore[attr-defined]
    merges = np.array(rows, np.int32).reshape(-1, 3)
    texts = [text for text in (*texts, *vocabulary.tokens[256:]) if text]
    every = texts + [(b"".join(texts) * 70)[:90]] * bool(texts)  # One that is cut without merging, too.
    expected = [merge_twin.merge(text, [tuple(row) for row in rows]) for text in every]
    derived, replayed = (
        MergeSegmenter(merges, byte_ids(vocabulary), joined_bytes(vocabulary), derive=derive)
        for derive in (True, False)
    )
    assert cut(derived, *every) == cut(replayed, *every) == expected
    made = twin.derivations(vocabulary.tokens, [tuple(row) for row in rows])
    assert derived.derivations is not None
    assert derived.derivations.complete == (made is not None)
    if made is not None:
        assert derived.derivations.count == 256 + len(made)
        ids = {token: index for index, token in enumerate(vocabulary.tokens)}
        assert [[ids[token] for token in twin.cut(text, made)] for text in texts] == expected[: len(texts)]


@pytest.mark.parametrize("letters", [b"ab", b"abcde ", b"\xd0\xd1\x80\x81\x82\x83", bytes(range(256))])
def test_side_by_side(letters: bytes) -> None:
    """Many pre-tokens at a time, of lengths about those where the way of merging changes; each as it is by itself."""
    draw = np.random.default_rng(len(letters))
    alphabet = np.frombuffer(letters, np.uint8)
    trained = PretokenCounts.from_pairs((draw.choice(alphabet, 12).tobytes(), 1) for _ in range(300))
    vocabulary = build(trained, 256 + 200, BpeOptions())
    lengths = [*range(1, 70), 300, *draw.integers(1, 20, 120)]
    texts = [draw.choice(alphabet, length).tobytes() for length in lengths] + [letters[:1] * 40, b"x" * 62]
    assert vocabulary.merges is not None
    arguments = vocabulary.merges, byte_ids(vocabulary), joined_bytes(vocabulary)
    derived, replayed = MergeSegmenter(*arguments), MergeSegmenter(*arguments, derive=False)
    assert derived.abreast is not None
    assert derived.abreast.complete
    assert cut(derived, *texts) == cut(replayed, *texts) == [cut(derived, text)[0] for text in texts]


def test_tokens_of_later_ones() -> None:
    """``abc`` ranks before the ``ab`` of which it might be made; where ``bc`` comes first, that never comes up."""
    tokens = (*BYTES, b"abc", b"bc", b"ab")
    in_time = np.array([[98, 99, 257], [97, 257, 256], [258, 99, 256], [97, 98, 258]], np.int32)
    ids = np.arange(256, dtype=np.int32)
    assert Derivations(in_time, ids).complete
    assert not Derivations(in_time[2:], ids).complete
    for merges in (in_time, in_time[2:]):
        segmenter = MergeSegmenter(merges, ids, joined_bytes(Vocabulary(tokens)))
        assert cut(segmenter, b"abcab") == [[256, 258]]


def test_equal_pairs() -> None:
    """The first of equal pairs counts, also where its tokens are not made yet."""
    ids = np.arange(256, dtype=np.int32)
    rows = np.array([[256, 99, 257], [97, 98, 256], [99, 100, 259], [256, 99, 258]], np.int32)
    assert not Derivations(rows, ids).complete
    tokens = Vocabulary((*BYTES, b"ab", b"abc", b"abc-", b"cd"))
    segmenter = MergeSegmenter(rows, ids, joined_bytes(tokens))
    assert cut(segmenter, b"abcd") == [merge_twin.merge(b"abcd", [tuple(row) for row in rows.tolist()])] == [[257, 100]]


@pytest.mark.parametrize("rows", [[[97, 98, 99]], [[97, 98, -1]], [[97, 98, 1 << 26]], [[97, 98, 256], [98, 97, 256]]])
def test_what_is_no_derivation(rows: list[list[int]]) -> None:
    """A result that is a byte, no id, too large an id, or two tokens at once."""
    assert not Derivations(np.array(rows, np.int32), np.arange(256, dtype=np.int32)).complete


def test_lengths_without_end() -> None:
    """Tokens that double are given up where together they are too long to be spelled out."""
    doubled = np.array([[k, k, k + 1] for k in range(255, 285)], np.int32)
    assert not Derivations(doubled, np.arange(256, dtype=np.int32)).complete
    assert Derivations(doubled[:12], np.arange(256, dtype=np.int32)).complete
