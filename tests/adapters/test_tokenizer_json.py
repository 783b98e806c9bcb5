"""Import of an external tokenizer.json: pre-tokenization, models, special and added tokens, ids."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import json
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, pre_tokenizers, trainers

from tests.conftest import ODD
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import TEXT, level, library_ids, read, why  # noqa: F401
from tokbench.adapters.export_hugging_face import export
from tokbench.adapters.forms.patterns import native_setting
from tokbench.adapters.forms.tokenizer_json import _translation
from tokbench.adapters.read import read_tokenizer
from tokbench.errors import TokbenchError
from tokbench.pretokenization import pretokenization_of
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.hugging_face import unspell
from tokbench.tokenizer.libraries.hugging_face import HuggingFace
from tokbench.vocabulary import BYTES, Vocabulary


def test_byte_level_merges_become_ours(level: dict[str, Any], tmp_path: Path) -> None:
    path = made.written(tmp_path / "tokenizer.json", level)
    tokenizer = read(path, "tokenizer_json")
    assert (tokenizer.segmentation, tokenizer.pretokenization) == ("merge", "gpt2")
    assert why(tokenizer).startswith("ids equal those of tokenizers on ")
    for text in (TEXT, "", *made.TEXTS):
        assert tokenizer.encode(text).tolist() == library_ids(level, text)
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD


@pytest.mark.parametrize(
    ("steps", "setting"),
    [
        ([made.split(made.CL100K)], "cl100k"),
        ([made.split(r"\p{N}{1,3}"), made.split(r"\s+")], None),
        ([{"type": "Digits", "individual_digits": True}], None),
        ([{"type": "Sequence", "pretokenizers": [made.split("a|b"), made.split("[c-f]+")]}], None),
        ([{"type": "Split", "pattern": {"String": "a."}, "behavior": "Isolated", "invert": True}], None),
        ([made.split(made.CL100K, "Removed") | {"invert": True}], "cl100k"),
        ([made.split(made.KIMI_K2)], "kimi_k2"),
        ([made.split(r"\s", "MergedWithNext")], None),
        ([made.split(r"[a-e\s&&[^c]]", "Contiguous")], None),
    ],
)
@pytest.mark.parametrize("use_regex", [False, True])
def test_cuts_become_ours(
    steps: list[Any], setting: str | None, use_regex: bool, level: dict[str, Any], tmp_path: Path
) -> None:
    values = deepcopy(level)
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}
    values["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*steps, last]}
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer).startswith("ids equal")
    if setting and not use_regex:
        assert tokenizer.pretokenization == setting
    for text in (TEXT, "a.b a. ab cafe", *made.TEXTS):
        assert tokenizer.encode(text).tolist() == library_ids(values, text)


@given(st.sampled_from([",", r"[,\u00e9]", " ", r"\s", r"[a\s&&[^\n]]"]), st.text("a,\u00e9 \n\u2028", max_size=9))
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("behavior", ["isolated", "merged_with_previous", "merged_with_next", "contiguous"])
def test_splits_by_one_character_cut_as_the_library_does(behavior: str, invert: bool, pattern: str, text: str) -> None:
    step = pre_tokenizers.Split(tokenizers.Regex(pattern), behavior, invert=invert)
    scheme = pretokenization_of(native_setting([_translation(json.loads(step.__getstate__()))]))
    data = text.encode()
    pieces = [data[start:end].decode() for start, end in pairwise(scheme.boundaries(data).tolist())]
    assert pieces == [piece for piece, _ in step.pre_tokenize_str(text)]


def test_ignore_merges_keeps_pretokens_that_are_tokens(level: dict[str, Any], tmp_path: Path) -> None:
    """Tokens that no merge makes are reached so, and holes in the ids stay where they are."""
    values = deepcopy(level)
    values["model"]["ignore_merges"] = True
    values["model"]["vocab"] |= {"\u0120paying": 900, "zzyzx": 1000}
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert tokenizer.segmentation == "whole_or_merge"
    text = "I am paying zzyzx zzyzx"
    assert tokenizer.encode(text).tolist() == library_ids(values, text)
    assert {900} < set(tokenizer.encode("zzyzx paying").tolist()) == {900, 1000}
    assert tokenizer.decode([1000, 900]) == b"zzyzx paying"
    assert (len(tokenizer), tokenizer.id_limit) == (422, 1001)
    with pytest.raises(TokbenchError, match="id 950 is not in the vocabulary, whose ids have gaps"):
        tokenizer.decode([900, 950])


@pytest.mark.parametrize("whole", [False, True])
def test_special_tokens_that_texts_are_cut_within_are_special(
    whole: bool, level: dict[str, Any], tmp_path: Path
) -> None:
    """They stand among the model's tokens; one that may be a whole pre-token is text's where merges are ignored."""
    values = deepcopy(level)
    values["model"]["ignore_merges"] = whole
    values["model"]["vocab"] |= {"<|endoftext|>": 420, "zzyzx": 421}
    values["added_tokens"] = [made.added(420, "<|endoftext|>", special=True), made.added(421, "zzyzx", special=True)]
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert tokenizer.segmentation == ("whole_or_merge" if whole else "merge"), why(tokenizer)
    assert 420 in tokenizer.vocabulary.special
    assert (421 in tokenizer.vocabulary.special) != whole
    assert (len(tokenizer), tokenizer.id_limit) == (420 + whole, 422)
    text = "<|endoftext|> zzyzx\nzzyzx<|endoftext|>"
    assert tokenizer.encode(text).tolist() == library_ids(values, text)


def test_special_tokens_of_an_export_come_back(level: dict[str, Any], tmp_path: Path) -> None:
    vocabulary = Vocabulary(
        (*BYTES, b"ab", b"abc"), ids=np.arange(258, dtype=np.int32), special={258: b"<|endoftext|>"}
    )
    made_here = Tokenizer(vocabulary, "gpt2", "ranked")
    assert export(made_here, None, tmp_path).startswith("tokenizer.json gives the same ids")
    tokenizer = read(tmp_path / "tokenizer.json", "tokenizer_json")
    assert len(tokenizer) == 258
    assert tokenizer.vocabulary.special[258] == b"<|endoftext|>"


def test_dropout_is_switched_off(level: dict[str, Any], tmp_path: Path) -> None:
    values = deepcopy(level)
    values["model"]["dropout"] = 0.5
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert tokenizer.origin["imported"]["told"] == ["dropout is off"]
    assert tokenizer.encode(TEXT).tolist() == library_ids(level, TEXT)


def test_of_equal_merges_the_last_counts(level: dict[str, Any], tmp_path: Path) -> None:
    values = deepcopy(level)
    values["model"]["merges"].append(values["model"]["merges"][0])
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer).startswith("ids equal")
    for text in made.TEXTS:
        assert tokenizer.encode(text).tolist() == library_ids(values, text)


def test_tokens_that_no_merge_makes_are_unused(level: dict[str, Any], tmp_path: Path) -> None:
    """Merges of such tokens never apply; with another segmentation they are tokens."""
    values = deepcopy(level)
    values["model"]["vocab"] |= {"xyz": 420, "xyzq": 421}
    values["model"]["merges"].append(["xyz", "q"])
    path = made.written(tmp_path / "tokenizer.json", values)
    tokenizer = read(path, "tokenizer_json")
    assert why(tokenizer).startswith("ids equal")
    assert (len(tokenizer), tokenizer.id_limit) == (420, 422)
    assert (tokenizer.vocabulary.unused, tokenizer.vocabulary.special) == ({420: b"xyz", 421: b"xyzq"}, {})
    tokenizer.save(tmp_path / "saved")
    for one in (tokenizer, Tokenizer.load(tmp_path / "saved")):
        assert one.encode("xyzq").tolist() == library_ids(values, "xyzq")
        assert one.decode([420, 421]) == b"xyzxyzq"
    assert len(read(path, "tokenizer_json", segmentation="greedy")) == 422


def test_unigram_over_bytes_becomes_ours(tmp_path: Path) -> None:
    values = made.byte_unigram()
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert tokenizer.segmentation == "likelihood", why(tokenizer)
    for text in (TEXT, *made.TEXTS):
        assert tokenizer.encode(text).tolist() == library_ids(values, text)


def test_scores_are_the_doubles_that_the_library_reads(tmp_path: Path) -> None:
    """Of "baaa", b a aa and b aa a have one sum but for its rounding."""
    values = made.byte_unigram()
    letters = [chr(one) for one in range(97, 123)]
    scores = -np.random.default_rng(1).uniform(2, 12, 2 * len(letters))
    drawn = dict(zip([*letters, *(2 * one for one in letters)], scores.tolist(), strict=True))
    kept = [(spelt, score) for spelt, score in values["model"]["vocab"] if spelt not in drawn]
    values["model"]["vocab"] = [*kept, *drawn.items()]
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert tokenizer.segmentation == "likelihood", why(tokenizer)
    for text in (before + 3 * one for before in letters for one in letters):
        assert tokenizer.encode(text).tolist() == library_ids(values, text)


@pytest.mark.parametrize("kind", ["Unigram", "WordPiece"])
def test_special_tokens_within_other_models_are_special(kind: str, level: dict[str, Any], tmp_path: Path) -> None:
    values = made.byte_unigram() if kind == "Unigram" else deepcopy(level)
    if kind == "Unigram":
        number = len(values["model"]["vocab"])
        values["model"]["vocab"].append(["<|end|>", -1.0])
    else:
        vocabulary = values["model"]["vocab"]
        number = vocabulary["<|end|>"] = len(vocabulary)
        rest = {"unk_token": "a", "continuing_subword_prefix": "", "max_input_chars_per_word": 1 << 30}
        values["model"] = {"type": kind, "vocab": vocabulary, **rest}
    values["added_tokens"] = [made.added(number, "<|end|>", special=True)]
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer).startswith("ids equal")
    assert tokenizer.vocabulary.special[number] == b"<|end|>"
    assert tokenizer.encode("a<|end|> b").tolist() == library_ids(values, "a<|end|> b")


def test_wordpiece_over_bytes_becomes_ours(level: dict[str, Any], tmp_path: Path) -> None:
    """Without an end to words and with a mark that spells no byte, as it is total; with one it is not."""
    values = deepcopy(level)
    spelt = list(values["model"]["vocab"])
    values["model"] = {
        "type": "WordPiece",
        "unk_token": spelt[0],
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": 1 << 30,
        "vocab": {token: number for number, token in enumerate(spelt)},
    }
    tokenizer = read(made.written(tmp_path / "a.json", values), "tokenizer_json")
    assert tokenizer.segmentation == "greedy", why(tokenizer)
    assert tokenizer.encode(TEXT).tolist() == library_ids(values, TEXT)
    values["model"] |= {
        "continuing_subword_prefix": "\uffff",
        "vocab": {token: number for number, token in enumerate([*spelt, *("\uffff" + token for token in spelt)])},
    }
    tokenizer = read(made.written(tmp_path / "b.json", values), "tokenizer_json")
    assert tokenizer.segmentation == "longest_prefix", why(tokenizer)
    assert tokenizer.encode(TEXT).tolist() == library_ids(values, TEXT)
    values["model"]["max_input_chars_per_word"] = 100
    tokenizer = read(made.written(tmp_path / "c.json", values), "tokenizer_json")
    assert why(tokenizer) == "words longer than a bound are one unknown token"


def test_the_order_of_ids_is_the_file_s(level: dict[str, Any], tmp_path: Path) -> None:
    """Ids backwards, with special tokens between and behind them: the same ids, in a saved folder too."""
    values = deepcopy(level)
    spelt = list(values["model"]["vocab"])
    values["model"]["vocab"] = {token: 3 * number + 5 for number, token in enumerate(reversed(spelt))}
    values["model"]["vocab"]["<|a\u2581b|>"] = 6
    values["added_tokens"] = [
        made.added(6, "<|a\u2581b|>", special=True),
        made.added(5000, "<tool>", special=True),
    ]
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer).startswith("ids equal")
    tokenizer.save(tmp_path / "saved")
    for one in (tokenizer, Tokenizer.load(tmp_path / "saved")):
        for text in (TEXT, "<|a\u2581b|><tool>", *made.TEXTS):
            ids = one.encode(text)
            assert ids.tolist() == library_ids(values | {"added_tokens": []}, text)
            assert one.count(text) == len(ids)
            assert one.decode(ids) == text.encode()
            assert one.encode(text * 50, threads=2).tolist() == one.encode(text * 50).tolist()
        assert one.decode([6, 421]) == "<|a\u2581b|><tool>".encode()  # The library's id, see the next tests.
        assert (len(one), one.id_limit) == (420, 1263)
    assert (tmp_path / "saved" / "tokens.vocab").read_text() != (tmp_path / "saved" / "ids.txt").read_text()


def test_added_tokens(level: dict[str, Any], tmp_path: Path) -> None:
    """Special ones are text, all others tokens, or as it is chosen."""
    values = deepcopy(level)
    values["added_tokens"] = [
        made.added(420, "<s>", special=True),
        made.added(421, "<tool>", special=True),
        made.added(422, "paying"),
        made.added(423, "    "),
    ]
    path = made.written(tmp_path / "tokenizer.json", values)
    text = "<s> paying<tool>    x"
    by_words = read(path, "tokenizer_json")
    assert why(by_words).startswith("ids equal")
    assert {422, 423} <= set(by_words.encode(text).tolist())
    assert not {420, 421} & set(by_words.encode(text).tolist())
    assert by_words.decode(by_words.encode(text)) == text.encode()
    assert by_words.decode([420, 421, *by_words.encode("a")]) == b"<s><tool>a"
    assert len(by_words) == 422 - sum("\u0120" * 4 in token or "paying" in token for token in level["model"]["vocab"])
    as_text = read(path, "tokenizer_json", added="text")
    assert why(as_text).startswith("ids equal")
    assert as_text.encode(text).tolist() == library_ids(level, text)
    as_tokens = read(path, "tokenizer_json", added="tokens")
    assert isinstance(as_tokens, Tokenizer)
    assert as_tokens.encode(text).tolist() == library_ids(values, text, special=True)
    assert {420, 421, 422, 423} <= set(as_tokens.encode(text).tolist())


@pytest.mark.parametrize("name", ["<b>", "\uff5cuser\uff5c", "\n"])
@pytest.mark.parametrize("special", [False, True])
def test_the_flag_of_an_added_token_decides(name: str, special: bool, level: dict[str, Any], tmp_path: Path) -> None:
    """Not its spelling; special tokens of white space are tokens, too, as texts have them."""
    values = deepcopy(level)
    values["added_tokens"] = [made.added(420, name, special=special)]
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    is_token = name.isspace() or not special
    for text in (f"a{name}b", f"{name} {name}{name}", TEXT + name, *made.TEXTS[:3]):
        assert tokenizer.encode(text).tolist() == library_ids(values, text, special=is_token)
    number = library_ids(values, name, special=True)
    assert (tokenizer.encode(f"a{name}b").tolist()[1:-1] == number) == is_token
    as_text = read(tmp_path / "tokenizer.json", "tokenizer_json", added="text")
    assert why(as_text).startswith("ids equal")
    assert as_text.encode(f"a{name}").tolist() == library_ids(level, f"a{name}")


def test_ids_are_compared_on_every_added_token(level: dict[str, Any], tmp_path: Path, monkeypatch: Any) -> None:
    """A difference on one of thousands is found, by a text that contains it."""
    names = [f"<unused{number}>" for number in range(3000)]
    values = level | {"added_tokens": [made.added(0, name, special=True) for name in names]}
    path = made.written(tmp_path / "tokenizer.json", values)
    tokenizer = read(path, "tokenizer_json")
    assert " and 47 texts with its added tokens" in why(tokenizer)
    encode = HuggingFace.encode
    monkeypatch.setattr(HuggingFace, "encode", lambda self, text: encode(self, text.replace("<unused2987>", "")))
    assert isinstance(read_tokenizer(path, "tokenizer_json", again=True), AdaptedTokenizer)


@pytest.mark.parametrize("number", [400, 1300])
@pytest.mark.parametrize("added", ["words", "text", "tokens"])
def test_added_tokens_have_the_ids_of_the_library(
    number: int, added: str, level: dict[str, Any], tmp_path: Path
) -> None:
    """The library ignores the id in the file: that of a token, or one behind a hole."""
    values = deepcopy(level)
    values["added_tokens"] = [
        made.added(number, "<|endoftext|>", special=True),
        made.added(number + 1, "xyzzy"),
        made.added(number + 7, "xyzzy"),
    ]
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json", added=added)
    assert (tokenizer.id_limit, tokenizer.end_of_text) == (422, 420)
    assert tokenizer.decode([420, 421]) == b"<|endoftext|>xyzzy"
    for text in ("a & b", "a xyzzy b", "the <|endoftext|>", *made.TEXTS):
        expected = values | ({"added_tokens": []} if added == "text" else {})
        ids = tokenizer.encode(text)
        assert ids.tolist() == library_ids(expected, text, special=added == "tokens")
        assert tokenizer.decode(ids) == text.encode()
    assert (
        f"added tokens whose id in the file is ignored by tokenizers: 3 (first: '<|endoftext|>' has 420, not {number})"
        in tokenizer.origin["imported"]["told"]
    )


def test_an_added_token_may_share_the_id_of_another(level: dict[str, Any], tmp_path: Path) -> None:
    """In a model with holes the library numbers added tokens by the count of tokens, so that ids are shared."""
    values = deepcopy(level)
    values["model"]["vocab"] = {token: 3 * number for token, number in level["model"]["vocab"].items()}
    values["added_tokens"] = [made.added(1300, "<|endoftext|>", special=True)]
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.end_of_text == tokenizer.id_limit == 1258
    assert (
        "added tokens that share the id of another token of the model: 1 (first: '<|endoftext|>', id 420)"
        in tokenizer.origin["imported"]["told"]
    )
    [spelt] = [token for token, number in values["model"]["vocab"].items() if number == 420]
    assert tokenizer.decode([420]) == unspell(spelt)


def test_a_special_token_that_texts_give_is_a_token(tmp_path: Path) -> None:
    """The bytes of byte fallback are in texts, also where the trainer had them as special tokens."""
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    values = made.characters(
        models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        trainers.BpeTrainer(vocab_size=500, special_tokens=["<unk>", "<s>", *bytes_], show_progress=False),
        pre_tokenizers.Metaspace(),
        decoder=decoders.Sequence([decoders.Metaspace(), decoders.ByteFallback()]),
    )
    values["model"]["ignore_merges"] = True  # So it is not native.
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert isinstance(tokenizer, AdaptedTokenizer)
    text = "one\u2603\u00fe two"
    assert values["model"]["vocab"]["<0xE2>"] in tokenizer.encode(text)
    assert tokenizer.decode(tokenizer.encode(text)).decode() == text
    assert b"".join(map(tokenizer.library.bytes_of, tokenizer.encode(text).tolist())).decode() == f" {text}"
    assert len(tokenizer) == len(values["model"]["vocab"]) - 2
    assert tokenizer.special == {0: b"<unk>", 1: b"<s>"}
    assert tokenizer.origin["imported"]["told"] == [
        "2 special tokens are text in texts",
        "special tokens that texts can give, counted as tokens of text: 256 (first: '<0x00>')",
    ]


def test_a_special_token_with_the_id_of_a_byte(level: dict[str, Any], tmp_path: Path) -> None:
    """The token of the model keeps its id, and all 256 bytes are tokens."""
    values = deepcopy(level)
    values["added_tokens"] = [made.added(level["model"]["vocab"]["&"], "<s>", special=True)]
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert why(tokenizer).startswith("ids equal")
    assert tokenizer.decode(tokenizer.encode("a & b")) == b"a & b"
    assert tokenizer.decode([420]) == b"<s>"
