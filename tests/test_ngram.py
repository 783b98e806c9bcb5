"""N-gram counting and the initial vocabulary made of n-grams."""

import pydoc_data.topics
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.construction import ngram
from tokbench.pretokens import PretokenCounts
from tokbench.reference import ngram as twin
from tokbench.vocabulary import BYTES

WORDS = st.one_of(
    st.text("ab", min_size=1, max_size=24).map(str.encode),
    st.lists(st.sampled_from([0, 1, 97, 255]), min_size=1, max_size=24).map(bytes),
    st.binary(min_size=1, max_size=20),
)
PAIRS = st.lists(st.tuples(WORDS, st.integers(1, 4)), max_size=12)


@settings(deadline=None)
@given(PAIRS, st.integers(1, 60), st.integers(2, 16))
def test_kernel_equals_twin(pairs: list[tuple[bytes, int]], limit: int, max_bytes: int) -> None:
    tokens, totals = ngram.top_ngrams(PretokenCounts.from_pairs(pairs), limit, max_bytes)
    assert list(zip(tokens, totals.tolist(), strict=True)) == twin.top_ngrams(pairs, limit, max_bytes)


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    text = "".join(pydoc_data.topics.topics.values())
    return PretokenCounts.from_pairs((word.encode(), 1) for word in re.findall(r" ?\S+|\s+", text))


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_and_pruning_do_not_show(prose: PretokenCounts, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(ngram, "PART_POSITIONS", 5_000)
    tokens, totals = ngram.top_ngrams(prose, 300, 16, threads=threads)
    assert list(zip(tokens, totals.tolist(), strict=True)) == twin.top_ngrams(prose.items(), 300, 16)


def test_whole_document_is_one_pretoken() -> None:
    text = ("to be or not to be, that is the question\n" * 40).encode()
    counts = PretokenCounts.from_pairs([(text, 3)])
    tokens, totals = ngram.top_ngrams(counts, 500, 16)
    assert list(zip(tokens, totals.tolist(), strict=True)) == twin.top_ngrams([(text, 3)], 500, 16)


def test_counts_beyond_32_bits() -> None:
    tokens, totals = ngram.top_ngrams(PretokenCounts.from_pairs([(b"abab", 3 << 40)]), 2)
    assert (tokens, totals.tolist()) == ([b"ab", b"aba"], [6 << 40, 3 << 40])


def test_vocabulary_holds_all_bytes_first(prose: PretokenCounts) -> None:
    vocabulary = ngram.build(prose, 1000, ngram.NgramOptions())
    assert vocabulary.tokens[:256] == BYTES
    assert vocabulary.tokens[256:] == tuple(token for token, _ in twin.top_ngrams(prose.items(), 744, 16))


@pytest.mark.parametrize("pairs", [[], [(b"a", 5)], [(b"ab", 1)]])
def test_too_little_text_gives_a_smaller_vocabulary(pairs: list[tuple[bytes, int]]) -> None:
    vocabulary = ngram.build(PretokenCounts.from_pairs(pairs), 300, ngram.NgramOptions())
    assert len(vocabulary) == 256 + sum(len(word) > 1 for word, _ in pairs)
    assert np.array_equal(vocabulary.tokens[:256], BYTES)
