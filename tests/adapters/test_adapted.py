"""Tokenizers that work through another library: their losses, and their use among ours.

Tokenizers that do what our phases do not: they work through their own libraries, with the ids of these.
"""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

from tests.conftest import ODD, TOPICS
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import TEXT, few, level, library_ids, read, why  # noqa: F401  # noqa: F401
from tokbench.adapters.forms import read_form
from tokbench.adapters.forms.parsed import ReadOptions
from tokbench.adapters.forms.transformers import detect_format
from tokbench.adapters.loss import FirstDifference, first_difference, loss_of
from tokbench.adapters.read import read_tokenizer
from tokbench.errors import TokbenchError
from tokbench.inspection.checks import vocabulary
from tokbench.inspection.checks.subject import TokenizerUnderTest
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.libraries import open_library
from tokbench.vocabulary import BYTES, Vocabulary


# Losses
def test_loss_counts_changed_documents_and_bytes(level: dict[str, Any], tmp_path: Path) -> None:
    values = level | {"normalizer": {"type": "NFKC"}}
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    lost = loss_of(tokenizer, [b"plain", "o\ufb03ce \u00bd".encode()])
    assert (lost.documents, lost.documents_changed, lost.characters_normalised) == (2, 1, 2)
    assert lost.bytes_lost == 5
    assert str(lost).startswith("1 of 2 documents are not restored, at most 5 of 14 bytes are lost")
    native = read(made.written(tmp_path / "tokenizer.json", level), "tokenizer_json")
    assert str(loss_of(native, [ODD])) == "nothing lost of 1 documents"


def test_first_difference_shows_ids_after_the_common_prefix() -> None:
    class Other:
        unknown = None

        def encode(self, text: str) -> list[int]:
            return [*text.encode()[:3], 300]

    tokenizer = Tokenizer(Vocabulary(BYTES), "none", "greedy")
    found = first_difference(tokenizer, Other(), [b"\xff", b"abcdefghi"])  # type: ignore[arg-type]
    assert found == FirstDifference("defghi", [*b"defghi"], [300])
    assert str(found) == "'defghi' (100 101 102 103 ... and 300)"


# Adapters among other tokenizers


@pytest.fixture
def adapted(level: dict[str, Any], tmp_path: Path) -> Path:
    values = level | {"normalizer": {"type": "Lowercase"}}
    path = made.written(tmp_path / "lower.json", values)
    read_tokenizer(path, "tokenizer_json", name="lower").save(tmp_path / "lower")
    return tmp_path / "lower"


def test_an_adapter_has_the_interface_of_a_tokenizer(adapted: Path) -> None:
    tokenizer = Tokenizer.load(adapted)
    assert repr(tokenizer) == "AdaptedTokenizer('lower', tokenizers, 420 tokens)"
    texts = [*TOPICS, b"", ODD]
    assert [ids.tolist() for ids in tokenizer.encode_batch(texts, threads=2)] == [
        tokenizer.encode(text).tolist() for text in texts
    ]
    assert tokenizer.encode("ABC").dtype == np.int32
    assert tokenizer.encode("ABC").tolist() == tokenizer.encode(b"abc").tolist()
    assert tokenizer.decode(tokenizer.encode("ABC")) == b"abc"
    assert tokenizer.decode([]) == b""
    for ids, told in (
        ([9999], "id 9999 is not in the vocabulary (0 to 419)"),
        ([-1], "id -1"),
        ([0.5], "not integers"),
    ):
        with pytest.raises(TokbenchError) as error:
            tokenizer.decode(ids)
        assert told in str(error.value)
    assert tokenizer.last_cut(b"a b") == 0


