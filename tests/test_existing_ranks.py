"""Ranks of tiktoken and of Tekken, plain files of tokens and merges: ids as their libraries', and what is wrong."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests import made_elsewhere as made
from tests.conftest import ODD
from tests.existing import STRINGS, TEXT, few, level, library_ids, ranks, read, why  # noqa: F401
from tokbench.adapters.adapted import AdaptedTokenizer
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
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


def test_what_a_pattern_does_not_match_is_lost_by_tiktoken(ranks: dict[bytes, int], tmp_path: Path) -> None:
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(path, "tiktoken", pattern="[a-z]+| ")
    assert why(tokenizer).startswith("ids of ours differ from those of tiktoken on '")
    assert tokenizer.decode(tokenizer.encode("a B c")) == b"a  c"
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").encode("a B c").tolist() == tokenizer.encode("a B c").tolist()


def test_a_pattern_that_our_engine_reads_otherwise_goes_to_tiktoken(ranks: dict[bytes, int], tmp_path: Path) -> None:
    """``$`` matches before a last line feed in one engine and not in the other."""
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(path, "tiktoken", pattern=r"a+$|a|\n|[^a\n]+")
    told = why(tokenizer)
    assert isinstance(tokenizer, AdaptedTokenizer) == told.startswith("ids of ours differ from those of tiktoken")
    assert tokenizer.decode(tokenizer.encode("aaa\naaa\n")) == b"aaa\naaa\n"


def test_tekken(ranks: dict[bytes, int], tmp_path: Path) -> None:
    tokenizer = read(made.written(tmp_path / "tekken.json", made.tekken(ranks)), "tekken")
    assert why(tokenizer).startswith("ids equal those of tiktoken on ")
    assert tokenizer.encode("!").tolist() == [ranks[b"!"] + 7]
    assert tokenizer.decode([0, 6, ranks[b"!"] + 7]) == b"<unk><SPECIAL_6>!"
    assert (len(tokenizer), tokenizer.id_limit) == (420, 427)
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD


def test_what_is_wrong_with_ranks_is_named(ranks: dict[bytes, int], tmp_path: Path) -> None:
    """The line, the entry and the key, and of a rank that is too large that it is."""
    content = made.tiktoken_file(ranks)
    for wrong, told in (
        (b"\xef\xbb\xbf" + content, r"a\.tiktoken:1: .* after a byte order mark, which has no place there"),
        (content + b"YWFhYWFhYWFhYWFhYQ== 200000000\n", "the rank 200000000 is over 16777215, the largest id here"),
        (content + b"YWFhYWFhYWFhYWFhYQ== -1\n", "is no token in base64 with its rank"),
    ):
        with pytest.raises(TokbenchError, match=told):
            read(made.written(tmp_path / "a.tiktoken", wrong), "tiktoken", pattern="gpt2")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("config", ..., r"\(the key 'config' is missing\)"),
        ("config", None, "'config' is no object"),
        ("vocab", {}, "'vocab' no list"),
        ("vocab.3", {"rank": 3, "token_bytes": None}, r"vocab\[3\]\.token_bytes is null and no text"),
        ("vocab.3", {"rank": 3, "token_bytes": "?"}, r"vocab\[3\]\.token_bytes is no base64"),
        ("vocab.3", {"rank": "3", "token_bytes": ""}, r"vocab\[3\]\.rank is \"3\" and no number"),
        ("vocab.3", {"rank": -3}, r"vocab\[3\]\.rank is -3"),
        ("vocab.3", {}, r"vocab\[3\] has no rank"),
        ("vocab.3", 5, r"vocab\[3\] has no rank"),
        ("special_tokens", [{"rank": 0}], r"special_tokens\[0\] has no token_str"),
        ("special_tokens", [{"rank": True, "token_str": "a"}], r"special_tokens\[0\]\.rank is true and no number"),
    ],
)
def test_what_is_wrong_with_tekken_is_named(
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


def test_marks_beside_merges_are_special(level: dict[str, Any], tmp_path: Path) -> None:
    """As GPT-2's own end of text, which no merge makes; what merges make is a token, whatever it looks like."""
    merges = [*level["model"]["merges"], ["<", "|"]]
    path = made.written(tmp_path / "merges.txt", "\n".join(" ".join(pair) for pair in merges))
    size = len(level["model"]["vocab"])
    made.written(tmp_path / "vocab.json", level["model"]["vocab"] | {"<|": size, "<|endoftext|>": size + 1})
    tokenizer = read(path, "merges")
    assert (len(tokenizer), tokenizer.id_limit, tokenizer.end_of_text) == (size + 1, size + 2, size + 1)
    assert size in tokenizer.encode("<|endoftext|>")
    assert tokenizer.decode([size + 1]) == b"<|endoftext|>"


def test_a_segmentation_that_is_chosen(ranks: dict[bytes, int], tmp_path: Path) -> None:
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(path, "tiktoken", pattern="gpt2", segmentation="greedy")
    assert why(tokenizer) == "segmentation 'greedy' was chosen here, so no library has its ids"
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD
