"""MinGram and MinGram-PP: the paper's rules by hand, kernels against plain Python, invariants of the vocabularies."""

import math
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokbench
from tests.conftest import ODD, TOPICS
from tokbench.adapters.export_hugging_face import REJECTED
from tokbench.adapters.export_hugging_face import export as export_json
from tokbench.adapters.exports import export
from tokbench.construction import bpe, constructions, mingram
from tokbench.errors import TokbenchError
from tokbench.kernels.mingram import MAX_COST, MinGramSegmenter, add_occurrences, omission_costs
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import bpe as bpe_twin
from tokbench.reference import mingram as twin
from tokbench.reference.segmentation import every_segmentation, likeliest_shortest
from tokbench.reference.segmentation import merge as merge_twin
from tokbench.segmentation import segmentations
from tokbench.segmentation.likeliest_shortest_path import LikeliestShortestPathOptions
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary

WORDS = [(b"the", 6), (b"then", 3), (b"hen", 4), (b"ten", 5), (b"he", 2), (b"en", 1)]
BY_BPE = {b"e": 0, b"h": 0, b"n": 3, b"t": 0, b"he": 2, b"the": 9, b"en": 1, b"ten": 5, b"hen": 4}
"""Tokens of five merges with their occurrences."""
PAIRS = st.lists(
    st.tuples(st.text("ab", min_size=1, max_size=12).map(str.encode), st.integers(1, 5)), min_size=1, max_size=8
)
METHODS = ("mingram", "mingram_pp")
TEXT = count_pretokens([*TOPICS[:-1], ODD], "gpt2")


def built(method: str, counts: PretokenCounts, size: int, threads: int = 1, **options: Any) -> Vocabulary:
    found: Vocabulary = constructions[method].function(
        counts, size, constructions[method].options(**options), seed=0, threads=threads
    )
    return found


def tokens_of(vocabulary: Vocabulary, counts: PretokenCounts, segmentation: str) -> int:
    method = segmentations[segmentation]
    _, bounds = method.function(vocabulary, method.options()).segment(counts.data, counts.offsets)
    return int(np.diff(bounds) @ counts.counts)


def learned_by_bpe(pairs: list[tuple[bytes, int]], merges: int) -> dict[bytes, int]:
    """Tokens of BPE with their occurrences, from plain Python."""
    ranks = spelling_ranks().tolist()
    made, tokens = bpe_twin.train(pairs, ranks, 256 + merges, 1, 1 << 30)
    by_rank = [(left, right, 256 + number) for number, (left, right) in enumerate(made)]
    found = dict.fromkeys(tokens, 0)
    for word, count in pairs:
        for index in merge_twin(word, by_rank):
            found[tokens[index]] += count
    return found


def test_example_by_hand() -> None:
    counts = PretokenCounts.from_pairs(WORDS)
    assert {token: times for token, times in learned_by_bpe(WORDS, 5).items() if times or len(token) > 1} == {
        token: times for token, times in BY_BPE.items() if times or len(token) > 1
    }
    estimate, total = twin.reestimate(WORDS, {token: max(1, n) for token, n in BY_BPE.items()}, 27)
    assert total == 24
    estimate, total = twin.reestimate(WORDS, estimate, total)
    assert total == 24
    used = {b"the": 9, b"ten": 5, b"hen": 4, b"n": 3, b"he": 2, b"en": 1}
    assert {token: times for token, times in estimate.items() if times} == used
    vocabulary = built("mingram", counts, 259, overshoot=1.7)
    assert vocabulary.tokens[256:] == (b"the", b"ten", b"hen")
    assert tokens_of(vocabulary, counts, "likeliest_shortest_path") == 27
    assert vocabulary.scores is not None
    expected = {token: round(512 * math.log(times / 24)) / 512 for token, times in used.items()}
    for token, score in zip(vocabulary.tokens, vocabulary.scores.tolist(), strict=True):
        assert score == expected.get(token, -100.0)
    plain = bpe.build(counts, 259, bpe.BpeOptions())
    assert plain.tokens[256:] == (b"he", b"the", b"en")
    assert tokens_of(plain, counts, "merge") == 33


