"""Native tokenizers that normalise texts, cut out added tokens, or merge characters, with the ids of their library."""

import json
import time
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ODD
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import TEXT, few, level, read, why  # noqa: F401
from tests.support.texts import by
from tokbench import measure
from tokbench.adapters.exports import pretokens_to_compare
from tokbench.adapters.forms.character_bpe import CharacterTokens
from tokbench.adapters.loss import loss_of
from tokbench.errors import TokbenchError
from tokbench.metric.words import words_of
from tokbench.optimum.gap import gap_of
from tokbench.pretokenization import pretokenization_of
from tokbench.report.own_text import unsupported_reason
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer

SIGNS = [
    *"ab \n\t\u00e91!\x00\ufffd\u037e\u3000\x85\u200d\u200b\ufeff\u2028\u0378\ue000\u4e2d\uac00",
    *("e\u0301", "\u0301", "\u0327", "\u1100\u1161\u11a8", "\u212b", "\u0958", "\U0001d15e", "\u0344", "\u1161"),
    *("  ", "    ", " " * 30, "\n\n\n", "\t\t", "the", " pay", "'s", "12", "\u2581", "\u2581\u2581", "<s>", "<0x0A>"),
    *("<tool>", "</tool>", "<|a b|>", "pay the", "<b", "[1]", "\u0338", "<", ">"),
    *("\U0001f468\u200d\U0001f469", "\U0001f1e9\U0001f1ea", "\U0010ffff", "\u0c3c", "\u0e33\u0e49", "\ud55c\uad6d"),
]
"""Marks, jamo, unassigned code points, controls, runs of blanks, and spellings that libraries use; up to Unicode 16."""
TEXTS = (
    st.lists(st.sampled_from(SIGNS) | st.characters(codec="utf-8", exclude_categories=["Cn"]), max_size=25)
    .map("".join)
    .filter(lambda text: not any(0x323B0 <= ord(one) < 0x33480 for one in text))
)
"""Adversarial texts, without the ideographs of Unicode 17."""
NFC = {"type": "NFC"}
RUNS = [*(" " * size for size in range(24, 1, -1)), *("\t" * size for size in range(9, 1, -1))]
PREPEND = {"type": "Prepend", "prepend": "\u2581"}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
LLAMA = {"type": "Sequence", "normalizers": [PREPEND, REPLACE]}
FIRST = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
SPLIT = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
GEMMA = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
LINES = ["\n" * size for size in range(2, 32)]
MARKED = ["<tool>", "</tool>", "<|a b|>", "pay the", "[1]", "\n"]


def with_runs(contents: list[str], **flags: Any) -> list[dict[str, Any]]:
    return [made.added(420 + number, content) | flags for number, content in enumerate(contents)]


MARKS = with_runs(MARKED)


@cache
def level_values() -> dict[str, Any]:
    return made.byte_level()


def byte_level(added: list[dict[str, Any]] = [], **parts: Any) -> dict[str, Any]:  # noqa: B006
    return deepcopy(level_values()) | {"added_tokens": [made.added(419, "<s>", special=True), *added]} | parts


@cache
def character_values() -> dict[str, Any]:
    """BPE over characters with byte fallback: blanks are joined, words only within."""
    spelt = [f"<0x{value:02X}>" for value in range(256)]
    values = made.characters(
        tokenizers.models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        tokenizers.trainers.BpeTrainer(
            vocab_size=700, special_tokens=["<unk>", "<s>", *spelt], show_progress=False, limit_alphabet=60
        ),
        tokenizers.pre_tokenizers.Metaspace(prepend_scheme="never"),
        decoder=tokenizers.decoders.Sequence(
            [tokenizers.decoders.Metaspace(), tokenizers.decoders.ByteFallback(), tokenizers.decoders.Fuse()]
        ),
    )
    values["added_tokens"] = values["added_tokens"][:2]
    model = values["model"]
    for size in range(2, 6):
        model["vocab"].setdefault("\u2581" * size, len(model["vocab"]))
        model["merges"].append(["\u2581" * (size - 1), "\u2581"])
    return values


