"""Ranks of tiktoken and of Tekken, plain files of tokens and merges: ids equal those of their libraries; mistakes.

Tokenizers that people use, as their makers distribute them: ids as those of their own libraries.

Tests use a part of each text; ``TOKBENCH_EXISTING=1`` uses all of it, and more random strings.
"""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import gzip
import hashlib
import json
import os
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings

from tests.conftest import ODD
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import DATA, STRINGS, TEXT, few, level, library_ids, needs, ranks, read, why  # noqa: F401
from tokbench.adapters.forms import encodings
from tokbench.adapters.forms.encodings import OTHER_RANKS, RANKS, Ranks, special_tokens_of
from tokbench.adapters.forms.parsed import ReadOptions
from tokbench.adapters.loss import loss_of
from tokbench.adapters.probes import probes
from tokbench.adapters.read import read_tokenizer
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.libraries import Library, open_library
from tokbench.vocabulary import BYTES, Vocabulary


@given(STRINGS)
@settings(max_examples=30)
def test_ranks_have_the_ids_of_tiktoken(ranks: dict[bytes, int], text: str) -> None:
    import tiktoken

    for pattern in (made.CL100K, "[a-z]+|[^a-z]", r"\s+|\S"):
        encoding = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        setting = {"method": "regex", "pattern": pattern}
        tokenizer = Tokenizer(Vocabulary(tuple(ranks), ids=np.arange(len(ranks), dtype=np.int32)), setting, "ranked")
        assert tokenizer.encode(text).tolist() == encoding.encode_ordinary(text)


def test_ranks(ranks: dict[bytes, int], tmp_path: Path) -> None:
    """Ids with a hole; packed or not; by the pattern's name or the pattern."""
    holed = {token: rank + (rank > 300) for token, rank in ranks.items()} | {b"not joined": 500}
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(holed))
    by_name = read(path, "tiktoken", pattern="cl100k_base")
    by_pattern = read(path, "tiktoken", pattern=made.CL100K)
    assert by_name.segmentation == by_pattern.segmentation == "ranked"
    assert by_name.pretokenization == by_pattern.pretokenization == "cl100k"
    assert why(by_name).startswith("ids equal those of tiktoken on ")
    ids = by_name.encode(TEXT + " not joined")
    assert by_pattern.encode(TEXT + " not joined").tolist() == ids.tolist()
    assert 301 not in ids
    assert (len(by_name), by_name.id_limit) == (421, 501)
    assert by_name.decode(ids) == (TEXT + " not joined").encode()


SPECIAL = {"<|endoftext|>": 430, "<s>": 425, "<|é x|>": 500}


@pytest.mark.parametrize("pattern", ["gpt2", "[a-z]+| "])
def test_special_tokens_of_ranks(pattern: str, ranks: dict[bytes, int], tmp_path: Path) -> None:
    """They are text in texts, and ids that stand for their names, whichever library works."""
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(path, "tiktoken", pattern=pattern, special_tokens=SPECIAL)
    without = read(path, "tiktoken", pattern=pattern)
    assert isinstance(tokenizer, AdaptedTokenizer) == (pattern != "gpt2")
    assert tokenizer.origin["imported"]["told"] == ["3 special tokens given are text in texts"]
    tokenizer.save(tmp_path / "saved")
    for one in (tokenizer, Tokenizer.load(tmp_path / "saved")):
        assert one.encode("a<s><|endoftext|>").tolist() == without.encode("a<s><|endoftext|>").tolist()
        assert one.decode([*without.encode("a"), 500, 425, 430]) == "a<|é x|><s><|endoftext|>".encode()
        assert (len(one), one.id_limit, one.end_of_text) == (420, 501, 430)


def test_special_tokens_of_ranks_that_are_tokens(ranks: dict[bytes, int], tmp_path: Path) -> None:
    import tiktoken

    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(path, "tiktoken", pattern="cl100k", special_tokens=SPECIAL, added="tokens")
    theirs = tiktoken.Encoding("a", pat_str=made.CL100K, mergeable_ranks=ranks, special_tokens=SPECIAL)
    text = "a<s> b<|é x|><|endoftext|>\n<s"
    assert tokenizer.encode(text).tolist() == theirs.encode(text, allowed_special="all")
    assert tokenizer.decode(tokenizer.encode(text)) == text.encode()
    assert why(tokenizer) == "3 special tokens are cut out of a text before it is cut into pre-tokens"
    assert (len(tokenizer), tokenizer.id_limit) == (423, 501)


def test_published_encodings_have_the_special_tokens_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the library has them, which is asked for no file; of two names of one id the one with a meaning is taken."""
    from tiktoken_ext import openai_public

    asked: list[str] = []

    def load(url: str, expected_hash: str) -> dict[bytes, int]:
        asked.append(expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load)
    monkeypatch.setattr(
        openai_public, "data_gym_to_mergeable_bpe_ranks", lambda **files: load("", RANKS["gpt2"].sha256)
    )
    assert RANKS.keys() == openai_public.ENCODING_CONSTRUCTORS.keys()
    for name, known in RANKS.items():
        theirs = openai_public.ENCODING_CONSTRUCTORS[name]()["special_tokens"]
        ours = special_tokens_of(name)
        assert ours.items() <= theirs.items()
        assert (sorted(ours.values()), known.sha256) == (sorted(set(theirs.values())), asked[-1])


def test_published_ranks_are_detected_from_their_lines(
    ranks: dict[bytes, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By every line, in whatever order; the name of a pattern tells apart encodings of equal ranks, and no more."""
    content = made.tiktoken_file(ranks)
    known = Ranks(420, hashlib.sha256(content).hexdigest())
    shifted = {"p50k_base": {420: "<|endoftext|>"}, "p50k_edit": {420: "<|endoftext|>", 421: "<|fim_prefix|>"}}
    monkeypatch.setattr(encodings, "RANKS", dict.fromkeys(shifted, known))
    monkeypatch.setattr(
        "tokbench.adapters.forms.tiktoken.special_tokens_of",
        lambda name: {token: number for number, token in shifted[name].items()},
    )
    path = made.written(tmp_path / "a.tiktoken", b"\r\n".join(sorted(content.splitlines())))
    by_base, by_edit, by_other, given = (
        read(path, "tiktoken", **options).origin["imported"]
        for options in (
            {"pattern": "p50k"},
            {"pattern": "p50k_edit"},
            {},
            {"pattern": "p50k_edit", "special_tokens": {"<s>": 500}},
        )
    )
    assert by_base["told"] == ["1 special token of p50k_base, which has these ranks, is text in texts"]
    assert by_edit["told"] == ["2 special tokens of p50k_edit, which has these ranks, are text in texts"]
    assert (by_base["ids"], by_edit["ids"]) == (421, 422)
    assert by_other["told"] == ["the pattern is that of p50k_base, which has these ranks", *by_base["told"]]
    with pytest.raises(TokbenchError, match=r"--pattern \S+ is not that of p50k_base, which has these ranks, and"):
        read(path, "tiktoken", pattern="o200k_harmony")
    with pytest.raises(TokbenchError, match=r"gives other ids; leave --pattern out, or name p50k_base$"):
        read(path, "tiktoken", pattern="none")
    same = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    assert read(path, "tiktoken", pattern=same).origin["imported"]["ids"] == 421
    assert given["told"] == ["1 special token given in place of those of p50k_edit is text in texts"]
    other = made.written(tmp_path / "b.tiktoken", content.replace(b" 419\n", b" 430\n"))
    told = read(other, "tiktoken", pattern="p50k_edit").origin["imported"]["told"]
    assert told == ["special tokens are not in the file: in texts they are text"]