@pytest.mark.parametrize(("single", "expected"), [(1, [b"ab", b"c"]), (0, [b"a", b"bc"])])
def test_likelihood_decides_between_equally_many(single: int, expected: list[bytes]) -> None:
    costs = twin.costs({b"a": 2, b"b": 0, b"c": single, b"ab": 5, b"bc": 2}, 9 + single)
    assert likeliest_shortest(b"abc", costs) == expected
    tokens = (*BYTES, b"ab", b"bc")
    scores = np.array([-costs.get(token, twin.UNSEEN) / 512 for token in tokens])
    segmenter = segmentations["likeliest_shortest_path"]
    ids, _ = segmenter.function(Vocabulary(tokens, scores=scores), segmenter.options()).segment(
        np.frombuffer(b"abc", np.uint8), np.array([0, 3])
    )
    assert [tokens[index] for index in ids] == expected


@settings(deadline=None)
@given(
    st.lists(st.text("ab", min_size=2, max_size=5).map(str.encode), max_size=8, unique=True),
    st.lists(st.text("abc", min_size=1, max_size=12).map(str.encode), min_size=1, max_size=3),
    st.sampled_from(["leading", "trailing"]),
    st.data(),
)
def test_segmentation_equals_twin(tokens: list[bytes], texts: list[bytes], ties: str, data: st.DataObject) -> None:
    vocabulary = Vocabulary((*BYTES, *tokens))
    costs = [data.draw(st.integers(-2, 3)) for _ in vocabulary.tokens]
    offsets = np.cumsum([0, *map(len, texts)])
    segmenter = MinGramSegmenter(Trie(*vocabulary.flat(), backwards=True), np.array(costs, np.int64), ties == "leading")
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(texts), np.uint8), offsets)
    by_token = dict(zip(vocabulary.tokens, costs, strict=True))
    for number, text in enumerate(texts):
        found = [vocabulary.tokens[index] for index in ids[bounds[number] : bounds[number + 1]]]
        assert found == likeliest_shortest(text, by_token, ties)
        ways = [(len(way), sum(map(by_token.__getitem__, way))) for way in every_segmentation(text, set(by_token))]
        assert (len(found), sum(map(by_token.__getitem__, found))) == min(ways)


@given(st.lists(st.tuples(st.integers(1, 300), st.text("ab", max_size=9)), min_size=1, max_size=3), st.booleans())
@settings(max_examples=15, deadline=None)
def test_long_tokens_are_used_as_short_ones(runs: list[tuple[int, str]], leading: bool) -> None:
    tokens = (*BYTES, b"aa", b"ab", b"aaa", b"baa", b"a" * 257, b"a" * 300 + b"b")
    costs = {token: len(token) % 3 for token in tokens}
    text = b"".join(b"a" * length + other.encode() for length, other in runs) + b"a" * 300
    trie = Trie(*Vocabulary(tokens).flat(), backwards=True)
    segmenter = MinGramSegmenter(trie, np.array(list(costs.values()), np.int64), leading)
    ids, _ = segmenter.segment(np.frombuffer(text, np.uint8), np.array([0, len(text)]))
    assert [tokens[index] for index in ids] == likeliest_shortest(text, costs, "leading" if leading else "trailing")


@settings(deadline=None)
@given(PAIRS, st.lists(st.text("ab", min_size=2, max_size=6).map(str.encode), max_size=15, unique=True), st.data())
def test_costs_equal_brute_force(pairs: list[tuple[bytes, int]], extra: list[bytes], data: st.DataObject) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    tokens = (*BYTES, *extra)
    occurrences = {token: data.draw(st.integers(1, 9)) if len(token) > 1 else 1 for token in tokens}
    by_cost = twin.costs(occurrences, sum(occurrences.values()))
    trie = Trie(*Vocabulary(tokens).flat(), backwards=True)
    segmenter = MinGramSegmenter(trie, np.array([by_cost[token] for token in tokens], np.int64))
    increases, times = np.zeros((2, len(tokens)), np.int64)
    middle = len(counts) // 2
    for edge in ((0, middle), (middle, len(counts))):
        omission_costs(segmenter, counts.data, counts.offsets, counts.counts, *edge, increases)
        add_occurrences(segmenter, counts.data, counts.offsets, counts.counts, *edge, times)
    words = list(counts.items())
    expected = twin.increases(words, occurrences, sum(occurrences.values()))
    assert {tokens[index]: int(increases[index]) for index in np.flatnonzero(increases)} == +expected
    again, _ = twin.reestimate(words, occurrences, sum(occurrences.values()))
    assert {tokens[index]: int(times[index]) for index in np.flatnonzero(times)} == +Counter(again)


@settings(deadline=None, max_examples=60)
@given(PAIRS, st.integers(0, 8), st.sampled_from([1.0, 1.5, 3.0]), st.integers(0, 2), st.sampled_from(METHODS))
def test_vocabulary_equals_twin(
    pairs: list[tuple[bytes, int]], wanted: int, overshoot: float, steps: int, method: str
) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    words = list(counts.items())
    found = built(method, counts, 256 + wanted, overshoot=overshoot, sub_iterations=steps)
    make = {"mingram": twin.mingram, "mingram_pp": twin.mingram_pp}[method]
    expected = make(words, learned_by_bpe(words, int(overshoot * wanted)), wanted, steps)
    assert found.tokens == tuple(expected)
    assert found.scores is not None
    assert (found.scores * -512).tolist() == list(expected.values())


@cache
def text_vocabulary(method: str, ties: str = "leading") -> Vocabulary:
    return built(method, TEXT, 700, overshoot=2.0, ties=ties)


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_the_vocabulary(method: str) -> None:
    one, four = text_vocabulary(method), built(method, TEXT, 700, threads=4, overshoot=2.0)
    assert one.tokens == four.tokens
    assert one.scores is not None
    assert four.scores is not None
    assert one.scores.tolist() == four.scores.tolist()
    assert len(one) == 700


def test_without_overshoot_and_estimation_it_is_bpe() -> None:
    found = built("mingram", TEXT, 600, overshoot=1.0, sub_iterations=0)
    plain = bpe.build(TEXT, 600, bpe.BpeOptions())
    assert set(found.tokens) == set(plain.tokens)
    shortest = tokens_of(plain, TEXT, "shortest_path")
    assert tokens_of(found, TEXT, "likeliest_shortest_path") == tokens_of(found, TEXT, "shortest_path") == shortest


@pytest.mark.parametrize("method", METHODS)
def test_text_is_shorter_than_by_bpe(method: str) -> None:
    plain = bpe.build(TEXT, 700, bpe.BpeOptions())
    found = tokens_of(text_vocabulary(method), TEXT, "likeliest_shortest_path")
    assert found < tokens_of(plain, TEXT, "shortest_path") < tokens_of(plain, TEXT, "merge")


@pytest.mark.parametrize("method", METHODS)
def test_fewer_tokens_if_fewer_remain_in_use(method: str) -> None:
    vocabulary = built(method, PretokenCounts.from_pairs([(b"abc", 3), (b"d", 1)]), 300)
    assert vocabulary.tokens[256:] == (b"abc",)
    assert len(built(method, PretokenCounts.from_pairs([]), 300)) == 256
    with pytest.raises(TokbenchError, match="below 256"):
        built(method, TEXT, 255)


