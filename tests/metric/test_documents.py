"""Metrics of documents: numbers, operators and sequences, by hand and against definitions spelled out in Python."""

import json
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tests.support.processes import value
from tokbench.errors import TokbenchError
from tokbench.metric.documents import Documents, TokenizedDocument
from tokbench.metric.keys import assign_keys
from tokbench.metric.measurement import Measurement
from tokbench.metric.numbers import (
    NumberOptions,
    count_splits,
    magnitude,
    numbers,
    split_entropy,
    three_digit_scores,
    tokens_by_length,
)
from tokbench.metric.operators import OperatorOptions, count_operators, operators
from tokbench.metric.sequences import (
    FollowerCounts,
    SequenceOptions,
    sequences,
    unweighted_entropy,
    weighted_entropy,
    window_types,
)
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import TokenSpans
from tokbench.vocabulary import BYTES, Vocabulary


def tokenized(pieces: str | Sequence[str]) -> TokenizedDocument:
    """A document whose tokens are separated by bars; equal tokens have equal ids."""
    tokens = [one.encode() for one in (pieces.split("|") if isinstance(pieces, str) else pieces)]
    ends = np.cumsum([0, *map(len, tokens)])
    names = {token: number for number, token in enumerate(sorted(set(tokens)))}
    ids = np.array([names[token] for token in tokens], np.int32)
    return TokenizedDocument("", b"".join(tokens), ids, np.stack([ends[:-1], ends[1:]], axis=1))


def placed(text: bytes, *spans: tuple[int, int]) -> TokenizedDocument:
    return TokenizedDocument("", text, np.zeros(len(spans), np.int32), np.array(spans, np.int64))


class EncodesDocuments(ABC):
    """A tokenizer that encodes documents."""

    @abstractmethod
    def encode_spans(self, text: bytes) -> TokenSpans: ...

    def count(self, text: bytes) -> int:
        return len(self.encode_spans(text).ids)


class Pieces(EncodesDocuments):
    """A tokenizer whose tokens end at bars, which are no part of the text."""

    def __init__(self, documents: Sequence[str]) -> None:
        self.known = {one.text: one for one in map(tokenized, documents)}

    def encode_spans(self, text: bytes) -> TokenSpans:
        one = self.known[text]
        return TokenSpans(one.ids, one.spans, np.ones(len(one.ids), np.bool_))


def rows_of(function: Any, options: Any, *documents: str) -> list[Measurement]:
    tokenizer = Pieces(documents)
    found: list[Measurement] = function(Documents(tokenizer, lambda: [("", text) for text in tokenizer.known]), options)
    return found


@pytest.mark.parametrize(
    ("pieces", "scores"),
    [
        ("1|234|567", (1, 1, 1)),
        ("1234|567", (1, 0.5, 2 / 3)),
        ("12|345|67", (0, 0, 0)),
        ("1234567", (1, 0, 0)),
        ("42", (1, 1, 1)),
        ("4|2", (0, 1, 0)),
    ],
)
def test_three_digit_splits(pieces: str, scores: tuple[float, ...]) -> None:
    splits, _ = count_splits([tokenized(pieces)])
    [(digits, cut, tokens)] = splits
    assert three_digit_scores(digits, cut) == pytest.approx(scores)
    assert (digits, tokens) == (len(pieces.replace("|", "")), pieces.count("|") + 1)
    rows = rows_of(numbers, NumberOptions(), f"a |{pieces}| b")
    assert value(rows, "three_digit_f1", "a number against") == pytest.approx(scores[2])


def test_entropy_and_agreement_of_splits() -> None:
    same = rows_of(numbers, NumberOptions(), "12|345| |67|890| |12|345")
    assert value(same, "digit_split_entropy", "more than 3") == 0
    assert value(same, "digit_split_entropy", "up to 3") is None
    rows = rows_of(numbers, NumberOptions(), "12|345| |1|2345| |123|45")
    assert value(rows, "digit_split_entropy", "more than 3") == pytest.approx(log2(3))
    assert value(rows, "digit_split_agreement", "split as most numbers") == 1 / 3
    assert split_entropy({(1,): 3, (2,): 1}) == pytest.approx(0.8113, abs=1e-4)


def test_numbers_by_their_digits() -> None:
    rows = rows_of(numbers, NumberOptions(), "12|345| |1|2345| |123|45| |1|2| |12| |7")
    assert value(rows, "digit_split_entropy", "numbers of 5 digits") == pytest.approx(log2(3))
    assert value(rows, "digit_split_agreement", "numbers of 5 digits") == 1 / 3
    assert value(rows, "digit_split_patterns", "numbers of 5 digits") == 3
    assert value(rows, "tokens_per_digit", "numbers of 5 digits") == 6 / 15
    assert value(rows, "digit_split_entropy", "numbers of 2 digits") == 1
    assert value(rows, "tokens_per_digit", "numbers of 1 digit ") == 1
    assert len({(row.metric, row.definition) for row in rows}) == len(rows)
    assert "digit_split_entropy_5_digits" in dict(assign_keys(rows))


def test_magnitude() -> None:
    found = magnitude([1, 2, 3, 4, 7], [1, 1, 1, 2, 3])
    expected = {"correlation": -0.616, "variation": 0.420, "slope": 0.368, "r2": 0.897}
    assert found == {name: pytest.approx(one, abs=5e-4) for name, one in expected.items()}
    document = "1| |12| |123| |123|4| |12|345|67"
    splits, _ = count_splits([tokenized(document)])
    assert tokens_by_length(splits) == ([1, 2, 3, 4, 7], [1, 1, 1, 2, 3])
    rows = rows_of(numbers, NumberOptions(), document)
    assert value(rows, "tokens_per_digit_slope") == pytest.approx(0.368, abs=5e-4)
    assert value(rows, "tokens_per_digit", "tokens with bytes of a number") == 8 / 17
    assert set(magnitude([3.0], [1.0]).values()) == {None}
    none = rows_of(numbers, NumberOptions(), "no| digit")
    assert {row.value for row in none if row.metric != "numbers_left_out"} == {None}


def test_digits_of_other_scripts() -> None:
    splits, _ = count_splits([tokenized("\u0663\u0664|\u0665 \u00b2 x|1")])
    assert set(splits) == {(3, (2,), 2), (1, (), 1)}
    splits, _ = count_splits([tokenized("\u0663\u0664|\u0665 \u00b2 x|1")], ascii_only=True)
    assert set(splits) == {(1, (), 1)}
    text = b"\xff12 \xd9\xa3"
    splits, _ = count_splits([placed(text, (0, 2), (2, 6))])
    assert set(splits) == {(2, (1,), 2)}


def test_text_without_tokens_is_excluded_from_document_metrics() -> None:
    """As for tokenizers that change a text: the second number and the second operator have bytes in no token."""
    document = placed(b"12+34-56", (0, 3), (4, 5), (6, 8))
    splits, left_out = count_splits([document])
    assert (set(splits), left_out) == ({(2, (), 1)}, 1)
    counts = count_operators([document])
    assert (counts.by_class.total(), counts.isolated.total(), counts.left_out) == (1, 0, 1)


