"""Merging with dropout: equals its twin, and draws as often as algorithm 1 of the paper says.

The token trie: every prefix found, nothing else; forwards, backwards and with tokens left out.

Segmentation by the longest match from the right: equals its twin and mirrors greedy.
"""

import json
import pydoc_data.topics
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from tests.support.texts import NEW_TOKENS, PAIRS, TEXTS, by_merges, cut, ids_of, make
from tokbench.construction import bpe
from tokbench.errors import TokbenchError
from tokbench.kernels import trie
from tokbench.kernels.dropout import DropoutSegmenter
from tokbench.kernels.longest_suffix import LongestSuffixSegmenter
from tokbench.kernels.threads import parallel_for_with
from tokbench.kernels.trie import Trie
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import segmentation as segmentation_twin
from tokbench.reference.numbers import draws, place_of
from tokbench.reference.segmentation import bpe_dropout as twin
from tokbench.reference.segmentation import longest_suffix as longest_suffix_twin
from tokbench.reference.segmentation import outcomes
from tokbench.segmentation import segmentations
from tokbench.segmentation.merge import replay_merges
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SEEDS = st.integers(0, 2**64 - 1)
DROPOUTS = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]) | st.floats(0, 1)
PROSE = "".join(pydoc_data.topics.topics.values()).encode()


def cut_in_document(segmenter: DropoutSegmenter, document: int, *texts: bytes) -> list[list[int]]:
    offsets = np.cumsum([0, *map(len, texts)])
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(texts), np.uint8), offsets, document)
    return [ids[start:end].tolist() for start, end in pairwise(bounds.tolist())]


def triples(vocabulary: Vocabulary) -> list[tuple[int, int, int]]:
    return [(left, right, result) for left, right, result in vocabulary.merges.tolist()]


@pytest.fixture(scope="module")
def learnt() -> Vocabulary:
    return bpe.build(count_pretokens([PROSE], "gpt2"), 2000, bpe.BpeOptions())


@settings(max_examples=200)
@given(PAIRS, st.lists(TEXTS, max_size=3), DROPOUTS, SEEDS)
def test_twin(pairs: list[tuple[int, int]], texts: list[bytes], dropout: float, seed: int) -> None:
    vocabulary = by_merges(pairs)
    segmenter = make("bpe_dropout", vocabulary, dropout=dropout, seed=seed)
    expected = [twin(text, triples(vocabulary), dropout, draws(text, seed)) for text in texts]
    assert cut(segmenter, *texts) == expected


@given(PAIRS, st.lists(TEXTS, max_size=3), SEEDS, SEEDS)
def test_twin_in_a_document(pairs: list[tuple[int, int]], texts: list[bytes], document: int, seed: int) -> None:
    vocabulary = by_merges(pairs)
    segmenter = make("bpe_dropout", vocabulary, dropout=0.4, seed=seed)
    offsets = np.cumsum([0, *map(len, texts)]).tolist()
    expected = [
        twin(text, triples(vocabulary), 0.4, draws(text, seed, place_of(document, offset)))
        for text, offset in zip(texts, offsets, strict=False)
    ]
    assert cut_in_document(segmenter, document, *texts) == expected
    alone = make("bpe_dropout", vocabulary, dropout=0.4, seed=seed, draws="pretoken")
    assert cut_in_document(alone, document, *texts) == cut(alone, *texts) == cut(segmenter, *texts)


@pytest.mark.parametrize("dropout", [0.1, 0.7])
def test_twin_where_scanning_gives_way_to_a_heap(learnt: Vocabulary, dropout: float) -> None:
    segmenter = make("bpe_dropout", learnt, dropout=dropout, seed=5)
    texts = [PROSE[start : start + length] for length in (46, 47, 48, 49, 50) for start in range(0, 1000, 200)]
    assert cut(segmenter, *texts) == [twin(text, triples(learnt), dropout, draws(text, 5)) for text in texts]


@given(PAIRS, st.lists(TEXTS, max_size=3))
def test_no_dropout_is_merging_and_full_dropout_is_bytes(pairs: list[tuple[int, int]], texts: list[bytes]) -> None:
    vocabulary = by_merges(pairs)
    assert cut(make("bpe_dropout", vocabulary, dropout=0), *texts) == cut(make("merge", vocabulary), *texts)
    assert cut(make("bpe_dropout", vocabulary, dropout=1), *texts) == [list(text) for text in texts]


