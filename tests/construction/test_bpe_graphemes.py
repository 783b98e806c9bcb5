"""BPE over grapheme clusters: by hand, against plain Python, and against ``tokenizers`` with a character a cluster."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench import build as build_tokenizer
from tokbench.adapters.export_hugging_face import export
from tokbench.candidates.alphabet import count_clusters, covering_clusters
from tokbench.construction.bpe import BpeOptions, build
from tokbench.construction.bpe_continued import read_parent
from tokbench.errors import TokbenchError
from tokbench.options import validated
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference.bpe import train as twin
from tokbench.reference.segmentation import merge_alphabet, symbols_of
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary

PARTS = [*"கா்ஷe🇩🇪👩क्ष각가\u0301\u0302\u200d\r\n", "ab"]
"""Parts of clusters of Tamil, Hindi, Hangul, accents, flags, emoji and line ends."""
WORD = st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join)
WORDS = st.dictionaries(WORD, st.integers(1, 5), min_size=1, max_size=8)
TEXT = st.lists(st.one_of(st.sampled_from(PARTS).map(str.encode), st.binary(min_size=1, max_size=3)), max_size=30).map(
    b"".join
)


def counts_of(counted: dict[str, int]) -> PretokenCounts:
    return PretokenCounts.from_pairs((word.encode(), count) for word, count in counted.items())


def options(coverage: float = 1.0, **more: Any) -> BpeOptions:
    return BpeOptions(alphabet="grapheme", character_coverage=coverage, **more)


def pairs_of(vocabulary: Vocabulary) -> list[tuple[bytes, bytes]]:
    assert vocabulary.merges is not None
    return [(vocabulary.tokens[left], vocabulary.tokens[right]) for left, right, _ in vocabulary.merges.tolist()]


def clusters_of(text: str) -> list[bytes]:
    return [cluster.encode() for cluster in regex.findall(r"\X", text)]


# By hand


def test_clusters_come_before_merges() -> None:
    """The clusters by count, then bytes; of the two pairs that occur three times the smaller is merged first."""
    vocabulary = build(counts_of({"காக்ஷ": 3, "கா": 2, "a": 4}), 300, options())
    assert [token.decode() for token in vocabulary.tokens[256:]] == ["கா", "க்", "ஷ", "காக்", "காக்ஷ"]
    assert pairs_of(vocabulary) == [("கா".encode(), "க்".encode()), ("காக்".encode(), "ஷ".encode())]


def test_coverage_is_a_share_of_clusters() -> None:
    """9 of 10 clusters are covered without the rarest; bytes and bytes that are not UTF-8 take no place."""
    counts = PretokenCounts.from_pairs([("கா".encode(), 6), (b"ab", 1), ("é".encode(), 1), (b"\xff\xe0", 9)])
    assert count_clusters(counts) == Counter({"கா": 6, "a": 1, "b": 1, "é": 1})
    assert covering_clusters(counts, 0.8) == ["கா".encode()]
    assert covering_clusters(counts, 1.0) == ["கா".encode(), "é".encode()]


def test_a_line_end_of_two_bytes_is_a_cluster() -> None:
    assert covering_clusters(PretokenCounts.from_pairs([(b"\r\n", 1)]), 1.0) == [b"\r\n"]


# Against plain Python


@settings(max_examples=150)
@given(WORDS, st.integers(0, 30))
def test_training_twin(counted: dict[str, int], merges: int) -> None:
    """Each cluster as one private byte: the same pairs in the same order."""
    counts = counts_of(counted)
    order = covering_clusters(counts, 1.0)
    ranks = spelling_ranks().tolist()
    ascii_symbols = {symbol for word in counted for symbol in clusters_of(word) if len(symbol) == 1}
    symbols = [*sorted(ascii_symbols, key=lambda symbol: ranks[symbol[0]]), *order]
    spelt = [(bytes(symbols.index(symbol) for symbol in clusters_of(word)), n) for word, n in counted.items()]
    _, made = twin(spelt, list(range(256)), 256 + merges, 0, 10**6)
    expected = [b"".join(symbols[byte] for byte in token) for token in made[256:]]
    assert list(build(counts, 256 + len(order) + merges, options()).tokens[256:]) == [*order, *expected]


@settings(max_examples=150)
@given(WORDS, st.integers(0, 20), st.sampled_from([0.3, 0.7, 1.0]), TEXT)
def test_segmentation_twin(counted: dict[str, int], merges: int, coverage: float, text: bytes) -> None:
    """Any bytes come back, whichever clusters are in the alphabet."""
    counts = counts_of(counted)
    size = 256 + len(covering_clusters(counts, coverage)) + merges
    vocabulary = build(counts, size, options(coverage))
    tokenizer = Tokenizer(vocabulary, "none", "merge_alphabet")
    ids = tokenizer.encode(text)
    found = [vocabulary.tokens[one] for one in ids]
    assert found == merge_alphabet(text, vocabulary.tokens, pairs_of(vocabulary))
    assert tokenizer.decode(ids) == text


@settings(max_examples=150)
@given(WORDS, st.sampled_from([0.5, 1.0]))
def test_segmentation_is_that_of_the_training(counted: dict[str, int], coverage: float) -> None:
    """Merging goes on until each word is one token, in training and afterwards."""
    counts = counts_of(counted)
    vocabulary = build(counts, 5000, options(coverage))
    tokenizer = Tokenizer(vocabulary, "none", "merge_alphabet")
    assert all(len(tokenizer.encode(word)) == 1 for word, _ in counts.items())


@given(st.lists(WORD, min_size=1, max_size=6))
def test_symbols_are_the_clusters_of_the_text(words: list[str]) -> None:
    counts = PretokenCounts.from_pairs((word.encode(), 1) for word in words)
    alphabet = covering_clusters(counts, 1.0)
    vocabulary = build(counts, 256 + len(alphabet), options())
    tokenizer = Tokenizer(vocabulary, "none", "merge_alphabet")
    for word in words:
        assert symbols_of(word.encode(), alphabet) == clusters_of(word)
        assert [vocabulary.tokens[one] for one in tokenizer.encode(word)] == clusters_of(word)


# Against another library


@settings(max_examples=80)
@given(WORDS, st.integers(0, 40), st.lists(WORD, max_size=4))
def test_tokenizers_on_private_characters(counted: dict[str, int], merges: int, others: list[str]) -> None:
    """The trainer and the model of ``tokenizers``, with each cluster as one character of the private use area."""
    tokenizers = pytest.importorskip("tokenizers")
    counts = counts_of(counted)
    order = covering_clusters(counts, 1.0)
    ranks = spelling_ranks().tolist()
    symbols = [*sorted(BYTES, key=lambda byte: ranks[byte[0]]), *order]
    private = {symbol: chr(0xE000 + place) for place, symbol in enumerate(symbols)}

    def spell(word: str) -> str:
        return "".join(private[symbol] for symbol in symbols_of(word.encode(), order))

    other = tokenizers.Tokenizer(tokenizers.models.BPE())
    other.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=len(symbols) + merges, initial_alphabet=list(private.values()), show_progress=False
    )
    other.train_from_iterator((" ".join([spell(word)] * count) for word, count in counted.items()), trainer)
    back = {character: symbol for symbol, character in private.items()}

    def unspell(token: str) -> bytes:
        return b"".join(back[character] for character in token)

    vocabulary = build(counts, len(symbols) + merges, options())
    theirs = [(unspell(left), unspell(right)) for left, right in json.loads(other.to_str())["model"]["merges"]]
    assert pairs_of(vocabulary) == theirs
    mine = Tokenizer(vocabulary, "none", "merge_alphabet")
    for word in [*counted, *others]:
        expected = [unspell(token) for token in other.encode(spell(word)).tokens]
        assert [vocabulary.tokens[one] for one in mine.encode(word)] == expected


# The default segmentation, files and mistakes


def test_default_segmentation_and_folder(tmp_path: Path) -> None:
    counts = count_pretokens(["நான் தமிழ் கற்கிறேன் நான் தமிழ்".encode()] * 3, "first_space")
    tokenizer = build_tokenizer("bpe", counts, 290, alphabet="grapheme")
    assert tokenizer.segmentation == "merge_alphabet"
    assert build_tokenizer("bpe", counts, 290, alphabet="character").segmentation == "merge"
    tokenizer.save(tmp_path / "grapheme")
    again = Tokenizer.load(tmp_path / "grapheme")
    text = "தமிழ் நான்\r\n".encode() + b"\xe0\xae"
    assert np.array_equal(again.encode(text), tokenizer.encode(text))
    assert again.decode(again.encode(text)) == text
    with pytest.raises(TokbenchError, match="merges begin with an alphabet or leave out added tokens"):
        read_parent(tmp_path / "grapheme")
    assert export(tokenizer, None, tmp_path).endswith("Hugging Face has no model for segmentation 'merge_alphabet'")


@pytest.mark.parametrize("segmentation", ["merge", "whole_or_merge", "bpe_dropout", "merge_characters"])
def test_segmentations_that_do_not_begin_with_clusters(segmentation: str) -> None:
    counts = count_pretokens([b"a"], "none")
    message = f"'{segmentation}' does not replay the merges of 'bpe' with these options; use 'merge_alphabet'"
    with pytest.raises(TokbenchError, match=message):
        build_tokenizer("bpe", counts, 256, alphabet="grapheme", segmentation=segmentation)
    assert build_tokenizer("bpe", counts, 256, alphabet="grapheme", segmentation="greedy").segmentation == "greedy"


def test_seeds_and_clusters_exclude_each_other() -> None:
    with pytest.raises(TokbenchError, match="seeds are built from bytes"):
        validated({"alphabet": "grapheme", "seeds": ["ab"]}, BpeOptions, "bpe")


def test_alphabet_larger_than_the_vocabulary() -> None:
    with pytest.raises(TokbenchError, match="alphabet of 258 bytes and characters exceeds the vocabulary size 257"):
        build(counts_of({"காé": 1}), 257, options())