def characters(normalizer: Any = None, cut: Any = None, added: list[str] = [], **model: Any) -> dict[str, Any]:  # noqa: B006
    values = deepcopy(character_values()) | {"normalizer": normalizer, "pre_tokenizer": cut}
    values["added_tokens"] += with_runs(added)
    values["model"] |= model
    return values


def across() -> dict[str, Any]:
    """Merges that join the end of a word, a space and the beginning of the next."""
    values = characters(REPLACE)
    for left, right in (("e", "\u2581"), ("e\u2581", "t"), ("e\u2581t", "he")):
        values["model"]["vocab"].setdefault(left + right, len(values["model"]["vocab"]))
        values["model"]["merges"].insert(0, [left, right])
    values["model"]["vocab"].setdefault("he", len(values["model"]["vocab"]))
    return values


FILES: dict[str, tuple[Callable[[], dict[str, Any]], tuple[str, ...], Any]] = {
    "nfc": (lambda: byte_level(normalizer=NFC), ("nfc",), "gpt2"),
    "nfc_qwen": (
        lambda: byte_level(
            normalizer={"type": "Sequence", "normalizers": [NFC]},
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [
                    made.split(made.CL100K.replace("{1,3}", "")),
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
                ],
            },
        ),
        ("nfc",),
        "qwen2",
    ),
    "phi": (lambda: byte_level(with_runs(RUNS, normalized=True)), (), None),
    "neox": (lambda: byte_level(with_runs(RUNS[:23], normalized=True), normalizer=NFC), ("nfc",), None),
    "words": (lambda: byte_level(with_runs(["thes", "the", " pay", "\n"])), (), None),
    "marks": (lambda: byte_level([*MARKS, made.added(440, "<b", special=False) | {"normalized": True}]), (), None),
    "nfc_marks": (lambda: byte_level(MARKS, normalizer=NFC), ("nfc_between",), None),
    "llama": (lambda: characters(LLAMA), ("metaspace", "space"), None),
    "mistral": (lambda: characters(None, FIRST), ("metaspace", "missing_space"), None),
    "split": (lambda: characters(None, SPLIT), ("metaspace", "missing_space"), "metaspace"),
    "gemma": (lambda: characters(REPLACE, GEMMA, [*LINES, "<b>", "</b>"]), ("metaspace",), None),
    "nfc_characters": (
        lambda: characters({"type": "Sequence", "normalizers": [NFC, REPLACE]}),
        ("nfc", "metaspace"),
        None,
    ),
    "across": (across, ("metaspace",), "none"),
    "no_blanks": (lambda: characters(), (), None),
}


@cache
def both(kind: str) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    values = FILES[kind][0]()
    with TemporaryDirectory() as folder:
        ours = read(made.written(Path(folder) / f"{kind}.json", values), "tokenizer_json")
        ours.save(Path(folder) / "saved")
        loaded = Tokenizer.load(Path(folder) / "saved")
    library = tokenizers.Tokenizer.from_str(json.dumps(values))
    library.encode_special_tokens = True
    assert why(ours).startswith("ids equal those of tokenizers"), (kind, why(ours))
    return loaded, library


@pytest.mark.parametrize("kind", FILES)
def test_files_become_ours(kind: str) -> None:
    tokenizer, library = both(kind)
    _, steps, setting = FILES[kind]
    assert tokenizer.normalization.steps == steps
    assert setting is None or tokenizer.pretokenization == setting
    assert tokenizer.lossless == (not steps)
    assert tokenizer.scheme.scanner is not None
    for text in (TEXT, "", " ", "a", " a  b ", "\u2581a", *made.TEXTS):
        ids = tokenizer.encode(text)
        assert ids.tolist() == library.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text * 30, threads=2).tolist() == tokenizer.encode(text * 30).tolist()
    restored = tokenizer.normalization.restored(tokenizer.normalization(ODD))
    assert tokenizer.decode(tokenizer.encode(ODD)) == restored
    assert tokenizer.tokenize("a pay")[0] in ("a", " a", " ")