@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.8])
@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([("a", "b"), ("ab", "a"), ("b", "a"), ("ab", "ab")], b"ababab"),
        ([("a", "a"), ("aa", "a"), ("a", "aa"), ("aa", "aa")], b"aaaaaa"),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("ab", "cd"), ("a", "bc"), ("abc", "d")], b"abcd"),
    ],
)
def test_every_outcome_is_as_likely_as_in_the_paper(pairs: list[tuple[str, str]], text: bytes, dropout: float) -> None:
    new = dict.fromkeys((left + right).encode() for left, right in pairs)
    ids = {token: index for index, token in enumerate((*BYTES, *new))}
    merges = [tuple(ids[part.encode()] for part in (left, right, left + right)) for left, right in pairs]
    vocabulary = Vocabulary(tuple(ids), merges=np.array(merges, np.int32))
    times = 20_000
    segmenter = make("bpe_dropout", vocabulary, dropout=dropout, seed=3)
    found = Counter(map(tuple, cut_in_document(segmenter, 11, *[text] * times)))
    likely = outcomes(text, merges, dropout)
    assert sum(likely.values()) == pytest.approx(1)
    assert set(found) <= set(likely)
    common = [end for end in likely if likely[end] * times >= 5]
    rest = 1 - sum(likely[end] for end in common)
    seen, wanted = [found[end] for end in common], [likely[end] * times for end in common]
    if rest * times >= 1:
        seen, wanted = [*seen, times - sum(seen)], [*wanted, rest * times]
    assert len(seen) > 3
    assert chisquare(seen, np.array(wanted) * sum(seen) / sum(wanted)).pvalue > 0.001


def test_the_same_word_is_cut_in_several_ways(learnt: Vocabulary) -> None:
    words = [b" expression"] * 500
    segmenter = make("bpe_dropout", learnt, seed=1)
    one = cut_in_document(segmenter, 1, *words)
    assert one == cut_in_document(segmenter, 1, *words)
    assert one != cut_in_document(segmenter, 2, *words)
    assert one != cut_in_document(make("bpe_dropout", learnt, seed=2), 1, *words)
    assert len(set(map(tuple, one))) > 5
    assert Counter(map(tuple, one)).most_common(1)[0][0] == tuple(cut(make("merge", learnt), words[0])[0])


def test_more_dropout_gives_more_tokens(learnt: Vocabulary) -> None:
    words = PROSE[:20_000].split(b" ")
    tokens = [
        sum(map(len, cut_in_document(make("bpe_dropout", learnt, dropout=dropout), 0, *words)))
        for dropout in (0, 0.1, 0.3, 0.6, 0.9, 0.99, 1)
    ]
    assert tokens == sorted(set(tokens))
    assert 1.03 < tokens[1] / tokens[0] < 1.35


