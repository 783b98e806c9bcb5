"""RandTrain: weights, the draw, and what does not change it."""

from collections import Counter
from pydoc_data.topics import topics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tokbench.construction import bpe, ngram, randtrain, unigram
from tokbench.construction.randtrain import RandTrainOptions, build, sampling_keys
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.kernels.matches import count_matches
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.reference import matches as twin
from tokbench.vocabulary import BYTES, Vocabulary

WORDS = st.text("ab", min_size=1, max_size=12).map(str.encode)
PAIRS = st.lists(st.tuples(WORDS, st.integers(1, 3)), min_size=1, max_size=6)
TOKENS = st.lists(st.text("abc", min_size=1, max_size=5).map(str.encode), max_size=12, unique=True)


@given(PAIRS, TOKENS)
def test_matches_equal_twin(pairs: list[tuple[bytes, int]], tokens: list[bytes]) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    data = np.frombuffer(b"".join(tokens), np.uint8)
    offsets = np.cumsum([0, *map(len, tokens)])
    found = count_matches(Trie(data, offsets), counts.data, counts.offsets, counts.counts, 0, len(counts), len(tokens))
    assert found.tolist() == twin.matches(pairs, tokens)


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    return count_pretokens([text.encode() for text in list(topics.values())[:30]], "gpt2")


@pytest.fixture(scope="module")
def start(prose: PretokenCounts) -> Vocabulary:
    return ngram.build(prose, 3000, ngram.NgramOptions())


def test_ngrams_weigh_their_counts(prose: PretokenCounts, start: Vocabulary) -> None:
    tokens, counted = ngram.top_ngrams(prose, 3000 - 256, 16)
    assert start.tokens[256:] == tuple(tokens)
    assert randtrain.weights(prose, start, "ngram", 2)[256:].tolist() == counted.tolist()


def test_other_tokens_weigh_what_their_segmentation_counts(prose: PretokenCounts) -> None:
    for method, vocabulary in (
        ("bpe", bpe.build(prose, 800, bpe.BpeOptions())),
        ("unigram", unigram.build(prose, 800, unigram.UnigramOptions(seed_size=4000))),
    ):
        found = randtrain.weights(prose, vocabulary, method, 1)
        assert found @ [len(token) for token in vocabulary.tokens] == prose.total_bytes


def test_the_bytes_stay_and_the_order_is_the_initial_one(prose: PretokenCounts, start: Vocabulary) -> None:
    built = build(prose, 1000, RandTrainOptions(), seed=3, threads=2, initial=start)
    assert len(built) == 1000
    assert built.tokens[:256] == BYTES
    drawn = set(built.tokens)
    assert built.tokens == tuple(token for token in start.tokens if token in drawn)
    assert built.tokens != start.tokens[:1000]


def test_draws_belong_to_seed_and_token(prose: PretokenCounts, start: Vocabulary) -> None:
    one = build(prose, 1000, RandTrainOptions(), seed=3, initial=start)
    shuffled = Vocabulary(BYTES + start.tokens[:255:-1])
    assert set(build(prose, 1000, RandTrainOptions(), seed=3, initial=shuffled).tokens) == set(one.tokens)
    assert set(build(prose, 700, RandTrainOptions(), seed=3, initial=start).tokens) < set(one.tokens)
    assert set(build(prose, 1000, RandTrainOptions(), seed=4, initial=start).tokens) != set(one.tokens)


def test_first_draw_is_proportional_to_weight() -> None:
    tokens, heavy = (b"ab", b"cd", b"ef", b"gh"), np.array([1.0, 2.0, 5.0, 0.0])
    won = Counter(int(np.argmax(sampling_keys(tokens, heavy, seed))) for seed in range(4000))
    assert won[3] == 0
    assert chisquare([won[0], won[1], won[2]], [500, 1000, 2500]).pvalue > 0.01


def test_two_of_three_follow_successive_draws() -> None:
    """A-ES equals drawing one after another: P(left out) of each token in closed form."""
    tokens, heavy = (b"ab", b"cd", b"ef"), np.array([1.0, 2.0, 5.0])
    left = Counter(int(np.argmin(sampling_keys(tokens, heavy, seed))) for seed in range(4000))
    p = heavy / heavy.sum()
    last = [sum(p[i] * p[j] / (1 - p[i]) for i in range(3) for j in range(3) if len({i, j, k}) == 3) for k in range(3)]
    assert chisquare([left[k] for k in range(3)], [4000 * value for value in last]).pvalue > 0.01


def test_small_sizes_and_long_tokens(prose: PretokenCounts, start: Vocabulary) -> None:
    assert build(prose, 256, RandTrainOptions(), initial=start).tokens == BYTES
    assert build(prose, 5000, RandTrainOptions(), initial=start).tokens == start.tokens
    assert max(map(len, build(prose, 900, RandTrainOptions(max_token_bytes=3), initial=start).tokens)) == 3
    with pytest.raises(TokbenchError, match="below 256"):
        build(prose, 255, RandTrainOptions(), initial=start)
