"""Shortest paths with random ties, drawn anew for every place of a document (PathPieceR, appendix A of the paper)."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tests.support.segmenting import NEW_TOKENS, TEXTS, cut, ids_of, make
from tokbench.kernels.shortest_path import ShortestPathSegmenter
from tokbench.reference import shortest_path as twin
from tokbench.reference.splitmix import place_of
from tokbench.segmentation.shortest_path import ShortestPathOptions
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SEEDS = st.integers(0, 2**64 - 1)
TIED = Vocabulary((*BYTES, b"aa", b"aaa"))
"""``aaaa`` is two tokens in three ways, which end in one, two and three bytes."""


def at_random(vocabulary: Vocabulary, seed: int = 0, draws: str = "document") -> ShortestPathSegmenter:
    return make("shortest_path", vocabulary, ties="random", seed=seed, draws=draws)


def cut_in_document(segmenter: ShortestPathSegmenter, document: int, *texts: bytes) -> list[list[int]]:
    offsets = np.cumsum([0, *map(len, texts)])
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(texts), np.uint8), offsets, document)
    return [ids[start:end].tolist() for start, end in pairwise(bounds.tolist())]


@given(NEW_TOKENS, st.lists(TEXTS, max_size=4), SEEDS, SEEDS)
def test_twin(new: list[bytes], texts: list[bytes], document: int, seed: int) -> None:
    vocabulary = Vocabulary((*BYTES, *new))
    offsets = np.cumsum([0, *map(len, texts)]).tolist()
    expected = [
        twin.random(text, ids_of(vocabulary), seed, place_of(document, offset))
        for text, offset in zip(texts, offsets, strict=False)
    ]
    assert cut_in_document(at_random(vocabulary, seed), document, *texts) == expected


@given(NEW_TOKENS, st.lists(TEXTS, max_size=4), SEEDS, SEEDS)
def test_always_the_fewest_tokens(new: list[bytes], texts: list[bytes], document: int, seed: int) -> None:
    vocabulary = Vocabulary((*BYTES, *new))
    found = cut_in_document(at_random(vocabulary, seed), document, *texts)
    assert [b"".join(vocabulary.tokens[index] for index in ids) for ids in found] == texts
    fewest = cut(make("shortest_path", vocabulary), *texts)
    assert list(map(len, found)) == list(map(len, fewest))


def test_equal_pretokens_are_cut_differently_at_different_places() -> None:
    found = cut_in_document(at_random(TIED), 7, *[b"aaaa"] * 100)
    assert len(set(map(tuple, found))) == 3


def test_same_document_same_cut() -> None:
    texts = [b"aaaa"] * 100
    one = cut_in_document(at_random(TIED), 7, *texts)
    assert cut_in_document(at_random(TIED), 7, *texts) == one
    assert cut_in_document(at_random(TIED), 8, *texts) != one
    assert cut_in_document(at_random(TIED, seed=1), 7, *texts) != one


def test_a_pretoken_is_cut_by_its_offset_whatever_comes_before() -> None:
    data = np.frombuffer(b"aaaa" * 50, np.uint8)
    segmenter = at_random(TIED)
    whole, _ = segmenter.segment(data, np.arange(0, 201, 4), 7)
    parts = [segmenter.segment(data, np.arange(start, start + 41, 4), 7)[0] for start in range(0, 200, 40)]
    assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("options", [{"ties": "random", "draws": "pretoken"}, {"ties": "longest", "draws": "document"}])
def test_what_does_not_depend_on_the_place(options: dict[str, object]) -> None:
    segmenter = make("shortest_path", TIED, seed=3, **options)
    assert not segmenter.placed
    [alone] = cut(segmenter, b"aaaa")
    for document in (0, 7):
        assert cut_in_document(segmenter, document, *[b"aaaa"] * 20) == [alone] * 20


def test_without_a_document_draws_belong_to_the_pretoken() -> None:
    texts = [b"aaaa", b"ab", b"aaaa", b"aaaaaaa"]
    assert cut(at_random(TIED, 3), *texts) == cut(at_random(TIED, 3, "pretoken"), *texts)


@pytest.mark.parametrize("apart", ["places", "documents", "seeds"])
def test_choice_is_uniform(apart: str) -> None:
    """The last token of ``aaaa`` is one of three with the same probability, whatever it was the time before."""
    times = 3000
    if apart == "places":
        found = cut_in_document(at_random(TIED, 5), 7, *[b"aaaa"] * times)
    elif apart == "documents":
        found = [cut_in_document(at_random(TIED, 5), document, b"aaaa")[0] for document in range(times)]
    else:
        found = [cut_in_document(at_random(TIED, seed), 7, b"aaaa")[0] for seed in range(times)]
    last = [ids[-1] for ids in found]
    once, twice = Counter(last), Counter(zip(last[::2], last[1::2], strict=True))
    assert set(once) == {97, 256, 257}
    assert len(twice) == 9
    assert chisquare(list(once.values())).pvalue > 0.001
    assert chisquare(list(twice.values())).pvalue > 0.001


def test_choice_is_uniform_over_last_tokens_not_over_paths() -> None:
    """``aaaaa`` in two tokens is 2 + 3 or 3 + 2; in ``aaaaab`` the choice before b stays even."""
    found = cut_in_document(at_random(TIED), 1, *[b"aaaaab"] * 6000)
    ways = Counter(tuple(len(TIED.tokens[index]) for index in ids) for ids in found)
    assert set(ways) == {(2, 3, 1), (3, 2, 1)}
    assert chisquare(list(ways.values())).pvalue > 0.001


def test_whole_texts() -> None:
    """A tokenizer takes the text for the document, in one thread or in several that share it out."""
    options = ShortestPathOptions(ties="random", draws="document", seed=2)
    tokenizer = Tokenizer(Vocabulary((*BYTES, b"aa", b"aaa")), "space", "shortest_path", options)
    text = b"aaaa " * 300_000 + b"\xff\xfe"
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert len(ids) == 3 * 300_000 + 2
    assert np.array_equal(ids, tokenizer.encode(text))
    assert np.array_equal(ids, tokenizer.encode(text, threads=3))
    ways = Counter(map(tuple, ids[:-2].reshape(-1, 3).tolist()))
    assert len(ways) == 3
    assert chisquare(list(ways.values())).pvalue > 0.001
    assert not np.array_equal(ids[:900], tokenizer.encode(text[:-1])[:900])