@pytest.mark.parametrize("kind", FILES)
@given(text=TEXTS)
@settings(max_examples=100)
def test_any_text_has_the_ids_of_the_library(kind: str, text: str) -> None:
    tokenizer, library = both(kind)
    ids = tokenizer.encode(text)
    assert ids.tolist() == library.encode(text, add_special_tokens=False).ids
    assert tokenizer.decode(ids) == tokenizer.normalization.restored(tokenizer.normalization(text.encode()))
    borders = tokenizer.offsets(text).tolist()
    assert borders == sorted(borders)
    assert borders[-1] == len(text.encode()) or not len(ids)


def test_tokens_that_contain_an_added_one_are_special() -> None:
    """The model's runs of spaces, which are never used where added tokens are cut out first."""
    values = byte_level(with_runs(RUNS))
    ids = values["model"]["vocab"]
    doubled = ids["\u0120\u0120"]
    tokenizer, _ = both("phi")
    assert tokenizer.vocabulary.unused[doubled] == b"  "
    assert tokenizer.vocabulary.added is not None
    assert tokenizer.vocabulary.added.sum() == len(RUNS)
    assert len(tokenizer) == 420 + len(RUNS) - sum(
        "\u0120\u0120" in spelt or "\u0109\u0109" in spelt for spelt in ids
    ) - (ids.get("<s>") is not None)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (lambda: byte_level(with_runs(["  "], lstrip=True)), "the added token '  ' includes the whitespace before it"),
        (lambda: byte_level(with_runs(["  "], rstrip=True)), "the added token '  ' includes the whitespace after it"),
        (lambda: byte_level(with_runs(["pay"], single_word=True)), "the added token 'pay' is a token only as a word"),
        (
            lambda: byte_level(with_runs(["pa\u00e9"]), normalizer=NFC),
            "the added token 'pa\u00e9' is cut out of a text",
        ),
        (lambda: byte_level(with_runs(["<K>"]), normalizer=NFC), "the added token '<K>' is cut out of a text that is"),
        (lambda: byte_level(with_runs(["s>"])), "the added token 's>' overlaps a special token"),
        (
            lambda: byte_level([*with_runs(["repay"], normalized=True), made.added(430, "pay")]),
            "some added tokens are cut out of a text before others",
        ),
        (lambda: characters(LLAMA, None, ["\n\n"]), "it puts a space before each part of a text between added tokens"),
        (lambda: characters(REPLACE, None, ["  "]), "the added token '  ' has a space, which is spelled otherwise"),
        (
            lambda: characters(REPLACE, None, ["\u2581\u2581"]),
            "the added token '\u2581\u2581' has a space, which is spelled otherwise",
        ),
        (lambda: characters(PREPEND), "it normalises texts (Prepend)"),
        (lambda: characters({"type": "Lowercase"}), "it normalises texts (Lowercase)"),
        (lambda: characters(None, {"type": "Whitespace"}), "it cuts by Whitespace"),
        (lambda: characters(REPLACE, None, ignore_merges=True), "it ignores merges"),
        (lambda: characters(REPLACE, None, end_of_word_suffix="</w>"), "its tokens have a end_of_word_suffix"),
    ],
)
def test_inexact_conversions_use_the_library(values: Callable[[], dict[str, Any]], reason: str, tmp_path: Path) -> None:
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values()), "tokenizer_json")
    assert isinstance(tokenizer, AdaptedTokenizer)
    assert why(tokenizer).startswith(reason)


def test_a_file_is_read_in_linear_time() -> None:
    """Ids that no text gives, and added tokens, may be thousands among hundreds of thousands."""
    pieces = {number: f"token{number}" for number in range(60_000)}
    spelt = {value: 60_000 + value for value in range(256)}
    kept = {b"<unused%d>" % number: 70_000 + number for number in range(3000)}
    start = time.process_time()
    tokens = CharacterTokens(pieces, spelt, False, kept)
    tokens.without([f"token{number}".encode() for number in range(30_000)])
    vocabulary = tokens.vocabulary({}, kept)
    assert time.process_time() - start < 5
    assert (len(vocabulary), len(vocabulary.unused)) == (30_000 + 256 + 3000, 30_000)


