"""Measures of texts and their losses: those of Python and of the command are the same."""

import json
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tokbench as library
from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tokbench.tokenizer import Tokenizer

TEXTS = ["The cat sat on the Mat, 12 + 3 times", "a hat", "e\u0301te\u0301"]
"""The first has capitals, the last is not in Normalization Form C."""


def of_library(values: Any) -> Callable[[Path], Tokenizer]:
    def opened(folder: Path) -> Tokenizer:
        return library.load(made.written(folder / "tokenizer.json", values))

    return opened


def built(folder: Path) -> Tokenizer:
    return library.build("bpe", library.count(TEXTS), 270)


KINDS: dict[str, tuple[Callable[[Path], Tokenizer], int, str]] = {
    "built": (built, 0, "gpt2"),
    "lower": (of_library(made.byte_level(300) | {"normalizer": {"type": "Lowercase"}}), 1, "tokenizer's own"),
    "composed": (of_library(made.byte_level(300) | {"normalizer": {"type": "NFC"}}), 1, "gpt2"),
}
"""Tokenizers by kind, with the number of documents that they change and the label of their pre-tokenizer."""


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_the_command_have_the_same_measures_and_losses(
    tmp_path: Path, tokbench: Tokbench, kind: str
) -> None:
    make, changed, label = KINDS[kind]
    tokenizer = make(tmp_path)
    tokenizer.save(tmp_path / "saved")
    file = tmp_path / "text.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    printed = json.loads(tokbench("measure", tmp_path / "saved", "--documents", file).stdout)
    rows = library.measure(tokenizer, TEXTS)
    of_command = [(one["metric"], one["definition"], one["value"], one["n"]) for one in printed["measurements"]]
    assert sorted(rows.select("metric", "definition", "value", "n").rows(), key=str) == sorted(of_command, key=str)
    assert rows["documents_changed"].unique().to_list() == [changed]
    assert printed.get("loss", {"documents_changed": 0})["documents_changed"] == changed
    assert (printed["pretokenization"], printed["size"]) == (label, tokenizer.nominal_size)
    assert rows["pretokenization"].unique().to_list() == [label]
    assert rows["size"].unique().to_list() == [printed["size"]]
    bits = library.ngram_bits(tokenizer, TEXTS, TEXTS, order=1)
    told = json.loads(tokbench("ngram_bits", tmp_path / "saved", "--train", file, "--test", file, "--order", 1).stdout)
    lost = sum(document.get("bytes_lost", 0) for document in told["documents"])
    assert bool(lost) == bool(changed)
    assert bits["bytes_lost"].unique().to_list() == [lost]
    assert bits["bits_per_byte"].to_list() == [one["bits_per_byte"] for one in told["models"]]
    assert (told["pretokenization"], told["size"]) == (label, tokenizer.nominal_size)
    assert bits.select("pretokenization", "size").unique().rows() == [(label, tokenizer.nominal_size)]


def test_counts_lose_nothing() -> None:
    rows = library.measure(built(Path()), library.count(TEXTS))
    assert rows.select("documents_changed", "pretokenization", "size").unique().rows() == [(0, "gpt2", 270)]


def test_wrapped_function_reports_lost_bytes() -> None:
    words = library.wrap(lambda text: text.lower().split(" "), name="words")
    rows = library.measure(words, TEXTS)
    assert rows.select("documents_changed", "pretokenization", "size").unique().rows() == [(2, "words's own", None)]


@pytest.mark.parametrize("decode", [None, lambda ids: ""])
def test_a_tokenizer_that_gives_no_token_is_measured(decode: Any) -> None:
    """Every value that would divide by the number of tokens is missing, with a reason."""
    none = library.wrap(lambda text: [], decode, name="none", size=10)
    rows = library.measure(none, TEXTS, sequences={"window": 2})
    assert rows["documents_changed"].unique().to_list() == [3]
    assert rows.filter(key="bytes_per_token").select("value", "reason").row(0) == (None, "the text has no tokens")
    assert all(isfinite(value) for value in rows["value"].drop_nulls())
    assert rows.filter(pl.col("value").is_null(), pl.col("reason").is_null()).is_empty()
    shown = library.show([none, library.wrap(list, name="letters")], "a cat")
    assert "none: 0 tokens" in str(shown)
    assert "none" in shown._repr_html_()
    bits = library.ngram_bits(none, TEXTS, TEXTS, order=1)
    assert bits["bytes_lost"].unique().to_list() == [sum(len(text.encode()) for text in TEXTS)]