def test_special_tokens_of_qwen() -> None:
    """As in the configuration of the class ``Qwen3_5Config`` of transformers."""
    special = special_tokens_of("qwen3_5")
    assert [special[f"<|{name}|>"] for name in ("vision_start", "vision_end", "image_pad", "video_pad")] == [
        *(248053, 248054, 248056, 248057)
    ]
    assert sorted(special.values()) == [*range(OTHER_RANKS["qwen3_5"].size, 248077)]


def test_text_that_the_pattern_does_not_match_is_lost_by_tiktoken(ranks: dict[bytes, int], tmp_path: Path) -> None:
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(path, "tiktoken", pattern="[a-z]+| ")
    assert why(tokenizer).startswith("its pattern may leave out characters, which tiktoken drops")
    assert tokenizer.decode(tokenizer.encode("a B c")) == b"a  c"
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").encode("a B c").tolist() == tokenizer.encode("a B c").tolist()


def test_tekken(ranks: dict[bytes, int], tmp_path: Path) -> None:
    tokenizer = read(made.written(tmp_path / "tekken.json", made.tekken(ranks)), "tekken")
    assert why(tokenizer).startswith("ids equal those of tiktoken on ")
    assert tokenizer.encode("!").tolist() == [ranks[b"!"] + 7]
    assert tokenizer.decode([0, 6, ranks[b"!"] + 7]) == b"<unk><SPECIAL_6>!"
    assert (len(tokenizer), tokenizer.id_limit) == (420, 427)
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD


def test_mistakes_in_ranks_name_line_and_entry(ranks: dict[bytes, int], tmp_path: Path) -> None:
    """The line, the entry and the key, and of a rank that is too large that it is."""
    content = made.tiktoken_file(ranks)
    for wrong, told in (
        (b"\xef\xbb\xbf" + content, r"a\.tiktoken:1: .* after a byte order mark, which is not allowed"),
        (content + b"YWFhYWFhYWFhYWFhYQ== 200000000\n", "the rank 200000000 is over 16777215, the largest id here"),
        (content + b"YWFhYWFhYWFhYWFhYQ== -1\n", "is not a token in base64 with its rank"),
    ):
        with pytest.raises(TokbenchError, match=told):
            read(made.written(tmp_path / "a.tiktoken", wrong), "tiktoken", pattern="gpt2")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("config", ..., r"\(the key 'config' is missing\)"),
        ("config", None, "'config' is not an object"),
        ("vocab", {}, "'vocab' not a list"),
        ("vocab.3", {"rank": 3, "token_bytes": None}, r"vocab\[3\]\.token_bytes is null, not text"),
        ("vocab.3", {"rank": 3, "token_bytes": "?"}, r"vocab\[3\]\.token_bytes is not base64"),
        ("vocab.3", {"rank": "3", "token_bytes": ""}, r"vocab\[3\]\.rank is \"3\", not a number"),
        ("vocab.3", {"rank": -3}, r"vocab\[3\]\.rank is -3"),
        ("vocab.3", {}, r"vocab\[3\] has no rank"),
        ("vocab.3", 5, r"vocab\[3\] has no rank"),
        ("special_tokens", [{"rank": 7, "token_str": "a"}], r"\[0\]\.rank is 7, and default_num_special_tokens is 7"),
        ("special_tokens", [{"rank": -1, "token_str": "a"}], r"special_tokens\[0\]\.rank is -1"),
        ("special_tokens", [{"rank": 1, "token_str": "a"}] * 2, r"special_tokens\[1\] has the rank or the name of"),
        ("special_tokens", [{"rank": 0}], r"special_tokens\[0\] has no token_str"),
        ("special_tokens", [{"rank": True, "token_str": "a"}], r"special_tokens\[0\]\.rank is true, not a number"),
    ],
)
def test_mistakes_in_tekken_files_name_the_key(
    key: str, value: Any, told: str, ranks: dict[bytes, int], tmp_path: Path
) -> None:
    values = made.tekken(ranks)
    name, _, place = key.partition(".")
    if value is ...:
        del values[name]
    elif place:
        values[name][int(place)] = value
    else:
        values[name] = value
    with pytest.raises(TokbenchError, match=told):
        read(made.written(tmp_path / "tekken.json", values), "tekken")


