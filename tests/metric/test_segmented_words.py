"""Words of a segmenter: by hand, and against the reference in plain Python."""

import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metric.test_documents import Pieces
from tests.support.processes import value
from tokbench.errors import TokbenchError
from tokbench.metric.documents import Documents, TokenizedDocument
from tokbench.metric.measurement import Measurement
from tokbench.metric.segmented_words import (
    SegmentedWordOptions,
    WordCounts,
    segmented_words,
    segmenter_of,
    words_in,
)
from tokbench.reference.documents import tokens_of_spans
from tokbench.tokenizer.encoder import TokenSpans

TEXT = "我|爱北|京|天安门"


class Words(Pieces):
    """Documents in pieces, and single words in characters, except words that are known tokens."""

    def encode_spans(self, text: bytes) -> TokenSpans:
        if text in self.known:
            return super().encode_spans(text)
        size = 1 if text.decode() in ("我", "天安门") else len(text.decode())
        return TokenSpans(np.zeros(size, np.int32), np.zeros((size, 2), np.int64), np.ones(size, np.bool_))


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("cutter")
    package.of_chinese = lambda text: ["我", "爱", "北京", "天安门"]  # type: ignore[attr-defined]
    package.whole = lambda text: [text]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cutter", package)


def measured(*pieces: str, tags: tuple[str, ...] = ("", "", ""), **options: Any) -> list[tuple[str, Measurement]]:
    tokenizer = Words(pieces)
    texts = [*zip(tags, tokenizer.known, strict=False)]
    return segmented_words(Documents(tokenizer, lambda: texts), SegmentedWordOptions(**options))


@pytest.mark.usefixtures("named")
def test_words_by_a_named_function() -> None:
    rows = [row for _, row in measured(TEXT, segmenter="cutter:of_chinese")]
    assert value(rows, "segmented_word_fertility") == 5 / 4
    assert value(rows, "segmented_words_in_one_token") == 3 / 4
    assert value(rows, "single_token_retention") == 3 / 4  # All but the second of two characters.
    assert all("words by cutter:of_chinese" in row.definition for row in rows)


def test_words_by_icu() -> None:
    pytest.importorskip("icu", reason="needs the extra tokbench[icu]")
    segmenter = segmenter_of("icu")
    text = "我爱北京 😀 ภาษาไทย hello 日本語の"
    words = words_in(text, segmenter.segment, all_scripts=False)
    assert [text[start:end] for start, end in words] == ["我", "爱", "北京", "ภาษา", "ไทย", "日本語", "の"]
    every = words_in(text, segmenter.segment, all_scripts=True)
    assert "hello" in [text[start:end] for start, end in every]
    assert segmenter.label.startswith("ICU ")
    rows = [row for _, row in measured(TEXT)]
    assert value(rows, "segmented_word_fertility") == 5 / 4


def test_text_without_such_words_has_no_row() -> None:
    assert measured("hello| world") == []
    rows = measured("hello| wor|ld", segmenter="letters", all_scripts=True)
    assert value([row for _, row in rows], "segmented_word_fertility") == 3 / 2


@pytest.mark.usefixtures("named")
def test_languages_have_their_own_rows() -> None:
    rows = measured("你|好", "こんに|ちは", tags=("zho", "jpn"), segmenter="cutter:whole")
    fertilities = {language: row.value for language, row in rows if row.metric == "segmented_word_fertility"}
    assert fertilities == {"": 2, "jpn": 2, "zho": 2}


def test_runs_of_letters_need_blanks() -> None:
    """Latin words in a Chinese text are not its words. A text with one Chinese letter in 51 is no such text."""
    options: dict[str, Any] = {"segmenter": "letters", "all_scripts": True}
    rows = measured("我爱 A|PI 12", "हिन्दी| भाषा", "ภาษาไทย", tags=("zho", "hin", "tha"), **options)
    found = {language: row for language, row in rows if row.metric == "segmented_word_fertility"}
    assert {language: row.value for language, row in found.items()} == {"": None, "zho": None, "hin": 1, "tha": None}
    assert found["zho"].reason == (
        "at least 1 letter in 50 is of a script without blanks between words; name a segmenter of that script"
    )
    for letters, value_ in ((49, None), (50, 1)):
        ((_, row), *_) = measured("a" * letters + " 我", **options)
        assert row.value == value_
        assert row.n == (value_ or 0)


def test_missing_segmenters_are_reasons_or_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icu", None)
    rows = [row for _, row in measured(TEXT) if row.metric != "segmented_words_left_out"]
    assert {row.value for row in rows} == {None}
    assert all("pip install 'tokbench[icu]'" in str(row.reason) for row in rows)
    assert measured("hello| world") == []
    with pytest.raises(TokbenchError, match=r"icu: is not available .*tokbench\[icu\]"):
        measured(TEXT, segmenter="icu")
    with pytest.raises(TokbenchError, match="install the package 'no_such_package' or name another"):
        measured(TEXT, segmenter="no_such_package:cut")
    with pytest.raises(ValueError, match="no segmenter 'cut it'; name one of icu"):
        SegmentedWordOptions(segmenter="cut it")


@pytest.mark.parametrize(
    ("function", "seen"),
    [
        (lambda text: [5], "the function returned [5]; return the words of the text in order"),
        (lambda text: None, "the function returned None; return the words of the text in order"),
        (lambda text: text, "the function returned '我爱北京天安门'; return the words of the text in order"),
        (lambda text: {text}, "the function returned {'我爱北京天安门'}; return the words of the text in order"),
        (lambda text: 1 / 0, "the function raised ZeroDivisionError: division by zero; correct it"),
        (lambda text: sys.exit(0), "the function raised SystemExit: 0; correct it"),
        (3, "3 is not a function; name one"),
    ],
)
def test_mistakes_of_a_named_function_are_one_line(monkeypatch: pytest.MonkeyPatch, function: Any, seen: str) -> None:
    package = ModuleType("cutter")
    package.own = function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cutter", package)
    with pytest.raises(TokbenchError) as error:
        measured(TEXT, segmenter="cutter:own")
    assert str(error.value) == f"segmented_words.segmenter: cutter:own: {seen}"


def test_a_module_that_exits_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "exits_at_once.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TokbenchError, match="exits_at_once:own: the import raised SystemExit: 0; correct it"):
        measured(TEXT, segmenter="exits_at_once:own")


@settings(max_examples=40, deadline=None)
@given(st.text("我a é😀。", min_size=1, max_size=12), st.data())
def test_as_the_reference(text: str, data: st.DataObject) -> None:
    encoded = text.encode()
    inner = data.draw(st.sets(st.integers(0, len(encoded))))
    tokens = [encoded[start:end] for start, end in pairwise(sorted({0, *inner, len(encoded)}))]
    words = words_in(text, segmenter_of("letters").segment, all_scripts=True)
    ends = np.cumsum([0, *map(len, tokens)])
    document = TokenizedDocument("", encoded, np.zeros(len(tokens), np.int32), np.stack([ends[:-1], ends[1:]], axis=1))
    counts = WordCounts()
    if words:
        counts.add(document, text, words)
    spans = [(len(text[:start].encode()), len(text[:end].encode())) for start, end in words]
    expected = tokens_of_spans(tokens, spans)
    assert (counts.words, counts.tokens, counts.single) == (len(spans), sum(expected), expected.count(1))
