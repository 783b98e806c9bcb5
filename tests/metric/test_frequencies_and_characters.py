"""Zipf measures and UTF-8 integrity: examples by hand, and segmentations against definitions spelled out in Python."""

from collections.abc import Iterable
from math import log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.processes import Greedy, value, vocabulary
from tokbench.intrinsic.tokenizer import measure
from tokbench.metric.characters import LONGER, longer_characters
from tokbench.metric.measurement import Measurement
from tokbench.metric.spans import count_spans
from tokbench.metric.zipf import ZipfOptions, area, curve_measures, mean_rank, rank_curve, zipf
from tokbench.options import Options
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer.encoder import TokenSpans


def rows_of(name: str, tokens: list[bytes], pretokens: list[bytes], options: Any = None) -> list[Measurement]:
    counts = PretokenCounts.from_pairs((token, 1) for token in pretokens)
    return measure(Greedy(vocabulary(*tokens)), counts, families={name: options or Options()})


def test_zipf_by_hand() -> None:
    """A power law of exponent 1 has slope -1, no deviation, and the area of a triangle cut at its last rank."""
    frequencies = np.array([12, 0, 6, 4, 3], np.int64)
    x, y = rank_curve(frequencies, 6.0)
    assert x.tolist() == pytest.approx([0, log(2), log(3), log(4)])
    area, slope, deviation = curve_measures(x, y)
    assert (slope, deviation) == (pytest.approx(-1), pytest.approx(0, abs=1e-12))
    assert area == pytest.approx(log(12) * log(4) - log(4) ** 2 / 2)
    assert mean_rank(frequencies) == pytest.approx((12 + 2 * 6 + 3 * 4 + 4 * 3) / 25)
    assert len(rank_curve(np.ones(1000, np.int64), 6.0)[0]) == 403
    assert len(rank_curve(frequencies, log(2) + 1e-9)[0]) == 2


def zipf_measures(frequencies: Iterable[int], log_rank: float = 6.0) -> tuple[int, float, float]:
    """Tokens in use, and slope and mean absolute deviation of ln(frequency) over ln(rank), in plain Python."""
    used = sorted((number for number in frequencies if number), reverse=True)
    points = [(log(rank), log(number)) for rank, number in enumerate(used, 1) if log(rank) <= log_rank]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    deviations = [abs(y - mean_y - slope * (x - mean_x)) for x, y in points]
    return len(used), slope, sum(deviations) / len(deviations)


@given(st.lists(st.integers(0, 50), min_size=3, max_size=30).filter(lambda values: sum(map(bool, values)) > 1))
@settings(max_examples=40, deadline=None)
def test_zipf_agrees_with_its_twin(frequencies: list[int]) -> None:
    x, y = rank_curve(np.array(frequencies, np.int64), 2.0)
    types, slope, deviation = zipf_measures(frequencies, 2.0)
    assert types == sum(map(bool, frequencies))
    assert curve_measures(x, y)[1:] == (pytest.approx(slope, abs=1e-9), pytest.approx(deviation, abs=1e-9))


def test_zipf_of_texts_and_of_ids() -> None:
    rows = rows_of("zipf", [b"ab"], [b"ab", b"ab", b"a", b"b", b"ab"], ZipfOptions())
    assert value(rows, "zipf_cardinality") == 3
    assert value(rows, "type_token_ratio") == 3 / 5
    assert value(rows, "mean_token_rank") == (3 * 1 + 2 + 3) / 5
    assert (value(rows, "zipf_slope") or 0) < 0
    few = rows_of("zipf", [], [b"aa"], ZipfOptions())
    assert [value(few, name) for name in ("zipf_cardinality", "zipf_slope", "zipf_area")] == [1, None, None]
    assert {row.reason for row in few if row.value is None} == {"the text uses fewer than two tokens"}
    empty: Any = SimpleNamespace(frequencies=np.zeros(5, np.int64), total=0)
    none = zipf(empty, ZipfOptions())
    assert [row.value for row in none] == [0.0, None, None, None, None, None]
    encoded: Any = SimpleNamespace(frequencies=np.array([3, 0, 1, 1], np.int64), total=5)
    assert [row.value for row in zipf(encoded, ZipfOptions())] == pytest.approx([row.value for row in rows])


NAMES = ("split_characters", "split_characters_per_thousand", "tokens_crossing_characters")


