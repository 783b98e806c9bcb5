"""The three phases together: lossless on any bytes for every construction, fitting segmentation and scheme.

Offsets: places of tokens in the bytes and in the characters of a text.
"""

import hashlib
import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conftest import ODD, TOPICS
from tests.support.fake_results import drawn_examples_drawn as examples
from tests.support.fake_results import some
from tests.support.pipeline import combinations
from tests.support.small_vocabularies import vocabulary
from tests.support.texts import OPTIONS
from tokbench.construction import constructions
from tokbench.construction.bpe import BpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.segmentation import segmentations
from tokbench.segmentation.shortest_path import ShortestPathOptions
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import as_bytes
from tokbench.vocabulary import BYTES, Vocabulary, write_tokens

COMBINATIONS = combinations()
SCHEMES = [*KERNEL_SCHEMES, pretokenization_of({"method": "sequence", **OPTIONS["sequence"]}).text]
SPECIAL = [b"<|endoftext|>", b"<|padding|>", "\u203f".encode(), "Ġ".encode(), b"##", b"[UNK]", b"\x00"]
"""Strings that mean something to some tokenizer, and must be plain text to ours."""


@cache
def tokenizer(method: str, segmentation: str, scheme: str, scores: Path) -> Tokenizer:
    return Tokenizer(vocabulary(method, scheme, scores), scheme, segmentation)


def draws_by_place(chosen: Tokenizer) -> bool:
    """Return whether equal pre-tokens may be split differently."""
    return getattr(chosen.options, "draws", None) == "document"


def test_every_construction_is_tried() -> None:
    assert {method for method, _ in COMBINATIONS} == set(constructions)


PIECES = st.one_of(
    st.binary(max_size=12),
    st.text(max_size=8).map(str.encode),
    st.sampled_from([*SPECIAL, b" ", b"  ", b"\n", b"\r\n", b"\t", b"\xc2\xa0", b"'s", b"'LL", b"007"]),
    st.tuples(st.sampled_from([b"a", b" ", b"\xff", b"\x80", b"1", b"\n", "é".encode()]), st.integers(1, 40)).map(
        lambda run: run[0] * run[1]
    ),
    st.tuples(st.text(min_size=1, max_size=4).map(str.encode), st.integers(0, 3)).map(lambda cut: cut[0][cut[1] :]),
    st.tuples(st.integers(0, 4000), st.integers(0, 60)).map(lambda cut: TOPICS[3][cut[0] : cut[0] + cut[1]]),
)
TEXTS = st.lists(PIECES, max_size=6).map(b"".join)


DRAWN, EACH = 400, 40
"""Texts drawn for all combinations, since drawing takes longer than cutting, and how many of them each is given."""


@pytest.fixture(scope="module")
def drawn() -> list[bytes]:
    return examples(TEXTS, DRAWN)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("method", "segmentation"), COMBINATIONS)
def test_any_bytes(method: str, segmentation: str, scheme: str, drawn: list[bytes], scores: Path) -> None:
    """Decoding gives the bytes back; unless it draws by place, encoding is that of the unique pre-tokens."""
    chosen = tokenizer(method, segmentation, scheme, scores)
    boundaries = pretokenization_of(scheme).boundaries
    for text in some(drawn, EACH, f"{method} {segmentation} {scheme}"):
        ids = chosen.encode(text)
        assert ids.dtype == np.int32
        assert chosen.decode(ids) == text
        cuts = boundaries(text).tolist()
        pretokens = [text[start:end] for start, end in pairwise(cuts)]
        assert b"".join(pretokens) == text
        if draws_by_place(chosen) or chosen.segments_documents:
            continue
        counts = PretokenCounts.from_pairs([(pretoken, 1) for pretoken in pretokens])
        alone, bounds = chosen.segment(counts)
        cut = {
            pretoken: alone[bounds[place] : bounds[place + 1]].tolist()
            for place, (pretoken, _) in enumerate(counts.items())
        }
        assert ids.tolist() == [index for pretoken in pretokens for index in cut[pretoken]], text


def test_empty_text(scores: Path) -> None:
    for method, segmentation in COMBINATIONS:
        chosen = tokenizer(method, segmentation, "gpt2", scores)
        assert chosen.encode(b"").tolist() == []
        assert chosen.decode([]) == b""
        assert chosen.encode_batch([]) == []
        if not chosen.segments_documents:
            ids, bounds = chosen.segment(PretokenCounts.from_pairs([]))
            assert (ids.tolist(), bounds.tolist()) == ([], [0])


def test_strings_are_their_utf8(scores: Path) -> None:
    chosen = tokenizer("bpe", "merge", "gpt2", scores)
    assert chosen.encode("naïve 🦀").tolist() == chosen.encode("naïve 🦀".encode()).tolist()
    assert chosen.decode(chosen.encode("\ud800")) == b"\xed\xa0\x80"


