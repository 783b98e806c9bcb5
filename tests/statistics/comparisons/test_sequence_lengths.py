"""Normalised sequence length, by hand and against the reference in plain Python."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.metric.measurement import Measurement
from tokbench.reference.documents import normalised_length
from tokbench.statistics.comparisons.sequence_lengths import normalised_lengths


def values(rows: list[Measurement]) -> list[float | None]:
    return [row.value for row in rows]


def test_of_the_text_and_over_documents() -> None:
    rows = normalised_lengths([10, 30, 4], [20, 30, 4], "bpe")
    of_text, low, high, mean, mean_low, mean_high = values(rows)
    assert of_text == pytest.approx(44 / 54)
    assert mean == pytest.approx((0.5 + 1 + 1) / 3)
    assert low is not None
    assert high is not None
    assert mean_low is not None
    assert mean_high is not None
    assert low < of_text < high
    half = 4.302652729911275 * (1 / 12) ** 0.5 / 3**0.5  # Student's t of two degrees, standard deviation 0.2887.
    assert (mean_low, mean_high) == (pytest.approx(mean - half), pytest.approx(mean + half))
    assert [row.definition for row in rows[:2]] == [
        "tokens / tokens of bpe",
        "lower end of the 95 % interval over documents: tokens / tokens of bpe",
    ]
    assert len({(row.metric, row.definition) for row in rows}) == 6


def test_without_an_interval_or_tokens() -> None:
    one = normalised_lengths([3], [4], "bpe")
    assert values(one) == [0.75, None, None, 0.75, None, None]
    assert one[1].reason == "an interval needs two documents"
    none = normalised_lengths([0, 0], [0, 0], "bpe")
    assert {(row.value, row.reason) for row in none} == {(None, "the baseline has no tokens")}
    assert normalised_lengths([1, 2], [0, 2], "bpe")[3].n == 1


def test_copies_and_empty_documents_are_no_units() -> None:
    rows = normalised_lengths([3, 3, 0, 5], [4, 4, 0, 5], "bpe", [0, 0, 1, 2])
    assert rows[0].value == pytest.approx(11 / 13)
    assert rows[3].value == pytest.approx((0.75 + 1) / 2)
    assert {row.n for row in rows} == {2}
    copies = normalised_lengths([3] * 20 + [0] * 9, [4] * 20 + [0] * 9, "bpe", [0] * 20 + [1] * 9)
    assert values(copies) == [0.75, None, None, 0.75, None, None]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6))
def test_as_the_reference(pairs: list[tuple[int, int]]) -> None:
    tokens, of_baseline = map(list, zip(*pairs, strict=True))
    rows = normalised_lengths(tokens, of_baseline, "bpe")
    if any(of_baseline):
        of_text, mean = normalised_length(tokens, of_baseline)
        assert [rows[0].value, rows[3].value] == [pytest.approx(float(of_text)), pytest.approx(float(mean))]
