"""Merges from derivations of tokens, and possible neighbours.

Shortest paths with random ties, drawn for every place of a document (PathPieceR, appendix A of the paper).

Segmentation by a partition cover: equals its reference, is lossless, and has GreedTok's counts.
"""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tests.support.texts import NEW_TOKENS, PAIRS, TEXTS, by_merges, cut, ids_of, make
from tokbench.construction.bpe import BpeOptions, build
from tokbench.construction.greedtok import GreedTokOptions
from tokbench.construction.greedtok import build as greedtok_build
from tokbench.errors import TokbenchError
from tokbench.kernels.cover import CoverSegmenter
from tokbench.kernels.deferred import DeferredSegmenter, RankSegmenter
from tokbench.kernels.derivations import Derivations
from tokbench.kernels.merge import MergeSegmenter
from tokbench.kernels.shortest_path import ShortestPathSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.reference import segmentation as merge_twin
from tokbench.reference import segmentation as twin
from tokbench.reference.greedtok import choose, substrings
from tokbench.reference.numbers import place_of
from tokbench.reference.segmentation import cover as cover_twin
from tokbench.segmentation import segmentations
from tokbench.segmentation.cover import cover
from tokbench.segmentation.merge import byte_ids, joined_bytes
from tokbench.segmentation.shortest_path import ShortestPathOptions
from tokbench.tokenizer import Tokenizer
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


@pytest.mark.parametrize("seed", range(6))
def test_long_pretokens(seed: int) -> None:
    """Parts that no token joins, of one token and of several; repeated text; tokens longer than a key."""
    draw = random.Random(seed)
    words = [bytes(draw.choices(b"abc\xe4\xb8\xad\xe6\x96\x87\x00", k=draw.randint(1, 9))) for _ in range(60)]
    words += [b"ab" * 24, b"\x00" * 40, b"c" * 33]
    trained = PretokenCounts.from_pairs((word, draw.randint(1, 9)) for word in set(words))
    vocabulary = build(trained, 256 + 150, BpeOptions())
    assert vocabulary.merges is not None
    arguments = vocabulary.merges, byte_ids(vocabulary), joined_bytes(vocabulary)
    derived, replayed = MergeSegmenter(*arguments), MergeSegmenter(*arguments, derive=False)
    assert derived.derivations is not None
    assert derived.derivations.complete
    texts = [b"".join(draw.choices([*words, b"d", b"\xff"], k=draw.randint(10, 80))) for _ in range(40)]
    texts += [word * draw.randint(1, 90) + draw.choice(words) + word * 40 for word in words]
    assert cut(derived, *texts) == cut(replayed, *texts)


@pytest.mark.parametrize("letters", [b"ab", b"abcde ", bytes(range(256))])
def test_tables_are_built_when_they_pay(letters: bytes) -> None:
    """By a number of bytes of short pre-tokens, or by a pre-token of 513 bytes; ids are the same before and after."""
    draw = np.random.default_rng(len(letters))
    alphabet = np.frombuffer(letters, np.uint8)
    trained = PretokenCounts.from_pairs((draw.choice(alphabet, 12).tobytes(), 1) for _ in range(300))
    vocabulary = build(trained, 256 + 200, BpeOptions())
    ids = {token: index for index, token in enumerate(vocabulary.tokens)}
    texts = [draw.choice(alphabet, length).tobytes() for length in (*range(1, 65), *draw.integers(1, 20, 60), 511, 512)]
    texts += [*vocabulary.tokens]
    for name in ("merge", "whole_or_merge", "ranked"):
        made = segmentations[name].function(vocabulary, None)
        assert isinstance(made, DeferredSegmenter)
        before = cut(made.first, *texts)
        while made.built is None:
            assert cut(made, *texts) == before
        assert cut(made, *texts) == cut(made.first, *texts) == before
        if name == "ranked":
            assert before == [twin.ranked(text, ids) for text in texts]
        again = segmentations[name].function(vocabulary, None)
        assert isinstance(again, DeferredSegmenter)
        assert cut(again, letters[:1] * 64)
        assert again.built is None
        assert cut(again, letters[:1] * 513) == cut(made, letters[:1] * 513)
        assert again.built is not None


@pytest.mark.parametrize(("length", "calls"), [(8, 911), (64, 65), (512, 2)])
def test_long_pretokens_count_more_than_their_bytes(length: int, calls: int) -> None:
    """The tables for 256 tokens pay after 8 KiB; a pre-token of n bytes counts as n + n²/64, as its parts are searched
    in quadratic time."""
    made = segmentations["ranked"].function(Vocabulary(BYTES), None)
    assert isinstance(made, DeferredSegmenter)
    for call in range(calls):
        assert made.built is None, call
        cut(made, b"a" * length)
    assert made.built is not None


