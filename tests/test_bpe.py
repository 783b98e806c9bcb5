"""BPE construction against its twin and against the trainer of Hugging Face ``tokenizers``."""

import gzip
import json
import pydoc_data.topics
from collections import Counter

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.external_data import DATA, needs
from tokbench.byte_level import PRINTABLE, spelling_ranks
from tokbench.candidates import limits
from tokbench.candidates.characters import covering_characters
from tokbench.construction.bpe import BpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.reference.bpe import train as twin
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES

NOVELS = DATA / "english" / "novels.jsonl.gz"
GPT2 = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
OTHERS = [byte for byte in range(256) if byte not in PRINTABLE]
SPELLING = {byte: chr(byte) if byte in PRINTABLE else chr(256 + OTHERS.index(byte)) for byte in range(256)}

words = st.dictionaries(
    st.one_of(
        st.text("ab", min_size=1, max_size=24).map(str.encode),
        st.text("aé ", min_size=1, max_size=12).map(str.encode),
        st.binary(min_size=1, max_size=6),
    ),
    st.integers(1, 5),
    max_size=6,
)
LIMITS = st.one_of(st.none(), st.integers(2, 9))


def spell(token: bytes) -> str:
    return "".join(SPELLING[byte] for byte in token)


def count(text: str) -> PretokenCounts:
    return PretokenCounts.from_pairs((token.encode(), count) for token, count in Counter(GPT2.findall(text)).items())