def test_thousands_of_added_tokens_are_found(tmp_path: Path) -> None:
    values = characters(REPLACE, GEMMA, [f"<unused{number}>" for number in range(2000)])
    path = made.written(tmp_path / "tokenizer.json", values)
    tokenizer = read(path, "tokenizer_json")
    assert why(tokenizer).startswith("ids equal those of tokenizers")
    text = "a<unused17> <unused1999><unused"
    library = tokenizers.Tokenizer.from_str(json.dumps(values))
    assert tokenizer.encode(text).tolist() == library.encode(text, add_special_tokens=False).ids
    assert tokenizer.scheme.scanner is not None


def test_losses_are_counted_and_named() -> None:
    tokenizer, _ = both("nfc")
    lost = loss_of(tokenizer, ["e\u0301a na\u00efve".encode(), b"plain", ODD])
    assert (lost.documents, lost.documents_changed, lost.characters_normalised) == (3, 1, 2)
    assert lost.bytes_lost == tokenizer.bytes_lost("e\u0301a na\u00efve".encode()) > 0
    assert lost.characters > 0
    told = tokenizer.origin["imported"]["told"]
    assert any(one.startswith("texts are normalised (NFC of Unicode 9.0, as in tokenizers)") for one in told)
    llama, _ = both("llama")
    lost = loss_of(llama, [b" two  blanks ", "a\u2581b".encode()])
    assert (lost.documents_changed, lost.characters_normalised) == (1, 1)


def test_normalised_tokenizers_are_measured_on_texts() -> None:
    tokenizer, _ = both("llama")
    rows = measure(tokenizer, ["for x", "pay the"])
    values = dict(zip(rows["key"], rows["value"], strict=True))
    assert values["corpus_token_count"] == sum(tokenizer.count(text) for text in ("for x", "pay the"))
    assert values["bytes_per_token"] == 12 / values["corpus_token_count"]
    assert values["fertility"] is not None
    gap = gap_of(10, 700, tokenizer, None)
    assert (gap.value, gap.reason) == (None, "it normalises texts, so its pre-tokens are those of another text")
    with pytest.raises(TokbenchError, match="normalises texts, so it is not exported; use the file that it was"):
        pretokens_to_compare(tokenizer)
    for kind in ("nfc", "phi"):
        assert unsupported_reason(both(kind)[0]) == "it normalises texts, or has added tokens"


@pytest.mark.parametrize("kind", ["nfc", "phi", "llama", "mistral", "gemma"])
def test_gold_words_are_segmented_as_within_a_text(kind: str) -> None:
    """No second space is added before a word, and spans of tokens cover the word and the space before it."""
    tokenizer, _ = both(kind)
    given = ["paying", "the", "na\u00efve", "e\u0301t\u0301"]
    words = words_of(tokenizer, pl.DataFrame({"word": given, "language": ["en"] * len(given)}))
    for number, word in enumerate(given):
        within = tokenizer.count(f"\n{' ' * words.spaces[number]}{word}") - tokenizer.count("\n")
        assert words.tokens_per_word[number] == within
        spans = tokenizer.encode_word(word.encode()).spans
        assert (spans[0, 0], spans[-1, 1]) == (0, 1 + len(word.encode())) or kind == "nfc"


MODEL = {
    "model_type": "bpe",
    "byte_fallback": True,
    "vocab_size": 700,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "character_coverage": 0.98,
}
MODELS: dict[str, dict[str, Any]] = {
    "llama": {},
    "gemma": {
        "add_dummy_prefix": False,
        "user_defined_symbols": ["\n\n", "\n\n\n", "\u2581\u2581", "\u2581\u2581\u2581", "<tool>", "the"],
    },
    "runs": {"allow_whitespace_only_pieces": True},
    "across": {"split_by_whitespace": False, "vocab_size": 900},
}