@pytest.mark.parametrize(("method", "segmentation"), COMBINATIONS)
def test_threads_change_nothing(
    method: str, segmentation: str, scores: Path, counts: PretokenCounts, text: bytes
) -> None:
    chosen = tokenizer(method, segmentation, "gpt2", scores)
    assert np.array_equal(chosen.encode(text), chosen.encode(text, threads=3))
    if not chosen.segments_documents:
        ids, bounds = chosen.segment(counts)
        for threads in (2, 5):
            others, edges = chosen.segment(counts, threads=threads)
            assert np.array_equal(ids, others)
            assert np.array_equal(bounds, edges)
        assert draws_by_place(chosen) or len(chosen.encode(text)) == np.diff(bounds) @ counts.counts
    parts = [text[start : start + 500] for start in range(0, 20_000, 500)]
    batch = chosen.encode_batch(parts, threads=3)
    assert [ids.tolist() for ids in batch] == [chosen.encode(part).tolist() for part in parts]


@pytest.mark.parametrize(("method", "segmentation"), COMBINATIONS)
def test_saving_and_loading(method: str, segmentation: str, scores: Path, text: bytes, tmp_path: Path) -> None:
    chosen = tokenizer(method, segmentation, "first_space_digit", scores)
    chosen.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.vocabulary.tokens == chosen.vocabulary.tokens
    for name in ("merges", "scores", "continuation"):
        mine, theirs = getattr(chosen.vocabulary, name), getattr(loaded.vocabulary, name)
        assert (mine is None and theirs is None) or (mine.dtype == theirs.dtype and np.array_equal(mine, theirs))
    assert (loaded.segmentation, loaded.pretokenization, loaded.options) == (
        chosen.segmentation,
        chosen.pretokenization,
        chosen.options,
    )
    assert np.array_equal(loaded.encode(text), chosen.encode(text))
    again = tmp_path / "again"
    again.mkdir()
    loaded.save(again)
    for file in again.iterdir():
        assert file.read_bytes() == (tmp_path / file.name).read_bytes()


def test_name_origin_and_options_are_kept(scores: Path, tmp_path: Path) -> None:
    options = ShortestPathOptions(ties="random", seed=2**60, max_token_bytes=5)
    origin = {"made": ["by hand", 3, None]}
    made = vocabulary("ngram", "none", scores)
    Tokenizer(made, "none", "shortest_path", options, name="mine", origin=origin).save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.name, loaded.origin, loaded.options) == ("mine", origin, options)
    assert "mine" in repr(loaded)


def test_an_older_vocabulary_leaves_nothing_behind(scores: Path, tmp_path: Path) -> None:
    tokenizer("bpe", "merge", "gpt2", scores).save(tmp_path)
    Tokenizer(Vocabulary(BYTES), "gpt2", "greedy").save(tmp_path)
    assert Tokenizer.load(tmp_path).vocabulary.merges is None


def test_every_setting_is_under_the_checksum(scores: Path, tmp_path: Path) -> None:
    tokenizer("bpe", "merge", "gpt2", scores).save(tmp_path)
    file = tmp_path / "tokbench.json"
    whole = json.loads(file.read_text())
    for key, other in {
        "pretokenization": "space",
        "segmentation": {"method": "greedy"},
        "name": "another",
        "origin": {"seed": 7},
        "size": 300,
        "sha256": "0" * 64,
    }.items():
        assert whole[key] != other
        file.write_text(json.dumps(whole | {key: other}))
        with pytest.raises(TokbenchError, match="the vocabulary or the settings have changed since they were saved"):
            Tokenizer.load(tmp_path)


def test_settings_of_the_first_format(scores: Path, tmp_path: Path) -> None:
    """Its checksum is that of the vocabulary's files alone."""
    saved = tokenizer("bpe", "merge", "gpt2", scores)
    saved.save(tmp_path)
    file = tmp_path / "tokbench.json"
    files = [tmp_path / name for name in ("tokens.vocab", "merges.tsv")]
    digest = hashlib.sha256(b"".join(part.name.encode() + part.read_bytes() for part in files)).hexdigest()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 1, "sha256": digest}))
    assert Tokenizer.load(tmp_path).vocabulary.tokens == saved.vocabulary.tokens
    files[0].write_text(files[0].read_text() + "616263616263\n")
    with pytest.raises(TokbenchError, match="changed since they were saved"):
        Tokenizer.load(tmp_path)


WRONG_SETTINGS = {
    "name": ["a"],
    "pretokenization": {"gpt2": 1},
    "segmentation": "merge",
    "size": "900",
    "sha256": None,
    "origin": [],
    "further": 1,
}