@pytest.mark.parametrize("dropout", [0.1, 0.9])
def test_dropout_on_a_long_pretoken_is_fast_and_applies_most_merges(learnt: Vocabulary, dropout: float) -> None:
    """A million bytes in one pre-token; a step that cost as much as there are pairs would take hours."""
    text = (PROSE * (1 + 1_000_000 // len(PROSE)))[:1_000_000]
    tokenizer = Tokenizer(learnt, "none", "bpe_dropout", segmentations["bpe_dropout"].options(dropout=dropout))
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    possible = {(left, right) for left, right, _ in triples(learnt)}
    assert sum(pair in possible for pair in pairwise(ids.tolist())) < 200
    assert len(ids) > len(Tokenizer(learnt, "none", "merge").encode(text))


def test_dropout_of_a_text_is_the_same_for_any_threads(learnt: Vocabulary) -> None:
    """A tokenizer takes the text for the document, in one thread or in several that share it out."""
    tokenizer = Tokenizer(learnt, "gpt2", "bpe_dropout")
    ids = tokenizer.encode(PROSE * 4)
    assert tokenizer.decode(ids) == PROSE * 4
    assert np.array_equal(ids, tokenizer.encode(PROSE * 4, threads=3))
    [again] = tokenizer.encode_batch([PROSE * 4], threads=2)
    assert np.array_equal(ids, again)
    once = tokenizer.encode(PROSE)
    assert not np.array_equal(once, ids[: len(once)])
    merged = len(Tokenizer(learnt, "gpt2", "merge").encode(PROSE))
    assert 1.03 < len(once) / merged < 1.35
    assert 1.03 < len(ids) / merged / 4 < 1.35


def test_options_are_saved() -> None:
    options = segmentations["bpe_dropout"].options(dropout=0.25, seed=9)
    written = json.loads(json.dumps(options.model_dump(mode="json")))
    assert written == {"dropout": 0.25, "seed": 9, "draws": "document"}
    assert segmentations["bpe_dropout"].options(**written) == options


@pytest.mark.parametrize("dropout", [-0.1, 1.1, float("nan")])
def test_dropout_is_a_probability(learnt: Vocabulary, dropout: float) -> None:
    with pytest.raises(ValueError, match="dropout"):
        make("bpe_dropout", learnt, dropout=dropout)
    with pytest.raises(ValueError, match="not a probability"):
        DropoutSegmenter(*replay_merges(learnt, "bpe_dropout"), dropout)


@pytest.mark.parametrize(
    ("vocabulary", "said"),
    [
        (Vocabulary(BYTES), "segmentation 'bpe_dropout': the vocabulary has no merges"),
        (Vocabulary(BYTES, merges=np.array([[97, 98, 256]], np.int32)), "'bpe_dropout': merge 0 names an id outside"),
        (
            Vocabulary(BYTES * 2, continuation=np.arange(512) >= 256, merges=np.zeros((0, 3), np.int32)),
            "'bpe_dropout': the vocabulary's tokens have continuation forms",
        ),
    ],
)
def test_rejections(vocabulary: Vocabulary, said: str) -> None:
    with pytest.raises(TokbenchError, match=said) as caught:
        make("bpe_dropout", vocabulary)
    assert "\n" not in str(caught.value)


TOKENS = st.one_of(
    st.lists(st.text("ab", min_size=1, max_size=9).map(str.encode), max_size=60),
    st.lists(st.lists(st.sampled_from([0, 1, 128, 255]), min_size=1, max_size=5).map(bytes), max_size=60),
    st.lists(st.binary(min_size=1, max_size=4), max_size=60),
)


def flat(tokens: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    offsets = np.zeros(len(tokens) + 1, np.int64)
    np.cumsum([len(token) for token in tokens], out=offsets[1:])
    return np.frombuffer(b"".join(tokens), np.uint8), offsets


@given(TOKENS, st.data())
def test_trie_equals_twin(tokens: list[bytes], data: st.DataObject) -> None:
    included = data.draw(st.none() | st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    built = trie.Trie(*flat(tokens), included)
    ids = segmentation_twin.lowest_ids(tokens, included)
    assert built.nodes == segmentation_twin.nodes(ids)
    assert built.max_length == max(map(len, ids), default=0)
    for text in [*tokens, data.draw(st.binary(max_size=6)), b"abababab", b"", bytes(range(256))]:
        assert built.prefixes(text) == segmentation_twin.prefixes(ids, text)
        assert built.find(text) == ids.get(text, -1)


@given(TOKENS)
def test_backwards_spells_tokens_from_their_end(tokens: list[bytes]) -> None:
    built = trie.Trie(*flat(tokens), backwards=True)
    ids = segmentation_twin.lowest_ids([token[::-1] for token in tokens])
    for text in [token[::-1] for token in tokens]:
        assert built.prefixes(text) == segmentation_twin.prefixes(ids, text)


def test_a_large_vocabulary_is_found_again_and_packed() -> None:
    generator = np.random.default_rng(1)
    tokens = sorted({generator.integers(0, 256, size, np.uint8).tobytes() for size in range(1, 9) for _ in range(4000)})
    built = trie.Trie(*flat(tokens))
    assert [built.find(token) for token in tokens] == list(range(len(tokens)))
    assert built.slots < 1.1 * built.nodes + 1024


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 7])
@pytest.mark.parametrize(("alphabet", "stem"), [(256, b""), (3, b""), (200, b"long stem ")])
def test_subtrees_grown_apart(alphabet: int, stem: bytes, threads: int | None) -> None:
    """Prefixes of one another, all below one stem, in no order: whatever is grown by itself is found again."""
    generator = np.random.default_rng(alphabet)
    made = {
        stem + generator.integers(0, alphabet, size, np.uint8).tobytes() for size in range(1, 12) for _ in range(900)
    }
    tokens = sorted(made, key=lambda token: token[::-1])
    included = generator.random(len(tokens)) < 0.9
    share = None if threads is None else parallel_for_with(threads)
    built = trie.Trie(*flat(tokens), included, share=share)
    ids = segmentation_twin.lowest_ids(tokens, included.tolist())
    assert built.nodes == segmentation_twin.nodes(ids)
    assert built.slots < 1.2 * built.nodes + 1024
    assert [built.find(token) for token in tokens] == [ids.get(token, -1) for token in tokens]
    for token in tokens[:500]:
        assert built.prefixes(token + b"\0") == segmentation_twin.prefixes(ids, token + b"\0")
        assert built.find(token + b"\0\1") == ids.get(token + b"\0\1", -1)


def test_errors_in_threads_are_raised() -> None:
    tokens = [bytes(divmod(number, 250)) + b"token" for number in range(9000)]

    def share(work: object, items: object) -> None:
        raise MemoryError("none left")

    with pytest.raises(MemoryError, match="none left"):
        trie.Trie(*flat(tokens), share=share)


@pytest.mark.parametrize(
    ("data", "offsets", "included"),
    [
        (b"ab", [0, 1, 1, 2], None),
        (b"ab", [0, 3], None),
        (b"ab", [0, 2, 1], None),
        (b"ab", [], None),
        (b"ab", [0, 1, 2], [True]),
    ],
)
def test_bad_tokens_are_rejected(data: bytes, offsets: list[int], included: list[bool] | None) -> None:
    with pytest.raises(ValueError, match=r"token|offsets|included"):
        trie.Trie(np.frombuffer(data, np.uint8), np.array(offsets, np.int64), included)


@given(NEW_TOKENS, st.lists(TEXTS, max_size=3))
def test_longest_suffix_twin(new: list[bytes], texts: list[bytes]) -> None:
    vocabulary = Vocabulary((*BYTES, *new))
    assert cut(make("longest_suffix", vocabulary), *texts) == [
        longest_suffix_twin(text, ids_of(vocabulary)) for text in texts
    ]


@given(st.permutations([*BYTES, b"ab", b"ba", b"aba", b"\x00\xff"]), TEXTS)
def test_bytes_in_any_place(tokens: list[bytes], text: bytes) -> None:
    vocabulary = Vocabulary(tuple(tokens))
    assert cut(make("longest_suffix", vocabulary), text) == [longest_suffix_twin(text, ids_of(vocabulary))]


@given(NEW_TOKENS, TEXTS)
def test_mirror_of_greedy(new: list[bytes], text: bytes) -> None:
    tokens = (*BYTES, *new)
    [found] = cut(make("longest_suffix", Vocabulary(tokens)), text)
    mirrored = Vocabulary(tuple(token[::-1] for token in tokens))
    assert cut(make("greedy", mirrored), text[::-1]) == [found[::-1]]


@pytest.mark.parametrize(
    ("new", "text", "expected"),
    [
        ("un und do undo doing ing", "undoing", "un|doing"),
        ("un und do undo ing", "undoing", "undo|ing"),
        ("aa", "aaaaa", "a|aa|aa"),
        ("abc bcd", "abcd", "a|bcd"),
    ],
)
def test_examples(new: str, text: str, expected: str) -> None:
    tokens = (*BYTES, *(token.encode() for token in new.split()))
    [found] = cut(make("longest_suffix", Vocabulary(tokens)), text.encode())
    assert b"|".join(tokens[index] for index in found).decode() == expected


def test_long_pretoken() -> None:
    vocabulary = Vocabulary((*BYTES, b"ab" * 8))
    found = cut(make("longest_suffix", vocabulary), b"b" + b"ab" * 500_003)
    assert found == [[98, *b"ababab", *[256] * 62_500]]


def test_longest_suffix_rejections() -> None:
    forms = Vocabulary(BYTES * 2, continuation=np.repeat([False, True], 256))
    with pytest.raises(TokbenchError, match="segmentation 'longest_suffix': the vocabulary's tokens have continuation"):
        make("longest_suffix", forms)
    with pytest.raises(ValueError, match="lacks one of the 256 bytes"):
        LongestSuffixSegmenter(Trie(*Vocabulary(BYTES).flat(), np.arange(256) > 0, backwards=True))