@cache
def model(kind: str) -> tuple[Tokenizer, sentencepiece.SentencePieceProcessor]:
    content = made.sentencepiece_model(**(MODEL | MODELS[kind]))
    with TemporaryDirectory() as folder:
        ours = read(made.written(Path(folder) / f"{kind}.model", content), "sentencepiece", added="tokens")
        ours.save(Path(folder) / "saved")
        loaded = Tokenizer.load(Path(folder) / "saved")
    assert why(ours).startswith("ids equal those of sentencepiece"), (kind, why(ours))
    return loaded, sentencepiece.SentencePieceProcessor(model_proto=content)


@pytest.mark.parametrize("kind", MODELS)
def test_models_of_sentencepiece_become_ours(kind: str) -> None:
    """Words are pre-tokens where no piece goes over a space."""
    tokenizer, library = model(kind)
    assert tokenizer.segmentation == "merge_scores"
    assert (tokenizer.pretokenization == "none") == (kind == "across")
    for text in (TEXT, "", " ", "a", " a  b ", "\u2581a", "<tool>the \n\n\n\n", *made.TEXTS):
        ids = tokenizer.encode(text).tolist()
        assert ids == library.encode(text)
        assert tokenizer.decode(ids).decode() == library.decode(ids)
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD
    of_byte = library.piece_to_id("<0x61>")
    assert tokenizer.decode([of_byte]).decode() == library.decode([of_byte]) == "a"
    assert of_byte in tokenizer.vocabulary.unused
    words = [tokenizer.decode(tokenizer.encode(word)) for word in ("pay", "\u4e2d")]
    assert words == [b"pay", "\u4e2d".encode()]


@pytest.mark.parametrize("kind", MODELS)
@given(text=TEXTS)
@settings(max_examples=100)
def test_any_text_has_the_ids_of_sentencepiece(kind: str, text: str) -> None:
    tokenizer, library = model(kind)
    ids = tokenizer.encode(text).tolist()
    assert ids == library.encode(text)
    assert tokenizer.decode(ids).decode("utf-8", "replace") == library.decode(ids)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"model_type": "unigram"}, "SentencePiece (unigram): its segmentation is none of ours"),
        ({"normalization_rule_name": "nmt_nfkc"}, "SentencePiece (BPE): it normalises texts (nmt_nfkc)"),
        ({"remove_extra_whitespaces": True}, "SentencePiece (BPE): it removes spaces (remove_extra_whitespaces)"),
        ({"treat_whitespace_as_suffix": True}, "SentencePiece (BPE): it spells a space otherwise than before a word"),
        ({"byte_fallback": False}, "SentencePiece (BPE): a character that is no token is the unknown token"),
        ({"user_defined_symbols": ["a b"]}, "SentencePiece (BPE): the symbol 'a b' has a space"),
    ],
)
def test_models_that_are_not_exact_stay_with_sentencepiece(
    options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = made.written(tmp_path / "a.model", made.sentencepiece_model(**(MODEL | options)))
    tokenizer = read(path, "sentencepiece")
    assert isinstance(tokenizer, AdaptedTokenizer)
    assert why(tokenizer).startswith(reason)


def test_pieces_may_be_unused(tmp_path: Path) -> None:
    """The library undoes merges that make one."""
    from sentencepiece import sentencepiece_model_pb2

    changed = sentencepiece_model_pb2.ModelProto()
    changed.ParseFromString(made.sentencepiece_model(**MODEL))
    changed.pieces[300].type = 5
    tokenizer = read(made.written(tmp_path / "a.model", changed.SerializeToString()), "sentencepiece")
    assert why(tokenizer) == "SentencePiece (BPE): 1 pieces are unused, so merges that make them are undone"


def test_cuts_between_tokens() -> None:
    """Borders follow from two characters, so a text is cut nowhere within a token."""
    for text in ("a  b\n\n c", " \n a", "\n", "  "):
        for pattern in (r"\n| *[^ \n]+| +", r" *[^ ]+| +"):
            scheme = pretokenization_of(by(pattern))
            assert scheme.scanner is not None
            assert scheme.boundaries(text.encode())[-1] == len(text)