def test_long_pretokens_are_not_cut_in_quadratic_time() -> None:
    with pytest.raises(ValueError, match="513 bytes"):
        cut(RankSegmenter(Trie(*Vocabulary(BYTES).flat())), b"a" * 513)


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
def test_derivations_with_invalid_merge_results_are_incomplete(rows: list[list[int]]) -> None:
    """A result that is a byte, no id, too large an id, or two tokens at once."""
    assert not Derivations(np.array(rows, np.int32), np.arange(256, dtype=np.int32)).complete


def test_lengths_without_end() -> None:
    """Tokens that double are given up where together they are too long to be spelled out."""
    doubled = np.array([[k, k, k + 1] for k in range(255, 285)], np.int32)
    assert not Derivations(doubled, np.arange(256, dtype=np.int32)).complete
    assert Derivations(doubled[:12], np.arange(256, dtype=np.int32)).complete


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


def test_random_ties_depend_on_the_offset_and_not_on_earlier_text() -> None:
    data = np.frombuffer(b"aaaa" * 50, np.uint8)
    segmenter = at_random(TIED)
    whole, _ = segmenter.segment(data, np.arange(0, 201, 4), 7)
    parts = [segmenter.segment(data, np.arange(start, start + 41, 4), 7)[0] for start in range(0, 200, 40)]
    assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("options", [{"ties": "random", "draws": "pretoken"}, {"ties": "longest", "draws": "document"}])
def test_ties_drawn_once_do_not_depend_on_the_place(options: dict[str, object]) -> None:
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


def test_random_ties_of_a_text_are_the_same_for_any_threads() -> None:
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


COVER_TEXTS = st.one_of(
    st.text("ab", max_size=200).map(str.encode),
    st.lists(st.sampled_from([0, 97, 98, 255]), max_size=90).map(bytes),
    st.binary(max_size=40),
)
COVER_NEW_TOKENS = st.lists(st.text("ab", min_size=2, max_size=7).map(str.encode), max_size=20, unique=True)


def cover_cut(tokens: tuple[bytes, ...], *texts: bytes) -> list[list[bytes]]:
    offsets = np.cumsum([0, *map(len, texts)])
    ids, bounds = cover(Vocabulary(tokens), Options()).segment(np.frombuffer(b"".join(texts), np.uint8), offsets)
    return [[tokens[index] for index in ids[start:end].tolist()] for start, end in pairwise(bounds.tolist())]


@settings(max_examples=200)
@given(st.lists(COVER_TEXTS, max_size=4), COVER_NEW_TOKENS)
def test_cover_twin(texts: list[bytes], new: list[bytes]) -> None:
    tokens = (*BYTES, *new)
    assert cover_cut(tokens, *texts) == [cover_twin(text, tokens) for text in texts]


@given(st.permutations([*BYTES, b"ab", b"ba", b"aba", b"bab"]), COVER_TEXTS)
def test_bytes_in_any_place(tokens: list[bytes], text: bytes) -> None:
    assert cover_cut(tuple(tokens), text) == [cover_twin(text, tokens)]


@given(
    st.dictionaries(st.text("ab", min_size=1, max_size=12).map(str.encode), st.integers(1, 5), max_size=6),
    st.integers(0, 12),
)
def test_training_counts_are_kept(counted: dict[bytes, int], wanted: int) -> None:
    """The tokens that GreedTok saves are those that the segmentation saves."""
    counts = PretokenCounts.from_pairs(counted.items())
    tokens = greedtok_build(counts, 256 + wanted, GreedTokOptions()).tokens
    pairs = list(counted.items())
    saved = sum(gain for _, gain in choose(pairs, substrings(pairs, 12), wanted, True))
    assert sum(len(cover_cut(tokens, word)[0]) * count for word, count in pairs) == counts.total_bytes - saved


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
    found = b"|".join(cover_cut(tokens, text.encode())[0])
    assert found.decode() == expected


def test_long_pretoken() -> None:
    text = bytes(np.random.default_rng(3).integers(97, 99, 3000, np.uint8))
    tokens = (*BYTES, *sorted(substrings([(text[:40], 1)], 12), key=lambda token: (token[::-1], token)))
    assert cover_cut(tokens, text) == [cover_twin(text, tokens)]


def test_rejections() -> None:
    forms = Vocabulary(BYTES * 2, continuation=np.repeat([False, True], 256))
    with pytest.raises(TokbenchError, match="segmentation 'cover': the vocabulary's tokens have continuation forms"):
        cover(forms, Options())
    with pytest.raises(ValueError, match="lacks one of the 256 bytes"):
        CoverSegmenter(Trie(*Vocabulary(BYTES).flat(), np.arange(256) > 0), np.ones(256))
