"""Decoding and normalisation of tokenizers that work through another library, both on complete texts.

Explicit ids of vocabularies, as external tokenizers have them.
"""

import io
import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from safetensors.numpy import save_file
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests.conftest import TOPICS, Tokbench
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import few, read  # noqa: F401
from tokbench.adapters.loss import loss_of
from tokbench.commands.encoding import decoded
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards
from tokbench.errors import TokbenchError
from tokbench.io import id_files
from tokbench.io.identity import Maker
from tokbench.metric.embeddings import embeddings_of
from tokbench.models.pretraining.budget import Packing
from tokbench.models.pretraining.mds import read_mds
from tokbench.models.training import read_occurrences
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.segmentation.shortest_path import ShortestPathOptions
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import END_OF_TEXT
from tokbench.tokenizer.libraries import open_library
from tokbench.vocabulary import BYTES, Vocabulary

LLAMA_DECODER = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        *({"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}),
    ],
}


def llama() -> dict[str, Any]:
    """BPE with a mark before each word, put there by the normaliser and removed by the decoder."""
    values = made.characters(
        models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        trainers.BpeTrainer(
            vocab_size=600,
            special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
            show_progress=False,
        ),
        None,
        normalizer=normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]),
    )
    values["added_tokens"] = values["added_tokens"][:3]
    return values | {"decoder": LLAMA_DECODER}


def words() -> dict[str, Any]:
    """BPE whose tokens mark the ends of words."""
    return made.characters(
        models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
        trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False),
        pre_tokenizers.WhitespaceSplit(),
        normalizer=normalizers.Lowercase(),
        decoder=decoders.BPEDecoder(),
    )


def lower() -> dict[str, Any]:
    values = made.byte_level() | {"normalizer": {"type": "Lowercase"}}
    return values | {"added_tokens": [made.added(420, "<|end|>", special=True), made.added(421, "paying")]}


FILES = {"metaspace": made.metaspace, "bert": made.bert, "llama": llama, "words": words, "lower": lower}
SIGNS = (" ", "  ", "\n", ".", ",", "!", "\u2603", "\u00e9", "e\u0301", "\ufb01", "\u00bd", "\u4e2d", "\u2581", "<unk>")


def texts() -> Iterator[str]:
    """Words, blanks, and characters that no small vocabulary has."""
    drawn = random.Random(5)
    known = [word.decode() for topic in TOPICS for word in topic.split()[:40]]
    for length in range(64):
        yield "".join(drawn.choice((*SIGNS, " ", " ")) + drawn.choice(known) for _ in range(length % 16 + 1))


@pytest.mark.parametrize("kind", FILES)
def test_decoding_equals_that_of_the_library(kind: str, tmp_path: Path) -> None:
    path = made.written(tmp_path / "tokenizer.json", FILES[kind]())
    tokenizer = read(path, "tokenizer_json")
    library = tokenizers.Tokenizer.from_file(str(path))
    special = [one for one, token in library.get_added_tokens_decoder().items() if token.special]
    for text in texts():
        ids = tokenizer.encode(text).tolist()
        for given in (ids, [special[0], *ids, special[-1], *ids]):
            assert tokenizer.decode(given).decode() == library.decode(given, skip_special_tokens=False)
    assert tokenizer.decode([special[-1]]).decode() == library.id_to_token(special[-1])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"treat_whitespace_as_suffix": True},
        {"byte_fallback": True, "vocab_size": 520},
        {"add_dummy_prefix": False},
        {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
        {"user_defined_symbols": ["<tool>", "paying"]},
    ],
)
def test_names_of_special_ids_leave_the_rest_of_a_sentencepiece_decode_alone(
    options: dict[str, Any], tmp_path: Path
) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    model = made.sentencepiece_model(**options)
    tokenizer = read(made.written(tmp_path / "a.model", model), "sentencepiece")
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    for text in texts():
        ids = tokenizer.encode(text).tolist()
        assert tokenizer.decode(ids).decode() == library.decode(ids)
        framed = [1, *ids, 2, *ids]
        whole = library.decode(framed)
        assert tokenizer.decode(framed).decode().replace("<s>", "").replace("</s>", "") == whole
        assert tokenizer.decode(framed).startswith(b"<s>")
        assert tokenizer.decode(framed).count(b"</s>") == 1 + text.count("</s>") * 2