def test_rounds_choose_from_half_of_the_merges_if_there_are_few(caplog: pytest.LogCaptureFixture) -> None:
    """With all merges each pre-token is one candidate, and no part of one remains."""
    merges = len(bpe.build(TEXT, 1 << 20, bpe.BpeOptions())) - 256
    for size in (256 + merges // 16, 256 + merges // 4, 256 + 2 * merges // 3):
        wanted = size - 256
        expected = max(min(8 * wanted, merges // 2), wanted)
        chosen = built("mingram_pp", TEXT, size)
        assert chosen.tokens == built("mingram_pp", TEXT, size, overshoot=(expected + 0.5) / wanted).tokens
        assert [record.message for record in caplog.records] == [
            f"mingram_pp: the text has {merges:,} merges, too few for an overshoot of 8; {expected:,} are used, an "
            f"overshoot of {expected / wanted:.3g}"
        ][: expected < 8 * wanted]
        caplog.clear()
    size = 256 + merges // 4
    by_default, by_eight = built("mingram_pp", TEXT, size), built("mingram_pp", TEXT, size, overshoot=8)
    assert f"has {merges:,} of the {8 * (merges // 4):,} merges of overshoot 8" in caplog.text
    pretokens = {pretoken for pretoken, _ in TEXT.items()}
    assert set(by_eight.tokens[256:]) <= pretokens
    assert not set(by_default.tokens[256:]) <= pretokens


@pytest.mark.parametrize("method", METHODS)
def test_longest_token(method: str) -> None:
    assert max(map(len, built(method, TEXT, 500, max_token_bytes=3).tokens)) == 3


@pytest.mark.parametrize("method", METHODS)
def test_hugging_face_has_the_same_ids_with_its_own_ties(method: str, tmp_path: Any) -> None:
    options = LikeliestShortestPathOptions(ties="trailing")
    tokenizer = Tokenizer(text_vocabulary(method, "trailing"), "gpt2", "likeliest_shortest_path", options)
    assert not export_json(tokenizer, TEXT, tmp_path).startswith(REJECTED)
    fast = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for document in (TOPICS[-1], "aaaaaaa......    !!!! x\x00 é 東京"):
        text = document.decode() if isinstance(document, bytes) else document
        assert fast.encode(text).ids == tokenizer.encode(text).tolist()
    with pytest.raises(TokbenchError, match="no model for segmentation"):
        export(tokenizer, "sentencepiece", TEXT, tmp_path)
    assert mingram.UNITS == 512


def test_other_ties_are_not_exported(tmp_path: Any) -> None:
    vocabulary = Vocabulary((*BYTES, b"aa"), scores=np.full(257, -1.0))
    tokenizer = Tokenizer(vocabulary, "gpt2", "likeliest_shortest_path")
    outcome = export_json(tokenizer, PretokenCounts.from_pairs([(b"aaa", 1)]), tmp_path)
    assert outcome == f"{REJECTED}Hugging Face's model gives other ids for 'aaa'"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (None, "has no scores"),
        (np.zeros(3), r"shape \[3\]"),
        (np.full(256, -np.inf), "no score is finite"),
        (np.full(256, np.nan), "is nan"),
        (np.full(256, -1e9), "at most"),
    ],
)
def test_scores_that_cannot_be_used(scores: Any, message: str) -> None:
    method = segmentations["likeliest_shortest_path"]
    with pytest.raises(TokbenchError, match=message):
        method.function(Vocabulary(BYTES, scores=scores), method.options())


def test_kernel_rejects_invalid_arguments() -> None:
    trie = Trie(*Vocabulary(BYTES).flat(), backwards=True)
    with pytest.raises(ValueError, match="token 0 has no cost"):
        MinGramSegmenter(trie, np.full(256, MAX_COST + 1))
    with pytest.raises(ValueError, match="lacks one"):
        MinGramSegmenter(Trie(np.frombuffer(b"a", np.uint8), np.array([0, 1]), backwards=True), np.zeros(1, np.int64))


def test_the_tokenizer_has_the_option_of_its_construction(tmp_path: Any) -> None:
    tokenizer = tokbench.build("mingram", TEXT, 400, ties="trailing")
    tokenizer.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.options == LikeliestShortestPathOptions(ties="trailing")
    text = TOPICS[-1]
    assert loaded.encode(text).tolist() == tokenizer.encode(text).tolist()
    assert loaded.decode(loaded.encode(text)) == text
