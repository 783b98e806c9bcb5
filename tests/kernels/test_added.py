"""Kernels of external tokenizers: strings isolated before another scanner, added tokens, and merges of characters."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.texts import by
from tokbench.errors import TokbenchError
from tokbench.kernels.added import AddedScanner
from tokbench.kernels.characters import CharacterSegmenter
from tokbench.kernels.scan import Scanner, settled_after, settled_before
from tokbench.kernels.trie import Trie
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.added_tokens import _split_around
from tokbench.reference import segmentation as twin
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

RUNS = [*(" " * size for size in range(2, 25)), *("\t" * size for size in range(2, 10))]
STRINGS = {"runs": RUNS, "words": ["thes", "the", "  ", "\n"], "split": ["a the", "the ", "1'", "\u00e91"]}
PIECES = st.sampled_from([" ", "  ", "a", "the", "thes", "\t", "\n", "\u00e9", "1", "'s", " " * 30, "\u4e2d", "\t\t\t"])


def before(strings: list[str], rest: Any) -> Any:
    return pretokenization_of({"method": "added_tokens", "tokens": strings, "others": rest})


@pytest.mark.parametrize("rest", ["gpt2", "cl100k"])
@pytest.mark.parametrize("first", STRINGS)
@given(parts=st.lists(PIECES, max_size=40), times=st.sampled_from([1, 1, 1, 300]), place=st.integers(0, 100))
@settings(max_examples=40)
def test_strings_are_isolated_before_another_scanner(
    first: str, rest: str, parts: list[str], times: int, place: int
) -> None:
    """Long texts go over the window that is searched for a string."""
    scheme, inner = before(STRINGS[first], rest), pretokenization_of(rest)
    assert isinstance(scheme.scanner, AddedScanner)
    text = "".join(parts) * times
    expected = [0]
    for part in twin.isolated(STRINGS[first], text):
        ends = [len(part.encode())] if part in STRINGS[first] else inner.boundaries(part.encode())[1:].tolist()
        expected += [expected[-1] + end for end in ends] if len(ends) == 1 else (np.array(ends) + expected[-1]).tolist()
    data = text.encode()
    assert scheme.boundaries(data).tolist() == expected
    for found in (settled_before(scheme.scanner, data, place), settled_after(scheme.scanner, data, place)):
        assert found in (0, len(data)) or found in expected


@given(st.lists(PIECES.map(str.encode) | st.binary(max_size=3), max_size=12).map(b"".join))
def test_strings_are_isolated_in_any_bytes(text: bytes) -> None:
    for strings in (STRINGS["runs"], STRINGS["words"]):
        scheme = before(strings, "gpt2")
        assert scheme.boundaries(text).tolist() == twin.boundaries(scheme.splits, text)


def test_a_text_without_settled_places_is_searched_further() -> None:
    scheme = before(["  ", "the"], "gpt2")
    for text in ("a" * 20_000, "a" * 20_000 + "  b", ("b" * 5000 + "the") * 3):
        data = text.encode()
        pieces = [data[start:end].decode() for start, end in pairwise(scheme.boundaries(data).tolist())]
        assert pieces == twin.isolated(["  ", "the"], text)


@given(st.lists(PIECES.map(str.encode) | st.binary(max_size=3), max_size=12).map(b"".join))
def test_strings_are_isolated_before_functions(text: bytes) -> None:
    """A pre-tokenization without a scanner has the same boundaries as one with a scanner."""
    for strings in STRINGS.values():
        scheme = before(strings, "gpt2")
        searched = _split_around(tuple(strings), pretokenization_of("gpt2").boundaries)
        assert scheme.boundaries(text).tolist() == searched(text).tolist()
    assert before(["the"], by(r"(?<=a)b|[^b]+|b")).scanner is None


def test_strings_that_the_others_split_have_no_patterns() -> None:
    """No sequence of regular expressions keeps them whole."""
    assert before(["a b"], "gpt2").splits is None
    assert before(["  ", " a"], "gpt2").splits == (r"\ \ |\ a", *pretokenization_of("gpt2").splits)
    for strings in (["a", "a"], [""], []):
        with pytest.raises(TokbenchError, match=r"^pretokenization \(added_tokens\): tokens"):
            before(strings, "gpt2")
    with pytest.raises(TokbenchError, match="has added tokens itself; put all of them here"):
        before(["a"], {"method": "added_tokens", "tokens": ["b"], "others": "gpt2"})


def test_a_label_has_the_number_of_many_strings() -> None:
    assert before(["a", "b"], "gpt2").label == "gpt2 with added tokens a, b"
    many, others = (before([f"{letter}{number}" for number in range(99)], "gpt2").label for letter in "ab")
    assert many.startswith("gpt2 with added tokens 99 (")
    assert many != others


def test_added_tokens_are_not_split() -> None:
    tokens = (*BYTES, b"th", b"the", b"  ")
    merges = np.array([(116, 104, 256), (256, 101, 257)], np.int32)
    added = np.array([token == b"  " for token in tokens])
    vocabulary = Vocabulary(tokens, merges=merges, added=added)
    tokenizer = Tokenizer(vocabulary, before(["  "], "gpt2"), "merge")
    assert tokenizer.tokenize("the  the   a") == ["the", "  ", "the", "  ", " ", "a"]
    assert Tokenizer(Vocabulary(tokens, merges=merges), "gpt2", "merge").tokenize("   a") == [" ", " ", " ", "a"]
    assert twin.added(b"  ", {b"  "}, lambda text: [text[:1]]) == [b"  "]
    assert twin.added(b"a", {b"  "}, lambda text: [text]) == [b"a"]
    with pytest.raises(TokbenchError, match=r"flags of added tokens of shape \[3\] for 259 tokens; pass one for each"):
        Vocabulary(tokens, added=added[:3])


SIGNS = ["a", "b", " ", "\u00e9", "\u4e2d", "\U0001f642"]


@given(st.data())
@settings(max_examples=60)
def test_characters_are_merged_as_by_the_twin(data: st.DataObject) -> None:
    """Characters that are no tokens are bytes; scores may be equal; bytes that are not UTF-8 are kept."""
    known = [sign for sign in SIGNS if sign.isascii() or data.draw(st.booleans())]
    longer = data.draw(st.lists(st.text(known, min_size=2, max_size=5), min_size=1, max_size=20, unique=True))
    tokens = (*BYTES, *(sign.encode() for sign in known if not sign.isascii()), *map(str.encode, longer))
    scores = [0.0] * 256 + [-float(data.draw(st.integers(1, 5))) for _ in tokens[256:]]
    vocabulary = Vocabulary(tokens, scores=np.array(scores))
    text = data.draw(st.lists(st.sampled_from([*SIGNS, "x", "\n"]), max_size=150).map("".join)).encode()
    text += data.draw(st.sampled_from([b"", b"\xff", b"\xe4\xb8", b"\xed\xa0\x80", b"\xc0\x80\xf4\x90\x80\x80"]))
    tokenizer = Tokenizer(vocabulary, "none", "merge_scores")
    ids = tokenizer.encode(text)
    assert [tokens[one] for one in ids] == twin.merge_scores(text, dict(zip(tokens, scores, strict=True)))
    assert tokenizer.decode(ids) == text
    pairs = [(token[:size], token[size:]) for token in tokens[256:] for size in range(1, len(token))]
    pairs = [pair for pair in pairs if set(pair) <= set(tokens) and not any(map(twin.is_part, pair))]
    merges = data.draw(st.permutations(pairs))[: data.draw(st.integers(0, 30))]
    places = {token: place for place, token in enumerate(tokens)}
    rows = np.array([[places[one] for one in (*pair, b"".join(pair))] for pair in merges], np.int32).reshape(-1, 3)
    tokenizer = Tokenizer(Vocabulary(tokens, merges=rows), "none", "merge_characters")
    ranks: dict[tuple[bytes, bytes], float] = {}
    for rank, pair in enumerate(merges):
        ranks.setdefault(pair, rank)
    assert [tokens[one] for one in tokenizer.encode(text)] == twin.merge_characters(text, tokens, ranks)


def test_long_pieces_are_merged_as_short_ones() -> None:
    """Runs of one character over the length at which a heap is used; all pairs share a rank."""
    tokens = (*BYTES, *(b" " * size for size in (2, 3, 4, 5, 8)))
    scores = np.array([0.0] * 256 + [-1.0] * 5)
    tokenizer = Tokenizer(Vocabulary(tokens, scores=scores), "none", "merge_scores")
    of_tokens = dict(zip(tokens, scores.tolist(), strict=True))
    for size in (1, 7, 63, 64, 65, 150):
        assert [tokens[one] for one in tokenizer.encode(b" " * size)] == twin.merge_scores(b" " * size, of_tokens)


def test_wrong_arguments_are_rejected() -> None:
    trie = Trie(*Vocabulary(BYTES).flat())
    ids, joined = np.arange(256, dtype=np.int32), np.zeros(65536, np.uint8)
    pairs = np.array([[0, 1, 2]], np.int32)
    for ranks, told in (([], "ranks must have one entry"), ([-1], "ranks must have one entry")):
        with pytest.raises(ValueError, match=told):
            CharacterSegmenter(pairs, np.array(ranks, np.int32), trie, ids, joined)
    with pytest.raises(ValueError, match="byte_ids must have 256 entries"):
        CharacterSegmenter(pairs, np.zeros(1, np.int32), trie, ids[:3], joined)
    with pytest.raises(ValueError, match="joined must have 65536 entries"):
        AddedScanner(trie, joined[:3], Scanner())
    with pytest.raises(TokbenchError, match="segmentation 'merge_scores' needs scores"):
        Tokenizer(Vocabulary(BYTES), "none", "merge_scores")