def test_names_between_ids_of_a_sentencepiece_model_with_a_denormaliser() -> None:
    pytest.importorskip("sentencepiece")
    from tokbench.adapters.export_sentencepiece import to_sentencepiece
    from tokbench.tokenizer import Tokenizer
    from tokbench.vocabulary import BYTES, Vocabulary

    ours = Tokenizer(Vocabulary(BYTES, merges=np.zeros((0, 3), np.int32)), "none", "merge")
    library = open_library("sentencepiece", to_sentencepiece(ours), {}, "")
    ids = [*library.encode("\u00e9 a"), 256, *library.encode(" b")]
    assert library.decode(ids, {256: b"<end>"}).decode() == "\u00e9 a<end> b"


def test_a_file_of_ids_is_decoded_as_one_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library drops the blank before the first id alone, not before the first of each piece that is read."""
    tokenizer = read(made.written(tmp_path / "tokenizer.json", made.metaspace()), "tokenizer_json")
    monkeypatch.setattr(id_files, "PIECE", 6)
    ids = tokenizer.encode("for x in range it pays for x in range")
    for content in (" ".join(map(str, ids.tolist())).encode(), b""):
        file = io.BytesIO(content)
        file.name = "ids"
        assert b"".join(decoded(tokenizer, file)) == (b"for x in range it pays for x in range" if content else b"")


def test_loss_counts_the_bytes_that_unknown_tokens_replace(tmp_path: Path) -> None:
    tokenizer = read(made.written(tmp_path / "tokenizer.json", made.metaspace()), "tokenizer_json")
    lost = loss_of(tokenizer, ["for x \u2603 in range".encode()])
    assert (lost.bytes_lost, lost.unknown_tokens) == (3, 1)
    assert tokenizer.decode(tokenizer.encode("for x \u2603 in range")) == b"for x <unk> in range"


def test_an_id_in_a_hole_is_named(tmp_path: Path) -> None:
    values = lower()
    values["model"]["vocab"]["hole"] = 430
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    with pytest.raises(TokbenchError, match=r"^id 425 is not in the vocabulary, whose ids have gaps$"):
        tokenizer.decode([97, 425])


def test_marks_that_decoding_removes_are_no_changes(tmp_path: Path) -> None:
    tokenizer = read(made.written(tmp_path / "tokenizer.json", llama()), "tokenizer_json")
    lost = loss_of(tokenizer, [b"one two\nthree", "for  \u00e9 \ufb01".encode(), b" x "])
    assert (lost.documents_changed, lost.characters_normalised, lost.characters) == (0, 0, 24)


@pytest.mark.parametrize(
    ("normalizer", "text", "changed"),
    [
        ({"type": "NFKC"}, "\ufb01ne \u00bd x", 2),
        ({"type": "NFC"}, "e\u0301a na\u00efve", 2),
        ({"type": "NFD"}, "\u00e9a", 1),
        ({"type": "Lowercase"}, "An Apple \u0130", 3),
        ({"type": "Strip", "strip_left": True, "strip_right": True}, "  a b ", 0),
        ({"type": "Replace", "pattern": {"String": "``"}, "content": '"'}, "``a`` b", 4),
        ({"type": "Replace", "pattern": {"Regex": "a|b"}, "content": ""}, "xaby a", 3),
        ({"type": "Prepend", "prepend": "ab"}, "bag", 0),
        (
            {"type": "BertNormalizer", "strip_accents": None}
            | dict.fromkeys(("clean_text", "handle_chinese_chars", "lowercase"), True),
            "\u00c9t\u00e9 \u4e2d\n x\u200by",
            3,
        ),
    ],
)  # fmt: skip
def test_characters_that_a_normaliser_changes(normalizer: dict[str, Any], text: str, changed: int) -> None:
    content = json.dumps(made.byte_level() | {"normalizer": normalizer}).encode()
    library = open_library("tokenizers", content, {}, "")
    assert library.changed(text) == changed
    assert library.changed(f"{text}\n" * 3) == 3 * changed


def test_added_tokens_that_are_looked_for_first_are_not_normalised() -> None:
    values = lower()
    values["added_tokens"].append(made.added(422, "ABC"))
    library = open_library("tokenizers", json.dumps(values).encode(), {}, "")
    assert library.changed("Big ABC Dog ABCD") == 3


@pytest.mark.parametrize(
    ("options", "text", "changed"),
    [
        ({}, "one two\nthree", 0),
        ({}, " \ufb01ne  \u00bd e\u0301 ", 4),
        ({}, "", 0),
        ({}, "a\u200bb\u0007", 2),
        ({"treat_whitespace_as_suffix": True}, "one two\nthree", 0),
        ({"treat_whitespace_as_suffix": True}, "one \u00bd", 1),
        ({"normalization_rule_name": "identity"}, "\ufb01ne \u00bd", 0),
        ({"user_defined_symbols": ["\u00bdx"]}, "\u00bdx \u00bd", 1),
    ],
)
def test_characters_that_sentencepiece_changes(options: dict[str, Any], text: str, changed: int) -> None:
    pytest.importorskip("sentencepiece")
    library = open_library("sentencepiece", made.sentencepiece_model(**options), {}, "")
    assert library.changed(text) == changed


def test_a_blank_after_a_text_has_no_place_in_it(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    model = made.sentencepiece_model(treat_whitespace_as_suffix=True)
    tokenizer = read(made.written(tmp_path / "a.model", model), "sentencepiece")
    for text in ("for x in range", "for x for", "x"):
        pieces = [tokenizer.library.bytes_of(one) for one in tokenizer.encode(text).tolist()]
        borders = tokenizer.offsets(text).tolist()
        assert [text.encode()[a:b] for a, b in pairwise(borders)] == [*pieces[:-1], pieces[-1].removesuffix(b" ")]


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
@pytest.mark.parametrize("split", [True, False])
def test_loss_equals_the_bytes_that_the_library_does_not_restore(scheme: str, split: bool, tmp_path: Path) -> None:
    """Through the library, as a model that ignores merges is not native."""
    values = llama() | {"normalizer": None}
    values["model"]["ignore_merges"] = True
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": split}
    given = [*texts(), "  two", "in  it ", " \n x"]
    for decoder in (metaspace, LLAMA_DECODER, None):
        path = made.written(tmp_path / "a.json", values | {"pre_tokenizer": metaspace, "decoder": decoder})
        library = tokenizers.Tokenizer.from_file(str(path))
        library.encode_special_tokens = True
        ids = [library.encode(text, add_special_tokens=False).ids for text in given]
        back = [library.decode(one, skip_special_tokens=False) for one in ids]
        lost = loss_of(read(path, "tokenizer_json"), [text.encode() for text in given])
        assert lost.documents_changed == sum(a != b for a, b in zip(given, back, strict=True))
        assert lost.characters_normalised == 0


# Ids of a vocabulary's own
def numbered(*ids: int, **more: Any) -> Vocabulary:
    return Vocabulary((*BYTES, b"ab", b"abc"), ids=np.array([*range(10, 266), *ids], np.int32), **more)


@pytest.mark.parametrize(
    ("ids", "special", "told"),
    [
        ((300,), {}, "has 257 ids for 258 tokens"),
        ((300, 300), {}, "has the id 300 twice"),
        ((300, 301), {301: b""}, "has the id 301 twice"),
        ((300, -1), {}, "has the id -1; ids are 0 to 16777215"),
        ((300, 301), {1 << 24: b""}, "has the id 16777216"),
    ],
)
def test_ids_that_are_none(ids: tuple[int, ...], special: dict[int, bytes], told: str) -> None:
    with pytest.raises(TokbenchError, match=told):
        numbered(*ids, special=special)


def test_ids_are_written_and_read(tmp_path: Path) -> None:
    vocabulary = numbered(400, 3, special={7: b"<s>"}, unused={500: b"", 6: b" "})
    assert vocabulary.id_limit == 501
    vocabulary.write(tmp_path)
    again = Vocabulary.read(tmp_path)
    assert again.ids is not None
    assert again.ids.tolist() == vocabulary.ids.tolist()  # type: ignore[union-attr]
    assert (again.special, again.unused) == (vocabulary.special, vocabulary.unused)
    Vocabulary(BYTES).write(tmp_path)
    assert Vocabulary.read(tmp_path).ids is None
    assert Vocabulary.read(tmp_path).special == {}


def test_every_way_of_cutting_gives_the_vocabulary_s_ids(tmp_path: Path) -> None:
    """By kernels, by a scheme without one, and drawn at random; metrics go by place."""
    vocabulary = numbered(400, 3, special={7: b"<s>"})
    for segmentation in ("greedy", "shortest_path", "ranked"):
        tokenizer = Tokenizer(vocabulary, "gpt2", segmentation)
        assert tokenizer.encode("abab xab").tolist() == [400, 400, 42, 130, 400]
        assert tokenizer.decode([7, 3, 400, 10]) == b"<s>abcab\0"
        ids, _ = tokenizer.segment(PretokenCounts.from_pairs([(b"abab", 2)]))
        assert ids.tolist() == [256, 256]
    by_pattern = Tokenizer(vocabulary, {"method": "regex", "pattern": "x.|[^x]+"}, "greedy")
    assert by_pattern.encode("abab xab").tolist() == [400, 400, 42, 130, 107, 108]
    drawn = Tokenizer(vocabulary, "gpt2", "shortest_path", ShortestPathOptions(ties="random", draws="document"))
    assert drawn.encode("ab xab").tolist() == [400, 42, 130, 400]


def test_embedding_rows_follow_the_ids(tmp_path: Path) -> None:
    vocabulary = numbered(400, 3)
    save_file({"transformer.wte.weight": np.arange(404.0)[:, None]}, tmp_path / "model.safetensors")
    found = embeddings_of(vocabulary, tmp_path, np.arange(402))
    assert found.norms[-2:].tolist() == [400, 3]
    assert found.occurrences[:2].tolist() == [10, 11]
    assert found.to_frame()["id"].to_list()[-2:] == [400, 3]


def test_packing_leaves_every_id_its_own(tmp_path: Path, tokbench: Tokbench) -> None:
    """The end of a text is the first id after all of the file's."""
    Tokenizer(numbered(400, 3, special={7: b"<s>", 450: b"</s>"}), "gpt2", "greedy", name="a").save(tmp_path / "a")
    with open_shards([tmp_path / "0000.parquet"]) as add:
        add(Document(0, "en", b"abc ab"))
    line = ["pack", tmp_path / "a", "--sequence-length", 4, tmp_path / "0000.parquet", "-o", tmp_path / "packed"]
    assert tokbench(*line).status == 0
    assert np.concatenate(list(read_mds(tmp_path / "packed"))).ravel().tolist() == [3, 42, 400, 451]