@pytest.mark.parametrize("key", [*WRONG_SETTINGS, "segmentation.method"])
def test_settings_of_the_wrong_type(key: str, scores: Path, tmp_path: Path) -> None:
    tokenizer("bpe", "merge", "gpt2", scores).save(tmp_path)
    file = tmp_path / "tokbench.json"
    whole = json.loads(file.read_text())
    changed = {"segmentation": {"method": 3}} if "." in key else {key: WRONG_SETTINGS[key]}
    file.write_text(json.dumps(whole | changed))
    with pytest.raises(TokbenchError, match=rf"^{file}: damaged \({key}: .*; build the tokenizer again$"):
        Tokenizer.load(tmp_path)


def test_settings_that_are_not_there(scores: Path, tmp_path: Path) -> None:
    tokenizer("bpe", "merge", "gpt2", scores).save(tmp_path)
    file = tmp_path / "tokbench.json"
    whole = json.loads(file.read_text())
    for key in whole:
        file.write_text(json.dumps({other: value for other, value in whole.items() if other != key}))
        with pytest.raises(TokbenchError, match=f"^{tmp_path}.*; build the tokenizer again$"):
            Tokenizer.load(tmp_path)


def test_settings_nested_deeply(scores: Path, tmp_path: Path) -> None:
    """Python 3.13 and newer read deeper lists than older ones."""
    tokenizer("bpe", "merge", "gpt2", scores).save(tmp_path)
    file = tmp_path / "tokbench.json"
    for depth, reason in ((2000, ".*"), (200_000, "lists and objects are nested too deeply")):
        file.write_text('{"origin": ' + "[" * depth + "]" * depth + "}")
        with pytest.raises(TokbenchError, match=f"^{file}: {reason}; build"):
            Tokenizer.load(tmp_path)


def test_bytes_that_do_not_come_first(tmp_path: Path) -> None:
    """Others may number their tokens in another way; a folder's first ids are the bytes."""
    shifted = Tokenizer(Vocabulary((b"ab", *BYTES)), "none", "greedy")
    expected = r"the token 6162 where the byte 00 belongs \(id 0\); begin with the 256 bytes in order"
    with pytest.raises(TokbenchError, match=expected):
        shifted.save(tmp_path)
    write_tokens(shifted.vocabulary.tokens, tmp_path / "tokens.vocab")
    with pytest.raises(TokbenchError, match=rf"^{tmp_path}/tokens\.vocab: .*{expected}"):
        Vocabulary.read(tmp_path)


def test_continuation_of_the_wrong_number() -> None:
    with pytest.raises(TokbenchError, match=r"continuation flags of shape \[2\] for 256 tokens"):
        Vocabulary(BYTES, continuation=np.zeros(2, np.bool_))
    flags = np.array([False] * 256 + [True, True])
    with pytest.raises(TokbenchError, match="has the token 6162 inside pre-tokens twice"):
        Vocabulary((*BYTES, b"ab", b"ab"), continuation=flags)


def test_ids_follow_the_lines(scores: Path, tmp_path: Path) -> None:
    tokenizer("unigram", "likelihood", "space", scores).save(tmp_path)
    lines = (tmp_path / "tokens.vocab").read_text().splitlines()
    loaded = Tokenizer.load(tmp_path)
    assert [loaded.decode([index]).hex() for index in range(len(loaded))] == lines


def test_ids_outside_the_vocabulary(scores: Path) -> None:
    chosen = tokenizer("bpe", "merge", "gpt2", scores)
    for wrong in (-1, len(chosen), 2**40):
        with pytest.raises(TokbenchError, match=rf"id {wrong} is not in the vocabulary \(0 to {len(chosen) - 1}\)"):
            chosen.decode([3, wrong])


def test_ids_that_are_no_numbers() -> None:
    plain = Tokenizer(Vocabulary(BYTES), "none", "greedy")
    for wrong in ([1.5], [2**70], ["5"], [True], [None]):
        with pytest.raises(TokbenchError, match="pass integers"):
            plain.decode(wrong)
    with pytest.raises(TokbenchError, match="one sequence at a time"):
        plain.decode([[1], [2, 3]])
    with pytest.raises(TokbenchError, match=f"id {2**63} is not"):
        plain.decode(np.array([2**63], np.uint64))


