"""Stable orders, sums without rounding and slices: kernels against their twins, and whatever the threads."""

import math
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench import slices
from tokbench.kernels import order, sums
from tokbench.kernels.slices import cut
from tokbench.parallel import over_ranges
from tokbench.reference import order as twin
from tokbench.reference import sums as exact
from tokbench.slices import byte_order, gather
from tokbench.tallies import tallied

NUMBERS = st.lists(st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, math.inf]), max_size=40)
WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)
STRINGS = st.lists(st.binary(max_size=20) | st.text("ab\0", max_size=20).map(str.encode), max_size=30)


def flat(strings: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(strings), np.uint8), np.cumsum([0, *map(len, strings)]).astype(np.int64)


@given(NUMBERS)
def test_descending(values: list[float]) -> None:
    assert order.descending(np.array(values, np.float64)).tolist() == twin.descending(values)


@given(st.lists(st.tuples(WHOLE, WHOLE), max_size=40))
def test_ascending(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    assert order.ascending(first, second).tolist() == twin.ascending(first.tolist(), second.tolist())


def test_numbers_that_differ_in_every_digit() -> None:
    generator = np.random.default_rng(2)
    first = generator.integers(-(2**63), 2**63 - 1, 5000)
    assert order.ascending(first, first).tolist() == np.argsort(first, kind="stable").tolist()
    values = generator.normal(size=5000).round(1)
    assert order.descending(values).tolist() == np.argsort(-values, kind="stable").tolist()


@given(STRINGS, st.integers(1, 3))
def test_byte_order(strings: list[bytes], threads: int) -> None:
    places = list(range(len(strings)))
    assert order.by_bytes(*flat(strings), np.array(places[::2], np.int64)).tolist() == twin.by_bytes(
        strings, places[::2]
    )
    assert byte_order(*flat(strings), threads).tolist() == twin.by_bytes(strings, places)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40))
def test_sums(values: list[float]) -> None:
    whole = sums.whole_sum(np.array(values, np.float64))
    assert whole == exact.whole_sum(values)
    with suppress(OverflowError):  # Python's own sum gives up where a part of it is too large, whatever the whole.
        assert math.fsum(values) == whole / 2**1074


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_sums_of_what_is_not_finite(value: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        sums.whole_sum(np.array([1.0, value]))


@given(STRINGS, st.data(), st.integers(1, 3))
def test_slices(strings: list[bytes], data: st.DataObject, threads: int) -> None:
    text = b"".join(strings)
    ends = data.draw(st.lists(st.tuples(*[st.integers(0, len(text))] * 2).map(sorted), max_size=10))
    starts, lengths = (
        np.array([value(edge) for edge in ends], np.int64) for value in (min, lambda edge: edge[1] - edge[0])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.parallel.RANGE_ITEMS", 3)
        laid, offsets = gather(np.frombuffer(text, np.uint8), starts, lengths, threads)
    assert [laid.tobytes()[a:b] for a, b in pairwise(offsets.tolist())] == [text[a:b] for a, b in ends]
    full = lengths > 0
    assert cut(np.frombuffer(text, np.uint8), starts[full], (starts + lengths)[full]) == [
        text[a:b] for a, b in ends if a < b
    ]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5)), max_size=20), st.integers(1, 3))
def test_repeated(slices_of: list[tuple[int, int]], threads: int) -> None:
    values, lengths = np.array(slices_of, np.int32).reshape(-1, 2).T.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.parallel.RANGE_ITEMS", 3)
        found = slices.repeated(values, np.append(0, lengths.cumsum(dtype=np.int64)), threads)
    assert found.tolist() == [value for value, length in slices_of for _ in range(length)]


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 9000, 1 << 17])
def test_ranges_hold_each_item_once(size: int) -> None:
    ranges = over_ranges(lambda first, last: (first, last), size, 2)
    assert [item for first, last in ranges for item in range(first, last)] == list(range(size))
    assert ranges == over_ranges(lambda first, last: (first, last), size, 1)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_tallies(threads: int) -> None:
    def add(item: int, tally: np.ndarray) -> None:
        tally[item % 3] += item

    assert tallied(add, range(1000), (3,), threads).tolist() == [sum(range(1000)[rest::3]) for rest in range(3)]
    assert tallied(add, [], (3,), threads).tolist() == [0, 0, 0]


def test_many_strings_in_byte_order() -> None:
    generator = np.random.default_rng(3)
    strings = [generator.integers(97, 101, generator.integers(1, 33), np.uint8).tobytes() for _ in range(4000)]
    assert slices.PARTS > 1
    assert [byte_order(*flat(strings), threads).tolist() for threads in (1, 2, 7)] == [
        twin.by_bytes(strings, range(len(strings)))
    ] * 3