RARE = (0xC0, 0xC1, *range(0xF5, 0x100))


@pytest.mark.parametrize("form", ["tiktoken", "tekken"])
def test_ranks_without_the_bytes_that_utf8_lacks(form: str, ranks: dict[bytes, int], tmp_path: Path) -> None:
    """The library encodes every UTF-8 text; what is not UTF-8 is replaced."""
    kept = [token for token in ranks if token not in {bytes([value]) for value in RARE}]
    some = {token: rank for rank, token in enumerate(kept)}
    content: Any = made.tiktoken_file(some) if form == "tiktoken" else made.tekken(some)
    options = {"pattern": "cl100k"} if form == "tiktoken" else {}
    tokenizer = read(made.written(tmp_path / "a", content), form, **options)
    assert isinstance(tokenizer, AdaptedTokenizer)
    assert why(tokenizer) == (
        "13 of the 256 bytes are no tokens (first: c0), so that text that is not UTF-8 cannot be encoded as it is"
    )
    assert tokenizer.decode(tokenizer.encode(TEXT)).decode() == TEXT
    assert tokenizer.decode(tokenizer.encode(b"a\xffb")).decode() == "a\ufffdb"
    assert len(tokenizer) == len(ranks) - 13
    with pytest.raises(TokbenchError, match=r"--segmentation greedy: .* tiktoken reads this file"):
        read(tmp_path / "a", form, segmentation="greedy", **options)
    del some[b"\xe2"]
    content = made.tiktoken_file(some) if form == "tiktoken" else made.tekken(some)
    with pytest.raises(TokbenchError, match=r"14 of the 256 bytes are not tokens \(first: e2\)"):
        read(made.written(tmp_path / "a", content), form, **options)


# Plain files


def test_tokens(tmp_path: Path) -> None:
    lines = "\n".join(token.hex() for token in (b"the", *reversed(BYTES), b"he"))
    tokenizer = read(made.written(tmp_path / "a.vocab", lines), "tokens", pattern="gpt2", segmentation="greedy")
    assert tokenizer.encode("the he").tolist() == [0, 256 - 32, 257]
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").encode("the he").tolist() == [0, 256 - 32, 257]


def test_merges(level: dict[str, Any], tmp_path: Path) -> None:
    """With a vocabulary beside them ids are its own, without one they are GPT-2's."""
    lines = "\n".join(["#version: 0.2", *(" ".join(pair) for pair in level["model"]["merges"]), ""])
    path = made.written(tmp_path / "merges.txt", lines)
    alone = read(path, "merges")
    assert alone.pretokenization == "gpt2"
    assert alone.encode("!").tolist() == [0]
    made.written(tmp_path / "vocab.json", level["model"]["vocab"])
    for tokenizer in (read(path, "merges"), read(tmp_path, "merges"), read(tmp_path, "transformers")):
        assert tokenizer.encode(TEXT).tolist() == library_ids(level, TEXT)


def test_tokens_that_no_merge_makes_are_special(level: dict[str, Any], tmp_path: Path) -> None:
    """As GPT-2's own end of text, which no merge makes; what merges make is a token, whatever it looks like."""
    merges = [*level["model"]["merges"], ["<", "|"]]
    path = made.written(tmp_path / "merges.txt", "\n".join(" ".join(pair) for pair in merges))
    size = len(level["model"]["vocab"])
    made.written(tmp_path / "vocab.json", level["model"]["vocab"] | {"<|": size, "<|endoftext|>": size + 1})
    tokenizer = read(path, "merges")
    assert (len(tokenizer), tokenizer.id_limit, tokenizer.end_of_text) == (size + 1, size + 2, size + 1)
    assert size in tokenizer.encode("<|endoftext|>")
    assert tokenizer.decode([size + 1]) == b"<|endoftext|>"


