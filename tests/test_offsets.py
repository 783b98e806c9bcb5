"""Offsets: where tokens stand in the bytes and in the characters of a text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ODD, TOPICS
from tokbench.construction.bpe import BpeOptions, build
from tokbench.counting.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary


@pytest.fixture(scope="module")
def ours() -> Tokenizer:
    return Tokenizer(build(count_pretokens([*TOPICS, ODD], "gpt2"), 700, BpeOptions()), "gpt2", "merge")


def test_bytes(ours: Tokenizer) -> None:
    for text in (*TOPICS, ODD, b""):
        borders = ours.offsets(text)
        assert (borders.dtype, borders[0], borders[-1]) == ("int64", 0, len(text))
        pieces = [text[start:end] for start, end in pairwise(borders)]
        assert pieces == [ours.vocabulary.tokens[index] for index in ours.encode(text)]


def test_threads_give_the_same(ours: Tokenizer) -> None:
    text = b"".join(TOPICS) * 60
    assert len(text) > 1 << 20
    assert ours.offsets(text, threads=2).tolist() == ours.offsets(text).tolist()


def test_characters() -> None:
    """Tokens of single bytes, of a character's end with the next one's beginning, and of whole characters."""
    ours = Tokenizer(Vocabulary((*BYTES, "é".encode()[1:] + b"a", "東京".encode(), b"bc")), "none", "greedy")
    assert ours.character_offsets("é").tolist() == [[0, 1], [0, 1]]
    assert ours.character_offsets("xéa").tolist() == [[0, 1], [1, 2], [1, 3]]
    assert ours.character_offsets("東京bc🦀").tolist() == [[0, 2], [2, 4], *[[4, 5]] * 4]
    assert ours.character_offsets("abc").tolist() == [[0, 1], [1, 3]]
    assert ours.character_offsets("").tolist() == []
    assert ours.character_offsets("\udcff!").tolist() == [*[[0, 1]] * 3, [1, 2]]


@given(st.text(st.characters(exclude_categories=["Cs", "Cn"])))
def test_any_text_as_the_library_has_it(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ours = Tokenizer(Vocabulary((*BYTES, b"\xa9a", b"ab", b"\xe6\x9d", b"  ")), "gpt2", "greedy")
    from tokbench.adapters.tokenizer_json import to_hugging_face

    theirs = to_hugging_face(ours)
    assert isinstance(theirs, tokenizers.Tokenizer)
    assert [tuple(span) for span in ours.character_offsets(text).tolist()] == theirs.encode(text).offsets
