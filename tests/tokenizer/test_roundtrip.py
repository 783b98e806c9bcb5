"""The places at which a text and its decoded ids agree again are those of the plain definition."""

from hypothesis import given
from hypothesis import strategies as st

from tokbench.tokenizer import roundtrip
from tokbench.tokenizer.roundtrip import ANCHOR, WINDOW, bytes_lost

SHORT = st.lists(st.sampled_from([b"a", b"b", b"ab", b"c" * 9, b" "]), max_size=60).map(b"".join)


def steps_by_definition(text: bytes, i: int, decoded: bytes, j: int) -> tuple[int, int]:
    """Compare pair after pair, from the smallest sum of steps."""
    for total in range(1, 2 * WINDOW):
        equal = max(2, min(ANCHOR, (total + 1) // 2))
        for ahead in range(max(0, total - WINDOW), min(total, WINDOW) + 1):
            a, b = i + ahead, j + total - ahead
            anchor = text[a : a + equal]
            if anchor == decoded[b : b + equal] and (len(anchor) == equal or a + len(anchor) == len(text)):
                return ahead, total - ahead
    return 1, 1


@given(SHORT, SHORT, st.integers(0, 20), st.integers(0, 20))
def test_steps_are_those_of_the_definition(text: bytes, decoded: bytes, i: int, j: int) -> None:
    i, j = min(i, len(text)), min(j, len(decoded))
    assert roundtrip._steps_to_agreement(text, i, decoded, j) == steps_by_definition(text, i, decoded, j)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_steps_of_random_bytes_are_those_of_the_definition(text: bytes, decoded: bytes) -> None:
    assert roundtrip._steps_to_agreement(text, 0, decoded, 0) == steps_by_definition(text, 0, decoded, 0)


def test_bytes_of_words_that_are_spelled_otherwise_are_lost() -> None:
    text = b"The Cat sat on THE mat. " * 40
    assert bytes_lost(text, text.lower()) == 40 * 5
    assert bytes_lost(text, text) == 0
    assert bytes_lost(text, b"") == len(text)
