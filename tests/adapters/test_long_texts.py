"""Files that make texts long: the growth is computed before any text is encoded, and rejected in one line."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, normalizers

from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import level, read  # noqa: F401
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.libraries.charsmaps import check_charsmaps
from tokbench.tokenizer.libraries.growth import MAX_GROWTH, growth

SIGNS = "a\u00e9\u00bd\ufdfa\u4e2d \u0130\ufb01b\U0001f642x"


def replaced(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def steps(*inner: dict[str, Any], what: str = "normalizers") -> dict[str, Any]:
    return {"type": "Sequence", what: list(inner)}


@pytest.mark.parametrize(
    ("parts", "most"),
    [
        ([], 1),
        ([{"type": "NFKC"}], 18),
        ([{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, replaced(" {2,}", " ", "Regex")], 18),
        ([{"type": "Prepend", "prepend": "\u2581"}, replaced(" ", "\u2581")], 2),
        ([{"type": "BertNormalizer"}], 54),
        ([replaced("``", '"'), replaced("\u2026", "...")], 3),
        ([{"type": "NFKC"}, replaced("\u2026", "...")], 18),
        ([{"type": "NFKC"}, replaced("a", "\ufdfa")], 324),
        ([replaced("", "ab")], 3),
        ([replaced("a*", "ab", "Regex"), replaced("(a|b)+", "ab", "Regex"), replaced("(?=a)", "b", "Regex")], 12),
        ([{"type": "ByteLevel"}, {"type": "ByteLevel"}], 16),
        ([replaced("a", "a" * 10)] * 500, float("inf")),
    ],
)
def test_growth_of_steps(parts: list[dict[str, Any]], most: float) -> None:
    assert growth(parts) == most


def test_no_text_grows_more() -> None:
    """Over many sequences of steps. The library itself ends on some of them."""
    drawn = random.Random(3)

    def some(most: int) -> str:
        return "".join(drawn.choices(SIGNS, k=drawn.randint(0, most)))

    makers = [
        *(normalizers.NFKC, normalizers.NFD, normalizers.NFKD, normalizers.Lowercase, normalizers.BertNormalizer),
        normalizers.ByteLevel,
        lambda: normalizers.Prepend(drawn.choice(["x", "\u00bd\ufdfa"])),
        lambda: normalizers.Replace(some(2) or "a", some(4)),
        lambda: normalizers.Replace(Regex(drawn.choice(["a|b", "[^a]", "\u00e9", "[ab]+"])), some(3)),
    ]
    grown = 0
    for _ in range(3000):
        made_here = normalizers.Sequence([drawn.choice(makers)() for _ in range(drawn.randint(1, 4))])
        most = growth(json.loads(made_here.__getstate__())["normalizers"])
        if most > 2000:
            continue
        for text in (*SIGNS, "".join(drawn.choices(SIGNS, k=4))):
            length = len(made_here.normalize_str(text))
            assert length <= most * (len(text) + 1), (made_here.__getstate__(), text)
            grown += length > len(text)
    assert grown > 1000


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("normalizer", steps(*[replaced("a", "a" * 10)] * 8), "one character may become 400,000,000 (256"),
        ("normalizer", steps(*[steps(steps(replaced("a", "aaaaa")))] * 12), "normalizer and pre_tokenizer: one char"),
        (
            "pre_tokenizer",
            steps(*[made.byte_level()["pre_tokenizer"]] * 30, what="pretokenizers"),
            "normalizer and pre_tokenizer: one character may become over 10^12 (256 at most); remove",
        ),
        ("decoder", steps(*[replaced("a", "a" * 10)] * 3, what="decoders"), ": decoder: one character may become"),
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": None}, "normalizer of type Precompiled has no"),
        ("normalizer", {"type": "Precompiled"}, "normalizer of type Precompiled has no table"),
    ],
)  # fmt: skip
def test_files_that_make_texts_too_long(
    key: str, value: Any, message: str, level: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    path = made.written(tmp_path / "tokenizer.json", level | {key: value})
    for call in (("import", path, "--from", "tokenizer_json", "-o", tmp_path / "made"), ("check", path)):
        ended = tokbench(*call)
        assert ended.status == 2
        assert message in ended.message
        assert str(path) in ended.message
    assert not (tmp_path / "made").exists()


def test_steps_that_files_have_are_read(level: dict[str, Any], tmp_path: Path) -> None:
    value = steps({"type": "NFKC"}, {"type": "Lowercase"}, replaced(r"\s+", " ", "Regex"))
    tokenizer = read(made.written(tmp_path / "tokenizer.json", level | {"normalizer": value}), "tokenizer_json")
    tokenizer.save(tmp_path / "made")
    assert Tokenizer.load(tmp_path / "made").encode("A  B").tolist() == tokenizer.encode("a b").tolist()


@pytest.mark.parametrize("table", ["normalizer_spec", "denormalizer_spec"])
def test_tables_of_sentencepiece_that_make_texts_too_long(table: str, tmp_path: Path) -> None:
    sentencepiece_model_pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    rules = tmp_path / "rules.tsv"
    models = {}
    for length in (MAX_GROWTH, MAX_GROWTH + 1):
        rules.write_text(f"61\t{' '.join(['62'] * length)}\n")
        trained = made.sentencepiece_model(normalization_rule_tsv=str(rules))
        content = sentencepiece_model_pb2.ModelProto.FromString(trained).normalizer_spec.precompiled_charsmap
        model = sentencepiece_model_pb2.ModelProto.FromString(made.sentencepiece_model())
        getattr(model, table).precompiled_charsmap = content
        models[length] = made.written(tmp_path / f"{length}.model", model.SerializeToString())
    assert len(read(models[MAX_GROWTH], "sentencepiece")) > 256
    with pytest.raises(TokbenchError, match=r"its table of normalisations makes 257 characters of one, and 256 are"):
        read(models[MAX_GROWTH + 1], "sentencepiece")
    with pytest.raises(TokbenchError, match="not a model of SentencePiece"):
        read(made.written(tmp_path / "cut.model", models[MAX_GROWTH].read_bytes()[:-400]), "sentencepiece")


def test_tables_count_in_the_growth() -> None:
    sentencepiece_model_pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    trained = sentencepiece_model_pb2.ModelProto.FromString(made.sentencepiece_model())
    table = base64.b64encode(trained.normalizer_spec.precompiled_charsmap).decode()
    step = {"type": "Precompiled", "precompiled_charsmap": table}
    check_charsmaps(steps(step))
    assert growth([step]) == growth([{"type": "NFKD"}, step]) == 18
    assert growth([step] * 2) == 18 * 18


def test_an_unknown_token_that_makes_texts_too_long(tmp_path: Path) -> None:
    """Each character that the vocabulary lacks would become this name."""
    for length in (1022, 1023):
        name = f"<{'u' * length}>"
        values = json.loads(json.dumps(made.bert()).replace("[UNK]", name))
        path = made.written(tmp_path / "tokenizer.json", values)
        if length == 1022:
            assert read(path, "tokenizer_json").decode([0]) == name.encode()
            continue
        with pytest.raises(TokbenchError, match=r"the unknown token decodes to 1,025 bytes \(1,024 at most\); shorten"):
            read(path, "tokenizer_json")
    model = made.sentencepiece_model(unk_surface="u" * 1025)
    with pytest.raises(TokbenchError, match="the unknown token decodes to 1,025 bytes"):
        read(made.written(tmp_path / "a.model", model), "sentencepiece")