def reference(counts: PretokenCounts, size: int, options: BpeOptions) -> tuple[list[list[str]], dict[str, int]]:
    """Merges and ids of ``tokenizers`` on the same counts; its length limit is exclusive."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=options.min_pair_count,
        initial_alphabet=list(SPELLING.values()),
        max_token_length=options.max_token_bytes and options.max_token_bytes + 1,
        show_progress=False,
    )
    tokenizer.train_from_iterator((" ".join([spell(word)] * count) for word, count in counts.items()), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["merges"], model["vocab"]


def assert_equals_reference(counts: PretokenCounts, size: int, options: BpeOptions) -> None:
    vocabulary = build(counts, size, options)
    merges, ids = reference(counts, size, options)
    spelt = [spell(token) for token in vocabulary.tokens]
    assert [[spelt[left], spelt[right]] for left, right, _ in vocabulary.merges.tolist()] == merges
    assert {token: id for token, id in ids.items() if id >= 256} == {
        token: id for id, token in enumerate(spelt) if id >= 256
    }


@given(words, st.integers(256, 400), LIMITS, st.integers(0, 3))
def test_twin(counted: dict[bytes, int], size: int, longest: int | None, least: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    vocabulary = build(counts, size, BpeOptions(min_pair_count=least, max_token_bytes=longest))
    merges, tokens = twin(list(counts.items()), spelling_ranks().tolist(), size, least, longest or 10**6)
    assert list(vocabulary.tokens) == tokens
    assert vocabulary.merges.tolist() == [[*pair, 256 + index] for index, pair in enumerate(merges)]


@given(st.dictionaries(st.text("abc", min_size=2, max_size=6), st.integers(1, 40)), st.integers(0, 60))
def test_counts_that_fall_below_the_least(counted: dict[str, int], least: int) -> None:
    counts = PretokenCounts.from_pairs((word.encode(), count) for word, count in counted.items())
    vocabulary = build(counts, 400, BpeOptions(min_pair_count=least))
    assert list(vocabulary.tokens) == twin(list(counts.items()), spelling_ranks().tolist(), 400, least, 10**6)[1]


def test_a_pair_that_has_fallen_below_the_least_is_not_merged() -> None:
    """Both pairs are seen three times; the merge of the first takes one of the second away."""
    counts = PretokenCounts.from_pairs([(b"ab", 2), (b"abc", 1), (b"bc", 2)])
    assert build(counts, 300, BpeOptions(min_pair_count=3)).tokens[256:] == (b"ab",)


@settings(max_examples=60)
@given(words.filter(bool), st.integers(257, 400), LIMITS, st.integers(0, 3))
def test_tokenizers(counted: dict[bytes, int], size: int, longest: int | None, least: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    assert_equals_reference(counts, size, BpeOptions(min_pair_count=least, max_token_bytes=longest))


@pytest.mark.parametrize(("size", "longest", "least"), [(6000, None, 0), (3000, 5, 0), (6000, None, 21)])
def test_tokenizers_on_documentation(size: int, longest: int | None, least: int) -> None:
    text = "".join(pydoc_data.topics.topics.values())
    assert_equals_reference(count(text), size, BpeOptions(max_token_bytes=longest, min_pair_count=least))


def test_tokenizers_without_pretokenization() -> None:
    text = "".join(pydoc_data.topics.topics.values()).encode()[:20_000]
    counts = PretokenCounts.from_pairs([(text, 2), (text[::-1], 1), (b"a" * 1001, 3)])
    assert_equals_reference(counts, 700, BpeOptions())


@needs(NOVELS)
def test_tokenizers_on_novels() -> None:
    with gzip.open(NOVELS, "rt", encoding="utf-8") as lines:
        text = "".join(json.loads(line)["text"] for line, _ in zip(lines, range(2), strict=False))
    assert_equals_reference(count(text[:1_000_000]), 8192, BpeOptions())


def test_spelt_ranks() -> None:
    """Bytes are ordered by the code point of their character: ``!`` first, the space after all that print."""
    by_rank = np.argsort(spelling_ranks())
    assert [SPELLING[byte] for byte in by_rank.tolist()] == sorted(SPELLING.values())
    assert spelling_ranks()[ord("!")] == 0
    assert spelling_ranks()[ord(" ")] == 220


def test_counts_beyond_32_bits() -> None:
    huge = PretokenCounts.from_pairs([(b"ab", 2**40), (b"bc", 2**40 + 1), (b"cab", 2**33)])
    assert build(huge, 259, BpeOptions()).tokens[256:] == (b"ab", b"bc", b"cab")


def test_run_halves_from_the_left() -> None:
    vocabulary = build(PretokenCounts.from_pairs([(b"a" * 7, 1)]), 300, BpeOptions())
    assert [len(token) for token in vocabulary.tokens[256:]] == [2, 4, 3, 7]


@pytest.mark.parametrize("counted", [[], [(b"a", 5)], [(b"\xff", 1), (b"b", 2)]])
def test_nothing_to_merge(counted: list[tuple[bytes, int]]) -> None:
    vocabulary = build(PretokenCounts.from_pairs(counted), 1000, BpeOptions())
    assert vocabulary.tokens == BYTES
    assert vocabulary.merges.shape == (0, 3)


def test_too_much_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BYTES", 3)
    with pytest.raises(TokbenchError, match="unique pre-tokens come to 4 bytes"):
        build(PretokenCounts.from_pairs([(b"abcd", 1)]), 300, BpeOptions())


# The character alphabet

MIXED = PretokenCounts.from_pairs(
    [("東京".encode(), 3), ("東".encode() + b"\xff", 2), ("né".encode(), 4), ("ß".encode(), 1)]
)


def test_characters_come_before_what_is_learnt() -> None:
    """A character of three bytes brings its first two; the rarest character is left in bytes."""
    vocabulary = build(MIXED, 300, BpeOptions(alphabet="character", character_coverage=0.9))
    east, capital = "東".encode(), "京".encode()
    assert vocabulary.tokens[256:262] == (east[:2], east, "é".encode(), capital[:2], capital, "né".encode())
    assert "ß".encode() not in vocabulary.tokens[:261]


def test_characters_are_merges_like_any_other() -> None:
    """Merging in order of creation breaks no character of the alphabet, and bytes come back whatever they are."""
    vocabulary = build(MIXED, 262, BpeOptions(alphabet="character", character_coverage=1.0))
    tokenizer = Tokenizer(vocabulary, "none", "merge")
    for text in ("東京né".encode(), "京ß".encode(), b"\xe6\x9d", "東".encode()[1:], b"\xe6\xe6\x9d\xb1"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert [vocabulary.tokens[id] for id in tokenizer.encode("京東é")] == [part.encode() for part in "京東é"]


@settings(max_examples=60)
@given(st.dictionaries(st.text("aé東京🦀", min_size=1, max_size=8).map(str.encode), st.integers(1, 5), max_size=6))
def test_characters_against_twin(counted: dict[bytes, int]) -> None:
    """Byte-pair merging of words spelt in characters, each written as one private byte."""
    counts = PretokenCounts.from_pairs(counted.items())
    options = BpeOptions(alphabet="character", character_coverage=1.0)
    alphabet = build(counts, 256 + 9, options).tokens
    characters = "aé東京🦀"
    by_byte = {character: bytes([place]) for place, character in enumerate(characters)}
    spelt = [(b"".join(by_byte[c] for c in word.decode()), count) for word, count in counts.items()]
    order = [alphabet.index(c.encode()) if c.encode() in alphabet else 999 for c in characters]
    ranks = [sorted(order).index(place) for place in order] + list(range(5, 256))
    _, tokens = twin(spelt, ranks, 280, 0, 10**6)
    expected = ["".join(characters[byte] for byte in token) for token in tokens[256:]]
    vocabulary = build(counts, 256 + 9 + len(expected), options)
    learnt = [token.decode() for token in vocabulary.tokens[256:] if len(token.decode(errors="ignore")) > 1]
    assert learnt[: len(expected)] == expected[: len(learnt)]


def test_alphabet_larger_than_the_vocabulary() -> None:
    with pytest.raises(TokbenchError, match="alphabet of 262 bytes and characters exceeds the vocabulary size 260"):
        build(MIXED, 260, BpeOptions(alphabet="character", character_coverage=1.0))


def test_characters_that_are_covered_begin_where_ascii_ends() -> None:
    """By hand: DEL is a byte; U+0080 and ü are two, and with the first of them 9 of 10 are covered."""
    counts = PretokenCounts.from_pairs([("\x7f\x80".encode(), 4), ("\x80".encode(), 1), ("ü".encode(), 1)])
    assert covering_characters(counts, 0.9) == ["\x80".encode()]
    assert covering_characters(counts, 1.0) == ["\x80".encode(), "ü".encode()]
