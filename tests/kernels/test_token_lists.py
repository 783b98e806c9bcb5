"""Lists of tokens: files of a vocabulary are parsed as Python would parse them, and merges are validated."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.texts import PAIRS, by_merges
from tokbench.kernels.token_lists import (
    flat_tokens,
    joined_bytes,
    parse_ids,
    parse_merges,
    parse_tokens,
    wrong_merge,
)
from tokbench.vocabulary import BYTES

LINES = st.text("0af9AF \tx\n\r\x0b\x1c", max_size=12)


@given(LINES)
@example("61 62\r\n63\n\n")
@settings(max_examples=100)
def test_tokens_are_those_of_fromhex(text: str) -> None:
    """A tab separates columns, so it is rejected."""
    lines = text.splitlines()
    try:
        expected: list[bytes] | None = [bytes.fromhex(line) for line in lines] if "\t" not in text else None
    except ValueError:
        expected = None
    if expected is not None:
        assert parse_tokens(text.encode()) == expected
    else:
        with pytest.raises(ValueError, match=r"^\d+$"):
            parse_tokens(text.encode())


def test_the_first_invalid_line_is_named() -> None:
    for text, line in ((b"61\n6g\n6h\n", "2"), (b"616\n", "1"), (b"61\n6", "2"), (b"\n\n-", "3")):
        with pytest.raises(ValueError, match=f"^{line}$"):
            parse_tokens(text)


@given(st.lists(st.integers(0, 10**6)))
@settings(max_examples=50)
def test_ids_are_decimals(numbers: list[int]) -> None:
    text = "".join(f"{number}\n" for number in numbers).encode()
    assert parse_ids(text, 10**6).tolist() == numbers
    assert parse_ids(text.removesuffix(b"\n"), 10**6).tolist() == numbers


@pytest.mark.parametrize("line", [b"", b"-1", b"+1", b"01", b" 1", b"1 ", b"1001", b"99999999999999999999", b"1\r"])
def test_other_numbers_are_rejected(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^2$"):
        parse_ids(b"0\n" + line + b"\n5\n", 1000)


@given(PAIRS)
@settings(max_examples=50)
def test_merges_are_found_by_their_bytes(pairs: list[tuple[int, int]]) -> None:
    vocabulary = by_merges(pairs)
    assert vocabulary.merges is not None
    tokens = vocabulary.tokens
    data, offsets = flat_tokens(tokens)
    assert data.tobytes() == b"".join(tokens)
    assert np.diff(offsets).tolist() == [*map(len, tokens)]
    lines = (f"{tokens[left].hex()}\t{tokens[right].hex()}\n" for left, right, _ in vocabulary.merges.tolist())
    assert np.array_equal(parse_merges("".join(lines).encode(), data, offsets), vocabulary.merges)
    assert wrong_merge(vocabulary.merges, data, offsets) is None
    followed = {(a, b) for token in tokens for a, b in pairwise(token)}
    assert {divmod(place, 256) for place in np.flatnonzero(joined_bytes(data, offsets)).tolist()} == followed


@pytest.mark.parametrize("line", ["61", "61\t62\t63", "61\t64", "6\t62", "61\t6", "\t62", "61\t", "61\t62\r"])
def test_other_merges_are_rejected(line: str) -> None:
    data, offsets = flat_tokens((*BYTES, b"ab"))
    with pytest.raises(ValueError, match=r"^2$"):
        parse_merges(f"61\t62\n{line}\n61\t62\n".encode(), data, offsets)


def test_wrong_merges_are_found() -> None:
    data, offsets = flat_tokens((*BYTES, b"ab", b"abc"))
    rows = np.array([[97, 98, 256], [256, 99, 257]], np.int32)
    for column, index in ((0, -1), (1, 258), (2, 1 << 30)):
        wrong = rows.copy()
        wrong[1, column] = index
        assert wrong_merge(wrong, data, offsets) == (1, True)
    for row in ([97, 98, 257], [256, 98, 257], [98, 97, 256], [97, 97, 256]):
        assert wrong_merge(np.array([rows[0], row], np.int32), data, offsets) == (1, False)