Adapters = dict[str, tuple[Tokenizer, Any]]


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> Adapters:
    """Tokenizers that work through their libraries, each with the library's own object."""
    folder = tmp_path_factory.mktemp("adapters")
    made_here: Adapters = {}
    lower = made.byte_level() | {"normalizer": {"type": "Lowercase"}}
    for kind, values in (("lower", lower), ("words", made.bert()), ("metaspace", made.metaspace())):
        path = made.written(folder / kind, values)
        made_here[kind] = read_tokenizer(path, "tokenizer_json"), tokenizers.Tokenizer.from_file(str(path))
    sentencepiece = pytest.importorskip("sentencepiece")
    for kind, options in (("sentencepiece", {}), ("fallback", {"byte_fallback": True, "vocab_size": 520})):
        model = made.sentencepiece_model(**options)
        path = made.written(folder / kind, model)
        library = sentencepiece.SentencePieceProcessor(model_proto=model)
        made_here[kind] = read_tokenizer(path, "sentencepiece"), library
    return made_here


@pytest.mark.parametrize("kind", ["lower", "metaspace", "llama", "words", "sentencepiece", "tiktoken"])
def test_bytes_of_ids_within_a_text_keep_blanks_and_partial_characters(
    kind: str, level: dict[str, Any], tmp_path: Path
) -> None:
    """Blanks and bytes of characters are there, which decoding an id by itself drops or replaces."""
    steps = [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        *({"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}),
    ]
    values = {"metaspace": made.metaspace, "words": made.bert, "llama": made.metaspace}.get(kind, lambda: level)()
    if kind == "llama":
        values["decoder"] = {"type": "Sequence", "decoders": steps}
    content: Any = values | {"normalizer": {"type": "Lowercase"}} if kind == "lower" else values
    library = "tokenizers"
    settings: dict[str, Any] = {}
    if kind == "sentencepiece":
        library, content = kind, made.sentencepiece_model(byte_fallback=True, vocab_size=520)
    elif kind == "tiktoken":
        library, content, settings = kind, made.tiktoken_file(made.ranks()), {"pattern": made.CL100K}
    opened = open_library(library, json.dumps(content).encode() if isinstance(content, dict) else content, settings, "")
    text = "for x in range it pays for \u4e2d" if kind in ("lower", "sentencepiece", "tiktoken") else "for x in"
    found = [opened.bytes_of(one) for one in opened.encode(text)]
    if kind == "words":  # Its decoder puts blanks between tokens, so each is as it is told.
        assert b"".join(found).replace(b"##", b"") == b"forxin"
    else:
        assert b"".join(found).removeprefix(b" ") == text.encode()
    with pytest.raises(KeyError):
        opened.bytes_of(1 << 20)


PLACED = "for x in range it pays \u4e2d\U0001f642 na\u00efve"


def _characters(text: str, place: int) -> int:
    """The characters of a text that begin before a byte."""
    return sum(len(text[:number].encode()) < place for number in range(len(text)))


@pytest.mark.parametrize("kind", ["lower", "words", "metaspace", "sentencepiece", "fallback"])
@pytest.mark.parametrize("text", ["", "for x", PLACED, "  for \ufb03  x\n\n", "A na\u0308ive \U0001304b"])
def test_characters_of_tokens_are_those_of_the_library(kind: str, text: str, adapters: Adapters) -> None:
    """And bytes are those of the same characters, or within them the tokens' own."""
    tokenizer, library = adapters[kind]
    if kind in ("sentencepiece", "fallback"):
        from sentencepiece.sentencepiece_pb2 import SentencePieceText

        pieces = SentencePieceText.FromString(library.encode(text, out_type="serialized_proto")).pieces
        spans = [(_characters(text, one.begin), _characters(text, one.end)) for one in pieces]
    else:
        spans = library.encode(text, add_special_tokens=False).offsets
    found = tokenizer.character_offsets(text)
    assert (found.dtype, found.shape) == (np.int64, (len(tokenizer.encode(text)), 2))
    assert [*map(tuple, found.tolist())] == spans
    data = text.encode()
    for (first, last), (start, end) in zip(spans, tokenizer.byte_offsets(text).tolist(), strict=True):
        around = text[:first].encode(), text[first:last].encode()
        if kind != "fallback":
            assert len(around[0]) <= start <= end <= len(around[0] + around[1])
        assert kind == "lower" or data[start:end] in (around[1], data[start : start + 1])


def test_tokens_that_lie_end_to_end_have_offsets(adapters: Adapters) -> None:
    """By their own bytes, a space before the text left out; each byte of a character by itself."""
    for kind in ("lower", "sentencepiece", "fallback"):
        tokenizer, _ = adapters[kind]
        text = PLACED if kind != "sentencepiece" else "for x in range"
        borders = tokenizer.offsets(text)
        assert (borders.dtype, borders[0], borders[-1]) == (np.int64, 0, len(text.encode()))
        pieces = [text.encode()[start:end] for start, end in pairwise(borders)]
        own = [tokenizer.library.bytes_of(one) for one in tokenizer.encode(text).tolist()]
        assert pieces == [own[0].removeprefix(b" "), *own[1:]]
        assert tokenizer.byte_offsets(text).tolist() == [*map(list, pairwise(borders))]
    assert adapters["fallback"][0].offsets("\u4e2d").tolist()[-4:] == [0, 1, 2, 3]
    assert adapters["lower"][0].offsets("FOR").tolist()[-1] == 3
    ours = Tokenizer(Vocabulary((*BYTES, b"ab")), "none", "greedy")
    assert ours.byte_offsets("xab").tolist() == [[0, 1], [1, 3]]


def test_offsets_are_an_error_if_the_library_reports_none(adapters: Adapters, tmp_path: Path) -> None:
    for kind, text in (("words", "for x"), ("sentencepiece", "  for  x")):
        with pytest.raises(TokbenchError, match="whose tokens are not contiguous in this text; use byte_offsets"):
            adapters[kind][0].offsets(text)
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(made.ranks()))
    ranks = read(path, "tiktoken", pattern="[a-z]+| ")
    assert ranks.offsets("for x").tolist() == [
        0,
        *np.cumsum([len(ranks.decode([one])) for one in ranks.encode("for x")]),
    ]
    assert ranks.character_offsets("for x").tolist() == [*map(list, pairwise(ranks.offsets("for x").tolist()))]
    for call in (ranks.offsets, ranks.byte_offsets, ranks.character_offsets):
        with pytest.raises(TokbenchError, match=r"^a works through tiktoken, which reports no offsets"):
            call("for X")
    for tokenizer in (ranks, adapters["lower"][0]):
        with pytest.raises(TokbenchError, match=r"replaces bytes that are not UTF-8 \(byte 1\)"):
            tokenizer.byte_offsets(b"a\xff")
        with pytest.raises(TokbenchError, match="is not str; pass str"):
            tokenizer.character_offsets(b"a")


def test_check_takes_the_bytes_of_pieces(tmp_path: Path) -> None:
    path = made.written(tmp_path / "a.model", made.sentencepiece_model(byte_fallback=True, vocab_size=520))
    subject = TokenizerUnderTest(read(path, "sentencepiece"))
    assert vocabulary.every_byte(subject).sentence == "256 of 256 bytes are tokens"
    assert vocabulary.unique_special_ids(subject).passes
    spelt = [token for token in subject.tokens.values() if len(token) > 1]
    assert len(spelt) == len(set(spelt))
    assert any(token.startswith(b" ") for token in spelt)


def test_adapters_reject_values_that_are_not_text(adapted: Path) -> None:
    tokenizer = Tokenizer.load(adapted)
    wrong: Any
    for wrong in (3, None, [97]):
        for call in (tokenizer.encode, tokenizer.count, lambda text: tokenizer.encode_batch([text])):
            with pytest.raises(TokbenchError, match=r"is not text; pass str or bytes$"):
                call(wrong)
    for wrong in ("abc", b"abc", 3):
        with pytest.raises(TokbenchError, match="not a list of texts"):
            tokenizer.encode_batch(wrong)
    for wrong in ("abc", None, [[1], [1, 2]], [1.5]):
        with pytest.raises(TokbenchError, match="ids of "):
            tokenizer.decode(wrong)


def test_attributes_that_need_our_phases_are_one_line_errors(adapted: Path) -> None:
    tokenizer = Tokenizer.load(adapted)
    for name in ("vocabulary", "pretokenization", "segmentation", "options"):
        with pytest.raises(
            TokbenchError, match=f"^lower works through tokenizers and has no {name} of ours; measure it"
        ):
            getattr(tokenizer, name)
    with pytest.raises(AttributeError):
        tokenizer.nothing  # noqa: B018


def test_an_adapter_that_was_altered_is_rejected(adapted: Path) -> None:
    whole = (adapted / "adapted").read_bytes()
    (adapted / "adapted").write_bytes(whole.replace(b"Lowercase", b"Lowercasf"))
    with pytest.raises(TokbenchError, match="the tokenizer or its settings are not those that were saved"):
        Tokenizer.load(adapted)
    (adapted / "adapted").unlink()
    with pytest.raises(TokbenchError, match=r"cannot be read .*; import the tokenizer again"):
        Tokenizer.load(adapted)


def test_a_library_that_is_missing_is_named(adapted: Path) -> None:
    call = f"main(['encode', {str(adapted)!r}, '-'])"
    code = f"import sys; sys.modules['tokenizers'] = None; from tokbench.commands.main import main; {call}"
    ended = subprocess.run([sys.executable, "-c", code], input="", capture_output=True, text=True)
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert "needs the package 'tokenizers', which is not installed; pip install tokenizers" in line


def test_a_tokenizer_of_ours_takes_the_place_of_an_adapter(adapted: Path) -> None:
    Tokenizer(Vocabulary(BYTES), "none", "greedy").save(adapted)
    assert not (adapted / "adapted").exists()
    assert Tokenizer.load(adapted).encode("a").tolist() == [97]


@pytest.mark.parametrize("copied", [pickle.loads, deepcopy])
def test_adapters_pickle_and_copy(copied: Callable[[Any], Any], adapted: Path) -> None:
    tokenizer = Tokenizer.load(adapted)
    made_anew = copied(pickle.dumps(tokenizer) if copied is pickle.loads else tokenizer)
    assert made_anew.encode(TEXT).tolist() == tokenizer.encode(TEXT).tolist()
    assert (len(made_anew), made_anew.id_limit, made_anew.origin) == (420, 420, tokenizer.origin)


def test_entries_are_the_tokens_that_some_text_produces(adapted: Path, tmp_path: Path) -> None:
    """The unknown token is one where some text gives it; special ones and holes are none."""
    tokenizer = Tokenizer.load(adapted)
    assert (tokenizer.entries, tokenizer.lossless, tokenizer.bytes_lost(b"ABc")) == (420, False, 2)
    words = read(made.written(tmp_path / "bert.json", made.bert()), "tokenizer_json")
    assert words.entries == len(words) + 1
    fallback = made.sentencepiece_model(byte_fallback=True, vocab_size=500)
    pieces = read(made.written(tmp_path / "bytes.model", fallback), "sentencepiece")
    assert pieces.entries == len(pieces)
    ours = Tokenizer(Vocabulary(BYTES, ids=np.arange(256, dtype=np.int32) * 2), "none", "greedy")
    assert (ours.entries, ours.lossless, ours.bytes_lost(ODD)) == (256, True, 0)


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
def test_steps_that_our_phases_lack_use_the_library(
    change: dict[str, Any], reason: str, level: dict[str, Any], tmp_path: Path
) -> None:
    values = level | change
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert isinstance(tokenizer, AdaptedTokenizer) == bool(reason)
    assert why(tokenizer).startswith(reason or "ids equal")
    assert tokenizer.encode(TEXT).tolist() == library_ids(values, TEXT)


@pytest.mark.parametrize(
    ("pattern", "behavior", "invert", "reason"),
    [
        (r"\s", "Removed", False, "it cuts by Split with the behaviour Removed, which drops the matches"),
        (
            r"\S+",
            "Removed",
            True,
            "its pattern may leave out characters, which Split with the behaviour Removed drops (U+0009, for one)",
        ),
        (
            r"\s+",
            "MergedWithPrevious",
            False,
            "it cuts by Split with the behaviour MergedWithPrevious, by more than one character",
        ),
        ("a|bc", "Contiguous", False, "it cuts by Split with the behaviour Contiguous, by more than one character"),
    ],
)
def test_splits_that_drop_or_join_go_to_the_library(
    pattern: str, behavior: str, invert: bool, reason: str, level: dict[str, Any], tmp_path: Path
) -> None:
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = made.split(pattern, behavior) | {"invert": invert}
    values = level | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, last]}}
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer) == reason
    assert tokenizer.encode(TEXT).tolist() == library_ids(values, TEXT)