@pytest.mark.parametrize("head", ["", "#version: 0.2\n"])
def test_merges_may_begin_with_a_byte_order_mark(head: str, level: dict[str, Any], tmp_path: Path) -> None:
    merges = head + "\n".join(" ".join(pair) for pair in level["model"]["merges"])
    plain = read(made.written(tmp_path / "plain.txt", merges), "merges")
    marked = read(made.written(tmp_path / "marked.txt", "\ufeff" + merges), "merges")
    assert marked.vocabulary.tokens == plain.vocabulary.tokens
    assert (marked.encode(TEXT).tolist(), len(marked)) == (plain.encode(TEXT).tolist(), len(level["model"]["vocab"]))


def test_a_segmentation_that_is_chosen(ranks: dict[bytes, int], tmp_path: Path) -> None:
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(path, "tiktoken", pattern="gpt2", segmentation="greedy")
    assert why(tokenizer) == "segmentation 'greedy' was chosen here, so no library has its ids"
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD


EXISTING = DATA / "existing"
NATIVE: dict[str, tuple[str, dict[str, Any], int, int]] = {
    "gpt2.tiktoken.gz": ("tiktoken", {"pattern": "gpt2"}, 50256, 50257),
    "p50k_base.tiktoken.gz": ("tiktoken", {"pattern": "p50k_base"}, 50280, 50281),
    "cl100k_base.tiktoken.gz": ("tiktoken", {"pattern": "cl100k"}, 100256, 100277),
    "o200k_base.tiktoken.gz": ("tiktoken", {"pattern": "o200k"}, 199998, 200019),
    "qwen.tiktoken.gz": ("tiktoken", {"pattern": "qwen"}, 151643, 151851),
    "mistral_tekken_240911.json.gz": ("tekken", {}, 130072, 131072),
    "deepseek_v3_tokenizer.json.gz": ("tokenizer_json", {}, 128050, 129280),
}
"""Those that become ours: form, options, tokens, ids."""
ADAPTED: dict[str, tuple[str, int, int]] = {
    "claude_2_tokenizer.json.gz": ("tokenizer_json", 64995, 65000),
}
"""Those that work through their library: form, tokens, ids."""
TEXTS = (
    *("english/novels", "multilingual/flores101", "multilingual/ntrex128", "multilingual/udhr"),
    *("multilingual/german_novels", "multilingual/ukrainian_novels"),
)
ALL = bool(os.environ.get("TOKBENCH_EXISTING"))
PIECE = 2000
"""Characters of every document."""
EXISTING_REAL_STRINGS = 10_000 if ALL else 200
PIECES = (
    *(" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "\u2019", "a", "Ab", "ZZ", "1", "23", "4567", "!", "?!", "/", "//"),
    *("\u4e2d", "\u00e9", "e\u0301", "\u00a0", "\u2028", "<|endoftext|>", "\U0001f642", "\ufb01", "\u017f"),
)


@cache
def documents() -> list[str]:
    found = []
    for name in TEXTS:
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        found += texts if ALL else [text[len(text) // 2 :][:PIECE] for text in texts[:: max(1, len(texts) // 12)]]
    return found


@cache
def strings() -> list[str]:
    """Random strings of characters that every library knows, among them what patterns tell apart."""
    return list(_strings())


def _strings() -> Iterator[str]:
    draw = Random(1)
    known = [
        chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs") and code != 0x295
    ]
    for _ in range(EXISTING_REAL_STRINGS):
        length = draw.randrange(1, 40)
        yield "".join(draw.choice(known) if draw.random() < 0.5 else draw.choice(PIECES) for _ in range(length))


def both(name: str, form: str, options: dict[str, Any]) -> tuple[Tokenizer, Library]:
    """The tokenizer, and the library that was opened to hold it against."""
    opened: list[Library] = []

    def noted(*given: Any) -> Library:
        opened.append(open_library(*given))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        for module in ("read", "forms.tokenizer_json"):
            patch.setattr(f"tokbench.adapters.{module}.open_library", noted)
        tokenizer = read_tokenizer(EXISTING / name, form, ReadOptions(**options))
    [library] = opened
    return tokenizer, library


def untouched(name: str) -> Callable[[str], list[int]]:
    """Ids of a library for its own file; no text has a special token."""
    content = gzip.decompress((EXISTING / name).read_bytes())
    if name.endswith(".json.gz"):
        library = tokenizers.Tokenizer.from_str(content.decode())
        return lambda text: list(library.encode(text, add_special_tokens=False).ids)
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=content)
    return lambda text: list(processor.encode(text))


@needs(EXISTING)
@pytest.mark.parametrize("name", NATIVE)
def test_ids_are_those_of_the_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form, options, tokens, ids = NATIVE[name]
    if not ALL:
        some = probes()[::11]
        monkeypatch.setattr("tokbench.adapters.read.probes", lambda: some)
    tokenizer, library = both(name, form, options)
    assert not isinstance(tokenizer, AdaptedTokenizer), tokenizer.origin
    assert (len(tokenizer), tokenizer.id_limit) == (tokens, ids)
    for text in (*documents(), *strings()):
        found = tokenizer.encode(text)
        assert found.tolist() == list(library.encode(text))
        assert tokenizer.decode(found) == text.encode()
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD
    assert tokenizer.decode(tokenizer.encode(bytes(range(256)) * 2)) == bytes(range(256)) * 2


@needs(EXISTING)
@pytest.mark.parametrize(
    ("name", "tokens", "ids"), [("mistral_v1.model.gz", 31872, 32000), ("mistral_v3.model.gz", 31892, 32768)]
)
def test_models_of_mistral_have_the_ids_of_the_library(
    name: str, tokens: int, ids: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of the text that it decodes. Its runs of spaces have one score, and bytes of ASCII are never used."""
    if not ALL:
        some = probes()[::11]
        monkeypatch.setattr("tokbench.adapters.read.probes", lambda: some)
    tokenizer = read_tokenizer(EXISTING / name, "sentencepiece")
    assert (tokenizer.segmentation, tokenizer.normalization.steps) == ("merge_scores", ("metaspace", "space"))
    assert (len(tokenizer), tokenizer.id_limit) == (tokens, ids)
    ids_of = untouched(name)
    texts = documents() if ALL else documents()[::3]
    for text in (*texts, *strings(), *(" " * size for size in range(40))):
        found = tokenizer.encode(text).tolist()
        assert found == ids_of(text)
        assert tokenizer.decode(found) == text.replace("\u2581", " ").encode()
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD


@needs(EXISTING)
@pytest.mark.parametrize("name", ADAPTED)
def test_adapters_have_the_ids_of_the_library(name: str, tmp_path: Path) -> None:
    """Also once saved. What they lose is seen: NFKC changes characters, and a space at the start goes."""
    form, tokens, ids = ADAPTED[name]
    tokenizer = read_tokenizer(EXISTING / name, form)
    ids_of = untouched(name)
    tokenizer.save(tmp_path / "saved")
    loaded = Tokenizer.load(tmp_path / "saved")
    assert isinstance(loaded, AdaptedTokenizer)
    assert (len(loaded), loaded.id_limit) == (tokens, ids)
    texts = documents() if ALL else documents()[::3]
    for text in texts:
        assert loaded.encode(text).tolist() == ids_of(text)
    lost = loss_of(loaded, ["\ufb01ne \u00bd".encode(), b"  two spaces", b"a  b"])
    assert lost.documents_changed == name.startswith("claude")
    assert lost.unknown_tokens == 0
    assert lost.characters_normalised == (2 if name.startswith("claude") else 0)