def test_values_that_are_not_text_are_rejected() -> None:
    """A number is not so many zero bytes, and a text is not several."""
    tokenizer = Tokenizer(Vocabulary(BYTES), "gpt2", "greedy", name="bytes")
    assert tokenizer.encode(bytearray(b"ab")).tolist() == tokenizer.encode(memoryview(b"a-b")[::2]).tolist() == [97, 98]
    assert [ids.tolist() for ids in tokenizer.encode_batch(iter(["a", b"b"]))] == [[97], [98]]
    wrong: Any
    for wrong in (3, None, True, [97, 98], 1.5):
        for call in (tokenizer.encode, tokenizer.count, tokenizer.offsets):
            with pytest.raises(TokbenchError, match="is not text; pass str or bytes"):
                call(wrong)
        for threads in (1, 2):
            with pytest.raises(TokbenchError, match="is not text; pass str or bytes"):
                tokenizer.encode_batch(["a", wrong], threads)
    for wrong in ("abc", b"abc", 3, None):
        with pytest.raises(TokbenchError, match="not a list of texts"):
            tokenizer.encode_batch(wrong)
    for wrong in (b"abc", None):
        with pytest.raises(TokbenchError, match="is not str; pass str"):
            tokenizer.character_offsets(wrong)
    for wrong in ("abc", None, [[1], [1, 2]], [1.5], [True]):
        with pytest.raises(TokbenchError, match="ids of "):
            tokenizer.decode(wrong)


def test_names_that_do_not_exist() -> None:
    plain = Vocabulary(BYTES)
    with pytest.raises(TokbenchError, match="'gready' is not a segmentation"):
        Tokenizer(plain, "none", "gready")
    with pytest.raises(TokbenchError, match="'gtp2' is not a pre-tokenization"):
        Tokenizer(plain, "gtp2", "greedy")


def test_bytes_alone_are_a_tokenizer() -> None:
    for cut in segmentations.methods():
        if cut.needs is None:
            assert Tokenizer(Vocabulary(BYTES), "gpt2", cut.name).encode(ODD).tolist() == list(ODD)


def test_bytes_are_not_copied_before_they_are_encoded() -> None:
    """A text of gigabytes would be held twice."""
    text = bytes(1000)
    assert as_bytes(text) is text
    assert as_bytes(bytearray(text)) == as_bytes(memoryview(text)) == text


@pytest.fixture(scope="module")
def ours() -> Tokenizer:
    return Tokenizer(build(count_pretokens([*TOPICS, ODD], "gpt2"), 700, BpeOptions()), "gpt2", "merge")


def test_bytes(ours: Tokenizer) -> None:
    for text in (*TOPICS, ODD, b""):
        borders = ours.offsets(text)
        assert (borders.dtype, borders[0], borders[-1]) == ("int64", 0, len(text))
        pieces = [text[start:end] for start, end in pairwise(borders)]
        assert pieces == [ours.vocabulary.tokens[index] for index in ours.encode(text)]


def test_threads_give_the_same(ours: Tokenizer) -> None:
    text = b"".join(TOPICS) * 60
    assert len(text) > 1 << 20
    assert ours.offsets(text, threads=2).tolist() == ours.offsets(text).tolist()


def test_characters() -> None:
    """Tokens of single bytes, of a character's end with the next one's beginning, and of whole characters."""
    ours = Tokenizer(Vocabulary((*BYTES, "é".encode()[1:] + b"a", "東京".encode(), b"bc")), "none", "greedy")
    assert ours.character_offsets("é").tolist() == [[0, 1], [0, 1]]
    assert ours.character_offsets("xéa").tolist() == [[0, 1], [1, 2], [1, 3]]
    assert ours.character_offsets("東京bc🦀").tolist() == [[0, 2], [2, 4], *[[4, 5]] * 4]
    assert ours.character_offsets("abc").tolist() == [[0, 1], [1, 3]]
    assert ours.character_offsets("").tolist() == []
    assert ours.character_offsets("\udcff!").tolist() == [*[[0, 1]] * 3, [1, 2]]


@given(st.text(st.characters(exclude_categories=["Cs", "Cn"])))
def test_any_text_as_the_library_has_it(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ours = Tokenizer(Vocabulary((*BYTES, b"\xa9a", b"ab", b"\xe6\x9d", b"  ")), "gpt2", "greedy")
    from tokbench.adapters.export_hugging_face import to_hugging_face

    theirs = to_hugging_face(ours)
    assert isinstance(theirs, tokenizers.Tokenizer)
    assume(not any(token.content in text for token in theirs.get_added_tokens_decoder().values()))
    assert [tuple(span) for span in ours.character_offsets(text).tolist()] == theirs.encode(text).offsets


def test_tokens_and_text_as_str() -> None:
    made = Tokenizer(build(count_pretokens(TOPICS, "gpt2"), 300, BpeOptions()), "gpt2", "merge")
    text = "the cat and the \u00e9t\u00e9"
    assert made(text).tolist() == made.encode(text).tolist()
    assert made.decode_text(made(text)) == text
    assert made.decode_text([0xC3]) == "\ufffd"
    assert made.decode_text([0xC3], errors="ignore") == ""
    tokens = made.tokenize(b"a \xff")
    assert (tokens[0], tokens[-1]) == ("a", "\\xff")
    assert "".join(made.tokenize("the cat")) == "the cat"