def test_punctuation_of_an_older_table_goes_to_the_library(level: dict[str, Any], tmp_path: Path) -> None:
    """The table of ``Punctuation`` lacks characters that the library's regular expressions know."""
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    steps = [{"type": "Punctuation", "behavior": "Isolated"}, last]
    values = level | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer).startswith("tokenizers has other characters than we do in a set")
    assert tokenizer.encode(TEXT).tolist() == library_ids(values, TEXT)


def test_differing_ids_select_the_library(
    level: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids decide, and not the format of a file; here the pattern is mistaken for another."""
    monkeypatch.setattr("tokbench.adapters.forms.tokenizer_json.native_setting", lambda translations: "none")
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
        assert marked == library.encode("a<tool>b paying")
        assert {library.piece_to_id("<tool>"), library.piece_to_id("paying")} <= set(marked)
        as_text = read(tmp_path / "a.model", "sentencepiece", added="text")
        assert library.piece_to_id("<tool>") not in as_text.encode("a<tool>b")


def test_damaged_models_of_sentencepiece(tmp_path: Path) -> None:
    """Each ends in one line; a symbol of the user's that becomes a control token changes one byte of the model."""
    whole = made.sentencepiece_model(user_defined_symbols=["<tool>"])
    piece = b"\n\x0f\n\x06<tool>\x15\x00\x00\x00\x00\x18\x04"
    assert whole.count(piece) == 1
    for changed, message in (
        (b"", "not a model of SentencePiece"),
        (whole[:-1], "not a model of SentencePiece (Error parsing message"),
        (b"\n\x00" + whole, "a piece that is empty"),
        (whole.replace(piece, piece.replace(b"tool", b"\xfftoo")), "can't decode byte 0xff"),
        (whole.replace(piece, piece.replace(b"\x15\x00\x00\x00\x00", b"\x15\x00\x00\xc0\x7f")), "no number"),
        (whole + b"\x12\x04\xfa\x02\x01\xff", "can't decode byte 0xff"),
        (whole + b"\x1a\x04\x12\x02ab", "table of normalisations is cut short"),
    ):
        with pytest.raises(TokbenchError) as raised:
            read(made.written(tmp_path / "a.model", changed), "sentencepiece")
        assert message in str(raised.value)
        assert str(raised.value).endswith("; pass a complete file of its format")
        assert "\n" not in str(raised.value)
    found = read_form(made.written(tmp_path / "a.model", whole), "sentencepiece", ReadOptions(added="text"))
    assert found.content == whole.replace(piece, piece[:-1] + b"\x03")
    for added in ("words", "tokens"):
        found = read_form(tmp_path / "a.model", "sentencepiece", ReadOptions(added=added))
        assert found.content == whole


@pytest.mark.parametrize("package", ["sentencepiece", "google.protobuf"])
def test_packages_that_are_missing(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The form is known without them."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    path = made.written(tmp_path / "a.model", made.sentencepiece_model())
    monkeypatch.delattr(sentencepiece, sentencepiece_model_pb2.__name__.rpartition(".")[2])
    monkeypatch.delitem(sys.modules, sentencepiece_model_pb2.__name__)
    monkeypatch.setitem(sys.modules, package, None)
    assert detect_format(path) == "sentencepiece"
    with pytest.raises(TokbenchError) as raised:
        read(path, "sentencepiece")
    assert str(raised.value).startswith(f"{path}: needs the packages 'sentencepiece' and 'protobuf' (")
    assert str(raised.value).endswith("; pip install 'tokbench[existing]'")


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
