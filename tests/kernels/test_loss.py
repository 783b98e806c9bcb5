"""Lost bytes of a text are those of the plain definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.kernels.loss import bytes_lost
from tokbench.reference import loss

SHORT = st.lists(st.sampled_from([b"a", b"b", b"ab", b"c" * 9, b" "]), max_size=60).map(b"".join)


@given(SHORT, SHORT)
def test_bytes_of_repeating_texts_are_those_of_the_definition(text: bytes, decoded: bytes) -> None:
    assert bytes_lost(text, decoded) == loss.bytes_lost(text, decoded)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_bytes_of_random_texts_are_those_of_the_definition(text: bytes, decoded: bytes) -> None:
    assert bytes_lost(text, decoded) == loss.bytes_lost(text, decoded)


@given(st.binary(max_size=300), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90)), max_size=4))
def test_bytes_of_texts_with_gaps_are_those_of_the_definition(text: bytes, gaps: list[tuple[int, int]]) -> None:
    decoded = text
    for start, length in gaps:
        decoded = decoded[:start] + decoded[start + length :]
    assert bytes_lost(text, decoded) == loss.bytes_lost(text, decoded)


def test_bytes_of_words_that_are_spelled_otherwise_are_lost() -> None:
    text = b"The Cat sat on THE mat. " * 40
    assert bytes_lost(text, text.lower()) == 40 * 5
    assert bytes_lost(text, text) == 0
    assert bytes_lost(text, b"") == len(text)
    assert bytes_lost(b"", text) == 0


@pytest.mark.parametrize(
    ("text", "decoded", "most"),
    [
        (b"", b"", 0),
        (b"abc", b"abc", 0),
        (b"abc", b"", 3),
        (b"a  b and more words here", b"a b and more words here", 1),
        (b"An Apple fell down the stairs", b"an apple fell down the stairs", 2),
        (b"x" * 9000 + b"one" + b"y" * 9000, b"x" * 9000 + b"two!" + b"y" * 9000, 3),
        (b"abc", b"abcdef", 0),
    ],
)
def test_bytes_that_are_lost(text: bytes, decoded: bytes, most: int) -> None:
    assert bytes_lost(text, decoded) == most


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_no_more_is_lost_than_there_is(text: bytes, decoded: bytes) -> None:
    assert 0 <= bytes_lost(text, decoded) <= len(text)
    assert bytes_lost(text, text) == 0
    assert (bytes_lost(text, decoded) == 0) <= (len(text) <= len(decoded))
