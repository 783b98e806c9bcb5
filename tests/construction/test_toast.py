"""ToaST: split trees by hand, kernels against plain Python, the bound against brute force."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokbench
from tests.conftest import ODD, TOPICS, Tokbench
from tokbench.adapters.export_hugging_face import export as export_json
from tokbench.adapters.exports import export
from tokbench.construction.toast import ToastOptions, best_nodes, build, known_substrings, tree_graph
from tokbench.errors import TokbenchError
from tokbench.kernels.split_tree import SplitTreeSegmenter, number_strings
from tokbench.kernels.trie import Trie
from tokbench.optimum.graph import graph_of
from tokbench.optimum.search import search
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import toast as twin
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, SubstringCounts, Vocabulary

WORDS = [(b"walked", 3), (b"walking", 2), (b"talked", 2), (b"talk", 4)]
TOKENS = (b"walk", b"ed", b"alk", b"ing", b"talk")
TEXTS = st.text("ab", min_size=1, max_size=9).map(str.encode)
PAIRS = st.lists(st.tuples(TEXTS, st.integers(1, 4)), min_size=1, max_size=6)
TEXT = count_pretokens([*TOPICS[:-1], ODD], "gpt2")


def cut(vocabulary: Vocabulary, *texts: bytes) -> list[list[bytes]]:
    method = segmentations["split_tree"]
    segmenter = method.function(vocabulary, method.options())
    offsets = np.cumsum([0, *map(len, texts)])
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(texts), np.uint8), offsets)
    tokens = [vocabulary.tokens[index] for index in ids]
    return [tokens[bounds[number] : bounds[number + 1]] for number in range(len(texts))]


def tokens_of(vocabulary: Vocabulary, counts: PretokenCounts) -> int:
    words = list(counts.items())
    found = cut(vocabulary, *(word for word, _ in words))
    return sum(len(tokens) * count for tokens, (_, count) in zip(found, words, strict=True))


def test_example_by_hand() -> None:
    counts = twin.known(WORDS, 4)
    frequent = {b"alk": 11, b"lk": 11, b"walk": 5, b"talk": 6, b"ed": 5, b"ked": 5, b"alked": 5}
    assert {text: counts[text] for text in frequent} == frequent
    assert {letter: counts[letter] for letter in (b"k", b"w", b"t")} == {b"k": 11, b"w": 5, b"t": 6}
    assert b"ing" not in counts
    assert list(twin.nodes(b"walked", counts)) == [b"walked", b"alked", b"lked", b"ked", b"ed"]
    assert list(twin.nodes(b"walking", counts)) == [b"walking", b"walk", b"alk", b"lk", b"ing", b"ng"]
    known = known_substrings(PretokenCounts.from_pairs(WORDS), 4)
    assert dict(known.items()) == counts
    vocabulary = Vocabulary((*BYTES, *TOKENS), substring_counts=known)
    assert cut(vocabulary, b"walked", b"walking", b"talking") == [
        [b"w", b"a", b"l", b"k", b"ed"],
        [b"walk", b"ing"],
        [b"talk", b"ing"],
    ]


@settings(deadline=None)
@given(PAIRS, st.integers(1, 6))
def test_known_substrings_equal_twin(pairs: list[tuple[bytes, int]], least: int) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    found = list(known_substrings(counts, least).items())
    assert dict(found) == twin.known(list(counts.items()), least)
    assert len(dict(found)) == len(found)
    assert found[:256] == [(byte, dict(found)[byte]) for byte in BYTES]
    assert found[256:] == sorted(found[256:])


@settings(deadline=None)
@given(
    PAIRS,
    st.integers(1, 6),
    st.lists(st.text("abc", min_size=2, max_size=5).map(str.encode), max_size=6, unique=True),
    st.lists(st.text("abc", max_size=30).map(str.encode), min_size=1, max_size=4),
)
def test_segmentation_equals_twin(
    pairs: list[tuple[bytes, int]], least: int, tokens: list[bytes], texts: list[bytes]
) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    known = known_substrings(counts, least)
    vocabulary = Vocabulary((*BYTES, *tokens), substring_counts=known)
    expected = [twin.segment(text, set(vocabulary.tokens), dict(known.items())) for text in texts]
    assert cut(vocabulary, *texts) == expected


@settings(deadline=None)
@given(
    st.lists(st.text("ab", min_size=2, max_size=5).map(str.encode), max_size=9, unique=True),
    st.lists(st.text("ab", min_size=1, max_size=12).map(str.encode), min_size=1, max_size=4),
    st.data(),
)
def test_any_known_strings_may_be_set(strings: list[bytes], texts: list[bytes], data: st.DataObject) -> None:
    """Substrings of a known string may be unknown."""
    counts = {text: data.draw(st.integers(0, 4)) for text in (*BYTES[97:99], *strings)}
    known = dict.fromkeys(BYTES, 0) | counts
    vocabulary = Vocabulary((*BYTES, *strings[::2]), substring_counts=SubstringCounts.from_pairs(known.items()))
    assert cut(vocabulary, *texts) == [twin.segment(text, set(vocabulary.tokens), known) for text in texts]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(TEXTS, st.integers(1, 4)), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 3))
def test_bound_and_vocabulary_against_brute_force(pairs: list[tuple[bytes, int]], least: int, wanted: int) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    words = list(counts.items())
    known = known_substrings(counts, least)
    by_text = dict(known.items())
    graph = tree_graph(counts, known, 256 + wanted)
    assert sorted(graph.spell(np.arange(len(graph.places)))) == sorted(
        {node for word, _ in words for node in twin.nodes(word, by_text)}
    )
    found = best_nodes(graph, ToastOptions(gap=0.0, steps=200))
    best = twin.fewest(words, by_text, wanted)
    assert found.proof.bound <= best <= found.tokens
    vocabulary = Vocabulary(BYTES + graph.spell(found.vocabulary), substring_counts=known)
    assert tokens_of(vocabulary, counts) == found.tokens


def test_text() -> None:
    """Close to the bound, above that of any segmentation, and the same with any number of threads."""
    vocabulary = build(TEXT, 700, ToastOptions())
    assert len(vocabulary) == 700
    known = vocabulary.substring_counts
    assert known is not None
    graph = tree_graph(TEXT, known, 700)
    bound = best_nodes(graph, ToastOptions()).proof.bound
    tokens = tokens_of(vocabulary, TEXT)
    assert bound <= tokens <= 1.01 * bound
    assert search(graph_of(TEXT, 700), gap=0.01, steps=200).proof.bound <= bound
    again = build(TEXT, 700, ToastOptions(), threads=3)
    assert again.tokens == vocabulary.tokens
    assert list(again.substring_counts.items()) == list(known.items())  # type: ignore[union-attr]
    by_text = dict(known.items())
    words = [word for word, _ in TEXT.items()]
    assert cut(vocabulary, *words) == [twin.segment(word, set(vocabulary.tokens), by_text) for word in words]


def test_fewer_tokens_if_trees_have_fewer_nodes() -> None:
    assert build(PretokenCounts.from_pairs([(b"abc", 3)]), 300, ToastOptions()).tokens[256:] == (b"abc", b"bc")
    assert len(build(PretokenCounts.from_pairs([]), 300, ToastOptions())) == 256
    with pytest.raises(TokbenchError, match="below 256"):
        build(TEXT, 255, ToastOptions())


def test_long_pretokens_are_left_out() -> None:
    counts = PretokenCounts.from_pairs([(b"ab" * 20, 9), (b"cd", 5)])
    vocabulary = build(counts, 300, ToastOptions(min_count=1, max_pretoken_bytes=8))
    assert vocabulary.tokens[256:] == (b"cd",)
    assert cut(vocabulary, b"ab" * 20 + b"cd") == [[b"a", b"b"] * 20 + [b"cd"]]


@pytest.mark.parametrize("method", ["convextok", "toast"])
def test_the_command_reports_long_pretokens(method: str, tmp_path: Path, tokbench: Tokbench) -> None:
    """Without the line, a vocabulary was small because of the text."""
    counts = PretokenCounts.from_pairs([(b"abcd" * 100, 3), (b"abab", 5)], "none")
    counts.write(tmp_path / "counts.parquet")
    call = ("build", method, "--counts", tmp_path / "counts.parquet", "--size", 400, "-o", tmp_path / "built")
    lines = tokbench(*call).stderr.splitlines()
    assert lines[0] == "3 pre-tokens of more than 256 bytes are left out, 98.36% of the text"
    assert lines[1].startswith("the text yields ")
    assert "left out" not in tokbench(*call, "--set", "max_pretoken_bytes=400").stderr


def test_long_pretokens_are_split() -> None:
    vocabulary = build(TEXT, 600, ToastOptions())
    text = b" the of and" * 2000
    [tokens] = cut(vocabulary, text)
    assert b"".join(tokens) == text


def test_files_and_exports(tmp_path: Path) -> None:
    tokenizer = tokbench.build("toast", TEXT, 400, min_count=5)
    tokenizer.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.vocabulary.substring_counts is not None
    for text in (TOPICS[-1], ODD, b""):
        assert loaded.encode(text).tolist() == tokenizer.encode(text).tolist()
        assert loaded.decode(loaded.encode(text)) == text
    assert "no model for segmentation 'split_tree'" in export_json(tokenizer, TEXT, tmp_path)
    for form in ("tokenizer_json", "sentencepiece", "tiktoken"):
        with pytest.raises(TokbenchError):
            export(tokenizer, form, TEXT, tmp_path)
    (tmp_path / "substring_counts.tsv").write_text("61\t-1\n")
    with pytest.raises(TokbenchError, match=r"substring_counts\.tsv:1"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("counts", "message"),
    [(None, "has no substring counts"), (SubstringCounts.from_pairs([(b"a", 1)]), "lacks one of the 256 bytes")],
)
def test_counts_that_cannot_be_used(counts: Any, message: str) -> None:
    method = segmentations["split_tree"]
    with pytest.raises(TokbenchError, match=message):
        method.function(Vocabulary(BYTES, substring_counts=counts), method.options())


def test_kernels() -> None:
    alphabet = Vocabulary(BYTES).flat()
    with pytest.raises(ValueError, match="no count"):
        SplitTreeSegmenter(Trie(*alphabet), Trie(*alphabet), Trie(*alphabet, backwards=True), np.zeros(3, np.int64))
    data, offsets = np.frombuffer(b"abaabb", np.uint8), np.array([0, 2, 3, 5, 6])
    assert number_strings(data, offsets, np.array([1, 0, 2, 3])).tolist() == [1, 0, 1, 2]
