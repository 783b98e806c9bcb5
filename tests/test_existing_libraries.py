"""Tokenizers that do what our phases do not: they work through their own libraries, with the ids of these."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ODD
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import TEXT, few, level, library_ids, read, why  # noqa: F401
from tokbench.adapters.adapted import AdaptedTokenizer
from tokbench.adapters.loss import loss_of
from tokbench.tokenizer import Tokenizer


def test_unigram_whose_unknown_token_is_text_goes_to_the_library(tmp_path: Path) -> None:
    """The library makes one of several unknown ones that follow each other, whatever they spell."""
    values = made.byte_unigram()
    spelt = [token for token, _ in values["model"]["vocab"]]
    values["model"]["unk_id"] = spelt.index("e")
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer).startswith("its unknown token spells bytes")
    for text in (TEXT, "eee e", *made.TEXTS):
        assert tokenizer.encode(text).tolist() == library_ids(values, text)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"normalizer": {"type": "NFKC"}}, "it normalises texts (NFKC)"),
        ({"normalizer": {"type": "Sequence", "normalizers": []}}, ""),
        (
            {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}},
            "it puts a space before",
        ),
        ({"pre_tokenizer": None}, "it does not work on bytes"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "it does not work on bytes"),
    ],
)
def test_what_our_phases_do_not_do_goes_to_the_library(
    change: dict[str, Any], reason: str, level: dict[str, Any], tmp_path: Path
) -> None:
    values = level | change
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert isinstance(tokenizer, AdaptedTokenizer) == bool(reason)
    assert why(tokenizer).startswith(reason or "ids equal")
    assert tokenizer.encode(TEXT).tolist() == library_ids(values, TEXT)


def test_splits_that_drop_or_join_go_to_the_library(level: dict[str, Any], tmp_path: Path) -> None:
    for behavior in ("Removed", "MergedWithPrevious", "Contiguous"):
        last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        values = level | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [made.split(r"\s", behavior), last]}}
        tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
        assert why(tokenizer) == f"it cuts by Split with the behaviour {behavior}"
        assert tokenizer.encode(TEXT).tolist() == library_ids(values, TEXT)


def test_punctuation_of_an_older_table_goes_to_the_library(level: dict[str, Any], tmp_path: Path) -> None:
    """The table of ``Punctuation`` lacks characters that the library's regular expressions know."""
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    steps = [{"type": "Punctuation", "behavior": "Isolated"}, last]
    values = level | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer).startswith("tokenizers has other characters than we do in a set")
    assert tokenizer.encode(TEXT).tolist() == library_ids(values, TEXT)


def test_what_differs_goes_to_the_library(
    level: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever we believe of a file, ids decide; here the pattern is taken for another."""
    monkeypatch.setattr("tokbench.adapters.forms.byte_level.native_setting", lambda translations: "none")
    tokenizer = read(made.written(tmp_path / "tokenizer.json", level), "tokenizer_json")
    assert isinstance(tokenizer, AdaptedTokenizer)
    assert why(tokenizer).startswith("ids of ours differ from those of tokenizers on '")
    assert tokenizer.encode(TEXT).tolist() == library_ids(level, TEXT)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model_type": "bpe", "byte_fallback": True, "vocab_size": 500},
        {"normalization_rule_name": "identity", "user_defined_symbols": ["<tool>", "paying"]},
    ],
)
def test_sentencepiece(options: dict[str, Any], tmp_path: Path) -> None:
    import sentencepiece

    model = made.sentencepiece_model(**options)
    tokenizer = read(made.written(tmp_path / "a.model", model), "sentencepiece")
    assert isinstance(tokenizer, AdaptedTokenizer)
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    tokenizer.save(tmp_path / "saved")
    for one in (tokenizer, Tokenizer.load(tmp_path / "saved")):
        for text in (TEXT, " a  b", "<s> x </s>", *made.TEXTS):
            assert one.encode(text).tolist() == library.encode(text)
            assert one.count(text) == len(library.encode(text))
        assert one.id_limit == len(library)
        assert one.decode(one.encode("for x in range")) == b"for x in range"
        assert one.decode([1]) == b"<s>"
    marked = tokenizer.encode("a<tool>b paying").tolist()
    if "user_defined_symbols" in options:
        assert library.piece_to_id("<tool>") in library.encode("a<tool>b")
        assert library.piece_to_id("<tool>") not in marked
        assert library.piece_to_id("paying") in marked


def test_words_and_characters_of_bert_and_metaspace(tmp_path: Path) -> None:
    for number, values in enumerate((made.bert(), made.metaspace())):
        path = made.written(tmp_path / f"{number}.json", values)
        tokenizer = read(path, "tokenizer_json")
        assert isinstance(tokenizer, AdaptedTokenizer)
        for text in (TEXT, *made.TEXTS):
            assert tokenizer.encode(text).tolist() == library_ids(values, text)
        lost = loss_of(tokenizer, [TEXT.encode(), b"for x", ODD])
        assert lost.documents_changed
        assert lost.unknown_tokens
        assert lost.documents_not_utf8 == 1
        assert "document " in lost.first
