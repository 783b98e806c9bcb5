"""Length-MAX: choices by hand, the kernel against plain Python, limits, and lengths against BPE's."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokbench
from tests.conftest import ODD, TOPICS
from tokbench.construction.length_max import LengthMaxOptions, build, choose_tokens
from tokbench.errors import TokbenchError
from tokbench.kernels.length_max import choose
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import length_max as twin
from tokbench.vocabulary import BYTES, write_tokens

TEXT = count_pretokens([*TOPICS, ODD], "gpt2")
REPEATED = st.tuples(st.sampled_from([b"a", b"ab", b"aab"]), st.integers(1, 90)).map(
    lambda run: (run[0] * run[1])[: run[1]]
)
WORDS = st.dictionaries(
    st.one_of(
        st.text("ab", min_size=1, max_size=12).map(str.encode),
        st.text("aé ", min_size=1, max_size=8).map(str.encode),
        st.binary(min_size=1, max_size=5),
    ),
    st.integers(1, 5),
    max_size=6,
)


def chosen(
    counts: PretokenCounts, limit: int, longest: int, least: int, threads: int = 1, enough: int = 1024
) -> list[tuple[bytes, int]]:
    options = LengthMaxOptions(max_token_bytes=longest, min_count=least)
    kernel = partial(choose, least=least, enough=enough)
    tokens, scores = choose_tokens(counts, 256 + limit, options, kernel, threads)
    return list(zip(tokens, scores.tolist(), strict=True))


@pytest.mark.parametrize("select", ["kernel", "twin"])
@pytest.mark.parametrize(
    ("words", "least", "tokens"),
    [
        # alk 3 x 9, then walk 4 x 5, walked 6 x 3, talk 4 x 4, walking 7 x 2; ing is then in no two tokens.
        (
            {b"walked": 3, b"walking": 2, b"talk": 4},
            2,
            [(b"alk", 27), (b"walk", 20), (b"walked", 18), (b"talk", 16), (b"walking", 14)],
        ),
        # aa occurs three times, aaa twice: the shorter one is chosen, and replaced twice.
        ({b"aaaa": 1}, 1, [(b"aa", 6), (b"aaaa", 4)]),
        ({b"aaaa": 1}, 2, [(b"aa", 6)]),
        # Equal scores and lengths: byte order.
        ({b"dc": 2, b"ab": 2}, 2, [(b"ab", 4), (b"dc", 4)]),
        # ab joins the letters of the first word, so that ba, which is in the others, has a score of 2 x 3.
        ({b"abab": 3, b"ba": 3}, 2, [(b"ab", 12), (b"abab", 12), (b"ba", 6)]),
    ],
)
def test_by_hand(select: str, words: dict[bytes, int], least: int, tokens: list[tuple[bytes, int]]) -> None:
    if select == "twin":
        assert twin.choose(list(words.items()), 16, least, 9) == tokens
    else:
        assert chosen(PretokenCounts.from_pairs(words.items()), 9, 16, least) == tokens


@settings(deadline=None, max_examples=60)
@given(WORDS, st.integers(0, 9), st.integers(2, 12), st.integers(1, 3))
def test_kernel_equals_twin(words: dict[bytes, int], limit: int, longest: int, least: int) -> None:
    expected = twin.choose(list(words.items()), longest, least, limit)
    counts = PretokenCounts.from_pairs(words.items())
    assert chosen(counts, limit, longest, least) == expected
    assert chosen(counts, limit, longest, least, threads=3, enough=1) == expected


@settings(deadline=None, max_examples=15)
@given(st.dictionaries(REPEATED, st.integers(1, 4), min_size=1, max_size=3), st.sampled_from([3, 16, 70]))
def test_kernel_equals_twin_in_long_words(words: dict[bytes, int], longest: int) -> None:
    """Words and tokens longer than 64 bytes, and places that overlap."""
    expected = twin.choose(list(words.items()), longest, 2, 2)
    assert chosen(PretokenCounts.from_pairs(words.items()), 2, longest, 2) == expected


def test_text() -> None:
    large = build(TEXT, 900, LengthMaxOptions())
    assert large.tokens[:256] == BYTES
    assert build(TEXT, 600, LengthMaxOptions(), threads=3).tokens == large.tokens[:600]
    assert max(map(len, large.tokens)) <= 16
    assert max(map(len, build(TEXT, 600, LengthMaxOptions(max_token_bytes=5)).tokens)) == 5


def test_tokens_are_longer_than_those_of_bpe() -> None:
    ours, bpe = (tokbench.build(method, TEXT, 600) for method in ("length_max", "bpe"))
    assert ours.segmentation == "greedy"
    means = [np.mean([*map(len, tokenizer.vocabulary.tokens[256:])]) for tokenizer in (ours, bpe)]
    assert means[0] > means[1] * 1.2
    assert all(ours.decode(ours.encode(text)) == text for text in (*TOPICS, ODD))


def test_candidates(tmp_path: Path) -> None:
    path = tmp_path / "candidates.vocab"
    write_tokens([b"walk", b"ed", b"king"], path)
    counts = PretokenCounts.from_pairs([(b"walked", 3), (b"walking", 2), (b"talk", 4)])
    assert build(counts, 300, LengthMaxOptions(candidates=path)).tokens[256:] == (b"walk", b"ed")


def test_counts_near_the_limit() -> None:
    counts = PretokenCounts.from_pairs([(b"=" * 90, 2**49), (b"ab" * 20, 2**48)])
    small = PretokenCounts(counts.data, counts.offsets, counts.counts >> 46)
    assert build(counts, 270, LengthMaxOptions()).tokens == build(small, 270, LengthMaxOptions()).tokens
    with pytest.raises(TokbenchError, match="90 bytes of the longest token exceed 62 bits; set max_token_bytes"):
        build(counts, 270, LengthMaxOptions(max_token_bytes=None))


def test_nothing_to_choose() -> None:
    assert build(PretokenCounts.from_pairs([]), 300, LengthMaxOptions()).tokens == BYTES
    assert build(PretokenCounts.from_pairs([(b"a", 9)]), 300, LengthMaxOptions()).tokens == BYTES
    with pytest.raises(TokbenchError, match="size 255 is below 256"):
        build(TEXT, 255, LengthMaxOptions())