@given(st.lists(st.text("0123a ", min_size=1, max_size=4), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_splits_agree_with_the_text_spelled_out(pieces: list[str]) -> None:
    splits, left_out = count_splits([tokenized(pieces)])
    text, owner = "".join(pieces), [number for number, piece in enumerate(pieces) for _ in piece]
    expected: Counter[tuple[int, tuple[int, ...], int]] = Counter()
    place = 0
    while place < len(text):
        end = place
        while end < len(text) and text[end].isdigit():
            end += 1
        if end > place:
            cut = tuple(k for k in range(1, end - place) if owner[place + k - 1] != owner[place + k])
            expected[end - place, cut, len({*owner[place:end]})] += 1
        place = end + 1
    assert (splits, left_out) == (expected, 0)


def test_operators_by_hand() -> None:
    rows = rows_of(operators, OperatorOptions(), "3|+|5|>=|8")
    assert [value(rows, "isolated_operators", "isolated operators"), value(rows, "preserved_operators")] == [1, 1]
    rows = rows_of(operators, OperatorOptions(), "3+|5|>|=|8")
    assert [value(rows, "isolated_operators", "isolated operators"), value(rows, "preserved_operators")] == [1 / 2, 0]
    assert value(rows, "isolated_operators", "isolated arithmetic") == 0
    assert value(rows, "isolated_operators", "isolated comparison") == 1
    assert value(rows, "isolated_operators", "isolated shift") is None
    rows = rows_of(operators, OperatorOptions(), "a| + |b\n|!|c")
    assert value(rows, "isolated_operators", "isolated operators") == 1
    assert value(rows, "preserved_operators") is None
    none = rows_of(operators, OperatorOptions(languages=("python",)), "a|+|b")
    assert value(none, "isolated_operators", "isolated operators") is None


OPERATORS = ("**", "//", "<<", ">>", "<=", ">=", "=>", "==", "!=", "&&", "||", "?:", *"+-*/=<>!&|^~%")


@given(st.lists(st.text("+*=<> a?:|&", min_size=1, max_size=3), min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_operators_agree_with_the_text_spelled_out(pieces: list[str]) -> None:
    counts = count_operators([tokenized(pieces)])
    text, owner = "".join(pieces), [number for number, piece in enumerate(pieces) for _ in piece]
    every = isolated = compound = preserved = place = 0
    while place < len(text):
        operator = next((one for one in OPERATORS if text.startswith(one, place)), None)
        if operator is None:
            place += 1
            continue
        owners = {*owner[place : place + len(operator)]}
        inside = range(place, place + len(operator))
        others = [text[at] for at in range(len(text)) if owner[at] in owners and at not in inside]
        every += 1
        isolated += all(other.isspace() for other in others)
        compound += len(operator) == 2
        preserved += len(operator) == 2 and len(owners) == 1
        place += len(operator)
    assert (counts.by_class.total(), counts.isolated.total()) == (every, isolated)
    assert (counts.compound, counts.preserved) == (compound, preserved)


def followers(order: int, *documents: Sequence[int]) -> FollowerCounts:
    counts = FollowerCounts(order)
    for ids in documents:
        counts.add(np.array(ids, np.int32))
    return counts


def test_bigram_entropy_by_hand() -> None:
    entropies, totals, distinct, every = followers(1, [1, 2, 1, 2, 1, 3], [1, 2, 3]).entropies(2)
    assert entropies.tolist() == pytest.approx([0.8113, 0.9183], abs=1e-4)
    assert (totals.tolist(), distinct.tolist(), every) == ([4, 3], [2, 2], 3)
    assert weighted_entropy(entropies, totals, distinct) == pytest.approx(0.8571, abs=1e-4)
    assert unweighted_entropy(entropies, every) == pytest.approx(0.5456, abs=1e-4)
    empty = followers(1, [], [5]).entropies(1)
    assert (weighted_entropy(*empty[:3]), unweighted_entropy(empty[0], empty[3])) == (None, None)


@given(st.lists(st.lists(st.integers(0, 4), max_size=12), max_size=4), st.sampled_from([1, 2]), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_followers_agree_with_a_count_of_each(documents: list[list[int]], order: int, least: int) -> None:
    found = followers(order, *documents).entropies(least)
    after: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for ids in documents:
        for place in range(order, len(ids)):
            after[tuple(ids[place - order : place])][ids[place]] += 1
    chosen = [after[context] for context in sorted(after) if after[context].total() >= least]
    assert found[1].tolist() == [one.total() for one in chosen]
    assert found[2].tolist() == [len(one) for one in chosen]
    expected = [-sum(n / one.total() * log2(n / one.total()) for n in one.values()) for one in chosen]
    assert found[0].tolist() == pytest.approx(expected, abs=1e-9)
    assert found[3] == len({token for one in after.values() for token in one})


def test_merges_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [1, 2, 1, 2, 1, 3, 2, 2, 1]
    whole = followers(1, ids, ids).entropies(1)
    monkeypatch.setattr("tokbench.metric.sequences.AT_ONCE", 3)
    parts = followers(1, ids, ids).entropies(1)
    assert [np.asarray(one).tolist() for one in whole] == [np.asarray(part).tolist() for part in parts]


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(2, 6))
def test_moving_windows(ids: list[int], window: int) -> None:
    windows = [ids[start : start + window] for start in range(len(ids) - window + 1)]
    assert window_types(np.array(ids, np.int32), window) == (sum(len({*one}) for one in windows), len(windows))


def test_sequences() -> None:
    rows = rows_of(sequences, SequenceOptions(window=2), "a|b|a|b|a|c", "a|b|c")
    assert value(rows, "bigram_entropy", "weighted") == pytest.approx(0.8571, abs=1e-4)
    assert value(rows, "bigram_entropy", "of the text") == pytest.approx(0.5456, abs=1e-4)
    assert value(rows, "moving_type_token_ratio") == 1
    short = rows_of(sequences, SequenceOptions(), "a|b")
    assert [row.value for row in short] == [None] * 4
    assert short[-1].reason == "no document has 500 tokens"


def test_measure_has_metrics_of_documents(tmp_path: Path, tokbench: Tokbench) -> None:
    """From texts in Python and from documents on the command line; counts have none."""
    import tokbench as package

    texts = ["1234 + 5 == 1239\n", "x = 12 ** 3\n"]
    counts = package.count(texts)
    tokenizer = package.build("bpe", counts, 262)
    rows = package.measure(tokenizer, texts, numbers={"ascii_only": True})
    values = dict(rows.select("key", "value").iter_rows())
    assert [key for key in values if key.endswith("_2")] == ["renyi_efficiency_2"]  # Its order, not a number.
    names = {"three_digit_f1", "three_digit_f1_4_digits", "isolated_operators_arithmetic", "bigram_entropy_of_text"}
    assert names <= values.keys()
    assert values["three_digit_f1_4_digits"] is not None
    assert "three_digit_f1" not in package.measure(tokenizer, counts)["key"].to_list()
    with pytest.raises(TokbenchError, match="numbers: a metric of documents; pass texts, not counts"):
        package.measure(tokenizer, counts, numbers={"ascii_only": True})
    tokenizer.save(tmp_path / "saved")
    (tmp_path / "a.txt").write_text("".join(texts))
    line = tokbench("measure", tmp_path / "saved", "--documents", tmp_path / "a.txt")
    measured = {row["definition"]: row["value"] for row in json.loads(line.stdout)["measurements"]}
    assert measured["isolated operators / operators"] == values["isolated_operators"]
    document = ("--documents", tmp_path / "a.txt")
    rows = json.loads(tokbench("measure", tmp_path / "saved", *document, "--only-documents").stdout)["measurements"]
    assert {row["definition"]: row["value"] for row in rows}.items() <= measured.items()
    assert not {"corpus_token_count", "zipf_area"} & {row["metric"] for row in rows}
    told = tokbench("measure", tmp_path / "saved", *document, "--only-documents", "--baseline", tmp_path / "saved")
    lengths = [row["value"] for row in json.loads(told.stdout)["measurements"] if row["metric"].startswith("norm")]
    assert lengths == [1, None, None, 1, None, None]  # One document has no interval.
    refused = tokbench("measure", tmp_path / "saved", *document, "--only-documents", "--only-counts")
    assert "--only-documents needs --documents" in refused.stderr


def test_tokenizers_without_places() -> None:
    """A function that returns ids has sequences; places of tokens are not known."""
    import tokbench as package

    rows = package.measure(package.wrap(lambda text: [*text.encode()], name="bytes"), ["12 + 3 " * 90])
    values = dict(rows.select("metric", "value").iter_rows())
    assert values["moving_type_token_ratio"] is not None
    assert values["isolated_operators"] is None
    assert rows.filter(metric="isolated_operators")["reason"].null_count() == 0
    assert values["numbers_left_out"] == 180


def test_ids_too_large_for_a_trigram() -> None:
    """Ids of 2^21 or more are counted after one token, and not after two."""

    class Large(EncodesDocuments):
        def encode_spans(self, text: bytes) -> TokenSpans:
            ids = np.array([1 << 21, 1, 1 << 21, 2, 1 << 21, 1], np.int32)
            return TokenSpans(ids, np.array([[place, place + 1] for place in range(6)]), np.ones(6, np.bool_))

    rows = sequences(Documents(Large(), lambda: [("", b"abcdef")]), SequenceOptions(least=2))
    values = {row.metric: (row.value, row.reason) for row in rows}
    assert values["trigram_entropy"] == (None, "ids of 2^21 or more cannot be counted after two tokens")
    assert rows[0].value == pytest.approx(0.9182958)


def test_small_texts_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer(Vocabulary(BYTES), "space", "greedy")
    encoded = []

    class Watched(EncodesDocuments):
        def encode_spans(self, text: bytes) -> TokenSpans:
            encoded.append(text)
            return tokenizer.encode_spans(text)

    documents = Documents(Watched(), lambda: [("", b"ab"), ("", b"cd")])
    assert [[document.text for document in documents] for _ in range(2)] == [[b"ab", b"cd"]] * 2
    assert encoded == [b"ab", b"cd"]
    monkeypatch.setattr("tokbench.metric.documents.CACHED", 3)
    larger = Documents(Watched(), lambda: [("", b"ab"), ("", b"cd"), ("", b"e")])
    assert [[one.text for one in larger] for _ in range(2)] == [[b"ab", b"cd", b"e"]] * 2
    assert encoded[2:] == [b"ab", b"cd", b"e"] * 2