def test_the_end_of_a_text_is_the_file_s_where_it_has_one(tmp_path: Path, tokbench: Tokbench) -> None:
    vocabulary = numbered(400, 3, special={7: END_OF_TEXT.encode(), 450: b"</s>"})
    Tokenizer(vocabulary, "gpt2", "greedy", name="a").save(tmp_path / "a")
    with open_shards([tmp_path / "0000.parquet"]) as add:
        add(Document(0, "en", b"abc ab"))
    line = ["pack", tmp_path / "a", "--sequence-length", 6, tmp_path / "0000.parquet", "-o", tmp_path / "packed"]
    assert tokbench(*line, "--token-counts", tmp_path / "counts.parquet").status == 0
    assert np.concatenate(list(read_mds(tmp_path / "packed"))).ravel().tolist() == [3, 42, 400, 7, 452, 452]
    occurrences = read_occurrences(tmp_path / "counts.parquet", 451, Maker(Tokenizer.load(tmp_path / "a").digest, "a"))
    assert (occurrences[[3, 7, 42, 400]].tolist(), occurrences.sum()) == ([1, 1, 1, 1], 4)
    assert Packing.read(tmp_path / "packed").end_of_text == 7


def test_initial_vocabulary_with_external_ids_is_rejected(tmp_path: Path, tokbench: Tokbench) -> None:
    Tokenizer(numbered(400, 3), "gpt2", "greedy").save(tmp_path / "a")
    count_pretokens(TOPICS, "gpt2").write(tmp_path / "counts.parquet")
    line = ["build", "pathpiece", "--counts", tmp_path / "counts.parquet", "--size", 300, "-o", tmp_path / "out"]
    assert (
        "is an external tokenizer, whose first ids are not the bytes"
        in tokbench(*line, "--initial", tmp_path / "a").message
    )