def test_characters_by_hand() -> None:
    """The two examples of the definitions: C3|A9 E4|BD A0, and E4|BD|A0 with E5 A5 BD in one token."""
    rows = rows_of("utf8", [b"\xa9\xe4", b"\xbd\xa0"], ["\u00e9\u4f60".encode()])
    assert value(rows, "tokens_crossing_characters") == 1 / 3
    assert value(rows, "split_characters", "several") == 1
    rows = rows_of("utf8", ["\u597d".encode()], ["\u4f60\u597d".encode()])
    assert [value(rows, "split_characters", part) for part in ("several", "2 bytes", "3 bytes", "4 bytes")] == [
        1 / 2,
        None,
        1 / 2,
        None,
    ]
    assert value(rows, "split_characters_per_thousand") == 1000 / 4
    assert value(rows, "tokens_crossing_characters") == 0
    rows = rows_of("utf8", [b"caf"], ["caf\u00e9".encode()])
    assert value(rows, "split_characters", "2 bytes") == 1
    assert [value(rows_of("utf8", [], [b"plain"]), name) for name in NAMES[1:]] == [0, 0]
    assert value(rows_of("utf8", [], [b"plain"]), "split_characters", "several") is None


@given(st.binary(max_size=12))
@settings(max_examples=200)
def test_characters_of_bytes(data: bytes) -> None:
    """Every valid text has its characters; no match is one that Python does not decode."""
    for match in LONGER.finditer(data):
        assert len(match.group().decode()) == 1
    text = data.decode("utf-8", "ignore")
    assert [match.group().decode() for match in LONGER.finditer(text.encode())] == [one for one in text if one > "\x7f"]


@given(st.lists(st.one_of(st.text(max_size=4).map(str.encode), st.binary(max_size=3)), min_size=1, max_size=5))
@settings(max_examples=100)
def test_characters_of_pretokens(pretokens: list[bytes]) -> None:
    """Both ways of reading them find the characters of each pre-token."""
    offsets = np.cumsum([0, *map(len, pretokens)])
    expected = [
        (start + match.start(), start + match.end())
        for start, pretoken in zip(offsets.tolist(), pretokens, strict=False)
        for match in LONGER.finditer(pretoken)
    ]
    data = b"".join(pretokens)
    assert [tuple(span) for span in longer_characters(data, offsets).tolist()] == expected
    more = longer_characters(data + b"\xff", np.append(offsets, len(data) + 1))
    assert [tuple(span) for span in more.tolist()] == expected


PARTS = st.sampled_from(["a", "\u00e9", "\u4e2d", "\U0001f642"])
TOKENS = st.lists(st.lists(PARTS, min_size=1, max_size=3).map(lambda parts: "".join(parts).encode()), max_size=4)


@given(
    TOKENS, st.lists(st.lists(PARTS, min_size=1, max_size=4).map("".join), min_size=1, max_size=4), st.integers(0, 2)
)
@settings(max_examples=60, deadline=None)
def test_characters_agree_with_the_text_spelled_out(tokens: list[bytes], pretokens: list[str], cut: int) -> None:
    """Tokens are cut somewhere, so that some of them begin or end within a character."""
    tokenizer = Greedy(vocabulary(*{token[cut:] for token in tokens if len(token) > cut + 1}))
    counts = PretokenCounts.from_pairs((token.encode(), 2) for token in pretokens)
    rows = measure(tokenizer, counts, families={"utf8": Options()})
    split = every = crossing = total = 0
    for pretoken, number in counts.items():
        place, spans = 0, []
        before = split, every, crossing
        for token in tokenizer.tokens(pretoken):
            spans.append((place, place := place + len(tokenizer.vocabulary.tokens[token])))
        place, characters = 0, []
        for character in pretoken.decode():
            characters.append((place, place := place + len(character.encode())))
        for start, end in characters:
            if end - start > 1:
                every += number
                split += number * (sum(a < end and start < b for a, b in spans) > 1)
        for a, b in spans:
            touched = [(start, end) for start, end in characters if start < b and a < end]
            incomplete = any(start < a or b < end for start, end in touched)
            crossing += number * (b - a > 1 and len(touched) > 1 and incomplete)
            total += number
        ids = np.zeros(len(spans), np.int32)
        encoded = TokenSpans(ids, np.array(spans, np.int64), np.ones(len(ids), np.bool_))
        found = count_spans(pretoken, encoded, pretokenization_of("gpt2"))
        sums = found.split_2 + found.split_3 + found.split_4, found.longer_2 + found.longer_3 + found.longer_4
        added = [(new - old) / number for new, old in zip((split, every, crossing), before, strict=True)]
        assert [*sums, found.crossing] == added
    assert value(rows, "split_characters", "several") == (split / every if every else None)
    assert value(rows, "tokens_crossing_characters") == crossing / total


@given(st.lists(st.tuples(st.floats(0.01, 9), st.floats(-9, 9)), min_size=2, max_size=12))
def test_area_is_that_of_scipy(points: list[tuple[float, float]]) -> None:
    simpson = pytest.importorskip("scipy.integrate").simpson
    x, y = np.cumsum([step for step, _ in points]), np.array([value for _, value in points])
    assert area(x, y) == pytest.approx(simpson(y=y, x=x), rel=1e-9, abs=1e-9)
